"""Regressions of unchanged records are those of statsmodels; scores are exactly unbiased."""

from functools import reduce
from itertools import product

import numpy as np
import pytest
import statsmodels.api as sm
from scipy import stats
from tests.regression.surveys import (
    LOGISTIC,
    design_of,
    drawn,
    kept,
    kept_unchanged,
    survey_codes,
    survey_schema,
)

from deniable.channels import Channel, DenseChannel, KeepOrReplace, SubsetSelection
from deniable.errors import DeniableError
from deniable.regression import groups_of, likelihood_fit, scores as module, scores_fit
from deniable.responses import Answers


def terms_of(codes: list[np.ndarray]) -> np.ndarray:
    ill, sex, age, area = codes
    return np.column_stack([np.ones(ill.size), sex, age, area == 1, area == 2]).astype(float)


@pytest.fixture(scope="module")
def codes() -> list[np.ndarray]:
    return survey_codes(900, 1)


def test_logistic_regression_of_unchanged_records(codes: list[np.ndarray]) -> None:
    design = design_of("ill ~ sex + age + area")
    groups = drawn(design, codes, kept_unchanged(), 0)
    known = sm.Logit(codes[0], terms_of(codes)).fit(disp=0, tol=1e-14)
    robust = sm.Logit(codes[0], terms_of(codes)).fit(disp=0, tol=1e-14, cov_type="HC0")
    scores = scores_fit(design, groups, "population")
    likelihood = likelihood_fit(design, groups, weighted=False)
    for found, covariance in ((scores, robust.cov_params()), (likelihood, known.cov_params())):
        np.testing.assert_allclose(found.coefficients[0], known.params, rtol=1e-8)
        np.testing.assert_allclose(found.covariance, covariance, rtol=1e-6)
        assert found.records == 900


def test_multinomial_regression_of_unchanged_records(codes: list[np.ndarray]) -> None:
    design = design_of("area ~ sex + age")
    groups = drawn(design, codes, kept_unchanged(), 0)
    known = sm.MNLogit(codes[3], terms_of(codes)[:, :3]).fit(disp=0, tol=1e-14, method="newton")
    for found in (
        scores_fit(design, groups, "population"),
        likelihood_fit(design, groups, weighted=False),
    ):
        np.testing.assert_allclose(found.coefficients, known.params.T, rtol=1e-8, atol=1e-10)


@pytest.mark.parametrize("by_pairs", [False, True])
@pytest.mark.parametrize("outcome", ["age", "ill"])
def test_linear_regression_of_unchanged_records(
    codes: list[np.ndarray], outcome: str, by_pairs: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    if by_pairs:
        monkeypatch.setattr(module, "MAX_SCORED", 1)
    design = design_of(f"{outcome} ~ sex + area + sex:area", "linear")
    X = terms_of(codes)[:, [0, 1, 3, 4]]
    X = np.column_stack([X, X[:, [2]] * X[:, [1]], X[:, [3]] * X[:, [1]]])
    known = sm.OLS(codes[2 if outcome == "age" else 0], X).fit(cov_type="HC0")
    found = scores_fit(design, drawn(design, codes, kept_unchanged(), 0), "population")
    np.testing.assert_allclose(found.coefficients[0], known.params, rtol=1e-8)
    np.testing.assert_allclose(found.covariance, known.cov_params(), rtol=1e-8)


def test_large_numbers_have_the_same_linear_model() -> None:
    codes = survey_codes(900, 1)
    small, large = design_of("age ~ sex"), design_of("age ~ sex")
    large.responses["age"] = small.responses["age"] * 1e9
    groups = drawn(small, codes, kept(3.0), 0)
    found = [scores_fit(each, groups, "population").coefficients for each in (small, large)]
    np.testing.assert_allclose(found[1], found[0] * 1e9, rtol=1e-9)


def test_for_the_file_unchanged_records_have_no_error(codes: list[np.ndarray]) -> None:
    design = design_of("ill ~ sex + age")
    found = scores_fit(design, drawn(design, codes, kept_unchanged(), 0), "file")
    np.testing.assert_allclose(found.covariance, 0, atol=1e-15)


DOMAIN = survey_schema().domain()
ODD = DenseChannel([[0.5, 0.3, 0.2], [0.1, 0.6, 0.3]])
CLUSTERS: dict[str, list[tuple[tuple[str, ...], Channel]]] = {
    "separate": [
        (("ill",), ODD),
        (("sex",), KeepOrReplace.of_epsilon(2, 1.0)),
        (("area",), SubsetSelection.of_epsilon(3, 1.0, 1)),
    ],
    "outcome and covariate together": [
        (("ill", "sex"), SubsetSelection.of_epsilon(4, 1.0, 2)),
        (("area",), KeepOrReplace.of_epsilon(3, 1.0)),
    ],
    "a part of a cluster": [
        (("sex", "age"), KeepOrReplace.of_epsilon(12, 1.0)),
        (("area", "ill"), KeepOrReplace.of_epsilon(6, 1.0)),
    ],
}


@pytest.mark.parametrize("kind", CLUSTERS)
def test_the_expectation_of_corrected_scores_is_the_score(kind: str) -> None:
    """The sum over all randomized values, each with its exact probability."""
    parts = [(DOMAIN.project(names), channel) for names, channel in CLUSTERS[kind]]
    every = np.array([*product(*(range(channel.reports) for _, channel in parts))]).T
    answers = [Answers(*part, own) for part, own in zip(parts, every, strict=True)]
    design = design_of("ill ~ sex + area")
    groups = groups_of(answers, None, design.domain.names, "own")
    (group,) = groups
    functions = np.random.default_rng(1).normal(size=(design.domain.size, 3))
    values = group.expected(design.domain, functions)
    cells = [cells for cells, _ in parts]
    for codes in product(*(range(each.size) for each in cells)):
        rows = [channel.matrix()[code] for (_, channel), code in zip(parts, codes, strict=True)]
        probabilities = reduce(np.kron, rows)
        named = {
            name: int(code[0])
            for each, own in zip(cells, codes, strict=True)
            for name, code in zip(each.names, each.unravel(np.array([own])), strict=True)
        }
        cell = np.ravel_multi_index([named[n] for n in design.domain.names], design.domain.shape)
        np.testing.assert_allclose(values @ probabilities, functions[cell], atol=1e-12)
    assert group.sums[0].sum() == every.shape[1]


@pytest.mark.parametrize("formula", ["age ~ sex + area", "age ~ ill:area + sex"])
def test_pairs_and_cells_give_the_same_linear_model(
    codes: list[np.ndarray], formula: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    design = design_of(formula)
    groups = drawn(design, codes, kept(3.0), 2)
    by_cells = scores_fit(design, groups, "population")
    monkeypatch.setattr(module, "MAX_SCORED", 1)
    by_pairs = scores_fit(design, groups, "population")
    np.testing.assert_allclose(by_pairs.coefficients, by_cells.coefficients, rtol=1e-9)
    np.testing.assert_allclose(by_pairs.covariance, by_cells.covariance, rtol=1e-9)
    with pytest.raises(DeniableError, match="at most 1 are allowed"):
        scores_fit(design, groups, "file")


def covers(kind: str, epsilon: float, records: int, times: int) -> list[int]:
    """Return how many 95 % intervals of each coefficient cover it, of this many protections."""
    design = design_of("ill ~ sex + age")
    held = np.zeros(3, dtype=int)
    for seed in range(times):
        groups = drawn(design, survey_codes(records, seed), kept(epsilon), seed)
        if kind == "scores":
            found = scores_fit(design, groups, "population")
        else:
            found = likelihood_fit(design, groups, weighted=False)
        away = np.abs(found.coefficients[0] - LOGISTIC)
        held += away <= stats.norm.ppf(0.975) * np.sqrt(np.diag(found.covariance))
    return held.tolist()


@pytest.mark.parametrize(
    ("kind", "epsilon"),
    [("scores", 2.5), pytest.param("likelihood", 2.5, marks=pytest.mark.slow)],
)
def test_intervals_cover(kind: str, epsilon: float) -> None:
    """In 400 protections of 3,000 records; 3 right coefficients fail once in 1,000 times."""
    low, high = stats.binom.ppf([0.0005 / 3, 1 - 0.0005 / 3], 400, 0.95)
    held = covers(kind, epsilon, 3000, 400)
    assert all(low <= each <= high for each in held), held
