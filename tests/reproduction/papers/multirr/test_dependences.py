"""What a secure sum delivers is what assessments are made from."""

from itertools import combinations

import numpy as np
import pytest

from deniable.randomized_response.assessment import PairReports
from deniable.records.categorical import Microdata

from reproduction.papers.multirr import dependences
from reproduction.papers.multirr.dependences import masked_pairs, secure_assessments


def test_assessments_from_sums_are_those_from_counts(small_data: Microdata) -> None:
    table = secure_assessments(small_data, 1, 40)
    assert table["method"].tolist() == ["secure_sum", "pairs_joint"]
    assert table["equals_direct_counts"].all()
    assert table["clusters_equal"].all()
    assert table["largest_difference"].tolist() == [0, 0]
    cells = sum(a * b for a, b in combinations(small_data.domain.shape, 2))
    assert table["messages"].tolist() == [cells * 40 * 40] * 2


def test_masked_pairs_go_through_the_sum_and_true_ones_do_not(
    small_data: Microdata, monkeypatch: pytest.MonkeyPatch
) -> None:
    summed = []

    def note(data: Microdata, pair: tuple[str, str], source: object) -> object:
        summed.append(data)
        return counted(data, pair, source)  # type: ignore[arg-type]

    counted = dependences.bivariate_distribution
    monkeypatch.setattr(dependences, "bivariate_distribution", note)
    secure_assessments(small_data, 1, 30)
    pairs = len(summed) // 2
    true, masked = summed[:pairs], summed[pairs:]
    assert any(
        not np.array_equal(one, other)
        for a, b in zip(true, masked, strict=True)
        for one, other in zip(a.columns, b.columns, strict=True)
    )


def test_every_pair_is_masked_anew(small_data: Microdata) -> None:
    protocol = PairReports(small_data.domain, 0.5, "keep")
    masked = masked_pairs(protocol, small_data, np.random.default_rng(1))
    first, second, third = small_data.domain.names[:3]
    one, other = masked[first, second].column(first), masked[first, third].column(first)
    assert not np.array_equal(one, other)
