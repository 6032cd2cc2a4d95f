"""The rules of releases: their inputs, and the start-up check of published ones."""

import os
import shutil
import time
from pathlib import Path
from typing import Any

import pandas as pd
import pytest
import yaml
from tests.release.small_releases import made

from deniable.errors import ConfigError, DeniableError
from deniable.files import read_json, write_json
from deniable.release import LEDGER_VARIABLE, Ledger, OriginalRecords, ReleaseSettings

from reproduction.pipeline import Releases, check_published, data_source
from reproduction.pipeline.plan import RunPlan

ROOT = Path(__file__).resolve().parents[3]
COLUMNS = {"kind": "columns", "columns": ["sex"], "p": 0.5}


@pytest.fixture
def root(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Return the folder of a run."""
    monkeypatch.chdir(tmp_path)
    return tmp_path


def entry(name: str, population: str = "", **changes: Any) -> dict[str, Any]:
    """Return a production release of a population; a test release without one."""
    own = {"mode": "production", "population": population} if population else {"mode": "test"}
    return {"name": name, "data": "adult", "plan": COLUMNS} | own | changes


def releases(*entries: dict[str, Any], **options: Any) -> Releases:
    settings = tuple(ReleaseSettings.model_validate(each) for each in entries)
    return Releases(settings, lambda name: f"raw/{name}.source.json", **options)


def committed() -> Releases:
    values = yaml.safe_load((ROOT / "config" / "config.yaml").read_text("utf-8"))
    return releases(*values["releases"])


# -- inputs and names ------------------------------------------------------------------------------


def test_a_test_release_is_a_folder_and_a_production_release_a_receipt(root: Path) -> None:
    given = releases(entry("tried"), entry("real", "people"))
    assert (
        [given.made(name) for name in ("tried", "real")]
        == given.all_made()
        == [
            "results/releases/tried/public",
            "results/releases/real/private/receipt.json",
        ]
    )
    assert (given.pattern(test=True), given.pattern(test=False)) == ("tried", "real")
    assert given.pattern() == "tried|real"
    assert releases(entry("tried")).pattern(test=False) == "(?!)"


def test_with_a_receipt_a_release_has_no_rule(root: Path) -> None:
    given = releases(entry("real", "people"), entry("other", "others"))
    assert given.pattern(test=False, done=False) == "real|other"
    write_json(root / "results/releases/real/private/receipt.json", {})
    assert given.pattern(test=False, done=False) == "other"


def test_the_inputs_of_plans_and_draws() -> None:
    given = committed()
    nothing: dict[str, list[str]] = {"schema": [], "records": [], "released": [], "files": []}
    adult = "results/data/adult"
    assert given.plan_inputs("adult_pram") == nothing | {"schema": [f"{adult}.schema.yaml"]}
    by_records = {"schema": [f"{adult}.schema.yaml"], "records": [f"{adult}.parquet"]}
    assert given.plan_inputs("adult_pram_designed") == nothing | by_records
    first = ["results/releases/adult_dependences/public"]
    clusters = {"schema": [f"{adult}.schema.yaml"], "released": first}
    assert given.plan_inputs("adult_rr_clusters") == nothing | clusters
    assert given.draw_inputs("adult_pram") == {
        "plan": ["results/plans/adult_pram/plan.json"],
        "records": [f"{adult}.parquet"],
        "source": ["raw/adult.source.json"],
        "after": [],
    }
    # Files of networks have no source of their own.
    survey = given.draw_inputs("survey_rrba")
    assert survey["records"] == ["results/data/networks/survey_8000.parquet"]
    assert survey["source"] == []


def test_only_owners_choices_read_records_for_a_plan() -> None:
    """After the draw and before the comparison nothing else reads them."""
    given = committed()
    reading = {each.name for each in given.settings if given.plan_inputs(each.name)["records"]}
    assert {each.name for each in given.settings if "chosen_by_data" in each.accept} <= reading
    assert "adult_pram" not in reading
    assert "adult_best" not in reading


def test_a_file_of_your_own_is_read_where_it_lies() -> None:
    file = {"path": "in/people.csv", "schema": "in/people.yaml"}
    given = releases({"name": "own", "mode": "test", "file": file, "plan": COLUMNS})
    assert given.plan_inputs("own")["schema"] == ["in/people.yaml"]
    assert given.draw_inputs("own")["records"] == ["in/people.csv"]
    by_plan = {"name": "own", "mode": "test", "file": {"path": "p.csv"}, "plan": "in/plan.json"}
    inputs = releases(by_plan).plan_inputs("own")
    assert (inputs["schema"], inputs["files"]) == ([], ["in/plan.json"])


def test_a_release_waits_for_the_last_before_it_of_its_population() -> None:
    """Names of populations are compared as the ledger does: large letters are small ones."""
    entries = [
        entry("first", "people"),
        entry("other", "others"),
        entry("second", "People"),
        entry("another", "others"),
        entry("tried"),
        entry("third", "PEOPLE"),
    ]
    given = releases(*entries)
    after = {each["name"]: given.draw_inputs(each["name"])["after"] for each in entries}
    waits_for = {"second": "first", "third": "second", "another": "other"}
    assert after == {
        name: [f"results/releases/{waits_for[name]}/private/receipt.json"]
        if name in waits_for
        else []
        for name in after
    }


def test_production_releases_are_refused_where_jobs_share_no_folder() -> None:
    with pytest.raises(ConfigError, match=r"^release 'real' is a production release: its key and"):
        releases(entry("tried"), entry("real", "people"), entry("b", "people")).refuse_production()
    releases().refuse_production()
    releases(entry("tried")).refuse_production()


def test_the_origin_of_records(root: Path) -> None:
    write_json(root / "source.json", {"kind": "surrogate", "sha256": "0" * 64})
    own = {"name": "own", "mode": "test", "file": {"path": "p.csv"}, "plan": "plan.json"}
    assert data_source(releases(own)["own"], []) == "own"
    assert data_source(releases(entry("r"))["r"], ["source.json"]) == "surrogate"
    assert data_source(releases(entry("r", data="networks/alarm"))["r"], []) == "network"


# -- the start-up check ----------------------------------------------------------------------------


@pytest.fixture
def published(root: Path) -> ReleaseSettings:
    """Return the settings of a release that is published in the folder of the run."""
    settings = ReleaseSettings.model_validate(entry("small", "people"))
    made("columns", root / "results/releases", settings=settings.stated())
    (root / "results/releases/ledger").rename(root / "ledger")
    return settings


def test_a_sound_release_passes(published: ReleaseSettings) -> None:
    assert check_published([published], "ledger") == {}


def test_other_settings_under_the_name_of_a_draw_are_refused(published: ReleaseSettings) -> None:
    for changed in (
        entry("small", "people", plan=COLUMNS | {"p": 0.6}),
        entry("small", "others"),
        entry("small", "people", data="adult_numeric"),
        entry("small", "people", plan="plan.json"),
    ):
        if changed["plan"] == "plan.json":
            Path("plan.json").write_text("{}")
        other = ReleaseSettings.model_validate(changed)
        with pytest.raises(DeniableError, match=r"'small' is published in .* with another"):
            check_published([other], "ledger")
    same = entry("small", "people", consent="a word", tables=[["sex", "race"]])
    assert check_published([ReleaseSettings.model_validate(same)], "ledger") == {}


def test_without_a_receipt_settings_are_compared_too(published: ReleaseSettings) -> None:
    Path("results/releases/small/private/receipt.json").unlink()
    other = ReleaseSettings.model_validate(entry("small", "people", plan=COLUMNS | {"p": 0.6}))
    with pytest.raises(DeniableError, match=r"'small' is published in .* with another plan"):
        check_published([other], "ledger")
    # Its own job verifies the files, and writes the receipt.
    assert check_published([published], "ledger") == {}


@pytest.mark.parametrize("lost", ["ledger", "ledger/key", "ledger/populations/people"])
def test_a_lost_ledger_is_an_error_of_its_releases_and_a_warning_for_others(
    published: ReleaseSettings, lost: str, capsys: pytest.CaptureFixture[str]
) -> None:
    """Their receipts are up to date, so no job would look into the ledger."""
    Path(lost).rename("gone")
    damaged = check_published([published], "ledger")
    assert "restore" in damaged["small"]
    assert damaged["small"] in capsys.readouterr().err
    # A release that is not published needs the ledger, so the run stops.
    more = ReleaseSettings.model_validate(entry("more", "others"))
    if lost == "ledger/populations/people":
        assert set(check_published([published, more], "ledger")) == {"small"}
    else:
        with pytest.raises(DeniableError, match="not a ledger"):
            check_published([published, more], "ledger")
    assert Path("ledger").exists() == (lost != "ledger")


def test_another_ledger_is_not_the_one_that_counted(published: ReleaseSettings) -> None:
    Ledger.init("other")
    damaged = check_published([published], "other")["small"]
    assert "small: release 'small' of population 'people' was counted in another ledger" in damaged
    assert "name the ledger that has the entry" in damaged


def test_a_published_release_needs_its_ledger_to_be_named(
    published: ReleaseSettings, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.delenv(LEDGER_VARIABLE, raising=False)
    with pytest.raises(DeniableError, match="no ledger is named"):
        check_published([published], None)
    assert check_published([ReleaseSettings.model_validate(entry("tried"))], None) == {}


def test_a_production_release_needs_a_ledger_that_is_named(
    root: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    shutil.copytree(ROOT / "resources", root / "resources")
    values = {"releases": [entry("real", "people")]}
    with pytest.raises(DeniableError, match=r"no ledger is named.*deniable ledger init FOLDER"):
        RunPlan.prepare(values, root)
    with pytest.raises(DeniableError, match=r"^ledger: not a ledger"):
        RunPlan.prepare(values | {"ledger": "ledger"}, root)
    assert not (root / "results").exists()
    monkeypatch.setenv(LEDGER_VARIABLE, str(Ledger.init(root / "own").folder))
    plan = RunPlan.prepare(values | {"ledger": "ledger"}, root)
    assert plan.ledger == str(root / "own")


@pytest.mark.parametrize("lost", [True, False], ids=["lost", "edited"])
def test_damage_is_an_error_of_the_release_and_a_warning_for_others(
    published: ReleaseSettings, lost: bool, capsys: pytest.CaptureFixture[str]
) -> None:
    file = Path("results/releases/small/public/protected.parquet")
    if lost:
        file.unlink()
    else:
        file.write_bytes(b"other")
    damaged = check_published([published], "ledger")
    assert set(damaged) == {"small"}
    assert f"{file}: {'missing' if lost else 'damaged or edited'}" in damaged["small"]
    assert damaged["small"] in capsys.readouterr().err
    given = releases(entry("small", "people"), entry("tried"), damaged=damaged)
    assert given.made("tried")
    assert given.made("small").endswith(
        "its published files or ledger have changed, see the message above"
    )


def test_a_corrected_record_is_an_error_of_its_release(
    root: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The file is read only if its size or time changed, and not compared if it is gone."""
    file = root / "results/releases/records of small.parquet"
    own = {"name": "small", "mode": "production", "population": "people", "plan": COLUMNS}
    own |= {"file": {"path": str(file), "schema": "people.yaml"}}
    settings = ReleaseSettings.model_validate(own)
    made("columns", file.parent, settings=settings.stated())
    ledger, read = file.parent / "ledger", OriginalRecords.read
    calls: list[int] = []

    def counted(self: OriginalRecords, key: bytes | None = None) -> Any:
        calls.append(1)
        return read(self, key)

    monkeypatch.setattr(OriginalRecords, "read", counted)
    os.utime(file, (1, 1))
    for _ in range(2):
        assert check_published([settings], ledger) == {}
        assert len(calls) == 1
    data = pd.read_parquet(file)
    for change in (data.iloc[::-1], data[:-1], data.replace({"a": {"0": "9"}})):
        change.to_parquet(file)
        for _ in range(2):
            damaged = check_published([settings], ledger)["small"]
            assert f"{file}: other records than the ones published in" in damaged
    assert "'9'" in damaged
    data.to_parquet(file)
    assert check_published([settings], ledger) == {}
    file.unlink()
    assert check_published([settings], ledger) == {}


def test_a_lost_public_folder_is_named(published: ReleaseSettings) -> None:
    shutil.rmtree("results/releases/small/public")
    assert "missing now; restore it" in check_published([published], "ledger")["small"]


def test_a_test_release_is_refused_where_a_production_release_was_begun(root: Path) -> None:
    """Begun is enough: nothing is published, and its entry is there."""
    own = ReleaseSettings.model_validate(entry("own"))
    assert check_published([own], "ledger") == {}
    write_json(root / "results/releases/own/private/entry.json", {"entry": 1})
    with pytest.raises(DeniableError, match=r"'own' was begun in results/releases/own as a prod"):
        check_published([own], "ledger")


@pytest.mark.parametrize("text", ["", "{", "[]", "null", '{"settings": 1}', None])
def test_a_damaged_entry_is_an_error_of_the_release(
    published: ReleaseSettings, text: str | None
) -> None:
    file = Path("results/releases/small/private/entry.json")
    file.unlink()
    if text is not None:
        file.write_text(text)
    damaged = check_published([published], "ledger")
    assert "entry.json: missing or damaged since the ledger counted" in damaged["small"]


def test_twenty_releases_start_in_a_fifth_of_a_second(
    published: ReleaseSettings, monkeypatch: pytest.MonkeyPatch
) -> None:
    folder, copies = Path("results/releases"), []
    for number in range(20):
        name = f"r{number}"
        shutil.copytree(folder / "small", folder / name)
        stored = read_json(folder / name / "private" / "entry.json")
        write_json(folder / name / "private" / "entry.json", stored | {"population": name})
        copies.append(published.model_copy(update={"name": name}))
    # All are entered as the first one, in 20 populations, so that the ledger is read 20 times.
    entries = Ledger.entries
    monkeypatch.setattr(Ledger, "entries", lambda self, _: entries(self, "people"))
    assert check_published(copies, "ledger") == {}  # copies have other times
    begun = time.process_time()
    assert check_published(copies, "ledger") == {}
    assert time.process_time() - begun < 0.2


def test_matrices_in_files_count_by_their_content(root: Path) -> None:
    for file in ("one/sex.csv", "other.csv"):
        (root / file).parent.mkdir(exist_ok=True)
        (root / file).write_text("sex,F,M\nF,0.7,0.3\nM,0.3,0.7\n")
    stated = []
    for file in ("one/sex.csv", "other.csv"):
        matrix = {"kind": "file", "files": {"sex": file}}
        plan = {"kind": "columns", "columns": ["sex"], "matrix": matrix}
        stated.append(ReleaseSettings.model_validate(entry("r", plan=plan)).stated())
    assert stated[0] == stated[1]
    (root / "other.csv").write_text("sex,F,M\nF,0.6,0.4\nM,0.4,0.6\n")
    assert ReleaseSettings.model_validate(entry("r", plan=plan)).stated() != stated[0]


def test_a_plan_of_a_run_checks_its_releases(root: Path) -> None:
    shutil.copytree(ROOT / "resources", root / "resources")
    values = {"releases": [entry("own")]}
    assert RunPlan.prepare(values, root).releases.all_made() == ["results/releases/own/public"]
    write_json(root / "results/releases/own/private/entry.json", {"entry": 1})
    with pytest.raises(DeniableError, match="'own' was begun in"):
        RunPlan.prepare(values, root)
    RunPlan.recall(values, root)
