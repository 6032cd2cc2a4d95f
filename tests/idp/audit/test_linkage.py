"""Linkage of released records to true ones, by hand, and where the nearest record misleads."""

import numpy as np
import pytest

from deniable.idp.audit.comparison import _FIXED, LIKELIHOOD, SQUARED, WIDTHS, _File, link_records
from deniable.idp.methods import masking
from deniable.idp.microaggregation import Ranking, microaggregate
from deniable.sampling import SeededNoise

TRUE = np.array([[1.0, 5.0], [2.0, 9.0], [4.0, 1.0]])
ALL = np.arange(3)


@pytest.mark.parametrize("score", _FIXED)
def test_records_are_linked_by_hand(score: str) -> None:
    own = _FIXED[score]
    assert _File(TRUE, TRUE).linked(own, ALL) == 3
    assert _File(TRUE, np.ones_like(TRUE)).linked(own, ALL) == pytest.approx(1)  # 3 ties of 3
    assert _File(TRUE, TRUE[[1, 2, 0]]).linked(own, ALL) == 0
    assert _File(TRUE, TRUE[[0, 0, 2]]).linked(own, ALL) == 2  # the first two: half each


def test_a_wild_value_misleads_squares_alone() -> None:
    # Two attributes are exact, the third is turned round: i is released as (i, i, 3 - i). For 0 the
    # square of its own distance, 9, exceeds the 1 + 1 + 4 of the next record; logarithms go by
    # (1 + 3 a) < (1 + a)^2 (1 + 2 a).
    true = np.repeat(np.arange(4.0)[:, None], 3, axis=1)
    released = true.copy()
    released[:, 2] = 3 - true[:, 2]
    file, every = _File(true, released), np.arange(4)
    assert file.linked(_FIXED[SQUARED], every) == 2
    assert all(file.linked(_FIXED[name], every) == 4 for name in WIDTHS)


def test_attributes_without_variance_say_nothing() -> None:
    constant = np.column_stack([TRUE, np.full(3, 7.0)])
    found = link_records(constant, constant, ALL, np.random.default_rng(1))
    assert (found.share, found.nearest) == (1.0, 1.0)


def test_who_learns_from_others_finds_more_than_the_nearest() -> None:
    # Heavy tails, so that scales of noise differ by orders of magnitude between clusters.
    generator = np.random.default_rng(4)
    values = np.exp(2 * generator.normal(size=(600, 6)))
    upper = 1.5 * values.max(axis=0)
    masked = masking("idp_cbls", Ranking.of(values), 5, upper, 0.2).mask(SeededNoise(generator))
    found = link_records(values, masked[0], generator.permutation(600), generator)
    assert found.share > 1.5 * found.nearest
    assert len(found.scores) == 2
    assert set(found.scores) <= {"absolute", *WIDTHS, LIKELIHOOD}


def test_guessing_stays_guessing() -> None:
    # Releases that have nothing to do with the records: n targets, each linked with 1 / n. That 7
    # or more of 400 are linked, of 1 expected, has a probability below 1e-4 (Poisson).
    generator = np.random.default_rng(5)
    values, other = generator.normal(size=(2, 400, 4))
    found = link_records(values, other, generator.permutation(400), generator)
    assert max(found.share, found.nearest) * 400 < 7


def test_equal_generators_find_the_same() -> None:
    values = np.random.default_rng(6).normal(size=(200, 3))
    released = microaggregate(values, 4)
    first, again = (
        link_records(values, released, np.arange(200), np.random.default_rng(7)) for _ in range(2)
    )
    assert first == again
