"""Collect tables by RRBA ([rrba], section 4): questions, answers and estimates.

Each record belongs to one client, and each client receives one question. The protocol is the one of
`deniable.rrba.protocol`, but all answers of a block are drawn at once. The distribution is the
same, and only the channels read original values.
"""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import pandas as pd

from deniable.arrays import Counts, Floats, Positions
from deniable.channels import Channel, KeepOrReplace, ProductChannel, Target
from deniable.errors import DataError, DeniableError
from deniable.records import Microdata
from deniable.rrba.client import BlockReport
from deniable.rrba.questions import SEPARATOR, CollectedTable, CollectionDesign, Combination
from deniable.rrba.tables import (
    TableState,
    answer_epsilon,
    checked_counts,
    printed_estimate,
    table_channel,
)
from deniable.sampling import KeyedDraws

MAX_ROWS = 2_000_000
"""Largest number of rows of answers (one per cell, table, block), of 200 bytes each in memory."""


def collect_answers(
    design: CollectionDesign, data: Microdata, draws: KeyedDraws, records: Positions | None = None
) -> tuple[pd.DataFrame, pd.DataFrame]:
    """Send every client its question, block by block, and collect the answers.

    Clients are put into a random order, and receive the questions of the `design` in turn. So the
    clients of a question are a simple random sample of all clients. `data` has the original records
    of the clients, and `records` their numbers in the whole file, by default from 0. The `draws`
    are keyed by these numbers. Raises `DeniableError` if there are fewer clients than questions, or
    the answers have over 2,000,000 rows.

    Returns a table of answers and a table of clients. Answers have a row per cell, table and block:
    ``attributes``, ``block``, ``categories``, ``p``, ``fake`` (q), ``epsilon`` (of one answer,
    exact, rounded up) and ``reports`` (number of answers). Clients have ``client`` (record number,
    from 1), ``block`` and ``question``.
    """
    number, questions = len(data), len(design.questions)
    refuse_impossible(design, number)
    known = np.arange(number) if records is None else np.asarray(records)
    words = draws.column(["order of clients"], int(known[-1]) + 1).words(64)[known]
    order = np.argsort(words, kind="stable")
    place = np.empty(number, dtype=np.int64)
    place[order] = np.arange(number)
    of_clients = {"block": place // design.block + 1, "question": place % questions + 1}
    clients = pd.DataFrame({"client": known + 1} | of_clients)
    states = {each: TableState.uniform(own.cells) for each, own in design.randomized.items()}
    parts = []
    for turn, start in enumerate(range(0, number, design.block), start=1):
        places = np.arange(start, min(start + design.block, number))
        for question in np.unique(places % questions).tolist():
            own, reported = order[places[places % questions == question]], {}
            for each in design.asked[question]:
                true = design.domain.project(each).ravel([data.column(name)[own] for name in each])
                channel = table_channel(states[each].drawn_from, design.randomized[each].keep)
                reported[each] = channel.report(true, draws, each, known[own])
            for names, cells in design.cells_by_table(question, reported).items():
                table, state = design.tables[names], states.get(names)
                q = np.full(table.cells, 1 / table.cells) if state is None else state.drawn_from
                counts = np.bincount(cells, minlength=table.cells)
                parts.append((table, turn, q, counts))
                if state is not None:
                    states[names] = state.updated(counts, table.keep, design.rule)
    return answers_table(design, parts), clients


def refuse_impossible(design: CollectionDesign, clients: int) -> None:
    """Raise `DeniableError` if there are too few `clients`, or their answers need too many rows.

    The `design` needs at least one client per question, and at most 2,000,000 rows of answers.
    """
    if clients < len(design.questions):
        raise DeniableError(
            f"{clients} clients for {len(design.questions)} questions; name fewer attributes, or "
            "collect from more clients"
        )
    cells = [sum(design.tables[each].cells for each in own) for own in design.questions]
    # In a block of fewer clients than questions, each client adds the rows of one question.
    blocks = -(-clients // design.block)
    rows = min(blocks * sum(cells), clients * max(cells))
    if rows > MAX_ROWS:
        raise DeniableError(
            f"{clients:,} clients in blocks of {design.block:,} have up to {rows:,} rows of "
            f"answers; allowed: {MAX_ROWS:,}. Make the blocks larger"
        )


def collected_reports(design: CollectionDesign, reports: Sequence[BlockReport]) -> pd.DataFrame:
    """Return the table of answers in `reports` to a server, as in `collect_answers`.

    There is at most one block report for each block and table that clients of the `design`
    randomize. With a memory, a client's answers are joined. Raises `DeniableError` if a table has
    none.
    """
    blocks: dict[int, dict[Combination, BlockReport]] = {}
    for report in sorted(reports, key=lambda each: each.block):
        blocks.setdefault(report.block, {})[report.combination] = report
    parts = []
    for block, found in blocks.items():
        for number, question in enumerate(design.asked):
            own = {each: dict(found[each].answers) for each in question if each in found}
            if design.memory:  # a client's answers together, or none of them
                known = sorted(set.intersection(*[set(own.get(each, ())) for each in question]))
                own = {each: {client: own[each][client] for client in known} for each in question}
            codes = {each: np.array([*cells.values()], np.int64) for each, cells in own.items()}
            for each, cells in design.cells_by_table(number, codes).items():
                table = design.tables[each]
                q = np.full(table.cells, 1 / table.cells) if design.memory else found[each].table
                counts = np.bincount(cells, minlength=table.cells)
                parts.append((table, block, np.asarray(q), counts))
    if missing := set(design.tables) - {table.attributes for table, *_ in parts}:
        names = SEPARATOR.join(min(missing))
        raise DeniableError(f"no valid answer is about {names}; ask more clients")
    return answers_table(design, parts)


def answers_table(
    design: CollectionDesign, parts: Sequence[tuple[CollectedTable, int, Floats, Counts]]
) -> pd.DataFrame:
    """Return the table of answers, as in `collect_answers`.

    Each of the `parts` has a table of the `design`, a block number, q, and the counts of answers.
    """
    names = {each: design.domain.project(each).cell_labels() for each in design.tables}
    sizes = [table.cells for table, *_ in parts]
    epsilons = [
        answer_epsilon([sent], table.keep) if table.cells > 1 and not table.sizes else table.epsilon
        for table, _, sent, _ in parts
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
    `fake`, have the shape (blocks, cells). If clients have a memory, the `channel` produced all
    answers. Raises `DeniableError` if `reports` are not counts.
    """

    keep: float
    reports: Counts
    fake: Floats
    channel: Channel | None = None

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
        if self.channel is not None:
            return self.channel.estimate(self.reports.sum(axis=0))
        return printed_estimate(self.reports.sum(axis=0), self.average_fake, self.keep)

    def standard_errors(self, clients: int | None = None) -> Floats:
        """Return the standard errors of the estimate, shape (cells,).

        By default they are for the population. Answers of a block are multinomial with lambda = p
        pi + (1 - p) q. The variance is the sum of n lambda (1 - lambda), divided by (p N)^2. For
        the file itself, the N clients are a simple random sample of `clients`. Then the variance is
        smaller by pi (1 - pi) / N times (N - 1) / (clients - 1). The estimate, clipped to [0, 1],
        replaces pi.
        """
        if self.channel is not None:
            target: Target = "population" if clients is None else "file"
            return self.channel.standard_errors(self.reports.sum(axis=0), target)
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

    `answers` is a table of answers from `collect_answers`. Raises `DataError` if a table has no
    answers, or another number of cells.
    """
    groups = dict(iter(answers.groupby("attributes")))
    found = {}
    for combination, table in design.tables.items():
        if (rows := groups.get(SEPARATOR.join(combination))) is None or len(rows) % table.cells:
            raise DataError(
                f"the collection has no complete table of {SEPARATOR.join(combination)}; it is "
                "damaged or belongs to another release. Restore it"
            )
        reports = rows["reports"].to_numpy(dtype=np.int64).reshape(-1, table.cells)
        fake = rows["fake"].to_numpy(dtype=float).reshape(-1, table.cells)
        keep = float(rows["p"].iloc[0])
        own = tuple(KeepOrReplace.uniform(size, keep) for size in table.sizes)
        channel = ProductChannel(own) if own else None
        found[combination] = TableAnswers(keep, reports, fake, channel)
    return found
