"""The schema of a file of records: the model, and schemas from YAML or plain values."""

import re
from collections import Counter
from collections.abc import Sequence
from pathlib import Path
from typing import Annotated, Any, Literal, Self

from pydantic import Field, ValidationError, model_validator

from deniable.errors import DataError, named_types, refuse_unknown, shown
from deniable.records import Domain, Rule, connected, possible_cells
from deniable.schema.column import NOT_APPLICABLE, Column, FileFormat
from deniable.schema.types import refuse_bad_population
from deniable.validation import Name, Strict, fault_lines, message, read_yaml, yaml_values

FORMAT, VERSION = "deniable-schema", 1
MANUAL = "docs/formats.md describes schemas"
MAX_CHECKED = 1 << 16  # cells up to which impossible combinations are checked with the schema


class Schema(Strict):
    """The contents of a file of records.

    A schema file begins with `format` and `version`. The epsilons of all releases of a `population`
    add up. The data owner states the population, and only production releases need it. The
    `columns` have the order of the `file`. Each of the `impossible` combinations maps columns, at
    least two, to categories that no record has together, by public knowledge.
    """

    format: Literal["deniable-schema"] = "deniable-schema"
    version: Literal[1] = 1
    population: Annotated[Name, Field(max_length=100)] | None = None
    file: FileFormat
    columns: Annotated[list[Column], Field(min_length=1)]
    impossible: list[dict[str, list[str]]] = Field(default_factory=list)

    @model_validator(mode="after")
    def _consistent(self) -> Self:
        for name, times in Counter(column.name for column in self.columns).items():
            if times > 1:
                raise ValueError(f"column {name!r} is given {times} times; allowed: once")
        typed = [each for each in self.columns if each.type is not None]
        if self.file.kind == "csv" and typed:
            raise ValueError(
                f"type {shown(typed[0].type)} of {typed[0].name!r}; allowed in a CSV file: none, "
                "because all its values are text; remove type"
            )
        if self.file.kind == "transactions":
            for each in self.columns:
                own = len(each.categories), each.missing.policy, each.recode
                item = own == (2, "refuse", None)
                if not item and each.kind != "left_out":
                    raise ValueError(
                        f"item {each.name!r}; allowed: [absent, present] as categories, or left_out"
                    )
        elif self.file.unknown_items == "ignore":
            raise ValueError("unknown_items; allowed: in a file of transactions")
        # The protected file must be able to contain all texts.
        encoding = self.file.protected.encoding or self.file.encoding or ""
        for column in self.columns if encoding else ():
            for text in (column.name, *column.categories, *column.missing.values):
                try:
                    text.encode(encoding)
                except UnicodeError:
                    raise ValueError(
                        f"{text!r} of column {column.name!r}; allowed: characters of the "
                        f"encoding {encoding}"
                    ) from None
                except LookupError:  # an unknown encoding is an error when the file is opened
                    return self
        return self

    @model_validator(mode="after")
    def _possible(self) -> Self:
        if len(units := [each.name for each in self.columns if each.kind == "unit"]) > 1:
            raise ValueError(f"columns {', '.join(units)} are units; allowed: one")
        for number, rule in enumerate(self.impossible, start=1):
            if len(rule) < 2:
                raise ValueError(f"impossible combination {number}; allowed: of at least 2 columns")
            self._refuse_bad_rule(f"impossible combination {number}", rule)
        for each in self.columns:
            self._refuse_bad_rule(f"asked_if of {each.name!r}", each.asked_if, each.name)
        for names in connected(self.rules):
            part = Domain(tuple(self[name].attribute() for name in names))
            if part.size <= MAX_CHECKED:
                possible_cells(part, self.rules)
        return self

    def _refuse_bad_rule(self, where: str, rule: Rule, other_than: str = "") -> None:
        """Raise `ValueError` if a rule of the schema, named `where`, cannot be followed."""
        known = {each.name: each for each in self.columns if each.name != other_than}
        for name, categories in rule.items():
            column = known.get(name)
            if column is None or not (column.randomized or column.kind == "left_out"):
                raise ValueError(f"{where} names {shown(name)}; allowed: other randomized columns")
            if column.continuous:
                raise ValueError(f"{where} names {shown(name)}; allowed: with step or edges")
            texts = column.attribute().categories if column.randomized else categories
            if not categories or {*categories} - {*texts}:
                bad = next((each for each in categories if each not in texts), "no category")
                raise ValueError(f"{where} has {shown(bad)}; allowed: categories of {shown(name)}")

    @property
    def rules(self) -> tuple[Rule, ...]:
        """Impossible combinations of randomized columns, including skip patterns."""
        found, columns = [*self.impossible], {each.name: each for each in self.randomized}
        for name, column in columns.items():
            asked = {of: own for of, own in column.asked_if.items() if of in columns}
            *values, absent = column.attribute().categories if asked else [""]
            for of, own in asked.items():
                others = [each for each in columns[of].attribute().categories if each not in own]
                found += [{of: others, name: values}] if others else []
            if asked == column.asked_if and absent == NOT_APPLICABLE:
                found.append({**asked, name: [absent]})
        return tuple(rule for rule in found if {*rule} <= {*columns})

    @property
    def unit(self) -> Column | None:
        """The column that names units with several records; None if each record is one."""
        return next((each for each in self.columns if each.kind == "unit"), None)

    @property
    def records_per_unit(self) -> int:
        """The largest number of records of a unit."""
        return (self.unit and self.unit.records_per_unit) or 1

    def __getitem__(self, name: str) -> Column:
        """Return the column of this name."""
        columns = {column.name: column for column in self.columns}
        if name not in columns:
            raise DataError(f"the schema has no column {name!r}; it has {', '.join(columns)}")
        return columns[name]

    @property
    def randomized(self) -> tuple[Column, ...]:
        """Columns that a channel randomizes."""
        return tuple(column for column in self.columns if column.randomized)

    @property
    def drafted(self) -> tuple[str, ...]:
        """Names of randomized columns with undeclared categories, bounds or grid."""
        return tuple(column.name for column in self.randomized if column.status == "drafted")

    def domain(self) -> Domain:
        """Return the attributes to randomize; raise `DataError` if none, or one has no step."""
        self.refuse_nothing_to_randomize()
        return Domain(tuple(column.attribute() for column in self.randomized))

    def refuse_nothing_to_randomize(self) -> None:
        """Raise `DataError` unless there is a categorical or numeric column."""
        if not self.randomized:
            raise DataError("the schema has no categorical or numeric column; declare one")

    def for_masking(self, numbers: Sequence[str], kept: Sequence[str] = ()) -> "Schema":
        """Return the schema of a plan that masks the numeric columns `numbers`.

        They lose their step. Columns in `kept` stay unchanged, and all others become ``left_out``.
        Raises `DataError` if a column does not exist, or one of `numbers` is not numeric, has edges
        instead of bounds or a category for missing values, or the schema has a unit.
        """
        if self.unit is not None:
            raise DataError(
                f"column {self.unit.name!r} is a unit with several records; choose a plan of kind "
                "columns or strata, or declare it as left_out"
            )
        chosen = {name: self[name] for name in (*numbers, *kept)}
        for name in numbers:
            if (column := chosen[name]).kind != "numeric":
                raise DataError(f"column {name!r} is {column.kind}; numeric columns are masked")
            if column.edges is not None:
                raise DataError(f"column {name!r} has edges; give bounds instead, to mask it")
            if column.absent is not None:
                raise DataError(
                    f"missing values of {name!r} are a category; declare the policy drop or refuse"
                )
        columns = []
        for each in self.columns:
            if each.name in numbers:
                columns.append(Column.model_validate(each.model_dump() | {"step": None}))
            elif each.name in kept:
                columns.append(each)
            else:
                status, missing = each.status, each.missing
                columns.append(
                    Column(name=each.name, kind="left_out", status=status, missing=missing)
                )
        return self.model_copy(update={"columns": columns, "impossible": []})

    def only(self, names: Sequence[str]) -> "Schema":
        """Return the schema with all randomized columns left out except `names`.

        Raises `DeniableError` if a name is not the name of a randomized column.
        """
        for name in names:
            refuse_unknown("column", name, [column.name for column in self.randomized])
        columns = [
            Column(name=column.name, kind="left_out", type=column.type)
            if column.randomized and column.name not in names
            else column
            for column in self.columns
        ]
        return self.model_copy(update={"columns": columns})

    def of_population(self, population: str | None) -> "Schema":
        """Return the schema with this `population`; None keeps the stated one.

        Raises `DataError` if the name is invalid, or the schema states another one.
        """
        if population is None:
            return self
        refuse_bad_population(population)
        if self.population is None:
            return self.model_copy(update={"population": population})
        if self.population.lower() != population.lower():
            raise DataError(
                f"population {population!r}, but the schema states {self.population!r}; give one "
                "of them, in the schema or as an option"
            )
        return self

    def to_json(self) -> dict[str, Any]:
        """Return the schema as plain JSON values, without defaults."""
        return {"format": FORMAT, "version": VERSION} | self.model_dump(exclude_defaults=True)


@named_types
def schema_from_dict(values: Any, where: str = "the schema") -> Schema:
    """Return a schema from plain `values`, or from YAML text such as `draft_schema` returns.

    A `Schema` is returned as it is. Messages call the values `where`. Raises `DataError` with one
    line for each error.
    """
    if isinstance(values, Schema):
        return values
    if isinstance(values, str):
        values = yaml_values(values, where)
    if not isinstance(values, dict) or values.get("format") != FORMAT:
        other = isinstance(values, dict) and values.get("format") == "deniable-plan"
        what = "this is a plan, but a schema is needed" if other else "not a schema"
        raise DataError(f"{where}: {what}; a schema begins with format: {FORMAT}")
    try:
        return Schema.model_validate(values)
    except ValidationError as error:
        lines, columns = list[str](), values.get("columns")
        for line in fault_lines(error, Schema):
            found = re.match(r"columns\[(\d+)\]", line)
            own = columns[int(found[1])] if found and columns else None
            name = own.get("name") if isinstance(own, dict) else None
            lines.append(f"column {shown(name)}: {line}" if isinstance(name, str) else line)
        raise DataError(message(where, lines, MANUAL)) from None


@named_types
def read_schema(path: Path | str) -> Schema:
    """Read a schema from the YAML file `path`.

    Raises `DataError` if the file cannot be read, or with one line for each error in it.
    """
    return schema_from_dict(read_yaml(path), str(path))
