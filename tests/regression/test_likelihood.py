"""The likelihood through the channels: that of RRreg, its information, parts of clusters."""

import numpy as np
import pytest
import scipy
from tests.regression.surveys import (
    clustered_plan,
    design_of,
    drawn,
    kept,
    released,
    survey_codes,
    survey_frame,
    survey_schema,
)

from deniable.channels import DenseChannel, KeepOrReplace
from deniable.errors import DeniableError
from deniable.plans import StrataPlan
from deniable.regression import likelihood_fit
from deniable.regression.likelihood import _Likelihood


def rrlog(X: np.ndarray, reported: np.ndarray, matrices: np.ndarray) -> tuple[np.ndarray, ...]:
    """Return the logistic regression of RRreg (`RRlog`): one randomized outcome, and its errors.

    The `matrices` have the transition matrix of each record, shape (records, 2, 2).
    """

    def loss(beta: np.ndarray) -> float:
        p = scipy.special.expit(X @ beta)
        at = np.arange(len(X))
        return -np.log((1 - p) * matrices[at, 0, reported] + p * matrices[at, 1, reported]).sum()

    found = scipy.optimize.minimize(loss, np.zeros(X.shape[1]), method="BFGS", tol=1e-9).x
    step, size = 1e-4, X.shape[1]
    hessian = np.empty((size, size))
    for i in range(size):
        for j in range(size):
            signs = [(a, b) for a in (1, -1) for b in (1, -1)]
            hessian[i, j] = sum(
                a * b * loss(found + step * (a * np.eye(size)[i] + b * np.eye(size)[j]))
                for a, b in signs
            ) / (4 * step**2)
    return found, np.sqrt(np.diag(np.linalg.inv(hessian)))


def test_with_one_randomized_outcome_it_is_the_likelihood_of_rrreg() -> None:
    epsilons = {("F",): 1.0, ("M",): 2.0}
    plan = StrataPlan.from_schema(survey_schema(), ["sex"], epsilons)
    frame = survey_frame(survey_codes(3000, 3))
    found = released(plan, frame)
    parts, _ = found.responses.answers()
    reported, matrices = np.zeros(3000, dtype=int), np.zeros((3000, 2, 2))
    for part in parts:
        if part.cells.names == ("ill",):
            own = part.codes >= 0
            reported[own], matrices[own] = part.codes[own], part.channel.matrix()
    X = np.column_stack([np.ones(3000), frame["sex"] == "M"]).astype(float)
    expected, errors = rrlog(X, reported, matrices)
    answer = found.regression("ill ~ sex", method="likelihood")
    np.testing.assert_allclose(answer["estimate"], expected, rtol=1e-4)
    np.testing.assert_allclose(answer["standard_error"], errors, rtol=1e-3)


def test_the_information_is_the_second_derivative() -> None:
    design = design_of("ill ~ sex")
    groups = drawn(design, survey_codes(2000, 1), kept(2.0), 1)
    found = _Likelihood(design, groups)
    fit = likelihood_fit(design, groups, weighted=False)

    def profile(beta: np.ndarray) -> float:
        """Return the log-likelihood of all records at the best masses."""

        def loss(logs: np.ndarray) -> tuple[float, np.ndarray]:
            value, gradient = found.loss(np.r_[beta, logs] * found.scale)
            return value, gradient[2:]

        best = scipy.optimize.minimize(loss, np.zeros(2), jac=True, tol=1e-14)
        return -2000 * float(best.fun)

    step, beta = 0.02, fit.coefficients[0]
    hessian = np.array(
        [
            [
                sum(
                    a * b * profile(beta + step * (a * np.eye(2)[i] + b * np.eye(2)[j]))
                    for a in (1, -1)
                    for b in (1, -1)
                )
                / (4 * step**2)
                for j in range(2)
            ]
            for i in range(2)
        ]
    )
    np.testing.assert_allclose(np.linalg.inv(-hessian), fit.covariance, rtol=0.01)


def test_a_part_of_a_cluster_needs_a_channel_of_its_own() -> None:
    frame = survey_frame(survey_codes(4000, 1))
    clusters = (("ill", "area"), ("sex", "age"))
    channels = [KeepOrReplace.of_epsilon(6, 3.0), KeepOrReplace.of_epsilon(12, 3.0)]
    found = released(clustered_plan(clusters, channels), frame)
    answer = found.regression("ill ~ sex", method="likelihood")
    scores = found.regression("ill ~ sex")
    away = (answer["estimate"] - scores["estimate"]) / scores["standard_error"]
    assert away.abs().max() < 0.5
    odd = np.eye(6) * 0.7 + np.random.default_rng(1).dirichlet(np.ones(6), 6) * 0.3
    found = released(clustered_plan(clusters, [DenseChannel(odd), channels[1]]), frame)
    assert found.regression("ill ~ sex")["records"][0] == 4000
    with pytest.raises(DeniableError, match="name all of these, or use the method scores"):
        found.regression("ill ~ sex", method="likelihood")


def test_it_has_a_limit(monkeypatch: pytest.MonkeyPatch) -> None:
    design = design_of("ill ~ sex + age")
    groups = drawn(design, survey_codes(500, 1), kept(2.0), 1)
    monkeypatch.setattr("deniable.regression.likelihood.MAX_CELLS", 20)
    with pytest.raises(DeniableError, match=r"needs 24 cells by .*; at most 20 cells"):
        likelihood_fit(design, groups, weighted=False)
