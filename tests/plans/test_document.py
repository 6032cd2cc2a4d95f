"""The JSON documents of plans: read back, compared with their channels, and audited."""

import json
import math
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from tests.plans.test_making import schema

from deniable.channels import KeepOrReplace, channel_to_json
from deniable.errors import DataError
from deniable.plans import (
    AUDIT_COLUMNS,
    ColumnsPlan,
    Plan,
    StrataPlan,
    make_plan,
    plan_from_json,
    plan_from_protocol,
    plan_to_json,
    read_plan,
    verify_plan,
    write_plan,
)
from deniable.pram import StratifiedProtocol
from deniable.randomized_response import Protocol
from deniable.records import Attribute, Domain
from deniable.schema import Part, Schema, schema_from_dict


def small_schema() -> Schema:
    columns = [{"name": n, "kind": "categorical", "categories": ["x", "y", "z"]} for n in "abc"]
    about = {"format": "deniable-schema", "population": "all", "file": {"kind": "arrow"}}
    return schema_from_dict(about | {"columns": columns})


def strata_plan() -> StrataPlan:
    epsilons = {("x",): 1.0, ("y",): 2.0, ("z",): 0.5}
    return StrataPlan.from_schema(small_schema(), ["a"], epsilons, joint=[["b", "c"]])


@pytest.fixture
def written(tmp_path: Path) -> Path:
    path = tmp_path / "plan.json"
    write_plan(path, make_plan(schema(), 3.0, clusters=[("sex", "region")]))
    return path


def change(path: Path, edit: Any) -> None:
    values = json.loads(path.read_text())
    edit(values)
    path.write_text(json.dumps(values))


def test_a_plan_holds(written: Path) -> None:
    table = verify_plan(written)
    assert tuple(table.columns) == AUDIT_COLUMNS
    assert table["holds"].all()
    assert list(zip(table["unit"], table["of"], strict=True)) == [
        ("block", "sex x region"),
        ("block", "age"),
        ("block", "one"),
        ("attribute", "sex"),
        ("attribute", "region"),
        ("attribute", "age"),
        ("attribute", "one"),
        ("record", "all attributes"),
        ("record, target", "all attributes"),
    ]
    assert (table["claimed_epsilon"] == table["exact_epsilon"])[:-1].all()
    total = math.fsum(table["exact_epsilon"][:3])
    assert table["exact_epsilon"].iloc[-2] == pytest.approx(total, rel=1e-15)
    np.testing.assert_allclose(table["shipped_epsilon"], table["exact_epsilon"], rtol=1e-12)


def test_within_strata_the_worst_stratum_decides(tmp_path: Path) -> None:
    write_plan(tmp_path / "plan.json", strata_plan())
    table = verify_plan(tmp_path / "plan.json")
    assert table["holds"].all()
    found = table.set_index(["unit", "of"])["exact_epsilon"]
    assert found["block", "b x c in y"] == found["record", "all attributes"] == 2.0
    assert found["block", "b x c in z"] == pytest.approx(0.5, rel=1e-15)
    assert found["attribute", "b"] == found["attribute", "c"] == 2.0
    assert found["attribute", "a"] == math.inf


@pytest.mark.parametrize(
    "plan", [make_plan(schema(), 3.0), strata_plan()], ids=["columns", "strata"]
)
def test_what_is_read_back_is_the_same_plan(plan: Plan, tmp_path: Path) -> None:
    write_plan(tmp_path / "plan.json", plan)
    again = read_plan(tmp_path / "plan.json")
    assert type(again) is type(plan)
    assert plan_to_json(again) == plan_to_json(plan)
    with_release = plan_to_json(plan) | {"release": {"name": "x", "mode": "test"}}
    assert plan_to_json(plan_from_json(with_release)) == plan_to_json(plan)


def test_the_part_of_the_respondents_and_accepted_risks_are_read_back() -> None:
    domain = Domain((Attribute("sex", ("F", "M")),))
    protocol = Protocol(domain, (("sex",),), (KeepOrReplace.of_epsilon(2, 1.0),))
    plan = plan_from_protocol(
        protocol, chosen_from="the data, by a curator", accept=["chosen_by_data"]
    )
    values = plan_to_json(plan)
    assert values["risks"].keys() == {"chosen_by_data"}
    assert len(values["guarantees"][0]["conditions"]) == 1
    given = values | {"part": {"of": 2, "take": 1, "seed": "public"}}
    assert plan_from_json(given).part == Part(2, 1, "public")


@pytest.mark.parametrize(
    ("edit", "words"),
    [
        (lambda plan: plan["epsilon"].update(record=2.9), "epsilon.record is 2.9"),
        (lambda plan: plan["guarantees"][0].update(epsilon=2.9), "guarantees\\[0\\].epsilon"),
        (lambda plan: plan["guarantees"][0].update(unit="one cell"), "guarantees\\[0\\].unit"),
        (lambda plan: plan.update(not_covered=["nothing"]), "not_covered"),
        (lambda plan: plan.update(risks={"drafted": "none"}), "unknown field 'risks.drafted'"),
        (lambda plan: plan.pop("columns"), "'columns' is missing"),
        (lambda plan: plan["columns"]["clusters"].pop(), "each attribute belongs to one cluster"),
        (lambda plan: plan["columns"]["clusters"][0].update(epsilon=0.5), "epsilon is 0.5"),
        (lambda plan: plan["epsilon"]["by_changed_attribute"].pop("sex"), "is missing"),
        (lambda plan: plan.update(epsilon=3), "damaged or edited"),
        (lambda plan: plan.update(version=1), "a plan of version 1; this deniable reads"),
        (lambda plan: plan.update(kind="strata"), "'strata' is missing"),
        (lambda plan: plan.update(kind="rows"), "a plan of kind 'rows'; allowed: columns, strata"),
    ],
)
def test_a_document_that_states_other_things_is_refused(
    written: Path, edit: Any, words: str
) -> None:
    change(written, edit)
    with pytest.raises(DataError, match=words) as refused:
        verify_plan(written)
    assert str(written) in str(refused.value)


def test_a_channel_that_reveals_more_than_stated_is_refused(written: Path) -> None:
    channel = channel_to_json(KeepOrReplace.of_epsilon(24, 2.5))
    change(written, lambda plan: plan["columns"]["clusters"][0].update(channel=channel))
    with pytest.raises(DataError, match=r"above the requested 3\.0"):
        verify_plan(written)
    change(written, lambda plan: plan["epsilon"].update(target=9.0))
    with pytest.raises(DataError, match="follows from the plan"):
        verify_plan(written)


def test_a_channel_that_understates_its_own_epsilon_does_not_hold(
    written: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    plan = read_plan(written)
    assert isinstance(plan, ColumnsPlan)
    monkeypatch.setattr(KeepOrReplace, "exact_parity", property(lambda channel: 1))
    wrong = ColumnsPlan(plan.schema, plan.target, plan.protocol, plan.why)
    table = wrong.audit()
    failing = table.loc[~table["holds"], "of"].tolist()
    assert "sex x region" in failing
    assert "all attributes" in failing


def test_strata_of_other_categories_are_refused() -> None:
    values = plan_to_json(strata_plan())
    values["strata"]["strata"][0]["stratum"] = ["w"]
    with pytest.raises(DataError, match="'w'"):
        plan_from_json(values)
    lost = values["strata"]["strata"].pop(0)
    with pytest.raises(DataError, match=r"the stratum . has no matrix; make"):
        plan_from_json(values)
    with pytest.raises(DataError, match="not a plan, format deniable-plan"):
        plan_from_json(lost)


@pytest.mark.parametrize("text", ["", "[" * 100_000, "[]", "null", "NaN"])
def test_what_is_no_plan_is_refused(tmp_path: Path, text: str) -> None:
    path = tmp_path / "plan.json"
    path.write_text(text)
    with pytest.raises(DataError, match=str(path)):
        verify_plan(path)


def test_a_part_of_the_respondents_answers_and_parts_are_a_partition() -> None:
    parts = [Part(3, take, "seed").positions(11) for take in (1, 2, 3)]
    assert sorted(np.concatenate(parts).tolist()) == list(range(11))
    assert [part.size for part in parts] == [3, 4, 4]
    assert all((np.diff(part) > 0).all() for part in parts)
    assert parts[0].tolist() != Part(3, 1, "other").positions(11).tolist()


def test_protocols_within_strata_share_their_reasons() -> None:
    plan = strata_plan()
    assert isinstance(plan.protocol, StratifiedProtocol)
    assert plan.why == ("stated",)
    assert plan.blocks == (("b", "c"),)
