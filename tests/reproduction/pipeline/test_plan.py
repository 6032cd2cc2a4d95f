"""The files that a config asks for, and the parameters of their jobs."""

import json
import shutil
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest
import yaml

from deniable.errors import ConfigError
from deniable.files import write_json, write_text

from reproduction.pipeline.plan import RunPlan
from reproduction.pipeline.provenance import provenance_path

ROOT = Path(__file__).resolve().parents[3]


def committed() -> dict[str, Any]:
    values: dict[str, Any] = yaml.safe_load((ROOT / "config" / "config.yaml").read_text("utf-8"))
    return values


@pytest.fixture
def values() -> dict[str, Any]:
    """Give the committed config without releases of Wine."""
    given = committed()
    given["releases"] = [each for each in given["releases"] if each["data"] != "wine"]
    return given | {"data": {"source": "auto"}}


@pytest.fixture
def root(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Give a project of its own in which a run is started."""
    monkeypatch.chdir(tmp_path)
    monkeypatch.delenv("DENIABLE_DATA_MIRROR", raising=False)
    monkeypatch.setenv("NO_PROXY", "127.0.0.1")
    shutil.copytree(ROOT / "resources", tmp_path / "resources")
    return tmp_path


def without(values: dict[str, Any], *studies: str) -> dict[str, Any]:
    empty = {name: values["studies"][name] | {"grids": []} for name in studies}
    return values | {"studies": values["studies"] | empty}


ADULT, CENSUS, WINE = "adult.data", "CASCrefmicrodata.rda", "winequality-white.csv"


def files_of(plan: RunPlan) -> list[str]:
    """Return the published files that are obtained for a plan."""
    return [path.split("/")[-1].removesuffix(".source.json") for path in plan.sources()]


def test_no_file_is_obtained_that_nothing_reads(values: dict[str, Any], root: Path) -> None:
    plan = RunPlan.prepare(without(values, "idp_fig4", "idp_fig6"), root)
    assert files_of(plan) == [CENSUS, ADULT]
    # Nor does any rule compute or plot results of Wine.
    names = {analysis.name for analysis in plan.analyses}
    assert not names & {"idp_audit", "idp_claims"}
    assert not {"idp_fig4", "idp_fig6"} & set(plan.tables())
    assert {"idp_fig3", "idp_fig5"} <= set(plan.figures())
    assert not {"idp_fig4", "idp_fig6", "idp_audit", "idp_attacks"} & set(plan.figures())
    again = RunPlan.recall(without(values, "idp_fig4", "idp_fig6"), root)
    assert again.targets() == plan.targets()


def test_one_study_or_one_release_asks_for_its_data(values: dict[str, Any], root: Path) -> None:
    releases_of_wine = [each for each in committed()["releases"] if each["data"] == "wine"]
    plan = RunPlan.prepare(without(values, "idp_fig4"), root)
    assert files_of(plan) == [CENSUS, ADULT, WINE]
    studies = without(values, "idp_fig3", "idp_fig4", "idp_fig5", "idp_fig6")
    plan = RunPlan.prepare(studies | {"releases": []}, root)
    assert files_of(plan) == [ADULT]
    # Analyses of another data set of Adult's file are made.
    assert [name for name in plan.computed_tables() if name.startswith("idp")] == ["idp_noises"]
    plan = RunPlan.prepare(studies | {"releases": releases_of_wine}, root)
    assert files_of(plan) == [ADULT, WINE]


def test_the_committed_config_needs_all_data_sets(values: dict[str, Any], root: Path) -> None:
    plan = RunPlan.prepare(values, root)
    assert files_of(plan) == [CENSUS, ADULT, WINE]
    assert {plan.source(name) for name in plan.datasets} == set(plan.sources())


def test_data_sets_of_one_file_share_its_source(values: dict[str, Any], root: Path) -> None:
    plan = RunPlan.prepare(values, root)
    names = ("adult", "adult_numeric", "adult_age")
    assert {plan.source(name) for name in names} == {"results/data/raw/adult.data.source.json"}
    surrogate = plan.own(f"resources/{plan.datasets['adult_age'].surrogate}")
    assert surrogate == "resources/surrogates/adult_age.json"


# -- downloads -------------------------------------------------------------------------------------


def downloaded(plan: RunPlan, kind: str) -> None:
    """Leave the record of a job that obtained Adult, or settled for the surrogates."""
    settings, dataset = plan.download_settings(ADULT), plan.datasets["adult"]
    entry = {"kind": "original", "sha256": dataset.sha256}
    record = {"sha256": "", "made_once": False, "asked": settings}
    record["data"] = {f"results/data/raw/{ADULT}": entry} if kind == "published" else {}
    write_json(provenance_path(plan.source("adult")), record)


def test_a_download_has_no_address_among_its_parameters(
    values: dict[str, Any], root: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    plan = RunPlan.prepare(values, root)
    assert plan.mirror is None
    assert plan.download_settings(ADULT) == {"source": "auto", "mirror": False}
    write_text(root / "one" / ADULT, "1\n")
    for mirror in ("one", "two"):
        write_text(root / mirror / ADULT, "1\n")
        there = RunPlan.prepare(values | {"data": {"source": "auto", "mirror": mirror}}, root)
        assert there.download_settings(ADULT) == {"source": "auto", "mirror": True}
        assert there.download_settings(WINE) == {"source": "auto", "mirror": False}
    # The environment goes before the config.
    monkeypatch.setenv("DENIABLE_DATA_MIRROR", str(root / "nowhere"))
    assert there.mirror == root / "nowhere"
    assert there.download_settings(ADULT)["mirror"] is False


def test_once_the_published_file_is_there_other_settings_start_no_job(
    values: dict[str, Any], root: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    write_text(root / "mirror" / ADULT, "1\n")
    plan = RunPlan.prepare(values | {"data": {"source": "mirror", "mirror": "mirror"}}, root)
    first = plan.download_settings(ADULT)
    downloaded(plan, "published")
    for source in ("auto", "public", "mirror"):
        again = RunPlan.prepare(values | {"data": {"source": source}}, root)
        assert again.download_settings(ADULT) == first
    asked = RunPlan.prepare(values | {"data": {"source": "surrogate"}}, root)
    assert asked.download_settings(ADULT) == {"source": "surrogate", "mirror": False}
    # A manifest with another file, or a damaged record, asks anew.
    record = provenance_path(plan.source("adult"))
    other = json.loads(record.read_text())
    other["data"][f"results/data/raw/{ADULT}"]["sha256"] = "0" * 64
    for text in (json.dumps(other), "{"):
        write_text(record, text)
        again = RunPlan.prepare(values, root)
        assert again.download_settings(ADULT) == {"source": "auto", "mirror": False}


def test_a_surrogate_gives_way_to_a_mirror(values: dict[str, Any], root: Path) -> None:
    plan = RunPlan.prepare(values, root)
    downloaded(plan, "surrogate")
    assert plan.download_settings(ADULT) == {"source": "auto", "mirror": False}
    write_text(root / "mirror" / ADULT, "1\n")
    plan = RunPlan.prepare(values | {"data": {"source": "auto", "mirror": "mirror"}}, root)
    assert plan.download_settings(ADULT) == {"source": "auto", "mirror": True}


# -- configs that ask for little -------------------------------------------------------------------


def test_a_config_of_one_release_asks_for_nothing_else(root: Path) -> None:
    release: dict[str, Any] = {"name": "own", "data": "adult", "mode": "test"}
    release["plan"] = {"kind": "columns", "columns": ["sex"], "epsilon": 1.0}
    plan = RunPlan.prepare({"releases": [release]}, root)
    assert plan.releases.all_made() == ["results/releases/own/public"]
    made = [*plan.releases.all_made(), *plan.estimates(), "results/checks/own.csv"]
    assert plan.targets() == plan.released() == made
    assert plan.config.seed == 0
    assert (plan.tables(), plan.analyses, plan.figures()) == ([],) * 3
    assert files_of(plan) == [ADULT]
    assert RunPlan.prepare({}, root).targets() == []


def test_a_config_of_one_study_asks_for_its_table(values: dict[str, Any], root: Path) -> None:
    study = {"multirr_fig2": values["studies"]["multirr_fig2"]}
    plan = RunPlan.prepare({"seed": 1, "studies": study}, root)
    assert plan.tables() == ["multirr_fig2", "multirr_gains", "multirr_gain_ratios"]
    assert plan.chunks("multirr_fig2")
    with pytest.raises(
        ConfigError, match=r"table multirr_fig3: studies\.multirr_fig3 has no settings"
    ):
        plan.chunks("multirr_fig3")
    # No analysis is left whose settings or tables are missing.
    made = {*plan.tables(), *(table.id for each in plan.analyses for table in each.tables)}
    for analysis in plan.analyses:
        assert all(plan.config.part(place) for place in analysis.settings)
        assert analysis.takes_what_is_there or {*analysis.needs} <= made
    names = {analysis.name for analysis in plan.analyses}
    assert "multirr_example1" in names
    assert not names & {"multirr_secure_sum", "multirr_dependences", "pram_variance"}
    assert plan.made_tables("multirr_fig2", "multirr_example1", "multirr_risk") == [
        "results/tables/multirr_fig2.csv",
        "results/tables/multirr_example1.csv",
    ]
    with pytest.raises(ConfigError, match=r"analyses\.pram_variance: missing; it must be given"):
        plan.settings("analyses", "pram_variance")
    assert "results/report" in plan.targets()


def test_a_start_loads_nothing_that_computes() -> None:
    """Each job on a cluster starts with a plan: what computes is loaded by whoever calls it."""
    slow = "{'numba', 'pandas', 'scipy'}"
    code = f"import sys, reproduction.pipeline.plan; print(*{slow} & {{*sys.modules}})"
    command = [sys.executable, "-c", code]
    said = subprocess.run(command, capture_output=True, text=True, check=True).stdout
    assert said.split() == []
