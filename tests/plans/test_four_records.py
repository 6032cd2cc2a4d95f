"""A file of four records: what each kind of plan releases, by enumeration of all draws.

The randomized value of every record and channel is chosen by the test, with the probability of the
channel's own parameters. The other side is computed from the published matrices alone, record by
record, and so is the epsilon of all pairs of records.
"""

import math
from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from fractions import Fraction
from itertools import product
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pyarrow as pa
import pytest
from tests.channels.channel_cases import exact_matrix

from deniable.channels import Channel, ProductChannel
from deniable.plans import Plan, PlanInputs, plan_from_json, plan_to_json, settings_from
from deniable.sampling import KeyedDraws, KeyedNoise
from deniable.schema import RecordsFile, schema_from_dict

CATEGORIES = {"sex": ["F", "M"], "town": ["a", "b"]}
COLUMNS: list[dict[str, Any]] = [
    {"name": name, "kind": "categorical", "categories": values}
    for name, values in CATEGORIES.items()
]
WEIGHT: dict[str, Any] = {"name": "w", "kind": "weight"}
NUMBER = {"name": "age", "kind": "numeric", "bounds": [0, 9], "type": "double"}
ABOUT = {"format": "deniable-schema", "population": "people", "file": {"kind": "arrow"}}
FRAME = pd.DataFrame(
    {"sex": [*"FMMM"], "town": [*"abba"], "w": [1.0, 2.5, 4.0, 0.5], "age": [1.0, 2.0, 5.0, 9.0]}
)
STRATA = pd.DataFrame({"sex": [*"FFFM"], "town": [*"abbb"]})
ACCEPT = ("chosen_by_data", "weights_released")
KEY = KeyedDraws(bytes(range(32)), b"a plan")
JOINT = [["sex", "town"]]
Draws = Callable[[Sequence[Fraction]], int]


def outcomes(run: Callable[[Draws], Any]) -> Iterator[tuple[Any, Fraction]]:
    """Yield what `run` returns for all results of its draws, with the probability."""
    paths: list[list[int]] = [[]]
    while paths:
        path = paths.pop()
        chances: list[Fraction] = []

        def draw(row: Sequence[Fraction], path: list[int] = path, own: Any = chances) -> int:
            possible = [value for value, chance in enumerate(row) if chance]
            if len(own) == len(path):
                paths.extend([*path, value] for value in possible[1:])
                path.append(possible[0])
            own.append(row[path[len(own)]])
            return path[len(own) - 1]

        found = run(draw)
        yield found, math.prod(chances, start=Fraction(1))


def released(
    plan: Plan, frame: pd.DataFrame, monkeypatch: pytest.MonkeyPatch, result: Any
) -> dict[Any, float]:
    """Return the distribution of the `result` of the released table, over all draws."""
    file = RecordsFile.open(frame, plan.schema_of_originals, passed=plan.passed)
    batches = list(file.portions(100))
    exact = Channel.randomize_keyed
    rows: dict[int, Any] = {}

    def run(draw: Draws) -> Any:
        def drawn(self: Channel, codes: Any, column: Any) -> Any:
            if isinstance(self, ProductChannel):
                return exact(self, codes, column)
            matrix = rows.setdefault(id(self), (self, exact_matrix(self)))[1]
            return np.array([draw(matrix[code]) for code in codes.tolist()], dtype=np.int64)

        monkeypatch.setattr(Channel, "randomize_keyed", drawn)
        return result(pa.concat_tables(plan.randomize(batches, KEY)).to_pandas())

    found: Counter[Any] = Counter()
    for each, chance in outcomes(run):
        found[each] += chance  # type: ignore[assignment]
    monkeypatch.setattr(Channel, "randomize_keyed", exact)
    assert sum(found.values()) == 1
    return {each: float(chance) for each, chance in found.items()}


def assert_equal(found: dict[Any, float], expected: dict[Any, Fraction]) -> None:
    assert found.keys() == {each for each, chance in expected.items() if chance}
    assert max(abs(found[each] - expected[each]) for each in found) < 1e-12


def of_record(
    matrices: pd.DataFrame, record: dict[str, str], strata: Sequence[str] = ()
) -> dict[tuple[str, ...], Fraction]:
    """Return the distribution of a randomized `record`, from the published `matrices`."""
    own = matrices[matrices["stratum"] == " x ".join(record[name] for name in strata)]
    values: dict[tuple[str, ...], Fraction] = {}
    names = list(CATEGORIES)
    for cells in product(*CATEGORIES.values()):
        changed = dict(zip(names, cells, strict=True))
        if any(changed[name] != record[name] for name in strata):
            continue
        chance = Fraction(1)
        for block, rows in own.groupby("block", sort=False):
            true, to = (
                " x ".join(each[n] for n in block.split(" x ")) for each in (record, changed)
            )
            (row,) = rows[(rows["true"] == true) & (rows["reported"] == to)]["probability"]
            chance *= Fraction(float(row))
        values[cells] = chance
    return values


OPTIONS: dict[str, dict[str, Any]] = {
    "RR-Independent": {"p": 0.3},
    "RR-Joint": {"p": 0.3, "joint": JOINT},
    "RR-Joint of an epsilon": {"epsilon": 1.2, "joint": JOINT, "responses": "categories"},
    "RR-Clusters by attribute": {"p": 0.4, "joint": JOINT, "cluster_mechanism": "kronecker"},
    "an epsilon": {"epsilon": 1.5, "responses": "categories"},
    "beta": {"beta": 6.0},
    "retention": {"matrix": {"kind": "retention", "retention": 0.6}},
    "file": {"matrix": {"kind": "file", "files": {"sex": "sex.csv", "town": "town.csv"}}},
    "two steps": {"matrix": {"kind": "two_step", "epsilon": 1.1}},
    "two steps, joint": {"matrix": {"kind": "two_step", "retention": 0.5}, "joint": JOINT},
    "two steps, weights": {"matrix": {"kind": "two_step", "epsilon": 1.1, "weight": "w"}},
    "designed": {"matrix": {"kind": "designed", "epsilon": 1.3}},
    "designed, weights": {"matrix": {"kind": "designed", "epsilon": 1.3, "weight": "w"}},
    "strata": {"kind": "strata", "strata": ["sex"], "epsilon": 1.0},
    "strata, retention": {"kind": "strata", "strata": ["sex"], "retention": 0.7},
    "strata, two steps": {
        "kind": "strata",
        "strata": ["sex"],
        "matrix": {"kind": "two_step", "retention": 0.7},
    },
}


def plan_of(options: dict[str, Any], frame: pd.DataFrame) -> Any:
    weight = "weight" in options.get("matrix", {})
    schema = schema_from_dict(ABOUT | {"columns": COLUMNS + [WEIGHT] * weight})
    own = frame[[column.name for column in schema.columns]]
    by_records = options.get("matrix", {}).get("kind") in ("two_step", "designed")
    data = RecordsFile.open(own, schema) if by_records else None
    given = PlanInputs(schema, data, accept=ACCEPT[: 1 + weight])
    plan = settings_from({"kind": "columns"} | options).plan(given)
    return plan_from_json(plan_to_json(plan)), own


@pytest.mark.parametrize("options", OPTIONS.values(), ids=OPTIONS)
def test_released_records_and_epsilon_equal_the_published_matrices(
    options: dict[str, Any], monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    monkeypatch.chdir(tmp_path)
    Path("sex.csv").write_text(",F,M\nF,0.75,0.25\nM,0.125,0.875\n")
    Path("town.csv").write_text(",a,b\na,0.7,0.3\nb,0.4,0.6\n")
    strata = options.get("strata", [])
    plan, frame = plan_of(options, STRATA if strata else FRAME)
    matrices = plan.matrices()
    records = frame[[*CATEGORIES]].to_dict("records")
    expected = {(): Fraction(1)}
    for record in records:
        expected = {
            (*before, value): chance * own
            for before, chance in expected.items()
            for value, own in of_record(matrices, record, strata).items()
        }
    rows = lambda table: tuple(table[[*CATEGORIES]].itertuples(index=False, name=None))  # noqa: E731
    assert_equal(released(plan, frame, monkeypatch, rows), expected)

    # All pairs of records that one respondent may have; with strata, of the same stratum.
    every = [dict(zip(CATEGORIES, cells, strict=True)) for cells in product(*CATEGORIES.values())]
    known = set(matrices["stratum"])
    every = [each for each in every if " x ".join(each[name] for name in strata) in known]
    of_all = [(each, of_record(matrices, each, strata)) for each in every]
    largest: dict[str, float] = Counter()
    for (first, one), (second, other) in product(of_all, repeat=2):
        differing = [name for name in CATEGORIES if first[name] != second[name]]
        if not set(differing) & set(strata):
            ratio = max(one[each] / other[each] for each in one if one[each])
            for name in ("record", *differing[: len(differing) == 1]):
                largest[name] = max(largest[name], math.log(ratio))
    assert largest["record"] == pytest.approx(plan.epsilon, abs=1e-12)
    for name, stated in plan.epsilon_by_changed_attribute().items():
        assert name in strata or largest[name] == pytest.approx(stated, abs=1e-12)
    assert plan.audit()["holds"].all()


def test_categories_of_a_mixed_file_equal_the_published_matrices(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """The numbers are drawn by the key, so they are the same in all outcomes."""
    schema = schema_from_dict(ABOUT | {"columns": [*COLUMNS, NUMBER]})
    parts = {"kind": "masked", "method": "dp", "epsilon": 1.0}, {"kind": "columns", "epsilon": 1.5}
    categories = parts[1] | {"responses": "categories", "joint": JOINT}
    options = {"kind": "mixed", "numbers": parts[0], "categories": categories}
    frame = FRAME[[*CATEGORIES, "age"]]
    plan: Any = settings_from(options).plan(PlanInputs(schema))
    plan = plan_from_json(plan_to_json(plan))
    numbers: set[tuple[float, ...]] = set()

    def rows(table: pd.DataFrame) -> Any:
        numbers.add(tuple(table["age"]))
        return tuple(table[[*CATEGORIES]].itertuples(index=False, name=None))

    expected: dict[Any, Fraction] = {(): Fraction(1)}
    for record in frame[[*CATEGORIES]].to_dict("records"):
        expected = {
            (*before, value): chance * own
            for before, chance in expected.items()
            for value, own in of_record(plan.matrices(), record).items()
        }
    assert_equal(released(plan, frame, monkeypatch, rows), expected)
    assert len(numbers) == 1
    every = [dict(zip(CATEGORIES, cells, strict=True)) for cells in product(*CATEGORIES.values())]
    of_all = [of_record(plan.matrices(), each) for each in every]
    ratios = (
        max(one[each] / other[each] for each in one) for one, other in product(of_all, repeat=2)
    )
    low, high = NUMBER["bounds"]
    scale = plan.numbers.mechanism.scales[0]
    total = math.log(max(ratios)) + (high - low) / scale
    assert total == pytest.approx(plan.epsilon, abs=1e-12)


def test_histograms_of_a_tiny_grid_and_their_epsilon(monkeypatch: pytest.MonkeyPatch) -> None:
    """Counts of two bins have discrete Laplace noise, here of -3 to 3 per count.

    The chance of k is proportional to a^|k| with ln a = -epsilon / 2: a record is in one bin.
    """
    schema = schema_from_dict(ABOUT | {"columns": [NUMBER]})
    options = {"kind": "masked", "method": "histograms", "bins": 2, "epsilon": 1.2}
    plan: Any = settings_from(options).plan(PlanInputs(schema))
    plan = plan_from_json(plan_to_json(plan))
    file = RecordsFile.open(FRAME[["age"]], plan.schema_of_originals, passed=plan.passed)
    batches, steps, scales = list(file.portions(100)), range(-3, 4), set[float]()

    def chances(a: float) -> list[Fraction]:
        weights = [Fraction(a) ** abs(step) for step in steps]
        return [weight / sum(weights) for weight in weights]

    def run(draw: Draws) -> Any:
        def add_whole(_: KeyedNoise, counts: Any, scale: float) -> Any:
            scales.add(scale)
            noise = [steps[draw(chances(math.exp(-1 / scale)))] for _ in range(counts.size)]
            return counts + np.reshape(noise, counts.shape)

        monkeypatch.setattr(KeyedNoise, "add_whole", add_whole)
        (table,) = plan.randomize(batches, KEY)
        (published,) = plan.public_tables(table).values()
        return tuple(published["count"].astype(int))

    found = {counts: float(chance) for counts, chance in outcomes(run)}
    noise = chances(math.exp(-plan.epsilon / 2))
    both = product(zip(steps, noise, strict=True), repeat=2)
    assert_equal(found, {(2 + k, 2 + m): one * other for (k, one), (m, other) in both})
    (scale,) = scales
    tables = list(product(range(-9, 14), repeat=2))
    largest = 0.0
    for first, second in product(range(10), repeat=2):  # the other three ages are 2, 5 and 9
        x, y = ((1 + (age < 5), 2 + (age >= 5)) for age in (first, second))
        logs = (
            sum(abs(t - b) - abs(t - a) for t, a, b in zip(to, x, y, strict=True)) for to in tables
        )
        largest = max(largest, max(logs) / scale)
    assert largest == pytest.approx(plan.epsilon, abs=1e-12)


# -- numbers, with noise on a tiny grid ------------------------------------------------------------

AGES = [1, 9, 2, 6, 5, 3]
STEPS = range(-1, 2)
"""Noise in units of its scale; the chance of k is proportional to e^-|k|."""
CHANCES = [
    Fraction(math.exp(-abs(k))) / sum(Fraction(math.exp(-abs(j))) for j in STEPS) for k in STEPS
]


def noise_on_a_grid(monkeypatch: pytest.MonkeyPatch, draw: Draws) -> None:
    """Let `draw` choose the noise of masked numbers from the grid of steps."""

    def add(_: KeyedNoise, values: Any, scales: Any, runs: int) -> Any:
        steps = np.array([STEPS[draw(CHANCES)] for _ in range(np.size(values))])
        return np.repeat((values + steps.reshape(np.shape(values)) * scales)[None], runs, axis=0)

    monkeypatch.setattr(KeyedNoise, "add", add)


def by_hand(method: str, ages: Sequence[int]) -> list[tuple[list[int], Fraction, Fraction]]:
    """Return clusters of three: records, centroid, and sensitivity ([idp], section 3)."""
    order, top = sorted(range(len(ages)), key=lambda at: (ages[at], at)), 9
    if method == "dp":
        return [([at], Fraction(age), Fraction(top)) for at, age in enumerate(ages)]
    found = []
    for own in (order[:3], order[3:]):
        low, middle, high = (ages[at] for at in own)
        mean, reach = Fraction(low + middle + high, 3), top
        if method == "idp_ls":  # Proposition 2
            reach = max(top - low, high)
        if method == "idp_cbls":  # Proposition 3; the ends are replaced by their neighbour
            mean, reach = Fraction(middle), max(3 * high - 3 * middle, 3 * middle - 3 * low)
        found.append((own, mean, Fraction(reach, 3)))
    return found


@pytest.mark.parametrize("method", ["dp", "dp_um", "idp_ls", "idp_cbls"])
def test_masked_numbers_have_the_enumerated_distribution(
    method: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    schema = schema_from_dict(ABOUT | {"columns": [NUMBER]})
    options = {"kind": "masked", "method": method, "epsilon": 1.2}
    options |= {} if method == "dp" else {"k": 3}
    accept = ("no_epsilon_for_records", "original_values_released")
    plan: Any = settings_from(options).plan(PlanInputs(schema, accept=accept))
    plan = plan_from_json(plan_to_json(plan))
    frame = pd.DataFrame({"age": [float(age) for age in AGES]})
    batches = list(RecordsFile.open(frame, plan.schema_of_originals).portions(100))

    def run(draw: Draws) -> Any:
        noise_on_a_grid(monkeypatch, draw)
        (table,) = plan.randomize(batches, KEY)
        return tuple(round(value, 9) for value in table["age"].to_pylist())

    found: Counter[Any] = Counter()
    for values, chance in outcomes(run):
        found[values] += chance  # type: ignore[assignment]
    expected: Counter[Any] = Counter()
    clusters, budget = by_hand(method, AGES), Fraction(1.2)
    for steps in product(range(len(STEPS)), repeat=len(clusters)):
        values = [0.0] * len(AGES)
        for step, (own, centre, reach) in zip(steps, clusters, strict=True):
            noisy = min(max(centre + STEPS[step] * reach / budget, Fraction(0)), Fraction(9))
            for at in own:
                values[at] = round(float(noisy), 9)
        expected[tuple(values)] += math.prod(CHANCES[step] for step in steps)  # type: ignore[assignment]
    assert_equal({each: float(chance) for each, chance in found.items()}, dict(expected))


@pytest.mark.parametrize("method", ["dp", "dp_um", "idp_ls", "idp_cbls"])
def test_epsilon_of_all_pairs_of_masked_files(method: str) -> None:
    """The largest loss over all pairs of files that differ in one record.

    The loss is the logarithm of the ratio of Laplace densities, at the centroids of the first file.
    With equal scales it is the largest at all points. In a cluster all records have one value, so
    another cluster of any record is certain to be seen, and no epsilon of records holds.
    """
    largest, seen = 0.0, False
    for at, age in product(range(len(AGES)), range(10)):
        for other in range(10):
            first, second = ([*AGES[:at], own, *AGES[at + 1 :]] for own in (age, other))
            pairs = list(zip(by_hand(method, first), by_hand(method, second), strict=True))
            seen |= any({*one[0]} != {*two[0]} for one, two in pairs)
            loss = 0.0
            for (_, one, reach), (_, two, far) in pairs:
                if reach == 0 or far == 0:  # centroids without noise
                    loss += math.inf if reach == 0 and (far or one != two) else 0.0
                    continue
                loss += float(abs(one - two) / far) * 1.2 + math.log(far / reach)
            largest = max(largest, loss)
    schema = schema_from_dict(ABOUT | {"columns": [NUMBER]})
    options: dict[str, Any] = {"kind": "masked", "method": method, "epsilon": 1.2}
    accept = ("no_epsilon_for_records", "original_values_released")
    options |= {} if method == "dp" else {"k": 3}
    plan: Any = settings_from(options).plan(PlanInputs(schema, accept=accept))
    if method in ("dp", "dp_um"):
        assert largest == pytest.approx(1.2, abs=1e-12)
    else:  # the claim is refuted already for centroids
        assert largest > 1.2
    assert seen == bool(plan.k)
    assert plan.epsilon == (math.inf if seen else pytest.approx(largest, abs=1e-12))
    assert bool(plan.refuted) == seen


def test_mixed_records_have_the_product_of_both_distributions(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    schema = schema_from_dict(ABOUT | {"columns": [COLUMNS[0], NUMBER]})
    options = {
        "kind": "mixed",
        "numbers": {"method": "dp", "epsilon": 1.0},
        "categories": {"p": 0.3},
    }
    plan: Any = settings_from(options).plan(PlanInputs(schema))
    frame = FRAME[["sex", "age"]].iloc[:2]
    batches = list(RecordsFile.open(frame, plan.schema_of_originals).portions(100))

    def run(draw: Draws) -> Any:
        def drawn(self: Channel, codes: Any, _: Any) -> Any:
            matrix = exact_matrix(self)
            return np.array([draw(matrix[code]) for code in codes.tolist()], dtype=np.int64)

        monkeypatch.setattr(Channel, "randomize_keyed", drawn)
        noise_on_a_grid(monkeypatch, draw)
        (table,) = plan.randomize(batches, KEY)
        rows = table.to_pandas()[["sex", "age"]].round(9)
        return tuple(rows.itertuples(index=False, name=None))

    found: Counter[Any] = Counter()
    for rows, chance in outcomes(run):
        found[rows] += chance  # type: ignore[assignment]
    (matrix,) = (exact_matrix(each) for each in plan.channels().values())
    expected: Counter[Any] = Counter()
    for steps in product(range(len(STEPS)), repeat=2):
        for sexes in product(range(2), repeat=2):
            ages = (min(max(n + STEPS[k] * 9, 0), 9) for n, k in zip((1, 2), steps, strict=True))
            own = zip(map("FM".__getitem__, sexes), map(float, ages), strict=True)
            chance = math.prod(CHANCES[step] for step in steps)
            expected[tuple(own)] += chance * matrix[0][sexes[0]] * matrix[1][sexes[1]]  # type: ignore[assignment]
    assert_equal({each: float(chance) for each, chance in found.items()}, dict(expected))
