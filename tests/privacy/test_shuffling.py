"""The epsilon of a shuffled file, compared with direct sums and with exact curves."""

import math
import time
from decimal import ROUND_CEILING, Decimal
from fractions import Fraction
from itertools import combinations_with_replacement, permutations, product

import numpy as np
import pytest
from hypothesis import given, settings, strategies as st
from scipy import optimize, stats

from deniable.errors import DeniableError
from deniable.privacy import default_delta, shuffled_epsilon, shuffled_guarantee
from deniable.privacy.shuffling import _divergences

PAIRS = (
    (1, 1.0),
    (2, 2.0),
    (8, 1.0),
    (8, 4.0),
    (50, 2.0),
    (1000, 0.5),
    (1000, 3.0),
    (10_000, 4.0),
    (10_000, 6.0),
    (32_561, 4.0),
    (100_000, 6.0),
    (1_000_000, 8.0),
)
DELTAS = (0.1, 0.01, 1e-6)


def direct_delta(records: int, local: float, epsilon: float) -> float:
    """Sum P - exp(epsilon) Q, where it is positive, over all values of C and A + D.

    Nothing is used but the definition of the pair: no threshold and no closed form.
    """
    p = math.exp(local) / (math.exp(local) + 1)
    clones = np.arange(records)
    probability = stats.binom.pmf(clones, records - 1, math.exp(-local))
    total = 0.0
    for c in clones[probability > 1e-30].tolist():
        a = np.concatenate([[0.0], stats.binom.pmf(np.arange(c + 1), c, 0.5), [0.0]])
        P, Q = p * a[:-1] + (1 - p) * a[1:], (1 - p) * a[:-1] + p * a[1:]
        total += probability[c] * np.maximum(P - math.exp(epsilon) * Q, 0).sum()
    return total


def exact_delta(records: int, local: float, epsilon: float) -> Fraction:
    """Return the same sum in fractions, for the floats exp(-local) and exp(epsilon)."""
    q, factor = Fraction(math.exp(-local)), Fraction(math.exp(epsilon))
    p, pairs = 1 / (1 + q), dict[tuple[int, int], list[Fraction]]()
    for c in range(records):
        clones = math.comb(records - 1, c) * q**c * (1 - q) ** (records - 1 - c)
        for a, d in product(range(c + 1), (0, 1)):
            own = clones * math.comb(c, a) / 2**c * (p if d else 1 - p)
            for which, first in ((0, a + d), (1, a + 1 - d)):
                pairs.setdefault((c, first), [Fraction(), Fraction()])[which] += own
    return sum((max(P - factor * Q, Fraction()) for P, Q in pairs.values()), Fraction())


def test_the_figures_of_a_table_are_as_stated() -> None:
    """Stated in two digits, rounded up; None where the bound is not below the local epsilon."""
    stated = {
        2: ("0.16", "0.083", "0.046"),
        4: ("0.61", "0.32", "0.17"),
        6: ("5.8", "1.04", "0.53"),
        8: (None, None, "2.2", "0.45"),
    }
    for local, row in stated.items():
        for records, figure in zip((10_000, 32_561, 100_000, 10**6), row, strict=False):
            found = shuffled_epsilon(local, records, 1e-6)
            if figure is None:
                assert found is None
            else:
                step = Decimal(figure).as_tuple().exponent
                shown = Decimal(str(found)).quantize(Decimal(10) ** int(step), ROUND_CEILING)
                assert str(shown) == figure


@pytest.mark.parametrize(("records", "local"), PAIRS)
def test_epsilon_is_the_one_of_direct_summation(records: int, local: float) -> None:
    delta = 1e-6 if records >= 1000 else 0.05
    direct = optimize.brentq(lambda e: direct_delta(records, local, e) - delta, 0, local, xtol=1e-9)
    found = shuffled_epsilon(local, records, delta)
    assert found is not None
    assert direct * (1 - 1e-9) <= found <= direct * 1.005


@pytest.mark.parametrize("local", [0.5, 2.0, 5.0])
@pytest.mark.parametrize("records", [1, 2, 7, 20])
def test_epsilon_is_the_smallest_of_four_digits_in_exact_arithmetic(
    records: int, local: float
) -> None:
    for delta in (0.3, 0.1, 0.01):
        found = shuffled_epsilon(local, records, delta)
        assert found is not None
        assert exact_delta(records, local, found) <= delta
        if found:
            below = found - 10.0 ** (math.floor(math.log10(found)) - 3)
            assert exact_delta(records, local, below) > delta


def epsilon_at(P: np.ndarray, Q: np.ndarray, delta: float, local: float) -> float:
    """Return the epsilon at a delta of a pair of distributions, both directions, rounded down."""
    low, high = 0.0, local

    def curve(epsilon: float) -> float:
        factor = math.exp(epsilon)
        return max(np.maximum(a - factor * b, 0).sum() for a, b in ((P, Q), (Q, P)))

    for _ in range(60):
        middle = (low + high) / 2
        low, high = (low, middle) if curve(middle) <= delta else (middle, high)
    return low


@pytest.mark.parametrize("records", [8, 1000, 32_561])
def test_epsilon_is_never_below_the_exact_one_of_binary_randomized_response(records: int) -> None:
    """By convolution, for several numbers of other records that answer yes."""
    for local in (0.5, 1.0, 2.0, 4.0, 6.0):
        yes = math.exp(local) / (math.exp(local) + 1)
        others = range(records) if records == 8 else (0, (records - 1) // 2, records - 1)
        for ones in others:
            parts = []
            for number, chance in ((ones, yes), (records - 1 - ones, 1 - yes)):
                mass = stats.binom.pmf(np.arange(number + 1), number, chance)
                own = np.flatnonzero(mass > 1e-25)
                parts.append(mass[own[0] : own[-1] + 1])
            rest = np.convolve(*parts)
            P, Q = np.convolve(rest, [1 - yes, yes]), np.convolve(rest, [yes, 1 - yes])
            for delta in DELTAS:
                found = shuffled_epsilon(local, records, delta)
                assert (local if found is None else found) >= epsilon_at(P, Q, delta, local)


@pytest.mark.parametrize("local", [0.5, 1.0, 2.0, 4.0])
def test_epsilon_is_never_below_the_exact_one_of_three_categories(local: float) -> None:
    """Of all files of six records, and all results, by enumeration."""
    matrix = (np.ones((3, 3)) + (math.exp(local) - 1) * np.eye(3)) / (math.exp(local) + 2)

    def results(values: tuple[int, ...]) -> np.ndarray:
        found = np.zeros((7, 7))
        found[0, 0] = 1.0  # by the numbers of the first two categories
        for value in values:
            first, second = np.roll(found, 1, axis=0), np.roll(found, 1, axis=1)
            found = matrix[value] @ np.stack([first, second, found]).reshape(3, -1)
            found = found.reshape(7, 7)
        return found.reshape(-1)

    reached = dict.fromkeys(DELTAS, 0.0)
    for others in combinations_with_replacement(range(3), 5):
        for true, other in permutations(range(3), 2):
            P, Q = results((true, *others)), results((other, *others))
            for delta in DELTAS:
                reached[delta] = max(reached[delta], epsilon_at(P, Q, delta, local))
    for delta, exact in reached.items():
        found = shuffled_epsilon(local, 6, delta)
        assert exact <= (local if found is None else found)


@settings(max_examples=150, deadline=None)
@given(
    st.tuples(*[st.integers(1, 200_000)] * 2),
    st.tuples(*[st.floats(0.01, 12)] * 2),
    st.tuples(*[st.floats(1e-9, 0.2)] * 2),
)
def test_epsilon_falls_with_records_and_delta_and_grows_with_the_local_one(
    records: tuple[int, int], local: tuple[float, float], delta: tuple[float, float]
) -> None:
    def epsilon(n: int, own: float, d: float) -> float:
        found = shuffled_epsilon(own, n, d)
        return own if found is None else found

    (n, more), (low, high), (small, large) = map(sorted, (records, local, delta))
    assert epsilon(more, low, small) <= epsilon(n, low, small) <= low
    assert epsilon(n, low, small) <= epsilon(n, high, small)
    assert epsilon(n, low, large) <= epsilon(n, low, small)


@pytest.mark.parametrize("n", [20, 1000, 10**5])
def test_each_term_is_rounded_up_by_little(n: int) -> None:
    """For one number of clones, compared with whole numbers of ways (of 60 bits)."""
    local, target = 2.0, 4 / math.sqrt(n)
    (found,) = _divergences(np.array([float(n)]), local, target)
    q, factor = math.exp(-local), math.exp(target)
    t = math.ceil((n + 1) * (factor - q) / ((1 + factor) * (1 - q)))
    ways, tail = math.comb(n, t - 1), 0
    own = math.comb(n, t)
    while own and t <= n:
        tail, own, t = tail + own, own * (n - t) // (t + 1), t + 1

    def chance(number: int) -> float:
        bits = max(number.bit_length() - 60, 0)
        return math.ldexp(number >> bits, bits - n)

    exact = (1 - factor * q) / (1 + q) * chance(ways) - (factor - 1) * chance(tail)
    assert exact < found < exact * (1 + 1e-6)


def test_ten_million_records_take_less_than_half_a_second() -> None:
    """In time of the processor, which other jobs of the machine do not change."""
    for local in (0.1, 0.7, 4.0):
        start = time.process_time()
        found = shuffled_epsilon(local, 10**7)
        assert time.process_time() - start < 0.5
        assert found is not None
        assert 0 < found < local / 100


def test_delta_is_by_default_the_smaller_of_two() -> None:
    assert default_delta(100) == 1e-6
    assert default_delta(10_000) == 1e-6
    assert default_delta(100_000) == 1e-7
    assert shuffled_epsilon(4, 100_000) == shuffled_epsilon(4, 100_000, 1e-7)


def test_a_unit_of_several_records_has_the_epsilon_of_a_group() -> None:
    records = 5000
    epsilon, least = shuffled_epsilon(3, records), default_delta(records)
    assert epsilon is not None
    exact = Fraction(repr(epsilon))
    assert shuffled_guarantee(3, records) == (exact, least)
    found = shuffled_guarantee(3, records, 3)
    assert found == (3 * exact, pytest.approx(3 * math.exp(2 * epsilon) * least))
    assert found[1] > 3 * math.exp(2 * epsilon) * least


def test_epsilons_without_a_guarantee_have_none() -> None:
    assert shuffled_epsilon(math.inf, 1000) is None
    assert shuffled_epsilon(1e5, 10**9) is None
    assert shuffled_epsilon(0, 1000) == 0
    assert shuffled_epsilon(1e-300, 1000) == 0


@pytest.mark.parametrize(
    ("given", "problem"),
    [
        ((-1, 10, 0.1), "local epsilon"),
        ((math.nan, 10, 0.1), "local epsilon"),
        ((1, 0, 0.1), "at least 1 record"),
        ((1, 10, 0), "delta is 0"),
        ((1, 10, 1), "delta is 1"),
    ],
)
def test_impossible_arguments_are_refused(given: tuple[float, int, float], problem: str) -> None:
    with pytest.raises(DeniableError, match=problem):
        shuffled_epsilon(*given)
