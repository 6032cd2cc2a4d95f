"""The records of provenance are the same bytes however a run goes, and hold all results."""

import json
from pathlib import Path
from typing import Any

import pytest
from tests.workflow.tiny_releases import REAL, RECEIPTS, TEST_RELEASES

import check_provenance
from deniable.release import PRIVATE, PUBLIC, RECEIPT

from reproduction.pipeline.provenance import SUFFIX, content_digest

ROOT = Path(__file__).resolve().parents[2]

pytestmark = pytest.mark.workflow

TARGETS = (
    "results/tables/multirr_sensitivity.csv",
    "results/releases/tried/public",
    "results/releases/masked/public",
)


def records(project: Any) -> dict[str, Any]:
    """Return all records of a project, by the paths of their results."""
    found = project.results(f"**/*{SUFFIX}")
    return {path.removesuffix(SUFFIX): json.loads(text) for path, text in found.items()}


def test_every_result_is_what_its_record_says(
    finished: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(finished[0].folder)
    faults, files = check_provenance.faults_of_files(Path("results"))
    assert faults == []
    assert check_provenance.faults_of_ancestry(files, files) == []
    assert set(finished[0].comparable()) - set(files) == {
        path for path in finished[0].comparable() if path.startswith("results/releases/")
    }
    of_releases = {path for path in files if path.startswith("results/releases/")}
    folders = {
        f"results/releases/{name}/{own}" for name in TEST_RELEASES for own in (PUBLIC, PRIVATE)
    }
    assert of_releases == folders | set(RECEIPTS)
    assert set(records(finished[0])) == set(files)
    for path, record in records(finished[0]).items():
        assert record["file"] == path
        assert record["unrecorded"] == []
        assert record["sha256"] == content_digest(path)


def test_records_name_no_machine_and_say_what_data_they_rest_on(finished: Any) -> None:
    for path, content in finished[0].results(f"**/*{SUFFIX}").items():
        assert str(finished[0].folder).encode() not in content
        record = json.loads(content)
        assert all(not name.startswith("/") for name in record["inputs"]), path
    found = records(finished[0])
    report = found["results/report"]
    assert {entry["kind"] for entry in report["data"].values()} == {"surrogate", "network"}
    assert set(found["results/tables/multirr_table1.csv"]["data"]) == {
        "resources/surrogates/adult.json"
    }
    assert found["results/tables/multirr_example1.csv"]["data"] == {}
    assert len({record["config"] for record in found.values()}) == 1


def test_no_release_that_is_no_rehearsal_tells_a_hash_of_its_records(finished: Any) -> None:
    found = records(finished[0])
    true = {entry["sha256"] for entry in found["results/report"]["data"].values()}
    prepared = finished[0].results("data/*.parquet", "data/networks/*.parquet")
    true |= {found[path]["sha256"] for path in prepared}
    assert len(true) > 5
    for name, receipt in zip(REAL, RECEIPTS, strict=True):
        texts = finished[0].results(f"releases/{name}/public/**/*", f"releases/{name}/{RECEIPT}")
        names = {path.rpartition("/")[2] for path in texts}
        # Besides the protected file.
        assert names > {"README.txt", "SHA256SUMS", "plan.json", "receipt.json"}
        for path, text in texts.items():
            assert not any(digest.encode() in text for digest in true), path
        # What is recorded of it has them, for its owner alone.
        assert set(found[receipt]["inputs"].values()) & true
        record = finished[0].folder / f"{receipt}{SUFFIX}"
        assert record.stat().st_mode & 0o777 == 0o600


@pytest.mark.slow
def test_one_core_and_other_kernels_leave_the_same_records(untouched: Any, finished: Any) -> None:
    # Nehalem's kernels add in another order: with them the last table would have other bytes.
    targets = (*TARGETS, "results/tables/pram_results.csv")
    untouched.made("--cores", "1", *targets, OPENBLAS_CORETYPE="Nehalem", OMP_NUM_THREADS="2")
    first, second = (each.results(f"**/*{SUFFIX}") for each in (finished[0], untouched))
    assert {f"{target}{SUFFIX}" for target in targets} <= set(second)
    assert second == {path: first[path] for path in second}


def test_a_resumed_run_leaves_the_same_records(project: Any, finished: Any) -> None:
    for target in (*TARGETS, "results/studies/multirr_sensitivity/chunk-0-of-1.csv"):
        project.without(target)
    project.made("--cores", "2", *TARGETS)
    first, second = (each.results(f"**/*{SUFFIX}") for each in (finished[0], project))
    assert second == first
    assert project.comparable() == finished[0].comparable()
