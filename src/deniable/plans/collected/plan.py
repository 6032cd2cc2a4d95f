"""The plan of a collection of tables: the questions to clients, and the epsilon of a record."""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from fractions import Fraction
from functools import cached_property
from typing import Any, ClassVar, get_args

import numpy as np
import pandas as pd
import pyarrow as pa

from deniable import __version__
from deniable.channels import refuse_bad_budget
from deniable.errors import DeniableError, refuse_unknown
from deniable.plans.categorical import UNIT
from deniable.plans.collected.audit import audit_design
from deniable.plans.collected.comparison import compare_tables
from deniable.plans.fields import fields_from_json
from deniable.plans.interface import Guarantee, Order, Origin, Part, Plan, Watch
from deniable.plans.risks import RELEASED_KINDS, refuse_unaccepted, schema_risks
from deniable.records import Microdata
from deniable.responses import CollectedResponses
from deniable.rrba import (
    AnswersOfClient,
    CollectedTable,
    CollectionDesign,
    collect_answers,
    design_collection,
    guaranteed,
    keep_for_record,
)
from deniable.sampling import KeyedDraws, RandomnessSource
from deniable.schema import RecordBatch, Schema


@dataclass(frozen=True, eq=False)
class CollectedPlan(Plan):
    """The questions to clients about tables of columns, and the randomization of their answers.

    Each record belongs to one client, which receives one question. The protected file contains
    counts of answers, one row per cell, table and block, and no records.

    Parameters
    ----------
    schema : Schema
    design : CollectionDesign
        Questions about the schema's randomized columns.
    target : float
        The requested epsilon of a record.
    chosen_from : str
        The information by which tables and probabilities were chosen.
    accept : tuple of str
        Names of accepted risks (`deniable.plans.RISKS`).
    order : "as_in_file"
        Counts of answers have an order of their own.
    made_by : str
        Program and version.
    part : Part, optional
        The part of the respondents that answers; by default all.

    Raises
    ------
    DeniableError
        If the design has other columns than the schema, its exact epsilon is above the requested
        one, or a risk is not accepted.

    Examples
    --------
    >>> from deniable.schema import schema_from_dict
    >>> columns = [{"name": n, "kind": "categorical", "categories": ["x", "y"]} for n in "abcd"]
    >>> about = {"format": "deniable-schema", "population": "all", "file": {"kind": "arrow"}}
    >>> plan = CollectedPlan.of_epsilon(schema_from_dict(about | {"columns": columns}), 1.0)
    >>> len(plan.design.questions), round(plan.epsilon, 6)
    (3, 1.0)
    """

    kind: ClassVar[str] = "collected"
    protected_name: ClassVar[str] = "answers"
    of_records: ClassVar[bool] = False

    schema: Schema
    design: CollectionDesign
    target: float
    chosen_from: Origin = "no data"
    accept: tuple[str, ...] = ()
    order: Order = "as_in_file"
    made_by: str = f"deniable {__version__}"
    part: Part | None = None

    def __post_init__(self) -> None:
        refuse_unknown("origin of questions", self.chosen_from, get_args(Origin))
        refuse_unknown("order of answers", self.order, ("as_in_file",))
        if self.design.domain != self.schema.domain():
            raise DeniableError("the plan's questions are for other columns than its schema has")
        if self.epsilon > self.target:
            raise DeniableError(
                f"the plan's exact epsilon is {self.epsilon!r}, above the requested {self.target!r}"
            )
        refuse_unaccepted(self.risks, self.accept, self.schema)

    @classmethod
    def of_epsilon(
        cls,
        schema: Schema,
        epsilon: float,
        size: int = 2,
        answers: AnswersOfClient = "view",
        floor: float | None = None,
        block: int = 1000,
        accept: Sequence[str] = (),
    ) -> "CollectedPlan":
        """Return the plan of an epsilon of a client's record, over all of its answers.

        Parameters
        ----------
        schema : Schema
        epsilon : float, above 0
        size : int
            Number of columns of each table.
        answers : "view" or "table"
            Whether a client answers about all tables of a view, or about one table.
        floor : float, in (0, 1], optional
            With a floor w, fake answers follow the estimates so far, and no cell of a table of m
            cells is below w / m. By default fake answers are uniform.
        block : int, at least 1
            Number of clients that receive the same tables.
        accept : sequence of str, optional
            Names of accepted risks.

        Raises
        ------
        DeniableError
            If a parameter is out of range, or a risk is not accepted.
        """
        refuse_bad_budget(epsilon)
        keep_of = keep_for_record(epsilon, floor)
        design = design_collection(schema.domain(), size, answers, keep_of, floor, block)
        return cls(schema, design, epsilon, accept=tuple(accept))

    @classmethod
    def of_retention(
        cls,
        schema: Schema,
        keep: float,
        size: int = 2,
        answers: AnswersOfClient = "view",
        floor: float | None = None,
        block: int = 1000,
        accept: Sequence[str] = (),
    ) -> "CollectedPlan":
        """Return the plan by which every answer is kept with the probability p.

        Parameters
        ----------
        schema, size, answers, floor, block, accept
            See `of_epsilon`.
        keep : float, in (0, 1)
            p.
        """
        design = design_collection(schema.domain(), size, answers, lambda _: keep, floor, block)
        return cls(schema, design, _record_epsilon(design), accept=tuple(accept))

    @cached_property
    def epsilon(self) -> float:
        return _record_epsilon(self.design)

    @property
    def unit(self) -> str:
        return UNIT

    @property
    def guarantees(self) -> tuple[Guarantee, ...]:
        return (Guarantee(self.epsilon, self.unit),)

    @cached_property
    def risks(self) -> Mapping[str, str]:
        found = schema_risks(self.schema, self.chosen_from, self.accept)
        return {name: why for name, why in found.items() if name not in RELEASED_KINDS.values()}

    @property
    def not_covered(self) -> tuple[str, ...]:
        return tuple(self.risks.values())

    @property
    def passed(self) -> tuple[str, ...]:
        return ()

    @property
    def about_rows(self) -> str:
        return "Each row is a number of answers, by block, table and cell; there are no records."

    def randomize(
        self, batches: Iterable[RecordBatch], source: RandomnessSource, watch: Watch | None = None
    ) -> Iterator[pa.Table]:
        held = list(batches)
        records = None if self.part is None else self.part.positions(sum(map(len, held)))
        true = self.original_records(held)
        answers, _ = collect_answers(self.design, true, KeyedDraws.of(source), records)
        yield pa.Table.from_pandas(answers, preserve_index=False)

    def responses(self, source: Any) -> CollectedResponses:
        return CollectedResponses(source, self.design, self.schema.file)

    def audit(self, answers: pd.DataFrame | None = None) -> pd.DataFrame:
        """Compare each stated epsilon with one that is computed independently.

        The matrix p I + (1 - p) 1 q' of each table has its ratios computed entry by entry, in
        fractions. With a floor, q is a distribution that reaches the floor.

        Parameters
        ----------
        answers : DataFrame, optional
            The protected file. The tables q are then the ones that clients received.

        Returns
        -------
        DataFrame
            See `Plan.audit`; with the column ``theorem_4_1``, the epsilon that Theorem 4.1 of
            [rrba] claims. It does not hold.
        """
        return audit_design(self.design, self.target, self.epsilon, answers)

    def compare_with_original(
        self,
        protected: CollectedResponses,
        original: Microdata,
        estimates: Mapping[str, pd.DataFrame],
        generator: np.random.Generator,
    ) -> pd.DataFrame:
        """Compare the estimates of a test release with the original data, table by table.

        See `deniable.plans.collected.compare_tables`.

        Parameters
        ----------
        protected : CollectedResponses
        original : Microdata
        estimates : mapping of str to DataFrame
            ``consistent``, ``two_step`` and ``independence`` of `deniable.Released`, if they exist.
        generator : numpy.random.Generator
            Without effect.
        """
        return compare_tables(self.design, protected, original, estimates)

    def to_json(self) -> dict[str, Any]:
        floor, design = self.design.floor, self.design
        return {
            "block": design.block,
            "floor": None if floor is None else str(Fraction(floor)),
            "questions": [
                {
                    "epsilon": design.client_epsilon(number),
                    "tables": [_table_to_json(design.tables[each]) for each in question],
                }
                for number, question in enumerate(design.questions)
            ],
        }

    @classmethod
    def from_json(cls, values: Mapping[str, Any]) -> "CollectedPlan":
        fields, own = fields_from_json(values), values[cls.kind]
        domain = fields["schema"].domain()
        floor = None if own["floor"] is None else float(Fraction(own["floor"]))
        stated = [question["tables"] for question in own["questions"]]
        tables = {}
        for each in (table for question in stated for table in question):
            names = tuple(each["attributes"])
            keep, cells = float(Fraction(each["p"])), domain.project(names).size
            tables[names] = CollectedTable(names, cells, keep, guaranteed(floor))
        questions = tuple(tuple(tuple(each["attributes"]) for each in q) for q in stated)
        design = CollectionDesign(domain, questions, tables, floor, own["block"])
        return cls(design=design, **fields)


def _record_epsilon(design: CollectionDesign) -> float:
    return max(design.client_epsilon(number) for number in range(len(design.questions)))


def _table_to_json(table: CollectedTable) -> dict[str, Any]:
    return {
        "attributes": list(table.attributes),
        "p": str(Fraction(table.keep)),
        "epsilon": table.epsilon,
        "claimed_epsilon": table.claimed_epsilon,
    }
