"""The batched simulation of invariant PRAM against one run at a time, and against exact values."""

from typing import Any

import numpy as np
import pytest
from scipy import stats
from tests.channels.invariant_channels import invariance_gap, lazy
from tests.pram.exact_covariance import exact_covariance
from tests.simulations import outputs_of

from deniable.channels import DenseChannel, KeepOrReplace, resampling
from deniable.channels.invariant import (
    conditional_covariance,
    sampling_covariance,
    two_step,
)
from deniable.errors import DeniableError
from deniable.records.categorical import Microdata
from deniable.records.domain import Attribute, Domain

from reproduction.papers.pram.invariant import (
    Z_95,
    InvariantPram,
    estimates,
    inverses,
    matrices_of,
    randomize_batch,
)
from reproduction.papers.pram.names import INVARIANT_METHODS
from reproduction.study.engine import mean_summary, replicate

ERROR_RATE = 1e-6  # of each statistical test here
EXACT = 1e-12
CELL = {"attribute": "colour", "records": 400, "method": "two_step", "p": 0.6}


def column(simulator: InvariantPram, cell: dict[str, Any], values: np.ndarray, **output: str):
    outputs = outputs_of(simulator, cell)
    (found,) = [i for i, each in enumerate(outputs) if output.items() <= each.items()]
    return values[:, found]


def z_score(values: np.ndarray, expected: float) -> float:
    return float((values.mean() - expected) / (values.std(ddof=1) / np.sqrt(len(values))))


LIMIT = stats.norm.isf(ERROR_RATE / 2)


@pytest.fixture
def study(small_data: Microdata) -> InvariantPram:
    return InvariantPram(small_data)


# -- one run at a time -----------------------------------------------------------------------------


def slow_matrix(method: str, p: float, shares: np.ndarray, pi: np.ndarray) -> np.ndarray:
    first = KeepOrReplace.uniform(pi.size, p)
    return {
        "two_step": lambda: two_step(first, shares),
        "lazy": lambda: lazy(resampling(shares), p),
        "resampling": lambda: resampling(shares),
        "two_step_fixed": lambda: two_step(first, pi),
    }[method]().matrix()


@pytest.mark.parametrize("method", INVARIANT_METHODS)
def test_matrices_are_those_of_the_library(method: str) -> None:
    shares = np.array([[0.2, 0.3, 0.5], [0.0, 0.6, 0.4], [0.0, 0.0, 1.0]])
    pi = np.array([0.1, 0.3, 0.6])
    found = matrices_of(method, 0.7, shares, pi)
    for matrix, each in zip(found, shares, strict=True):
        expected = slow_matrix(method, 0.7, each, pi)
        np.testing.assert_allclose(matrix, expected, rtol=0, atol=EXACT)
        if method != "two_step_fixed":
            assert invariance_gap(DenseChannel(matrix), each) <= EXACT


@pytest.mark.parametrize("method", ["two_step", "lazy"])
def test_claims_are_those_of_the_channel(method: str) -> None:
    pi = np.array([0.2, 0.3, 0.5])
    true = np.array([[30, 20, 50], [10, 60, 30]])
    reports = np.array([[25, 30, 45], [12, 50, 38]])
    matrices = matrices_of(method, 0.7, true / 100, pi)
    found = estimates(true, matrices, reports)
    shares, of_shares = found["shares"]
    inverted, of_inverted = found["inverted"]
    for run, matrix in enumerate(matrices):
        channel = DenseChannel(matrix)
        s, t = reports[run] / 100, true[run] / 100
        np.testing.assert_allclose(shares[run], s, atol=EXACT)
        np.testing.assert_allclose(inverted[run], channel.estimate(reports[run]), atol=1e-10)
        added = conditional_covariance(true[run], channel)
        inverse = np.linalg.inv(matrix)
        unit = t * (1 - t) / 99
        expected = {
            ("shares", "multinomial"): s * (1 - s) / 99,
            ("shares", "conditional"): unit + np.diag(added),
            ("shares", "bound"): 1.99 * s * (1 - s) / 99,
            ("shares", "fixed_matrix"): channel.standard_errors(reports[run]) ** 2,
            ("inverted", "fixed_matrix"): channel.standard_errors(reports[run]) ** 2,
            ("inverted", "conditional"): unit + np.diag(inverse.T @ added @ inverse),
        }
        for (estimator, claim), value in expected.items():
            claimed = (of_shares if estimator == "shares" else of_inverted)[claim][run]
            np.testing.assert_allclose(claimed, value, rtol=1e-9, atol=EXACT, err_msg=claim)


def test_outputs_are_computed_from_the_drawn_tables(study: InvariantPram) -> None:
    # The same stream, one run after the other.
    generator = np.random.default_rng(5)
    pi = study._margin("colour")
    true = generator.multinomial(np.full(3, 400), pi)
    matrices = matrices_of("two_step", 0.6, true / 400, pi)
    reports = randomize_batch(true, matrices, generator)
    values = study(CELL, np.random.default_rng(5), 3)[1]
    assert values.shape == (3, len(outputs_of(study, CELL)))
    unit = np.trace(sampling_covariance(pi, 400))
    inflations = []
    for run in range(3):
        added = np.trace(conditional_covariance(true[run], DenseChannel(matrices[run])))
        inflations.append((unit + added) / unit)
        missed = np.sum((reports[run] / 400 - pi) ** 2) / unit
        s = reports[run] / 400
        half_width = Z_95 * np.sqrt(s * (1 - s) / 399)
        covered = np.mean(np.abs(s - pi) <= half_width)
        found = {
            "squared_error": missed,
            "inflation": inflations[-1],
            "coverage": covered,
        }
        for measure, value in found.items():
            claim = "multinomial" if measure == "coverage" else "none"
            got = column(study, CELL, values, estimator="shares", claim=claim, measure=measure)[run]
            assert got == pytest.approx(value, rel=1e-9)
    ratio, claimed = (
        column(study, CELL, values, estimator="shares", claim="bound", measure=measure)
        for measure in ("claimed_to_true", "claimed_inflation")
    )
    np.testing.assert_allclose(ratio, claimed / np.mean(inflations), rtol=1e-9)


def test_batch_draws_have_the_distribution_of_the_channel() -> None:
    true = np.array([3, 0, 4])
    matrix = two_step(KeepOrReplace.uniform(3, 0.4), true / 7).matrix()
    runs = 40_000
    drawn = randomize_batch(
        np.tile(true, (runs, 1)), np.tile(matrix, (runs, 1, 1)), np.random.default_rng(6)
    )
    assert not drawn[:, 1].any()  # no records, no reports
    assert np.all(drawn.sum(axis=1) == 7)
    # Reports of category 0: two binomials added.
    chances = np.convolve(
        stats.binom.pmf(np.arange(4), 3, matrix[0, 0]),
        stats.binom.pmf(np.arange(5), 4, matrix[2, 0]),
    )
    found = np.bincount(drawn[:, 0], minlength=8)
    assert stats.chisquare(found, runs * chances / chances.sum()).pvalue > ERROR_RATE


def test_impossible_reports_do_not_occur_in_the_last_category() -> None:
    # Sums of thirds fall short of 1 by rounding, and NumPy gives the rest to the last category.
    matrix = np.array([[0.1, 0.2, 0.7, 0], [0.7, 0.2, 0.1, 0], [0.3, 0.4, 0.3, 0], [0, 0, 0, 1]])
    true = np.tile([200_000, 200_000, 200_000, 0], (50, 1))
    drawn = randomize_batch(true, np.tile(matrix, (50, 1, 1)), np.random.default_rng(1))
    assert not drawn[:, 3].any()


def test_inverses_are_among_occurring_categories() -> None:
    true = np.array([[3, 0, 4], [2, 2, 3]])
    matrices = matrices_of("two_step", 0.5, true / 7, np.full(3, 1 / 3))
    found = inverses(matrices, true > 0)
    kept = np.ix_([0, 2], [0, 2])
    np.testing.assert_allclose(found[0][kept], np.linalg.inv(matrices[0][kept]), atol=1e-10)
    np.testing.assert_array_equal(found[0][1], [0, 1, 0])
    np.testing.assert_allclose(found[1], np.linalg.inv(matrices[1]), atol=1e-10)


# -- exact values ----------------------------------------------------------------------------------


def test_inflation_is_that_of_all_samples(study: InvariantPram) -> None:
    cell = CELL | {"records": 6}
    pi = study._margin("colour")
    exact = exact_covariance(lambda s: two_step(KeepOrReplace.uniform(3, 0.6), s), pi, 6)
    expected = np.trace(exact) / np.trace(sampling_covariance(pi, 6))
    values = study(cell, np.random.default_rng(11), 20_000)[1]
    for measure in ("inflation", "squared_error"):
        found = column(study, cell, values, estimator="shares", claim="none", measure=measure)
        assert abs(z_score(found, expected)) < LIMIT


@pytest.mark.parametrize(
    ("method", "p", "expected"),
    [
        ("resampling", 0.5, 2 - 1 / 400),
        ("lazy", 0.5, 1 + 0.75 * (1 - 1 / 400)),
        ("two_step_fixed", 0.5, 1.0),
    ],
)
def test_inflation_in_closed_form(
    study: InvariantPram, method: str, p: float, expected: float
) -> None:
    cell = CELL | {"method": method, "p": p}
    values = study(cell, np.random.default_rng(12), 20_000)[1]
    errors = column(study, cell, values, estimator="shares", claim="none", measure="squared_error")
    inflation = column(study, cell, values, estimator="shares", claim="none", measure="inflation")
    assert abs(z_score(errors, expected)) < LIMIT
    np.testing.assert_allclose(inflation, expected, rtol=1e-12)


def test_who_is_right_and_who_is_wrong(study: InvariantPram) -> None:
    values = study(CELL | {"records": 5000}, np.random.default_rng(13), 10_000)[1]

    def mean(estimator: str, claim: str, measure: str) -> float:
        which = {"estimator": estimator, "claim": claim, "measure": measure}
        return float(column(study, CELL, values, **which).mean())

    inflation = mean("shares", "none", "inflation")
    assert mean("shares", "multinomial", "claimed_to_true") == pytest.approx(
        1 / inflation, rel=0.01
    )
    assert mean("shares", "fixed_matrix", "claimed_to_true") > 1.5
    assert mean("shares", "conditional", "claimed_to_true") == pytest.approx(1, rel=0.01)
    assert mean("shares", "bound", "claimed_to_true") >= 1
    # (1.3) is the variance of what it was derived for, the inverted shares, and not of S / n.
    assert mean("inverted", "fixed_matrix", "claimed_to_true") == pytest.approx(1, rel=0.01)
    assert mean("shares", "conditional", "coverage") == pytest.approx(0.95, abs=0.01)
    assert mean("shares", "multinomial", "coverage") == pytest.approx(
        1 - 2 * stats.norm.sf(Z_95 / np.sqrt(inflation)), abs=0.01
    )
    assert mean("inverted", "fixed_matrix", "coverage") == pytest.approx(0.95, abs=0.01)
    assert mean("shares", "fixed_matrix", "coverage") > 0.98


# -- as a study ------------------------------------------------------------------------------------


@pytest.mark.parametrize("method", INVARIANT_METHODS)
def test_every_output_has_a_mean(study: InvariantPram, method: str) -> None:
    cell = CELL | {"method": method, "records": 12}
    values = replicate(study, 1, "pram_invariant", cell, replicates=30, block=20)[1]
    names = outputs_of(study, cell)
    assert values.shape == (30, len(names))
    assert len({tuple(name.values()) for name in names}) == len(names)
    for each in values.T:
        mean_summary(each)


def test_categories_without_records_are_left_out() -> None:
    domain = Domain((Attribute("a", ("x", "y", "z")),))
    data = Microdata(domain, (np.array([0, 0, 2, 2, 2]),), {"data_source": "original"})
    cell = {"attribute": "a", "records": 10, "method": "two_step", "p": 0.5}
    assert np.all(np.isfinite(InvariantPram(data)(cell, np.random.default_rng(1), 5)[1]))


def test_an_attribute_that_does_not_vary_is_refused() -> None:
    domain = Domain((Attribute("a", ("x", "y")),))
    data = Microdata(domain, (np.array([1, 1, 1]),), {"data_source": "original"})
    cell = {"attribute": "a", "records": 10, "method": "two_step", "p": 0.5}
    with pytest.raises(DeniableError, match="all records have the same a"):
        InvariantPram(data)(cell, np.random.default_rng(1), 5)
