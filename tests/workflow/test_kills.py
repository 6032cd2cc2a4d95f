"""What is killed in mid-run is mended by the next run, to the same bytes.

``make test-all`` kills a run, one of its simulations, and a small run three times;
``make test-kills`` the whole one twenty times.
"""

import json
import os
import signal
from pathlib import Path
from typing import Any

import gate
import pytest
from tests.workflow.kill_trial import Trial, job_at_gate, moments, results_there
from tests.workflow.tiny_releases import REAL

from reproduction.pipeline.provenance import SUFFIX

pytestmark = [
    pytest.mark.workflow,
    pytest.mark.skipif(not Path("/proc/self/task").exists(), reason="finds processes in /proc"),
]

FEW = 3
SMALL = ("results/tables/multirr_sensitivity.csv", "results/releases/tried/public")
# Two data sets, a chunk and a table; two releases, because the second has clusters from the first.
RESULTS_OF_SMALL = 15
# Of releases from the operating system's generator.
DRAWN_ANEW = tuple(f"results/releases/{name}/" for name in REAL)


@pytest.mark.parametrize("victim", ["snakemake", "job"])
def test_what_is_killed_in_mid_run_is_mended_by_the_next(
    project: Any, finished: Any, victim: str
) -> None:
    gate.build(project.folder)
    target = "results/studies/multirr_sensitivity/chunk-0-of-1.csv"
    with project.popen("--cores", "1", target) as run:
        job = job_at_gate(project, run, target)
        if victim == "job":
            os.kill(job, signal.SIGKILL)
        else:
            os.killpg(run.pid, signal.SIGKILL)
        said, _ = run.communicate(timeout=60)
    assert run.returncode != 0, said
    assert not (project.folder / target).exists()
    assert project.temporary_files() == []
    if victim == "snakemake":
        project.made("--unlock")
    gate.let_through(project.folder)
    project.made("--cores", "1", target)
    expected = (finished[0].folder / target).read_bytes()
    assert (project.folder / target).read_bytes() == expected


def records_of_what_is_seeded(project: Any) -> dict[str, Any]:
    """Return the records of all results but those that are drawn anew, or made from such."""
    found = {}
    for name, text in project.results(f"**/*{SUFFIX}").items():
        record = json.loads(text)
        if not any(path.startswith(DRAWN_ANEW) for path in (record["file"], *record["inputs"])):
            found[name] = record
    return found


@pytest.mark.slow
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
        assert all(any(name.startswith(target) for name in found) for target in SMALL)
    assert found == {name: expected[name] for name in found}
    # What is recorded of them, too.
    expected, found = map(records_of_what_is_seeded, (finished[0], untouched))
    assert len(found) > results / 2
    assert found == {name: expected[name] for name in found}


@pytest.mark.parametrize("nohup", [False, True])
def test_the_end_of_its_terminal_ends_a_run_without_a_lock(untouched: Any, nohup: bool) -> None:
    gate.build(untouched.folder)
    target = "results/studies/multirr_sensitivity/chunk-0-of-1.csv"
    before = signal.signal(signal.SIGHUP, signal.SIG_IGN if nohup else signal.SIG_DFL)
    try:
        run = untouched.popen("--cores", "1", target)
    finally:
        signal.signal(signal.SIGHUP, before)
    with run:
        job_at_gate(untouched, run, target)
        os.killpg(run.pid, signal.SIGHUP)
        if nohup:
            gate.let_through(untouched.folder)
        said, _ = run.communicate(timeout=120)
    assert (run.returncode == 0) == nohup, said
    assert (untouched.folder / target).exists() == nohup
    assert untouched.temporary_files() == []
    assert not list((untouched.folder / ".snakemake").glob("locks/*"))
