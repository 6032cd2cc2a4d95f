"""Settings of releases: one source, accepted risks, and words for old options."""

from pathlib import Path
from typing import Any

import pytest
from pydantic import ValidationError
from tests.release.small_releases import plan_for, schema

from deniable.errors import DeniableError
from deniable.files import sha256
from deniable.plans import make_plan, write_plan
from deniable.release import ReleaseSettings

PLAN = {"kind": "columns", "epsilon": 2.0}


def settings(**changes: Any) -> ReleaseSettings:
    given = {"name": "r", "data": "adult", "mode": "test", "plan": PLAN} | changes
    return ReleaseSettings.model_validate({n: v for n, v in given.items() if v is not None})


def test_a_production_release_of_a_data_set_names_its_population() -> None:
    assert settings().population is None
    with pytest.raises(ValidationError, match=r"population is missing; allowed: a name for the"):
        settings(mode="production")
    assert settings(mode="production", population="survey_2021").population == "survey_2021"
    with pytest.raises(ValidationError, match="population"):
        settings(mode="production", population="no name/of a file")
    with pytest.raises(ValidationError, match="mode"):
        settings(mode="rehearsal")


def test_records_come_from_one_source(tmp_path: Path) -> None:
    file = {"path": "people.csv", "schema": "people.yaml"}
    assert settings(data=None, file=file).inputs == []
    with pytest.raises(ValidationError, match="neither of data and file given"):
        settings(data=None)
    with pytest.raises(ValidationError, match="both of data and file given"):
        settings(file=file)
    with pytest.raises(ValidationError, match=r"file\.schema is missing"):
        settings(data=None, file={"path": "people.csv"})
    own = settings(data=None, file={"path": "people.csv"}, plan="plan.json")
    assert own.inputs == [own.plan_file] == ["plan.json"]


def test_the_owners_words_decide_nothing_that_is_drawn(tmp_path: Path) -> None:
    write_plan(tmp_path / "plan.json", plan_for("columns"))
    by_file = {"plan": str(tmp_path / "plan.json")}
    for given in ({}, by_file):
        stated = settings(**given).stated()
        same = settings(**given, consent="asked", quasi_identifiers=["a"], tables=[["a", "b"]])
        assert same.stated() == stated
        assert settings(**given, population="others").stated() != stated
    assert settings(plan=PLAN | {"epsilon": 1.0}).stated() != settings().stated()
    before = settings(**by_file).stated()
    write_plan(tmp_path / "plan.json", plan_for("columns", 1.0))
    assert settings(**by_file).stated() != before
    (tmp_path / "plan.json").unlink()
    assert settings(**by_file).stated()["plan"] is None
    # Jobs receive all of it, and make the same release.
    whole = settings(consent="asked")
    assert ReleaseSettings.model_validate(whole.model_dump(by_alias=True)) == whole


def test_files_of_a_plan_count_by_their_content(tmp_path: Path) -> None:
    files = {"a": str(tmp_path / "a.csv"), "b": str(tmp_path / "none.csv")}
    (tmp_path / "a.csv").write_text("a matrix")
    by_files = {"kind": "columns", "matrix": {"kind": "file", "files": files}}
    expected = {"a": sha256(tmp_path / "a.csv"), "b": None}
    assert settings(plan=by_files).stated()["plan"]["matrix"]["files"] == expected
    mixed = {"kind": "mixed", "numbers": {"method": "dp", "epsilon": 1.0}, "categories": by_files}
    stated = settings(plan=mixed).stated()["plan"]
    assert stated["categories"]["matrix"] == {"kind": "file", "files": expected}
    by_total = {"from": "secure_sum", "total": files["a"], "t_v": 10, "t_d": 0.1}
    clusters = settings(plan=PLAN | {"clusters": by_total}).stated()["plan"]["clusters"]
    assert clusters == by_total | {"total": expected["a"]}


def test_risks_are_accepted_by_name() -> None:
    risky = schema().to_json()
    risky["columns"][0]["missing"] = {"values": ["?"], "policy": "drop"}
    plan = make_plan(type(schema()).model_validate(risky), 2.0, accept=["records_dropped"])
    settings(accept=["records_dropped"]).refuse_another_plan(plan)
    with pytest.raises(DeniableError, match=r"records_dropped \(.*accept: \[records_dropped\]"):
        settings().refuse_another_plan(plan)
    safe = plan_for("columns")
    settings().refuse_another_plan(safe)
    with pytest.raises(DeniableError, match="'drafted' is not a risk of its plan; allowed: none"):
        settings(accept=["drafted"]).refuse_another_plan(safe)
    with pytest.raises(DeniableError, match="population: 'others'; allowed: 'people'"):
        settings(population="others").refuse_another_plan(safe)
