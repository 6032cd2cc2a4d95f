"""What is killed in mid-run is mended by the next run, to the same bytes.

``make test-kills`` kills the whole run twenty times; ``make test`` a small one three times.
"""

import json
import os
import signal
import time
from pathlib import Path
from typing import Any

import pytest
import yaml
from kill_trial import Trial, moments, results_there, scripts_at_work

from deniable.files import write_table
from deniable.microdata import read_parquet
from deniable.provenance_file import SUFFIX
from deniable.studies.cluster_queries import ClusterQueries
from deniable.studies.registry_multirr import CLUSTER_QUERY_KEYS
from deniable.study import simulate_chunk

pytestmark = [
    pytest.mark.workflow,
    pytest.mark.skipif(not Path("/proc/self/task").exists(), reason="finds processes in /proc"),
]

FEW = 3
SMALL = ("results/tables/multirr_sensitivity.csv", "results/releases/tried/estimates.csv")
# Data sets, a chunk and a table; channels, protected records (two files) and estimates.
RESULTS_OF_SMALL = 8
# Of releases from the operating system's generator, and of what is drawn from those.
DRAWN_ANEW = ("results/releases/real/", "results/releases/counted/", "results/releases/answered/")


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
        while not (found := scripts_at_work(run.pid, "simulate.py")):
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


def records_of_what_is_seeded(project: Any) -> dict[str, Any]:
    """Return the records of all results but those that are drawn anew, or made from such."""
    found = {}
    for name, text in project.results(f"**/*{SUFFIX}").items():
        record = json.loads(text)
        if not any(path.startswith(DRAWN_ANEW) for path in (record["file"], *record["inputs"])):
            found[name] = record
    return found


def test_a_run_that_is_killed_again_and_again_ends_with_the_same_bytes(
    untouched: Any, finished: Any
) -> None:
    kills = int(os.environ.get("DENIABLE_KILLS", FEW))
    seed = int(os.environ.get("DENIABLE_KILLS_SEED", "20211121"))
    whole = kills > FEW
    results = results_there(finished[0].folder) if whole else RESULTS_OF_SMALL
    trial = Trial(untouched, "--cores", "2", *(() if whole else SMALL))
    for moment in moments(kills, results, seed):
        trial.kill(moment)
    trial.finish()
    print(f"seed {seed}:", *trial.history, sep="\n  ")
    assert sum("killed" in line for line in trial.history) == kills
    assert untouched.temporary_files() == []
    expected, found = finished[0].comparable(), untouched.comparable()
    if whole:
        assert set(found) == set(expected)
    else:
        assert results_there(untouched.folder) == RESULTS_OF_SMALL
        assert set(SMALL) <= set(found)
    assert found == {name: expected[name] for name in found}
    # What is recorded of them, too.
    expected, found = map(records_of_what_is_seeded, (finished[0], untouched))
    assert len(found) > results / 2
    assert found == {name: expected[name] for name in found}
