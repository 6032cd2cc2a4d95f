"""The plan that masks numbers and randomizes the other columns of the same records."""

import math
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, replace
from fractions import Fraction
from functools import cached_property
from typing import TYPE_CHECKING, Any, ClassVar

import numpy as np
import pandas as pd
import pyarrow as pa

from deniable.channels import Channel, rounded_up
from deniable.errors import DeniableError
from deniable.plans.auditing import audit_row
from deniable.plans.categorical import CategoricalPlan
from deniable.plans.document import epsilon_to_json
from deniable.plans.interface import UNIT as UNIT_OF_RECORDS, Guarantee, Plan, Watch
from deniable.plans.kinds import plan_class
from deniable.plans.masked.plan import MaskedPlan
from deniable.plans.risks import BY_CURATOR, Origin, released_columns
from deniable.responses import MixedResponses, counts_in, with_counts
from deniable.sampling import KeyedDraws, RandomnessSource
from deniable.schema import RecordBatch, Schema

if TYPE_CHECKING:
    from deniable.randomized_response import Protocol

UNIT = "the masked numbers and the randomized values of one record together"
CENTRAL = "this is central differential privacy, of the file of all masked numbers."
LOCAL = "this is the local epsilon of a record: it holds for each record on its own."
SUM = "numbers and categories are drawn independently, so their epsilons are added."


@dataclass(frozen=True, eq=False)
class MixedPlan(Plan):
    """Masked numbers beside randomized columns, in one file with one row for each record.

    Both parts are plans of their own. Their random numbers are independent, and another record can
    change both parts, so the exact epsilon of a record is the sum. `of` makes the plan from its
    parts.

    Parameters
    ----------
    schema, target, chosen_from, accept, order, part, made_by
        As in `deniable.plans.Plan`; the target is the sum of both targets.
    numbers : MaskedPlan
        The plan of the numbers, and of a public class.
    categories : CategoricalPlan
        The plan of the other columns, such as a `ColumnsPlan` or a `StrataPlan`.

    Raises
    ------
    DeniableError
        If both parts have a column, or a statement does not follow from the parts.
    """

    kind: ClassVar[str] = "mixed"

    numbers: MaskedPlan
    categories: CategoricalPlan[Any]

    def __post_init__(self) -> None:
        for name in _of_numbers(self.numbers):
            if self.categories.schema[name].randomized:
                raise DeniableError(
                    f"column {name!r} is masked or a public class, and randomized; name it once"
                )
        stated = self.target, self.chosen_from
        if stated != (self._sum("target"), _origin(self.numbers, self.categories)):
            raise DeniableError("target and origin of a mixed plan follow from its two parts")
        super().__post_init__()

    @classmethod
    def of(cls, numbers: MaskedPlan, categories: CategoricalPlan[Any]) -> "MixedPlan":
        """Return the plan of two parts, `numbers` and `categories`, for columns of one file.

        Accepted risks are taken from both, order and respondents from `categories`. Raises
        `DeniableError` if both parts have a column.
        """
        own, part, order = _of_numbers(numbers), categories.part, categories.order
        columns = [
            numbers.schema[each.name] if each.name in own else each
            for each in categories.schema.columns
        ]
        return cls(
            categories.schema.model_copy(update={"columns": columns}),
            _added(numbers.target, categories.target),
            replace(numbers, part=part, order=order),
            categories,
            chosen_from=_origin(numbers, categories),
            accept=tuple(dict.fromkeys([*numbers.accept, *categories.accept])),
            order=order,
            part=part,
        )

    def _sum(self, name: str) -> float:
        return _added(getattr(self.numbers, name), getattr(self.categories, name))

    @cached_property
    def epsilon(self) -> float:
        return self._sum("epsilon")

    @property
    def unit(self) -> str:
        return UNIT

    def epsilon_by_changed_attribute(self) -> dict[str, float]:
        own = self.numbers.epsilon_by_changed_attribute()
        return own | self.categories.epsilon_by_changed_attribute()

    @property
    def guarantees(self) -> tuple[Guarantee, ...]:
        first = self.numbers.guarantees[0]
        known = (SUM, *first.conditions) if math.isfinite(self.epsilon) else ()
        numbers = (
            replace(each, conditions=(CENTRAL, *each.conditions))
            for each in self.numbers.guarantees
        )
        categories = (
            Guarantee(
                each.epsilon,
                each.unit.replace(UNIT_OF_RECORDS, "the randomized values of one respondent"),
                (LOCAL, *each.conditions),
            )
            for each in self.categories.guarantees
        )
        return (Guarantee(self.epsilon, UNIT, known), *numbers, *categories)

    @property
    def refuted(self) -> tuple[str, ...]:
        return self.numbers.refuted

    @property
    def risks(self) -> dict[str, str]:
        return self.numbers.risks | self.categories.risks

    @property
    def passed(self) -> tuple[str, ...]:
        released = {*self.numbers.passed, *self.categories.passed}
        return tuple(each.name for each in self.schema.columns if each.name in released)

    @property
    def schema_of_originals(self) -> Schema:
        read = self.numbers.schema_of_originals
        columns = [read[each.name] if each.continuous else each for each in self.schema.columns]
        return self.schema.model_copy(update={"columns": columns})

    @property
    def schema_of_tables(self) -> Schema:
        return self.categories.schema

    @property
    def record_protocol(self) -> "Protocol | None":
        return self.categories.record_protocol

    def memory(self, records: int) -> int:
        codes = sum(each.randomized for each in self.categories.schema.columns)
        return self.numbers.memory(records) + 6 * codes * records

    def channels(self) -> dict[str, Channel]:
        return self.categories.channels()

    def mechanisms(self) -> tuple[tuple[str, float, str], ...]:
        numbers = self.numbers
        about = f"{numbers.method}: {numbers.definition}"
        return ((", ".join(numbers.names), numbers.epsilon, about), *self.categories.mechanisms())

    def matrices(self) -> pd.DataFrame:
        return self.categories.matrices()

    def randomize(
        self, batches: Iterable[RecordBatch], source: RandomnessSource, watch: Watch | None = None
    ) -> Iterator[pa.Table]:
        """Yield one table of all protected columns; the parameters are as in `Plan`.

        All `batches` are held in memory. `watch` receives the randomized columns. Both parts draw
        from one key of the `source`, by the names of their columns.
        """
        held, draws = list(batches), KeyedDraws.of(source)
        (numbers,) = self.numbers.randomize(held, draws)
        categories = pa.concat_tables(self.categories.randomize(held, draws, watch))
        known = {each.name for each in self.schema.columns}
        found = {name: numbers[name] for name in numbers.column_names}
        place = dict(zip(found, found, strict=True))
        for name in categories.column_names:  # a cluster is in the place of its first column
            found[name] = categories[name]
            place[name if name in known else name.split(" x ")[0]] = name
        names = [place[each.name] for each in self.schema.columns if each.name in place]
        table = pa.table({name: found[name] for name in names}).combine_chunks()
        counts = counts_in(numbers)
        yield with_counts(table, None if counts is None else np.array(counts))

    def public_tables(self, protected: pa.Table) -> dict[str, pd.DataFrame]:
        return self.numbers.public_tables(protected)

    def responses(self, source: Any) -> MixedResponses:
        return MixedResponses(self.numbers.responses(source), self.categories.responses(source))

    def original_records(self, batches: Iterable[RecordBatch]) -> Any:
        held = list(batches)
        return tuple(each.original_records(held) for each in (self.numbers, self.categories))

    def compare_with_original(
        self,
        protected: MixedResponses,
        original: Any,
        estimates: Mapping[str, pd.DataFrame],
        generator: np.random.Generator,
    ) -> pd.DataFrame:
        """Compare both parts with the `original` records; the parameters are as in `Plan`."""
        parts = (self.numbers, protected.masked), (self.categories, protected.categories)
        found = [
            plan.compare_with_original(own, records, estimates, generator)
            for (plan, own), records in zip(parts, original, strict=True)
        ]
        return pd.concat(found, ignore_index=True)

    def audit(self) -> pd.DataFrame:
        """Audit both parts, and the sums of their independently computed epsilons of a record."""
        tables, exact = [], []
        for name, plan in (("numbers", self.numbers), ("categories", self.categories)):
            table = plan.audit()
            exact.append(table[table["unit"] == "record"].iloc[0])
            whole = table["unit"].str.startswith("record")
            tables.append(table.assign(unit=table["unit"].mask(whole, table["unit"] + f", {name}")))
        found = _added(*(float(row["exact_epsilon"]) for row in exact))
        shipped = sum(float(row["shipped_epsilon"]) for row in exact)
        total = audit_row(
            "record", "all columns", self.epsilon, found, shipped, "sum of both parts"
        )
        return pd.concat([*tables, pd.DataFrame([total])], ignore_index=True)

    def to_json(self) -> dict[str, Any]:
        parts = {"numbers": self.numbers, "categories": self.categories}
        return {
            name: {
                "kind": plan.kind,
                "target": epsilon_to_json(plan.target),
                "epsilon": epsilon_to_json(plan.epsilon),
                "chosen_from": plan.chosen_from,
                **plan.to_json(),
            }
            for name, plan in parts.items()
        }

    @classmethod
    def from_json(cls, own: Mapping[str, Any], fields: Mapping[str, Any]) -> "MixedPlan":
        schema, numbers, categories = fields["schema"], own["numbers"], own["categories"]
        of_numbers, of_categories = schemas_of_parts(
            schema, numbers["class_column"], fields["accept"]
        )

        def part(given: Mapping[str, Any], schema: Schema) -> Any:
            more = {"schema": schema, "target": float(given["target"])}
            more |= {"chosen_from": given["chosen_from"]}
            return plan_class(given["kind"]).from_json(given, {**fields, **more})

        return cls(
            numbers=part(numbers, of_numbers), categories=part(categories, of_categories), **fields
        )


def schemas_of_parts(
    schema: Schema, class_column: str | None, accept: Iterable[str]
) -> tuple[Schema, Schema]:
    """Return the schema of the numbers, and the schema of the other randomized columns.

    Numbers are the columns of the `schema` without a step. The `class_column` belongs to them.
    Identifiers and weights belong to both, if `accept` has the names of their risks.
    """
    names = [each.name for each in schema.columns if each.continuous]
    kept = [*released_columns(schema, tuple(accept)), *([class_column] if class_column else [])]
    others = [each.name for each in schema.randomized if each.name not in {*names, class_column}]
    return schema.for_masking(names, kept), schema.only(others)


def _of_numbers(numbers: MaskedPlan) -> tuple[str, ...]:
    return (*numbers.names, *([numbers.class_column] if numbers.class_column else []))


def _origin(numbers: MaskedPlan, categories: CategoricalPlan[Any]) -> Origin:
    return BY_CURATOR if numbers.chosen_from == BY_CURATOR else categories.chosen_from


def _added(first: float, second: float) -> float:
    """Return the sum of two epsilons, rounded up; infinite if one of them is."""
    if math.isinf(first) or math.isinf(second):
        return math.inf
    return rounded_up(Fraction(first) + Fraction(second))
