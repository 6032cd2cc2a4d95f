"""What goes wrong in a run: one clear message, nothing half-written, and the next run mends it."""

import contextlib
import os
import signal
import time
from pathlib import Path
from typing import Any

import pytest
import yaml

from deniable.files import write_table
from deniable.microdata import read_parquet
from deniable.studies.cluster_queries import ClusterQueries
from deniable.studies.registry_multirr import CLUSTER_QUERY_KEYS
from deniable.study import simulate_chunk

pytestmark = pytest.mark.workflow


def test_a_wrong_file_in_the_mirror_is_refused_before_anything_starts(project: Any) -> None:
    with (project.mirror / "adult.data").open("a", encoding="utf-8") as stream:
        stream.write("one more line\n")
    before = project.comparable()
    arguments = ("--cores", "1", "--config", "data={source: auto}")
    said = project.refused(*arguments, DENIABLE_DATA_MIRROR=str(project.mirror))
    assert said.count("the file in the mirror has the sha256") == 1
    assert project.comparable() == before
    assert len(list((project.folder / "results/data/raw/refused").iterdir())) == 1


def test_a_broken_intermediate_file_is_named(project: Any) -> None:
    (project.folder / "results/data/adult.parquet").write_bytes(b"PAR1 no more")
    target = "results/tables/multirr_dependences.csv"
    said = project.refused("--cores", "1", target)
    assert "DataError: results/data/adult.parquet: not readable as Parquet" in said
    assert "make it again" in said
    assert not (project.folder / target).exists()


def test_a_malformed_table_of_printed_numbers_is_named(project: Any) -> None:
    project.edit("resources/published/multirr_table1.csv", "0.335", "O.335")
    said = project.refused("--cores", "1", "results/tables/multirr_table1.csv")
    place = "multirr_table1.csv: line 2, column 'median_relative_error'"
    assert f"{place}: 'O.335' is no number" in said
    assert not (project.folder / "results/tables/multirr_table1.csv").exists()


def test_a_malformed_manifest_is_named(project: Any) -> None:
    project.edit("resources/datasets.yaml", "records: 600", "records: many")
    said = project.refused("-n")
    assert said.count("dataset 'adult', key 'records': is 'many'") == 1


def children(pid: int, word: str) -> list[int]:
    """Return the processes under `pid` whose command line holds a word."""
    found, pending = [], [pid]
    while pending:
        parent = pending.pop()
        # Processes come and go meanwhile.
        with contextlib.suppress(FileNotFoundError, ProcessLookupError):
            for task in Path(f"/proc/{parent}/task").glob("*/children"):
                for child in map(int, task.read_text().split()):
                    pending.append(child)
                    with contextlib.suppress(FileNotFoundError, ProcessLookupError):
                        command = Path(f"/proc/{child}/cmdline").read_bytes().decode()
                        if word in command and "snakemake\0" not in command:
                            found.append(child)
    return found


@pytest.mark.skipif(not Path("/proc/self/task").exists(), reason="finds processes in /proc")
@pytest.mark.parametrize("victim", ["job", "snakemake"])
def test_what_is_killed_in_mid_run_is_mended_by_the_next(
    project: Any, tmp_path: Path, victim: str
) -> None:
    # Long enough to be met at work; the bytes to reach are those of a run that nobody disturbs.
    project.edit("tiny.yaml", "block: 4", "block: 100")
    project.edit("tiny.yaml", "replicates: 9", "replicates: 4000")
    target = "results/studies/multirr_sensitivity/chunk-0-of-1.csv"
    with project.popen("--cores", "1", target) as run:
        deadline = time.monotonic() + 60
        while not (found := children(run.pid, "simulate.py")):
            assert run.poll() is None
            assert time.monotonic() < deadline
            time.sleep(0.02)
        if victim == "job":
            os.kill(found[0], signal.SIGKILL)
        else:
            os.killpg(run.pid, signal.SIGKILL)
        said, _ = run.communicate(timeout=60)
    assert run.returncode != 0, said
    assert project.temporary_files() == []
    if victim == "snakemake":
        project.made("--unlock")
    else:
        assert not (project.folder / target).exists()
    project.made("--cores", "1", target)
    studies = yaml.safe_load((project.folder / "tiny.yaml").read_text("utf-8"))["studies"]
    (grid,) = studies["multirr_sensitivity"]["grids"]
    queries = ClusterQueries(read_parquet(project.folder / "results/data/adult.parquet"), 0.1)
    expected = simulate_chunk(
        queries,
        "multirr_sensitivity",
        [{key: grid[key] for key in CLUSTER_QUERY_KEYS}],
        chunk=0,
        chunks=1,
        replicates=4000,
        block=100,
        root_seed=20211121,
    )
    write_table(tmp_path / "expected.csv", expected.assign(data_source="surrogate"))
    assert (project.folder / target).read_bytes() == (tmp_path / "expected.csv").read_bytes()
