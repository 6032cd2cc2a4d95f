"""Costs and the risk that sections 3 to 5 of [multirr] state, counted and enumerated exactly."""

import itertools
import math
from collections import Counter, defaultdict
from collections.abc import Iterator, Sequence
from fractions import Fraction
from typing import Any

import numpy as np
import pytest
from tests.randomized_response.test_adjustment import quietly

from deniable.channels import KeepOrReplace
from deniable.randomized_response import adjust, rr_clusters, rr_independent
from deniable.records import Attribute, Domain

ADULT = (9, 16, 7, 15, 6, 5, 2, 2)


def domain_of(sizes: Sequence[int]) -> Domain:
    names = [tuple(map(str, range(size))) for size in sizes]
    return Domain(tuple(Attribute(f"a{i}", each) for i, each in enumerate(names)))


@pytest.mark.parametrize("size", [2, 5, 16])
def test_a_regular_matrix_is_inverted_by_two_numbers(size: int) -> None:
    """Two numbers fill the inverse of the matrix of 2.3: size² entries are written once each."""
    on, off = Fraction(3, 5) + Fraction(2, 5 * size), Fraction(2, 5 * size)
    a, b = 1 / (on - off), -off / (on - off)  # of a I + b 1 1'
    inverse = [[b + (a if u == v else 0) for v in range(size)] for u in range(size)]
    matrix = [[on if u == v else off for v in range(size)] for u in range(size)]
    for row, column in itertools.product(range(size), repeat=2):
        entry = sum(matrix[row][k] * inverse[k][column] for k in range(size))
        assert entry == (row == column)
    library = np.linalg.inv(KeepOrReplace.uniform(size, keep=0.6).matrix())
    np.testing.assert_allclose(library, np.array(inverse, dtype=float), atol=1e-12)


class CountedFactor:
    """A number that counts how often it is multiplied."""

    multiplied = 0

    def __init__(self, value: float) -> None:
        self.value = value

    def __mul__(self, other: "CountedFactor") -> "CountedFactor":
        CountedFactor.multiplied += 1
        return CountedFactor(self.value * other.value)


@pytest.mark.parametrize("parts", [2, 8, 40])
def test_a_joint_frequency_takes_one_factor_per_attribute(parts: int) -> None:
    CountedFactor.multiplied = 0
    found = math.prod((CountedFactor(0.5) for _ in range(parts)), start=CountedFactor(1.0))
    assert found.value == 0.5**parts
    assert CountedFactor.multiplied == parts


def test_cells_of_all_attributes_multiply() -> None:
    sizes = [domain_of(ADULT[:m]).size for m in range(1, len(ADULT) + 1)]
    assert sizes[-1] == 1_814_400  # as printed in 6.2
    assert all(later >= 2 * earlier for earlier, later in itertools.pairwise(sizes))


@pytest.mark.parametrize(("records", "attributes"), [(10, 2), (25, 8)])
def test_reports_of_each_attribute_are_one_number_each(records: int, attributes: int) -> None:
    """A party sends m numbers, and who gathers all reports receives n m."""
    domain = domain_of(ADULT[:attributes])
    generator = np.random.default_rng(1)
    columns = [generator.integers(0, size, records) for size in domain.shape]
    protocol = rr_independent(domain, 0.5, "keep")
    reports = [
        channel.randomize(column, generator)
        for channel, column in zip(protocol.channels, columns, strict=True)
    ]
    assert [report.shape for report in reports] == [(records,)] * attributes
    assert sum(report.size for report in reports) == records * attributes


class CountedWeights(list[Fraction]):
    """Weights that count how often they are read and written."""

    def __init__(self, values: Sequence[Fraction]) -> None:
        super().__init__(values)
        self.visits: Counter[str] = Counter()

    def __getitem__(self, index: Any) -> Any:
        self.visits["read"] += 1
        return super().__getitem__(index)

    def __setitem__(self, index: Any, value: Any) -> None:
        self.visits["written"] += 1
        super().__setitem__(index, value)


@pytest.mark.parametrize(("records", "sweeps"), [(6, 1), (12, 3)])
def test_a_sweep_visits_each_record_twice_per_attribute(records: int, sweeps: int) -> None:
    generator = np.random.default_rng(2)
    sizes = (2, 3, 4)
    codes = [np.r_[np.arange(k), generator.integers(0, k, records - k)] for k in sizes]
    targets = [[Fraction(1, k)] * k for k in sizes]
    weights = CountedWeights([Fraction(1, records)] * records)
    for _, (column, target) in itertools.product(
        range(sweeps), list(zip(codes, targets, strict=True))
    ):
        sums: defaultdict[int, Fraction] = defaultdict(Fraction)
        for record, code in enumerate(
            column.tolist()
        ):  # lines 11 to 13 of Algorithm 2, in one pass
            sums[code] += weights[record]
        for record, code in enumerate(column.tolist()):  # lines 14 to 17
            weights[record] = weights[record] * target[code] / sums[code]
    visited = records * len(sizes) * sweeps
    assert weights.visits == {"read": 2 * visited, "written": visited}
    floats = [[float(share) for share in target] for target in targets]
    found = quietly(codes, floats, tolerance=1e-300, most_sweeps=sweeps).weights
    np.testing.assert_allclose(found, [float(w) for w in weights], rtol=1e-12)


PAIRS = [(0, 0), (0, 1), (1, 0), (1, 1)]
P = [[Fraction(7, 10), Fraction(3, 10)], [Fraction(2, 10), Fraction(8, 10)]]


def files(records: int) -> Iterator[tuple[tuple[int, int], ...]]:
    yield from itertools.product(PAIRS, repeat=records)


def adjusted(reports: Sequence[tuple[int, int]]) -> tuple[float, ...]:
    """Return the weights that RR-Adjustment gives to records: a function of reports alone."""
    columns = [np.array(column) for column in zip(*reports, strict=True)]
    inverse = np.linalg.inv(np.array(P, dtype=float))
    targets = []
    for column in columns:
        estimate = np.clip(np.bincount(column, minlength=2) / len(column) @ inverse, 0, None)
        targets.append(estimate / estimate.sum())
    return tuple(np.round(quietly(columns, targets, most_sweeps=20).weights, 9).tolist())


def test_adjusted_weights_disclose_no_more_than_the_reports() -> None:
    """Compare exact ratios of probabilities over all files of three records, all outputs."""
    records = 3
    weights = {}
    for reports in files(records):
        try:
            weights[reports] = adjusted(reports)
        except ValueError:  # no record can meet a target
            weights[reports] = ()
    assert len(set(weights.values())) > 10

    def chances(original: Sequence[tuple[int, int]]) -> tuple[Any, Any]:
        of_reports, of_weights = {}, defaultdict(Fraction)
        for reports, output in weights.items():
            chance = math.prod(
                P[u][v]
                for true, said in zip(original, reports, strict=True)
                for u, v in zip(true, said, strict=True)
            )
            of_reports[reports] = chance
            of_weights[output] += chance
        return of_reports, of_weights

    rest = ((0, 1), (1, 1))
    found = {pair: chances((pair, *rest)) for pair in PAIRS}
    ratios = [
        max(
            found[a][kind][output] / found[b][kind][output]
            for a, b in itertools.permutations(PAIRS, 2)
            for output in found[a][kind]
        )
        for kind in (0, 1)
    ]
    # Of the record: the largest ratio of each column, for both attributes.
    assert ratios[0] == (Fraction(7, 2) * 1) ** 2
    assert 1 < ratios[1] <= ratios[0]


def test_the_enumeration_finds_weights_that_use_original_records() -> None:
    """The comparison is not vacuous: weights made from original records exceed the reports' ε."""
    original = np.array([0, 0, 1])
    other = np.array([1, 0, 1])
    targets = [np.bincount(column, minlength=2) / 3 for column in (original, other)]
    columns = [np.array([0, 1, 1])]
    first, second = (adjust(columns, [target]).weights for target in targets)
    assert not np.allclose(first, second)  # each shows its file with certainty: infinite ε


def test_a_cluster_is_one_report_of_its_cells() -> None:
    domain = domain_of((2, 3, 4))
    protocol = rr_clusters(domain, [("a0", "a1"), ("a2",)], 0.5, "keep", "joint")
    assert [channel.size for channel in protocol.channels] == [6, 4]
