"""Compare the quick study on a real Slurm with the local run: same bytes, also after failures.

Called by ``make test-slurm``. It starts its own Slurm with one node (`cluster`), works in copies of
the project (`runs`), and then removes both. It prints one line per check; an error is exit code 1.

    python tools/slurm/check.py              run the check
    python tools/slurm/check.py --install    the same, after apt-get install if necessary
    python tools/slurm/check.py --part       only parts of the study that take seconds (`PART`)
    python tools/slurm/check.py --possible   print whether it can run here; with --install, install
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
# A part of the quick study, for slow machines: three tables, a figure, a release.
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
# Studies with chunks that take seconds at the quick size.
STUDIES = ("rrba_table3", "rrba_power")


def say(line: str) -> None:
    """Print a line with the time since the start."""
    print(f"{time.monotonic() - STARTED:5.0f} s  {line}", flush=True)


def install() -> None:
    """Install missing packages with apt-get, if this process is root."""
    wanted = [PACKAGES] if missing() else []
    wanted += [ACCOUNTING_PACKAGES] if missing(accounting=True) else []
    if not wanted or os.geteuid() != 0 or shutil.which("apt-get") is None:
        return
    environment = os.environ | {"DEBIAN_FRONTEND": "noninteractive"}
    # Two installations, because most of the check needs only Slurm.
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
    """Return results of a local quick run: of the project if up to date, otherwise of a new run."""
    if runs.current(ROOT):
        say("local run: the results of make quick, which are up to date")
        return ROOT / "results"
    say("local run: running make quick's config, because no results are up to date")
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
    # A folder may also have chunks of an earlier run with another number of chunks.
    files = [
        max((results / "studies" / study).glob("chunk-0-of-*.csv"), key=lambda f: f.stat().st_mtime)
        for study in STUDIES
    ]
    return [f"results/studies/{file.parent.name}/{file.name}" for file in files]


def same(project: Project, results: Path, *targets: str) -> None:
    """Raise `ClusterError` unless outputs have the same bytes as in the local run."""
    for target in targets:
        expected = results.parent / target
        if content_digest(project.folder / target) != content_digest(expected):
            raise ClusterError(f"{project.folder / target} differs from the local run")


def study(project: Project, going: Run, results: Path, targets: Sequence[str]) -> str:
    """Wait for the quick study, or for part of it; compare its outputs with the local run."""
    said = going.ends(well=True, seconds=3600)
    jobs = len(set(re.findall(r"SLURM jobid (\d+)", said)))
    one, other = runs.comparable(results), runs.comparable(project.results)
    if targets:
        same(project, results, *targets)
        one = {name: content for name, content in one.items() if name in other}
    if found := runs.differences(one, other):
        raise ClusterError("different from the local run:\n  " + "\n  ".join(found[:20]))
    tables = sum(name.startswith(("tables/", "audit/")) for name in other)
    return (
        f"{'part of the' if targets else 'the'} quick study on Slurm, {jobs} submissions: {tables} "
        f"files of tables and audit, and {len(other) - tables} other files (figures, releases, "
        "chunks, data) have the same bytes"
    )


def killed_jobs(project: Project, results: Path) -> str:
    """Cancel one job and kill the process of another; Snakemake submits both again."""
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
    """Wait for the job of a target, and reduce its time limit to a minute."""
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
    """Let a job without a second attempt run out of time; the next run repeats it."""
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
    return (
        "a job out of time at its last attempt: the run fails with a message; the next: same bytes"
    )


def interrupted(project: Project, results: Path) -> str:
    """Interrupt a run; its jobs leave the queue, and the next run has the same bytes."""
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
    """Make a sweep of releases on Slurm and on this machine alone, and compare the outputs."""
    on_slurm, here = (Project.copy(folder / name, data) for name in ("swept", "swept_here"))
    for project, how in ((on_slurm, BY_PROFILE), (here, ("--cores", "2"))):
        # It replaces the example config, which would add its own releases.
        (project.folder / "config" / "config.yaml").write_text(SWEEP, encoding="utf-8")
        project.start("run.log", *how, "--", *SWEPT).ends(well=True, seconds=1200)
    same(on_slurm, here.results, *SWEPT)
    return "a sweep of two releases: its table and both public folders have the same bytes"


def with_accounting(project: Project, results: Path) -> str:
    """Run a small target with the unchanged profile, and with account and accounting database."""
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
    # The first job is on the default account of the user.
    if accounts[1:] != (ACCOUNT,) or set(states) != {"COMPLETED"}:
        raise ClusterError(f"expected two completed jobs, the second on {ACCOUNT}: {booked}")
    return "with accounting: by the profile as it is, and by account and sacct, same bytes"


def require(said: str, *words: str) -> None:
    """Raise `ClusterError` unless the output of a run has some words."""
    for word in words:
        if word not in said:
            raise ClusterError(f"the run did not print {word}:\n{said[-2000:]}")


def without_accounting(folder: Path, results: Path, targets: Sequence[str]) -> None:
    """Run the study, and meanwhile the failures, on a Slurm without accounting."""
    data = results / "data"
    faults: list[Callable[[Project, Path], str]] = [
        last_attempt,
        time_limit,
        killed_jobs,
        interrupted,
    ]
    # More than there are, because five jobs only wait at the gate.
    slots = 5 + max(2, len(os.sched_getaffinity(0)))
    with cluster(folder / "slurm", slots), ThreadPoolExecutor(len(faults)) as pool:
        say(f"Slurm is up, without accounting; {run('sbatch', '--version').strip()}")
        going = [
            pool.submit(fault, Project.copy(folder / fault.__name__, data), results)
            for fault in faults
        ]
        # Only the downloaded data, because the prepared data are part of the study.
        copied = Project.copy(folder / "study")
        shutil.copytree(data / "raw", copied.results / "data" / "raw")
        started = copied.start("run.log", *ON_SLURM, "--", *targets)
        try:
            for each in as_completed(going):
                say(f"ok: {each.result()}")
            say(f"ok: {study(copied, started, results, targets)}")
            say(f"ok: {release_sweep(folder, data)}")
        except BaseException:
            # While Slurm still runs, because remaining processes would wait for its answers.
            runs.end_all(folder)
            raise


def check(folder: Path, targets: Sequence[str], *, installed: bool) -> None:
    """Run all checks, with the whole study or with some targets.

    If packages for accounting are missing, that check is left out, unless `installed`.
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
    """Interrupt the check once; a second signal would leave daemons and their configuration."""
    for number in (signal.SIGINT, signal.SIGTERM):
        signal.signal(number, signal.SIG_IGN)
    raise KeyboardInterrupt


def main() -> int:
    """Run the check, or print the reason why it cannot run; return the exit code."""
    parser = argparse.ArgumentParser(description="The quick study on a real Slurm")
    parser.add_argument("--install", action="store_true", help="apt-get install missing packages")
    parser.add_argument("--part", action="store_true", help="only parts that take seconds")
    parser.add_argument(
        "--possible", action="store_true", help="only print whether it can run here"
    )
    asked = parser.parse_args()
    # A shell that runs this in the background ignores Ctrl-C, also for child processes.
    for number in (signal.SIGINT, signal.SIGTERM):
        signal.signal(number, end_in_peace)
    if asked.install:
        install()
    # Safe for munge, and without a space in its name.
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
