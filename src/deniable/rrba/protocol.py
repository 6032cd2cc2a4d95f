"""Run the protocol of RRBA: aggregators, a server, and messages ([rrba], Algorithm 1).

Clients need not trust aggregators or the server, because these receive only answers that went
through the clients' channels. Several aggregators may ask the same clients, each with its own
blocks and tables. Messages may be lost, repeated, late or malformed.

`Collection` has the counts of whole blocks without clients, for many replicates in parallel. Their
distribution is the same as in the protocol with one table. Given the table of their block, clients
answer independently. So counts of true answers are binomial, and of fake ones multinomial.
"""

from collections import Counter, defaultdict
from collections.abc import Sequence
from dataclasses import dataclass, replace

import numpy as np
import numpy.typing as npt
from numpy.random import Generator

from deniable.arrays import Counts, Floats
from deniable.errors import DeniableError, named_types
from deniable.records import Domain
from deniable.rrba.client import Answer, BlockReport, Client, Question, Refusal, refuse_repeated
from deniable.rrba.questions import Combination, View
from deniable.rrba.tables import (
    POOLED,
    Rule,
    TableState,
    checked_counts,
    drawn_distribution,
    pooled_estimate,
    refuse_bad_keep,
)
from deniable.sampling import refuse_no_source


class Aggregator:
    """Asks clients in blocks, and computes the tables of a block from the earlier answers.

    Blocks of one client are the first version of the protocol, Algorithm 1. Each client receives
    one of the `views` of the `domain`. The `generator` draws the views and needs no secrecy. p,
    `keep`, one for all views or one per view, is in (0, 1). The `rule` makes the tables of the next
    block from answers.
    """

    def __init__(
        self,
        domain: Domain,
        views: Sequence[View],
        keep: float | Sequence[float],
        generator: Generator,
        rule: Rule = POOLED,
    ) -> None:
        keeps = [keep] * len(views) if isinstance(keep, float) else keep
        for each in keeps:
            refuse_bad_keep(each)
        refuse_no_source(generator)
        if not views:
            raise DeniableError("an aggregator needs at least one view to ask")
        self.domain, self.views, self.rule = domain, tuple(views), rule
        self._generator = generator
        self._keeps = {c: p for view, p in zip(views, keeps, strict=True) for c in view}
        sizes = {each: domain.project(each).size for view in views for each in view}
        self.states = {each: TableState.uniform(size) for each, size in sizes.items()}
        """The current table of each combination."""
        self._block, self._questions = -1, 0
        self._open: dict[int, Question] = {}
        self._answers: dict[Combination, dict[str, int]] = {}
        self.passed_over: Counter[str] = Counter()
        """Messages that were not counted, by reason."""

    @property
    def waiting(self) -> bool:
        """Whether a question of the block has no answer."""
        return bool(self._open)

    def open_block(
        self, clients: Sequence[str], views: Sequence[int] | None = None
    ) -> list[Question]:
        """Start a block and return one question for each name in `clients`.

        The numbers of their `views`, from 0, are drawn by default. Raises `DeniableError` if the
        previous block is open, or a client is named twice.
        """
        if self._open:
            raise DeniableError(f"block {self._block} is still open; close it first")
        refuse_repeated(clients, f"block {self._block + 1}")
        self._block += 1
        if views is None:
            views = self._generator.integers(len(self.views), size=len(clients)).tolist()
        for client, view in zip(clients, views, strict=True):
            asked, number = self.views[view], self._questions + 1
            tables = (self.states[each].drawn_from for each in asked)
            sent = tuple(tuple(table.tolist()) for table in tables)
            self._open[number] = Question(number, client, self._keeps[asked[0]], asked, sent)
            self._questions = number
        return list(self._open.values())

    def receive(self, message: Answer | Refusal) -> None:
        """Count a `message` if it is the first reply to an open question, from the right client."""
        if (question := self._open.get(message.question)) is None:
            known = 1 <= message.question <= self._questions
            self.passed_over["late or doubled" if known else "to no question"] += 1
        elif question.client != message.client:
            self.passed_over["from another client"] += 1
        elif isinstance(message, Refusal):
            self.passed_over["refused"] += 1
            del self._open[message.question]
        elif len(message.cells) != len(question.tables) or any(
            cell >= len(table) for cell, table in zip(message.cells, question.tables, strict=True)
        ):
            self.passed_over["malformed"] += 1
        else:
            del self._open[message.question]
            for combination, cell in zip(question.view, message.cells, strict=True):
                self._answers.setdefault(combination, {})[message.client] = cell

    def close_block(self) -> list[BlockReport]:
        """End the block: update the tables, and return the block reports."""
        self.passed_over["no answer"] += len(self._open)
        self._open.clear()
        reports = []
        for combination, answers in self._answers.items():
            state, keep = self.states[combination], self._keeps[combination]
            sent, pairs = tuple(state.drawn_from.tolist()), tuple(answers.items())
            reports.append(BlockReport(self._block, combination, keep, sent, pairs))
            self.states[combination] = state.updated(reports[-1].counts, keep, self.rule)
        self._answers = {}
        return reports


class Server:
    """Pools the block reports of one or several aggregators.

    Each client counts once per combination, with the first answer to arrive from any block,
    aggregator or repeated report.
    """

    def __init__(self) -> None:
        self._reports: dict[Combination, list[BlockReport]] = {}
        self._counted: dict[Combination, set[str]] = defaultdict(set)
        self.repeated = 0
        """Answers of clients that had been counted."""

    def receive(self, report: BlockReport) -> None:
        """Store the answers in a block `report` of clients that have not been counted.

        Raises `DeniableError` if the number of cells differs from earlier tables.
        """
        combination, counted = report.combination, self._counted[report.combination]
        new = tuple(pair for pair in report.answers if pair[0] not in counted)
        self.repeated += len(report.answers) - len(new)
        if not new:
            return
        kept = self._reports.setdefault(combination, [])
        if kept and len(kept[0].table) != len(report.table):
            raise DeniableError(
                f"reports on {', '.join(combination)} have tables of {len(kept[0].table)} and of "
                f"{len(report.table)} cells; aggregators must share one domain"
            )
        kept.append(replace(report, answers=new))
        counted.update(client for client, _ in new)

    @property
    def reports(self) -> list[BlockReport]:
        """All block reports, with the counted answers."""
        return [report for reports in self._reports.values() for report in reports]

    def estimate(self, combination: Combination) -> Floats:
        """Return the unbiased estimate of the proportions of a `combination`, from all blocks.

        It is the sum over blocks of (o - n (1 - p) q), divided by the sum of n p. It sums to 1 but
        may leave [0, 1]. Raises `DeniableError` if the combination has no answers.
        """
        if not (reports := self._reports.get(combination)):
            raise DeniableError(
                f"no answers came for {', '.join(combination)}: nothing can be estimated; ask a "
                "view that includes it"
            )
        kept = sum(sum(r.counts) * r.keep for r in reports)
        fake = (sum(r.counts) * (1 - r.keep) * np.asarray(r.table) for r in reports)
        true = [np.asarray(r.counts) - each for r, each in zip(reports, fake, strict=True)]
        return np.asarray(np.sum(true, axis=0) / kept)


@named_types
def run_rrba(
    aggregator: Aggregator, server: Server, clients: Sequence[Client], block_size: int
) -> None:
    """Ask all `clients` once, in their order, in blocks of `block_size`.

    The `aggregator` reports each block to the `server`. Blocks of 1 are Algorithm 1. Raises
    `DeniableError` if two clients have the same name.
    """
    if block_size < 1:
        raise DeniableError(f"blocks of {block_size} clients; give at least 1")
    if len(by_name := {client.name: client for client in clients}) < len(clients):
        raise DeniableError("two clients have the same name; give each its own")
    names = list(by_name)
    for start in range(0, len(names), block_size):
        for question in aggregator.open_block(names[start : start + block_size]):
            aggregator.receive(by_name[question.client].answer(question))
        for report in aggregator.close_block():
            server.receive(report)


@dataclass(frozen=True, eq=False)
class Collection:
    """Replicates of RRBA for one table, with the axes run, block, cell.

    The `reported` counts and `tables`, the tables T of the blocks, have the shape (runs, blocks,
    cells). `keep` is p, and `state` the state after the last block.
    """

    keep: float
    reported: Counts
    tables: Floats
    state: TableState

    @property
    def drawn_from(self) -> Floats:
        """The distributions of fake answers, shape (runs, blocks, cells)."""
        return drawn_distribution(self.tables)

    def running_estimates(self) -> Floats:
        """Return the unbiased estimate from all blocks up to each, shape (runs, blocks, cells)."""
        size = self.reported.sum(axis=-1, keepdims=True)
        sums = (self.reported, size * self.drawn_from, size)
        counts, exposure, total = (np.cumsum(each, axis=1) for each in sums)
        return pooled_estimate(counts, exposure, total, self.keep)

    def running_standard_errors(self) -> Floats:
        """Return the standard errors of `running_estimates`, including the sampling of clients.

        The formula is the one of `deniable.rrba.collection.TableAnswers.standard_errors`.
        """
        size = self.reported.sum(axis=-1, keepdims=True)
        total = np.maximum(np.cumsum(size, axis=1), 1)
        pi = np.clip(self.running_estimates(), 0.0, 1.0)
        fake = (1 - self.keep) * self.drawn_from
        # The sum of n (p pi + f)(1 - p pi - f), with pi estimated up to this block.
        known = self.keep * pi
        squares = np.cumsum(size * fake * (1 - fake), axis=1)
        variance = squares + known * np.cumsum(size * (1 - 2 * fake), axis=1) - total * known**2
        return np.asarray(np.sqrt(np.maximum(variance, 0.0)) / (self.keep * total))

    def estimate(self) -> Floats:
        """Return the unbiased estimate from all blocks, shape (runs, cells)."""
        return self.state.estimate(self.keep)


def collect(
    true_counts: npt.ArrayLike, keep: float, generator: Generator, rule: Rule = POOLED
) -> Collection:
    """Collect one table from blocks of clients, for several replicates.

    `true_counts`, shape (runs, blocks, cells), are numbers of clients by true cell. For the
    records of a file see `split_blocks`. A block may be empty. p, `keep`, is in (0, 1). The `rule`
    makes the table of the next block from answers. The `generator` draws true and fake answers.
    """
    refuse_bad_keep(keep)
    true = np.asarray(true_counts)
    if true.ndim != 3 or true.dtype.kind not in "iu" or (true.size and true.min() < 0):
        raise DeniableError(
            "true counts must be whole numbers, not negative, with axes run, block, cell; they "
            f"are {true.dtype} of shape {true.shape}"
        )
    runs, blocks, cells = true.shape
    state = TableState.uniform(cells, (runs,))
    reported = np.empty((runs, blocks, cells), dtype=np.int64)
    tables = np.empty((runs, blocks, cells))
    kept = generator.binomial(true, keep)
    replaced = true.sum(axis=-1) - kept.sum(axis=-1)
    for block in range(blocks):
        tables[:, block] = state.table
        fake = multinomial_rows(generator, replaced[:, block], state.drawn_from)
        reported[:, block] = kept[:, block] + fake
        state = state.updated(reported[:, block], keep, rule)
    return Collection(keep, reported, tables, state)


def multinomial_rows(generator: Generator, totals: Counts, probabilities: Floats) -> Counts:
    """Draw multinomial counts with row-wise `probabilities`, shape (rows, cells); zeros stay zeros.

    NumPy assigns the remainder of rounding to the last category. Here this is the most likely
    category. `totals` has the shape (rows,). The `generator` draws.
    """
    rows, last = np.arange(len(probabilities)), probabilities.shape[-1] - 1
    likeliest = probabilities.argmax(axis=-1)
    swapped = probabilities.copy()
    swapped[rows, likeliest] = probabilities[:, last]
    swapped[:, last] = probabilities[rows, likeliest]
    # Sums of floats just above 1 would be refused.
    swapped /= np.maximum(swapped.sum(axis=-1, keepdims=True), 1.0)
    drawn = generator.multinomial(totals, swapped)
    own = drawn[:, last].copy()
    drawn[:, last] = drawn[rows, likeliest]
    drawn[rows, likeliest] = own
    return drawn


def split_blocks(counts: npt.ArrayLike, size: int, generator: Generator) -> Counts:
    """Assign the records of a file to blocks of `size` clients at random, by a `generator`.

    The last block has the remainder. The `counts` of the file have the shape (cells,), and the
    result has the shape (blocks, cells).
    """
    if size < 1:
        raise DeniableError(f"blocks of {size} clients; give at least 1")
    file = checked_counts(counts, np.size(counts))
    records = generator.permutation(np.repeat(np.arange(file.size), file))
    blocks = -(-records.size // size)
    cells = np.arange(records.size) // size * file.size + records
    return np.bincount(cells, minlength=blocks * file.size).reshape(blocks, file.size)
