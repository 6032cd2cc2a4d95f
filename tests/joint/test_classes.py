"""Latent classes: exact small cases, and EM steps that never lower the penalized likelihood."""

from dataclasses import replace

import numpy as np
import pytest
from hypothesis import given, settings, strategies as st
from tests.joint.simulated import (
    answers_of,
    brute_densities,
    dependent,
    keeping,
    product_of,
    random_answers,
    random_classes,
    whole_table,
)

from deniable.channels import KeepOrReplace, RestrictedChannel
from deniable.errors import DeniableError
from deniable.estimation import consistent
from deniable.joint import evidence as evidence_module
from deniable.joint.classes import (
    LatentClasses,
    _em_step,
    _extrapolated,
    fit_classes,
)
from deniable.joint.evidence import Evidence, outer
from deniable.responses import Answers

SEEDED = settings(deadline=None, max_examples=40, derandomize=True)
seeds, flags = st.integers(0, 10_000), st.booleans()


def start_of(evidence: Evidence, classes: int = 2, seed: int = 1) -> LatentClasses:
    generator = np.random.default_rng(seed)
    return LatentClasses.near(evidence.margins, classes, generator)


@SEEDED
@given(seeds, flags, flags, flags)
def test_a_step_never_lowers_the_penalized_likelihood(
    seed: int, joined: bool, missing: bool, weighted: bool
) -> None:
    answers = random_answers(seed, joined=joined, missing=missing)
    weights = np.random.default_rng(seed).uniform(0.2, 3.0, 60) if weighted else None
    evidence = Evidence.of(answers, weights)
    model, heights = start_of(evidence, 3, seed), []
    for _ in range(8):
        model, height = _em_step(model, evidence)
        heights.append(height)
        for own in (model.weights[None], *model.conditionals):
            np.testing.assert_allclose(own.sum(axis=1), 1, atol=1e-9)
    assert np.diff(heights).min() > -1e-4  # single precision, of 60 records


@SEEDED
@given(seeds, flags, flags)
def test_densities_are_sums_over_all_original_cells(seed: int, joined: bool, missing: bool) -> None:
    evidence = Evidence.of(random_answers(seed, joined=joined, missing=missing))
    sizes = [unit.size for unit in evidence.units]
    model = random_classes(sizes, 3, np.random.default_rng(seed))
    expected = np.log(brute_densities(model, evidence))
    np.testing.assert_allclose(model.log_densities(evidence), expected, atol=1e-5)


def test_densities_of_many_parts_with_few_records_each_are_exact() -> None:
    shape, generator = (2,) * 8, np.random.default_rng(5)
    answers = answers_of(dependent(60, shape), keeping(shape, 0.6))
    for own in answers:
        own.codes[generator.random(60) < 0.7] = -1
    evidence = Evidence.of(answers)
    model = start_of(evidence, 3)
    expected = np.log(brute_densities(model, evidence))
    np.testing.assert_allclose(model.log_densities(evidence), expected, atol=1e-5)


@SEEDED
@given(seeds)
def test_distributions_of_units_are_sums_over_all_cells(seed: int) -> None:
    generator = np.random.default_rng(seed)
    sizes = generator.integers(1, 4, 4).tolist()
    model = random_classes(sizes, 3, generator)
    table = whole_table(model)
    for units in ([0], [2], [0, 1], [1, 3], [0, 2, 3], [0, 1, 2, 3]):
        expected = table.sum(axis=tuple(at for at in range(4) if at not in units))
        np.testing.assert_allclose(model.distribution(units), expected.reshape(-1), atol=1e-12)
    np.testing.assert_allclose(model.distribution(range(table.ndim)), table.ravel(), atol=1e-6)
    mixed = LatentClasses.mixture([model, model], [0.25, 0.75])
    np.testing.assert_allclose(mixed.distribution([0, 3]), model.distribution([0, 3]), atol=1e-12)
    assert LatentClasses.mixture([model, model], [0, 1]).weights.size == 3


def test_one_class_through_a_product_is_the_product_of_consistent_margins() -> None:
    shape = (2, 3, 4)
    answers = answers_of(dependent(800, shape), keeping(shape, 0.3))
    evidence = Evidence.of(answers)
    margins = [
        consistent(np.bincount(own.codes, minlength=own.channel.reports), own.channel).proportions
        for own in answers
    ]
    expected = product_of(margins)
    independent = LatentClasses.independent(evidence.margins)
    np.testing.assert_allclose(independent.distribution([0, 1, 2]), expected, atol=1e-9)
    climbed = fit_classes(start_of(evidence, 1), evidence)
    np.testing.assert_allclose(climbed.distribution([0, 1, 2]), expected, atol=5e-3)


@pytest.mark.parametrize("missing", [False, True])
def test_merged_parts_give_the_same_as_single_parts(
    missing: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    shape = (2, 3, 2, 3)
    answers = answers_of(dependent(700, shape), keeping(shape, 0.5))
    if missing:
        answers[1].codes[::3] = -1
    merged, single = Evidence.of(answers), Evidence.of(answers)
    assert len(merged.merged) == 1 + missing
    monkeypatch.setattr(evidence_module, "MAX_MERGED", 1)
    assert len(single.merged) == 4
    model = start_of(merged, 3)
    expected = model.log_densities(single)
    np.testing.assert_allclose(model.log_densities(merged), expected, atol=1e-5)
    (one, height), (other, same) = (_em_step(model, each) for each in (merged, single))
    assert height == pytest.approx(same, rel=1e-6)
    np.testing.assert_allclose(one.weights, other.weights, atol=1e-5)
    for own, own_other in zip(one.conditionals, other.conditionals, strict=True):
        np.testing.assert_allclose(own, own_other, atol=1e-5)


def test_a_weight_of_two_counts_as_two_records() -> None:
    shape = (3, 2)
    answers = answers_of(dependent(300, shape), keeping(shape, 0.5))
    answers[0].codes[::5] = -1
    times = np.where(np.arange(300) < 100, 2, 1)
    weighted = Evidence.of(answers, times.astype(float))
    again = Evidence.of(
        [Answers(own.cells, own.channel, np.repeat(own.codes, times)) for own in answers]
    )
    scale = times.sum() / (times**2).sum()
    again = replace(again, weights=np.full(again.records, scale))
    assert weighted.weights is not None
    assert weighted.weights.sum() == pytest.approx(times.sum() ** 2 / (times**2).sum())
    for one, other in zip(weighted.margins, again.margins, strict=True):
        np.testing.assert_allclose(one, other, atol=1e-9)
    model = start_of(weighted)
    (one, height), (other, same) = (_em_step(model, each) for each in (weighted, again))
    assert height == pytest.approx(same, rel=1e-6)
    for own, own_other in zip(one.conditionals, other.conditionals, strict=True):
        np.testing.assert_allclose(own, own_other, atol=1e-6)
    equal = Evidence.of(answers, np.full(300, 7.0))
    np.testing.assert_allclose(equal.weights, 1)


def test_parts_of_the_records_have_their_values_and_weights() -> None:
    answers = random_answers(5, joined=True)
    weights = np.random.default_rng(1).uniform(0.5, 2, 60)
    evidence = Evidence.of(answers, weights)
    assert [len(unit) for unit in evidence.units] == [1] * len(evidence.units)
    rows = np.array([40, 3, 17, 59, 8])
    part = evidence.part_of(rows)
    model = start_of(evidence, 3)
    own = model.log_densities(part)
    np.testing.assert_allclose(own, model.log_densities(evidence)[rows], atol=1e-5)
    np.testing.assert_array_equal(part.weights, evidence.weights[rows])  # type: ignore[index]
    assert model.log_densities(evidence.part_of(rows[:0])).shape == (0,)


def test_clusters_are_units_only_with_impossible_combinations() -> None:
    data = dependent(50, (2, 3, 2))
    cluster, alone = answers_of(data, [*keeping([6], 0.5), *keeping([2], 0.5)], 1, [[0, 1], [2]])
    columns = Evidence.of([cluster, alone])
    assert [unit.names for unit in columns.units] == [("a",), ("b",), ("c",)]
    assert [part.units for part in columns.parts] == [(0, 1), (2,)]
    restricted = RestrictedChannel(KeepOrReplace.uniform(4, 0.5), np.arange(6) < 4)
    whole = Evidence.of([replace(cluster, channel=restricted), alone])
    assert [unit.names for unit in whole.units] == [("a", "b"), ("c",)]
    assert whole.complete
    (divided,) = answers_of(data, keeping([4], 0.5), 1, [[0, 2]])
    apart = Evidence.of([cluster, divided])
    assert [unit.names for unit in apart.units] == [("a",), ("b",), ("c",)]
    assert [part.units for part in apart.parts] == [(0, 1), (0, 2)]
    assert not apart.complete
    assert Evidence.of([cluster, alone]).complete


def test_a_cluster_that_is_too_large_is_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(evidence_module, "MAX_UNIT_CELLS", 5)
    (answers,) = answers_of(dependent(20, (2, 3)), keeping([6], 0.5), 1, [[0, 1]])
    with pytest.raises(DeniableError, match=r"cluster a x b has 6 cells; .* at most 5 .* Estimate"):
        Evidence.of([answers])


def test_an_extrapolation_keeps_zeros_and_is_a_distribution() -> None:
    generator = np.random.default_rng(4)
    models = [random_classes([3, 2], 2, generator) for _ in range(3)]
    for model in models:
        model.conditionals[0][:, 1] = 0.0
        model.conditionals[0][:] /= model.conditionals[0].sum(axis=1, keepdims=True)
    found = _extrapolated(*models)
    assert found.weights.sum() == pytest.approx(1)
    for own in found.conditionals:
        np.testing.assert_allclose(own.sum(axis=1), 1)
    assert (found.conditionals[0][:, 1] == 0).all()


def test_products_of_rows() -> None:
    one, other = np.array([[1.0, 2], [3, 4]]), np.array([[5.0, 6, 7], [0, 1, 0]])
    found = outer([one, other])
    np.testing.assert_array_equal(found, [np.kron(*rows) for rows in zip(one, other, strict=True)])
