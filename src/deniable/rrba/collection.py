"""Collections of tables by RRBA ([rrba], section 4): questions, answers and estimates.

Each record belongs to one client. Every client receives one question, about the tables of a view or
about a single table. It answers through the channel P = p I + (1 - p) 1 q' with the table q of its
block. This is the protocol of `deniable.rrba.protocol`, but all answers of a block are drawn at
once. The distribution is the same, and only the channels read original values.
"""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from itertools import combinations
from typing import Literal

import numpy as np
import pandas as pd

from deniable.arrays import Counts, Floats, Positions
from deniable.channels import log_rounded_up, product_of_ratios
from deniable.errors import DataError, DeniableError
from deniable.records import Domain, Microdata
from deniable.rrba.privacy import (
    answer_epsilon,
    claimed_epsilon,
    floor_epsilon,
    floor_parity,
    keep_for_epsilon,
)
from deniable.rrba.tables import (
    Rule,
    TableState,
    checked_counts,
    printed_estimate,
    refuse_bad_keep,
    table_channel,
)
from deniable.rrba.views import Combination, View, make_views
from deniable.sampling import KeyedDraws

AnswersOfClient = Literal["view", "table", "all"]
"""Whether a client answers about all tables of a view, about one table, or about all tables."""
FLOOR_ROUNDING = 1e-12
"""Relative amount by which a table's floats may lie below its floor; stated epsilons allow it."""
SEPARATOR = " x "
"""Joins the attributes of a table in files."""


@dataclass(frozen=True, eq=False)
class CollectedTable:
    """A collected table with its privacy parameters.

    `attributes` have so many `cells`, at least 1. p, `keep`, in (0, 1), is the probability that a
    client's original cell is kept. `floor`, in (0, 1], is the smallest cell of each q, times the
    number of cells; 1 if each q is uniform.
    """

    attributes: Combination
    cells: int
    keep: float
    floor: float = 1.0

    @cached_property
    def epsilon(self) -> float:
        """Epsilon of one answer, rounded up: exact for uniform q, else the floor's guarantee."""
        return floor_epsilon([self.cells], self.keep, self.floor)

    @property
    def claimed_epsilon(self) -> float:
        """Epsilon of one answer by Theorem 4.1 of [rrba], which does not hold."""
        return claimed_epsilon(self.keep) if self.cells > 1 else 0.0


@dataclass(frozen=True, eq=False)
class CollectionDesign:
    """The questions of a collection about records of a `domain`.

    Each client receives one of the `questions`, and `tables` has the tables of all of them. By
    default every q is uniform. With a `floor` w, in (0, 1], the q of a block follows from all
    answers before, and no cell of it is below w / cells. A `block`, at least 1, is the number of
    clients that receive the same tables. Raises `DeniableError` if a question has a table twice, or
    a value is out of range.
    """

    domain: Domain
    questions: tuple[View, ...]
    tables: Mapping[Combination, CollectedTable]
    floor: float | None = None
    block: int = 1000

    def __post_init__(self) -> None:
        if self.block < 1:
            raise DeniableError(f"blocks of {self.block} clients; give at least 1")
        for question in self.questions:
            if not question or len(set(question)) < len(question):
                named = ", ".join(map(SEPARATOR.join, question)) or "nothing"
                raise DeniableError(f"the question about {named}: name each table once")
        for combination, table in self.tables.items():
            refuse_bad_keep(table.keep)
            if table.cells != self.domain.project(combination).size:
                raise DeniableError(
                    f"the table of {SEPARATOR.join(combination)} has "
                    f"{self.domain.project(combination).size} cells, not {table.cells}"
                )

    @property
    def rule(self) -> Rule:
        """The rule by which answers determine the q of the next block."""
        return Rule("none") if self.floor is None else Rule("pooled", "projected", self.floor)

    def client_epsilon(self, question: int) -> float:
        """Return epsilon of the record of a client that receives a `question`, rounded up.

        It is the sum over answers, which are drawn independently. Two records that differ in all
        attributes differ in all tables, also if tables share attributes, so they reach the bounds
        of all tables at once: the sum is exact if the epsilons of answers are.
        """
        tables = (self.tables[each] for each in self.questions[question])
        return log_rounded_up(
            product_of_ratios(floor_parity(each.cells, each.keep, each.floor) for each in tables)
        )


def design_collection(
    domain: Domain,
    size: int,
    answers: AnswersOfClient,
    keep_of: Callable[[Sequence[int]], float],
    floor: float | None = None,
    block: int = 1000,
) -> CollectionDesign:
    """Return the design with all tables of `size` attributes of a `domain`, in the fewest views.

    Clients answer about a whole "view", one "table" or "all" tables, by `answers`. For pairs, the
    last is the protocol of [multirr], 4.3. `keep_of` returns p for the numbers of cells of the
    tables of a question. For `floor` and `block` see `CollectionDesign`.
    Raises `DeniableError` if a parameter is out of range.
    """
    if floor is not None and not 0 < floor <= 1:
        raise DeniableError(f"the floor is {floor}; it must be above 0 and at most 1")
    views = make_views(domain.names, size)
    by_table = tuple((combination,) for view in views for combination in view)
    every = tuple(combinations(domain.names, size))
    questions = {"view": views, "table": by_table, "all": (every,)}[answers]
    tables = {}
    for question in questions:
        sizes = [domain.project(combination).size for combination in question]
        keep = keep_of(sizes)
        for combination, cells in zip(question, sizes, strict=True):
            tables[combination] = CollectedTable(combination, cells, keep, guaranteed(floor))
    return CollectionDesign(domain, questions, tables, floor, block)


def guaranteed(floor: float | None) -> float:
    """Return the part of a `floor` that floats are certain to keep; 1 if q stays uniform."""
    return 1.0 if floor is None else floor * (1 - FLOOR_ROUNDING)


def keep_for_record(epsilon: float, floor: float | None) -> Callable[[Sequence[int]], float]:
    """Return a function from the sizes of a question's tables to p for `epsilon` of a record.

    Tables of one cell reveal nothing; their p is 1/2. See `CollectionDesign` for `floor`.
    """

    def keep_of(sizes: Sequence[int]) -> float:
        return keep_for_epsilon(sizes, epsilon, guaranteed(floor)) if max(sizes) > 1 else 0.5

    return keep_of


def collect_answers(
    design: CollectionDesign, data: Microdata, draws: KeyedDraws, records: Positions | None = None
) -> tuple[pd.DataFrame, pd.DataFrame]:
    """Send every client its question, block by block, and collect the answers.

    Clients are put into a random order, and questions of the `design` take turns in this order. So
    the clients of a question are a simple random sample of all clients. `data` are the original
    records of the clients, with numbers `records` in the whole file, by default from 0, and `draws`
    are keyed by these numbers. Raises `DeniableError` if there are fewer clients than questions.

    Returns a table of answers and a table of clients. Answers have a row per cell, table and block:
    ``attributes``, ``block``, ``categories``, ``p``, ``fake`` (q), ``epsilon`` (of one answer,
    exact, rounded up) and ``reports`` (number of answers). Clients have ``client`` (record number,
    from 1), ``block`` and ``question``.
    """
    number, questions = len(data), len(design.questions)
    if number < questions:
        raise DeniableError(
            f"{number} clients for {questions} questions; name fewer attributes, or collect from "
            "more clients"
        )
    known = np.arange(number) if records is None else np.asarray(records)
    words = draws.column(["order of clients"], int(known[-1]) + 1).words(64)[known]
    order = np.argsort(words, kind="stable")
    place = np.empty(number, dtype=np.int64)
    place[order] = np.arange(number)
    of_clients = {"block": place // design.block + 1, "question": place % questions + 1}
    clients = pd.DataFrame({"client": known + 1} | of_clients)
    states = {each: TableState.uniform(table.cells) for each, table in design.tables.items()}
    parts = []
    for turn, start in enumerate(range(0, number, design.block), start=1):
        places = np.arange(start, min(start + design.block, number))
        for question in np.unique(places % questions).tolist():
            own = order[places[places % questions == question]]
            for combination in design.questions[question]:
                table, state = design.tables[combination], states[combination]
                codes = [data.column(name)[own] for name in combination]
                true = design.domain.project(combination).ravel(codes)
                channel = table_channel(state.table, table.keep)
                reported = channel.report(true, draws, combination, known[own])
                reports = np.bincount(reported, minlength=table.cells)
                parts.append((table, turn, state.table, reports))
                states[combination] = state.updated(reports, table.keep, design.rule)
    return _answers_table(design, parts), clients


def _answers_table(
    design: CollectionDesign, parts: Sequence[tuple[CollectedTable, int, Floats, Counts]]
) -> pd.DataFrame:
    names = {each: design.domain.project(each).cell_labels() for each in design.tables}
    sizes = [table.cells for table, *_ in parts]
    epsilons = [
        answer_epsilon(sent, table.keep) if table.cells > 1 else 0.0 for table, _, sent, _ in parts
    ]
    return pd.DataFrame(
        {
            "attributes": np.repeat([SEPARATOR.join(t.attributes) for t, *_ in parts], sizes),
            "block": np.repeat([block for _, block, *_ in parts], sizes),
            "categories": np.concatenate([names[table.attributes] for table, *_ in parts]),
            "p": np.repeat([table.keep for table, *_ in parts], sizes),
            "fake": np.concatenate([sent for _, _, sent, _ in parts]),
            "epsilon": np.repeat(epsilons, sizes),
            "reports": np.concatenate([reports for *_, reports in parts]),
        }
    )


@dataclass(frozen=True, eq=False)
class TableAnswers:
    """All answers about one table, block by block.

    `keep` is p, in (0, 1). Numbers of answers, `reports`, and distributions of fake answers,
    `fake`, have the shape (blocks, cells). Raises `DeniableError` if the reports are not counts.
    """

    keep: float
    reports: Counts
    fake: Floats

    def __post_init__(self) -> None:
        checked_counts(self.reports, self.fake.shape[-1])

    @property
    def number(self) -> int:
        """Number of answers."""
        return int(self.reports.sum())

    @property
    def average_fake(self) -> Floats:
        """The distribution of fake answers, averaged over answers, shape (cells,)."""
        sizes = self.reports.sum(axis=1)
        return np.asarray(sizes @ self.fake / sizes.sum())

    def estimate(self) -> Floats:
        """Return the unbiased estimate of the original proportions, shape (cells,), by (4)."""
        return printed_estimate(self.reports.sum(axis=0), self.average_fake, self.keep)

    def standard_errors(self, clients: int | None = None) -> Floats:
        """Return the standard errors of the estimate, shape (cells,).

        By default they are for the population. Answers of a block are multinomial with lambda = p
        pi + (1 - p) q. The variance is the sum of n lambda (1 - lambda), divided by (p N)^2. For
        the file itself, the N clients are a simple random sample of `clients`, and the variance is
        smaller by pi (1 - pi) / N times (N - 1) / (clients - 1). The estimate, clipped to [0, 1],
        replaces pi.
        """
        sizes = self.reports.sum(axis=1, keepdims=True)
        pi = np.clip(self.estimate(), 0.0, 1.0)
        reported = self.keep * pi + (1 - self.keep) * self.fake
        variance = np.sum(sizes * reported * (1 - reported), axis=0)
        variance = variance / (self.keep * self.number) ** 2
        if clients is not None and clients > 1:
            variance = variance - pi * (1 - pi) / self.number * (self.number - 1) / (clients - 1)
        return np.asarray(np.sqrt(np.maximum(variance, 0.0)))


def answers_by_table(
    design: CollectionDesign, answers: pd.DataFrame
) -> dict[Combination, TableAnswers]:
    """Return the answers about each table of a `design`.

    The `answers` are as `collect_answers` returns them. Raises `DataError` if a table has no
    answers, or another number of cells.
    """
    groups = rows_by_table(answers)
    found = {}
    for combination, table in design.tables.items():
        rows = groups.get(SEPARATOR.join(combination))
        if rows is None or len(rows) % table.cells:
            raise DataError(
                f"the collection has no whole table of {SEPARATOR.join(combination)}; it is "
                "damaged or belongs to another release. Restore it"
            )
        reports = rows["reports"].to_numpy(dtype=np.int64).reshape(-1, table.cells)
        fake = rows["fake"].to_numpy(dtype=float).reshape(-1, table.cells)
        found[combination] = TableAnswers(float(rows["p"].iloc[0]), reports, fake)
    return found


def rows_by_table(rows: pd.DataFrame) -> Mapping[str, pd.DataFrame]:
    """Return the rows of each table of `rows`, by the column ``attributes``."""
    return {str(name): own for name, own in rows.groupby("attributes", sort=False)}
