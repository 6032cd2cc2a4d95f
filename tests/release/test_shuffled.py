"""Epsilon and delta of a shuffled file: where they are stated, and where they are null."""

import json
import math
import os
from collections.abc import Sequence
from dataclasses import replace
from fractions import Fraction
from pathlib import Path
from typing import Any

import pandas as pd
import pytest
from tests.release.small_releases import (
    KINDS,
    known_key,
    made,
    new_entry,
    plan_for,
    records,
    schema,
)

from deniable.errors import DeniableError
from deniable.files import read_json
from deniable.plans import MaskedPlan, MixedPlan, Plan, make_plan, make_questionnaire
from deniable.privacy import default_delta, shuffled_epsilon, shuffled_guarantee
from deniable.release import Entry, Ledger, RecordDigests, protect_test
from deniable.release.counting import shuffled_total
from deniable.release.counting.entries import RowOrder, content_of, entry_from
from deniable.release.shuffled import shuffled_file
from deniable.schema import Part, Schema, schema_from_dict

N = 10_000
HOLDS = ("columns", "columns of text", "cluster", "other values")
PEOPLE = RecordDigests("aa", N, (5, 7))


def with_columns(*more: dict[str, Any], **changes: Any) -> Schema:
    """Return a schema with a column `a` with `changes`, a column `b`, and further columns."""
    own = {"kind": "categorical", "categories": ["x", "y"]}
    columns = [{"name": "a", **own, **changes}, {"name": "b", **own}, *more]
    about = {"format": "deniable-schema", "population": "all", "file": {"kind": "csv"}}
    return schema_from_dict(about | {"columns": columns})


def figure(plan: Plan, count: int = N) -> tuple[float, float]:
    """Return the epsilon and delta that hold for the whole file."""
    found = shuffled_file(plan, count)
    assert found["reasons"] == []
    assert found["records"] == count
    return found["epsilon"], found["delta"]


# -- conditions ------------------------------------------------------------------------------------


@pytest.mark.parametrize("kind", HOLDS)
def test_rows_that_are_randomized_one_by_one_have_it(kind: str) -> None:
    plan = plan_for(kind, 4.0)
    assert plan.row_by_row
    delta = default_delta(N)
    assert figure(plan) == (shuffled_epsilon(plan.epsilon, N, delta), delta)


def test_noise_per_value_and_numbers_next_to_categories_have_it() -> None:
    own = schema("parquet", numbers=True)
    noise = MaskedPlan.from_schema(own, 2.0, "dp")
    both = MixedPlan.of(noise, make_plan(own.only(["a", "b", "c", "d"]), 2.0))
    for plan in (noise, both):
        assert figure(plan)[0] == shuffled_epsilon(plan.epsilon, N)
    assert figure(noise)[0] < figure(both)[0]


def test_a_split_questionnaire_has_it_with_the_epsilon_of_a_record() -> None:
    """The form is drawn with the response, so it is a part of one randomizer of the record."""
    plan = make_questionnaire(schema("parquet"), 2.0, ask=1)
    assert figure(plan)[0] == shuffled_epsilon(2.0, N)


def test_clusters_from_randomized_answers_have_it_for_their_part() -> None:
    plan = replace(plan_for("cluster", 4.0), chosen_from="randomized answers", part=Part(2, 2, "s"))
    assert figure(plan, N // 2)[0] > figure(replace(plan, part=None))[0]


@pytest.mark.parametrize(
    ("plan", "reason"),
    [
        (plan_for("centroids"), "no finite epsilon is proved"),
        (plan_for("histograms"), "not drawn one by one"),
        (plan_for("views"), "not drawn one by one"),
        (plan_for("pooled tables"), "no random order"),
        (plan_for("columns", order="as_in_file"), "no random order"),
        (
            make_plan(with_columns(status="drafted"), 2, accept=["drafted"]),
            "drafted from the records",
        ),
        (
            make_plan(with_columns(missing={"policy": "drop"}), 2, accept=["records_dropped"]),
            "records with missing values are left out",
        ),
        (
            make_plan(
                with_columns({"name": "w", "kind": "weight"}), 2, accept=["weights_released"]
            ),
            "weights are released unchanged",
        ),
        (
            make_plan(
                with_columns({"name": "id", "kind": "identifier"}),
                2,
                accept=["identifiers_released"],
            ),
            "identifiers are released unchanged",
        ),
        (
            replace(
                plan_for("columns", accept=["chosen_by_data"]), chosen_from="the data, by a curator"
            ),
            "chosen by the original records",
        ),
    ],
)
def test_each_broken_condition_has_null_and_its_reason(plan: Plan, reason: str) -> None:
    found = shuffled_file(plan, N, 1000)
    assert found["epsilon"] is found["delta"] is None
    assert any(reason in each for each in found["reasons"])
    assert "within" not in found


@pytest.mark.parametrize("kind", ["strata", "numbers"])
def test_groups_that_are_released_unchanged_have_it_within_the_smallest(kind: str) -> None:
    """Strata, or the public class of masked numbers."""
    plan = plan_for(kind)
    found = shuffled_file(plan, N, 1000)
    assert found["epsilon"] is found["delta"] is None
    assert found["reasons"] == ["c is released unchanged, so a row is hidden only within its group"]
    within = found["within"]
    assert (within["columns"], within["records"]) == (["c"], 1000)
    assert within["epsilon"] == shuffled_epsilon(plan.epsilon, 1000)
    assert "within" not in shuffled_file(plan, N)  # the smallest group is unknown


def test_a_bound_that_is_not_below_the_local_epsilon_is_null() -> None:
    found = shuffled_file(plan_for("columns", 8.0), 10_000)
    assert found["epsilon"] is None
    assert "not below the epsilon of a row" in found["reasons"][0]


def test_units_of_several_records_have_it_as_groups() -> None:
    """As k epsilon and k exp((k - 1) epsilon) delta, unless delta reaches 1 / n."""
    about = with_columns({"name": "home", "kind": "unit", "records_per_unit": 3})
    found = figure(make_plan(about, 6.0))  # each of three records has 2
    once = shuffled_epsilon(2.0, N) or 0.0
    assert found[0] == pytest.approx(3 * once)
    assert found[1] == pytest.approx(3 * math.exp(2 * once) * 1e-6)
    for most in (40, 9999):
        many = with_columns({"name": "home", "kind": "unit", "records_per_unit": most})
        block = shuffled_file(make_plan(many, 2.0 * most), N)
        assert block["epsilon"] is None
        assert "units of so many" in block["reasons"][0]


# -- where it is stated ----------------------------------------------------------------------------


def test_a_release_states_it_in_its_plan_and_in_words(tmp_path: Path) -> None:
    public = made("columns", tmp_path)
    block = json.loads(public["plan.json"])["release"]["shuffled"]
    assert block == {"epsilon": shuffled_epsilon(2.0, 700), "delta": 1e-6, "records": 700} | {
        "reasons": []
    }
    factor = math.ceil(100 * math.exp(block["epsilon"])) / 100
    text = " ".join(public["README.txt"].decode().split())
    assert (
        "Statement of the whole file, for somebody who has only this folder and cannot see which "
        "row is yours. Replacing your whole record changes the probability of any result by at "
        f"most a factor of {factor:.2f} (epsilon = {block['epsilon']}), apart from a probability "
        "of at most one in 1,000,000 (delta = 1e-06). It does not hold against the data owner or "
        "anybody with the original file, its order or the key."
    ) in text
    row = text.index("Statement of one row, for respondents: whatever somebody knows, even which")
    assert row < text.index("Statement of the whole file")


def test_a_release_with_strata_counts_its_smallest_stratum(tmp_path: Path) -> None:
    public = made("strata", tmp_path)
    block = json.loads(public["plan.json"])["release"]["shuffled"]
    smallest = int(records()["c"].value_counts().min())
    assert (block["epsilon"], block["within"]["records"]) == (None, smallest)
    text = " ".join(public["README.txt"].decode().split())
    assert f"Statement of the file within groups by c, of at least {smallest} records" in text
    assert "Replacing your whole record except c changes" in text


def test_a_part_of_the_respondents_counts_its_own_rows(tmp_path: Path) -> None:
    plan = replace(plan_for("columns"), part=Part(3, 1, "seed"))
    public = made("columns", tmp_path, plan=plan)
    block = json.loads(public["plan.json"])["release"]["shuffled"]
    assert block["records"] == 233
    assert block["epsilon"] == shuffled_epsilon(2.0, 233)
    assert "Statement of the whole file of part 1 of 3, for" in public["README.txt"].decode()
    (entry,) = Ledger(tmp_path / "ledger").entries("people")
    assert entry.answering == 233


@pytest.mark.parametrize("kind", KINDS)
def test_a_test_release_of_any_kind_has_null(kind: str, tmp_path: Path) -> None:
    plan = plan_for(kind)
    source = tmp_path / f"records.{plan.schema.file.kind}"
    write = {"csv": pd.DataFrame.to_csv, "parquet": pd.DataFrame.to_parquet}
    if plan.schema.file.kind == "arrow":
        pytest.skip("the same as Parquet")
    write[plan.schema.file.kind](records(), source, index=False)
    protect_test(source, plan, tmp_path / "small", 1)
    block = read_json(tmp_path / "small" / "public" / "plan.json")["release"]["shuffled"]
    assert block["epsilon"] is block["delta"] is None
    assert block["reasons"][0] == "the seed of this test release gives the order of the rows"
    assert "No other statement holds for the whole file: the seed" in " ".join(
        (tmp_path / "small" / "public" / "README.txt").read_text().split()
    )


# -- composition -----------------------------------------------------------------------------------


def reserved(
    ledger: Ledger,
    release: str,
    order: str,
    matched: Sequence[str] = (),
    local: int | None = 4,
    **more: Any,
) -> Entry:
    """Count a release of epsilon 4, with the consent that it needs."""
    facts = None
    if local is not None or matched:
        exact = None if local is None else Fraction(local)
        facts = RowOrder(exact, order, tuple(matched), more.pop("unit", 1))
    consent = None
    for _ in range(2):
        try:
            new = new_entry("all", release, "plan", PEOPLE, 4, more.get("part"), row_order=facts)
            return ledger.reserve(new, consent)
        except DeniableError as error:
            consent = str(error).split("give the consent '")[1].split("'")[0]
    raise AssertionError


@pytest.fixture
def ledger(tmp_path: Path) -> Ledger:
    return Ledger.init(tmp_path / "ledger")


def test_independent_releases_add(ledger: Ledger) -> None:
    reserved(ledger, "a", "1")
    reserved(ledger, "b", "2")
    epsilon, delta = shuffled_total(ledger.entries("all"))
    assert epsilon == 2 * Fraction(str(shuffled_epsilon(4, N, 1e-6)))
    assert math.ceil(100 * epsilon) == 121
    assert float(delta) == pytest.approx(2e-6)
    assert ledger.total("all") == 8


@pytest.mark.parametrize("stated", [True, False])
def test_rows_that_can_be_matched_are_one_record(ledger: Ledger, stated: bool) -> None:
    """By the owner's statement, or by one order of a key."""
    reserved(ledger, "a", "1")
    reserved(ledger, "b", "2" if stated else "1", ["a"] if stated else [])
    assert shuffled_total(ledger.entries("all")) == (8, 0)
    assert shuffled_epsilon(8, N, 1e-6) is None


def test_matched_releases_are_amplified_after_their_sum(ledger: Ledger) -> None:
    reserved(ledger, "a", "1", local=1)
    reserved(ledger, "b", "2", ["a"], local=1)
    reserved(ledger, "c", "3", local=2)
    once = Fraction(str(shuffled_epsilon(2, N, 1e-6)))
    assert shuffled_total(ledger.entries("all")) == (2 * once, 2 * Fraction(1e-6))


def test_one_release_can_match_two_others(ledger: Ledger) -> None:
    for name, matched in (("a", []), ("b", []), ("c", ["a", "b"])):
        reserved(ledger, name, name, matched, local=1)
    assert shuffled_total(ledger.entries("all"))[0] == Fraction(str(shuffled_epsilon(3, N, 1e-6)))


def test_a_release_without_the_figure_counts_with_its_local_epsilon(ledger: Ledger) -> None:
    reserved(ledger, "a", "1")
    reserved(ledger, "b", "", local=None)
    once = Fraction(str(shuffled_epsilon(4, N, 1e-6)))
    assert shuffled_total(ledger.entries("all")) == (once + 4, Fraction(1e-6))
    reserved(ledger, "c", "3", ["a"], local=None)  # so the order of the first one is not secret
    assert shuffled_total(ledger.entries("all")) == (12, 0)


def test_parts_of_the_respondents_count_by_their_maximum(ledger: Ledger) -> None:
    for take in (1, 2):
        reserved(ledger, f"part {take}".replace(" ", "-"), str(take), part=Part(2, take, "s"))
    epsilon, delta = shuffled_total(ledger.entries("all"))
    assert epsilon == Fraction(str(shuffled_epsilon(4, N // 2, 1e-6)))
    assert delta == Fraction(1e-6)


def test_units_of_several_records_count_as_groups(ledger: Ledger) -> None:
    reserved(ledger, "a", "1", unit=3)
    found = shuffled_guarantee(4, N, 3)
    assert found is not None
    assert shuffled_total(ledger.entries("all")) == (found[0], Fraction(found[1]))


def test_two_releases_with_one_key_have_one_order(tmp_path: Path) -> None:
    """The same plan, records and key give the same order, which the entries show."""
    key = os.urandom(1)[0]
    for name in ("one", "two"):
        consent = None
        if name == "two":
            consent = "release 2 of people named two, total epsilon 4"
        made("columns", tmp_path, known_key(tmp_path, name, key), name=name, consent=consent)
    ledger = Ledger(tmp_path / "ledger")
    first, second = ledger.entries("people")
    assert first.row_order is not None
    assert first.row_order == second.row_order
    assert shuffled_total(ledger.entries("people")) == (4, 0)  # no amplification of 700 records


def test_an_owner_states_matched_releases(tmp_path: Path) -> None:
    made("columns", tmp_path, name="one")
    consent = "release 2 of people named two, total epsilon 4"
    with pytest.raises(DeniableError, match="unknown earlier release 'none'; use one"):
        made("columns", tmp_path, name="two", consent=consent, matched=["none"])
    made("columns", tmp_path, name="two", consent=consent, matched=["one"])
    ledger = Ledger(tmp_path / "ledger")
    _, second = ledger.entries("people")
    assert shuffled_total(ledger.entries("people")) == (4, 0)
    with pytest.raises(DeniableError, match="other matched releases"):
        ledger.reserve(new_entry("people", "two", "", second.records, 2), consent)


# -- entries of the ledger -------------------------------------------------------------------------

OLD = (
    b'{"format": 3, "number": 1, "population": "survey", "release": "first", "plan": "6f1a", '
    b'"time": "2026-11-27T19:00:00+00:00", "before": "", "epsilon": "1.5", '
    b'"part": {"of": 2, "take": 1, "seed": "s"}, "records": {"whole": "5ee1", "number": 2, '
    b'"rows": "0000000000000011000000000000002c", "columns": "0000000000000003", '
    b'"identifiers": []}}\n'
    b"c387d39365d458c79948bcd2027b589ada15f0bc581cc146e4f617fc46f6bbf1\n"
)
"""An entry of the version before the order of rows was counted, under the key k."""


def test_entries_of_the_former_format_are_read_and_keep_their_bytes() -> None:
    key = b"k" * 32
    entry = entry_from(Path("000001.json"), OLD, key, "survey", 1)
    assert entry.row_order is None
    assert content_of(entry, key) == OLD


def test_entries_with_an_order_have_a_format_of_their_own() -> None:
    key = b"k" * 32
    old = entry_from(Path("000001.json"), OLD, key, "survey", 1)
    for exact in (None, Fraction(3, 2), Fraction(1, 3)):
        new = replace(old, row_order=RowOrder(exact, "aa", ("b", "c"), 2))
        content = content_of(new, key)
        assert content.startswith(b'{"format": 4, ')
        assert entry_from(Path("000001.json"), content, key, "survey", 1) == new
