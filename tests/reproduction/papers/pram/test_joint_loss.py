"""Joint distributions after invariant PRAM, against loops and closed forms."""

from typing import Any

import numpy as np
import pytest
from scipy import stats
from tests.channels.invariant_channels import invariance_gap

from deniable.errors import DeniableError
from deniable.estimation.metrics import random_queries
from deniable.randomized_response.dependence import cramers_v
from deniable.records.categorical import Microdata
from deniable.records.domain import Attribute, Domain

from reproduction.papers.pram.joint_loss import ESTIMATORS, JointLoss
from reproduction.study.engine import Output, replicate

ERROR_RATE = 1e-6  # of the comparison of means
CELL = {"first": "colour", "second": "region", "epsilon": 3.0}


@pytest.fixture
def study(small_data: Microdata) -> JointLoss:
    return JointLoss(small_data, coverage=0.25)


def column(found: tuple[list[Output], np.ndarray], estimator: str, measure: str) -> np.ndarray:
    names, values = found
    return values[:, names.index({"estimator": estimator, "measure": measure})]


def expected_of(study: JointLoss, cell: dict[str, Any], estimator: str) -> np.ndarray:
    """Return the expectation of an estimator: what is not inverted is biased."""
    counts, separate, _ = study.mechanisms(cell)
    true = counts / counts.sum()
    reported: np.ndarray = separate.reported(true.reshape(-1)).reshape(true.shape)
    return reported if estimator == "separate" else true


def estimates_of(
    study: JointLoss, cell: dict[str, Any], generator: np.random.Generator, runs: int
) -> dict[str, np.ndarray]:
    """Return the estimates of the joint distribution, each of shape (runs, first, second)."""
    counts, separate, joint = study.mechanisms(cell)
    files = np.tile(counts.reshape(-1), (runs, 1))
    drawn = separate.randomize_counts(files, generator)
    found = drawn / counts.sum(), separate.estimate(drawn)
    found = (*found, joint.randomize_counts(files, generator) / counts.sum())
    return {
        name: each.reshape(runs, *counts.shape)
        for name, each in zip(ESTIMATORS, found, strict=True)
    }


def dependent_coins(counts: list[list[int]]) -> Microdata:
    table = np.array(counts)
    cells = np.repeat(np.arange(table.size), table.reshape(-1))
    columns = np.unravel_index(cells, table.shape)
    attributes = tuple(
        Attribute(name, tuple(str(code) for code in range(size)))
        for name, size in zip(("a", "b"), table.shape, strict=True)
    )
    return Microdata(Domain(attributes), columns, {"data_source": "original"})


def test_each_matrix_is_invariant_at_one_epsilon(study: JointLoss) -> None:
    counts, separate, of_joint = study.mechanisms(CELL)
    joint = counts / counts.sum()
    first, second = separate.factors
    assert invariance_gap(first, joint.sum(axis=1)) <= 1e-12
    assert invariance_gap(second, joint.sum(axis=0)) <= 1e-12
    assert invariance_gap(of_joint, joint.reshape(-1)) <= 1e-12
    for channel in (separate, of_joint):
        assert 3.0 * (1 - 1e-9) <= channel.epsilon <= 3.0


def test_separate_matrices_keep_margins_and_change_the_joint(study: JointLoss) -> None:
    counts, separate, _ = study.mechanisms(CELL)
    joint = counts / counts.sum()
    first, second = (factor.matrix() for factor in separate.factors)
    slow = np.zeros_like(joint)
    for u, v, i, j in np.ndindex(*joint.shape, *joint.shape):
        slow[i, j] += joint[u, v] * first[u, i] * second[v, j]
    expected = expected_of(study, CELL, "separate")
    np.testing.assert_allclose(expected, slow, rtol=0, atol=1e-12)
    for axis in (0, 1):
        np.testing.assert_allclose(expected.sum(axis=axis), joint.sum(axis=axis), atol=1e-12)
    assert np.abs(expected - joint).sum() / 2 > 0.05
    values = study(CELL, np.random.default_rng(1), 2)
    for estimator in ("separate_inverted", "joint"):
        assert not column(values, estimator, "expected_distance").any()


def test_dependence_of_two_categories_shrinks_by_both_eigenvalues() -> None:
    # An invariant matrix over two categories is theta I + (1 - theta) 1 pi': what is left of the
    # difference to independence is theta_1 theta_2, and so of Cramer's V.
    study = JointLoss(dependent_coins([[30, 10], [5, 55]]))
    cell = {"first": "a", "second": "b", "epsilon": 2.0}
    counts, separate, _ = study.mechanisms(cell)
    thetas = [np.trace(factor.matrix()) - 1 for factor in separate.factors]
    left = cramers_v(expected_of(study, cell, "separate")) / cramers_v(counts)
    assert left == pytest.approx(np.prod(thetas), rel=1e-9)
    assert 0.01 < left < 0.5


@pytest.mark.parametrize("estimator", ESTIMATORS)
def test_estimates_have_their_stated_expectations(study: JointLoss, estimator: str) -> None:
    joints = estimates_of(study, CELL, np.random.default_rng(2), 4000)[estimator]
    error = joints.std(axis=0, ddof=1) / np.sqrt(len(joints))
    gap = np.abs(joints.mean(axis=0) - expected_of(study, CELL, estimator))
    assert np.all(gap[error == 0] < 1e-12)
    limit = stats.norm.isf(ERROR_RATE / 2 / joints[0].size)
    assert np.all(gap[error > 0] < limit * error[error > 0])


def test_outputs_are_computed_run_by_run(study: JointLoss) -> None:
    counts, _, _ = study.mechanisms(CELL)
    true = counts / counts.sum()
    values = study(CELL, np.random.default_rng(3), 4)
    generator = np.random.default_rng(3)
    queries = random_queries(true.size, 0.25, 4, generator)
    estimates = estimates_of(study, CELL, generator, 4)
    own = column(values, "true", "cramers_v")
    np.testing.assert_allclose(own, cramers_v(counts), rtol=1e-12)
    for estimator in ESTIMATORS:
        expected = expected_of(study, CELL, estimator)
        for run in range(4):
            joint, query = estimates[estimator][run], queries[run].reshape(true.shape)
            margins = [np.abs((joint - true).sum(axis=axis)).sum() / 2 for axis in (0, 1)]
            found = {
                "expected_distance": np.abs(expected - true).sum() / 2,
                "distance": np.abs(joint - true).sum() / 2,
                "margin_distance": max(margins),
                "cramers_v": cramers_v(np.maximum(joint, 0)),
                "expected_cramers_v": cramers_v(expected),
                "query_bias": abs(expected[query].sum() - true[query].sum()),
                "query_error": abs(joint[query].sum() - true[query].sum()),
            }
            assert [*found] == [e["measure"] for e in values[0] if e["estimator"] == estimator]
            for measure, value in found.items():
                got = column(values, estimator, measure)[run]
                assert got == pytest.approx(value, rel=1e-9, abs=1e-12), (estimator, measure)


def test_loss_is_bias_and_not_noise() -> None:
    study = JointLoss(dependent_coins([[12_000, 4_000], [2_000, 22_000]]), coverage=0.25)
    cell = {"first": "a", "second": "b", "epsilon": 3.0}
    values = study(cell, np.random.default_rng(4), 500)

    def mean(estimator: str, measure: str) -> float:
        return float(column(values, estimator, measure).mean())

    bias = mean("separate", "query_bias")
    assert bias > 0.05
    assert mean("separate", "query_error") == pytest.approx(bias, rel=0.05)
    assert mean("separate", "distance") == pytest.approx(
        mean("separate", "expected_distance"), rel=0.05
    )
    assert mean("separate", "margin_distance") < 0.1 * mean("separate", "distance")
    for unbiased in ("joint", "separate_inverted"):
        assert mean(unbiased, "query_bias") == 0
        assert mean(unbiased, "query_error") < 0.2 * bias
        assert mean(unbiased, "cramers_v") == pytest.approx(mean("true", "cramers_v"), abs=0.02)
    assert mean("separate", "cramers_v") < 0.5 * mean("true", "cramers_v")
    assert mean("joint", "distance") < mean("separate_inverted", "distance")


def test_categories_without_records_are_left_out() -> None:
    study = JointLoss(dependent_coins([[30, 0, 10], [0, 0, 0], [5, 0, 55]]))
    cell = {"first": "a", "second": "b", "epsilon": 2.0}
    assert study.mechanisms(cell)[0].shape == (2, 2)
    assert np.all(np.isfinite(study(cell, np.random.default_rng(1), 5)[1]))


def test_empty_cells_of_the_joint_stay_empty() -> None:
    study = JointLoss(dependent_coins([[30, 0], [5, 65]]))
    cell = {"first": "a", "second": "b", "epsilon": 2.0}
    joints = estimates_of(study, cell, np.random.default_rng(1), 200)
    assert not joints["joint"][:, 0, 1].any()  # invariance for the joint keeps structural zeros
    assert joints["separate"][:, 0, 1].any()


def test_study_runs_in_blocks(study: JointLoss) -> None:
    names, values = replicate(study, 1, "pram_joint_loss", CELL, replicates=25, block=10)
    assert values.shape == (25, len(names))
    assert len({tuple(name.values()) for name in names}) == len(names)


def test_a_pair_is_of_two_attributes(study: JointLoss) -> None:
    with pytest.raises(DeniableError, match="not 'colour' twice"):
        study(CELL | {"second": "colour"}, np.random.default_rng(1), 2)
