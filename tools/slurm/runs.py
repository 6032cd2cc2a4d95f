"""Runs of the pipeline in copies of the project, and their results."""

import contextlib
import json
import os
import shutil
import signal
import subprocess
import sys
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

import gate
from cluster import ClusterError, Found, run, wait_for

from deniable.release import PUBLIC, RECEIPT

ROOT = Path(__file__).resolve().parents[2]
PARTS = ("Snakefile", "workflow", "config", "resources", "docs", "src", "profiles")
QUICK = "config/quick.yaml"
# Frequent checks of the queue, and groups for chunks that take seconds.
BY_PROFILE = (
    *("--profile", "profiles/slurm"),
    *("--slurm-init-seconds-before-status-checks", "2", "--latency-wait", "10"),
    *("--group-components", "data=20", "analyses=6"),
    *("chunks=8", "tables=15", "conclusions=1"),
)
ON_SLURM = (*BY_PROFILE, "--configfile", QUICK)
COMPARED = (
    *("tables", "audit", "figures", "studies", "data"),
    *("plans", "releases", "estimates", "checks"),
)


@dataclass(frozen=True)
class Project:
    """A copy of the project in its own folder, with the installed library."""

    folder: Path

    @classmethod
    def copy(cls, folder: Path, data: Path | None = None) -> "Project":
        """Copy the inputs of a run; the files of `data`, a folder results/data, are copied too."""
        folder.mkdir(parents=True)
        for part in PARTS:
            if (ROOT / part).is_dir():
                ignore = shutil.ignore_patterns("__pycache__")
                shutil.copytree(ROOT / part, folder / part, ignore=ignore)
            else:
                shutil.copy2(ROOT / part, folder)
        if data is not None and data.is_dir():
            shutil.copytree(data, folder / "results" / "data")
        return cls(folder)

    @property
    def results(self) -> Path:
        """The folder of results."""
        return self.folder / "results"

    def start(self, log: str, *arguments: str) -> "Run":
        """Start Snakemake; its output goes to the file `log` in the folder."""
        command = [sys.executable, "-m", "snakemake", *arguments]
        with (self.folder / log).open("wb") as stream:
            process = subprocess.Popen(
                command,
                cwd=self.folder,
                env=environment(),
                stdin=subprocess.DEVNULL,
                stdout=stream,
                stderr=stream,
                start_new_session=True,
            )
        run_started = Run(process, self.folder / log)
        STARTED.append(run_started)
        return run_started

    def queue(self, what: str = "%i") -> list[str]:
        """Return the ids, or another field of squeue, of this folder's jobs in the queue."""
        said = run("squeue", "--noheader", f"--format={what}|%Z")
        lines = [line.partition("|") for line in said.splitlines()]
        return [told.strip() for told, _, folder in lines if Path(folder) == self.folder]

    def working(self, output: str) -> int:
        """Wait for the process that simulates a chunk to reach the gate; return its id."""
        found = self.wait(f"a job on {output}", lambda: gate.process_at(self.folder, output))
        assert found is not None
        return found

    def wait(self, what: str, happened: Callable[[], Found]) -> Found:
        """Wait for an event of the last run here, until the run ends."""
        going = [each for each in STARTED if each.log.parent == self.folder][-1]

        def found() -> Found:
            seen = happened()
            if not seen and going.process.poll() is not None:
                raise ClusterError(f"ended before {what} was seen: {going.tail()}")
            return seen

        return wait_for(what, 400, found)


@dataclass(frozen=True)
class Run:
    """A started run of Snakemake."""

    process: subprocess.Popen[bytes]
    log: Path

    def said(self) -> str:
        """Return its output so far."""
        return self.log.read_text(encoding="utf-8", errors="replace")

    def ends(self, *, well: bool, seconds: float = 900) -> str:
        """Wait for its end, which must be a success or a failure (`well`); return its output."""
        try:
            status = self.process.wait(seconds)
        except subprocess.TimeoutExpired:
            self.interrupt()
            raise ClusterError(f"still running after {seconds:g} s: {self.tail()}") from None
        if (status == 0) != well:
            raise ClusterError(f"ended {'badly' if well else 'well'} ({status}): {self.tail()}")
        return self.said()

    def interrupt(self) -> None:
        """Interrupt Snakemake alone, as Ctrl-C does."""
        with contextlib.suppress(ProcessLookupError):
            self.process.send_signal(signal.SIGINT)

    def tail(self) -> str:
        """Return the last lines of its output, and the path of the log."""
        return "\n".join([str(self.log), *self.said().splitlines()[-25:]])


STARTED: list[Run] = []
"""All runs so far."""


def end_all(folder: Path) -> None:
    """Kill the runs that are still active after a failed check, and remaining processes of jobs.

    A Snakemake of a job that ran out of time waits for an answer of Slurm. If the daemons end
    before, it would wait without end.
    """
    for each in STARTED:
        if each.process.poll() is None:
            os.killpg(each.process.pid, signal.SIGKILL)
            each.process.wait()
    for process in Path("/proc").glob("[0-9]*"):
        # Processes may start and end meanwhile.
        with contextlib.suppress(OSError):
            if folder in (process / "cwd").readlink().parents:
                os.kill(int(process.name), signal.SIGKILL)


def environment() -> dict[str, str]:
    """Return the environment variables of a run: the installed library, without PYTHONPATH."""
    kept = {key: value for key, value in os.environ.items() if key != "PYTHONPATH"}
    folder = str(Path(sys.executable).parent)
    path = folder + os.pathsep + kept.get("PATH", "")
    return kept | {"PATH": path}


def slurm_job(pid: int) -> str:
    """Return the id of the Slurm job of a process."""
    variables = Path(f"/proc/{pid}/environ").read_bytes().decode(errors="replace").split("\0")
    return next(each.partition("=")[2] for each in variables if each.startswith("SLURM_JOB_ID="))


def current(folder: Path) -> bool:
    """Return whether a folder has the results of its quick run, of one config and up to date."""
    last = folder / ".snakemake" / "last_config"
    if not last.is_file() or last.read_text(encoding="utf-8").strip() != QUICK:
        return False
    records = (folder / "results").rglob("*.provenance.json")
    # Results of a run in several parts may have another config in unrelated options. They are up to
    # date, but their metadata contain that config.
    if len({json.loads(record.read_text(encoding="utf-8"))["config"] for record in records}) != 1:
        return False
    done = subprocess.run(
        [sys.executable, "-m", "snakemake", "--cores", "1", "--dry-run", "--configfile", QUICK],
        cwd=folder,
        env=environment(),
        capture_output=True,
        text=True,
        check=False,
    )
    return done.returncode == 0 and "Nothing to be done" in done.stdout + done.stderr


def comparable(results: Path) -> dict[str, bytes]:
    """Return the results that must have the same bytes on each machine, by path."""
    found = {}
    for part in COMPARED:
        for path in sorted((results / part).rglob("*")):
            name = path.relative_to(results).as_posix()
            # Without marks of Snakemake and files of data sources.
            if not path.is_file() or path.name.startswith(".") or name.startswith("data/raw/"):
                continue
            if part != "releases" or not drawn_once(path):
                found[name] = path.read_bytes()
            elif f"/{PUBLIC}/" in name or path.match(RECEIPT):
                found[name] = b"there"
    return found


def drawn_once(path: Path) -> bool:
    """Return whether a file belongs to a production release, which cannot be repeated."""
    folder = path
    while folder.parent.name != "releases":
        folder = folder.parent
    plan = folder / PUBLIC / "plan.json"
    return not plan.exists() or b'"mode": "test"' not in plan.read_bytes()


def differences(one: dict[str, bytes], other: dict[str, bytes]) -> list[str]:
    """Return one line per file that differs between both."""
    return [
        f"{name}: {'missing' if name not in other or name not in one else 'other bytes'}"
        for name in sorted(one.keys() | other.keys())
        if one.get(name) != other.get(name)
    ]
