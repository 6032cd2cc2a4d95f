"""Proposition 1 and Corollary 1 of [multirr], 4.1, in rational numbers, and where they end.

Proposition 1 (with its misprint "Y^b := X^b" read as U^b): attributes that are kept with p_a and
p_b, and otherwise replaced by a uniform draw, have Cov(Y^a, Y^b) = p_a p_b Cov(X^a, X^b).
Corollary 1: with one p for all attributes, covariances keep their order.

The tests take the channel that is drawn from: its floats as fractions, in exact proportions.
"""

from collections.abc import Sequence
from fractions import Fraction
from itertools import combinations, product

import numpy as np
import pytest
from hypothesis import given, settings, strategies as st

from deniable.channels import KeepOrReplace, ProductChannel
from deniable.randomized_response.dependence import absolute_correlation, cramers_v
from deniable.randomized_response.protocols import rr_channel, rr_independent
from deniable.records.categorical import Microdata

Table = list[list[Fraction]]
HALF = Fraction(1, 2)
reproducible = settings(deadline=None, derandomize=True)


def keep_weight(channel: KeepOrReplace) -> Fraction:
    return Fraction(channel.diagonal_weight)


def matrix_of(channel: KeepOrReplace) -> Table:
    """P = a I + 1 b' with b in exactly the proportions of its floats."""
    a, b = keep_weight(channel), [Fraction(x) for x in channel.replacement.tolist()]
    b = [(1 - a) * x / sum(b) for x in b] if any(b) else b
    return [[b[v] + a * (u == v) for v in range(len(b))] for u in range(len(b))]


def reported(table: Table, first: KeepOrReplace, second: KeepOrReplace) -> Table:
    """P_a' T P_b."""
    P, Q = matrix_of(first), matrix_of(second)
    cells = list(product(range(len(P)), range(len(Q))))
    return [
        [
            sum((table[i][j] * P[i][u] * Q[j][v] for i, j in cells), Fraction())
            for v in range(len(Q))
        ]
        for u in range(len(P))
    ]


def distribution(weights: Sequence[Sequence[int | Fraction]]) -> Table:
    total = sum(map(sum, weights))
    return [[Fraction(x) / total for x in row] for row in weights]


def covariance(table: Table, x: Sequence[Fraction | int], y: Sequence[Fraction | int]) -> Fraction:
    cells = list(product(range(len(x)), range(len(y))))
    both = sum((table[i][j] * x[i] * y[j] for i, j in cells), Fraction())
    mean_x = sum((table[i][j] * x[i] for i, j in cells), Fraction())
    mean_y = sum((table[i][j] * y[j] for i, j in cells), Fraction())
    return both - mean_x * mean_y


def squared_correlation(table: Table) -> Fraction:
    """r^2 of the codes."""
    x, y = range(len(table)), range(len(table[0]))
    rows = [[sum(row) if i == k else Fraction() for k in x] for i, row in enumerate(table)]
    sums = [sum(column) for column in zip(*table, strict=True)]
    columns = [[sums[j] if j == k else Fraction() for k in y] for j in y]
    return covariance(table, x, y) ** 2 / covariance(rows, x, x) / covariance(columns, y, y)


def squared_v(table: Table) -> Fraction:
    rows, columns = [sum(row) for row in table], [sum(c) for c in zip(*table, strict=True)]
    mean_square = sum(
        (table[i][j] - rows[i] * columns[j]) ** 2 / (rows[i] * columns[j])
        for i, j in product(range(len(rows)), range(len(columns)))
    )
    return Fraction(mean_square) / (min(len(rows), len(columns)) - 1)


def through(table: Table, p: float) -> Table:
    """The table of reports when both attributes are kept with p, in (0, 1]."""
    channels = (KeepOrReplace.uniform(size, p) for size in (len(table), len(table[0])))
    return reported(table, *channels)


def diagonal_table(*shares: Fraction) -> Table:
    """Two attributes that are always equal."""
    return [[x if i == j else Fraction() for j in range(len(shares))] for i, x in enumerate(shares)]


scores = st.fractions(-50, 50, max_denominator=20)


@st.composite
def tables(draw: st.DrawFn) -> tuple[Table, list[Fraction], list[Fraction]]:
    """A joint distribution of two attributes, zeros included, and any scores."""
    rows, columns = draw(st.integers(1, 4)), draw(st.integers(1, 4))
    row = st.lists(st.integers(0, 20), min_size=columns, max_size=columns)
    weights = draw(st.lists(row, min_size=rows, max_size=rows).filter(lambda w: any(map(any, w))))
    x = draw(st.lists(scores, min_size=rows, max_size=rows))
    y = draw(st.lists(scores, min_size=columns, max_size=columns))
    return distribution(weights), x, y


# -- where they hold -------------------------------------------------------------------------------


def test_by_hand():
    # X^a = X^b a fair coin, covariance 1/4; kept with 1/2 and 1/4: equal with 1/2 + 1/2 * 1/8.
    table = diagonal_table(HALF, HALF)
    found = reported(table, KeepOrReplace.uniform(2, 0.5), KeepOrReplace.uniform(2, 0.25))
    assert found == distribution([[9, 7], [7, 9]])
    assert covariance(found, [0, 1], [0, 1]) == Fraction(1, 32) == HALF * Fraction(1, 4) ** 2


@reproducible
@given(tables(), st.floats(0, 1), st.floats(0, 1))
def test_proposition_1_is_exact(case, p_a, p_b):
    table, x, y = case
    first, second = KeepOrReplace.uniform(len(x), p_a), KeepOrReplace.uniform(len(y), p_b)
    found = covariance(reported(table, first, second), x, y)
    # One category is kept whatever p says, and has no covariance.
    assert found == keep_weight(first) * keep_weight(second) * covariance(table, x, y)
    if len(x) > 1 and len(y) > 1:
        assert found == Fraction(p_a) * Fraction(p_b) * covariance(table, x, y)


@reproducible
@given(tables(), st.lists(st.integers(1, 9), min_size=8, max_size=8), st.floats(-0.1, 1))
def test_proposition_1_needs_no_uniform_replacement_nor_a_positive_weight(case, weights, a):
    # More than the text says: for any P = a I + 1 b', a negative one as in "printed" included.
    table, x, y = case
    channels = []
    for size, part in ((len(x), weights[:4]), (len(y), weights[4:])):
        share = np.array(part[:size]) / sum(part[:size])
        weight = a if a >= 0 else a * share.min()
        channels.append(KeepOrReplace(weight, share * (1 - weight)))
    found = covariance(reported(table, *channels), x, y)
    factor = keep_weight(channels[0]) * keep_weight(channels[1])
    assert found == factor * covariance(table, x, y)


def test_the_reading_keep_is_the_randomization_of_the_text():
    for size, p in product((2, 3, 16), (0.1, 0.5, 0.7)):
        found, stated = rr_channel(size, p, "keep"), KeepOrReplace.uniform(size, p)
        assert matrix_of(found) == matrix_of(stated)
        assert keep_weight(found) == Fraction(p)


def test_the_library_computes_the_same_table():
    table = distribution([[3, 1, 4], [1, 5, 9]])
    channels = (KeepOrReplace.uniform(2, 0.3), KeepOrReplace.uniform(3, 0.7))
    found = ProductChannel(channels).reported(np.array(table, dtype=float).reshape(-1))
    np.testing.assert_allclose(found, np.array(reported(table, *channels), float).ravel(), 1e-14)


@reproducible
@given(
    st.lists(st.integers(0, 20), min_size=24, max_size=24).filter(any),
    st.lists(scores, min_size=9, max_size=9),
    st.floats(0.001, 1),
)
def test_corollary_1_is_exact(weights, values, p):
    # Three attributes of 2, 3 and 4 categories: every two of their three covariances keep their
    # order, and so do the absolute ones, which Algorithm 1 sorts by.
    joint = np.array(weights).reshape(2, 3, 4)
    numbers = {0: values[:2], 1: values[2:5], 2: values[5:]}
    true, randomized = [], []
    for a, b in combinations(range(3), 2):
        table = distribution(joint.sum(axis=3 - a - b).tolist())
        true.append(covariance(table, numbers[a], numbers[b]))
        randomized.append(covariance(through(table, p), numbers[a], numbers[b]))
    for (t, r), (other_t, other_r) in combinations(zip(true, randomized, strict=True), 2):
        assert (t > other_t, t < other_t) == (r > other_r, r < other_r)
        assert (abs(t) > abs(other_t)) == (abs(r) > abs(other_r))
        assert (abs(t) < abs(other_t)) == (abs(r) < abs(other_r))


def test_proposition_1_by_simulation(small_data: Microdata):
    # The covariance of the reports of 500 records, over 300 randomizations. Its expectation is
    # exactly p^2 times the records' own covariance (reports are independent given the records).
    # Six comparisons; each fails by chance once in a million (Student's t beyond 5 errors).
    p, runs = 0.5, 300
    protocol = rr_independent(small_data.domain, p, "keep")
    generator = np.random.default_rng(37)
    drawn = np.array(
        [
            np.cov(np.array(protocol.randomize(small_data, generator).columns, float), bias=True)
            for _ in range(runs)
        ]
    )
    expected = p**2 * np.cov(np.array(small_data.columns, dtype=float), bias=True)
    for a, b in combinations(range(4), 2):
        error = drawn[:, a, b].std(ddof=1) / np.sqrt(runs)
        assert abs(drawn[:, a, b].mean() - expected[a, b]) < 5 * error
    # There is something to see: the strongest is far from 0 and from the unattenuated one.
    error = drawn[:, 0, 1].std(ddof=1) / np.sqrt(runs)
    assert min(abs(expected[0, 1]), abs(3 * expected[0, 1])) > 20 * error


# -- where they end --------------------------------------------------------------------------------

# Two binary attributes each; covariance (1/4)(1 - 2 q) where q is the probability to differ.
CLOSE = distribution([[9, 1], [1, 9]])  # q = 1/10: 1/5
LOOSE = distribution([[4, 1], [1, 4]])  # q = 1/5: 3/20
CODES = [0, 1]


def test_unequal_keep_probabilities_reverse_the_order():
    # Cov(A, B) = 1/5 > Cov(A, C) = 3/20; B kept with 1/4, A and C with 1/2: 1/40 < 3/80.
    assert covariance(CLOSE, CODES, CODES) == Fraction(1, 5)
    assert covariance(LOOSE, CODES, CODES) == Fraction(3, 20)
    half, quarter = KeepOrReplace.uniform(2, 0.5), KeepOrReplace.uniform(2, 0.25)
    assert covariance(reported(CLOSE, half, quarter), CODES, CODES) == Fraction(1, 40)
    assert covariance(reported(LOOSE, half, half), CODES, CODES) == Fraction(3, 80)


def test_the_printed_matrix_keeps_unequally_for_one_p():
    # 6.3.1 gives one p and a matrix whose weight a depends on the number of categories:
    # a = (p - (1 - p) / r) / (p + (r - 1)(1 - p) / r); at p = 1/2, (r - 1) / (2 r - 1).
    weights = {size: rr_channel(size, 0.5, "printed").diagonal_weight for size in (2, 3, 9, 16)}
    for size, weight in weights.items():
        assert weight == pytest.approx((size - 1) / (2 * size - 1), rel=1e-14)
    # Two pairs of attributes: 2 x 2 with covariance 1/4, and 3 x 3 with 17/75: reversed to
    # (1/3)^2 / 4 = .0278 and (2/5)^2 * 17 / 75 = .0363.
    pair, larger = diagonal_table(HALF, HALF), distribution([[17, 0, 0], [0, 116, 0], [0, 0, 17]])
    assert covariance(pair, CODES, CODES) == Fraction(1, 4)
    assert covariance(larger, [0, 1, 2], [0, 1, 2]) == Fraction(17, 75)
    two, three = (rr_channel(size, 0.5, "printed") for size in (2, 3))
    of_pair = covariance(reported(pair, two, two), CODES, CODES)
    of_larger = covariance(reported(larger, three, three), [0, 1, 2], [0, 1, 2])
    assert float(of_pair) == pytest.approx(1 / 36, rel=1e-14)
    assert float(of_larger) == pytest.approx(4 / 25 * 17 / 75, rel=1e-14)


def test_the_printed_matrix_turns_signs_at_a_small_p():
    # p = .1: a = -7/11 for 2 categories, 0 for 9, 7/151 for 16.
    weights = [rr_channel(size, 0.1, "printed").diagonal_weight for size in (2, 5, 7, 9, 15, 16)]
    expected = [-7 / 11, -4 / 41, -2 / 61, 0, 6 / 141, 7 / 151]
    np.testing.assert_allclose(weights, expected, rtol=1e-13, atol=1e-16)
    # A binary attribute and one of 16 categories, of which the first and the tenth occur, against
    # two binary ones: 9/4 > 1/4 becomes -.066 < .101. Signs turn, and absolute values reverse.
    binary, wide = rr_channel(2, 0.1, "printed"), rr_channel(16, 0.1, "printed")
    uneven = distribution([[1] + [0] * 15, [0] * 9 + [1] + [0] * 6])
    even = diagonal_table(HALF, HALF)
    assert covariance(uneven, CODES, range(16)) == Fraction(9, 4)
    turned = covariance(reported(uneven, binary, wide), CODES, range(16))
    kept = covariance(reported(even, binary, binary), CODES, CODES)
    assert float(turned) == pytest.approx(-7 / 11 * 7 / 151 * 9 / 4, rel=1e-13)
    assert float(kept) == pytest.approx(49 / 121 / 4, rel=1e-13)
    assert turned < 0 < abs(turned) < kept


def test_correlation_loses_its_order_at_equal_p():
    # Equal rare attributes, r = 1, against fair coins with r = 1/2. Both kept with 1/2: uniform
    # replacement raises the variance of the rare ones from 9/100 to 21/100.
    rare, coins = diagonal_table(Fraction(9, 10), Fraction(1, 10)), distribution([[3, 1], [1, 3]])
    assert (squared_correlation(rare), squared_correlation(coins)) == (1, HALF**2)
    after = squared_correlation(through(rare, 0.5)), squared_correlation(through(coins, 0.5))
    assert after == (Fraction(3, 28) ** 2, Fraction(1, 8) ** 2)  # .107 < .125
    # Corollary 1 is not contradicted: the covariance was the smaller one all along.
    assert covariance(rare, CODES, CODES) == Fraction(9, 100) < covariance(coins, CODES, CODES)
    # The library's |r| is the one computed here; so is V, which is |r| for binary attributes.
    for table, root in [(rare, 1), (coins, 0.5), (through(rare, 0.5), 3 / 28)]:
        values = np.array(table, dtype=float)
        assert absolute_correlation(values) == pytest.approx(root, rel=1e-12)
        assert cramers_v(values) == pytest.approx(root, rel=1e-12)


def test_cramers_v_loses_its_order_at_equal_p():
    # Different numbers of categories: equal attributes with shares .9, .05, .05, V = 1, against
    # coins with V = 1/2. Kept with 1/2: .082 < .125.
    three = diagonal_table(Fraction(18, 20), Fraction(1, 20), Fraction(1, 20))
    coins = distribution([[3, 1], [1, 3]])
    assert (squared_v(three), squared_v(coins)) == (1, Fraction(1, 4))
    after = squared_v(through(three, 0.5)), squared_v(through(coins, 0.5))
    assert after == (Fraction(38565, 5793608), Fraction(1, 64))
    for table, square in [(through(three, 0.5), after[0]), (through(coins, 0.5), after[1])]:
        found = cramers_v(np.array(table, dtype=float))
        assert found == pytest.approx(float(square) ** 0.5, rel=1e-12)


@reproducible
@given(st.permutations(range(4)), st.integers(2, 4), st.integers(0, 8), st.floats(0.01, 1))
def test_cramers_v_keeps_its_order_where_all_margins_are_uniform(order, size, mix, p):
    # Then V of the reports is p^2 V exactly, whatever the number of categories: the expected
    # counts do not change.
    permutation = [code for code in order if code < size]
    weights = [
        [mix + (8 - mix) * size * (permutation[u] == v) for v in range(size)] for u in range(size)
    ]
    table = distribution(weights)
    assert squared_v(through(table, p)) == Fraction(p) ** 4 * squared_v(table)
