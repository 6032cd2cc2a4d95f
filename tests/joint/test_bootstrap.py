"""Repetitions of the whole estimate: limits that are valid if the model holds, test of fit."""

from dataclasses import replace
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings, strategies as st
from scipy import stats
from tests.joint.simulated import answers_of, dependent, keeping

from deniable.channels import DenseChannel, KeepOrReplace
from deniable.errors import DeniableError
from deniable.joint import (
    JointDistribution,
    JointEstimate,
    estimate_joint,
    model_limits,
    p_value_of_fit,
    repeated,
)
from deniable.responses import Answers

SHAPE = (2, 3, 2)
SEEDED = settings(deadline=None, max_examples=30, derandomize=True)


def fake(values: Any, misfit: float = 1.0) -> Any:
    """Return an estimate; its distribution is an array, which is its own quantity."""
    return SimpleNamespace(distribution=np.asarray(values, dtype=float), misfit=misfit)


def estimated(records: int, seed: int = 1, **options: Any) -> tuple[JointEstimate, list[Answers]]:
    data = dependent(records, SHAPE, seed)
    answers = answers_of(data, keeping(SHAPE, 0.6), seed)
    return estimate_joint(answers, data.domain, most=4, **options), answers


def pair(joint: JointDistribution) -> np.ndarray:
    return joint.table(["a", "b"])


@SEEDED
@given(st.integers(0, 1000), st.integers(2, 9), st.floats(0.5, 0.99))
def test_limits_are_those_of_the_formula(seed: int, number: int, confidence: float) -> None:
    generator = np.random.default_rng(seed)
    first = generator.dirichlet(np.ones(4))
    others = [generator.dirichlet(50 * first + 0.1) for _ in range(number)]
    itself: Any = np.asarray
    found = model_limits(fake(first), [fake(own) for own in others], itself, confidence)
    for cell in range(4):
        errors = np.array([own[cell] for own in others]) - first[cell]
        deviation = np.sqrt(((errors - errors.mean()) ** 2).sum() / (number - 1))
        reach = stats.t.isf((1 - confidence) / 2, number - 1) * deviation * np.sqrt(1 + 1 / number)
        middle = first[cell] - errors.mean()
        low, high = np.clip(middle - reach, 0, 1), np.clip(middle + reach, 0, 1)
        assert found[0][cell] == pytest.approx(min(low, first[cell]), abs=1e-9)
        assert found[1][cell] == pytest.approx(max(high, first[cell]), abs=1e-9)


def test_limits_contain_the_estimate_and_shrink_with_the_records() -> None:
    lengths = []
    for records in (300, 4800):
        found, answers = estimated(records)
        again = list(repeated(found, answers, 5, seed=3))
        assert len(again) == 5
        low, high = model_limits(found, again, pair, 0.95)
        assert (low >= 0).all()
        assert (high <= 1).all()
        assert (low <= pair(found.distribution)).all()
        assert (pair(found.distribution) <= high).all()
        wide = model_limits(found, again, pair, 0.99)
        assert (wide[0] <= low).all()
        assert (high <= wide[1]).all()
        lengths.append((high - low).mean())
    assert 2 < lengths[0] / lengths[1] < 8  # about the root of 16


def test_repetitions_have_the_seed_and_the_missing_answers() -> None:
    found, answers = estimated(400)
    partly = [replace(answers[0], codes=np.where(np.arange(400) % 2, answers[0].codes, -1))]
    partly += answers[1:]
    one, same, other = (
        [pair(each.distribution).tobytes() for each in repeated(found, partly, 2, seed)]
        for seed in (1, 1, 2)
    )
    assert one == same
    assert set(one).isdisjoint(other)
    assert one[0] != one[1]
    assert all(np.isnan(each.misfit) for each in repeated(found, partly, 2, 1))


def test_unequal_weights_lengthen_the_limits() -> None:
    """Weights with the precision of a ninth of the records; the ratio of deviations is near 3."""
    records = 2000
    found, answers = estimated(records)
    weights = np.where(np.arange(records) < records // 10, 30.0, 1.0)
    assert weights.sum() ** 2 / (weights**2).sum() < records / 5
    spread = []
    for own in (None, weights):
        again = repeated(found, answers, 24, 1, own)
        values = [each.distribution.table(["a"])[0] for each in again]
        spread.append(np.std(values, ddof=1))
    assert spread[1] > 1.5 * spread[0]


@pytest.mark.parametrize(
    ("misfit", "others", "expected"),
    [
        (1.0, [0.5, 0.9, 2.0], 2 / 4),
        (3.0, [0.5, 0.9, 2.0], 1 / 4),
        (0.1, [0.5, 0.9, 2.0], 1.0),
        (1.0, [1.0], 1.0),
    ],
)
def test_the_p_value_is_the_rank_of_the_misfit(
    misfit: float, others: list[float], expected: float
) -> None:
    found = p_value_of_fit(fake([1.0], misfit), [fake([1.0], other) for other in others])
    assert found == pytest.approx(expected)


def test_there_is_no_p_value_without_a_misfit() -> None:
    assert np.isnan(p_value_of_fit(fake([1.0], np.nan), [fake([1.0], np.nan)] * 3))


def test_records_with_strata_are_not_repeated() -> None:
    data = dependent(300, (2, 3))
    kept, through = answers_of(data, [KeepOrReplace.uniform(2, 1.0), *keeping([3], 0.5)])
    first = data.column("a") == 0
    strata = [replace(through, codes=np.where(own, through.codes, -1)) for own in (first, ~first)]
    found = estimate_joint([kept, *strata], data.domain, most=2)
    with pytest.raises(DeniableError, match=r"released unchanged.* valid whatever the joint"):
        next(repeated(found, [kept, *strata], 2, 1))


@pytest.mark.parametrize(
    "channel", [KeepOrReplace.uniform(2, 1.0), DenseChannel(np.array([[0.6, 0.4], [0.0, 1.0]]))]
)
def test_an_infinite_epsilon_alone_is_no_obstacle(channel: Any) -> None:
    data = dependent(300, (2, 3))
    answers = answers_of(data, [channel, *keeping([3], 0.5)])
    found = estimate_joint(answers, data.domain, most=2)
    assert len([*repeated(found, answers, 2, 1)]) == 2
