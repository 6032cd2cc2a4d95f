"""What a plan settles: the data that the config needs, and no others."""

import shutil
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest
import yaml
from tests.datasets.colours import serving

from deniable.channels import KeepOrReplace, write_channel
from deniable.errors import ConfigError, DataError, DeniableError
from deniable.files import write_json, write_text
from deniable.release import Ledger, release_from

from reproduction.pipeline.config import Config
from reproduction.pipeline.plan import Plan

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


def asked_by(values: dict[str, Any], root: Path) -> tuple[Plan, list[str]]:
    """Prepare a run where no server has a file; return the plan and the addresses asked."""
    manifest = root / "resources" / "datasets.yaml"
    with serving() as server:
        entries = yaml.safe_load(manifest.read_text("utf-8"))
        for entry in entries.values():
            entry["address"] = server.url(f"missing.{entry['file']}")
        manifest.write_text(yaml.safe_dump(entries, sort_keys=False), "utf-8")
        plan = Plan.prepare(values, root)
        return plan, [path.removeprefix("/missing.") for path, _ in server.asked]


ADULT, CENSUS, WINE = "adult.data", "CASCrefmicrodata.rda", "winequality-white.csv"


def test_the_network_is_not_asked_for_what_nothing_reads(
    values: dict[str, Any], root: Path
) -> None:
    plan, asked = asked_by(without(values, "idp_fig4", "idp_fig6"), root)
    assert asked == [ADULT, CENSUS]
    assert plan.needed() == list(plan.sources) == ["adult", "adult_numeric", "adult_age", "census"]
    assert not (root / "results/data/raw/wine.source.json").exists()
    # Nor is what is worked out of Wine, or drawn of that, asked of any rule.
    names = {analysis.name for analysis in plan.analyses()}
    assert not names & {"idp_audit", "idp_claims"}
    assert not {"idp_fig4", "idp_fig6"} & set(plan.tables())
    assert {"idp_fig3", "idp_fig5"} <= set(plan.figures())
    assert not {"idp_fig4", "idp_fig6", "idp_audit", "idp_attacks"} & set(plan.figures())
    again = Plan.recall(without(values, "idp_fig4", "idp_fig6"), root)
    assert again.sources == plan.sources


def test_one_study_or_one_release_asks_for_its_data(values: dict[str, Any], root: Path) -> None:
    releases_of_wine = [each for each in committed()["releases"] if each["data"] == "wine"]
    assert asked_by(without(values, "idp_fig4"), root)[1] == [ADULT, CENSUS, WINE]
    shutil.rmtree(root / "results")
    studies = without(values, "idp_fig3", "idp_fig4", "idp_fig5", "idp_fig6")
    plan, asked = asked_by(studies | {"releases": []}, root)
    assert asked == [ADULT]
    # What is worked out of another data set of Adult's file.
    assert [name for name in plan.computed_tables() if name.startswith("idp")] == ["idp_noises"]
    shutil.rmtree(root / "results")
    assert asked_by(studies | {"releases": releases_of_wine}, root)[1] == [ADULT, WINE]


def test_the_committed_config_needs_all_data_sets(values: dict[str, Any], root: Path) -> None:
    plan, asked = asked_by(values, root)
    assert asked == [ADULT, CENSUS, WINE]
    assert list(plan.sources) == list(plan.datasets)


def test_a_target_may_ask_for_another_data_set(values: dict[str, Any], root: Path) -> None:
    """As fit_surrogates does, for all of the manifest."""
    values = without(values, "idp_fig4", "idp_fig6") | {"data": {"source": "surrogate"}}
    plan = Plan.prepare(values, root)
    assert "wine" not in plan.sources
    assert plan.origin("wine") == "resources/surrogates/wine.json"
    assert plan.source("wine").kind == "surrogate"
    # The process of its job recalls what was settled.
    assert Plan.recall(values, root).sources == plan.sources
    assert plan.needed() == ["adult", "adult_numeric", "adult_age", "census"]


def test_a_start_loads_nothing_that_computes() -> None:
    """Each job on a cluster starts with a plan: what computes is loaded by whoever calls it."""
    slow = "{'numba', 'pandas', 'scipy'}"
    code = f"import sys, reproduction.pipeline.plan; print(*{slow} & {{*sys.modules}})"
    command = [sys.executable, "-c", code]
    said = subprocess.run(command, capture_output=True, text=True, check=True).stdout
    assert said.split() == []


def test_what_a_release_leaves_is_two_folders_or_a_receipt(
    values: dict[str, Any], root: Path
) -> None:
    given = next(each for each in values["releases"] if each["name"] == "adult_rr_clusters")
    asked = {**given, "name": "real", "rehearsal": False, "population": "people"}
    chosen = Config.model_validate(values | {"releases": [given, asked]})
    plan = Plan(chosen, root, {}, {})
    folders = [f"results/releases/adult_rr_clusters/{folder}" for folder in ("public", "private")]
    assert plan.released() == [*folders, "results/releases/real/private/receipt.json"]
    assert plan.released("categorical") == plan.released()
    assert plan.released("numeric") == []
    assert (plan.names(rehearsal=True), plan.names(rehearsal=False)) == (given["name"], "real")
    # The truth is read again beside rehearsals alone.
    steps = [{step.run for step in plan.steps(name)} for name in (given["name"], "real")]
    assert steps[0] - steps[1] == {plan.lane("real").check.run}
    none = Plan(Config.model_validate(values | {"releases": [asked]}), root, {}, {})
    assert none.names(rehearsal=True) == "(?!)"


def test_what_a_release_is_made_from(values: dict[str, Any], root: Path) -> None:
    plan = Plan(Config.model_validate(values), root, {}, {})
    made_from = plan.made_from("adult_rr_joint")
    assert {what: files for what, files in made_from.items() if files} == {
        "data": ["results/data/adult.parquet"]
    }
    # Numbers have bounds that the manifest states; files of networks are held to these.
    assert plan.made_from("census_dp")["manifest"] == ["resources/datasets.yaml"]
    survey = plan.made_from("survey_rrba")
    assert survey["data"] == ["results/data/networks/survey_8000.parquet"]
    assert survey["network"] == ["resources/networks/survey.json"]


def test_a_release_by_files_of_matrices_is_the_same_wherever_these_lie(
    values: dict[str, Any], root: Path
) -> None:
    for file in ("one/sex.csv", "other.csv"):
        write_channel(root / file, KeepOrReplace.uniform(2, 0.5), ["Female", "Male"])
    release = {"name": "own", "data": "adult", "attributes": ["sex"], "mechanism": "pram"} | {
        "matrix": {"kind": "file", "files": {"sex": "one/sex.csv"}},
        "rehearsal": False,
        "population": "people",
    }
    parameters = release_from(release).stated()
    assert "one/" not in str(parameters)
    described = {"rehearsal": False, "parameters": parameters}
    write_json(root / "results" / "releases" / "own" / "public" / "release.json", described)
    values |= {"releases": [release], "data": {"source": "surrogate"}}
    count("own")
    plan = Plan.prepare(values, root)
    assert plan.released() == ["results/releases/own/private/receipt.json"]
    assert plan.made_from("own")["matrices"] == ["one/sex.csv"]
    release["matrix"]["files"]["sex"] = "other.csv"
    with pytest.raises(ConfigError, match=r"'own' is in results/releases/own/public already"):
        Plan.prepare(values, root)


def count(release: str) -> None:
    """Enter a release of people in the ledger of the run."""
    ledger = Ledger("ledger")
    ledger.reserve("people", release, "6f1a", ledger.digests({"sex": ["f", "m"]}), 1)


def joint(name: str, population: str = "") -> dict[str, Any]:
    """Return the settings of a release of a population; of a rehearsal without one."""
    given = {"name": name, "data": "adult", "attributes": ["sex"], "mechanism": "rr_joint"}
    real = {"rehearsal": False, "population": population} if population else {"rehearsal": True}
    return given | {"matrix": "keep", "p": 0.5} | real


def test_a_release_waits_for_the_last_before_it_of_its_population(
    values: dict[str, Any], root: Path
) -> None:
    """Names of populations are compared as the ledger does: large letters are small ones."""
    releases = [
        joint("first", "people"),
        joint("other", "others"),
        joint("second", "People"),
        joint("another", "others"),
        joint("rehearsed") | {"population": "people"},
        joint("third", "PEOPLE"),
    ]
    plan = Plan(Config.model_validate(values | {"releases": releases}), root, {}, {})
    after = {each["name"]: plan.made_from(each["name"])["after"] for each in releases}
    waits_for = {"second": "first", "third": "second", "another": "other"}
    assert after == {
        name: [f"results/releases/{waits_for[name]}/private/receipt.json"]
        if name in waits_for
        else []
        for name in after
    }


def test_releases_are_refused_where_jobs_share_no_folder(
    values: dict[str, Any], root: Path
) -> None:
    def refuse(*releases: dict[str, Any]) -> None:
        chosen = Config.model_validate(values | {"releases": list(releases)})
        Plan(chosen, root, {}, {}).refuse_releases()

    with pytest.raises(ConfigError, match=r"^release 'real' is no rehearsal: its key and its rec"):
        refuse(joint("rehearsed"), joint("real", "people"), joint("later", "people"))
    refuse()
    refuse(joint("rehearsed"))


def test_a_rehearsal_is_refused_before_any_job_where_a_release_was_begun(
    values: dict[str, Any], root: Path
) -> None:
    """Begun is enough: nothing is published, and its records' digest lies there."""
    values |= {"releases": [joint("own")], "data": {"source": "surrogate"}}
    assert Plan.prepare(values, root).released()
    write_json(root / "results" / "releases" / "own" / "private" / "records.json", {"records": "0"})
    with pytest.raises(DeniableError, match=r"'own' was begun in results/releases/own as no reh"):
        Plan.prepare(values, root)


@pytest.mark.parametrize("text", ["{", "{}", '{"rehearsal": false}', "[]"])
def test_what_is_published_and_damaged_is_named(
    values: dict[str, Any], root: Path, text: str
) -> None:
    release = {"name": "own", "data": "adult", "attributes": ["sex"], "mechanism": "rr_joint"}
    release |= {"matrix": "keep", "p": 0.5, "rehearsal": False, "population": "people"}
    write_text(root / "results" / "releases" / "own" / "public" / "release.json", text)
    values |= {"releases": [release], "data": {"source": "surrogate"}}
    with pytest.raises(DataError, match=r"^results/releases/own/public/release.json: damaged or"):
        Plan.prepare(values, root)


def test_a_published_release_without_an_entry_is_refused_before_any_job(
    values: dict[str, Any], root: Path
) -> None:
    """Its receipt is up to date, so no job would look into the ledger."""
    release = {"name": "own", "data": "adult", "attributes": ["sex"], "mechanism": "rr_joint"}
    release |= {"matrix": "keep", "p": 0.5, "rehearsal": False, "population": "people"}
    published = {"rehearsal": False, "parameters": release_from(release).stated()}
    write_json(root / "results" / "releases" / "own" / "public" / "release.json", published)
    values |= {"releases": [release], "data": {"source": "surrogate"}}
    said = r"^ledger: the ledger has no entry of release 'own' .*own/public\. Restore the ledger"
    with pytest.raises(DeniableError, match=said):
        Plan.prepare(values, root)
    assert not (root / "ledger").exists()
    count("own")
    assert Plan.prepare(values, root).released()
