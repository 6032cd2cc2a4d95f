"""The interface of all plans."""

import math
from abc import ABC, abstractmethod
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import KW_ONLY, dataclass, replace
from typing import TYPE_CHECKING, Any, ClassVar, Literal, Self, get_args

import numpy as np
import pyarrow as pa

from deniable import __version__
from deniable.errors import DeniableError, refuse_no_name, refuse_unknown, shown
from deniable.plans.risks import (
    BY_DATA,
    Guarantee,
    Origin,
    guarantee_of_unit,
    refuse_unaccepted,
    released_columns,
    schema_risks,
)
from deniable.records import Microdata
from deniable.sampling import Numbers, RandomnessSource
from deniable.schema import Part, RecordBatch, Schema, answering_batches

if TYPE_CHECKING:  # the workflow imports this module at its start, before any computation
    import pandas as pd

    from deniable.channels import Channel
    from deniable.privacy import Requirement
    from deniable.randomized_response import Protocol
    from deniable.responses import Responses, Table

Order = Literal["permuted", "as_in_file"]
Watch = Callable[[Microdata, Microdata, Mapping[str, pa.Array]], None]
"""Receives the original and the randomized values of a batch, and the columns released as is."""
UNIT = "the whole record of one respondent"
SHOWN = "is released unchanged: another value shows for certain"
RECORD = "one whole record of a respondent"
GIVEN_MATRICES = "The matrices are given; their choice by the original records is not counted."


@dataclass(frozen=True, eq=False, repr=False)
class Plan(ABC):
    """The mechanism of each column of a file, with its exact epsilon.

    Parameters
    ----------
    schema : Schema
        Columns, population and format of the file.
    target : float
        The requested epsilon of a record.
    chosen_from : str
        The information by which mechanisms were chosen.
    accept : tuple of str
        Names of accepted risks (`deniable.plans.RISKS`).
    order : "permuted" or "as_in_file"
        Order of the protected records.
    part : Part, optional
        The part of the respondents that answers; by default all.
    requirement : Requirement, optional
        The requirement that took the place of an epsilon; the channels must meet it.
    made_by : str
        Program and version.
    author : str, optional
        Name or role of the person who made the plan, for an approval by another person
        (`dataclasses.replace` gives a plan an author). The published plan has it too.

    Raises
    ------
    DeniableError
        If an argument is out of range, or a risk is not accepted.
    """

    kind: ClassVar[str]
    """The name of the kind in documents and configs."""
    protected_name: ClassVar[str] = "protected"
    """Stem of the name of the protected file."""
    of_records: ClassVar[bool] = True
    """Whether the rows of the protected file are records, which need a random order."""

    schema: Schema
    target: float
    _: KW_ONLY
    chosen_from: Origin = "no data"
    accept: tuple[str, ...] = ()
    order: Order = "permuted"
    part: Part | None = None
    requirement: "Requirement | None" = None
    made_by: str = f"deniable {__version__}"
    author: str | None = None

    def __post_init__(self) -> None:
        if self.author is not None:
            refuse_no_name(self.author)
        refuse_unknown("origin of mechanisms", self.chosen_from, get_args(Origin))
        refuse_unknown("order", self.order, get_args(Order))
        if self.schema.unit and (self.part or self.requirement):
            raise DeniableError("a unit with several records allows no part, beta or breach")
        refuse_unaccepted(self.risks, self.accept, self.schema)

    def __repr__(self) -> str:
        """Return a summary in at most ten lines."""
        blocks = [
            f"  {name}: epsilon {own:.6g}, {why.partition(': ')[0]}"
            for name, own, why in self.mechanisms()
        ]
        if len(blocks) > 6:
            blocks[5:] = [f"  and {len(blocks) - 5} more"]
        names = ", ".join(each.name for each in self.schema.randomized)
        stated, requested = self.guarantees[0], self.target * self.schema.records_per_unit
        lines = [
            f"{type(self).__name__} of population {shown(self.schema.population)}: {names}",
            f"epsilon {stated.epsilon!r} of {stated.unit}, requested {requested!r}",
            *blocks,
            *(f"not covered by epsilon: {', '.join(own)}" for own in [self.risks] if own),
        ]
        return "\n".join(each if len(each) < 100 else f"{each[:96]} ..." for each in lines)

    def for_population(self, population: str | None) -> Self:
        """Return the plan for records of a `population`; None keeps the one of the schema.

        Raises `DeniableError` if the name is invalid, or the schema states another one.
        """
        schema = self.schema.of_population(population)
        return self if schema is self.schema else replace(self, schema=schema)

    def refuse_above_target(self) -> None:
        """Raise `DeniableError` if the exact epsilon is above the requested one."""
        if self.epsilon > self.target:
            above = f"above the requested {self.target!r}"
            raise DeniableError(f"the plan's exact epsilon is {self.epsilon!r}, {above}")

    @property
    @abstractmethod
    def epsilon(self) -> float:
        """Exact epsilon of `unit`, rounded up; infinite if no finite epsilon is proved."""

    @property
    def unit(self) -> str:
        """The unit of privacy of `epsilon`."""
        strata = " and ".join(self.strata)
        own = UNIT if self.schema.unit is None else RECORD
        return f"{own} who stays in a stratum of {strata}" if strata else own

    @property
    def strata(self) -> tuple[str, ...]:
        """Columns that are released unchanged; their categories name a stratum."""
        return ()

    @property
    def guarantees(self) -> tuple[Guarantee, ...]:
        """All guarantees; the first one states `epsilon`, or its sum over the records of a unit."""
        conditions = (GIVEN_MATRICES,) if self.chosen_from in BY_DATA else ()
        own = Guarantee(self.epsilon, self.unit, conditions)
        if self.schema.unit is None:
            return (own,)
        return (guarantee_of_unit(own, self.schema, self.strata), own)

    @property
    def epsilon_in_ledger(self) -> float:
        """The epsilon that a ledger counts: infinite if any disclosure is not covered."""
        return math.inf if self.not_covered else self.guarantees[0].epsilon

    @property
    def risks(self) -> dict[str, str]:
        """Risks of the plan by name, each with its reason; all must be accepted."""
        return schema_risks(self.schema, self.chosen_from, self.accept)

    @property
    def not_covered(self) -> tuple[str, ...]:
        """Disclosures that no epsilon counts, as sentences."""
        own = {"drafted": f" ({', '.join(self.schema.drafted)})"}
        risks = (why + own.get(name, "") for name, why in self.risks.items())
        return (*risks, *(f"{name} {SHOWN}" for name in self.strata))

    @property
    def row_by_row(self) -> bool:
        """Whether one fixed randomizer draws each row from the answers of one respondent alone."""
        return False

    @property
    def unchanged_groups(self) -> tuple[str, ...]:
        """Columns that are released as they are, and so divide the rows into groups."""
        return self.strata

    @property
    def against_shuffling(self) -> tuple[str, ...]:
        """Reasons why a random order of rows adds no guarantee within `unchanged_groups`."""
        reasons = {
            "no finite epsilon is proved": math.isinf(self.epsilon),
            "the rows are not drawn one by one from the records": not self.row_by_row,
            "the rows have no random order": self.order != "permuted" or not self.of_records,
        }
        groups = [f"{name} {SHOWN}" for name in self.strata]
        found = [why for why, holds in reasons.items() if holds]
        return (*found, *(each for each in self.not_covered if each not in groups))

    @property
    def passed(self) -> tuple[str, ...]:
        """Names of the columns that are released without randomization."""
        return released_columns(self.schema, self.accept)

    @property
    def schema_of_originals(self) -> Schema:
        """The schema by which original records are read, with the bounds that values move to."""
        return self.schema

    @property
    def schema_of_tables(self) -> Schema:
        """The schema of the columns that have tables of categories."""
        return self.schema

    @property
    def refuted(self) -> tuple[str, ...]:
        """Claims about the mechanism that do not hold, as the plan itself states."""
        return ()

    def memory(self, records: int) -> int:
        """Return the bytes that so many `records` need at once; 0 if they are read in batches."""
        return 0

    def refuse_too_few(self, records: int) -> None:  # noqa: B027 - most plans take any number
        """Raise `DeniableError` if the mechanism needs more than so many `records`."""

    @property
    def published(self) -> "Plan":
        """The plan that is published: this one, or one without matrices that are kept back."""
        return self

    @property
    def unverifiable(self) -> tuple[str, ...]:
        """Claims that cannot be verified from the plan alone, by the names in `audit`."""
        return ()

    def owner_tables(self, batches: Iterable[RecordBatch]) -> Mapping[str, "pd.DataFrame"]:
        """Return further tables of the original `batches` for the data owner, by file name."""
        return {}

    @property
    def weight(self) -> str | None:
        """The released column of weights by which proportions are estimated, if any."""
        return None

    @property
    def record_protocol(self) -> "Protocol | None":
        """The protocol that randomizes all records in the same way, if there is one."""
        return None

    @abstractmethod
    def randomize(
        self, batches: Iterable[RecordBatch], source: RandomnessSource, watch: Watch | None = None
    ) -> Iterator[pa.Table]:
        """Yield tables of the protected columns.

        The `batches` have the order of the file. All random numbers come from the `source`. The
        function `watch` receives each batch, for the risk measures of the data owner.
        """

    def randomize_batch(
        self,
        batch: RecordBatch,
        records: Numbers,
        source: RandomnessSource,
        watch: Watch | None = None,
    ) -> pa.Table:
        """Return the protected columns of one `batch`.

        The `records` are its record numbers in the whole file, from 0. `source` and `watch` are as
        in `randomize`. Raises `DeniableError` if the plan randomizes all records together.
        """
        raise DeniableError(
            f"a plan of kind {self.kind} randomizes all records of a file together, not batch by "
            "batch; give the whole file to deniable.protect"
        )

    def epsilon_by_changed_attribute(self) -> dict[str, float]:
        """Return the exact epsilon of a change of one column alone, by column."""
        return {}

    def channels(self) -> "Mapping[str, Channel]":
        """Return the channels of categories, by the names of their columns and their stratum."""
        return {}

    def table_of(self, names: Sequence[str]) -> "Table":
        """Return the table of some columns, `names`, with the channel to its randomized values.

        Raises `DeniableError` if the plan has no channels, a name is unknown or given twice, or the
        matrix is too large.
        """
        raise DeniableError(f"a plan of kind {self.kind} has no channels; compare test releases")

    def public_tables(self, protected: pa.Table) -> Mapping[str, "pd.DataFrame"]:
        """Return further public tables of a release, by file name without the ending .csv.

        The table `protected` is one that `randomize` yields.
        """
        return {}

    @property
    def large_blocks(self) -> tuple[str, ...]:
        """The blocks whose matrices `public_tables` leave out, because they are too large."""
        return ()

    @abstractmethod
    def responses(self, source: Any) -> "Responses":
        """Return the protected records of a `source`, a path or a table, for estimation."""

    def original_records(self, batches: Iterable[RecordBatch]) -> Any:
        """Return the original records of the respondents that answer, from `batches`."""
        domain = self.schema.domain()
        held = [batch for batch, _ in answering_batches(batches, self.part)]
        columns = (np.concatenate([each.codes[name] for each in held]) for name in domain.names)
        return Microdata(domain, tuple(columns))

    def compare_with_original(
        self,
        protected: Any,
        original: Any,
        estimates: Mapping[str, "pd.DataFrame"],
        generator: np.random.Generator,
    ) -> "pd.DataFrame":
        """Compare a test release with the original records.

        By default as in `deniable.responses.compare_records`. `responses` returns `protected`, and
        `original_records` returns `original`. The `estimates` are tables of the release by name;
        some may be missing. If the comparison draws the release again, it uses the `generator`.
        """
        from deniable.responses import compare_records  # noqa: PLC0415 - loads SciPy

        return compare_records(protected, original, estimates, generator)

    @abstractmethod
    def audit(self) -> "pd.DataFrame":
        """Compare each stated epsilon with one that is computed independently.

        There is one row per claim: ``unit``, ``of``, ``claimed_epsilon``, ``exact_epsilon``,
        ``shipped_epsilon``, ``kind``, ``shown_by``, ``holds``.
        """

    def mechanisms(self) -> tuple[tuple[str, float, str], ...]:
        """Return the columns, the exact epsilon and the mechanism of each block of columns."""
        return ()

    def matrices(self) -> "pd.DataFrame":
        """Return the transition matrices; raise `DeniableError` if the plan has none.

        There is one row per entry: ``stratum``, ``block``, ``true``, ``reported``, ``probability``.
        The probability is a text that reads back as the same float.
        """
        raise DeniableError(f"a plan of kind {self.kind} has no transition matrices")

    @abstractmethod
    def to_json(self) -> dict[str, Any]:
        """Return the fields of the JSON document that belong to this kind alone."""

    @classmethod
    @abstractmethod
    def from_json(cls, own: Mapping[str, Any], fields: Mapping[str, Any]) -> "Plan":
        """Rebuild a plan from its `own` fields of `to_json` and the `fields` of `Plan`."""


def refuse_no_plan(plan: object, remedy: str = "make one by deniable.make_plan") -> None:
    """Raise `DeniableError`, with a `remedy`, if this is not a `plan`."""
    if not isinstance(plan, Plan):
        raise DeniableError(f"{shown(plan)} is not a plan; {remedy}")
