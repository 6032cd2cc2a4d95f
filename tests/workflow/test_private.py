"""What tells of true records is its owner's alone, whatever the umask."""

import os
from pathlib import Path
from typing import Any

import pytest
from tests.workflow.tiny_releases import RECEIPTS

from deniable.errors import DataError

from reproduction.pipeline.environment import keep_from_others

pytestmark = pytest.mark.workflow


def open_to_others(folder: Path) -> list[str]:
    """Return what lies in a folder, and the folder itself, if others have a right to it."""
    every = (folder, *folder.rglob("*"))
    return [str(path) for path in every if path.stat().st_mode & 0o077]


def test_a_run_keeps_copies_and_hashes_of_true_records_to_itself(untouched: Any) -> None:
    before = os.umask(0)
    try:
        untouched.made(
            *("--cores", "1", RECEIPTS[0], "results/plans/real/plan.json"),
            *("results/data/networks/survey_8000.parquet", "--config", "data={source: mirror}"),
            DENIABLE_DATA_MIRROR=str(untouched.mirror),
        )
    finally:
        os.umask(before)
    data = untouched.folder / "results" / "data"
    assert {path.name for path in data.iterdir()} >= {"raw", "adult.parquet", "networks"}
    assert (data / "raw" / "adult.data").is_file()
    assert open_to_others(data) == []
    release = untouched.folder / "results" / "releases" / "real"
    assert len(list((release / "private").iterdir())) >= 5
    assert open_to_others(release / "private") == []
    assert open_to_others(untouched.folder / "ledger") == []
    # What was published is read by others.
    assert not {file.name for file in release.glob("public/*")} & {"key", "exact_cells.csv"}
    assert (untouched.folder / "results" / "plans" / "real").stat().st_mode & 0o777 == 0o700
    for closed in ("results/logs", ".snakemake"):
        assert (untouched.folder / closed).stat().st_mode & 0o777 == 0o700


def test_a_folder_that_was_open_is_closed(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    (tmp_path / "results" / "data").mkdir(parents=True)
    (tmp_path / "results" / "data").chmod(0o755)
    keep_from_others()
    assert (tmp_path / "results" / "data").stat().st_mode & 0o777 == 0o700
    assert (tmp_path / "results").stat().st_mode & 0o055  # reports are read by others too


def test_a_folder_of_another_user_is_named(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def refuse(*_: object) -> None:
        raise PermissionError(1, "Operation not permitted")

    monkeypatch.chdir(tmp_path)
    (tmp_path / "results" / "data").mkdir(parents=True)
    (tmp_path / "results" / "data").chmod(0o755)
    monkeypatch.setattr(Path, "chmod", refuse)
    with pytest.raises(DataError, match=r"results/data: other users may read it.*chown"):
        keep_from_others()
