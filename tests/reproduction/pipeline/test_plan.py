"""The files that a config asks for, and the parameters of their jobs."""

import json
import shutil
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest
import yaml

from deniable.channels import KeepOrReplace, write_channel
from deniable.errors import ConfigError, DataError, DeniableError
from deniable.files import write_json, write_text
from deniable.release import Ledger, release_from

from reproduction.pipeline.config import Config
from reproduction.pipeline.plan import Plan
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


def files_of(plan: Plan) -> list[str]:
    """Return the published files that are obtained for a plan."""
    return [path.split("/")[-1].removesuffix(".source.json") for path in plan.sources()]


def test_no_file_is_obtained_that_nothing_reads(values: dict[str, Any], root: Path) -> None:
    plan = Plan.prepare(without(values, "idp_fig4", "idp_fig6"), root)
    assert files_of(plan) == [CENSUS, ADULT]
    # Nor does any rule compute or plot results of Wine.
    names = {analysis.name for analysis in plan.analyses()}
    assert not names & {"idp_audit", "idp_claims"}
    assert not {"idp_fig4", "idp_fig6"} & set(plan.tables())
    assert {"idp_fig3", "idp_fig5"} <= set(plan.figures())
    assert not {"idp_fig4", "idp_fig6", "idp_audit", "idp_attacks"} & set(plan.figures())
    again = Plan.recall(without(values, "idp_fig4", "idp_fig6"), root)
    assert again.targets() == plan.targets()


def test_one_study_or_one_release_asks_for_its_data(values: dict[str, Any], root: Path) -> None:
    releases_of_wine = [each for each in committed()["releases"] if each["data"] == "wine"]
    plan = Plan.prepare(without(values, "idp_fig4"), root)
    assert files_of(plan) == [CENSUS, ADULT, WINE]
    studies = without(values, "idp_fig3", "idp_fig4", "idp_fig5", "idp_fig6")
    plan = Plan.prepare(studies | {"releases": []}, root)
    assert files_of(plan) == [ADULT]
    # Analyses of another data set of Adult's file are made.
    assert [name for name in plan.computed_tables() if name.startswith("idp")] == ["idp_noises"]
    plan = Plan.prepare(studies | {"releases": releases_of_wine}, root)
    assert files_of(plan) == [ADULT, WINE]


def test_the_committed_config_needs_all_data_sets(values: dict[str, Any], root: Path) -> None:
    plan = Plan.prepare(values, root)
    assert files_of(plan) == [CENSUS, ADULT, WINE]
    assert {plan.source(name) for name in plan.datasets} == set(plan.sources())


def test_data_sets_of_one_file_share_its_source(values: dict[str, Any], root: Path) -> None:
    plan = Plan.prepare(values, root)
    names = ("adult", "adult_numeric", "adult_age")
    assert {plan.source(name) for name in names} == {"results/data/raw/adult.data.source.json"}
    assert plan.surrogate("adult_age") == "resources/surrogates/adult_age.json"


# -- downloads -------------------------------------------------------------------------------------


def downloaded(plan: Plan, kind: str) -> None:
    """Leave the record of a job that obtained Adult, or settled for the surrogates."""
    settings, dataset = plan.download_settings(ADULT), plan.datasets["adult"]
    entry = {"kind": "original", "sha256": dataset.sha256}
    record = {"sha256": "", "made_once": False, "asked": settings}
    record["data"] = {f"results/data/raw/{ADULT}": entry} if kind == "published" else {}
    write_json(provenance_path(plan.source("adult")), record)


def test_a_download_has_no_address_among_its_parameters(
    values: dict[str, Any], root: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    plan = Plan.prepare(values, root)
    assert plan.mirror is None
    assert plan.download_settings(ADULT) == {"source": "auto", "mirror": False}
    write_text(root / "one" / ADULT, "1\n")
    for mirror in ("one", "two"):
        write_text(root / mirror / ADULT, "1\n")
        there = Plan.prepare(values | {"data": {"source": "auto", "mirror": mirror}}, root)
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
    plan = Plan.prepare(values | {"data": {"source": "mirror", "mirror": "mirror"}}, root)
    first = plan.download_settings(ADULT)
    downloaded(plan, "published")
    for source in ("auto", "public", "mirror"):
        again = Plan.prepare(values | {"data": {"source": source}}, root)
        assert again.download_settings(ADULT) == first
    asked = Plan.prepare(values | {"data": {"source": "surrogate"}}, root)
    assert asked.download_settings(ADULT) == {"source": "surrogate", "mirror": False}
    # A manifest with another file, or a damaged record, asks anew.
    record = provenance_path(plan.source("adult"))
    other = json.loads(record.read_text())
    other["data"][f"results/data/raw/{ADULT}"]["sha256"] = "0" * 64
    for text in (json.dumps(other), "{"):
        write_text(record, text)
        again = Plan.prepare(values, root)
        assert again.download_settings(ADULT) == {"source": "auto", "mirror": False}


def test_a_surrogate_gives_way_to_a_mirror(values: dict[str, Any], root: Path) -> None:
    plan = Plan.prepare(values, root)
    downloaded(plan, "surrogate")
    assert plan.download_settings(ADULT) == {"source": "auto", "mirror": False}
    write_text(root / "mirror" / ADULT, "1\n")
    plan = Plan.prepare(values | {"data": {"source": "auto", "mirror": "mirror"}}, root)
    assert plan.download_settings(ADULT) == {"source": "auto", "mirror": True}


# -- configs that ask for little -------------------------------------------------------------------


def test_a_config_of_one_release_asks_for_nothing_else(root: Path) -> None:
    release = joint("own")
    plan = Plan.prepare({"releases": [release]}, root)
    folders = [f"results/releases/own/{folder}" for folder in ("public", "private")]
    assert plan.targets() == plan.released() == folders
    assert plan.config.seed == 0
    assert (plan.tables(), plan.analyses(), plan.figures(), plan.audited_tables()) == ([],) * 4
    assert files_of(plan) == [ADULT]
    assert Plan.prepare({}, root).targets() == []


def test_a_config_of_one_study_asks_for_its_table(values: dict[str, Any], root: Path) -> None:
    study = {"multirr_fig2": values["studies"]["multirr_fig2"]}
    plan = Plan.prepare({"seed": 1, "studies": study}, root)
    assert plan.tables() == ["multirr_fig2", "multirr_gains", "multirr_gain_ratios"]
    assert plan.chunks("multirr_fig2")
    with pytest.raises(
        ConfigError, match=r"table multirr_fig3: studies\.multirr_fig3 has no cells"
    ):
        plan.chunks("multirr_fig3")
    # No analysis is left whose settings or tables are missing.
    made = {*plan.tables(), *(table.id for each in plan.analyses() for table in each.tables)}
    for analysis in plan.analyses():
        assert all(plan.config.part(place) for place in analysis.settings)
        assert analysis.takes_what_is_there or {*analysis.needs} <= made
    names = {analysis.name for analysis in plan.analyses()}
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


def test_what_a_release_leaves_is_two_folders_or_a_receipt(
    values: dict[str, Any], root: Path
) -> None:
    given = next(each for each in values["releases"] if each["name"] == "adult_rr_clusters")
    asked = {**given, "name": "real", "rehearsal": False, "population": "people"}
    chosen = Config.model_validate(values | {"releases": [given, asked]})
    plan = Plan(chosen, root, {})
    folders = [f"results/releases/adult_rr_clusters/{folder}" for folder in ("public", "private")]
    assert plan.released() == [*folders, "results/releases/real/private/receipt.json"]
    assert plan.released("categorical") == plan.released()
    assert plan.released("numeric") == []
    assert (plan.names(rehearsal=True), plan.names(rehearsal=False)) == (given["name"], "real")
    # The truth is read again beside rehearsals alone.
    steps = [{step.run for step in plan.steps(name)} for name in (given["name"], "real")]
    assert steps[0] - steps[1] == {plan.lane("real").check.run}
    none = Plan(Config.model_validate(values | {"releases": [asked]}), root, {})
    assert none.names(rehearsal=True) == "(?!)"


def test_what_a_release_is_made_from(values: dict[str, Any], root: Path) -> None:
    plan = Plan(Config.model_validate(values), root, {})
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
    plan = Plan(Config.model_validate(values | {"releases": releases}), root, {})
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
        Plan(chosen, root, {}).refuse_releases()

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
