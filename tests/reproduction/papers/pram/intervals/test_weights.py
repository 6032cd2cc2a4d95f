"""Weighted estimates of a simulated survey, against loops over records and against the truth."""

import itertools
from pathlib import Path

import numpy as np
import pandas as pd
import pytest
from tests.simulations import outputs_of, simulated_whole

from deniable.datasets.manifest import load_manifest
from deniable.estimation.survey_weights import survey_estimate
from deniable.records.categorical import Microdata

from reproduction.papers.pram.intervals.weights import ESTIMATORS, SIZES, PramWeights
from reproduction.papers.pram.names import EVERY
from reproduction.papers.pram.sections import DESIGNS
from reproduction.study.engine import replicate

ROOT = Path(__file__).resolve().parents[5]


@pytest.fixture(scope="module")
def study() -> PramWeights:
    """Records in which income and education depend on the relationship."""
    rng = np.random.default_rng(12)
    domain = load_manifest(ROOT / "resources" / "datasets.yaml")["adult"].domain
    domain = domain.project(["education", "relationship", "income"])
    # Husband, Not-in-family, Other-relative, Own-child, Unmarried, Wife
    relationship = rng.choice(6, 3000, p=[0.4, 0.25, 0.03, 0.16, 0.1, 0.06])
    level = np.array([5, 2, 1, 0, 1, 6])[relationship]
    education = (rng.integers(0, 9, 3000) + level) % 16
    income = rng.random(3000) < 0.02 + 0.1 * level
    return PramWeights(Microdata(domain, (education, relationship, income.astype(int))))


def cell(design: str, channel: str = "ordinal", records: int = 2000) -> dict[str, object]:
    return {"design": design, "channel": channel, "records": records}


def simulated(study: PramWeights, design: str, channel: str, runs: int) -> pd.DataFrame:
    grid = {key: [value] for key, value in cell(design, channel).items()}
    return simulated_whole(study, "pram_weights", [grid], runs, block=1000)


@pytest.mark.parametrize(
    ("design", "channel"),
    [*itertools.product(DESIGNS, ["warner", "ordinal", "generalized"])],
)
def test_weighted_estimates_are_unbiased_and_covered(
    study: PramWeights, design: str, channel: str
) -> None:
    # 4.9 standard errors of 4000 runs: a false alarm of 1e-6 a number. Hajek's ratio has a bias of
    # the order of 1 / n, and the linearized variance one too.
    table = simulated(study, design, channel, 4000)
    slack = 4.9 * (0.05 * 0.95 / 4000) ** 0.5
    coverage = table[table["measure"] == "coverage"].pivot(
        index="estimator", columns="target", values="regenerated"
    )
    assert np.abs(coverage.loc[["hajek", "horvitz_thompson"]] - 0.95).max().max() < slack
    # Without weights: the file's own shares are covered, those of the population are not.
    assert abs(coverage.loc["unweighted", "file"] - 0.95) < slack
    assert coverage.loc["unweighted", "population"] < 0.9
    wide = (table["ci_high"] - table["ci_low"]) / 2 * 4.9 / 1.96
    ratio = table["measure"] == "variance_ratio"
    off = np.abs(table["regenerated"] - 1)[ratio] - wide[ratio]
    assert (off < 2 / 2000).all()
    bias = table["measure"] == "bias"
    weighted = bias & (table["estimator"] != "unweighted")
    assert (np.abs(table["regenerated"])[weighted] < wide[weighted] + 1e-4).all()
    keys = ["estimator", "category"]
    exact = table[table["measure"] == "expected_bias"].set_index(keys)["regenerated"]
    known = bias & (table["estimator"] != "hajek")
    apart = table[known].set_index(keys)["regenerated"] - exact
    assert len(apart) == len(exact)
    limits = table[known].set_index(keys)
    assert (apart.abs() < (limits["ci_high"] - limits["ci_low"]) / 2 * 4.9 / 1.96).all()
    assert (exact["horvitz_thompson"] == 0).all()
    assert exact["unweighted"].abs().max() > 0.01
    unweighted = bias & (table["estimator"] == "unweighted")
    assert (np.abs(table["regenerated"])[unweighted] > wide[unweighted]).any()


@pytest.mark.parametrize("design", DESIGNS)
def test_counts_give_what_records_give(study: PramWeights, design: str) -> None:
    # One run, its counts unfolded into records with weights, strata and reports.
    setting = study.setting(cell(design, records=500))
    rng = np.random.default_rng(5)
    true = setting.draw(rng, 1)
    reports = setting.channel.randomize_counts(true, rng)[0]
    classes, codes = (each.reshape(-1) for each in np.indices(reports.shape))
    classes, codes = (np.repeat(each, reports.reshape(-1)) for each in (classes, codes))
    assert classes.size == 500
    for total in (None, 1.0):
        for target in ("population", "file"):
            slow = survey_estimate(
                codes,
                setting.weights[classes],
                setting.channel,
                target=target,
                total=total,
                strata=classes if design == "stratified" else None,
            ).intervals()
            estimator = "hajek" if total is None else "horvitz_thompson"
            fast = setting.intervals(reports[None], target, estimator)
            for part in ("estimate", "standard_error", "low", "high"):
                np.testing.assert_allclose(getattr(fast, part)[0], getattr(slow, part), rtol=1e-9)
    assert true.sum() == 500
    if design == "stratified":
        assert sorted(true[0].sum(axis=1).tolist()) == [83] * 4 + [84] * 2


def test_designs_are_those_stated(study: PramWeights) -> None:
    data = study.data
    names = data.domain["relationship"].categories
    present = data.counts(["relationship"]) / len(data)
    pps = study.setting(cell("pps"))
    sizes = np.array([SIZES.get(name, 1) for name in names])
    np.testing.assert_allclose(pps.drawn, sizes * present / (sizes * present).sum())
    # Expected weights: every class counts as much as it is in the population.
    np.testing.assert_allclose(pps.weights * 2000 * pps.drawn, present)
    stratified = study.setting(cell("stratified"))
    np.testing.assert_allclose(stratified.weights * 2000 * stratified.drawn, present)
    np.testing.assert_allclose(2000 * stratified.drawn, [334, 334, 333, 333, 333, 333])
    incomes = data.counts(["income"]) / len(data)
    np.testing.assert_allclose(study.setting(cell("pps", "warner")).proportions, incomes)


def test_runs_depend_on_the_stream_alone(study: PramWeights) -> None:
    runs = replicate(study, 1, "pram_weights", cell("pps"), replicates=30, block=20)[1]
    outputs = outputs_of(study, cell("pps"))
    assert runs.shape == (30, len(outputs))
    # Per target and estimator a coverage; in the population biases, expected but for one estimator,
    # and, weighted, a ratio of variances.
    assert len(outputs) == 2 * 3 + (3 + 2) * 7 + 2
    assert {output["estimator"] for output in outputs} == set(ESTIMATORS)
    biases = {"bias", "expected_bias"}
    assert {o["category"] for o in outputs if o["measure"] not in biases} == {EVERY}
    again = replicate(study, 1, "pram_weights", cell("pps"), replicates=20, block=20)[1]
    np.testing.assert_array_equal(runs[:20], again)
