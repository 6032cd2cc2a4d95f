"""Which results are outdated is read from the metadata next to them, not from times of files."""

import json
from pathlib import Path
from typing import Any

import pytest

from deniable.files import sha256, write_json, write_text

from reproduction.pipeline import code_digest
from reproduction.pipeline.outdated import reasons_of, settings_now
from reproduction.pipeline.plan import RunPlan
from reproduction.pipeline.provenance import WITHHELD

ROOT = Path(__file__).resolve().parents[3]
CHUNK = "results/studies/multirr_fig2/chunk-0-of-1.csv"
PLAN = {"kind": "columns", "columns": ["sex"], "p": 0.5, "matrix": "keep"}
RELEASE = {"name": "own", "data": "adult", "mode": "test", "plan": PLAN}


@pytest.fixture
def values(config_values: dict[str, Any]) -> dict[str, Any]:
    return config_values | {"releases": [RELEASE]}


@pytest.fixture(autouse=True)
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.chdir(tmp_path)
    monkeypatch.delenv("DENIABLE_DATA_MIRROR", raising=False)
    return tmp_path


def plan_of(values: dict[str, Any]) -> RunPlan:
    return RunPlan.recall(values, ROOT)


def record(plan: RunPlan, file: str, **params: Any) -> dict[str, Any]:
    """Return the record of a result that was made as a plan says."""
    asked = json.loads(json.dumps({k: v for k, v in params.items() if k != "code"}))
    return {"file": file, "asked": asked, "made_once": False, "parts": {}, "inputs": {}}


def records_of(plan: RunPlan) -> list[dict[str, Any]]:
    """Return the record of one result of each kind."""
    study, seed = plan.settings("studies", "multirr_fig2"), plan.config.seed
    section = "studies.multirr_fig2"
    whole = plan.config.model_dump(exclude={"data", "keys", "ledger"})
    source = plan.source("wine")
    return [
        record(plan, CHUNK, study=study, section=section, seed=seed, code="c"),
        record(plan, "results/tables/multirr_fig2.csv", study=study, section=section),
        record(
            plan,
            "results/tables/multirr_secure_sum.csv",
            settings=plan.settings("analyses", "multirr_secure_sum"),
            section="analyses.multirr_secure_sum",
            seed=seed,
        ),
        record(plan, "results/releases/own/public", release=plan.settings("releases", "own")),
        record(plan, "results/report", config=whole),
        record(plan, source, **plan.download_settings("winequality-white.csv")),
        record(plan, "results/audit/privacy.csv"),
    ]


def test_what_was_made_as_it_would_be_now_is_up_to_date(values: dict[str, Any]) -> None:
    plan = plan_of(values)
    for each in records_of(plan):
        assert reasons_of(plan, each) == []
        assert settings_now(plan, each) == each["asked"]


def test_another_setting_is_named_with_both_values(values: dict[str, Any]) -> None:
    before = records_of(plan_of(values))
    fig2 = values["studies"]["multirr_fig2"] | {"replicates": 77}
    values["studies"] = values["studies"] | {"multirr_fig2": fig2}
    summed = values["analyses"]["multirr_secure_sum"] | {"fault_trials": 3}
    values["analyses"] = values["analyses"] | {"multirr_secure_sum": summed}
    values["data"] = {"source": "surrogate"}
    values["releases"] = [RELEASE | {"plan": PLAN | {"p": 0.25}}]
    plan = plan_of(values)
    chunk, table, analysis, release, report, source, audit = (reasons_of(plan, e) for e in before)
    assert chunk == table == ["study.replicates: made with 250, now 77"]
    assert analysis == ["settings.fault_trials: made with 200, now 3"]
    assert release == ["release.plan.p: made with 0.5, now 0.25"]
    assert {each.partition(":")[0] for each in report} == {
        "config.studies.multirr_fig2.replicates",
        "config.analyses.multirr_secure_sum.fault_trials",
        "config.releases[0].plan.p",
    }
    assert source == ["source: made with 'auto', now 'surrogate'"]
    assert audit == []


def test_settings_of_a_part_of_an_analysis_are_found_by_their_section(
    values: dict[str, Any],
) -> None:
    plan = plan_of(values)
    settings = plan.settings("analyses", "idp_attacks")
    named = {"settings": settings, "section": "analyses.idp_attacks"}
    part = record(plan, "results/tables/idp_protection.csv", **named)
    assert settings_now(plan, part) == part["asked"]
    changed = values["analyses"]["idp_attacks"] | {"runs": 12345}
    values["analyses"] = values["analyses"] | {"idp_attacks": changed}
    (reason,) = reasons_of(plan_of(values), part)
    assert reason.endswith("now 12345")
    # Another analysis has these options too.
    unknown = record(plan, "results/tables/unknown.csv", settings={"epsilons": [0.5]})
    assert reasons_of(plan, unknown) == []
    gone = record(plan, "results/tables/gone.csv", settings={}, section="analyses.gone")
    assert reasons_of(plan, gone) == []


def test_another_seed_is_named_where_something_is_drawn(values: dict[str, Any]) -> None:
    before = records_of(plan_of(values))
    seed = values["seed"]
    plan = plan_of(values | {"seed": 5})
    reasons = {each["file"]: reasons_of(plan, each) for each in before}
    assert reasons[CHUNK] == [f"seed: made with {seed}, now 5"]
    assert reasons["results/tables/multirr_fig2.csv"] == []


def test_settings_that_came_or_went_are_named_and_of_many_a_few(values: dict[str, Any]) -> None:
    plan = plan_of(values)
    study = plan.settings("studies", "multirr_fig2")
    section = "studies.multirr_fig2"
    gone = record(plan, CHUNK, study=study | {"earlier": 1}, section=section)
    assert reasons_of(plan, gone) == ["study.earlier: made with 1, now 'nothing'"]
    grids = [{"p": [n / 10 for n in range(1, 9)]}]
    many = reasons_of(plan, record(plan, CHUNK, study=study | {"grids": grids}, section=section))
    assert len(many) == 4
    assert many[-1].endswith("more settings")
    left = values | {"releases": [], "studies": {}}
    assert reasons_of(plan_of(left), records_of(plan)[0])
    assert reasons_of(plan_of(left), records_of(plan)[3])


def test_other_code_and_other_inputs_are_named(
    values: dict[str, Any], monkeypatch: pytest.MonkeyPatch
) -> None:
    plan = plan_of(values)
    script = ROOT / "workflow" / "scripts" / "prepare.py"
    parts = code_digest.code_digests(script)
    write_text("matrix.csv", "1\n")
    inputs = {
        "resources/datasets.yaml": sha256(ROOT / "resources" / "datasets.yaml"),
        "matrix.csv": sha256("matrix.csv"),
        "results/data/adult.parquet": "checked with its own record",
        "elsewhere.csv": "which lies in no known folder",
    }
    made = record(plan, "results/data/adult.parquet") | {"parts": parts, "inputs": inputs}
    assert reasons_of(plan, made) == []
    write_text("matrix.csv", "2\n")
    made["parts"] = parts | {"deniable/records": "0" * 16}
    reasons = ["made by other code: deniable/records", "made from another state of matrix.csv"]
    assert reasons_of(plan, made) == reasons
    assert reasons_of(plan, made | {"inputs": {"matrix.csv": WITHHELD}}) == reasons[:1]


def test_what_is_made_once_is_never_outdated(values: dict[str, Any]) -> None:
    plan = plan_of(values)
    drawn = record(plan, "results/releases/own/private/receipt.json", release={"p": 0.9}, seed=None)
    assert reasons_of(plan, drawn) != []
    assert reasons_of(plan, drawn | {"made_once": True}) == []


def test_a_record_of_an_earlier_version_has_no_reasons(values: dict[str, Any]) -> None:
    write_json("old.json", {})
    old = {"file": "results/tables/multirr_fig2.csv", "made_once": False, "inputs": {}}
    assert reasons_of(plan_of(values), old) == []
