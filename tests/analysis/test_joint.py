"""Answers of a release from one joint distribution, for all kinds of plans."""

import json
from itertools import combinations
from typing import Any

import numpy as np
import pandas as pd
import pytest
from tests.analysis.public_folders import survey_plan, survey_schema, survey_truth
from tests.analysis.test_many_tables import PLANS
from tests.plans import patterns, test_kept_back, test_mixed
from tests.plans.masked_plans import plan_by, table_of_sizes
from tests.plans.test_collected import frame_of, schema_of
from tests.rrba.collected_records import DOMAIN, some_records

from deniable import Released, StrataPlan, randomize
from deniable.analysis import WRONG_ERRORS
from deniable.analysis.joint import ALIKE, NOT_FIXED, JointAnswers
from deniable.channels import DenseChannel, KeepOrReplace
from deniable.errors import DeniableError
from deniable.joint import JointDistribution
from deniable.plans import make_plan, make_questionnaire, plan_from_protocol
from deniable.pram import StratifiedProtocol
from deniable.randomized_response import Protocol, cramers_v
from deniable.records import Attribute, Domain, Microdata
from deniable.schema import RecordsFile

pytestmark = pytest.mark.filterwarnings("ignore::deniable.errors.GuessWarning")
SCHEMA, RECORDS = schema_of(), 1500
DATA = some_records(RECORDS)
TRUE = DATA.counts(["a", "b"]).reshape(-1) / RECORDS
NOISY = ("single tables", "other randomized values")
UNBIASED = ["estimate", "ci_low", "ci_high"]


def invariant() -> Any:
    file = RecordsFile.open(frame_of(DATA), SCHEMA)
    accept = ("chosen_by_data",)
    return make_plan(SCHEMA, 6.0, mechanism="invariant", data=file, accept=accept)


EVERY = PLANS | {
    "one question": lambda: make_questionnaire(SCHEMA, 6.0, 1),
    "two questions": lambda: make_questionnaire(SCHEMA, 6.0, 2),
    "pairs": lambda: make_questionnaire(SCHEMA, 6.0, "pairs"),
    "subsets": lambda: make_plan(SCHEMA, 6.0, mechanism="subset-selection"),
    "invariant": invariant,
}


def released(plan: Any, frame: pd.DataFrame | None = None, seed: int = 3) -> Released:
    records = frame_of(DATA) if frame is None else frame
    return Released(randomize(records, plan, np.random.default_rng(seed)), plan)


def distance(one: Any, other: Any) -> float:
    return float(np.abs(np.asarray(one, float) - np.asarray(other, float)).sum() / 2)


@pytest.fixture(scope="module")
def own() -> Released:
    return released(PLANS["independent columns"]())


@pytest.fixture(scope="module")
def answers(own: Released) -> JointAnswers:
    return own.joint(seed=1)


@pytest.fixture(scope="module")
def repeated(own: Released) -> JointAnswers:
    return own.joint(seed=1, repetitions=3)


@pytest.mark.parametrize("name", EVERY)
def test_every_kind_of_plan_has_a_joint_distribution(name: str) -> None:
    found = released(EVERY[name]()).joint()
    whole = found.distribution.table(DOMAIN.names).reshape(DOMAIN.shape)
    assert found.distribution.domain.names == DOMAIN.names
    assert whole.min() >= 0
    assert whole.sum() == pytest.approx(1, abs=1e-6)
    for pair in combinations(range(4), 2):
        table = found.table([DOMAIN.names[at] for at in pair])
        others = tuple(at for at in range(4) if at not in pair)
        np.testing.assert_allclose(table["joint"], whole.sum(axis=others).ravel(), atol=1e-6)
    table = found.table(["a", "b"])
    independent = np.outer(*(found.table(each)["joint"] for each in "ab")).ravel()
    if name == "one question":  # nobody was asked about both
        assert distance(table["joint"], independent) < 0.01
        assert table[UNBIASED].isna().all(axis=None)
    else:
        assert distance(table["joint"], TRUE) < (0.27 if name in NOISY else 0.15)
        assert table[UNBIASED].notna().all(axis=None)
    assert found.query({"a": "0", "c": "no"})["joint"][0] == pytest.approx(
        found.table(["a", "c"])["joint"][0], abs=1e-6
    )


def test_impossible_combinations_have_the_probability_zero() -> None:
    frame = patterns.records(900).drop(columns="home")
    found = released(make_plan(patterns.schema(form="arrow"), 6.0), frame).joint()
    table = found.table(["marital", "age"]).set_index(["age", "marital"])["joint"]
    for status in ("married", "divorced"):
        assert table["0-14", status] == 0
        assert found.query({"age": "0-14", "marital": status})["joint"][0] == 0
    smoking = found.table(["smoker", "a day"])
    assert np.flatnonzero(smoking["joint"] == 0).tolist() == [4, 5, 6, 7, 8]
    made = found.distribution.sample(3000, np.random.default_rng(1))
    assert made.counts(["age", "marital"])[0, 1:].sum() == 0


def test_mixed_plans_have_the_categories_and_weights_count() -> None:
    frame = test_mixed.survey(600)
    plan = test_mixed.mixed(accept=("weights_released",))
    found = released(plan, frame).joint()
    assert found.distribution.domain.names == ("sex", "town", "age")
    true, weights = survey_truth(4000, 1)
    survey = survey_plan()
    texts = {
        each.name: np.array(each.categories, dtype=object)[true.column(each.name)]
        for each in true.domain
    }
    texts["income"][texts["income"] == "(missing)"] = "NA"
    whole = released(survey, pd.DataFrame({**texts, "w": weights}))
    plain, weighted = whole.joint().table("income"), whole.joint(weight="w").table("income")
    counts = true.counts(["income"])
    assert distance(plain["joint"], counts / 4000) < 0.05
    shares = np.bincount(true.column("income"), weights) / weights.sum()
    assert distance(weighted["joint"], shares) < 0.05
    assert distance(shares, counts / 4000) > 0.1
    np.testing.assert_array_equal(
        weighted["estimate"], whole.table("income", weight="w")["estimate"]
    )


# -- the tables of answers -------------------------------------------------------------------------


def test_tables_have_the_cells_and_the_estimates_of_the_release(
    own: Released, answers: JointAnswers
) -> None:
    table, unbiased = answers.table(["b", "a"]), own.table(["b", "a"])
    assert list(table) == ["b", "a", "joint", *UNBIASED]
    assert table["joint"].sum() == pytest.approx(1, abs=1e-6)
    pd.testing.assert_frame_equal(table[["b", "a", *UNBIASED]], unbiased[["b", "a", *UNBIASED]])
    one = answers.table("c")
    assert list(one["c"]) == ["no", "yes"]
    query = answers.query("a=1,b=y|z")
    assert list(query) == ["joint", *UNBIASED]
    chosen = (table["a"] == "1") & table["b"].isin(["y", "z"])
    assert query["joint"][0] == pytest.approx(table["joint"][chosen].sum(), abs=1e-6)
    assert query["estimate"][0] == own.query("a=1,b=y|z")["estimate"][0]


def test_limits_need_repetitions(repeated: JointAnswers, answers: JointAnswers) -> None:
    for table in (repeated.table(["a", "b"]), repeated.query("a=0,d=1")):
        assert {"model_low", "model_high"} < {*table}
        assert (table["model_low"] <= table["joint"]).all()
        assert (table["joint"] <= table["model_high"]).all()
    dependences = repeated.dependences()
    assert list(dependences) == ["columns", "cramers_v", "model_low", "model_high"]
    assert list(answers.dependences()) == ["columns", "cramers_v"]
    np.testing.assert_array_equal(dependences["cramers_v"], answers.dependences()["cramers_v"])


def test_dependences_are_those_of_the_tables(answers: JointAnswers) -> None:
    found = answers.dependences().set_index("columns")["cramers_v"]
    assert list(found.index) == [" x ".join(pair) for pair in combinations("abcd", 2)]
    table = answers.table(["a", "b"])["joint"].to_numpy().reshape(2, 3)
    assert found["a x b"] == pytest.approx(cramers_v(table))
    assert found["a x b"] > 0.4 > 4 * found["c x d"]


def test_the_choice_and_the_fit(answers: JointAnswers, repeated: JointAnswers) -> None:
    choice = answers.choice()
    assert list(choice) == ["classes", "share", "gain", "standard_error"]
    assert choice["classes"].tolist()[:2] == [1, 2]
    assert choice["share"].sum() == pytest.approx(1)
    assert choice["gain"][0] == 0
    fit, tested = answers.fit().iloc[0], repeated.fit().iloc[0]
    assert np.isnan(fit["p_value"])
    assert fit["repetitions"] == 0
    assert tested["misfit"] == fit["misfit"]
    assert tested["p_value"] in [1 / 4, 2 / 4, 3 / 4, 1]
    assert tested["repetitions"] == 3


def test_a_release_without_complete_records_has_no_p_value() -> None:
    fit = released(EVERY["two questions"]()).joint(repetitions=2).fit().iloc[0]
    assert np.isnan(fit["misfit"])
    assert np.isnan(fit["p_value"])
    assert fit["repetitions"] == 2


def test_notes_say_what_is_not_fixed(answers: JointAnswers) -> None:
    assert answers.notes == NOT_FIXED
    noisy = released(make_plan(SCHEMA, 0.4, mechanism="generalized-rr")).joint()
    assert noisy.notes == (ALIKE, *NOT_FIXED)
    assert not any(note.endswith(".") for note in noisy.notes)


def test_values_for_a_file_give_the_distribution_again(answers: JointAnswers) -> None:
    found = json.loads(json.dumps(answers.to_json(), allow_nan=False))
    assert found["notes"] == list(NOT_FIXED)
    assert found["fit"][0]["p_value"] is None
    assert [row["classes"] for row in found["choice"]] == answers.choice()["classes"].tolist()
    again = JointDistribution.from_json(found)
    np.testing.assert_allclose(again.table(["a", "b"]), answers.table(["a", "b"])["joint"], 1e-6)


def test_columns_with_the_names_of_answers_are_kept_apart() -> None:
    names = ("joint", "estimate")
    domain = Domain(tuple(Attribute(name, ("no", "yes")) for name in names))
    data = Microdata(domain, tuple(DATA.column(each) for each in "ac"))
    plan = make_plan(schema_of(domain), 6.0)
    table = released(plan, frame_of(data)).joint().table(names)
    assert list(table)[:3] == ["joint (column)", "estimate (column)", "joint"]
    assert table["joint"].sum() == pytest.approx(1, abs=1e-6)
    assert list(table["estimate (column)"]) == ["no", "yes"] * 2


# -- synthetic records -----------------------------------------------------------------------------


def test_synthetic_records_keep_the_dependence_of_columns(
    own: Released, answers: JointAnswers
) -> None:
    made = own.synthetic(5000, seed=1)
    given = own.synthetic(5000, seed=1, joint=answers.distribution)
    pd.testing.assert_frame_equal(made, given)  # the seed of the estimate is the same
    assert made.attrs["fidelity"] < 0.01
    frequencies = pd.crosstab(made["a"], made["b"]).to_numpy()
    assert distance(frequencies.ravel() / 5000, answers.table(["a", "b"])["joint"]) < 0.01
    assert "too small" in WRONG_ERRORS


def test_a_questionnaire_has_synthetic_records_with_its_pairs() -> None:
    made = released(EVERY["pairs"]()).synthetic(1000)
    frequencies = pd.crosstab(made["a"], made["b"]).to_numpy().ravel() / 1000
    assert distance(frequencies, TRUE) < 0.15


def test_missing_values_and_grids_have_their_types() -> None:
    true, weights = survey_truth(800, 1)
    texts = {
        each.name: np.array(each.categories, dtype=object)[true.column(each.name)]
        for each in true.domain
    }
    texts["income"][texts["income"] == "(missing)"] = "NA"
    made = released(survey_plan(), pd.DataFrame({**texts, "w": weights})).synthetic(400)
    assert list(made) == list(survey_schema().domain().names)
    assert made["income"].isna().any()
    assert set(made["age"]) <= set(np.arange(13) * 2.5)


# -- one message with a remedy ---------------------------------------------------------------------


def singular() -> Released:
    domain = DOMAIN.project(["a", "b"])
    channels = KeepOrReplace.uniform(2, 0.0), KeepOrReplace.uniform(3, 0.5)
    plan = plan_from_protocol(Protocol(domain, (("a",), ("b",)), channels))
    return released(plan, frame_of(DATA.project(["a", "b"])))


def test_columns_with_a_singular_channel_can_be_left_out() -> None:
    found = singular().joint("b")
    assert found.distribution.domain.names == ("b",)
    assert found.dependences().empty
    shares = DATA.counts(["b"]) / RECORDS
    assert distance(found.table("b")["joint"], shares) < 0.1


@pytest.mark.parametrize(
    ("name", "names"),
    [("clusters", "abc"), ("strata", "ab"), ("two questions", "ab"), ("single tables", "ab")],
)
def test_columns_are_estimated_with_their_clusters(name: str, names: str) -> None:
    found = released(EVERY[name]()).joint(["b", "a"]).distribution
    assert "".join(found.domain.names) == names
    assert distance(found.table(["a", "b"]), TRUE) < 0.27


def kept_back() -> Released:
    frame = test_mixed.survey(200)[["sex", "town"]]
    plan = test_kept_back.plan_of(frame)
    reports = randomize(frame, plan, np.random.default_rng(1))
    return Released(reports, plan.published)


def masked() -> Released:
    plan = plan_by("histograms", bins=4)
    return Released(randomize(table_of_sizes(), plan, np.random.default_rng(1)), plan)


@pytest.mark.parametrize(
    ("make", "options", "message"),
    [
        (singular, {"columns": "z"}, r"no attribute 'z'"),
        (singular, {}, r"channel of a cannot distinguish .* leave .* out, or release them with"),
        (kept_back, {}, r"keeps the matrices back, .* only proportions of columns that share"),
        (masked, {}, r"masked numbers have no categories.* estimate numbers, or randomize"),
        (lambda: released(PLANS["strata"]()), {"repetitions": 2}, r"use the intervals that"),
        (lambda: released(PLANS["single tables"]()), {"weight": "w"}, "leave it out"),
        (lambda: released(EVERY["pairs"]()), {"weight": "w"}, "leave it out"),
        (lambda: released(PLANS["strata"]()), {"repetitions": 1}, "give 0, or at least 2"),
        (lambda: released(PLANS["strata"]()), {"repetitions": -1}, "give 0, or at least 2"),
        (lambda: released(PLANS["clusters"](), frame_of(some_records(1))), {}, "at least 2"),
    ],
)
def test_what_has_no_joint_distribution_gets_one_message(
    make: Any, options: dict[str, Any], message: str
) -> None:
    source = make()
    with pytest.raises(DeniableError, match=message) as caught:
        source.joint(**options)
    assert "\n" not in str(caught.value)
    if not options:
        with pytest.raises(DeniableError, match=message):
            source.synthetic(10)


@pytest.mark.parametrize(
    ("ask", "message"),
    [
        (lambda found: found.table(["a", "z"]), "no attribute 'z'"),
        (lambda found: found.table(["a", "a"]), "twice"),
        (lambda found: found.query("z=1"), "no estimates of a column 'z'"),
        (lambda found: found.query(""), "without conditions"),
    ],
)
def test_questions_that_are_refused(ask: Any, message: str, answers: JointAnswers) -> None:
    with pytest.raises(DeniableError, match=message):
        ask(answers)


def test_singular_invariant_matrices_leave_the_margins() -> None:
    """All rows of a matrix are equal: pairs of columns are unknown, their proportions are not."""
    names, sizes = ("a", "b"), (2, 3)
    shares = [DATA.counts([name]) / RECORDS for name in names]
    channels = tuple(
        DenseChannel(np.tile(own, (size, 1))) for own, size in zip(shares, sizes, strict=True)
    )
    own = Protocol(DOMAIN.project(names), (("a",), ("b",)), channels)
    domain = DOMAIN.project(("a", "b", "c"))
    protocols = {(each,): own for each in DOMAIN["c"].categories}
    protocol = StratifiedProtocol(domain, ("c",), protocols, True)
    plan = StrataPlan(
        schema_of(domain),
        100.0,
        protocol,
        ("stated",) * 2,
        chosen_from="the data, by a curator",
        accept=("chosen_by_data",),
    )
    found = released(plan, frame_of(DATA.project(["a", "b", "c"]))).joint()
    table = found.table(["a", "b"])
    assert np.isfinite(table["joint"]).all()
    assert found.table("c")["joint"].to_numpy() == pytest.approx(
        DATA.counts(["c"]) / RECORDS, abs=0.01
    )
