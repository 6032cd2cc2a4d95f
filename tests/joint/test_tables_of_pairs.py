"""Pairs that contradict the classes are moved towards their own responses."""

import numpy as np
import pytest
from tests.joint.simulated import answers_of, distance, domain_of, keeping

from deniable.channels import ProductChannel
from deniable.estimation import consistent
from deniable.joint import correction
from deniable.joint.classes import LatentClasses
from deniable.joint.correction import _Counted
from deniable.joint.evidence import Evidence
from deniable.joint.stacking import stack_classes
from deniable.randomized_response import cramers_v
from deniable.records import Microdata

SHAPE = (3, 4)
WAYS = keeping(SHAPE, 0.5)
CHANNEL = ProductChannel(tuple(WAYS))
DEPENDENT = np.array([[0.2, 0.05, 0.03, 0.02], [0.05, 0.2, 0.05, 0], [0, 0.05, 0.1, 0.25]])
LEVEL, RUNS = correction.LEVEL, 4000


def counted(joint: np.ndarray, records: int, generator: np.random.Generator) -> _Counted:
    """Return counts of the randomized values of so many `records` with a `joint` distribution."""
    counts = generator.multinomial(records, CHANNEL.reported(joint.reshape(-1))).astype(float)
    return _Counted((0,), (1,), CHANNEL, counts)


def independence(own: _Counted) -> LatentClasses:
    table = own.counts.reshape(SHAPE)
    sums = table.sum(axis=1), table.sum(axis=0)
    pairs = zip(sums, WAYS, strict=True)
    return LatentClasses.independent([consistent(each, way).proportions for each, way in pairs])


def test_as_many_pairs_contradict_true_classes_as_the_level_states() -> None:
    """Among 4,000 draws, the share is within four standard errors of 1 %."""
    generator = np.random.default_rng(2)
    joint = np.outer([0.3, 0.3, 0.4], [0.4, 0.2, 0.2, 0.2])
    draws = [counted(joint, 2000, generator) for _ in range(RUNS)]
    found = np.mean([own.contradicts(independence(own)) for own in draws])
    assert found == pytest.approx(LEVEL, abs=4 * np.sqrt(LEVEL * (1 - LEVEL) / RUNS))


def test_a_pair_is_moved_by_the_stated_part() -> None:
    own = counted(DEPENDENT, 500, np.random.default_rng(3))
    model = independence(own)
    expected = 500 * CHANNEL.reported(model.distribution((0, 1)))
    statistic = ((own.counts - expected) ** 2 / expected).sum()
    kept = np.sqrt(1 - 6 / statistic)
    moved = own.table(model, moved=True)
    between = consistent((1 - kept) * expected + kept * own.counts, CHANNEL).proportions
    assert 0.5 < kept < 0.95
    np.testing.assert_allclose(moved.counts, between, atol=1e-9)
    same = own.table(model, moved=False)
    np.testing.assert_array_equal(same.counts, model.distribution((0, 1)))


def test_many_records_keep_their_own_table() -> None:
    own = counted(DEPENDENT, 10**6, np.random.default_rng(4))
    classes = independence(own)
    assert own.contradicts(classes)
    alone = consistent(own.counts, CHANNEL).proportions
    assert distance(own.table(classes, moved=True).counts, alone) < 1e-3


def test_a_dependence_that_the_responses_show_is_not_too_weak(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """The mean error of a strong pair, over three randomizations, is less by half."""
    generator, shape = np.random.default_rng(5), (6, 2, 5, 4)
    columns = [generator.integers(0, size, 6000) for size in shape]
    columns[1] = np.where(generator.random(6000) < 0.9, columns[0] % 2, columns[1])
    data = Microdata(domain_of(shape), tuple(columns))
    true, errors = cramers_v(data.counts(["a", "b"])), np.zeros((3, 2))
    for seed in range(3):
        evidence = Evidence.of(answers_of(data, keeping(shape, 0.3), seed))
        stacked = stack_classes(evidence, np.random.default_rng(seed), most=4)
        for at, level in enumerate((LEVEL, 0.0)):
            monkeypatch.setattr(correction, "LEVEL", level)
            joint = correction.corrected(stacked, evidence)[0].distribution((0, 1))
            errors[seed, at] = abs(cramers_v(joint.reshape(6, 2)) - true)
    assert errors.mean(axis=0)[0] < errors.mean(axis=0)[1] / 2
