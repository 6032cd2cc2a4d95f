"""The questions of a collection of tables by RRBA ([rrba], section 4), and their epsilons."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from itertools import combinations
from typing import Literal, get_args

from deniable.arrays import Codes, Floats
from deniable.channels import (
    Channel,
    KeepOrReplace,
    ProductChannel,
    log_rounded_up,
    product_of_ratios,
)
from deniable.errors import DeniableError, refuse_unknown
from deniable.records import Domain
from deniable.rrba.privacy import claimed_epsilon, floor_epsilon, floor_parity, keep_for_epsilon
from deniable.rrba.tables import Basis, Form, Rule, refuse_bad_keep, table_channel
from deniable.rrba.views import Combination, View, make_views

AnswersOfClient = Literal["view", "table", "all", "memory"]
"""A client answers about all tables of a view, about one table, about all tables, or about all
tables from its memory."""
Update = Literal["pooled", "first_version", "second_version"]
"""The rule for the next q: all answers so far, or one of the versions of Algorithm 1."""
BASES: Mapping[Update, Basis] = {
    "pooled": "pooled",
    "first_version": "cumulative",
    "second_version": "block",
}
FLOOR_ROUNDING = 1e-12
"""Relative amount by which a table's floats may be below its floor; stated epsilons include it."""
SEPARATOR = " x "
"""Joins the attributes of a table in files."""


@dataclass(frozen=True, eq=False)
class CollectedTable:
    """A collected table with its privacy parameters.

    `cells` is the number of joint cells of the `attributes`, at least 1. p, `keep`, in (0, 1), is
    the probability that a client's original cell is kept. `floor`, in [0, 1], is the smallest cell
    of each q, times the number of cells; 1 if each q is uniform. If a client randomizes its
    attributes separately, `sizes` has their numbers of categories. By default it randomizes the
    joint cell.
    """

    attributes: Combination
    cells: int
    keep: float
    floor: float = 1.0
    sizes: tuple[int, ...] = ()

    @cached_property
    def epsilon(self) -> float:
        """Epsilon of one answer, rounded up: exact for uniform q, otherwise the floor's bound."""
        return floor_epsilon(self.sizes or (self.cells,), self.keep, self.floor)

    @property
    def claimed_epsilon(self) -> float:
        """Epsilon of one answer by Theorem 4.1 of [rrba], which does not hold."""
        randomized = sum(size > 1 for size in self.sizes or (self.cells,))
        return randomized * claimed_epsilon(self.keep) if randomized else 0.0


@dataclass(frozen=True, eq=False)
class CollectionDesign:
    """The questions of a collection about records of a `domain`.

    Each client receives one of the `questions`, and `tables` has the tables of all questions. By
    default every q is uniform. With a `floor` w, in (0, 1], the q of a block is computed from all
    earlier answers, and no cell of it is below w / cells. A `block`, at least 1, is the number of
    clients that receive the same tables.

    The `update` makes the q of a block from answers: "pooled", or a version of Algorithm 1 of
    [rrba]. In these versions the floor can be 0: then q is as published, and no finite epsilon
    holds. The first version has blocks of one client. With `memory` ([rrba], section 4) a client
    randomizes each attribute once, with uniform q, and stores the results. Its answers about all
    tables consist of these. Raises `DeniableError` if a question has a table twice, or a value is
    out of range.
    """

    domain: Domain
    questions: tuple[View, ...]
    tables: Mapping[Combination, CollectedTable]
    floor: float | None = None
    block: int = 1000
    update: Update = "pooled"
    memory: bool = False

    def __post_init__(self) -> None:
        refuse_unknown("update", self.update, get_args(Update))
        if self.block < 1 or (self.update == "first_version" and self.block > 1):
            least = "1 in the first version" if self.block > 1 else "at least 1"
            raise DeniableError(f"blocks of {self.block} clients; give {least}")
        if self.memory and (self.floor is not None or len(self.questions) > 1):
            raise DeniableError("with a memory, give one question and no floor: tables are uniform")
        for question in self.asked:
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
        if self.floor is None:
            return Rule("none")
        form: Form = "projected" if self.floor or self.update == "pooled" else "printed"
        return Rule(BASES[self.update], form, self.floor)

    @cached_property
    def asked(self) -> tuple[View, ...]:
        """The questions that clients receive; with a memory, one about each attribute alone."""
        if not self.memory:
            return self.questions
        names = dict.fromkeys(name for table in self.tables for name in table)
        return (tuple((name,) for name in names),)

    @cached_property
    def randomized(self) -> Mapping[Combination, CollectedTable]:
        """The tables that clients randomize, by their attributes, as in `asked`."""
        if not self.memory:
            return self.tables
        keep = next(iter(self.tables.values())).keep
        sizes = {each: self.domain.project(each).size for each in self.asked[0]}
        return {each: CollectedTable(each, size, keep) for each, size in sizes.items()}

    def channel(self, names: Combination, keep: float, fake: Floats) -> Channel:
        """Return the channel of the columns `names`, all in one table, with p and q.

        p is `keep` and q is `fake`, shape (cells,).
        """
        if not self.memory:
            return table_channel(fake, keep)
        shape = self.domain.project(names).shape
        return ProductChannel(tuple(KeepOrReplace.uniform(size, keep) for size in shape))

    def cells_by_table(
        self, question: int, reported: Mapping[Combination, Codes]
    ) -> Mapping[Combination, Codes]:
        """Return the cells of answers about each table of a `question`, one cell per client.

        Without a memory these are the `reported` cells.
        """
        if not self.memory:
            return reported
        return {
            names: self.domain.project(names).ravel([reported[(name,)] for name in names])
            for names in self.questions[question]
        }

    def client_epsilon(self, question: int) -> float:
        """Return the epsilon of a record if its client receives a `question`, rounded up.

        It is the sum over answers, which are drawn independently. Two records that differ in all
        attributes differ in all tables, also if tables have common attributes. So they attain the
        bounds of all tables, and the sum is exact if the epsilons of answers are.
        """
        tables = (self.randomized[each] for each in self.asked[question])
        return log_rounded_up(
            product_of_ratios(floor_parity(each.cells, each.keep, each.floor) for each in tables)
        )


def design_collection(
    domain: Domain,
    size: int,
    answers: AnswersOfClient,
    keep_of: Callable[[Sequence[int]], float],
    floor: float | None = None,
    block: int | Literal["section_5"] = 1000,
    update: Update = "pooled",
) -> CollectionDesign:
    """Return the design with all tables of `size` attributes of a `domain`, in the fewest views.

    For `answers` see `AnswersOfClient`; for pairs, "all" is the protocol of [multirr], 4.3. The
    function `keep_of` returns p for the numbers of cells of a question's tables (of the attributes
    with a memory). For `floor`, `block` and `update` see `CollectionDesign`; block "section_5" is
    `section_5_block`. Raises `DeniableError` if a parameter is out of range.
    """
    if floor is not None and not (0 < floor <= 1 or (floor == 0 and update != "pooled")):
        raise DeniableError(f"the floor is {floor}; it must be above 0 and at most 1")
    memory, views = answers == "memory", make_views(domain.names, size)
    by_table = tuple((combination,) for view in views for combination in view)
    every = tuple(combinations(domain.names, size))
    questions = {"view": views, "table": by_table}.get(answers, (every,))
    tables = {}
    for question in questions:
        sizes = [domain.project(combination).size for combination in question]
        keep = keep_of(domain.shape if memory else sizes)
        for names, cells in zip(question, sizes, strict=True):
            parts = domain.project(names).shape if memory else ()
            tables[names] = CollectedTable(names, cells, keep, guaranteed(floor), parts)
    if block == "section_5":
        block = section_5_block([table.cells for table in tables.values()], len(questions))
    return CollectionDesign(domain, questions, tables, floor, block, update, memory)


def section_5_block(cells: Sequence[int], questions: int) -> int:
    """Return the number of clients of a block by section 5 of [rrba].

    By that section, a block suffices if its number of answers about a table is the table's number
    of cells. So this is the largest number of `cells` of a table, times the number of `questions`,
    which clients receive in turn. The section's criterion of convergence does not depend on the
    block size; see docs/findings.md.

    Examples
    --------
    >>> section_5_block([4, 6], 3)
    18
    """
    return max(cells) * questions


def guaranteed(floor: float | None) -> float:
    """Return the part of a `floor` that floating-point tables keep; 1 if q stays uniform."""
    return 1.0 if floor is None else floor * (1 - FLOOR_ROUNDING)


def keep_for_record(epsilon: float, floor: float | None) -> Callable[[Sequence[int]], float]:
    """Return a function from the sizes of a question's tables to p for `epsilon` of a record.

    Tables of one cell reveal nothing; their p is 1/2. See `CollectionDesign` for `floor`.
    """

    def keep_of(sizes: Sequence[int]) -> float:
        return keep_for_epsilon(sizes, epsilon, guaranteed(floor)) if max(sizes) > 1 else 0.5

    return keep_of
