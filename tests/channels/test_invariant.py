"""Invariant matrices against fractions worked out from the definitions."""

from fractions import Fraction

import numpy as np
import pytest
from hypothesis import given, settings, strategies as st
from tests.channels.invariant_channels import invariance_gap, lazy

from deniable.channels import DenseChannel, KeepOrReplace, ProductChannel, resampling
from deniable.channels.invariant import (
    INVARIANCE_TOLERANCE,
    conditional_covariance,
    covariance_bound,
    disclosed_proportions,
    lazy_resampling_with_epsilon,
    sampling_covariance,
    two_step,
    two_step_with_epsilon,
)
from deniable.errors import ChannelError

Matrix = list[list[Fraction]]

EXACT = 1e-12


# -- the reference: fractions, from the definition -------------------------------------------------


def fractions(weights: list[int]) -> list[Fraction]:
    return [Fraction(weight, sum(weights)) for weight in weights]


def slow_two_step(P: Matrix, pi: list[Fraction]) -> Matrix:
    """Return R[u, w], the sum over v of P[u, v] Pr(true w | report v)."""
    size = len(pi)
    R = [[Fraction(0)] * size for _ in range(size)]
    for v in range(size):
        reported = sum(P[w][v] * pi[w] for w in range(size))
        prior = pi if reported else [Fraction(1)] * size
        total = sum(P[w][v] * prior[w] for w in range(size))
        for u in range(size):
            for w in range(size):
                if total:
                    R[u][w] += P[u][v] * P[w][v] * prior[w] / total
    return R


def floats(matrix: Matrix) -> np.ndarray:
    return np.array([[float(entry) for entry in row] for row in matrix])


@st.composite
def cases(draw: st.DrawFn, largest: int = 5) -> tuple[Matrix, list[Fraction]]:
    """Draw a matrix with zeros here and there, and proportions that may have some."""
    size = draw(st.integers(2, largest))
    weights = st.lists(st.integers(0, 6), min_size=size, max_size=size).filter(any)
    P = [fractions(draw(weights)) for _ in range(size)]
    return P, fractions(draw(weights))


def as_floats(case: tuple[Matrix, list[Fraction]]) -> tuple[DenseChannel, np.ndarray]:
    return DenseChannel(floats(case[0])), np.array([float(share) for share in case[1]])


# -- two steps -------------------------------------------------------------------------------------


def test_two_step_by_hand() -> None:
    # P keeps with 3/5, else reports the other; pi = (1/4, 3/4): lambda = (9/20, 11/20),
    # Q = ((1/3, 2/3), (2/11, 9/11)), and R = ((3/11, 8/11), (8/33, 25/33)) by multiplying out.
    channel = DenseChannel(np.array([[0.6, 0.4], [0.4, 0.6]]))
    R = two_step(channel, [0.25, 0.75]).matrix()
    first = Fraction(3, 5) * Fraction(1, 3) + Fraction(2, 5) * Fraction(2, 11)
    second = Fraction(2, 5) * Fraction(1, 3) + Fraction(3, 5) * Fraction(2, 11)
    assert (first, second) == (Fraction(3, 11), Fraction(8, 33))
    np.testing.assert_allclose(R, [[3 / 11, 8 / 11], [8 / 33, 25 / 33]], rtol=0, atol=EXACT)


@settings(deadline=None, max_examples=100, derandomize=True)
@given(cases())
def test_two_step_is_that_of_the_definition(case: tuple[Matrix, list[Fraction]]) -> None:
    R = two_step(*as_floats(case)).matrix()
    np.testing.assert_allclose(R, floats(slow_two_step(*case)), rtol=0, atol=EXACT)


@settings(deadline=None, max_examples=100, derandomize=True)
@given(cases())
def test_two_step_is_invariant_and_reversible(case: tuple[Matrix, list[Fraction]]) -> None:
    channel, pi = as_floats(case)
    R = two_step(channel, pi).matrix()
    np.testing.assert_allclose(R.sum(axis=1), 1, rtol=0, atol=EXACT)
    np.testing.assert_allclose(pi @ R, pi, rtol=0, atol=EXACT)
    flow = pi[:, None] * R
    np.testing.assert_allclose(flow, flow.T, rtol=0, atol=EXACT)
    root = np.sqrt(np.where(pi > 0, pi, 1.0))
    symmetric = (root[:, None] * R / root)[np.ix_(pi > 0, pi > 0)]
    assert np.linalg.eigvalsh((symmetric + symmetric.T) / 2).min() >= -1e-9


@settings(deadline=None, max_examples=100, derandomize=True)
@given(cases())
def test_zeros_are_where_they_are_said_to_be(case: tuple[Matrix, list[Fraction]]) -> None:
    channel, pi = as_floats(case)
    P, R = channel.matrix(), two_step(channel, pi).matrix()
    unseen = pi @ P == 0
    for u, w in np.ndindex(R.shape):
        shared = (P[u] > 0) & (P[w] > 0)
        assert (R[u, w] > 0) == bool(np.any(shared & ((pi[w] > 0) | unseen)))
    # A category without records is never reported by one that has some.
    assert not R[np.ix_(pi > 0, pi == 0)].any()


@settings(deadline=None, max_examples=100, derandomize=True)
@given(cases())
def test_the_second_step_adds_no_epsilon(case: tuple[Matrix, list[Fraction]]) -> None:
    channel, pi = as_floats(case)
    assert two_step(channel, pi).epsilon <= channel.epsilon + 1e-12


def test_a_zero_of_the_first_matrix_alone_is_lost() -> None:
    # 0 is never reported as 1, but 1 is as 0: the second step may turn that 0 into a 1.
    channel = DenseChannel(np.array([[1.0, 0.0], [0.5, 0.5]]))
    assert two_step(channel, [0.5, 0.5]).matrix()[0, 1] == pytest.approx(1 / 3)
    apart = DenseChannel(np.array([[0.5, 0.5, 0], [0.25, 0.75, 0], [0, 0, 1]]))
    R = two_step(apart, [0.2, 0.3, 0.5]).matrix()
    assert not R[:2, 2].any()
    assert not R[2, :2].any()


def test_impossible_reports_never_occur() -> None:
    apart = DenseChannel(
        np.array([[0.9, 0.1, 0, 0], [0.3, 0.7, 0, 0], [0, 0, 0.6, 0.4], [0, 0, 0.3, 0.7]])
    )
    channel = two_step(apart, [0.3, 0.2, 0.5, 0.0])
    reports = channel.randomize(np.repeat(np.arange(3), 50_000), np.random.default_rng(3))
    table = np.stack([np.bincount(part, minlength=4) for part in np.split(reports, 3)])
    assert not table[channel.matrix()[:3] == 0].any()
    assert np.all(table[channel.matrix()[:3] > 0])
    assert np.all(channel.randomize_counts([5, 5, 7, 0], np.random.default_rng(4))[3] == 0)


def test_reports_that_no_record_can_give_keep_to_their_categories() -> None:
    # Only category 2, without records, reports 2.
    channel = DenseChannel(np.array([[0.5, 0.5, 0], [0.5, 0.5, 0], [0.2, 0.2, 0.6]]))
    R = two_step(channel, [0.5, 0.5, 0.0]).matrix()
    np.testing.assert_allclose(R[2], [0.2, 0.2, 0.6], rtol=0, atol=EXACT)
    np.testing.assert_array_equal(R[:2, 2], 0)


def test_all_records_in_one_category() -> None:
    R = two_step(KeepOrReplace.uniform(3, 0.5), [0.0, 1.0, 0.0]).matrix()
    np.testing.assert_array_equal(R, np.tile([0.0, 1.0, 0.0], (3, 1)))


@pytest.mark.parametrize("size", [1, 2, 40])
def test_rows_that_sum_to_one_only_nearly_are_no_obstacle(size: int) -> None:
    generator = np.random.default_rng(size)
    P = generator.dirichlet(np.ones(size), size) * (1 + 9e-10)
    pi = generator.dirichlet(np.full(size, 0.2))
    R = two_step(DenseChannel(P), pi).matrix()
    np.testing.assert_allclose(R.sum(axis=1), 1, rtol=0, atol=EXACT)
    np.testing.assert_allclose(pi @ R, pi, rtol=0, atol=EXACT)


def test_two_step_of_a_product_is_over_its_cells() -> None:
    product = ProductChannel((KeepOrReplace.uniform(2, 0.6), KeepOrReplace.uniform(3, 0.4)))
    pi = np.array([0.1, 0.0, 0.3, 0.2, 0.15, 0.25])
    channel = two_step(product, pi)
    same = two_step(DenseChannel(product.matrix()), pi)
    np.testing.assert_allclose(channel.matrix(), same.matrix(), rtol=0, atol=EXACT)
    assert invariance_gap(channel, pi) <= EXACT


def test_product_of_margins_invariant_matrices_is_not_invariant_for_the_joint() -> None:
    joint = np.array([0.4, 0.1, 0.1, 0.4])
    coin = two_step(KeepOrReplace.uniform(2, 0.5), [0.5, 0.5])
    product = ProductChannel((coin, coin))
    assert invariance_gap(product, joint) > 0.1
    assert invariance_gap(product, np.full(4, 0.25)) <= INVARIANCE_TOLERANCE


# -- resampling, laziness, a wanted epsilon --------------------------------------------------------


def test_resampling_forgets_the_truth() -> None:
    pi = [0.2, 0.5, 0.3]
    channel = resampling(pi)
    np.testing.assert_allclose(channel.matrix(), np.tile(pi, (3, 1)), rtol=0, atol=EXACT)
    assert channel.epsilon == 0
    assert invariance_gap(channel, pi) <= EXACT


@settings(deadline=None, max_examples=100, derandomize=True)
@given(cases(), st.floats(0, 1))
def test_lazy_channels_stay_invariant(case: tuple[Matrix, list[Fraction]], theta: float) -> None:
    channel, pi = as_floats(case)
    R = two_step(channel, pi)
    slower = lazy(R, theta)
    assert invariance_gap(slower, pi) <= EXACT
    mixed = theta * np.eye(pi.size) + (1 - theta) * R.matrix()
    np.testing.assert_allclose(slower.matrix(), mixed, rtol=0, atol=EXACT)
    of_shares = lazy(resampling(pi), theta)
    assert isinstance(of_shares, KeepOrReplace)
    assert invariance_gap(of_shares, pi) <= EXACT


@st.composite
def proportions(draw: st.DrawFn, least: int = 0) -> np.ndarray:
    weights = st.lists(st.integers(least, 40), min_size=2, max_size=7)
    drawn = draw(weights.filter(lambda w: sum(x > 0 for x in w) > 1))
    return np.array(drawn) / sum(drawn)


@settings(deadline=None, max_examples=100, derandomize=True)
@given(proportions(), st.floats(1e-3, 12))
def test_two_step_reaches_the_wanted_epsilon(pi: np.ndarray, epsilon: float) -> None:
    channel = two_step_with_epsilon(pi, epsilon)
    assert epsilon * (1 - 1e-9) <= channel.epsilon <= epsilon
    assert invariance_gap(channel, pi) <= EXACT


@settings(deadline=None, max_examples=100, derandomize=True)
@given(proportions(), st.floats(0.01, 10), st.floats(1.001, 2))
def test_epsilon_of_two_steps_rises_with_that_of_the_first(
    pi: np.ndarray, first: float, factor: float
) -> None:
    # The root that is searched for is the only one.
    def epsilon_of(epsilon: float) -> float:
        odds = np.exp(epsilon * np.eye(pi.size) - epsilon)
        return two_step(DenseChannel(odds / odds.sum(axis=1, keepdims=True)), pi).epsilon

    assert epsilon_of(first) <= epsilon_of(first * factor) + 1e-12
    assert epsilon_of(first) <= first + 1e-12


@settings(deadline=None, max_examples=100, derandomize=True)
@given(proportions(least=1), st.floats(1e-3, 30))
def test_lazy_resampling_reaches_the_wanted_epsilon(pi: np.ndarray, epsilon: float) -> None:
    channel = lazy_resampling_with_epsilon(pi, epsilon)
    of_theta = 3e-16 / (1 - channel.diagonal_weight)  # what its last digit makes of epsilon
    assert epsilon * (1 - 1e-9) - of_theta <= channel.epsilon <= epsilon
    assert invariance_gap(channel, pi) <= EXACT


def test_epsilon_of_one_category_is_nothing() -> None:
    assert two_step_with_epsilon([1.0], 2.0).epsilon == 0
    assert two_step_with_epsilon([0.0, 1.0, 0.0], 2.0).epsilon == 0


def test_two_categories_have_lazy_resampling_only() -> None:
    pi = [0.3, 0.7]
    np.testing.assert_allclose(
        two_step_with_epsilon(pi, 1.5).matrix(),
        lazy_resampling_with_epsilon(pi, 1.5).matrix(),
        rtol=0,
        atol=1e-9,
    )


# -- what a matrix discloses -----------------------------------------------------------------------


@settings(deadline=None, max_examples=100, derandomize=True)
@given(cases(), st.floats(0, 0.9))
def test_an_invariant_matrix_tells_the_true_shares(
    case: tuple[Matrix, list[Fraction]], theta: float
) -> None:
    pi = np.array([float(share) for share in case[1]])
    first = two_step(KeepOrReplace.uniform(pi.size, 0.7), pi)
    np.testing.assert_allclose(disclosed_proportions(first), pi, rtol=1e-12, atol=0)
    if np.all(pi > 0):
        np.testing.assert_allclose(disclosed_proportions(lazy(first, theta)), pi, rtol=1e-11)


def test_rare_categories_are_disclosed_as_exactly() -> None:
    pi = np.array([1e-12, 1e-6, 0.3, 0.7 - 1e-6 - 1e-12])
    for channel in (two_step(KeepOrReplace.uniform(4, 0.9), pi), lazy(resampling(pi), 0.9)):
        np.testing.assert_allclose(disclosed_proportions(channel), pi, rtol=1e-10)


def test_neighbouring_files_are_told_apart_by_their_matrices() -> None:
    for counts in ([40, 60], [41, 59]):
        shares = np.array(counts) / 100
        channel = two_step(KeepOrReplace.uniform(2, 0.01), shares)
        assert channel.epsilon < 0.001  # of a report, given the matrix
        assert np.rint(100 * disclosed_proportions(channel)).tolist() == counts


def test_separate_groups_have_no_single_stationary_distribution() -> None:
    with pytest.raises(ChannelError, match="2 groups of categories"):
        disclosed_proportions(DenseChannel(np.eye(2)))


# -- variance given the file -----------------------------------------------------------------------


def slow_conditional_covariance(R: Matrix, counts: list[int]) -> Matrix:
    """Return the sum over categories of T_u (diag(R_u) - R_u R_u') / n^2."""
    size, records = len(counts), sum(counts)
    return [
        [
            sum(counts[u] * (R[u][v] * (v == w) - R[u][v] * R[u][w]) for u in range(size))
            / Fraction(records**2)
            for w in range(size)
        ]
        for v in range(size)
    ]


@settings(deadline=None, max_examples=100, derandomize=True)
@given(cases(), st.integers(1, 50))
def test_conditional_covariance_is_that_of_independent_records(
    case: tuple[Matrix, list[Fraction]], factor: int
) -> None:
    # (2.4) holds of any matrix, with P' pi0 for pi0.
    denominator = np.lcm.reduce([share.denominator for share in case[1]])
    counts = [int(share * denominator) * factor for share in case[1]]
    channel, _ = as_floats(case)
    found = conditional_covariance(counts, channel)
    slow = floats(slow_conditional_covariance(case[0], counts))
    np.testing.assert_allclose(found, slow, rtol=0, atol=EXACT)


def test_conditional_covariance_of_an_invariant_matrix_by_hand() -> None:
    # R = 1 pi': (diag(pi0) - pi0 pi0') / n.
    counts = [2, 3, 5]
    found = conditional_covariance(counts, resampling([0.2, 0.3, 0.5]))
    expected = (np.diag([0.2, 0.3, 0.5]) - np.outer([0.2, 0.3, 0.5], [0.2, 0.3, 0.5])) / 10
    np.testing.assert_allclose(found, expected, rtol=0, atol=EXACT)
    np.testing.assert_allclose(
        conditional_covariance(counts, DenseChannel(np.eye(3))), 0, atol=EXACT
    )


def test_reversible_matrices_have_a_closed_form() -> None:
    # Of two steps R' diag(pi) R = diag(pi) R^2, so that (2.4) is diag(pi) (I - R^2) / n.
    pi = np.array([0.1, 0.2, 0.3, 0.4])
    R = two_step(KeepOrReplace.uniform(4, 0.5), pi)
    expected = np.diag(pi) @ (np.eye(4) - R.matrix() @ R.matrix()) / 30
    found = conditional_covariance([3, 6, 9, 12], R)
    np.testing.assert_allclose(found, expected, rtol=0, atol=EXACT)


def test_bound_and_sampling_covariance() -> None:
    sampling = sampling_covariance([0.25, 0.75], 10)
    np.testing.assert_allclose(sampling, np.array([[3, -3], [-3, 3]]) / 160, rtol=0, atol=EXACT)
    np.testing.assert_allclose(covariance_bound([0.25, 0.75], 10), 1.9 * sampling, atol=EXACT)


# -- refusals --------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("call", "message"),
    [
        (lambda: two_step(KeepOrReplace.uniform(3, 0.5), [0.5, 0.5]), "do not fit"),
        (lambda: two_step(KeepOrReplace.uniform(2, 0.5), [0.5, 0.6]), "one distribution"),
        (lambda: two_step(KeepOrReplace.uniform(2, 0.5), [np.nan, 0.6]), "one distribution"),
        (lambda: two_step(KeepOrReplace.uniform(4097, 0.5), np.ones(4097) / 4097), "4,097"),
        (lambda: resampling([0.5, -0.5]), "one distribution"),
        (lambda: resampling([]), "one distribution"),
        (lambda: invariance_gap(KeepOrReplace.uniform(2, 0.5), [1.0, 1.0]), "one distribution"),
        (lambda: two_step_with_epsilon([0.5, 0.5], 0.0), "epsilon is 0.0"),
        (lambda: two_step_with_epsilon([0.5, 0.5], np.nan), "epsilon is nan"),
        (lambda: lazy_resampling_with_epsilon([0.5, 0.5], 31), "epsilon is 31"),
        (lambda: lazy_resampling_with_epsilon([0.5, 0.0, 0.5], 1), "category 1 has proportion 0"),
        (lambda: conditional_covariance([1.5, 2], resampling([0.5, 0.5])), "whole numbers"),
        (lambda: conditional_covariance([-1, 2], resampling([0.5, 0.5])), "whole numbers"),
        (lambda: conditional_covariance([0, 0], resampling([0.5, 0.5])), "at least one record"),
        (lambda: sampling_covariance([0.5, 0.5], 0), "records must be at least 1"),
        (lambda: covariance_bound([0.5, 0.5], 0), "records must be at least 1"),
    ],
)
def test_bad_input_is_named(call, message: str) -> None:
    with pytest.raises(ChannelError, match=message):
        call()
