"""A release that is no rehearsal is drawn and published once, whatever Snakemake is told."""

import os
import re
import shutil
from pathlib import Path
from typing import Any

import pytest
import yaml
from tests.workflow.tiny_releases import REAL, RECEIPTS

from deniable.errors import ConfigError
from workflow_config import merged

from reproduction.pipeline.plan import Plan

pytestmark = pytest.mark.workflow

PUBLISHED = tuple(f"releases/{name}/public/**/*" for name in REAL)
# With the receipts, the owner's files, and what is recorded of the first draw.
LEFT = tuple(f"releases/{name}/p*/**/*{end}" for name in REAL for end in ("", ".provenance.json"))
FILES = {"real": 11, "counted": 6, "answered": 10}
BEHIND_DRAWS = (
    *("release/categorical/design.py", "release/numeric/design.py"),
    *("release/collection/design.py", "idp/true_dp.py", "idp/audit/report.py"),
    *("rrba/tables.py", "rrba/views.py", "rrba/collection.py"),
)
ONE = "results/releases/real"
BEFORE_PUBLICATION = "        sync_tree(public)\n        try:\n"
KILLED = "        import os\n\n        os.kill(os.getpid(), 9)\n"


def left(project: Any) -> tuple[dict[str, bytes], dict[str, bytes]]:
    """Return all that releases which are no rehearsals leave, and the entries of the ledger."""
    found = project.results(*LEFT)
    assert not [path for path in found if path.endswith("/key")]
    for name, files in FILES.items():
        assert sum(path.startswith(f"results/releases/{name}/public/") for path in found) == files
    return found, project.entries()


def another(project: Any, name: str, population: str, **changed: Any) -> tuple[str, ...]:
    """Return the arguments of a run that makes one more release, of the records of `real`."""
    values = yaml.safe_load((project.folder / "tiny.yaml").read_text(encoding="utf-8"))
    (first,) = (each for each in values["releases"] if each["name"] == "real")
    release = first | {"name": name, "population": population} | changed
    content = yaml.safe_dump({"releases": [release]})
    (project.folder / "another.yaml").write_text(content, encoding="utf-8")
    target = f"results/releases/{name}/private/receipt.json"
    return ("--cores", "1", "--configfile", "tiny.yaml", "another.yaml", "--", target)


@pytest.mark.slow
def test_newer_scripts_draw_nothing_again(project: Any) -> None:
    before = left(project)
    # As after a checkout: times of files are all that is new. By itself Snakemake takes a script
    # that is newer than its output for changed; profiles/default tells it not to.
    for file in (project.folder / "workflow").rglob("*"):
        os.utime(file)
    assert project.would_run(*RECEIPTS) == {}
    project.made("--workflow-profile", "none", "--cores", "1", *RECEIPTS)
    assert left(project) == before


def test_no_option_other_code_records_or_seed_change_a_byte(project: Any) -> None:
    before = left(project)
    for module in BEHIND_DRAWS:
        with (project.folder / "src" / "deniable" / module).open("a") as stream:
            stream.write("\n# changed\n")
    for file in ("results/data/adult.parquet", "resources/datasets.yaml"):
        os.utime(project.folder / file)
    assert "release" not in project.would_run("--config", "seed=5")
    # All that is made from nothing is made again.
    project.made("--cores", "2", "--forceall", *RECEIPTS)
    assert left(project) == before
    # The records by another seed: they are others, and no release is made of them.
    forced = ("--cores", "2", "--forceall", *RECEIPTS, "--config", "seed=5")
    assert "published from other records" in project.refused(*forced)
    published = [name for name in before[0] if "/public/" in name]
    assert published
    after = left(project)
    assert all(after[0][name] == before[0][name] for name in published)
    assert after[1] == before[1]


@pytest.mark.slow
def test_to_force_the_rule_draws_nothing_again(project: Any) -> None:
    before = left(project)
    asked = (*RECEIPTS, "--forcerun", "release")
    assert project.would_run(*asked) == {"release": len(REAL)}
    project.made("--cores", "2", *asked)
    assert left(project) == before


def test_a_lost_receipt_is_made_again_without_a_draw(project: Any) -> None:
    before = left(project)
    for receipt in RECEIPTS:
        (project.folder / receipt).unlink()
    assert project.would_run(*RECEIPTS) == {"release": len(REAL)}
    # Also where their records are not what a run would make now.
    jobs = project.would_run(*RECEIPTS, "--config", "seed=5")
    assert jobs == {"prepare": 2, "release": len(REAL)}
    project.made("--cores", "2", *RECEIPTS)
    assert left(project) == before


@pytest.mark.parametrize("lost", [True, False], ids=["lost", "edited"])
def test_what_was_published_is_never_drawn_in_part(project: Any, lost: bool) -> None:
    file = project.folder / ONE / "public" / "protected.csv"
    if lost:
        file.unlink()
    else:
        file.write_text(file.read_text("utf-8").replace("Male", "Female", 1), encoding="utf-8")
    # What rests on it refuses it ...
    target = "results/audit/samplers.csv"
    project.without(target)
    before = project.results(*LEFT)
    said = project.refused("--cores", "1", target)
    assert f"{ONE}/public/protected.csv: missing, or edited since it was published" in said
    # ... and so does the release's own job.
    (project.folder / RECEIPTS[0]).unlink()
    said = project.refused("--cores", "1", RECEIPTS[0])
    why = "missing" if lost else "damaged or edited since it was made"
    assert f"{ONE}/public/protected.csv: {why}" in said
    assert "restore what was published from a copy" in said
    del before[RECEIPTS[0]]
    assert project.results(*LEFT) == before


@pytest.mark.parametrize("whole", [False, True], ids=["public", "all of it"])
def test_a_published_release_that_is_lost_is_not_drawn_again(project: Any, whole: bool) -> None:
    entries = project.entries()
    shutil.rmtree(project.folder / ONE / "public")
    if whole:
        shutil.rmtree(project.folder / ONE)
    else:
        (project.folder / RECEIPTS[0]).unlink()
    said = project.refused("--cores", "1", RECEIPTS[0])
    if whole:
        # Another key, under a name that the ledger has counted.
        assert "release 'real' of population 'people' was begun on" in said
        assert "with another plan" in said
    else:
        assert f"the key that it was begun with, {ONE}/private/key, is not" in said
    assert "give the" in said
    assert "a name of its own" in said or "a new name" in said
    assert not (project.folder / ONE / "public").exists()
    assert not (project.folder / RECEIPTS[0]).exists()
    assert project.entries() == entries


def test_a_release_that_is_killed_before_it_is_published_goes_on(project: Any) -> None:
    entries = project.entries()
    module = "src/deniable/release/making.py"
    project.edit(module, BEFORE_PUBLICATION, KILLED + BEFORE_PUBLICATION)
    arguments = another(project, "more", "others")
    assert project.run(*arguments).returncode != 0
    folder = project.folder / "results" / "releases" / "more"
    assert {file.name for file in folder.iterdir()} == {"private"}
    counted = project.entries()
    assert counted.keys() - entries.keys() == {"ledger/others/000001.json"}
    begun = {file.name: file.read_bytes() for file in (folder / "private").glob("*.json")}
    assert set(begun) == {"place.json", "records.json", "plan.json", "drawn.json"}
    key = (folder / "private" / "key").read_bytes()
    # Killed once more: nothing is begun anew.
    assert project.run(*arguments).returncode != 0
    assert (folder / "private" / "key").read_bytes() == key
    project.edit(module, KILLED, "")
    project.made(*arguments)
    found = {file.name: file.read_bytes() for file in (folder / "private").glob("*.json")}
    assert {name: found[name] for name in begun} == begun
    assert (folder / "public" / "protected.csv").exists()
    # Neither a key is left nor a draft.
    assert {file.name for file in (folder / "private").iterdir()} == {
        *(*begun, "exact_cells.csv", "receipt.json", "receipt.json.provenance.json"),
    }
    assert project.entries() == counted


def test_a_second_release_of_a_population_needs_consent_to_the_total(project: Any) -> None:
    first = left(project)
    said = project.refused(*another(project, "second", "people", attributes=["sex"]))
    assert "release 'second' would be release 2 of population 'people', whose total epsilon" in said
    assert "about 100 % of the records were in release 'real'" in said
    (consent,) = set(re.findall(r"give the consent '([^']*)'", said))
    assert consent.startswith("release 2 of people named second, total epsilon ")
    assert project.entries() == first[1]
    assert not (project.folder / "results/releases/second/public").exists()
    project.made(*another(project, "second", "people", attributes=["sex"], consent=consent))
    assert project.entries().keys() - first[1].keys() == {"ledger/people/000002.json"}
    assert (project.folder / "results/releases/second/public/protected.csv").exists()
    assert left(project)[0] == first[0]


@pytest.mark.parametrize(
    ("release", "setting", "other"),
    [
        *(("real", "p", 0.6), ("real", "synthetic", "clusters"), ("real", "order", "as_in_file")),
        *(("counted", "bins", 6), ("answered", "epsilon", 2.0)),
    ],
)
def test_other_settings_under_the_name_of_a_draw_are_refused(
    finished: Any,
    config_values: dict[str, Any],
    monkeypatch: pytest.MonkeyPatch,
    release: str,
    setting: str,
    other: float,
) -> None:
    monkeypatch.chdir(finished[0].folder)
    text = (finished[0].folder / "tiny.yaml").read_text(encoding="utf-8")
    values = merged(config_values, yaml.safe_load(text))
    (told,) = (one for one in values["releases"] if one["name"] == release)
    told[setting] = other
    folder = Path("results/releases") / release / "public"
    with pytest.raises(ConfigError, match=f"'{release}' is in {folder} already"):
        Plan.prepare(values, finished[0].folder)


def test_snakemake_says_that_another_draw_is_refused(project: Any) -> None:
    project.edit("tiny.yaml", "bins: 5", "bins: 6")
    assert "'counted' is in results/releases/counted/public already" in project.refused("-n")


@pytest.mark.slow
def test_what_is_lost_of_a_rehearsal_is_the_same_again(project: Any, finished: Any) -> None:
    before = finished[0].results("releases/*/p*/**/*")
    lost = ("tried/public", "masked/private", "asked/public")
    for folder in lost:
        shutil.rmtree(project.folder / "results/releases" / folder)
    project.made("--cores", "2", *(f"results/releases/{folder}" for folder in lost))
    assert project.results("releases/*/p*/**/*") == before
