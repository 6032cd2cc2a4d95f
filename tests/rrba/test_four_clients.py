"""Four clients: what a collection releases, by enumeration, with the rules of the tables by hand.

Answers are drawn in one process (`randomize`), and by the clients, the aggregator and the server of
``deniable rrba`` in memory. Both are compared with the same enumeration, in fractions. The last
test counts intervals that cover.
"""

import math
from collections import Counter
from collections.abc import Callable, Sequence
from fractions import Fraction
from itertools import combinations, pairwise, product
from typing import Any

import numpy as np
import pandas as pd
import pytest
from scipy import stats
from tests.channels.channel_cases import exact_matrix
from tests.cli.test_rrba import collected
from tests.plans.test_collected import frame_of, schema_of
from tests.plans.test_four_records import assert_equal, outcomes
from tests.rrba.collected_records import some_records

from deniable import CollectedPlan, Released, randomize
from deniable.channels import Channel, ProductChannel
from deniable.plans import plan_from_json, plan_to_json
from deniable.records import Attribute, Domain, Microdata
from deniable.sampling import KeyedDraws
from deniable.sampling.keyed import KeyedColumn

Row = list[Fraction]
P = 0.4
OPTIONS: dict[str, tuple[tuple[int, ...], dict[str, Any]]] = {
    "a view of two tables": ((2, 2, 1, 1), {"block": 3}),
    "several views, pooled": ((2, 2, 2), {"block": 3, "floor": 0.2}),
    "a table": ((2, 2, 1), {"answers": "table", "block": 2}),
    "all tables": ((2, 1, 1), {"answers": "all", "block": 2}),
    "all tables, pooled": ((2, 1, 1), {"answers": "all", "block": 1, "floor": 0.3}),
    "memory": ((2, 2, 1), {"answers": "memory", "block": 3}),
    "first version": ((2, 2), {"block": 1, "floor": 0.2, "update": "first_version"}),
    "second version": ((2, 2), {"block": 2, "floor": 0.2, "update": "second_version"}),
    "second version, printed": ((2, 2), {"block": 1, "floor": 0.0, "update": "second_version"}),
}


def plan_of(sizes: Sequence[int], options: dict[str, Any]) -> Any:
    names = "abcd"[: len(sizes)]
    categories = (tuple("01"[:size]) for size in sizes)
    domain = Domain(tuple(map(Attribute, names, categories)))
    accept = ["no_floor"] if options.get("floor") == 0 else []
    plan = CollectedPlan.from_schema(schema_of(domain), keep=P, accept=accept, **options)
    return plan_from_json(plan_to_json(plan))


def projected(values: Row, floor: Fraction) -> Row:
    """Return the closest distribution to `values` with all cells at least `floor` / cells."""
    least = floor / len(values)
    above = [value - least for value in values]
    for count in range(len(values), 0, -1):  # the largest cells stay above the floor
        largest = sorted(above, reverse=True)[:count]
        shift = (sum(largest) - (1 - floor)) / count
        if largest[-1] > shift or count == 1:
            return [least + max(value - shift, Fraction(0)) for value in above]
    raise AssertionError


def drawn_from(table: Row) -> Row:
    """Return the chances of cells if u in (0, 1) leads to the first cell with a sum above u."""
    sums = [sum(table[: cell + 1], start=Fraction(0)) for cell in range(len(table))]
    ends = sorted({Fraction(0), Fraction(1), *(each for each in sums if 0 < each < 1)})
    chances = [Fraction(0)] * len(table)
    for low, high in pairwise(ends):
        chances[next(cell for cell, each in enumerate(sums) if each > low)] += high - low
    return chances


class Table:
    """Table T of a combination, with q, and all answers so far."""

    def __init__(self, cells: int) -> None:
        self.T = self.q = [Fraction(1, cells)] * cells
        self.blocks: list[tuple[list[int], Row]] = []

    def after(self, block: list[int], update: str, floor: Fraction | None) -> None:
        """Update T by the counts of a `block`: [rrba], (4)."""
        self.blocks.append((block, self.q))
        if floor is None:
            return
        p, cells = Fraction(P), range(len(block))
        given = self.blocks[-1:] if update == "second_version" else self.blocks
        total = sum(sum(counts) for counts, _ in given)
        fake = self.T
        if update == "pooled":
            fake = [sum(sum(counts) * q[v] for counts, q in given) / total for v in cells]
        reported = [Fraction(sum(counts[v] for counts, _ in given), total) for v in cells]
        self.T = [(reported[v] - (1 - p) * fake[v]) / p for v in cells]
        if floor:
            self.T = projected(self.T, floor)
        self.q = drawn_from(self.T)


def rows_of(table: pd.DataFrame) -> Any:
    """Return the released rows, with blocks from 0, in an order of their own."""
    rows = table.assign(block=table["block"] - table["block"].min(), fake=table["fake"].round(9))
    columns = rows[["attributes", "block", "categories", "fake", "reports"]]
    return tuple(sorted(columns.itertuples(index=False, name=None)))


def expected(plan: Any, options: dict[str, Any], values: list[tuple[int, ...]]) -> dict[Any, Any]:
    """Return the distribution of the released rows if clients are asked in their order."""
    names, shape = plan.design.domain.names, plan.design.domain.shape
    floor = Fraction(options["floor"]) if "floor" in options else None
    memory, p = options.get("answers") == "memory", Fraction(P)
    every = tuple(combinations(names, 2))
    asked = [tuple((n,) for n in names)] if memory else list(plan.design.questions)
    if options.get("answers") == "all":
        asked = [every]
    sizes = dict(zip(names, shape, strict=True))

    def code(combination: tuple[str, ...], record: dict[str, int]) -> int:
        found = 0
        for name in combination:
            found = found * sizes[name] + record[name]
        return found

    def cells(combination: tuple[str, ...]) -> int:
        return math.prod(sizes[name] for name in combination)

    def run(draw: Callable[[Row], int]) -> Any:
        tables = {each: Table(cells(each)) for question in asked for each in question}
        released = []
        for block, start in enumerate(range(0, len(values), options["block"])):
            counts: dict[Any, list[int]] = {}
            for client in range(start, min(start + options["block"], len(values))):
                record = dict(zip(names, values[client], strict=True))
                answers = {}
                for each in asked[client % len(asked)]:
                    chances = [(1 - p) * q for q in tables[each].q]
                    chances[code(each, record)] += p
                    answers[each] = draw(chances)
                if memory:
                    own = {name: answers[name,] for name in names}
                    answers = {each: code(each, own) for each in every}
                for each, cell in answers.items():
                    counts.setdefault(each, [0] * cells(each))[cell] += 1
            for each, found in counts.items():
                q = [Fraction(1, cells(each))] * cells(each) if memory else tables[each].q
                labels = (
                    " x ".join(map(str, own)) for own in product(*(range(sizes[n]) for n in each))
                )
                for label, fake, number in zip(labels, q, found, strict=True):
                    released.append((" x ".join(each), block, label, round(float(fake), 9), number))
                if not memory:
                    tables[each].after(found, options.get("update", "pooled"), floor)
        return tuple(sorted(released))

    found: Counter[Any] = Counter()
    for rows, chance in outcomes(run):
        found[rows] += chance  # type: ignore[assignment]
    assert sum(found.values()) == 1
    return found


@pytest.mark.parametrize("by", ["randomize", "parties"])
@pytest.mark.parametrize(("sizes", "options"), OPTIONS.values(), ids=OPTIONS)
def test_the_released_answers_have_the_enumerated_distribution(
    sizes: tuple[int, ...], options: dict[str, Any], by: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    plan = plan_of(sizes, options)
    values = [
        tuple(min(value, size - 1) for value, size in zip(record, sizes, strict=False))
        for record in ((0, 0, 1, 0), (0, 1, 1, 0), (1, 1, 0, 0), (1, 1, 1, 0))
    ]
    frame = frame_of(Microdata(plan.design.domain, tuple(np.array(values).T)))
    key = KeyedDraws(bytes(32), b"a plan")
    exact = Channel.randomize_keyed, Channel.randomize

    def run(draw: Callable[[Row], int]) -> Any:
        def drawn(self: Channel, codes: Any, source: Any) -> Any:
            if isinstance(self, ProductChannel):
                return exact[by == "parties"](self, codes, source)
            matrix = exact_matrix(self)
            return np.array([draw(matrix[code]) for code in codes.tolist()], dtype=np.int64)

        monkeypatch.setattr(Channel, "randomize_keyed", drawn)
        monkeypatch.setattr(Channel, "randomize", drawn)
        made = randomize(frame, plan, key) if by == "randomize" else collected(plan, values, None)
        return rows_of(made)

    # Random words of clients decide their order, and nothing else here.
    monkeypatch.setattr(KeyedColumn, "words", lambda self, _: np.arange(len(self)))
    found: Counter[Any] = Counter()
    for rows, chance in outcomes(run):
        found[rows] += chance  # type: ignore[assignment]
    assert sum(found.values()) == 1
    assert_equal(
        {rows: float(chance) for rows, chance in found.items()}, expected(plan, options, values)
    )


@pytest.mark.parametrize(("sizes", "options"), OPTIONS.values(), ids=OPTIONS)
def test_epsilon_of_all_pairs_of_records_is_the_stated_one(
    sizes: tuple[int, ...], options: dict[str, Any]
) -> None:
    """Over all q that the floor allows: a ratio is largest if q has its floor in one cell."""
    plan, p, floor = plan_of(sizes, options), Fraction(P), options.get("floor")
    asked: Any = plan.design.questions
    if options.get("answers") == "memory":
        asked = [tuple((name,) for name in plan.design.domain.names)]
    if floor == 0:
        assert plan.epsilon == math.inf
        return
    largest = Fraction(1)
    for first, second in product(product(*map(range, sizes)), repeat=2):
        for question in asked:
            ratio = Fraction(1)
            for names in question:
                at = [plan.design.domain.names.index(name) for name in names]
                if any(first[i] != second[i] for i in at):
                    cells = math.prod(sizes[i] for i in at)
                    q = Fraction(1 if floor is None else floor) / cells
                    ratio *= (p + (1 - p) * q) / ((1 - p) * q)
            assert math.log(ratio) <= plan.epsilon
            largest = max(largest, ratio)
    assert math.log(largest) == pytest.approx(plan.epsilon, abs=1e-11)


COVERED: list[dict[str, Any]] = [
    {},
    {"floor": 0.2},
    {"answers": "memory"},
    {"floor": 0.2, "update": "second_version"},
]


@pytest.mark.slow
@pytest.mark.parametrize("options", COVERED, ids=str)
def test_intervals_from_parties_cover(options: dict[str, Any]) -> None:
    """60 collections by clients, aggregator and server, two intervals at 95 %, by fixed seeds.

    If intervals cover with probability .93, a test fails with probability at most 1e-6.
    """
    data = some_records(600).project(["a", "b", "c"])
    values = list(zip(*(data.column(name).tolist() for name in data.domain.names), strict=True))
    plan = CollectedPlan.from_schema(schema_of(data.domain), keep=0.6, block=150, **options)
    covered = Counter[str]()
    for seed in range(60):
        generator = np.random.default_rng(seed)
        own = [values[at] for at in generator.permutation(len(values))]
        released = Released(collected(plan, own, generator), plan)
        for label in ("a", "a x b"):
            row = released.table(label.split(" x "), target="file").iloc[0]
            exact = data.counts(label.split(" x ")).reshape(-1)[0] / len(values)
            covered[label] += bool(row["ci_low"] <= exact <= row["ci_high"])
    assert min(covered["a"], covered["a x b"]) >= stats.binom.ppf(5e-7, 60, 0.93), covered
