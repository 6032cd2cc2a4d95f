"""Joint distributions: all tables agree, queries are sums of tables, records have the margins."""

import json
from itertools import chain, combinations, permutations
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings, strategies as st
from scipy import stats
from tests.joint.simulated import dependent, domain_of, random_joint

from deniable.errors import DeniableError
from deniable.joint import JointDistribution, distribution
from deniable.joint.classes import LatentClasses
from deniable.joint.distribution import FORMAT, drawn_cells
from deniable.records import Domain, Microdata

SEEDED = settings(deadline=None, max_examples=30, derandomize=True)
seeds, flags = st.integers(0, 10_000), st.booleans()
WAYS = pytest.mark.parametrize("clusters", [False, True])
FALSE_ALARM = 1e-6  # of each test with random draws, if it had a new seed


def subsets(names: tuple[str, ...]) -> list[tuple[str, ...]]:
    return list(chain.from_iterable(combinations(names, k) for k in range(1, len(names) + 1)))


def sums_of(table: np.ndarray, domain: Domain, names: tuple[str, ...]) -> np.ndarray:
    """Return the table of columns `names`, in their order."""
    others = tuple(at for at, name in enumerate(domain.names) if name not in names)
    kept = [name for name in domain.names if name in names]
    return np.asarray(table.sum(axis=others).transpose([kept.index(name) for name in names]))


@SEEDED
@given(seeds, flags)
def test_tables_of_all_subsets_are_sums_of_one_table(seed: int, clusters: bool) -> None:
    joint, table = random_joint(seed, clusters=clusters)
    names = joint.domain.names
    assert len(joint.units) == len(names) - clusters
    for own in subsets(names):
        found = joint.table(own)
        assert found.shape == (joint.domain.project(own).size,)
        assert found.min() >= 0
        assert found.sum() == pytest.approx(1, abs=1e-6)
        np.testing.assert_allclose(found, sums_of(table, joint.domain, own).ravel(), atol=1e-6)
    for own in permutations(names[:3]):
        expected = sums_of(table, joint.domain, own).ravel()
        np.testing.assert_allclose(joint.table(own), expected, atol=1e-6)
    whole = joint.table(names).reshape(joint.domain.shape)
    for own in subsets(names):  # the tables themselves agree, closer than they are computed
        sums = sums_of(whole, joint.domain, own).ravel()
        np.testing.assert_allclose(joint.table(own), sums, atol=1e-12)


@SEEDED
@given(seeds, flags)
def test_probabilities_are_sums_of_tables(seed: int, clusters: bool) -> None:
    joint, table = random_joint(seed, clusters=clusters)
    generator = np.random.default_rng(seed)
    for own in subsets(joint.domain.names):
        allowed = {name: generator.random(joint.domain[name].size) < 0.6 for name in own}
        every = {each.name: np.full(each.size, True) for each in joint.domain}
        cells = np.ix_(*(every | allowed).values())
        assert joint.probability(allowed) == pytest.approx(table[cells].sum(), abs=1e-6)
        flat = np.ix_(*allowed.values())
        sums = joint.table(own).reshape(joint.domain.project(own).shape)[flat].sum()
        assert joint.probability(allowed) == pytest.approx(sums, abs=1e-6)
    assert joint.probability({}) == pytest.approx(1, abs=1e-6)


@WAYS
def test_a_file_gives_the_same_distribution(clusters: bool) -> None:
    joint, _ = random_joint(3, clusters=clusters)
    text = json.dumps(joint.to_json(), allow_nan=False)
    again = JointDistribution.from_json(json.loads(text))
    assert again.domain == joint.domain
    assert again.units == joint.units
    names = joint.domain.names
    np.testing.assert_allclose(again.table(names), joint.table(names), atol=1e-8)
    assert json.dumps(again.to_json()) == text


# -- draws -----------------------------------------------------------------------------------------


@pytest.mark.parametrize("records", [1, 7, 1000])
def test_whole_draws_are_within_one_record(records: int) -> None:
    generator = np.random.default_rng(1)
    for _ in range(20):
        shares = generator.dirichlet(np.full(9, 0.5)) * generator.uniform(0.5, 2)
        shares[[0, 4, 8]] = 0.0
        cells = drawn_cells(shares, records, generator, whole=True)
        counts = np.bincount(cells, minlength=9)
        assert len(cells) == records
        assert (np.diff(cells) >= 0).all()
        assert np.abs(counts - records * shares / shares.sum()).max() < 1
        assert counts[[0, 4, 8]].sum() == 0


@pytest.mark.parametrize("whole", [True, False])
def test_draws_are_unbiased(whole: bool) -> None:
    shares = np.array([0.31, 0.0, 0.27, 0.42])
    generator, draws, records = np.random.default_rng(2), 4000, 5
    drawn = [drawn_cells(shares, records, generator, whole) for _ in range(draws)]
    counts = np.array([np.bincount(cells, minlength=4) for cells in drawn])
    assert counts[:, 1].sum() == 0
    if whole:  # of each cell, a whole number and at most one record more
        rest = records * shares % 1
        errors = np.sqrt(rest * (1 - rest) / draws)
    else:
        errors = np.sqrt(records * shares * (1 - shares) / draws)
    off = np.abs(counts.mean(axis=0) - records * shares)
    assert (off <= stats.norm.isf(FALSE_ALARM / 8) * errors + 1e-12).all()


class Last:
    """A generator that returns the largest number below 1."""

    def random(self, number: int | None = None) -> Any:
        return np.nextafter(1.0, 0.0) if number is None else np.full(number, np.nextafter(1.0, 0))


@pytest.mark.parametrize("whole", [True, False])
def test_no_draw_beyond_the_last_cell_with_a_share(whole: bool) -> None:
    shares = np.array([0.0, 0.1, 0.2, 0.0, 0.0])
    cells = drawn_cells(shares, 7, Last(), whole)  # type: ignore[arg-type]
    assert set(cells.tolist()) <= {1, 2}
    assert drawn_cells(shares, 0, np.random.default_rng(1), whole).size == 0


@pytest.mark.parametrize("table_of_all", [True, False])
@WAYS
def test_whole_records_have_the_margins_and_the_pairs(
    clusters: bool, table_of_all: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    joint, table = random_joint(8, clusters=clusters)
    records, names = 5000, joint.domain.names
    if not table_of_all:
        monkeypatch.setattr(distribution, "MAX_CELLS", table.size - 1)
    made = joint.sample(records, np.random.default_rng(1))
    assert made.domain == joint.domain
    # One record for each cell of the table, or for each class and cell.
    most = table.size if table_of_all else 2 * joint.model.weights.size
    for name in names:
        expected = records * joint.table([name])
        assert np.abs(made.counts([name]) - expected).max() < most
    assert made.counts(names)[table == 0].sum() == 0
    if table_of_all:
        assert np.abs(made.counts(names) - records * table).max() < 1.01
    assert joint.distance_of_pairs(made) < 0.02
    again = joint.sample(records, np.random.default_rng(1))
    for one, other in zip(made.columns, again.columns, strict=True):
        np.testing.assert_array_equal(one, other)
    assert any((np.diff(own.astype(int)) < 0).any() for own in made.columns)  # in random order


@WAYS
def test_independent_records_have_the_distribution(clusters: bool) -> None:
    joint, table = random_joint(12, clusters=clusters)
    records = 4000
    made = joint.sample(records, np.random.default_rng(2), whole=False)
    counts, expected = made.counts(joint.domain.names), records * table / table.sum()
    assert counts[table == 0].sum() == 0
    seen = expected > 0
    statistic = ((counts - expected)[seen] ** 2 / expected[seen]).sum()
    assert stats.chi2.sf(statistic, seen.sum() - 1) > FALSE_ALARM


def test_the_distance_of_pairs_is_the_mean_total_variation() -> None:
    data = dependent(400, (2, 3, 2))
    shares = data.counts(data.domain.names).reshape(-1) / 400
    whole = LatentClasses.independent([shares])
    exact = JointDistribution(data.domain, (data.domain,), whole)
    assert exact.distance_of_pairs(data) == pytest.approx(0, abs=1e-12)
    margins = [data.counts([name]) / 400 for name in data.domain.names]
    units = tuple(data.domain.project([name]) for name in data.domain.names)
    independent = JointDistribution(data.domain, units, LatentClasses.independent(margins))
    distances = [
        np.abs(data.counts([one, other]) / 400 - np.outer(margins[i], margins[j])).sum() / 2
        for (i, one), (j, other) in combinations(enumerate(data.domain.names), 2)
    ]
    assert independent.distance_of_pairs(data) == pytest.approx(np.mean(distances))
    one = JointDistribution(units[0], units[:1], LatentClasses.independent(margins[:1]))
    assert np.isnan(one.distance_of_pairs(Microdata(units[0], data.columns[:1])))


# -- errors ----------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("call", "message"),
    [
        (lambda joint: joint.table(["a", "z"]), "no attribute 'z'"),
        (lambda joint: joint.table(["a", "a"]), "'a' twice"),
        (lambda joint: joint.table([]), "at least one"),
        (lambda joint: joint.probability({"z": np.ones(2)}), "no attribute 'z'"),
        (lambda joint: joint.sample(0, np.random.default_rng(1)), "0 synthetic .* at least 1"),
        (lambda joint: joint.from_json({"format": "deniable-schema"}), "a file joint.json"),
        (lambda joint: joint.from_json(joint.to_json() | {"version": 2}), "a file joint.json"),
        (
            lambda joint: joint.from_json(joint.to_json() | {"weights": [1] * 9}),
            "damaged .* again",
        ),
        (lambda joint: joint.from_json(joint.to_json() | {"units": [["z"]]}), "damaged .* again"),
        (lambda joint: joint.from_json({"format": FORMAT, "version": 1}), "'columns' is missing"),
    ],
)
def test_refusals(call: Any, message: str) -> None:
    joint, _ = random_joint(1, clusters=True)
    with pytest.raises(DeniableError, match=message):
        call(joint)


def test_a_table_that_is_too_large_is_refused_but_not_a_query(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(distribution, "MAX_CELLS", 15)
    domain = domain_of((2, 2, 2, 3))
    units = tuple(domain.project([name]) for name in domain.names)
    even = [np.full(unit.size, 1 / unit.size) for unit in units]
    joint = JointDistribution(domain, units, LatentClasses.independent(even))
    with pytest.raises(DeniableError, match=r"a, b, c, d .* 24 cells; at most 15 .* Name fewer"):
        joint.table(domain.names)
    allowed = {name: np.arange(domain[name].size) == 0 for name in domain.names}
    assert joint.probability(allowed) == pytest.approx(1 / 24)
