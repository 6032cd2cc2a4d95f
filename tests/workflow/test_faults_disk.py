"""A disk that is full, a folder that cannot be written: one clear line, nothing half-written."""

import os
import shutil
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from deniable.errors import DataError

from reproduction.pipeline.environment import check_writable

pytestmark = pytest.mark.workflow

FOLDER = "results/data/networks"
TARGET = f"{FOLDER}/survey_8000.parquet"
# Users and mounts of one's own, for this process and what it starts, with no right outside.
APART = ("unshare", "--user", "--map-root-user", "--mount")


def refused_after(project: Any, mount: str, *arguments: str) -> str:
    """Run Snakemake, which must fail, in a process that mounted something; return what it says."""
    if not shutil.which("unshare") or subprocess.run([*APART, "true"], check=False).returncode:
        pytest.skip("NOT CHECKED: this machine lets nobody mount a file system of his own")
    snakemake = (sys.executable, "-m", "snakemake", *arguments, "--configfile", "tiny.yaml")
    done = subprocess.run(
        [*APART, "sh", "-c", f'({mount}) || exit 99; exec "$@"', "sh", *snakemake],
        cwd=project.folder,
        env=project.environment(project.folder / "src"),
        capture_output=True,
        text=True,
        check=False,
        timeout=300,
    )
    said = done.stdout + done.stderr
    if done.returncode == 99:
        pytest.skip(f"NOT CHECKED: no {mount!r} on this machine: {said}")
    assert done.returncode != 0, said
    assert "Traceback" not in said
    return said


def test_a_disk_that_fills_up_is_named_and_leaves_nothing_half_written(
    project: Any, finished: Any
) -> None:
    (project.folder / TARGET).unlink()
    # 8 kB, of which a file takes half: Snakemake removes empty folders, not one that is mounted.
    full = f"mount -t tmpfs -o size=8k tmpfs {FOLDER} && touch {FOLDER}/kept"
    said = refused_after(project, f"{full} && head -c 4096 /dev/zero >{FOLDER}/kept", TARGET, "-c1")
    (line,) = {line for line in said.splitlines() if line.startswith("draw_network: ")}
    assert "No space left on device" in line
    assert line.endswith("make room and start again: finished results are kept")
    assert not (project.folder / TARGET).exists()
    assert project.temporary_files() == []
    project.made("--cores", "1", TARGET)
    for name in (TARGET, f"{TARGET}.provenance.json"):
        assert (project.folder / name).read_bytes() == (finished[0].folder / name).read_bytes()


@pytest.mark.parametrize(
    ("mount", "words"),
    [
        pytest.param(
            "mount -t tmpfs -o size=1M tmpfs results",
            "results: 1.0 MB are free on this disk",
            id="full disk",
            marks=pytest.mark.slow,
        ),
        *(
            pytest.param(
                f"mount --bind {folder} {folder} && mount -o remount,ro,bind {folder}",
                f"{folder}: nothing can be written there",
                id=f"read-only {folder}",
                marks=marks,
            )
            for folder, marks in (("results", pytest.mark.slow), ("results/tables", ()))
        ),
    ],
)
def test_where_nothing_can_be_written_nothing_starts(
    project: Any, finished: Any, mount: str, words: str
) -> None:
    (project.folder / TARGET).unlink()
    said = refused_after(project, mount, TARGET, "-c1")
    assert said.count(words) == 1
    assert "start again" in said
    assert "Job stats" not in said
    assert project.comparable() == finished[0].comparable()


def test_a_folder_that_does_not_exist_yet_is_that_above_it(tmp_path: Path) -> None:
    check_writable(tmp_path / "project" / "results")
    assert list(tmp_path.iterdir()) == []  # it is looked for, not made
    (tmp_path / "results" / "releases" / "real").mkdir(parents=True)
    (tmp_path / "results" / "releases" / "real").chmod(0o555)  # protected by its owner
    check_writable(tmp_path / "results")


def test_a_disk_without_room_is_named(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    usage = type(shutil.disk_usage(tmp_path))(10**9, 10**9 - 3_210_000, 3_210_000)
    monkeypatch.setattr(shutil, "disk_usage", lambda _: usage)
    with pytest.raises(DataError, match=r"3\.2 MB are free .* at least 20 MB"):
        check_writable(tmp_path)


def caches(home: Path) -> dict[str, str]:
    """Return where programs that make starts keep their caches, of a user with this home."""
    done = subprocess.run(
        [
            "make",
            "--eval=caches: ; @env | grep -E '^(XDG_CACHE_HOME|MPLCONFIGDIR)=' || :",
            "caches",
        ],
        cwd=Path(__file__).resolve().parents[2],
        env={"HOME": str(home), "PATH": os.environ["PATH"]},
        capture_output=True,
        text=True,
        check=True,
    )
    return dict(line.split("=", 1) for line in done.stdout.splitlines())


@pytest.mark.skipif(not shutil.which("make"), reason="NOT CHECKED: no make")
def test_a_home_that_cannot_be_written_needs_no_writing(untouched: Any, tmp_path: Path) -> None:
    assert caches(tmp_path) == {}
    home = Path("/dev/null")
    chosen = {name: Path(folder) for name, folder in caches(home).items()}
    root = Path(__file__).resolve().parents[2]
    inside = {name: folder.relative_to(root) for name, folder in chosen.items()}
    assert inside == {
        "XDG_CACHE_HOME": Path(".snakemake/cache"),
        "MPLCONFIGDIR": Path(".snakemake/cache/matplotlib"),
    }
    # Without, Snakemake ends in a traceback before it has read a line of ours.
    variables = {name: str(untouched.folder / folder) for name, folder in inside.items()}
    said = untouched.made("-c1", TARGET, HOME=str(home), **variables)
    assert "Traceback" not in said
    assert (untouched.folder / TARGET).is_file()
