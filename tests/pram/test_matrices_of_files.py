"""Variance and privacy of a matrix made anew of each file, against complete enumeration."""

from collections.abc import Callable, Iterator
from fractions import Fraction
from itertools import product
from math import factorial, log

import numpy as np
import pytest
from hypothesis import given, settings, strategies as st
from tests.channels.invariant_channels import lazy
from tests.pram.exact_covariance import exact_covariance

from deniable.channels import Channel, DenseChannel, KeepOrReplace, resampling
from deniable.channels.invariant import (
    covariance_bound,
    sampling_covariance,
    two_step,
)
from deniable.pram.matrices import whole_file_epsilon

Row = list[Fraction]
Matrix = list[Row]
ExactMethod = Callable[[Row], Matrix]
Counts = tuple[int, ...]

EXACT = 1e-12
HALF = Fraction(1, 2)
POPULATIONS = (
    (Fraction(1, 4), Fraction(3, 4)),
    (Fraction(1, 5), Fraction(3, 10), HALF),
    (Fraction(1, 3), Fraction(0), Fraction(2, 3)),
)


# -- the reference: all samples, all reports, in fractions -----------------------------------------


def tables(records: int, size: int) -> Iterator[Counts]:
    if size == 1:
        yield (records,)
        return
    for first in range(records + 1):
        for rest in tables(records - first, size - 1):
            yield (first, *rest)


def chance(table: Counts, pi: tuple[Fraction, ...]) -> Fraction:
    ways, probability = factorial(sum(table)), Fraction(1)
    for count, share in zip(table, pi, strict=True):
        ways //= factorial(count)
        probability *= share**count
    return ways * probability


def reports_given(table: Counts, R: Matrix) -> dict[Counts, Fraction]:
    """Return the distribution of the counts of reports, record by record."""
    found = {(0,) * len(table): Fraction(1)}
    for category, count in enumerate(table):
        for _ in range(count):
            following: dict[Counts, Fraction] = {}
            for counts, probability in found.items():
                for v, share in enumerate(R[category]):
                    if share:
                        key = tuple(c + (w == v) for w, c in enumerate(counts))
                        following[key] = following.get(key, Fraction(0)) + probability * share
            found = following
    return found


def moments(method: ExactMethod, pi: tuple[Fraction, ...], records: int) -> tuple[Row, Matrix]:
    """Return the mean and the covariance of S / n over all samples and all reports."""
    size = len(pi)
    mean, second = [Fraction(0)] * size, [[Fraction(0)] * size for _ in pi]
    for table in tables(records, size):
        of_sample = chance(table, pi)
        if not of_sample:
            continue
        R = method([Fraction(count, records) for count in table])
        for counts, probability in reports_given(table, R).items():
            for u in range(size):
                mean[u] += of_sample * probability * Fraction(counts[u], records)
                for v in range(size):
                    moment = Fraction(counts[u] * counts[v], records**2)
                    second[u][v] += of_sample * probability * moment
    return mean, [[second[u][v] - mean[u] * mean[v] for v in range(size)] for u in range(size)]


def exact_two_step(shares: Row) -> Matrix:
    """Two steps from the matrix that keeps with 1/2, else reports any category alike."""
    size = len(shares)
    P = [[HALF * (u == v) + HALF / size for v in range(size)] for u in range(size)]
    reported = [sum(P[w][v] * shares[w] for w in range(size)) for v in range(size)]
    return [
        [sum(P[u][v] * P[w][v] * shares[w] / reported[v] for v in range(size)) for w in range(size)]
        for u in range(size)
    ]


def exact_lazy(shares: Row) -> Matrix:
    return [
        [HALF * (u == w) + HALF * share for w, share in enumerate(shares)]
        for u in range(len(shares))
    ]


METHODS: dict[str, tuple[ExactMethod, Callable[[np.ndarray], Channel]]] = {
    "two_step": (
        exact_two_step,
        lambda shares: two_step(KeepOrReplace.uniform(shares.size, 0.5), shares),
    ),
    "lazy": (exact_lazy, lambda shares: lazy(resampling(shares), 0.5)),
    "resampling": (lambda shares: [shares for _ in shares], resampling),
}


def as_floats(matrix: Matrix) -> np.ndarray:
    return np.array([[float(entry) for entry in row] for row in matrix])


@pytest.mark.parametrize("name", METHODS)
@pytest.mark.parametrize("pi", POPULATIONS)
@pytest.mark.parametrize("records", [1, 2, 4, 6])
def test_covariance_is_that_of_all_samples_and_reports(
    name: str, pi: tuple[Fraction, ...], records: int
) -> None:
    slow, method = METHODS[name]
    mean, covariance = moments(slow, pi, records)
    assert mean == list(pi)  # (2.3): unbiased, exactly
    found = exact_covariance(method, np.array(pi, dtype=float), records)
    np.testing.assert_allclose(found, as_floats(covariance), rtol=0, atol=EXACT)


@pytest.mark.parametrize("pi", POPULATIONS)
@pytest.mark.parametrize("records", [1, 3, 6])
def test_resampling_attains_the_bound_exactly(pi: tuple[Fraction, ...], records: int) -> None:
    _, covariance = moments(METHODS["resampling"][0], pi, records)
    factor = (2 - Fraction(1, records)) / records
    assert covariance == [
        [factor * (share * (u == v) - share * other) for v, other in enumerate(pi)]
        for u, share in enumerate(pi)
    ]
    bound = covariance_bound(np.array(pi, dtype=float), records)
    np.testing.assert_allclose(bound, as_floats(covariance), rtol=0, atol=EXACT)


def test_a_matrix_fixed_beforehand_inflates_nothing() -> None:
    # Invariant for the population rather than the sample: reports are multinomial with pi. The
    # inflation of (2.5) comes from making the matrix anew.
    pi = POPULATIONS[1]
    mean, covariance = moments(lambda _: exact_two_step(list(pi)), pi, 4)
    assert mean == list(pi)
    np.testing.assert_allclose(
        as_floats(covariance), sampling_covariance([0.2, 0.3, 0.5], 4), rtol=0, atol=EXACT
    )


@settings(deadline=None, max_examples=100, derandomize=True)
@given(st.integers(2, 4), st.integers(1, 5), st.integers(0, 2**32 - 1))
def test_no_invariant_method_exceeds_the_bound(size: int, records: int, seed: int) -> None:
    generator = np.random.default_rng(seed)
    pi = generator.dirichlet(np.full(size, 0.7))
    first = DenseChannel(generator.dirichlet(np.full(size, 0.4), size))
    weights = generator.dirichlet([0.4, 0.4, 0.4])

    def mixture(shares: np.ndarray) -> Channel:
        parts = (np.eye(size), two_step(first, shares).matrix(), resampling(shares).matrix())
        return DenseChannel(sum(w * part for w, part in zip(weights, parts, strict=True)))

    covariance = exact_covariance(mixture, pi, records)
    slack = covariance_bound(pi, records) - covariance
    assert np.linalg.eigvalsh(slack).min() >= -EXACT
    assert np.linalg.eigvalsh(covariance - sampling_covariance(pi, records)).min() >= -EXACT


# -- privacy of a whole file -----------------------------------------------------------------------


def slow_whole_file_epsilon(method: ExactMethod, file: Counts, size: int) -> float:
    """Return the worst log ratio over all files that differ in a record, and all their reports."""

    def likelihoods(records: Counts) -> dict[Counts, Fraction]:
        shares = [Fraction(records.count(v), len(records)) for v in range(size)]
        R = method(shares)
        found = {}
        for reports in product(range(size), repeat=len(records)):
            probability = Fraction(1)
            for true, report in zip(records, reports, strict=True):
                probability *= R[true][report]
            found[reports] = probability
        return found

    here, worst = likelihoods(file), 0.0
    for position, category in product(range(len(file)), range(size)):
        there = likelihoods((*file[:position], category, *file[position + 1 :]))
        for reports, probability in here.items():
            if bool(probability) != bool(there[reports]):
                return np.inf
            if probability:
                worst = max(worst, abs(log(probability / there[reports])))
    return worst


@pytest.mark.parametrize("name", METHODS)
@pytest.mark.parametrize("counts", [(2, 3), (2, 2), (1, 3), (2, 2, 2), (3, 2, 1)])
def test_whole_file_epsilon_is_that_of_all_reports(name: str, counts: Counts) -> None:
    slow, method = METHODS[name]
    file = tuple(np.repeat(np.arange(len(counts)), counts).tolist())
    expected = slow_whole_file_epsilon(slow, file, len(counts))
    assert whole_file_epsilon(method, counts) == pytest.approx(expected, rel=1e-12)
    assert np.isinf(expected) == (min(counts) == 1)


def test_a_fixed_matrix_has_the_epsilon_of_one_report() -> None:
    fixed = KeepOrReplace.uniform(3, 0.4)
    assert whole_file_epsilon(lambda _: fixed, [5, 6, 7]) == pytest.approx(fixed.epsilon, rel=1e-12)


def test_resampling_has_epsilon_0_and_tells_of_a_record_nevertheless() -> None:
    # One record of n moves a share of T: by ln(T / (T - 1)) in each of n reports.
    assert resampling([0.1, 0.9]).epsilon == 0
    expected = 100 * log(10 / 9)
    assert whole_file_epsilon(resampling, [10, 90]) == pytest.approx(expected, rel=1e-12)
