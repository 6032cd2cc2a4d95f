"""Matrices for PRAM: an epsilon is not exceeded, a floor not undercut, exactly."""

import math
from fractions import Fraction
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings, strategies as st
from tests.channels.invariant_channels import invariance_gap

from deniable.channels import DenseChannel, KeepOrReplace
from deniable.channels.files import write_channel
from deniable.channels.invariant import INVARIANCE_TOLERANCE
from deniable.errors import DataError, DeniableError
from deniable.pram.matrices import (
    channel_of_retention,
    matrix_from_file,
    pram_matrix,
)
from deniable.records.domain import Attribute, Domain

SIZES = st.integers(2, 40)
FLOORS = st.floats(0, 1).map(lambda floor: floor if floor > 1e-9 else 0.0)
BLOCK = Domain((Attribute("sex", ("Female", "Male")), Attribute("smokes", ("no", "yes"))))


def exact_rows(channel: Any) -> list[list[Fraction]]:
    """Return the matrix that is drawn from, in fractions."""
    if isinstance(channel, KeepOrReplace):
        keep, b = Fraction(channel.diagonal_weight), [Fraction(x) for x in channel.replacement]
        total = sum(b) or Fraction(1)
        replaced = [(1 - keep) * x / total for x in b]
        return [[keep * (u == v) + x for v, x in enumerate(replaced)] for u in range(channel.size)]
    rows = [[Fraction(x) for x in row] for row in channel.entries.tolist()]
    return [[x / total for x in row] for row, total in zip(rows, map(sum, rows), strict=True)]


# -- epsilon ---------------------------------------------------------------------------------------


@settings(max_examples=200, deadline=None)
@given(SIZES, st.floats(1e-6, 30))
def test_an_epsilon_is_met_and_not_exceeded(size: int, epsilon: float) -> None:
    channel = KeepOrReplace.of_epsilon(size, epsilon)
    assert channel.epsilon <= epsilon
    # Where hardly anything is replaced, one step of a float moves epsilon by some 1e-3.
    assert channel.epsilon == pytest.approx(epsilon, rel=1e-9 if epsilon < 15 else 5e-3)
    odds = math.exp(epsilon)
    assert channel.matrix()[0, 0] == pytest.approx(odds / (odds + size - 1), rel=1e-12)


@pytest.mark.parametrize("epsilon", [0.0, -1.0, 31.0, math.inf, math.nan])
def test_an_epsilon_that_is_none_is_refused(epsilon: float) -> None:
    with pytest.raises(DeniableError, match="must be above 0 and at most 30"):
        KeepOrReplace.of_epsilon(4, epsilon)


# -- retention -------------------------------------------------------------------------------------


@settings(max_examples=200, deadline=None)
@given(SIZES, FLOORS)
def test_a_retention_is_a_floor_in_what_is_drawn_and_in_what_is_published(
    size: int, floor: float
) -> None:
    channel = channel_of_retention(size, floor)
    for v in (0, size - 1):
        assert exact_rows(channel)[v][v] >= Fraction(floor)
        assert channel.matrix()[v, v] >= floor
    assert channel.matrix()[0, 0] == pytest.approx(floor, abs=1e-12)
    np.testing.assert_allclose(channel.matrix()[0, 1:], (1 - floor) / (size - 1), atol=1e-12)


def test_a_category_that_is_always_retained_is_never_replaced() -> None:
    channel = channel_of_retention(3, 1.0)
    np.testing.assert_array_equal(channel.matrix(), np.eye(3))
    reports = channel.randomize(np.zeros(200_000, dtype=int), np.random.default_rng(1))
    assert not reports.any()


@pytest.mark.parametrize(
    ("size", "retention", "said"),
    [
        (3, 1.5, "a retention is 1.5"),
        (3, -0.2, "a retention is -0.2"),
        (3, math.nan, "a retention is nan"),
        (0, 0.5, "at least one category"),
    ],
)
def test_a_retention_that_is_none_is_refused(size: int, retention: float, said: str) -> None:
    with pytest.raises(DeniableError, match=said):
        channel_of_retention(size, retention)


def test_one_category_stays_what_it_is() -> None:
    for kind, options in (("epsilon", {"epsilon": 1.0}), ("retention", {"retention": 0.3})):
        channel = pram_matrix([1.0], kind, **options)  # type: ignore[arg-type]
        np.testing.assert_array_equal(channel.matrix(), [[1.0]])
    assert pram_matrix([1.0], "two_step", epsilon=1.0).size == 1
    assert pram_matrix([1.0], "designed", epsilon=1.0).size == 1


# -- invariant -------------------------------------------------------------------------------------


@st.composite
def distributions(draw: st.DrawFn) -> np.ndarray:
    counts = draw(st.lists(st.integers(0, 1000), min_size=2, max_size=10).filter(any))
    return np.array(counts) / sum(counts)


@settings(max_examples=150, deadline=None)
@given(distributions(), st.floats(0.1, 8))
def test_two_steps_are_invariant_and_within_the_epsilon_of_the_first(
    proportions: np.ndarray, epsilon: float
) -> None:
    channel = pram_matrix(proportions, "two_step", epsilon=epsilon)
    assert invariance_gap(channel, proportions) <= 1e-14
    assert channel.epsilon <= epsilon + 1e-12
    # A category that no record has is reported by none.
    assert not channel.matrix()[:, proportions == 0].any()


def test_two_steps_may_begin_with_a_retention() -> None:
    proportions = np.array([0.5, 0.3, 0.2])
    channel = pram_matrix(proportions, "two_step", retention=0.8)
    assert invariance_gap(channel, proportions) <= 1e-15
    # Not a floor any more, and nobody says so.
    assert channel.matrix().diagonal().min() < 0.8


# -- options ---------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("kind", "options", "said"),
    [
        ("epsilon", {}, "needs epsilon and nothing else"),
        ("epsilon", {"epsilon": 1.0, "retention": 0.5}, "needs epsilon and nothing else"),
        ("retention", {"epsilon": 1.0}, "needs retention and nothing else"),
        ("two_step", {}, "needs either epsilon or retention"),
        ("two_step", {"epsilon": 1.0, "retention": 0.5}, "needs either epsilon or retention"),
        ("designed", {"retention": 0.5}, "needs epsilon, and may have a retention"),
        ("other", {"epsilon": 1.0}, "unknown kind of matrix 'other'; use epsilon, retention, t"),
    ],
)
def test_options_that_contradict_the_kind_are_refused(
    kind: Any, options: dict[str, float], said: str
) -> None:
    with pytest.raises(DeniableError, match=said):
        pram_matrix([0.5, 0.5], kind, **options)


# -- files -----------------------------------------------------------------------------------------


def test_a_matrix_is_read_from_a_file_in_any_order(tmp_path: Path) -> None:
    generator = np.random.default_rng(2)
    P = generator.dirichlet(np.ones(4), 4)
    channel = DenseChannel(P)
    names = BLOCK.cell_labels()
    assert names == ["Female x no", "Female x yes", "Male x no", "Male x yes"]
    write_channel(tmp_path / "matrix.csv", channel, names)
    np.testing.assert_array_equal(matrix_from_file(tmp_path / "matrix.csv", BLOCK).entries, P)
    order = [2, 0, 3, 1]
    other = DenseChannel(P[np.ix_(order, order)])
    write_channel(tmp_path / "other.csv", other, [names[i] for i in order])
    np.testing.assert_array_equal(matrix_from_file(tmp_path / "other.csv", BLOCK).entries, P)


def test_a_matrix_of_other_categories_is_refused(tmp_path: Path) -> None:
    file = tmp_path / "matrix.csv"
    write_channel(file, KeepOrReplace.uniform(2, 0.5), ["Female", "Male"])
    with pytest.raises(DataError) as caught:
        matrix_from_file(file, BLOCK)
    said = str(caught.value)
    assert str(file) in said
    assert "not over sex x smokes: it has no 'Female x no'" in said
    assert "unknown are 'Female', 'Male'" in said
    assert "each of the 4 categories" in said


# -- designed --------------------------------------------------------------------------------------


def test_a_designed_matrix_has_what_is_asked_of_it() -> None:
    proportions = np.array([0.5, 0.3, 0.2])
    channel = pram_matrix(
        proportions, "designed", epsilon=2.0, retention=0.4, invariant=True, loss="changed"
    )
    assert invariance_gap(channel, proportions) <= INVARIANCE_TOLERANCE
    assert channel.epsilon <= 2.0 + 1e-9
    assert channel.matrix().diagonal().min() >= 0.4 - 1e-9
    # Fewer records are changed than by two steps of the same epsilon.
    two_steps = pram_matrix(proportions, "two_step", epsilon=2.0)
    assert proportions @ channel.matrix().diagonal() > proportions @ two_steps.matrix().diagonal()


def test_a_designed_invariant_matrix_reports_no_category_that_no_record_has() -> None:
    proportions = np.array([0.6, 0.0, 0.4])
    channel = pram_matrix(
        proportions, "designed", epsilon=1.5, retention=0.3, invariant=True, loss="changed"
    )
    assert invariance_gap(channel, proportions) <= INVARIANCE_TOLERANCE
    assert not channel.matrix()[:, 1].any()
    assert channel.epsilon <= 1.5 + 1e-9
    kept = channel.matrix()[np.ix_([0, 2], [0, 2])]
    assert kept.diagonal().min() >= 0.3 - 1e-9
    np.testing.assert_allclose(channel.matrix()[1], proportions, atol=1e-9)
    whole = pram_matrix(proportions, "designed", epsilon=1.5, invariant=False, loss="changed")
    assert whole.size == 3
    assert whole.epsilon <= 1.5 + 1e-9
