"""The questions of a collection of tables by RRBA ([rrba], section 4), and their epsilons.

A view is a set of combinations of k attributes without common attributes, so a client answers about
each attribute at most once. Every combination of k attributes is in exactly one view. The number of
views is the least possible. Algorithm 1 makes d views of pairs, although d - 1 suffice for an even
d.
"""

import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from itertools import combinations
from typing import Literal, get_args

import numpy as np
import scipy

from deniable.arrays import Codes, Counts, Flags
from deniable.channels import log_rounded_up, product_of_ratios
from deniable.errors import DeniableError, refuse_unknown
from deniable.records import Domain
from deniable.rrba.tables import (
    Rule,
    Update,
    claimed_epsilon,
    floor_epsilon,
    floor_parity,
    keep_for_epsilon,
    refuse_bad_keep,
)

Combination = tuple[str, ...]
View = tuple[Combination, ...]

MAX_COMBINATIONS = 200_000
AnswersOfClient = Literal["view", "table", "all", "memory"]
"""A client answers about all tables of a view, about one table, about all tables, or about all
tables from its memory."""
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
        _refuse_bad_floor(self.floor, self.update)
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
        return Rule("none") if self.floor is None else Rule(self.update, self.floor)

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
    _refuse_bad_floor(floor, update)
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


def _refuse_bad_floor(floor: float | None, update: Update) -> None:
    if floor is not None and not (0 < floor <= 1 or (floor == 0 and update != "pooled")):
        raise DeniableError(f"the floor is {floor}; it must be above 0 and at most 1")


def guaranteed(floor: float | None) -> float:
    """Return the part of a `floor` that floating-point tables keep; 1 if q stays uniform."""
    return 1.0 if floor is None else floor * (1 - FLOOR_ROUNDING)


def keep_for_record(sizes: Sequence[int], epsilon: float, floor: float | None) -> float:
    """Return p of a question with tables of these `sizes` for an `epsilon` of a record.

    Tables of one cell reveal nothing; their p is 1/2. See `CollectionDesign` for `floor`.
    """
    return keep_for_epsilon(sizes, epsilon, guaranteed(floor)) if max(sizes) > 1 else 0.5


def fewest_views(attributes: int, size: int) -> int:
    """Return C(d, k) / floor(d / k), rounded up, for d `attributes`, k = `size`: a lower bound."""
    return -(-math.comb(attributes, size) // (attributes // size))


def make_views(names: Sequence[str], size: int) -> tuple[View, ...]:
    """Return views that contain every combination of `size` attributes exactly once.

    Pairs come from a round robin, larger combinations from Baranyai's construction (On the
    factorization of the complete uniform hypergraph, 1975). Both attain `fewest_views`. Attributes
    of a combination, and combinations of a view, are in the order of `names`. Raises
    `DeniableError` if a name occurs twice, `size` is not in 1 .. len(names), or combinations exceed
    200,000.

    Examples
    --------
    >>> for view in make_views("AREO", 2):
    ...     print(*("".join(combination) for combination in view))
    AO RE
    AE RO
    AR EO
    """
    d = len(names)
    if len(set(names)) < d:
        raise DeniableError(f"of the {d} attributes some are named twice; name each once")
    if not 1 <= size <= d:
        raise DeniableError(f"combinations of {size} of {d} attributes; k must be in 1 .. {d}")
    if math.comb(d, size) > MAX_COMBINATIONS:
        raise DeniableError(
            f"{d} attributes have {math.comb(d, size):,} combinations of {size}; allowed are "
            f"{MAX_COMBINATIONS:,}; name fewer attributes"
        )
    return tuple(
        tuple(tuple(names[position] for position in each) for each in sorted(view))
        for view in (_round_robin(d) if size == 2 else _baranyai(d, size))
    )


def _round_robin(attributes: int) -> list[list[tuple[int, ...]]]:
    """Return the pairs of each round of a tournament; for an odd number, one attribute rests."""
    going = attributes - 1 + attributes % 2
    views = []
    for turn in range(going):
        pairs: list[tuple[int, ...]] = [
            tuple(sorted(((turn - step) % going, (turn + step) % going)))
            for step in range(1, (going + 1) // 2)
        ]
        if attributes > going:
            pairs.append((turn, going))
        views.append(pairs)
    return views


def _baranyai(attributes: int, size: int) -> list[list[tuple[int, ...]]]:
    """Return Baranyai's partition of all combinations, adding one attribute at a time.

    Before attribute l each view has floor(d / k) sets (one view may have fewer) of the attributes
    below l. Some sets are empty. Over all views, each set S occurs C(d - l, k - |S|) times, once
    for each combination to which it must still grow. Attribute l then joins at most one set of each
    view, and the set S in C(d - l - 1, k - |S| - 1) places. Fractions (k - |S|) / (d - l) of each
    set are a fractional solution. So an integer solution exists, and a maximum flow finds it.
    """
    per_view = attributes // size
    if per_view == 1:
        return [[each] for each in combinations(range(attributes), size)]
    total = math.comb(attributes, size)
    views = fewest_views(attributes, size)
    capacity = np.full(views, per_view)
    capacity[-1] = total - per_view * (views - 1)
    # One column per set. The sets of a view beyond its capacity do not exist and never grow.
    members = np.zeros((views, per_view, size), dtype=np.int64)
    grown = np.zeros((views, per_view), dtype=np.int64)
    grown[np.arange(per_view) >= capacity[:, None]] = size
    for attribute in range(attributes):
        view, place = _extended(members, grown, attribute, attributes, size)
        members[view, place, grown[view, place]] = attribute
        grown[view, place] += 1
    return [
        [tuple(each) for each in sets[:held].tolist()]
        for sets, held in zip(members, capacity.tolist(), strict=True)
    ]


def _extended(
    members: Counts, grown: Counts, attribute: int, attributes: int, size: int
) -> tuple[Counts, Counts]:
    """Return the views and places of the sets that the `attribute` joins."""
    left = attributes - attribute
    missing = size - grown
    # A view that needs all remaining attributes must take this one.
    bound = missing.sum(axis=1) == left
    view, place = np.nonzero(missing > 0)
    # Equal sets of a view (empty ones) are one arc: any of them may grow.
    weights = (attributes + 1) ** np.arange(size)
    keys = ((members + 1) * (np.arange(size) < grown[..., None])) @ weights
    arcs = np.unique(np.column_stack((view, keys[view, place])), axis=0, return_index=True)[1]
    view, place = view[arcs], place[arcs]
    _, first, sets = np.unique(keys[view, place], return_index=True, return_inverse=True)
    demand = np.array([math.comb(left - 1, int(m) - 1) for m in missing[view, place][first]])
    taken = _flow(view, sets, bound, demand)
    return view[taken], place[taken]


def _flow(view: Counts, sets: Counts, bound: Flags, demand: Counts) -> Flags:
    """Mark the arcs from views to sets with flow: all of the demand, at most one arc per view.

    The source feeds `bound` views directly; the other views receive the rest.
    """
    views, nodes = bound.size, bound.size + demand.size
    source, share, sink = nodes, nodes + 1, nodes + 2
    starts = np.where(bound, source, share)
    free = int(demand.sum() - bound.sum())
    heads = np.concatenate(([source], starts, view, views + np.arange(demand.size)))
    tails = np.concatenate(([share], np.arange(views), views + sets, np.full(demand.size, sink)))
    capacities = np.concatenate(([free], np.ones(views + view.size, dtype=np.int64), demand))
    arcs = capacities.astype(np.int32), (heads, tails)
    graph = scipy.sparse.csr_array(arcs, shape=(nodes + 3, nodes + 3))
    flow = scipy.sparse.csgraph.maximum_flow(graph, source, sink)
    if flow.flow_value != demand.sum():  # impossible by Baranyai's theorem
        raise DeniableError(
            "no views: this is an error in deniable.rrba.questions; please report it"
        )
    return np.asarray(flow.flow[view, views + sets]).reshape(-1) > 0
