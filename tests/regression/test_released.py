"""Regressions from releases of all kinds, equal for all forms of input, and refusals."""

from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest
from tests.analysis.public_folders import survey_plan, survey_truth, write_public
from tests.plans.masked_plans import METHODS, plan_by, table_of_sizes
from tests.regression.surveys import (
    COLUMNS,
    LOGISTIC,
    clustered_plan,
    kept,
    kept_unchanged,
    released,
    survey_codes,
    survey_frame,
    survey_schema,
)

from deniable import Released, make_plan, make_questionnaire, randomize
from deniable.channels import KeepOrReplace
from deniable.errors import DataError, DeniableError, NoAnswerError
from deniable.plans import CollectedPlan, Plan, StrataPlan
from deniable.schema import schema_from_dict

RECORDS = 6000
COVARIATES = (("ill",), ("sex",), ("age",), ("area",))
PLANS: dict[str, Plan] = {
    "columns": make_plan(survey_schema(), 12.0),
    "cluster": make_plan(survey_schema(), 12.0, clusters=[["ill", "sex"]]),
    "part of a cluster": make_plan(survey_schema(), 12.0, clusters=[["ill", "area"]]),
    "subsets": make_plan(survey_schema(), 12.0, mechanism="subset-selection"),
    "strata": StrataPlan.from_schema(survey_schema(), ["sex"], {("F",): 10.0, ("M",): 12.0}),
    "forms": make_questionnaire(survey_schema(), 9.0, ask=3),
    "collected": CollectedPlan.from_schema(survey_schema(), keep=0.7, block=300, size=3),
}


@pytest.mark.parametrize("kind", PLANS)
@pytest.mark.parametrize("method", ["scores", "likelihood"])
def test_coefficients_are_near_the_known_ones(kind: str, method: str) -> None:
    """Within 4.5 standard errors: 42 coefficients with fixed seeds."""
    found = released(PLANS[kind], survey_frame(survey_codes(RECORDS, 4)))
    answer = found.regression("ill ~ sex + age", method=method)
    assert answer["term"].tolist() == ["(intercept)", "sex=M", "age"]
    assert (answer["outcome"] == "ill=yes").all()
    away = (answer["estimate"] - LOGISTIC) / answer["standard_error"]
    assert away.abs().max() < 4.5
    assert answer["standard_error"].max() < 1.0
    assert (answer["ci_low"] < answer["estimate"]).all()
    assert answer.attrs["notes"][0].endswith("compared with sex=F, ill=no.")
    assert found.regression("age ~ area", model="linear")["term"].tolist()[-1] == "area=c"


def test_all_forms_of_input_give_the_same_answer(tmp_path: Path) -> None:
    answers = []
    for kind in ("csv", "parquet", "arrow"):
        plan = survey_plan(kind)
        folder = write_public(tmp_path / kind, plan, *survey_truth(2000, 1))
        answers += [Released(folder)]
    read = pd.read_csv(tmp_path / "csv" / "protected.csv", sep=";", dtype=str)
    answers.append(Released(read, survey_plan("csv")))
    for formula in ("owner ~ sex + region", "age ~ sex + income", "income ~ sex"):
        for weight in (None, "w"):
            first, *others = (each.regression(formula, weight=weight) for each in answers)
            assert first["records"].between(1, 2000).all()
            for each in others:
                pd.testing.assert_frame_equal(first, each)


def test_records_with_missing_values_do_not_count(tmp_path: Path) -> None:
    channels = tuple(KeepOrReplace.uniform(size, 1.0) for size in (2, 4, 6, 13))
    true, weights = survey_truth(2000, 1)
    plan = survey_plan("csv", channels)
    found = Released(write_public(tmp_path / "public", plan, true, weights))
    there = true.column("income") < 3
    X = np.column_stack([np.ones(2000), true.column("income") == 1, true.column("income") == 2])
    age = true.column("age")[there] * 2.5
    expected = np.linalg.lstsq(X[there].astype(float), age, rcond=None)[0]
    assert found.regression("age ~ income")["estimate"].to_numpy() == pytest.approx(expected)
    root = np.sqrt(weights[there])
    weighted = np.linalg.lstsq(X[there] * root[:, None], age * root, rcond=None)[0]
    answer = found.regression("age ~ income", weight="w")
    assert answer["estimate"].to_numpy() == pytest.approx(weighted)


def test_equal_weights_change_no_estimate(tmp_path: Path) -> None:
    true, _ = survey_truth(2000, 1)
    found = Released(write_public(tmp_path / "public", survey_plan(), true, np.full(2000, 3.0)))
    for method in ("scores", "likelihood"):
        alone, weighted = (
            found.regression("owner ~ sex", method=method, weight=weight) for weight in (None, "w")
        )
        np.testing.assert_allclose(weighted["estimate"], alone["estimate"], rtol=1e-6)
        errors = 0.2 if method == "likelihood" else 1e-6  # by the sandwich formula with weights
        np.testing.assert_allclose(weighted["standard_error"], alone["standard_error"], rtol=errors)


def test_targets_and_confidence() -> None:
    found = released(PLANS["columns"], survey_frame(survey_codes(RECORDS, 4)))
    both = found.regression("ill ~ age", target="both", confidence=0.9)
    population, file = (both[both["target"] == each] for each in ("population", "file"))
    assert population["estimate"].tolist() == file["estimate"].tolist()
    errors = file["standard_error"].to_numpy() / population["standard_error"].to_numpy()
    assert (errors < 1).all()
    reach = (both["ci_high"] - both["ci_low"]) / 2 / both["standard_error"]
    assert reach.to_numpy() == pytest.approx(1.645, abs=1e-3)


@pytest.fixture(scope="module")
def survey() -> Released:
    return released(PLANS["columns"], survey_frame(survey_codes(RECORDS, 4)))


@pytest.mark.parametrize(
    ("formula", "options", "message"),
    [
        ("ill ~ job", {}, "no estimates of a column 'job', only of ill, sex, age, area"),
        ("ill", {}, "write a formula as income ~ age"),
        ("ill ~ sex + ill", {}, "outcome and covariate"),
        ("ill ~ sex:sex", {}, "twice in a term"),
        ("ill ~ sex", {"model": "probit"}, "unknown model 'probit'"),
        ("ill ~ sex", {"method": "em"}, "unknown method 'em'"),
        ("area ~ sex", {"model": "logistic"}, "use multinomial"),
        ("area ~ sex", {"model": "linear"}, "categories that are not numbers"),
        ("age ~ sex", {"method": "likelihood"}, "use the method scores"),
        ("ill ~ sex", {"method": "likelihood", "target": "file"}, "'population' alone"),
        ("ill ~ sex", {"weight": "w"}, "no column of weights 'w'"),
    ],
)
def test_invalid_requests_are_refused(
    survey: Released, formula: str, options: dict[str, Any], message: str
) -> None:
    with pytest.raises(DeniableError, match=message):
        survey.regression(formula, **options)


@pytest.mark.parametrize("method", ["scores", "likelihood"])
def test_separation_is_refused(method: str) -> None:
    codes = survey_codes(500, 1)
    codes[0] = codes[1]
    found = released(clustered_plan(COVARIATES, kept_unchanged()), survey_frame(codes))
    with pytest.raises(NoAnswerError, match=r"separate|hardly any information"):
        found.regression("ill ~ sex + age", method=method)


@pytest.mark.parametrize("method", ["scores", "likelihood"])
def test_weak_channels_are_refused(method: str) -> None:
    plan = clustered_plan(COVARIATES, kept(0.05))
    for seed in range(5):
        found = released(plan, survey_frame(survey_codes(300, seed)), seed)
        with pytest.raises(NoAnswerError, match="or a larger epsilon"):
            found.regression("ill ~ sex + age", method=method)


def test_covariates_that_are_constant_or_collinear_are_refused() -> None:
    codes = survey_codes(500, 1)
    codes[1] = np.zeros(500, dtype=int)
    found = released(clustered_plan(COVARIATES, kept_unchanged()), survey_frame(codes))
    with pytest.raises(NoAnswerError, match="no estimated variance"):
        found.regression("ill ~ sex + age")
    found = released(clustered_plan(COVARIATES, kept(2.0)), survey_frame(codes))
    with pytest.raises(NoAnswerError, match="Use fewer covariates"):
        found.regression("ill ~ sex + age")
    columns = [*COLUMNS[:3], {"name": "area", "kind": "categorical", "categories": ["a"]}]
    about = {"format": "deniable-schema", "population": "all", "file": {"kind": "arrow"}}
    codes[3] = codes[1]
    plan = make_plan(schema_from_dict(about | {"columns": columns}), 6.0)
    with pytest.raises(DeniableError, match="one category, so it is constant"):
        released(plan, survey_frame(codes)).regression("ill ~ area")


def test_singular_channels_and_negative_weights_are_refused(tmp_path: Path) -> None:
    channels = [KeepOrReplace.uniform(2, 0.0), *kept(2.0)[1:]]
    found = released(clustered_plan(COVARIATES, channels), survey_frame(survey_codes(300, 1)))
    with pytest.raises(DeniableError, match="cannot"):
        found.regression("ill ~ sex")
    assert len(found.regression("sex ~ age")) == 2  # other columns do not matter
    true, weights = survey_truth(300, 1)
    weights[7] = -1.0
    found = Released(write_public(tmp_path / "public", survey_plan(), true, weights))
    with pytest.raises(DataError, match="record 8, column 'w' has the weight '-1'"):
        found.regression("owner ~ sex", weight="w")


def test_columns_that_no_form_has_together_are_refused() -> None:
    plan = make_questionnaire(survey_schema(), 9.0, ask=2)
    found = released(plan, survey_frame(survey_codes(800, 1)))
    assert len(found.regression("ill ~ sex")) == 2
    with pytest.raises(DeniableError, match="name columns that were asked together"):
        found.regression("ill ~ sex + age")


def test_masked_numbers_are_refused() -> None:
    found = Released(*_masked())
    with pytest.raises(DeniableError):
        found.regression("income ~ age")


def _masked() -> tuple[Any, Plan]:
    plan = plan_by(next(iter(METHODS)))
    return randomize(table_of_sizes(), plan, np.random.default_rng(1)), plan
