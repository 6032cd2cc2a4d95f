"""The honest competitors: their epsilon by exact likelihood ratios, their use on easy data."""

import itertools
from fractions import Fraction

import numpy as np
import pytest
from scipy import stats
from sklearn.metrics import f1_score

from deniable.errors import DeniableError
from deniable.idp.true_dp import (
    TABLE_DISTANCE,
    NoisyHistograms,
    ThresholdRule,
    binned,
    class_medians,
    histograms,
    median_log_densities,
    naive_bayes,
    noisy_histograms,
    rule_log_densities,
    threshold_rule,
)
from deniable.sampling import SeededNoise

UPPER = np.array([4.0, 1.0])
GRID = (0.0, 1.0, 1.5, 4.0)


def noise(seed: int = 1) -> SeededNoise:
    return SeededNoise(np.random.default_rng(seed))


class NoNoise:
    def add(self, values: np.ndarray, scales: np.ndarray, runs: int) -> np.ndarray:
        return np.broadcast_to(values, (runs, *values.shape))

    def add_whole(self, counts: np.ndarray, scale: float) -> np.ndarray:
        return counts


# -- histograms ------------------------------------------------------------------------------------


def test_histograms_by_hand() -> None:
    values = [[0.0, 0.0], [4.0, 0.5], [1.9, 0.49], [2.0, 7.0]]
    found = histograms(values, np.array([0, 1, 1, 1]), 2, UPPER, 2)
    assert found.tolist() == [[[1, 0], [1, 2]], [[1, 0], [1, 2]]]
    assert binned(np.array([-1.0, 4.0, 9.0])[:, None], UPPER[:1], 4).ravel().tolist() == [0, 3, 3]


def test_a_changed_record_moves_each_table_by_at_most_2() -> None:
    records = list(itertools.product((0.0, 2.5, 4.0), (0.1, 0.9), (0, 1)))
    farthest = 0
    for kept in records:
        for before, after in itertools.product(records, repeat=2):
            tables = [
                histograms([kept[:2], one[:2]], np.array([kept[2], one[2]]), 2, UPPER, 3)
                for one in (before, after)
            ]
            apart = np.abs(tables[0] - tables[1]).sum(axis=(1, 2))
            farthest = max(farthest, int(apart.max()))
    assert farthest == TABLE_DISTANCE  # the class may change too


def test_likelihood_ratios_of_noisy_tables_stay_within_epsilon() -> None:
    # exp(-1 / scale) = q with scale 2 / epsilon_j: epsilon_j = 2 ln(1 / q), and exp(epsilon) is a
    # fraction. Two attributes of three bins: all outputs of a window, all pairs of neighbours.
    q = Fraction(1, 3)
    bound = (1 / q) ** TABLE_DISTANCE  # exp(epsilon_j)

    def probability(output: int, count: int) -> Fraction:
        return (1 - q) / (1 + q) * q ** abs(output - count)

    tables = [t for t in itertools.product(range(4), repeat=3) if sum(t) == 3]
    worst = Fraction(0)
    for one, other in itertools.permutations(tables, 2):
        if sum(abs(a - b) for a, b in zip(one, other, strict=True)) > TABLE_DISTANCE:
            continue
        for output in itertools.product(range(-2, 6), repeat=3):
            ratio = Fraction(1)
            for z, a, b in zip(output, one, other, strict=True):
                ratio *= probability(z, a) / probability(z, b)
            worst = max(worst, ratio)
    assert worst == bound  # attained for one attribute; independent attributes multiply


def test_the_noise_is_of_the_scale_that_the_proof_takes() -> None:
    values = np.random.default_rng(2).random((30, 2)) * UPPER
    labels = np.zeros(30, dtype=int)
    tables = np.stack(
        [
            noisy_histograms(
                values, labels, 1, UPPER, bins=4, epsilon=1.0, noise=noise(seed)
            ).counts
            for seed in range(300)
        ]
    )
    apart = tables - histograms(values, labels, 1, UPPER, 4)
    q = np.exp(-1 / (TABLE_DISTANCE / 0.5))  # half the budget for each attribute
    inner = np.arange(-8, 9)
    expected = (1 - q) / (1 + q) * q ** np.abs(inner)
    observed = [np.sum(apart == z) for z in inner] + [np.sum(np.abs(apart) > 8)]
    expected = apart.size * np.append(expected, 1 - expected.sum())
    assert stats.chisquare(observed, expected).pvalue > 1e-6


def test_distributions_are_distributions() -> None:
    counts = np.array([[[5, -3, 1], [-4, -4, -9]]])
    found = NoisyHistograms(counts, np.array([3, 2]), np.array([1.0])).distributions()
    np.testing.assert_allclose(found.sum(axis=-1), 1, atol=1e-12)
    assert np.all(found >= 0)


def test_synthetic_records_have_the_tables_shares() -> None:
    generator = np.random.default_rng(3)
    labels = generator.integers(0, 2, 4000)
    values = np.where(labels[:, None], UPPER * 0.9, UPPER * 0.45) * generator.random((4000, 1))
    tables = noisy_histograms(values, labels, 2, UPPER, bins=8, epsilon=1.0, noise=NoNoise())
    drawn = tables.synthesize(labels, generator)
    assert np.all((drawn >= 0) & (drawn <= UPPER))
    again = histograms(drawn, labels, 2, UPPER, 8)
    for true, synthetic in zip(tables.counts.reshape(4, -1), again.reshape(4, -1), strict=True):
        kept = true > 0
        assert np.all(synthetic[~kept] == 0)
        assert stats.chisquare(synthetic[kept], true[kept]).pvalue > 1e-6


def test_naive_bayes_is_bayes_rule() -> None:
    # Class 1 is three times as frequent; in the first bin class 0 is more frequent nevertheless.
    counts = np.array([[[8, 2], [3, 27]]])
    tables = NoisyHistograms(counts, np.array([10, 30]), np.array([2.0]))
    assert naive_bayes(tables, [[0.5], [1.5]]).tolist() == [0, 1]


def test_refuses_what_does_not_fit() -> None:
    with pytest.raises(DeniableError, match="do not fit"):
        histograms([[1.0]], np.array([0]), 1, UPPER, 2)
    with pytest.raises(DeniableError, match="at least 1 bin"):
        histograms([[1.0, 1.0]], np.array([0]), 1, UPPER, 0)


# -- the exponential mechanism ---------------------------------------------------------------------


def on_a_grid(edges: np.ndarray, log_weights: np.ndarray) -> np.ndarray:
    """Return the density of what is drawn at points between all values of `GRID`."""
    weights = np.exp(log_weights)
    points = [(a + b) / 2 for a, b in itertools.pairwise(GRID)]
    widths = np.diff(edges)
    where = np.searchsorted(edges, points, side="right") - 1
    return weights[..., where] / weights.sum() / widths[where]


@pytest.mark.parametrize("epsilon", [0.3, 2.0])
def test_densities_of_medians_stay_within_epsilon(epsilon: float) -> None:
    worst = 0.0
    for kept in itertools.combinations_with_replacement(GRID, 3):
        densities = [
            on_a_grid(*median_log_densities(np.array([*kept, one]), 4.0, epsilon)) for one in GRID
        ]
        for one, other in itertools.permutations(densities, 2):
            worst = max(worst, float(np.max(np.log(one / other))))
    assert epsilon / 3 < worst <= epsilon + 1e-12


@pytest.mark.parametrize("epsilon", [0.3, 2.0])
def test_densities_of_rules_stay_within_epsilon(epsilon: float) -> None:
    # Two attributes: the draw is over both, so their weights are normalized together.
    labels, weights, worst = np.array([0, 1, 1]), np.array([1.0, 0.5]), 0.0
    records = list(itertools.product(GRID, GRID))
    for kept in itertools.product(records[::3], repeat=2):
        found = []
        for one in records:
            values = np.array([one, *kept])
            parts = [rule_log_densities(c, labels, 4.0, epsilon, weights) for c in values.T]
            total = sum(np.exp(log_weights).sum() for _, log_weights in parts)
            found.append(
                [
                    on_a_grid(edges, log_weights) * np.exp(log_weights).sum() / total
                    for edges, log_weights in parts
                ]
            )
        stacked = np.log(np.array(found))
        worst = max(worst, float(np.max(stacked.max(axis=0) - stacked.min(axis=0))))
    assert epsilon / 3 < worst <= epsilon + 1e-12


def test_medians_are_drawn_from_their_density() -> None:
    values = np.array([1.0, 1.0, 1.5, 4.0])
    edges, log_weights = median_log_densities(values, 4.0, 1.0)
    expected = np.exp(log_weights) / np.exp(log_weights).sum()
    drawn = class_medians(
        values[:, None], np.zeros(4, dtype=int), 1, [4.0], 1.0, np.random.default_rng(4), 6000
    ).reshape(-1)
    kept = np.diff(edges) > 0
    inside = [(drawn >= a) & (drawn < b) for a, b in itertools.pairwise(edges)]
    observed = np.array([each.sum() for each in inside])
    assert stats.chisquare(observed[kept], 6000 * expected[kept]).pvalue > 1e-6
    widest = drawn[inside[int(np.argmax(np.diff(edges)))]]
    assert stats.kstest(widest, stats.uniform(1.5, 2.5).cdf).pvalue > 1e-6


def test_with_much_data_the_median_and_the_rule_are_found() -> None:
    generator = np.random.default_rng(5)
    labels = np.repeat([0, 1], [3000, 1000])
    values = np.column_stack(
        [generator.random(4000), np.where(labels, 2.0, 0.5) + 0.4 * generator.random(4000)]
    )
    upper = [10.0, 50.0]
    medians = class_medians(values, labels, 2, upper, 1.0, generator, 20)
    np.testing.assert_allclose(medians, np.tile([[0.5, 0.5], [0.7, 2.2]], (20, 1, 1)), atol=0.1)
    rule = threshold_rule(values, labels, upper, 1.0, generator)
    assert rule.attribute == 1
    assert rule.above == 1
    assert 0.85 < rule.threshold < 2.05
    assert f1_score(labels, rule.predict(values), average=None).min() > 0.95


def test_a_rule_may_point_down() -> None:
    rule = ThresholdRule(0, 1.0, 0)
    assert rule.predict([[0.5], [1.0], [2.0]]).tolist() == [1, 1, 0]


def test_refuses_one_class() -> None:
    with pytest.raises(DeniableError, match="two classes"):
        threshold_rule([[1.0]], np.array([0]), [2.0], 1.0, np.random.default_rng(1))
