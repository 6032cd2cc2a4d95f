"""The plan of a collection of tables: the questions to clients, and the epsilon of a record."""

import math
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import KW_ONLY, dataclass
from fractions import Fraction
from functools import cached_property, lru_cache, reduce
from typing import Any, ClassVar, Literal

import numpy as np
import pandas as pd
import pyarrow as pa
import scipy

from deniable.arrays import Counts
from deniable.channels import fraction_from_json, fraction_to_json, refuse_bad_budget
from deniable.errors import DeniableError, refuse_unknown
from deniable.estimation import Z_95, jensen_shannon_distances, l2_distances
from deniable.plans.auditing import AUDIT_COLUMNS, EVERY_ENTRY, Ratios
from deniable.plans.document import epsilon_to_json
from deniable.plans.interface import Order, Plan, Watch
from deniable.plans.risks import RELEASED_KINDS, RISKS
from deniable.privacy import column_epsilon, largest_ratio
from deniable.records import Microdata
from deniable.responses import CollectedResponses
from deniable.rrba import (
    SEPARATOR,
    AnswersOfClient,
    CollectedTable,
    CollectionDesign,
    Update,
    collect_answers,
    design_collection,
    guaranteed,
    keep_for_record,
    table_channel,
)
from deniable.sampling import KeyedDraws, RandomnessSource
from deniable.schema import RecordBatch, Schema

MAX_CELLS_BY_ENTRY = 256
"""Cells of a table up to which every entry of its matrix is audited, in integers."""
DISTINCT_ENTRIES = "the two distinct entries of each column"
THEOREM = "theorem_4_1"
ESTIMATES = {
    "consistent": ("consistent", "consistent"),
    "nearest": ("two_step", "nearest"),
    "independent": ("two_step", "independent"),
}
"""The table and the column of each estimate."""
DECISIONS = (
    *("records", "p_value", "valid"),
    *("rejected", "rejected_holm", "rejected_benjamini_hochberg"),
)


@dataclass(frozen=True, eq=False, repr=False)
class CollectedPlan(Plan):
    """The questions to clients about tables of columns, and the randomization of their answers.

    Each record belongs to one client, which receives one question. The protected file contains
    counts of answers, one row per cell, table and block, and no records.

    Parameters
    ----------
    schema, target, chosen_from, accept, part, made_by
        As in `deniable.plans.Plan`.
    design : CollectionDesign
        Questions about the schema's randomized columns.
    order : "as_in_file"
        Counts of answers have an order of their own.

    Raises
    ------
    DeniableError
        If the design has other columns than the schema, its exact epsilon is above the target, or a
        risk is not accepted.

    Examples
    --------
    >>> from deniable.schema import schema_from_dict
    >>> columns = [{"name": n, "kind": "categorical", "categories": ["x", "y"]} for n in "abcd"]
    >>> about = {"format": "deniable-schema", "population": "all", "file": {"kind": "arrow"}}
    >>> plan = CollectedPlan.from_schema(schema_from_dict(about | {"columns": columns}), 1.0)
    >>> len(plan.design.questions), round(plan.epsilon, 6)
    (3, 1.0)
    """

    kind: ClassVar[str] = "collected"
    protected_name: ClassVar[str] = "answers"
    of_records: ClassVar[bool] = False
    passed: ClassVar[tuple[str, ...]] = ()

    design: CollectionDesign
    _: KW_ONLY
    order: Order = "as_in_file"

    def __post_init__(self) -> None:
        refuse_unknown("order of answers", self.order, ("as_in_file",))
        if self.design.domain != self.schema.domain():
            raise DeniableError(
                "the questions and the schema have different columns; give the same"
            )
        if self.schema.unit or self.schema.rules:
            raise DeniableError(
                "a plan of kind collected does not support a unit with several records, impossible "
                "combinations and skip patterns; choose kind columns, or change the schema"
            )
        self.refuse_above_target()
        super().__post_init__()

    @classmethod
    def from_schema(
        cls,
        schema: Schema,
        epsilon: float | None = None,
        size: int = 2,
        answers: AnswersOfClient = "view",
        floor: float | None = None,
        block: int | Literal["section_5"] = 1000,
        accept: Sequence[str] = (),
        *,
        keep: float | None = None,
        update: Update = "pooled",
    ) -> "CollectedPlan":
        """Return the plan with an epsilon of a client's record, over all of its answers.

        Parameters
        ----------
        schema : Schema
        epsilon : float, above 0
        size : int
            Number of columns of each table.
        answers : "view", "table", "all" or "memory"
            Whether a client answers about all tables of a view, about one table, or about all
            tables. For pairs, "all" is the protocol of [multirr], 4.3. With "memory" a client
            randomizes each column once, uniformly, and answers about all tables from these values.
        floor : float, in (0, 1], optional
            With a floor w, fake answers follow the estimates so far, and no cell of a table of m
            cells is below w / m. By default fake answers are uniform. At 0, for an `update` by
            Algorithm 1 as published, no finite epsilon holds: the risk ``no_floor``.
        block : int, at least 1, or "section_5"
            Number of clients that receive the same tables; see `deniable.rrba.section_5_block`.
        accept : sequence of str, optional
            Names of accepted risks.
        keep : float, in (0, 1)
            In place of `epsilon`: the retention probability p of an answer.
        update : "pooled", "first_version" or "second_version"
            How fake answers with a floor follow the answers: all of them, or by a version of
            Algorithm 1 of [rrba]. The first version has blocks of 1.

        Raises
        ------
        DeniableError
            If a parameter is out of range, a risk is not accepted, or not one of epsilon and keep
            is given.
        """
        if (epsilon is None) == (keep is None):
            raise DeniableError("give an epsilon or the probability keep, one of them")
        if epsilon is not None:
            refuse_bad_budget(epsilon)
            if floor == 0:
                raise DeniableError("with floor 0 no epsilon can be requested; give p")

        def keep_of(sizes: Sequence[int]) -> float:
            return keep or 0.0 if epsilon is None else keep_for_record(sizes, epsilon, floor)

        design = design_collection(schema.domain(), size, answers, keep_of, floor, block, update)
        target = _record_epsilon(design) if epsilon is None else epsilon
        return cls(schema, target, design, accept=tuple(accept))

    @cached_property
    def epsilon(self) -> float:
        return _record_epsilon(self.design)

    @property
    def risks(self) -> dict[str, str]:
        released = RELEASED_KINDS.values()
        found = {name: why for name, why in super().risks.items() if name not in released}
        return found | ({"no_floor": RISKS["no_floor"]} if self.design.floor == 0 else {})

    def randomize(
        self, batches: Iterable[RecordBatch], source: RandomnessSource, watch: Watch | None = None
    ) -> Iterator[pa.Table]:
        held = list(batches)
        records = None if self.part is None else self.part.positions(sum(map(len, held)))
        true = self.original_records(held)
        answers, _ = collect_answers(self.design, true, KeyedDraws.of(source), records)
        yield pa.Table.from_pandas(answers, preserve_index=False)

    def responses(self, source: Any) -> CollectedResponses:
        return CollectedResponses(source, self.design, self.schema.file.protected)

    def audit(self) -> pd.DataFrame:
        """Compare each stated epsilon with one that is computed independently; see `Plan.audit`.

        The ratios of the matrix p I + (1 - p) 1 q' of each table are computed entry by entry, in
        fractions. With a floor, q is a distribution with a cell at the floor. The column
        ``theorem_4_1`` has the epsilon that Theorem 4.1 of [rrba] claims. It does not hold.
        """
        by_cells: dict[int, list[tuple[CollectedTable, Ratios]]] = {}
        records: list[tuple[float, Ratios]] = []
        for question in self.design.asked:
            tables = [self.design.randomized[each] for each in question]
            ratios = [_ratios(table.keep, table.cells, table.floor) for table in tables]
            for table, own in zip(tables, ratios, strict=True):
                by_cells.setdefault(table.cells, []).append((table, own))
            theorem = sum(table.claimed_epsilon for table in tables)
            records.append((theorem, reduce(Ratios.composed, ratios)))
        rows = []
        for cells, each in sorted(by_cells.items()):
            # The answers farthest above their claim; if all hold, the ones of largest epsilon.
            table, found = max(each, key=lambda own: (own[1].exact > own[0].epsilon, own[1].exact))
            row = found.row("answer", f"tables of {cells} cells", table.epsilon)
            rows.append(row | {THEOREM: table.claimed_epsilon})
        theorem, worst = max(records, key=lambda own: own[1].exact)
        for unit, claimed in (("record", self.epsilon), ("record, target", self.target)):
            rows.append(worst.row(unit, "all answers of a client", claimed) | {THEOREM: theorem})
        return pd.DataFrame(rows, columns=[*AUDIT_COLUMNS, THEOREM])

    def compare_with_original(
        self,
        protected: CollectedResponses,
        original: Microdata,
        estimates: Mapping[str, pd.DataFrame],
        generator: np.random.Generator,
    ) -> pd.DataFrame:
        """Compare `protected` tables and their estimates with the `original` data, as in `Plan`.

        The `estimates` are the tables ``consistent``, ``two_step`` and ``independence`` of
        `deniable.Released`. A table that is missing has no columns in the result. There is one row
        per table, with ``columns`` and ``cells``. ``l2_*`` and ``js_*`` are the Euclidean and the
        Jensen-Shannon distance from the original proportions. They are for the unbiased estimate
        (l2 only, since it can be negative), the ``consistent`` table, the ``nearest`` table without
        negative cells, and the ``independent`` one. ``covered`` is the proportion of cells with the
        original proportion in the 95 % interval for the file. The decision of the test follows, and
        ``original_p_value`` and ``original_cramers_v`` (of pairs) of Pearson's test of the
        originals. The `generator` is not used.
        """
        parts = {
            name: {str(key): own for key, own in estimates[name].groupby("columns", sort=False)}
            for name in ("consistent", "two_step", "independence")
            if "columns" in estimates.get(name, ())
        }
        rows = []
        for names in self.design.tables:
            label, answers = SEPARATOR.join(names), protected.answers_about(names)
            counts = original.counts(names)
            exact = (counts / len(original)).reshape(-1)
            estimate = answers.estimate()
            row: dict[str, Any] = {"columns": label, "cells": exact.size}
            row["l2_estimate"] = float(l2_distances(estimate, exact))
            for name, (table, column) in ESTIMATES.items():
                if (own := parts.get(table, {}).get(label)) is not None and len(own) == exact.size:
                    found = own[column].to_numpy(dtype=float)
                    row[f"l2_{name}"] = float(l2_distances(found, exact))
                    row[f"js_{name}"] = float(jensen_shannon_distances(found, exact))
            errors = answers.standard_errors(len(original))
            row["covered"] = float((np.abs(estimate - exact) <= Z_95 * errors + 1e-9).mean())
            if label in parts.get("independence", {}):
                decided = parts["independence"][label].iloc[0]
                row |= {name: decided[name] for name in DECISIONS}
            rows.append(row | _pearson(counts))
        return pd.DataFrame(rows)

    def to_json(self) -> dict[str, Any]:
        floor, design = self.design.floor, self.design
        return {
            "block": design.block,
            "floor": None if floor is None else fraction_to_json(floor),
            "questions": [
                {
                    "epsilon": epsilon_to_json(design.client_epsilon(number)),
                    "tables": [
                        {
                            "attributes": list(each),
                            "p": fraction_to_json(design.tables[each].keep),
                            "epsilon": epsilon_to_json(design.tables[each].epsilon),
                            "claimed_epsilon": design.tables[each].claimed_epsilon,
                        }
                        for each in question
                    ],
                }
                for number, question in enumerate(design.questions)
            ],
            **({} if design.update == "pooled" else {"update": design.update}),
            **({"memory": True} if design.memory else {}),
        }

    @classmethod
    def from_json(cls, own: Mapping[str, Any], fields: Mapping[str, Any]) -> "CollectedPlan":
        domain = fields["schema"].domain()
        floor = None if own["floor"] is None else fraction_from_json(own["floor"])
        update, memory = own.get("update", "pooled"), own.get("memory", False)
        tables, questions = {}, []
        for question in own["questions"]:
            for each in question["tables"]:
                names = tuple(each["attributes"])
                keep, part = fraction_from_json(each["p"]), domain.project(names)
                sizes = part.shape if memory else ()
                tables[names] = CollectedTable(names, part.size, keep, guaranteed(floor), sizes)
            questions.append(tuple(tuple(each["attributes"]) for each in question["tables"]))
        rest = floor, own["block"], update, memory
        return cls(design=CollectionDesign(domain, tuple(questions), tables, *rest), **fields)


def _record_epsilon(design: CollectionDesign) -> float:
    return max(design.client_epsilon(number) for number in range(len(design.questions)))


@lru_cache(maxsize=4096)
def _ratios(keep: float, cells: int, floor: float) -> Ratios:
    """Return the largest ratio of p I + (1 - p) 1 q', for a q with one cell at the floor."""
    least, p = Fraction(floor) / cells, Fraction(keep)
    sent = [Fraction(1)] if cells == 1 else [least, *[(1 - least) / (cells - 1)] * (cells - 1)]
    shipped = column_epsilon(table_channel([float(q) for q in sent], keep).matrix())
    fakes = [(1 - p) * proportion for proportion in sent]
    if cells > MAX_CELLS_BY_ENTRY:
        ratio = None if min(fakes) == 0 else max((p + fake) / fake for fake in fakes)
        return Ratios(ratio, shipped, DISTINCT_ENTRIES)
    common = math.lcm(p.denominator, *(fake.denominator for fake in fakes))
    weights = np.array([[int(fake * common) for fake in fakes]] * cells, dtype=object)
    weights[np.arange(cells), np.arange(cells)] += int(p * common)
    return Ratios(largest_ratio(weights), shipped, EVERY_ENTRY)


def _pearson(counts: Counts) -> dict[str, float]:
    """Return the p-value and Cramér's V of Pearson's test of independence."""
    for axis in range(counts.ndim):  # categories without a record do not count
        others = tuple(other for other in range(counts.ndim) if other != axis)
        counts = counts.compress(counts.sum(axis=others) > 0, axis)
    if (freedom := min(counts.shape) - 1) < 1:
        return {"original_p_value": np.nan, "original_cramers_v": np.nan}
    found = scipy.stats.chi2_contingency(counts, correction=False)
    v = math.sqrt(found.statistic / counts.sum() / freedom) if counts.ndim == 2 else np.nan
    return {"original_p_value": float(found.pvalue), "original_cramers_v": v}
