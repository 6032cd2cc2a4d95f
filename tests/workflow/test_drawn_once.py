"""A production release is drawn and published once, whatever Snakemake is told."""

import os
import re
import shutil
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
import yaml
from tests.workflow.tiny_releases import REAL, RECEIPTS

from deniable.cli import main
from deniable.files import read_json
from workflow_config import merged

from reproduction.pipeline.plan import RunPlan

pytestmark = [pytest.mark.workflow, pytest.mark.slow]

# With the receipts, the owner's files, and the metadata of the first draw.
LEFT = tuple(f"releases/{name}/p*/**/*{end}" for name in REAL for end in ("", ".provenance.json"))
FILES = {"real": 5, "counted": 5, "answered": 4, "sought": 5}  # with matrices.csv
BEHIND_DRAWS = (
    *("release/making.py", "release/drawing.py", "plans/categorical.py", "idp/true_dp.py"),
    *("rrba/tables.py", "rrba/views.py", "sampling/keyed.py"),
)
ONE = "results/releases/real"
BEFORE_PUBLICATION = "        listed = sha256(public / SUMS)\n        try:\n"
KILLED = "        import os\n\n        os.kill(os.getpid(), 9)\n"


@pytest.fixture(scope="module")
def published(
    tmp_path_factory: pytest.TempPathFactory,
    template: Path,
    snakemake: Callable[..., Any],
    environment: Callable[..., Any],
) -> Any:
    """Return a project with its production releases and estimates of one; never change it."""
    from tests.workflow.conftest import Project  # noqa: PLC0415 - pytest imports it by its path

    folder = tmp_path_factory.mktemp("published") / "project"
    shutil.copytree(template, folder)
    project = Project(folder, snakemake, environment)
    project.made("--cores", "2", *RECEIPTS, "results/estimates/real/margins.csv")
    return project


@pytest.fixture
def project(published: Any, tmp_path: Path) -> Any:
    """Return a copy of the published project, with Snakemake's records, to be damaged."""
    shutil.copytree(published.folder, tmp_path / "project")
    return replace(published, folder=tmp_path / "project")


def left(project: Any) -> tuple[dict[str, bytes], dict[str, bytes]]:
    """Return all files of production releases, and the entries of the ledger."""
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
    content = yaml.safe_dump({"releases": [first, release]})
    (project.folder / "another.yaml").write_text(content, encoding="utf-8")
    target = f"results/releases/{name}/private/receipt.json"
    return ("--cores", "1", "--configfile", "tiny.yaml", "another.yaml", "--", target)


def test_a_second_run_does_nothing(project: Any) -> None:
    before = left(project)
    for options in ((), ("--forceall",), ("--forcerun", "publish")):
        project.made("results/estimates/real/margins.csv", "--cores", "2", *options)
        assert left(project) == before
    assert "publish" not in project.would_run("releases")


def test_newer_scripts_draw_nothing_again(project: Any) -> None:
    before = left(project)
    # As after a checkout: times of files are all that is new. By itself Snakemake takes a script
    # that is newer than its output for changed; profiles/default tells it not to.
    for file in (project.folder / "workflow").rglob("*"):
        os.utime(file)
    assert "publish" not in project.would_run("releases")
    made = ("--cores", "1", "results/estimates/real/margins.csv")
    project.made("--workflow-profile", "none", *made)
    assert left(project) == before


@pytest.mark.parametrize("lost", [".snakemake", "results/plans", "results/data"])
def test_lost_records_of_snakemake_plans_and_data_draw_nothing_again(
    project: Any, lost: str
) -> None:
    before = left(project)
    shutil.rmtree(project.folder / lost)
    project.made("--cores", "2", "results/estimates/real/margins.csv")
    assert "publish" not in project.would_run("releases")
    assert left(project) == before


def test_snakemake_deletes_no_release(project: Any) -> None:
    before = left(project)
    project.made("--delete-all-output", "--cores", "1", "results/estimates/real/margins.csv")
    assert not (project.folder / "results/estimates/real/margins.csv").exists()
    assert left(project) == before


def test_no_option_other_code_records_or_seed_change_a_byte(project: Any) -> None:
    before = left(project)
    for module in BEHIND_DRAWS:
        with (project.folder / "src" / "deniable" / module).open("a") as stream:
            stream.write("\nCHANGED = 1\n")
    for file in ("results/data/adult.parquet", "resources/datasets.yaml"):
        os.utime(project.folder / file)
    assert "publish" not in project.would_run("--config", "seed=5")
    forced = ("--cores", "2", "--forceall", "results/estimates/real/margins.csv")
    project.made(*forced)
    project.made(*forced, "--config", "seed=5")
    assert left(project) == before


def test_a_lost_receipt_is_made_again_without_a_draw(project: Any) -> None:
    before = left(project)
    for receipt in RECEIPTS:
        (project.folder / receipt).unlink()
    assert project.would_run(*RECEIPTS) == {"publish": len(REAL)}
    project.made("--cores", "2", *RECEIPTS)
    after = left(project)
    assert after[1] == before[1]
    # The receipts' own metadata have another time, and logs have one line more.
    logs = {name for name in before[0] if name.endswith("/private/log.jsonl")}
    assert len(logs) == len(REAL)
    assert all(after[0][name].startswith(before[0][name]) for name in logs)
    assert {n for n in before[0] if before[0][n] != after[0].get(n)} <= logs | {
        f"{receipt}.provenance.json" for receipt in RECEIPTS
    }


def test_corrected_records_under_the_name_of_a_release_are_refused(project: Any) -> None:
    before = left(project)
    (project.folder / RECEIPTS[0]).unlink()
    # The records by another seed: they are others, and no release is made of them.
    said = project.refused("--cores", "2", RECEIPTS[0], "--config", "seed=5")
    assert "published from other records" in said
    after = left(project)
    assert all(after[0][n] == before[0][n] for n in before[0] if "/public/" in n)
    assert after[1] == before[1]


@pytest.mark.parametrize("lost", [True, False], ids=["lost", "edited"])
def test_published_files_are_never_drawn_in_part(project: Any, lost: bool) -> None:
    file = project.folder / ONE / "public" / "protected.parquet"
    if lost:
        file.unlink()
    else:
        file.write_bytes(file.read_bytes() + b"more")
    before = project.results(*LEFT)
    why = "missing" if lost else "damaged or edited since it was made"
    # Rules that depend on the release refuse it ...
    target = "results/estimates/real/margins.csv"
    project.without(target)
    said = project.refused("--cores", "1", target)
    assert f"{ONE}/public/protected.parquet: {why}" in said
    assert "restore the published folder from a copy" in said
    assert f"{ONE}: its published files or ledger have changed, see the message above" in said
    # ... others are warned ...
    said = project.made("-n", "results/estimates/counted/margins.csv")
    assert f"{ONE}/public/protected.parquet: {why}" in said
    # ... and so does the release's own job.
    (project.folder / RECEIPTS[0]).unlink()
    said = project.refused("--cores", "1", RECEIPTS[0])
    assert f"{ONE}/public/protected.parquet: {why}" in said
    del before[RECEIPTS[0]]
    after, log = project.results(*LEFT), f"{ONE}/private/log.jsonl"
    assert after.pop(log).startswith(before.pop(log))  # the refusal is a further line
    assert after == before


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
        assert "release 'real': its entry in the ledger exists, but the key that" in said
    else:
        assert f"the key that the release was begun with, {ONE}/private/key, does not" in said
    assert "a new name" in said
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
    assert counted.keys() - entries.keys() == {
        f"ledger/{name}.json" for name in ("populations/others/000001", "heads/others")
    }
    begun = {file.name: file.read_bytes() for file in (folder / "private").glob("*.json")}
    assert set(begun) == {"entry.json", "journal.json"}
    key = (folder / "private" / "key").read_bytes()
    # Killed once more: nothing is begun anew.
    assert project.run(*arguments).returncode != 0
    assert (folder / "private" / "key").read_bytes() == key
    project.edit(module, KILLED, "")
    project.made(*arguments)
    found = {file.name: file.read_bytes() for file in (folder / "private").glob("*.json")}
    assert {name: found[name] for name in begun} == begun
    assert (folder / "public" / "protected.parquet").exists()
    # Neither a key is left nor a draft.
    more = {"exact_cells.csv", "risk.csv", "published.json", "receipt.json", "log.jsonl"}
    assert {file.name for file in (folder / "private").iterdir()} == {
        *(*begun, *more, "receipt.json.provenance.json"),
    }
    assert project.entries() == counted


def test_a_second_release_of_a_population_needs_consent_to_the_total(project: Any) -> None:
    first = left(project)
    plan = {"kind": "columns", "columns": ["sex"], "p": 0.7}
    said = project.refused(*another(project, "second", "people", plan=plan))
    assert (
        "release 'second' would be release 2 of population 'people'. The population's total epsilon"
        in said
    )
    (consent,) = set(re.findall(r"give the consent '([^']*)'", said))
    assert consent.startswith("release 2 of people named second, total epsilon ")
    assert project.entries() == first[1]
    assert not (project.folder / "results/releases/second/public").exists()
    project.made(*another(project, "second", "people", plan=plan, consent=consent))
    assert project.entries().keys() - first[1].keys() == {"ledger/populations/people/000002.json"}
    assert (project.folder / "results/releases/second/public/protected.parquet").exists()
    assert left(project)[0] == first[0]


@pytest.mark.parametrize(
    ("release", "changed"),
    [
        ("real", {"p": 0.6}),
        ("real", {"order": "as_in_file"}),
        ("counted", {"bins": 6}),
        ("answered", {"epsilon": 2.0}),
    ],
)
def test_other_settings_under_the_name_of_a_draw_are_refused(
    published: Any,
    config_values: dict[str, Any],
    monkeypatch: pytest.MonkeyPatch,
    release: str,
    changed: dict[str, Any],
) -> None:
    monkeypatch.chdir(published.folder)
    text = (published.folder / "tiny.yaml").read_text(encoding="utf-8")
    values = merged(config_values, yaml.safe_load(text))
    (told,) = (one for one in values["releases"] if one["name"] == release)
    told["plan"] |= changed
    folder = Path("results/releases") / release / "public"
    with pytest.raises(ValueError, match=f"'{release}' is published in {folder} with another plan"):
        RunPlan.prepare(values, published.folder)


def test_snakemake_says_that_another_draw_is_refused(project: Any) -> None:
    project.edit("tiny.yaml", "bins: 5", "bins: 6")
    said = project.refused("-n")
    assert "'counted' is published in results/releases/counted/public with another plan" in said


def test_a_config_can_demand_an_approval_by_a_second_person(project: Any) -> None:
    demanded = {"author": "A. Author", "approval": "approval.json"}
    arguments = another(project, "approved", "others", **demanded)
    assert "approval.json: No such file" in project.refused(*arguments)
    plan, approval = (
        project.folder / f"{n}.json" for n in ("results/plans/approved/plan", "approval")
    )
    for name, words in (("a. author", "is the author of the plan"), ("B. Checker", "")):
        code = main(["approve", str(plan), "--name", name, "--out", str(approval)])
        assert code == (2 if words else 0)
    project.made(*arguments)
    private = project.folder / "results/releases/approved/private"
    assert read_json(private / "approval.json") == read_json(approval)
    assert b'"approved_by":"B. Checker"' in (private / "log.jsonl").read_bytes()
