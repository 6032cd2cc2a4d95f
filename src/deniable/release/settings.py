"""The settings of a release, as an entry of the workflow's config."""

import hashlib
from collections.abc import Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, Literal, Self

from pydantic import ConfigDict, Field, ValidationError, field_validator, model_validator

from deniable.errors import DeniableError
from deniable.plans import PlanInputs, PlanOptions, settings_class, settings_from
from deniable.validation import Name, Strict, fault_lines

if TYPE_CHECKING:  # a config is checked without a computation
    from deniable.plans import Plan
    from deniable.responses import Responses
    from deniable.schema import RecordsFile, Schema

DataSource = Literal["own", "published", "network", "surrogate"]
"""The origin of the original records."""
NETWORK_FILES = "networks/"
"""The first part of names of data drawn from a network (`deniable.datasets.networks.FILES`)."""


class OwnFile(Strict):
    """A file of records of your own, outside the manifest of data sets."""

    model_config = ConfigDict(validate_by_name=True, serialize_by_alias=True)

    path: Annotated[str, Field(min_length=1)]
    """Path of the file of records."""
    schema_file: str | None = Field(default=None, alias="schema", min_length=1)
    """Path of their schema. Required, except with a plan file, which contains its own."""


class ItemRule(Strict):
    """An association rule: baskets with some items also have other items."""

    model_config = ConfigDict(validate_by_name=True, serialize_by_alias=True)

    given: Annotated[list[str], Field(alias="if", min_length=1)]
    """Items of the baskets to which the rule applies."""
    then: Annotated[list[str], Field(min_length=1)]
    """Items that these baskets also have, by the rule."""


class ItemSets(Strict):
    """Item sets and rules to estimate, as by `deniable.Released.item_sets`."""

    minimum_support: Annotated[float, Field(gt=0, le=1)] = 0.1
    """Smallest proportion of baskets that have all items of a frequent set."""
    largest: Annotated[int, Field(ge=1, le=20)] = 3
    """Largest number of items of a set."""
    error_rate: Annotated[float, Field(gt=0, lt=0.5)] = 0.05
    """Largest probability that any set is wrongly found frequent, or any frequent set is missed."""
    rules: list[ItemRule] = Field(default_factory=list)
    """Rules to estimate. Each has two lists of items, for example
    `[{if: [bread], then: [jam]}]`."""


class ReleaseSettings(Strict):
    """A release of a data set of the manifest, or of a file of your own, by one plan."""

    name: Annotated[Name, Field(max_length=100)]
    """Name of the release and of its folder."""
    data: Annotated[str, Field(min_length=1)] | None = None
    """A data set of `resources/datasets.yaml`, or `networks/` and `survey`, `alarm` or `child`, or
    these with `_8000`. One of `data` and `file` is required."""
    file: OwnFile | None = None
    """A file of your own (docs/own-data.md) in place of `data`."""
    mode: Literal["test", "production"]
    """A test release is drawn from the root seed, can be repeated and protects nobody. A production
    release is drawn once, by a secret key, and the ledger counts its ε
    (docs/production-releases.md)."""
    population: Name | None = None
    """The people of the records, or survey and wave. The ε of all releases of one population are
    added. Required for production releases, unless schema or plan of a `file` state it. A ledger
    refuses over 100 characters."""
    consent: Annotated[str, Field(min_length=1)] | None = None
    """Text by which the owner consents to a further release of the same population."""
    matched: list[str] = Field(default_factory=list)
    """Earlier releases with rows that can be matched with these rows, for example of a panel. The
    ledger adds their local ε in both totals."""
    author: Annotated[str, Field(min_length=1, max_length=200)] | None = None
    """Name or role of the author of the plan. A plan file has its own."""
    approval: Annotated[str, Field(min_length=1)] | None = None
    """Path of the approval of the plan by a second person, from `deniable approve`. If it is
    given, or the ledger requires approvals, a production release is refused without it."""
    accept: list[str] = Field(default_factory=list)
    """Names of the risks that the data owner accepts (config/README.md#risks)."""
    quasi_identifiers: list[str] = Field(default_factory=list)
    """Columns that an intruder may know, for the owner's table of risks, `private/risk.csv`."""
    outside_bounds: Annotated[float, Field(ge=0, le=1)] = 0.01
    """Largest proportion of a column's values outside its public bounds. Above it the draw is
    refused."""
    tables: list[Annotated[list[str], Field(min_length=2)]] | None = None
    """Columns of each estimated table, made consistent. The default is pairs of at most 400 cells,
    up to 50,000 cells in all."""
    item_sets: ItemSets | None = None
    """Item sets to estimate in baskets (docs/own-data.md#baskets) and in columns of two
    categories."""
    plan: dict[str, Any] | Annotated[str, Field(min_length=1)]
    """Options of a plan, with its `kind`, or the path of a plan file from `deniable plan`."""

    @model_validator(mode="after")
    def _consistent(self) -> Self:
        if (self.data is None) == (self.file is None):
            given = "neither" if self.data is None else "both"
            raise ValueError(f"{given} of data and file given; allowed: one of them")
        if self.file is not None and self.file.schema_file is None and self.plan_file is None:
            raise ValueError("file.schema is missing; allowed: the path of the file's schema")
        if self.author is not None and self.plan_file is not None:
            raise ValueError("author is given with a plan file; allowed: deniable plan --author")
        if self.mode == "production" and self.population is None and self.data is not None:
            raise ValueError(
                "population is missing; allowed: a name for the respondents (or the survey and "
                "wave): epsilons of all releases of a population are added"
            )
        return self

    @field_validator("plan")
    @classmethod
    def _valid_plan(cls, values: dict[str, Any] | str) -> dict[str, Any] | str:
        if isinstance(values, dict):
            model = settings_class(str(values.get("kind", "missing")))
            try:
                model.model_validate(values)
            except ValidationError as error:
                raise ValueError("; ".join(fault_lines(error, model, "plan"))) from None
        return values

    @property
    def test(self) -> bool:
        """Whether this is a test release."""
        return self.mode == "test"

    @property
    def plan_file(self) -> str | None:
        """The path of the plan file; None if the plan is made from settings."""
        return self.plan if isinstance(self.plan, str) else None

    @property
    def options(self) -> PlanOptions:
        """The options of the plan; the default ones if there is a plan file."""
        return settings_from(self.plan) if isinstance(self.plan, dict) else PlanOptions()

    @property
    def inputs(self) -> list[str]:
        """Files of your own that the plan is made from, records and schema excepted."""
        return [*([self.plan_file] if self.plan_file else []), *self.options.files]

    def make_plan(
        self,
        schema: "Schema | None",
        data: "RecordsFile | None" = None,
        released: "Mapping[str, Responses] | None" = None,
    ) -> "Plan":
        """Return the plan of the release.

        Raises `DeniableError` if the plan is impossible, and errors as `refuse_another_plan`.

        The `schema` describes the whole file; it is not used with a plan file. `data` are the
        original records, if `options` needs them, and `released` responses of other releases, by
        name.
        """
        if isinstance(self.plan, str):
            from deniable.plans import read_plan  # noqa: PLC0415

            plan = read_plan(self.plan).for_population(self.population)
        else:
            assert schema is not None
            if self.data is None:
                own = schema.of_population(self.population)
            else:  # the schema of a data set has the name of the data set
                own = schema.model_copy(update={"population": self.population or schema.population})
            inputs = PlanInputs(own, data, released or {}, tuple(self.accept))
            plan = settings_from(self.plan).plan(inputs)
            plan = plan if self.author is None else replace(plan, author=self.author)
        self.refuse_another_plan(plan)
        return plan

    def stated(self) -> dict[str, Any]:
        """Return everything that decides the protected records, in plain JSON values.

        Files count by their SHA-256, None if they do not exist.
        """
        return {
            "data": self.data,
            "mode": self.mode,
            "population": self.population,
            "accept": sorted(self.accept),
            "plan": _by_content(self.plan, self.inputs),
            "schema": _digest(self.file.schema_file)
            if self.file is not None and self.file.schema_file and not self.plan_file
            else "of the plan",
        }

    def refuse_another_plan(self, plan: "Plan") -> None:
        """Raise `DeniableError` if a risk of the `plan` is not accepted, or one is unknown.

        Also if the plan is for another population.
        """
        if unknown := [name for name in self.accept if name not in plan.risks]:
            allowed = ", ".join(plan.risks) or "none, because the plan has no risk"
            raise DeniableError(
                f"release {self.name!r}: accept: {unknown[0]!r} is not a risk of its plan; "
                f"allowed: {allowed}"
            )
        if missing := [name for name in plan.risks if name not in self.accept]:
            reasons = "; ".join(f"{name} ({plan.risks[name]})" for name in missing)
            raise DeniableError(
                f"release {self.name!r}: {reasons}. Choose another plan, or accept as the data "
                f"owner: accept: [{', '.join([*self.accept, *missing])}]"
            )
        own = plan.schema.population
        if self.population is not None and self.population.lower() != str(own).lower():
            raise DeniableError(
                f"release {self.name!r}: population: {self.population!r}; allowed: {own!r}, which "
                "the schema of the plan has"
            )


def _by_content(options: Any, files: Sequence[str]) -> Any:
    """Return `options`, with the digests of `files` in place of their paths."""
    if isinstance(options, dict):
        return {name: _by_content(each, files) for name, each in options.items()}
    return _digest(options) if isinstance(options, str) and options in files else options


def _digest(path: str) -> str | None:
    file = Path(path)
    return hashlib.sha256(file.read_bytes()).hexdigest() if file.is_file() else None
