"""Plans that collect tables: epsilon and its audit, the document, settings, test releases."""

import copy
import json
import math
from collections import Counter
from dataclasses import replace
from fractions import Fraction
from itertools import product
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pyarrow as pa
import pytest
from hypothesis import given, strategies as st
from pydantic import ValidationError
from scipy import stats
from tests.rrba.collected_records import DOMAIN, some_records

from deniable import CollectedPlan, Released, randomize
from deniable.datasets.networks import drawn_file, from_resources
from deniable.errors import DataError, DeniableError
from deniable.plans import PlanInputs
from deniable.plans.auditing import AUDIT_COLUMNS
from deniable.plans.collected import plan as collected
from deniable.plans.collected.settings import CollectedSettings
from deniable.plans.document import plan_from_json, plan_to_json, read_plan, verify_plan, write_plan
from deniable.plans.settings.finding_clusters import ClustersSettings
from deniable.records.categorical import Microdata
from deniable.records.domain import Attribute, Domain
from deniable.rrba import collect_answers
from deniable.sampling.keyed import KeyedDraws
from deniable.schema import Part, Schema, schema_from_dict

FALSE_ALARMS = 1e-6  # of a test as a whole; seeds are fixed
NETWORKS = Path(__file__).resolve().parents[2] / "resources" / "networks"


def schema_of(domain: Domain = DOMAIN) -> Schema:
    columns = [
        {"name": each.name, "kind": "categorical", "categories": list(each.categories)}
        for each in domain
    ]
    about = {"format": "deniable-schema", "population": "all", "file": {"kind": "arrow"}}
    return schema_from_dict(about | {"columns": columns})


def frame_of(data: Microdata) -> pd.DataFrame:
    return pd.DataFrame(
        {
            each.name: np.array(each.categories, dtype=object)[data.column(each.name)]
            for each in data.domain
        }
    )


SCHEMA = schema_of()
HALF = CollectedPlan.from_schema(SCHEMA, keep=0.5, block=150)


def answers_of(plan: CollectedPlan, records: int = 600, seed: int = 1) -> pd.DataFrame:
    return randomize(frame_of(some_records(records)), plan, np.random.default_rng(seed))


# -- epsilon, and its audit ------------------------------------------------------------------------


def test_uniform_tables_have_the_stated_epsilon() -> None:
    audited = HALF.audit()
    assert audited["holds"].all()
    assert list(audited)[: len(AUDIT_COLUMNS)] == list(AUDIT_COLUMNS)
    answers = audited[audited["unit"] == "answer"]
    assert answers["of"].tolist() == [f"tables of {cells} cells" for cells in (4, 6, 8, 12)]
    # ln(1 + p m / (1 - p)) at p = 1/2; Theorem 4.1 claims ln 2 for all of them.
    for exact, cells in zip(answers["exact_epsilon"], (4, 6, 8, 12), strict=True):
        assert exact == pytest.approx(math.log(1 + cells), abs=1e-12)
    assert answers["theorem_4_1"].tolist() == pytest.approx([math.log(2)] * 4)
    (record,) = audited[audited["unit"] == "record"].to_dict("records")
    # The views are a c and b d (5 times 13), a b and c d (7 times 9), a d and b c (9 times 7).
    largest = math.log(5 * 13)
    assert record["exact_epsilon"] == pytest.approx(largest, abs=1e-12)
    assert record["claimed_epsilon"] == HALF.epsilon == pytest.approx(largest, abs=1e-12)
    assert record["theorem_4_1"] == pytest.approx(2 * math.log(2))
    assert HALF.guarantees[0].epsilon == HALF.epsilon
    assert HALF.not_covered == HALF.passed == ()


@pytest.mark.parametrize("answers", ["view", "table"])
def test_tables_that_follow_the_estimates_stay_within_the_guarantee_of_the_floor(
    answers: Any,
) -> None:
    plan = CollectedPlan.from_schema(SCHEMA, None, 2, answers, 0.2, 150, keep=0.5)
    audited = plan.audit()
    assert audited["holds"].all()
    assert (audited["shipped_epsilon"] - audited["exact_epsilon"]).abs().max() < 1e-9
    # A table that reaches its floor attains the stated epsilon.
    record = audited["unit"] == "record"
    assert audited.loc[record, "exact_epsilon"].item() == plan.epsilon
    uniform = CollectedPlan.from_schema(SCHEMA, None, 2, answers, block=150, keep=0.5).audit()
    assert (audited["exact_epsilon"] > uniform["exact_epsilon"]).all()


def test_large_tables_are_audited_by_their_distinct_entries(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    by_entry = HALF.audit()
    monkeypatch.setattr("deniable.plans.collected.plan.MAX_CELLS_BY_ENTRY", 1)
    collected._ratios.cache_clear()
    by_distinct = HALF.audit()
    assert (by_distinct["shown_by"] != by_entry["shown_by"]).all()
    way = ["shown_by"]
    pd.testing.assert_frame_equal(by_distinct.drop(columns=way), by_entry.drop(columns=way))
    collected._ratios.cache_clear()


@given(epsilon=st.floats(0.05, 8), floor=st.none() | st.floats(0.05, 1))
def test_a_requested_epsilon_is_met(epsilon: float, floor: float | None) -> None:
    plan = CollectedPlan.from_schema(SCHEMA, epsilon, floor=floor)
    assert epsilon * (1 - 1e-9) <= plan.epsilon <= epsilon == plan.target


def test_a_target_below_the_exact_epsilon_is_refused() -> None:
    with pytest.raises(DeniableError, match="above the requested"):
        CollectedPlan(SCHEMA, 1.0, HALF.design)


# -- the answers -----------------------------------------------------------------------------------


def test_keyed_draws_repeat_and_other_plans_draw_other_answers() -> None:
    data = frame_of(some_records())
    drawn = [
        randomize(data, HALF, KeyedDraws(bytes(31) + bytes([key]), plan))
        for key, plan in ((1, b"one"), (1, b"one"), (2, b"one"), (1, b"other"))
    ]
    pd.testing.assert_frame_equal(drawn[0], drawn[1])
    assert (drawn[0]["reports"] != drawn[2]["reports"]).any()
    assert (drawn[0]["reports"] != drawn[3]["reports"]).any()


def test_a_public_part_of_the_respondents_answers() -> None:
    plan = CollectedPlan(SCHEMA, HALF.target, HALF.design, part=Part(2, 1, "spring"))
    answers = answers_of(plan, 601)
    assert plan.responses(answers).records == 300
    other = CollectedPlan(SCHEMA, HALF.target, HALF.design, part=Part(2, 2, "spring"))
    assert other.responses(answers_of(other, 601)).records == 301


# -- the document ----------------------------------------------------------------------------------

PLANS = {
    "of epsilon": CollectedPlan.from_schema(SCHEMA, 1.7),
    "with a floor": CollectedPlan.from_schema(SCHEMA, 0.9, 3, "table", 0.3, 77),
    "of retention": CollectedPlan.from_schema(SCHEMA, keep=0.1),
}


@pytest.mark.parametrize("plan", PLANS.values(), ids=PLANS)
def test_a_plan_is_read_as_it_was_written_bit_by_bit(plan: CollectedPlan, tmp_path: Path) -> None:
    write_plan(tmp_path / "plan.json", plan)
    again = read_plan(tmp_path / "plan.json")
    assert isinstance(again, CollectedPlan)
    assert plan_to_json(again) == plan_to_json(plan) == json.loads(json.dumps(plan_to_json(plan)))
    assert again.epsilon == plan.epsilon
    assert [vars(t)["keep"] for t in again.design.tables.values()] == [
        t.keep for t in plan.design.tables.values()
    ]
    pd.testing.assert_frame_equal(answers_of(plan), answers_of(again))
    assert verify_plan(tmp_path / "plan.json")["holds"].all()


def _larger_p(values: dict[str, Any]) -> None:
    values["collected"]["questions"][0]["tables"][0]["p"] = "3/4"


def _rounded_p(values: dict[str, Any]) -> None:
    values["collected"]["questions"][0]["tables"][0]["p"] = "0.5"


def _smaller_epsilon(values: dict[str, Any]) -> None:
    values["epsilon"]["record"] /= 2


def _unknown(values: dict[str, Any]) -> None:
    values["collected"]["rule"] = "pooled"


def _other_block(values: dict[str, Any]) -> None:
    values["collected"]["block"] = 0


def _no_floor(values: dict[str, Any]) -> None:
    values["collected"] |= {"floor": "0", "update": "pooled"}
    values["epsilon"]["record"] = "inf"


EDITS = [_larger_p, _rounded_p, _smaller_epsilon, _unknown, _other_block, _no_floor]


@pytest.mark.parametrize("edit", EDITS)
def test_an_edited_document_is_refused(edit: Any) -> None:
    values = copy.deepcopy(plan_to_json(HALF))
    edit(values)
    with pytest.raises(DataError, match="the floor is 0" if edit is _no_floor else None):
        plan_from_json(values)


# -- settings --------------------------------------------------------------------------------------


def made(**settings: Any) -> CollectedPlan:
    return CollectedSettings.model_validate({"kind": "collected"} | settings).plan(
        PlanInputs(SCHEMA)
    )


def test_settings_make_the_plan_that_they_state() -> None:
    plan = made(p=0.5, block=150)
    assert plan_to_json(plan) == plan_to_json(HALF)
    some = made(epsilon=1.0, columns=["a", "c", "d"], size=3, answers="table")
    assert some.design.domain.names == ("a", "c", "d")
    assert list(some.design.tables) == [("a", "c", "d")]
    assert len(answers_of(some)) == 16
    moving = made(epsilon=1.0, update="pooled", floor=0.25)
    assert moving.design.floor == 0.25


@pytest.mark.parametrize(
    ("settings", "words"),
    [
        ({}, "none of p and epsilon given"),
        ({"p": 0.5, "epsilon": 1.0}, "p and epsilon of p and epsilon given"),
        ({"p": 0.5, "update": "pooled"}, "floor is missing"),
        ({"p": 0.5, "floor": 0.5}, "floor: 0.5"),
        ({"p": 1.0}, "less than 1"),
        ({"p": 0.5, "q": 1}, "Extra inputs"),
    ],
)
def test_impossible_settings_are_refused(settings: dict[str, Any], words: str) -> None:
    with pytest.raises(ValidationError, match=words):
        made(**settings)
    with pytest.raises(DeniableError, match="unknown column 'x'"):
        made(p=0.5, columns=["a", "x"])


def test_unaccepted_risks_are_refused() -> None:
    drafted = copy.deepcopy(SCHEMA.to_json())
    drafted["columns"][0]["status"] = "drafted"
    settings = CollectedSettings(kind="collected", p=0.5)
    with pytest.raises(DeniableError, match="drafted"):
        settings.plan(PlanInputs(schema_from_dict(drafted)))
    plan = settings.plan(PlanInputs(schema_from_dict(drafted), accept=("drafted",)))
    assert plan.not_covered


# -- test releases ---------------------------------------------------------------------------------


def test_a_test_release_is_compared_with_the_original_data() -> None:
    data = drawn_file("survey", lambda name: from_resources(name, NETWORKS))
    plan = CollectedPlan.from_schema(schema_of(data.domain), keep=0.8)
    answers = randomize(frame_of(data), plan, np.random.default_rng(1))
    responses = plan.responses(pa.Table.from_pandas(answers))
    found = plan.compare_with_original(responses, data, {}, np.random.default_rng(1))
    compared = found.set_index("columns")
    for names in plan.design.tables:
        estimate = responses.answers_about(names).estimate().reshape(data.counts(names).shape)
        true = data.counts(names) / len(data)
        row = compared.loc[" x ".join(names)]
        assert row["l2_estimate"] == pytest.approx(math.sqrt(((estimate - true) ** 2).sum()))
        pearson = stats.chi2_contingency(data.counts(names), correction=False)
        assert row["original_p_value"] == pytest.approx(pearson.pvalue, rel=1e-6)
        smaller = min(true.shape) - 1
        v = math.sqrt(pearson.statistic / len(data) / smaller)
        assert row["original_cramers_v"] == pytest.approx(v, rel=1e-6)
        assert 0 <= row["covered"] <= 1


def test_attributes_of_one_category_are_no_obstacle() -> None:
    domain = Domain((*DOMAIN.attributes[:2], *(Attribute(name, ("only",)) for name in "kl")))
    plan = CollectedPlan.from_schema(schema_of(domain), 1.0)
    assert plan.design.tables["k", "l"].epsilon == plan.design.tables["k", "l"].claimed_epsilon == 0
    assert plan.audit()["holds"].all()
    data = some_records(200, domain=domain)
    responses = plan.responses(randomize(frame_of(data), plan, np.random.default_rng(1)))
    compared = plan.compare_with_original(responses, data, {}, np.random.default_rng(1))
    assert compared.set_index("columns").loc["k x l", "l2_estimate"] == pytest.approx(0)


# -- every client answers about all pairs ([multirr], 4.3) -----------------------------------------

BITS = Domain(tuple(Attribute(name, ("0", "1")) for name in "abc"))


def test_epsilon_of_a_client_that_answers_about_all_pairs_equals_an_enumeration() -> None:
    plan = CollectedPlan.from_schema(schema_of(BITS), 1.0, answers="all")
    (question,) = plan.design.questions
    assert question == (("a", "b"), ("a", "c"), ("b", "c"))
    probabilities: dict[tuple[int, ...], dict[Any, Fraction]] = {}
    for record in product((0, 1), repeat=3):
        values = dict(zip("abc", record, strict=True))
        answers: dict[tuple[Any, ...], Fraction] = {(): Fraction(1)}
        for names in question:
            p, true = Fraction(plan.design.tables[names].keep), tuple(values[n] for n in names)
            answers = {
                (*before, cell): weight * ((1 - p) / 4 + (p if cell == true else 0))
                for before, weight in answers.items()
                for cell in product((0, 1), repeat=2)
            }
        assert sum(answers.values()) == 1
        probabilities[record] = answers
    largest = max(
        math.log(max(first[each] / second[each] for each in first))
        for first, second in product(probabilities.values(), repeat=2)
    )
    assert largest == pytest.approx(plan.epsilon, abs=1e-12)
    assert plan.epsilon == pytest.approx(1.0)
    assert plan.audit()["holds"].all()
    # The answers of a client have this very distribution: all three of them, at once.
    number = 600
    same = Microdata(BITS, tuple(np.full(number, code) for code in (0, 1, 1)))
    alone = replace(plan.design, block=1)
    collected, _ = collect_answers(alone, same, KeyedDraws(bytes(32), b"a plan"))
    own = collected[collected["reports"] == 1].groupby("block")["categories"]
    drawn = Counter(tuple(tuple(map(int, x.split(" x "))) for x in cells) for _, cells in own)
    expected = probabilities[0, 1, 1]
    counts = np.array([drawn[each] for each in expected])
    exact = number * np.array([float(each) for each in expected.values()])
    assert stats.chi2.sf(((counts - exact) ** 2 / exact).sum(), len(exact) - 1) > FALSE_ALARMS


def test_intervals_of_all_pairs_cover_and_clusters_are_found_from_them() -> None:
    """60 collections; at least as many cover as a binomial of .93 does but for FALSE_ALARMS."""
    plan = CollectedPlan.from_schema(SCHEMA, 8.0, answers="all")
    true, covered = some_records(3000), dict.fromkeys(("a", "a x b"), 0)
    frame, clusters = frame_of(true), ClustersSettings(source="first", t_v=6, t_d=0.3)
    for seed in range(60):
        released = Released(randomize(frame, plan, np.random.default_rng(seed)), plan)
        assert released.records == 3000
        for label in covered:
            names = label.split(" x ")
            row = released.table(names, target="file").iloc[0]
            exact = true.counts(names).reshape(-1)[0] / 3000
            covered[label] += row["ci_low"] <= exact <= row["ci_high"]
    assert min(covered.values()) >= stats.binom.ppf(FALSE_ALARMS / 2, 60, 0.93), covered
    found = clusters.find(PlanInputs(SCHEMA, released={"first": released.responses}))
    assert found == ((("a", "b"),), "randomized answers")
    direct = clusters.model_copy(update={"by": "attributes"})
    with pytest.raises(DeniableError, match="are not their categories"):
        direct.find(PlanInputs(SCHEMA, released={"first": released.responses}))
