"""The quick study on a real Slurm, beside the local run: same bytes, also after faults.

Called by ``make test-slurm``. It starts a Slurm of one node of its own (`cluster`), works in copies
of the project (`runs`), and ends and removes both. Says a line for each check; exits 1 at a fault.

    python tools/slurm/check.py              the check
    python tools/slurm/check.py --install    the same, after apt-get install where that is needed
    python tools/slurm/check.py --part       of the study only what takes seconds (`PART`)
    python tools/slurm/check.py --possible   whether it can run here; installs too, if asked
"""

import argparse
import os
import re
import shutil
import signal
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Sequence
from concurrent.futures import ThreadPoolExecutor, as_completed
from pathlib import Path

import gate
import runs
from cluster import (
    ACCOUNT,
    ACCOUNTING_PACKAGES,
    PACKAGES,
    ClusterError,
    cluster,
    missing,
    refuse_if_impossible,
    run,
    wait_for,
)
from runs import BY_PROFILE, ON_SLURM, QUICK, ROOT, Project, Run

from reproduction.pipeline import content_digest

STARTED = time.monotonic()
# Of the quick study, for a machine with little time: three tables, a figure, a release.
PART = (
    *(f"results/tables/{name}.csv" for name in ("multirr_table1", "pram_coverage", "rrba_table3")),
    "results/figures/multirr_table1.svg",
    "results/releases/census_dp/public",
)
# A sweep of releases: the chain of two test releases, collected in one table and one figure.
SWEEP = """\
releases:
  - name: swept
    data: adult
    mode: test
    plan: {kind: columns, columns: [race, sex, income], mechanism: best}
    grid: {epsilon: [1.0, 4.5]}
"""
SWEPT = (
    "results/sweeps/swept.csv",
    *(f"results/releases/swept-epsilon-{epsilon}/public" for epsilon in ("1", "4_5")),
)
# Studies whose chunks are seconds of work at the quick size.
STUDIES = ("rrba_table3", "rrba_power")


def say(line: str) -> None:
    """Print a line with the time since the start."""
    print(f"{time.monotonic() - STARTED:5.0f} s  {line}", flush=True)


def install() -> None:
    """Install what is missing, with the machine's own apt-get."""
    wanted = [PACKAGES] if missing() else []
    wanted += [ACCOUNTING_PACKAGES] if missing(accounting=True) else []
    if not wanted or os.geteuid() != 0 or shutil.which("apt-get") is None:
        return
    environment = os.environ | {"DEBIAN_FRONTEND": "noninteractive"}
    # Two installations: Slurm is enough for most of the check.
    without = ("install", "-y", "--no-install-recommends")
    for arguments in (("update",), *((*without, *packages.split()) for packages in wanted)):
        done = subprocess.run(
            ("apt-get", "-qq", "-o", "Dpkg::Use-Pty=0", *arguments),
            env=environment,
            capture_output=True,
            text=True,
            check=False,
        )
        if done.returncode != 0:
            say(f"apt-get {' '.join(arguments)}: failed: {done.stderr.strip()[-300:]}")


def reference(folder: Path) -> Path:
    """Return results of a local quick run: those of the project if current, otherwise new ones."""
    if runs.current(ROOT):
        say("local run: the results of make quick, which are current")
        return ROOT / "results"
    say("local run: making one, there is none that is current (make quick)")
    raw = ROOT / "results" / "data" / "raw"
    local = Project.copy(folder / "local")
    if raw.is_dir():
        shutil.copytree(raw, local.results / "data" / "raw")
    cores = str(len(os.sched_getaffinity(0)))
    local.start("run.log", "--cores", cores, "--configfile", QUICK).ends(well=True, seconds=3600)
    say("local run: made")
    return local.results


def chunks(results: Path) -> list[str]:
    """Return the first chunk of each of `STUDIES`, as targets."""
    # A folder may have chunks of an earlier run, too, which was cut otherwise.
    files = [
        max((results / "studies" / study).glob("chunk-0-of-*.csv"), key=lambda f: f.stat().st_mtime)
        for study in STUDIES
    ]
    return [f"results/studies/{file.parent.name}/{file.name}" for file in files]


def same(project: Project, results: Path, *targets: str) -> None:
    """Require that outputs have the bytes of the local run's."""
    for target in targets:
        expected = results.parent / target
        if content_digest(project.folder / target) != content_digest(expected):
            raise ClusterError(f"{project.folder / target} is not what the local run has")


def study(project: Project, going: Run, results: Path, targets: Sequence[str]) -> str:
    """Wait for the quick study, or for part of it; compare all that it left with the local run."""
    said = going.ends(well=True, seconds=3600)
    jobs = len(set(re.findall(r"SLURM jobid (\d+)", said)))
    one, other = runs.comparable(results), runs.comparable(project.results)
    if targets:
        same(project, results, *targets)
        one = {name: content for name, content in one.items() if name in other}
    if found := runs.differences(one, other):
        raise ClusterError("not what the local run has:\n  " + "\n  ".join(found[:20]))
    tables = sum(name.startswith(("tables/", "audit/")) for name in other)
    return (
        f"{'part of the' if targets else 'the'} quick study on Slurm, {jobs} submissions: {tables} "
        f"files of tables and audit, and {len(other) - tables} other files (figures, releases, "
        "chunks, data) have the same bytes"
    )


def killed_jobs(project: Project, results: Path) -> str:
    """Cancel one job, kill another one's process; Snakemake submits both again."""
    targets = chunks(results)
    alone = ("--group-components", "chunks=1")
    gate.build(project.folder)
    going = project.start("killed.log", *ON_SLURM, *alone, "--", *targets)
    run("scancel", runs.slurm_job(project.working(targets[0])))
    os.kill(project.working(targets[1]), signal.SIGKILL)
    gate.let_through(project.folder)
    said = going.ends(well=True)
    require(said, "CANCELLED AT")
    if said.count("Trying to restart job") != 2:
        raise ClusterError(f"expected two jobs to be submitted again: {going.tail()}")
    same(project, results, *targets)
    return "a job that was cancelled, and one whose process was killed: submitted again, same bytes"


def let_time_run_out(project: Project, target: str) -> None:
    """Wait for the job that makes a target, and leave it no more than a minute."""
    run("scontrol", "update", f"jobid={runs.slurm_job(project.working(target))}", "timelimit=1")


def time_limit(project: Project, results: Path) -> str:
    """Let a job run out of time; the second attempt gets twice as much."""
    target = chunks(results)[0]
    gate.build(project.folder)
    going = project.start("time.log", *ON_SLURM, "--", target)
    first = limit_of(project)
    let_time_run_out(project, target)
    project.wait("the second attempt", lambda: limit_of(project) == 2 * first)
    gate.let_through(project.folder)
    require(going.ends(well=True), "DUE TO TIME LIMIT")
    same(project, results, target)
    return (
        "a job that ran out of time: submitted again, with a limit of "
        f"{2 * first} minutes instead of {first}, same bytes"
    )


def limit_of(project: Project) -> int:
    """Return the time limit of the folder's job, in minutes, once it is in the queue."""
    limits = project.wait("a job in the queue", lambda: project.queue("%l"))
    *hours, minutes, _ = map(int, limits[0].split(":"))
    return minutes + 60 * (hours[0] if hours else 0)


def last_attempt(project: Project, results: Path) -> str:
    """Let a job run out of time where it has no second attempt; the next run mends it."""
    target = chunks(results)[1]
    gate.build(project.folder)
    going = project.start("last.log", *ON_SLURM, "--retries", "0", "--", target)
    let_time_run_out(project, target)
    require(going.ends(well=False), "DUE TO TIME LIMIT", "Exiting because a job execution failed")
    if (project.folder / target).exists():
        raise ClusterError(f"{target} was left by a job that ran out of time")
    gate.let_through(project.folder)
    project.start("mended.log", *ON_SLURM, "--", target).ends(well=True)
    same(project, results, target)
    return "a job out of time at its last attempt: the run fails and says so; the next: same bytes"


def interrupted(project: Project, results: Path) -> str:
    """Interrupt a run; its jobs leave the queue, and the next run ends with the same bytes."""
    target = chunks(results)[0]
    gate.build(project.folder)
    going = project.start("interrupted.log", *ON_SLURM, "--", target)
    pid = project.working(target)
    going.interrupt()
    going.ends(well=False, seconds=120)
    wait_for("the queue to empty", 60, lambda: not project.queue())
    wait_for("the job's process to end", 60, lambda: not Path(f"/proc/{pid}").exists())
    gate.let_through(project.folder)
    project.start("again.log", *ON_SLURM, "--", target).ends(well=True)
    same(project, results, target)
    return "a run that was interrupted: no job left in the queue; the next run: same bytes"


def release_sweep(folder: Path, data: Path) -> str:
    """Make a sweep of releases on Slurm and on this machine alone, and compare what they leave."""
    on_slurm, here = (Project.copy(folder / name, data) for name in ("swept", "swept_here"))
    for project, how in ((on_slurm, BY_PROFILE), (here, ("--cores", "2"))):
        # In place of the example config, which would add its own releases.
        (project.folder / "config" / "config.yaml").write_text(SWEEP, encoding="utf-8")
        project.start("run.log", *how, "--", *SWEPT).ends(well=True, seconds=1200)
    same(on_slurm, here.results, *SWEPT)
    return "a sweep of two releases: its table and both public folders have the same bytes"


def with_accounting(project: Project, results: Path) -> str:
    """Run a small target by the profile as it is, and by account and the accounting database."""
    target = "results/tables/multirr_example1.csv"
    asked = ("--slurm-status-command", "sacct")
    asked += ("--default-resources", f"slurm_account={ACCOUNT}", "slurm_partition=main")
    for name, more in (("as_it_is", ()), ("account", asked)):
        log = f"{name}.log"
        project.start(log, *ON_SLURM, *more, "--forcerun", "multirr_example1", "--", target).ends(
            well=True
        )
        same(project, results, target)
    booked = run("sacct", "--noheader", "--allocations", "--parsable2", "--format=Account,State")
    accounts, states = zip(*(line.split("|") for line in booked.split()), strict=True)
    # The first job is on whatever account is the user's default.
    if accounts[1:] != (ACCOUNT,) or set(states) != {"COMPLETED"}:
        raise ClusterError(f"expected two completed jobs, the second on {ACCOUNT}: {booked}")
    return "with accounting: by the profile as it is, and by account and sacct, same bytes"


def require(said: str, *words: str) -> None:
    """Require that a run said some words."""
    for word in words:
        if word not in said:
            raise ClusterError(f"the run did not say {word}:\n{said[-2000:]}")


def without_accounting(folder: Path, results: Path, targets: Sequence[str]) -> None:
    """The study, and meanwhile the faults, on a Slurm without accounting."""
    data = results / "data"
    faults: list[Callable[[Project, Path], str]] = [
        last_attempt,
        time_limit,
        killed_jobs,
        interrupted,
    ]
    # More than there are: five jobs only wait to be met.
    slots = 5 + max(2, len(os.sched_getaffinity(0)))
    with cluster(folder / "slurm", slots), ThreadPoolExecutor(len(faults)) as pool:
        say(f"Slurm is up, without accounting; {run('sbatch', '--version').strip()}")
        going = [
            pool.submit(fault, Project.copy(folder / fault.__name__, data), results)
            for fault in faults
        ]
        # Only what was settled, not the prepared data: those are part of the study.
        copied = Project.copy(folder / "study")
        shutil.copytree(data / "raw", copied.results / "data" / "raw")
        started = copied.start("run.log", *ON_SLURM, "--", *targets)
        try:
            for each in as_completed(going):
                say(f"ok: {each.result()}")
            say(f"ok: {study(copied, started, results, targets)}")
            say(f"ok: {release_sweep(folder, data)}")
        except BaseException:
            # While Slurm is there: what is left of them would wait for its answers.
            runs.end_all(folder)
            raise


def check(folder: Path, targets: Sequence[str], *, installed: bool) -> None:
    """All checks; the study with all that it makes, or with some targets.

    Without what accounting needs, that is left out, unless it should have been `installed`.
    """
    lacking = missing(accounting=True)
    without = (
        f"with accounting; not installed: {', '.join(lacking)}. On Debian or Ubuntu: "
        f"apt-get install --no-install-recommends {ACCOUNTING_PACKAGES}"
    )
    if lacking and installed:
        raise ClusterError(without)
    results = reference(folder)
    without_accounting(folder, results, targets)
    if lacking:
        say(f"SKIPPED: {without}")
        return
    with cluster(folder / "accounting", 2, accounting=True):
        say("Slurm is up, with accounting")
        say(f"ok: {with_accounting(Project.copy(folder / 'accounted'), results)}")


def end_in_peace(*_: object) -> None:
    """Interrupt the check, once: a second signal would leave daemons and their configuration."""
    for number in (signal.SIGINT, signal.SIGTERM):
        signal.signal(number, signal.SIG_IGN)
    raise KeyboardInterrupt


def main() -> int:
    """Check, or say why not."""
    parser = argparse.ArgumentParser(description="The quick study on a real Slurm")
    parser.add_argument("--install", action="store_true", help="apt-get install what is missing")
    parser.add_argument("--part", action="store_true", help="of the study what takes seconds")
    parser.add_argument("--possible", action="store_true", help="only say whether it can run here")
    asked = parser.parse_args()
    # A shell that runs this in the background ignores Ctrl-C, also for what is started here.
    for number in (signal.SIGINT, signal.SIGTERM):
        signal.signal(number, end_in_peace)
    if asked.install:
        install()
    # Secure for munge, and without a space in its name.
    folder = Path(tempfile.mkdtemp(prefix="deniable-slurm-"))
    folder.chmod(0o755)
    try:
        refuse_if_impossible()
        if not asked.possible:
            check(folder, PART if asked.part else (), installed=asked.install)
            say("all passed; Slurm has ended")
    except (ClusterError, KeyboardInterrupt) as error:
        print(f"test-slurm: {str(error) or 'interrupted'}", file=sys.stderr)
        if any(folder.iterdir()):
            print(f"test-slurm: logs and copies are kept in {folder}", file=sys.stderr)
        else:
            folder.rmdir()
        return 1
    finally:
        runs.end_all(folder)
    shutil.rmtree(folder)
    return 0


if __name__ == "__main__":
    sys.exit(main())
