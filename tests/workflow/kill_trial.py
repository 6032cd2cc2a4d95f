"""A run that is killed at random moments and started again each time."""

import contextlib
import os
import random
import signal
import subprocess
import time
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import gate

from reproduction.pipeline.provenance import SUFFIX

PATIENCE = 900
"""Seconds within which a run must get where it is to be killed."""


@dataclass(frozen=True)
class Moment:
    """When a run is killed: some time after as many of its results are there.

    Parameters
    ----------
    results : int
        Counted by their records of provenance, those from before the kills before included.
    delay : float
        Seconds from then, or from the start of the run if they are there already.
    whole : bool
        Whether everything is killed, or only one of the jobs at work.
    """

    results: int
    delay: float
    whole: bool


def moments(kills: int, results: int, seed: int) -> list[Moment]:
    """Draw moments all over a run of so many results; every fourth is that of a single job."""
    generator = random.Random(seed)
    counts = sorted(generator.randrange(results) for _ in range(kills))
    return [
        Moment(count, generator.uniform(0, 3), number % 4 != 3)
        for number, count in enumerate(counts)
    ]


def descendants(pid: int) -> Iterator[tuple[int, str]]:
    """Yield the processes under `pid`, with their command lines."""
    pending = [pid]
    while pending:
        parent = pending.pop()
        # Processes come and go meanwhile.
        with contextlib.suppress(FileNotFoundError, ProcessLookupError):
            for task in Path(f"/proc/{parent}/task").glob("*/children"):
                for child in map(int, task.read_text().split()):
                    pending.append(child)
                    with contextlib.suppress(FileNotFoundError, ProcessLookupError):
                        yield child, Path(f"/proc/{child}/cmdline").read_bytes().decode()


def scripts_at_work(pid: int, word: str = ".snakemake/scripts/") -> list[int]:
    """Return the processes under `pid` that run a script of a job, not those that wait for one."""
    return [child for child, line in descendants(pid) if word in line and "snakemake\0" not in line]


def results_there(folder: Path) -> int:
    """Return how many results a run has recorded."""
    return sum(1 for _ in (folder / "results").rglob(f"*{SUFFIX}"))


def job_at_gate(project: Any, run: subprocess.Popen[str], output: str) -> int:
    """Wait until a simulation of a run stands at the project's gate; return its process."""
    deadline = time.monotonic() + PATIENCE
    while (job := gate.process_at(project.folder, output)) is None:
        assert run.poll() is None
        assert time.monotonic() < deadline
        time.sleep(0.05)
    return job


class Trial:
    """A project's run, as often as it takes; what was done to it stands in `history`."""

    def __init__(self, project: Any, *arguments: str) -> None:
        self.project = project
        self.arguments = arguments
        self.history: list[str] = []
        self.run = self._started()

    def _started(self) -> subprocess.Popen[str]:
        # The lock of a run that was killed; nobody else works in this folder.
        locks = self.project.folder / ".snakemake" / "locks"
        if locks.is_dir() and any(locks.iterdir()):
            self.project.made("--unlock")
        return self.project.popen(*self.arguments, output=self.log)

    @property
    def log(self) -> Path:
        """What the run that was started last has said."""
        return self.project.folder / f"run-{len(self.history)}.log"

    def _reached(self, moment: Moment, delay: float) -> bool:
        """Wait for a moment; return whether the run is still at work then."""
        deadline = time.monotonic() + PATIENCE
        while self.run.poll() is None and results_there(self.project.folder) < moment.results:
            assert time.monotonic() < deadline, self.log.read_text()
            time.sleep(0.05)
        with contextlib.suppress(subprocess.TimeoutExpired):
            self.run.wait(timeout=delay)
        return self.run.poll() is None

    def kill(self, moment: Moment) -> None:
        """Kill the run and start it again, or kill one of its jobs, at a moment."""
        delay = moment.delay
        while not self._reached(moment, delay):
            # Of a job that was killed before, or because little was left to do.
            self.history.append(f"ended with exit code {self.run.returncode}")
            self.run = self._started()
            delay /= 2
        there = f"{results_there(self.project.folder)} results there"
        at_work = scripts_at_work(self.run.pid)
        if not moment.whole and at_work:
            os.kill(at_work[0], signal.SIGKILL)
            self.history.append(f"a job killed, {there}")
            return
        os.killpg(self.run.pid, signal.SIGKILL)
        self.run.wait()
        self.history.append(f"all killed, {there}")
        self.run = self._started()

    def finish(self) -> None:
        """Let the run end, and start it again as often as single jobs of it were killed."""
        for _ in range(3):
            if self.run.wait(timeout=PATIENCE) == 0:
                return
            self.history.append(f"ended with exit code {self.run.returncode}")
            self.run = self._started()
        raise AssertionError(self.log.read_text())
