"""The propagation factor of [multirr], 2.3, and the claim about the matrix that minimises it.

The text, after FRAPP: among randomization matrices of one parity, the one with p_u on the diagonal
and p_d elsewhere minimises the ratio of the eigenvalues. A proof for matrices whose eigenvalues are
real and not negative: let g be the parity. An entry of column v is at least p_vv / g, so row u sums
to 1 >= p_uu + sum over v != u of p_vv / g. The sum of these over all r rows bounds the trace by
r g / (g + r - 1). One eigenvalue is 1 and no other is larger, so the smallest is at most the mean
of the rest, (trace - 1) / (r - 1) <= (g - 1) / (g + r - 1): the one of the p_u / p_d form.

Without that condition (FRAPP's journal version says positive definite, the text does not) the claim
is false; the counterexamples are below.
"""

import math

import numpy as np
import pytest
from hypothesis import given, settings, strategies as st

from deniable.channels import Channel, DenseChannel, KeepOrReplace, ProductChannel
from deniable.estimation import propagation_factor, smallest_propagation
from deniable.randomized_response.protocols import cluster_channel, rr_channel

reproducible = settings(deadline=None, derandomize=True)
COIN = KeepOrReplace.uniform(2, 0.5)
ROTATION = DenseChannel(np.array([[0.75, 0.25, 0.0], [0.0, 0.75, 0.25], [0.25, 0.0, 0.75]]))
# The Fano plane: row u is a line, and reports each of its 3 points twice as likely as any other.
FANO = np.array([[0.2 if (u + v) % 7 in (0, 1, 3) else 0.1 for v in range(7)] for u in range(7)])


def dense(channel: Channel) -> DenseChannel:
    return DenseChannel(channel.matrix())


def condition_number(channel: Channel) -> float:
    return math.inf if channel.singular else float(np.linalg.cond(channel.matrix()))


def test_by_hand():
    # P' = a I + b 1': eigenvalues 1 and a.
    assert propagation_factor(COIN) == 2
    assert propagation_factor(KeepOrReplace(-0.25, np.array([0.25, 0.5, 0.5]))) == 4
    assert propagation_factor(KeepOrReplace.uniform(10**6, 0.125)) == 8
    assert propagation_factor(KeepOrReplace.uniform(1, 0.3)) == 1
    assert propagation_factor(ProductChannel((COIN, KeepOrReplace.uniform(5, 0.25)))) == 8
    # Eigenvalues 3/4 + w/4 over the third roots of unity w: the smallest modulus is sqrt(7) / 4.
    assert propagation_factor(ROTATION) == pytest.approx(4 / math.sqrt(7), rel=1e-14)
    # Eigenvalues 1 and 1/4, but columns (1, .75) and (0, .25): squares of singular values have the
    # sum 1.625 and the product 1/16.
    skew = DenseChannel(np.array([[1.0, 0.0], [0.75, 0.25]]))
    assert propagation_factor(skew) == pytest.approx(4, rel=1e-14)
    largest = (1.625 + math.sqrt(1.625**2 - 0.25)) / 2
    assert condition_number(skew) == pytest.approx(largest / 0.25, rel=1e-12)
    assert condition_number(COIN) == pytest.approx(2, rel=1e-14)


def test_nothing_gets_through_a_singular_channel():
    singular: list[Channel] = [
        KeepOrReplace.uniform(3, 0.0),
        DenseChannel(np.full((4, 4), 0.25)),
        ProductChannel((COIN, KeepOrReplace.uniform(3, 0.0))),
        rr_channel(9, 0.1, "printed"),
        rr_channel(2, 0.5, "diagonal"),
    ]
    for channel in singular:
        assert propagation_factor(channel) == math.inf


@st.composite
def keep_or_replace(draw: st.DrawFn) -> KeepOrReplace:
    """Any replacement, and a weight far enough from 0 that the dense matrix is well conditioned."""
    weights = np.array(draw(st.lists(st.integers(1, 20), min_size=2, max_size=6)), dtype=float)
    share = weights / weights.sum()
    if draw(st.booleans()):
        a = draw(st.floats(0.01, 1))
    else:  # as negative as the smallest entry lets it be
        a = -draw(st.floats(0.1, 0.999)) * share.min() / (1 - share.min())
    return KeepOrReplace(a, share * (1 - a))


@st.composite
def any_dense(draw: st.DrawFn) -> DenseChannel:
    size = draw(st.integers(2, 6))
    rows = st.lists(st.integers(1, 30), min_size=size, max_size=size)
    weights = np.array([draw(rows) for _ in range(size)], dtype=float)
    return DenseChannel(weights / weights.sum(axis=1, keepdims=True))


@reproducible
@given(keep_or_replace())
def test_closed_forms_are_those_of_the_dense_matrix(channel):
    assert propagation_factor(channel) == pytest.approx(propagation_factor(dense(channel)), 1e-6)


@settings(reproducible, max_examples=30)
@given(st.lists(keep_or_replace(), min_size=1, max_size=2), any_dense())
def test_factors_of_a_product_multiply(parts, other):
    channel = ProductChannel((*parts, other))
    if condition_number(channel) < 1e6:
        flat = dense(channel)
        assert propagation_factor(channel) == pytest.approx(propagation_factor(flat), rel=1e-6)


@reproducible
@given(any_dense() | keep_or_replace())
def test_the_ratio_of_eigenvalues_is_a_lower_bound_of_the_condition_number(channel):
    assert 1 <= propagation_factor(channel) <= condition_number(channel) * (1 + 1e-9)


@reproducible
@given(keep_or_replace(), st.lists(st.floats(-1, 1), min_size=6, max_size=6))
def test_errors_of_reports_are_multiplied_by_exactly_the_factor(channel, numbers):
    error = np.array(numbers[: channel.size])
    error -= error.mean()
    passed_on = channel.solve_transposed(error)
    expected = propagation_factor(channel) * np.abs(error)
    np.testing.assert_allclose(np.abs(passed_on), expected, rtol=1e-9, atol=1e-9)


# -- the claim -------------------------------------------------------------------------------------


@pytest.mark.parametrize("size", [2, 3, 9, 300])
@pytest.mark.parametrize("parity", [1.1, 3.0, 50.0])
def test_the_form_attains_the_smallest_factor(size, parity):
    total = parity + size - 1
    form = KeepOrReplace.from_entries(size, parity / total, 1 / total)
    assert propagation_factor(form) == pytest.approx(total / (parity - 1), rel=1e-12)
    found = smallest_propagation(size, form.epsilon)
    assert found == pytest.approx(total / (parity - 1), rel=1e-12)
    assert condition_number(form) == pytest.approx(found, rel=1e-9)


def test_smallest_propagation_at_the_ends():
    assert smallest_propagation(5, 0.0) == math.inf
    assert smallest_propagation(1, 0.0) == 1
    assert smallest_propagation(5, 1e6) == 1
    assert smallest_propagation(5, math.inf) == 1
    # The matrix over a cluster's cells (6.3.2) is of the form: 3 * 5 cells, epsilons added.
    joint = cluster_channel([3, 5], 0.5, "keep", "joint")
    assert propagation_factor(joint) == pytest.approx(
        smallest_propagation(15, math.log(4) + math.log(6)), rel=1e-12
    )


@reproducible
@given(any_dense())
def test_the_trace_is_bounded_by_the_parity(channel):
    # The step of the proof that holds for any matrix.
    size, parity = channel.size, channel.parity
    assert np.trace(channel.entries) <= size * parity / (parity + size - 1) * (1 + 1e-12)


@st.composite
def with_nonnegative_spectrum(draw: st.DrawFn) -> DenseChannel:
    """K K for a reversible K: similar to the square of a symmetric matrix, itself not symmetric."""
    size = draw(st.integers(2, 6))
    weights = np.zeros((size, size))
    for u in range(size):
        for v in range(u + 1):
            weights[u, v] = weights[v, u] = draw(st.integers(1, 40) | st.just(400))
    K = weights / weights.sum(axis=1, keepdims=True)
    return DenseChannel(K @ K)


@reproducible
@given(with_nonnegative_spectrum())
def test_the_claim_holds_for_real_eigenvalues_that_are_not_negative(channel):
    smallest = smallest_propagation(channel.size, channel.epsilon)
    assert propagation_factor(channel) >= smallest * (1 - 1e-6)
    assert condition_number(channel) >= smallest * (1 - 1e-6)


def test_the_claim_fails_for_a_symmetric_matrix_with_negative_eigenvalues():
    # FANO = (J + N) / 10 with N N' = 2 I + J: eigenvalues 1 and +- sqrt(2) / 10. Parity 2. The form
    # has 2/8 and 1/8: eigenvalue 1/8 < sqrt(2) / 10.
    np.testing.assert_array_equal(FANO, FANO.T)
    N = (FANO == 0.2).astype(int)
    np.testing.assert_array_equal(N @ N.T, 2 * np.eye(7) + 1)
    channel = DenseChannel(FANO)
    form = KeepOrReplace.from_entries(7, 2 / 8, 1 / 8)
    assert channel.parity == pytest.approx(form.parity, rel=1e-15)
    assert propagation_factor(channel) == pytest.approx(10 / math.sqrt(2), rel=1e-12)  # 7.07
    assert condition_number(channel) == pytest.approx(10 / math.sqrt(2), rel=1e-12)
    assert propagation_factor(form) == pytest.approx(8, rel=1e-12)
    # And the estimates are better: total variance 50/64 of the form's at equal frequencies.
    equal = np.full(7, 1 / 7)
    variance = [np.trace(c.covariance(equal, 1000)) for c in (channel, form)]
    assert variance[0] / variance[1] == pytest.approx(50 / 64, rel=1e-12)
    # Only for a small epsilon: (3 g + 4) / sqrt(2) against g + 6, up to g = 2.83.
    for parity, better in [(2.82, True), (2.84, False)]:
        design = np.where(FANO == 0.2, parity, 1.0) / (3 * parity + 4)
        factor = propagation_factor(DenseChannel(design))
        assert (factor < smallest_propagation(7, math.log(parity))) is better


def test_the_claim_fails_for_a_matrix_that_is_not_symmetric():
    # Five categories, complex eigenvalues: 50.91 instead of 51 at parity 1.1.
    pattern = np.array(
        [[0, 1, 0, 0, 0], [0, 0, 1, 1, 0], [1, 0, 0, 1, 0], [0, 0, 0, 0, 1], [1, 0, 1, 0, 0]]
    )
    weights = 1 + 0.1 * pattern
    columns = np.linalg.solve(weights, np.ones(5))
    channel = DenseChannel(weights * columns)
    assert channel.parity == pytest.approx(1.1, rel=1e-12)
    assert smallest_propagation(5, math.log(1.1)) == pytest.approx(51, rel=1e-12)
    assert 50.8 < propagation_factor(channel) < 50.95
    # Eigenvalues alone mislead there: the condition number is the larger one.
    assert condition_number(channel) > 51
