"""Maximum likelihood against exact cases, a general optimizer, and its own certificate."""

import warnings

import numpy as np
import pytest
from scipy import optimize
from tests.estimation.test_simplex import assert_on_simplex

from deniable.channels import Channel, DenseChannel, KeepOrReplace, ProductChannel
from deniable.errors import ChannelError, SingularChannelError
from deniable.estimation import likelihood
from deniable.estimation.likelihood import (
    MAX_NEWTON_STEPS,
    expectation_maximization,
    maximum_likelihood,
)


def log_likelihood(counts: np.ndarray, channel: Channel, proportions: np.ndarray) -> float:
    reported = channel.reported(proportions)
    with np.errstate(divide="ignore"):
        return float(np.sum(counts[counts > 0] * np.log(reported[counts > 0])))


def lack(counts: np.ndarray, channel: Channel, proportions: np.ndarray) -> float:
    """How much the log-likelihood may lack of its maximum (Karush, Kuhn and Tucker)."""
    reported = channel.matrix().T @ proportions
    seen = counts > 0
    gradient = channel.matrix()[:, seen] @ (counts[seen] / reported[seen])
    return float(gradient.max() - counts.sum())


def random_keep_or_replace(rng: np.random.Generator) -> KeepOrReplace:
    """Any weight, also negative; a replacement far from uniform, and with zeros among it."""
    size = int(rng.integers(2, 7))
    shares = rng.dirichlet(np.full(size, rng.choice([0.3, 5.0])))
    if rng.random() < 0.3:
        weight = rng.choice([rng.random(), 1.0]) / (size - 1)
        return KeepOrReplace(-weight, weight + shares * max(1 + weight - size * weight, 0.0))
    shares[rng.random(size) < rng.choice([0, 0.4])] = 0.0
    weight = rng.choice([rng.random(), 1e-3, 0.99]) if shares.any() else 1.0
    return KeepOrReplace(weight, shares / max(shares.sum(), 1e-300) * (1 - weight))


def random_dense(rng: np.random.Generator) -> DenseChannel:
    size = int(rng.integers(1, 5))
    weights = rng.integers(0, 6, (size, size)) + np.eye(size)
    return DenseChannel(weights / weights.sum(axis=1, keepdims=True))


def random_counts(rng: np.random.Generator, size: int) -> np.ndarray:
    records = int(rng.choice([1, 3, 30, 1000]))
    return rng.multinomial(records, rng.dirichlet(np.full(size, 0.5))).astype(float)


def test_maximum_likelihood_by_hand():
    # Keep 1/2 of 4; reports (40, 20, 20, 0): unbiased (3/4, 1/4, 1/4, -1/4), so the last is 0.
    # mu = 80 / (1 + 3/4), pi_v = n_v / mu - 1/4: 40 * 7/320 - 1/4 = 5/8, then 3/16 and 3/16.
    channel = KeepOrReplace.uniform(4, 0.5)
    found = maximum_likelihood([40, 20, 20, 0], channel)
    np.testing.assert_allclose(found.proportions, [5 / 8, 3 / 16, 3 / 16, 0], atol=1e-15)
    assert (found.iterations, found.gap) == (0, 0)
    # Inside the simplex it is the unbiased estimate.
    inside = [30, 25, 20, 15]
    np.testing.assert_allclose(
        maximum_likelihood(inside, channel).proportions, channel.estimate(inside), atol=1e-15
    )


def test_maximum_likelihood_with_negative_weight_by_hand():
    # Never the truth, 3 categories: l = (1 - pi) / 2. Reports (2, 2, 0): nobody reports the third,
    # all mass there gives l = (1/2, 1/2, 0), the best there is.
    channel = KeepOrReplace.from_entries(3, 0.0, 0.5)
    np.testing.assert_allclose(
        maximum_likelihood([2, 2, 0], channel).proportions, [0, 0, 1], atol=1e-15
    )
    # Reports (1, 1, 2): unbiased 1 - 2 l = (1/2, 1/2, 0), on the simplex.
    np.testing.assert_allclose(
        maximum_likelihood([1, 1, 2], channel).proportions, [0.5, 0.5, 0], atol=1e-15
    )


def test_closed_form_is_optimal():
    """No distribution is more likely, by the conditions of Karush, Kuhn and Tucker."""
    rng = np.random.default_rng(31)
    for _ in range(3000):
        channel = random_keep_or_replace(rng)
        counts = random_counts(rng, channel.size)
        found = maximum_likelihood(counts, channel).proportions
        assert_on_simplex(found)
        assert np.all(channel.reported(found)[counts > 0] > 0)
        assert lack(counts, channel, found) < 1e-7, (channel, counts)


CLOSED = {
    "uniform": KeepOrReplace.uniform(4, 0.4),
    "own replacement": KeepOrReplace(0.3, np.array([0.1, 0.2, 0.05, 0.35])),
    "zeros": KeepOrReplace(0.3, np.array([0.3, 0.0, 0.4, 0.0])),
    "negative": KeepOrReplace(-0.2, np.array([0.2, 0.3, 0.3, 0.4])),
    "never the truth": KeepOrReplace.from_entries(4, 0.0, 1 / 3),
}
COUNTS = [[50, 30, 15, 5], [97, 1, 1, 1], [0, 10, 0, 10], [1, 0, 0, 0], [25, 25, 25, 25]]


@pytest.mark.parametrize("channel", CLOSED.values(), ids=CLOSED.keys())
@pytest.mark.parametrize("counts", COUNTS, ids=str)
def test_closed_form_against_em_and_a_general_optimizer(channel, counts):
    counts = np.array(counts, float)
    found = maximum_likelihood(counts, channel).proportions
    best = log_likelihood(counts, channel, found)
    by_em = expectation_maximization(counts, channel, tolerance=1e-7)
    value = log_likelihood(counts, channel, by_em.proportions)
    assert best - 1e-7 <= value <= best + 1e-9

    def softmax(z: np.ndarray) -> np.ndarray:
        return np.exp(z - z.max()) / np.exp(z - z.max()).sum()

    general = optimize.minimize(
        lambda z: -log_likelihood(counts, channel, softmax(z)), np.zeros(4), method="L-BFGS-B"
    )
    assert -general.fun <= best + 1e-9
    assert -general.fun == pytest.approx(best, abs=1e-2)


@pytest.mark.parametrize("channel", CLOSED.values(), ids=CLOSED.keys())
def test_closed_form_of_a_batch_is_a_loop(channel):
    batch = np.array(COUNTS[:4] + COUNTS[1:]).reshape(2, 4, 4)
    found = maximum_likelihood(batch, channel).proportions
    loop = [[maximum_likelihood(x, channel).proportions for x in xs] for xs in batch]
    np.testing.assert_allclose(found, loop, atol=1e-15)


@pytest.mark.parametrize("tolerance", [0.1, 1e-6])
def test_newtons_method_arrives(tolerance):
    """Within its certificate, in few steps, without EM, however little the reports tell."""
    rng = np.random.default_rng(32)
    for number in range(400):
        shape = (int(rng.integers(2, 5)), int(rng.integers(2, 6)))
        product = pair_of(shape, rng.choice([0.05, 0.5, 0.95]))
        channel = random_dense(rng) if number % 2 else product
        if channel.singular or channel.weight_and_replacement is not None:
            continue
        counts = random_counts(rng, channel.size)
        found = maximum_likelihood(counts, channel, tolerance=tolerance)
        assert_on_simplex(found.proportions)
        assert found.iterations < MAX_NEWTON_STEPS
        assert found.gap <= tolerance
        assert lack(counts, channel, found.proportions) <= found.gap + 1e-8


def test_newtons_method_by_hand():
    # Two of three categories are told apart; nobody reports the third, which is left out.
    channel = DenseChannel(np.array([[0.75, 0.25, 0.0], [0.25, 0.75, 0.0], [0.0, 0.0, 1.0]]))
    found = maximum_likelihood([50, 50, 0], channel, tolerance=1e-9)
    np.testing.assert_allclose(found.proportions, [0.5, 0.5, 0], atol=1e-9)
    # The unbiased estimate would be (5/4, -1/4): all mass at the first.
    found = maximum_likelihood([[100, 0, 0], [0, 0, 7]], channel, tolerance=1e-9)
    np.testing.assert_allclose(found.proportions, [[1, 0, 0], [0, 0, 1]], atol=1e-9)


def test_newtons_method_is_quick_where_em_is_slow():
    rng = np.random.default_rng(5)
    channel = pair_of((6, 5), 0.15)
    truth = rng.multinomial(30_000, rng.dirichlet(np.full(30, 0.3)))
    counts = channel.randomize_counts(truth, rng)
    slow, _ = plain_em(counts, channel, 0.001)
    fast = maximum_likelihood(counts, channel, tolerance=0.001)
    assert fast.iterations < 10
    np.testing.assert_allclose(fast.proportions, slow, atol=0.003)


def test_many_cells_are_left_to_em(monkeypatch):
    monkeypatch.setattr(likelihood, "MAX_NEWTON_CELLS", 14)
    channel = pair_of((5, 3), 0.3)
    counts = np.arange(30).reshape(2, 15)
    found = maximum_likelihood(counts, channel)
    by_em = expectation_maximization(counts, channel)
    np.testing.assert_array_equal(found.proportions, by_em.proportions)
    assert found.iterations == by_em.iterations > 0


def test_where_newtons_method_does_not_arrive_em_goes_on(monkeypatch):
    monkeypatch.setattr(likelihood, "_newton", lambda start, *_: (start, 3, np.inf))
    channel = pair_of((5, 3), 0.3)
    counts = np.arange(30).reshape(2, 15)
    found = maximum_likelihood(counts, channel, tolerance=0.01)
    by_em = expectation_maximization(counts, channel, tolerance=0.01)
    np.testing.assert_array_equal(found.proportions, by_em.proportions)
    assert (found.iterations, found.gap) == (by_em.iterations, by_em.gap)


@pytest.mark.parametrize("seed", range(40))
def test_em_certificate_bounds_what_is_lacking(seed):
    rng = np.random.default_rng(seed)
    channel = random_dense(rng)
    counts = random_counts(rng, channel.size)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", RuntimeWarning)
        rough = expectation_maximization(counts, channel, tolerance=0.5)
        fine = expectation_maximization(counts, channel, tolerance=1e-6, iterations=5000)
    assert_on_simplex(rough.proportions)
    reached = log_likelihood(counts, channel, rough.proportions)
    best = log_likelihood(counts, channel, fine.proportions)
    assert best - reached <= rough.gap + 1e-9
    assert lack(counts, channel, fine.proportions) <= fine.gap + 1e-6


def test_em_stops_at_its_certificate_and_says_so_otherwise():
    channel = DenseChannel(np.array([[0.6, 0.2, 0.2], [0.2, 0.5, 0.3], [0.1, 0.3, 0.6]]))
    counts = np.array([[50.0, 10, 2], [20, 20, 20]])
    found = expectation_maximization(counts, channel, tolerance=1e-8)
    assert found.gap <= 1e-8
    assert found.iterations > 1
    for table, proportions in zip(counts, found.proportions, strict=True):
        assert lack(table, channel, proportions) <= 1e-7
    with pytest.warns(
        RuntimeWarning, match=r"stopped after 2 iterations .* up to .* below"
    ) as seen:
        short = expectation_maximization(counts, channel, iterations=2)
    assert f"{short.gap:.2g}" in str(seen[0].message)
    assert (short.iterations, short.proportions.shape) == (2, (2, 3))


def plain_em(
    counts: np.ndarray, channel: Channel, tolerance: float, most: int = 100_000
) -> tuple[np.ndarray, int]:
    """EM as it is written in textbooks: the slow reference, one table, no jumps."""
    observed, records = counts / counts.sum(), counts.sum()
    point = np.full(channel.size, 1 / channel.size)
    for steps in range(1, most + 1):
        reported = channel.reported(point)
        ratio = np.divide(observed, reported, out=np.zeros_like(point), where=observed > 0)
        gradient = channel.expected(ratio)
        if records * (gradient.max() - 1) <= tolerance:
            return point, steps
        point = point * gradient
        point /= point.sum()
    raise AssertionError(f"not within {tolerance} after {most} steps")


def pair_of(shape: tuple[int, int], p: float) -> ProductChannel:
    return ProductChannel(tuple(KeepOrReplace.uniform(size, p) for size in shape))


@pytest.mark.parametrize("seed", range(25))
def test_jumps_of_em_lead_where_plain_em_leads(seed):
    rng = np.random.default_rng(seed)
    shape = (int(rng.integers(2, 5)), int(rng.integers(2, 6)))
    channel = random_dense(rng) if seed % 5 == 0 else pair_of(shape, rng.choice([0.2, 0.5, 0.9]))
    counts = channel.randomize_counts(random_counts(rng, channel.size).astype(int), rng)
    tolerance = 0.01
    slow, _ = plain_em(counts, channel, tolerance)
    fast = expectation_maximization(counts, channel, tolerance=tolerance)
    assert fast.gap <= tolerance
    assert_on_simplex(fast.proportions)
    # Both lie within the certificate of the one maximum.
    heights = [log_likelihood(counts, channel, x) for x in (slow, fast.proportions)]
    assert abs(heights[0] - heights[1]) <= tolerance


def test_em_jumps_over_most_steps_where_randomization_is_strong():
    rng = np.random.default_rng(5)
    channel = pair_of((6, 5), 0.15)
    truth = rng.multinomial(30_000, rng.dirichlet(np.full(30, 0.3)))
    counts = channel.randomize_counts(truth, rng)
    slow, steps = plain_em(counts, channel, 0.1)
    fast = expectation_maximization(counts, channel, tolerance=0.1)
    assert steps > 2000
    assert fast.iterations < steps / 20
    np.testing.assert_allclose(fast.proportions, slow, atol=0.01)


def test_em_never_lowers_the_likelihood():
    rng = np.random.default_rng(6)
    channel = pair_of((4, 3), 0.2)
    counts = channel.randomize_counts(rng.multinomial(500, np.full(12, 1 / 12)), rng)
    heights = []
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", RuntimeWarning)
        for steps in range(1, 80):
            found = expectation_maximization(counts, channel, tolerance=1e-9, iterations=steps)
            assert found.iterations == steps
            assert_on_simplex(found.proportions)
            heights.append(log_likelihood(counts, channel, found.proportions))
    assert np.diff(heights).min() >= -1e-13 * abs(heights[-1])


@pytest.mark.parametrize("solve", [maximum_likelihood, expectation_maximization])
def test_a_table_takes_its_own_path_whatever_else_is_in_the_batch(solve):
    rng = np.random.default_rng(7)
    channel = pair_of((5, 3), 0.3)
    counts = channel.randomize_counts(rng.multinomial(300, np.full(15, 1 / 15), size=6), rng)
    batch = solve(counts, channel)
    alone = [solve(table, channel) for table in counts]
    np.testing.assert_array_equal(batch.proportions, [each.proportions for each in alone])
    assert batch.iterations == max(each.iterations for each in alone)
    assert batch.gap == max(each.gap for each in alone)
    again = solve(counts[::-1].reshape(2, 3, 15), channel)
    np.testing.assert_array_equal(again.proportions.reshape(6, 15), batch.proportions[::-1])


def test_em_of_a_product_of_products_is_that_of_all_factors():
    coin, die = KeepOrReplace.uniform(2, 0.5), KeepOrReplace.uniform(3, 0.4)
    nested = ProductChannel((ProductChannel((coin, die)), DenseChannel(coin.matrix())))
    counts = np.arange(1, 13)
    np.testing.assert_array_equal(
        expectation_maximization(counts, nested).proportions,
        expectation_maximization(counts, ProductChannel((coin, die, coin))).proportions,
    )


def test_em_of_a_product_is_em_of_its_matrix():
    channel = ProductChannel((KeepOrReplace.uniform(2, 0.5), KeepOrReplace.uniform(3, 0.6)))
    counts = np.array([[30, 2, 2, 4, 11, 1], [1, 0, 0, 0, 0, 50]])
    by_product = maximum_likelihood(counts, channel, tolerance=1e-9).proportions
    by_matrix = maximum_likelihood(counts, DenseChannel(channel.matrix()), tolerance=1e-9)
    np.testing.assert_allclose(by_product, by_matrix.proportions, atol=1e-9)


def test_maximum_likelihood_refuses():
    coin = KeepOrReplace.uniform(2, 0.5)
    dense = DenseChannel(coin.matrix())
    for solve in (maximum_likelihood, expectation_maximization):
        for channel in (coin, dense):
            with pytest.raises(ChannelError, match=r"shape \(4,\) do not fit"):
                solve([1, 2, 3, 4], channel)
            with pytest.raises(ChannelError, match="all zero"):
                solve([[1, 2], [0, 0]], channel)
            for bad in ([-1, 2], [np.nan, 2]):
                with pytest.raises(ChannelError, match="finite and not negative"):
                    solve(bad, channel)
    for singular in (KeepOrReplace.uniform(3, 0.0), DenseChannel(np.full((3, 3), 1 / 3))):
        with pytest.raises(SingularChannelError, match="3 categories is singular"):
            maximum_likelihood([1, 2, 3], singular)
    never = DenseChannel(np.array([[1.0, 0.0], [1.0, 0.0]]))
    with pytest.raises(ChannelError, match="randomized values that the channel cannot produce"):
        expectation_maximization([1, 2], never)
