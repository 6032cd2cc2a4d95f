"""Measured costs of the jobs of a run, and expected costs before it starts.

Snakemake's benchmark files have the wall time and the memory of each job. The file next to each has
the CPU time, which the job itself measures at its end (`reproduction.pipeline.jobs`). The cost of a
job of a study is its start, plus a cost per unit of work (usually a replicate of a setting). The
cost of a job of any other rule is its measured cost.
"""

import csv
import re
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
from scipy import optimize

from deniable.arrays import Floats
from deniable.errors import DeniableError
from deniable.files import read_json, written_whole

from reproduction.pipeline import BENCHMARKS, CPU_SUFFIX, Config
from reproduction.study import chunk_of

COSTS = Path("resources/costs.csv")
SIMULATE = "simulate"
SIMULATED = re.compile(r"(?P<study>\w+)-(?P<chunk>\d+)-of-(?P<chunks>\d+)")
START = 1.2
"""CPU seconds of the start of a job, if it was not measured."""
SPREAD_OF_ONE = 0.3
"""Assumed spread of a kind of jobs with only one measured job."""
BETWEEN_RUNS = 0.3
"""Relative difference between whole runs in CPU time: other machine, other load."""

JOINT_WORK = {"survey": 1, "adult": 9, "alarm": 1, "child": 1}
"""About how many times the CPU time of `survey` a joint estimate of a data set takes."""


def joint_work(settings: Mapping[str, Any]) -> int:
    """Return the mean work of a replicate of joint estimates: all designs of its data set."""
    cells = [
        JOINT_WORK[name]
        for grid in settings["grids"]
        for name in grid["dataset"] * (len(grid["given"]) * len(grid["value"]))
    ]
    return round(len(settings["designs"]) * sum(cells) / len(cells))


UNITS_OF_A_RUN: Mapping[str, Callable[[Mapping[str, Any]], int]] = {
    "rrba_tables": lambda settings: settings["subsets"],
    "rrba_equal": lambda settings: settings["subsets"],
    "rrba_fig5": lambda settings: settings["blocks"],
    "rrba_fig6": lambda settings: settings["blocks"],
    "idp_fig3": lambda settings: len(settings["k"]),
    "idp_fig4": lambda settings: len(settings["k"]),
    "multirr_joint": joint_work,
}
"""Units of work per replicate, if they depend on an option of the study; otherwise 1."""
RUNS_TO_PREPARE = {"multirr_sensitivity": 60}
"""Preparation of a setting, as a number of replicates, for studies with few replicates."""


@dataclass(frozen=True, order=True)
class Kind:
    """Jobs of one cost: of a rule, and for simulations of a study."""

    rule: str
    study: str = ""

    def __str__(self) -> str:
        return f"{self.rule} {self.study}".rstrip()


@dataclass(frozen=True)
class Cost:
    """The cost of a job of a kind: CPU seconds of its start, and of each unit of work.

    A job of another rule than `simulate` is one unit.
    """

    rule: str
    study: str
    jobs: int  # number of measured jobs
    start_seconds: float
    unit_seconds: float
    spread: float  # root mean square of the relative deviations of measured jobs from this cost
    memory_mb: float  # of the largest job
    output_bytes: float  # of a job, on average

    @property
    def kind(self) -> Kind:
        """The kind of jobs with this cost."""
        return Kind(self.rule, self.study)

    def seconds(self, units: float) -> float:
        """Return the CPU seconds of a job of so many units."""
        return self.start_seconds + self.unit_seconds * units


@dataclass(frozen=True)
class Measured:
    """The measured time and memory of a job, from its benchmark file."""

    kind: Kind
    name: str  # distinguishes it from other jobs of its rule; empty if there are none
    chunk: int  # of a simulation; otherwise 0 of 1
    chunks: int
    wall_seconds: float
    cpu_seconds: float
    memory_mb: float
    ended: float  # when its file was written, in seconds since the epoch


def read_benchmarks(folder: Path | str = BENCHMARKS) -> list[Measured]:
    """Return the measurements in the benchmark files of a run, in the order of their paths.

    The file of a rule's job has the path of its log: ``<rule>.tsv`` or ``<rule>/<wildcards>.tsv``.
    """
    return [
        _read_benchmark(path, path.relative_to(folder).with_suffix("").parts)
        for path in sorted(Path(folder).rglob("*.tsv"))
    ]


def _read_benchmark(path: Path, parts: Sequence[str]) -> Measured:
    with path.open(newline="", encoding="utf-8") as stream:
        rows = list(csv.DictReader(stream, delimiter="\t"))
    if not rows or not {"s", "max_rss"} <= set(rows[0]):
        raise DeniableError(f"{path} is not a benchmark file of Snakemake; delete it")
    wall, spent = float(rows[0]["s"]), cpu_seconds(path)
    rule, name = parts[0], "/".join(parts[1:])
    found = SIMULATED.fullmatch(name) if rule == SIMULATE else None
    return Measured(
        Kind(rule, found["study"] if found else ""),
        name,
        int(found["chunk"]) if found else 0,
        int(found["chunks"]) if found else 1,
        wall,
        wall if spent is None else spent,
        _number(rows[0]["max_rss"]) or 0.0,
        path.stat().st_mtime,
    )


def _number(text: str) -> float | None:
    # A job that ended before the first measurement has NA.
    return None if text in ("NA", "-", "") else float(text)


def cpu_seconds(path: Path) -> float | None:
    """Return the CPU seconds that a job stored next to its benchmark file; None without them."""
    beside = path.with_suffix(CPU_SUFFIX)
    return float(read_json(beside)["cpu_seconds"]) if beside.is_file() else None


def units(config: Config, kind: Kind, chunk: int = 0, chunks: int = 1) -> float:
    """Return the units of work of a job: the replicates in a chunk of a study, otherwise 1."""
    if not kind.study:
        return 1.0
    study = config.study(kind.study)
    longer = UNITS_OF_A_RUN.get(kind.study)
    of_a_run = longer(study.model_dump()) if longer else 1
    runs = study.replicates + RUNS_TO_PREPARE.get(kind.study, 0)
    return float(len(chunk_of(study.cells(), chunk, chunks)) * runs * of_a_run)


def current(jobs: Iterable[Measured], config: Config) -> list[Measured]:
    """Return the jobs that belong to a config: studies with its numbers of chunks."""
    known = type(config.studies).model_fields
    return [
        job
        for job in jobs
        if not job.kind.study
        or (job.kind.study in known and job.chunks == config.chunks(job.kind.study))
    ]


def measured_cost(
    kind: Kind,
    jobs: Sequence[tuple[Measured, float]],
    output_bytes: float,
    known: Cost | None = None,
) -> Cost:
    """Return the cost of a kind from its measured jobs.

    Parameters
    ----------
    kind : Kind
    jobs : sequence of (Measured, float)
        Each with its units of work. If these differ twofold or more, start and unit are both fitted
        (least squares of relative deviations). Otherwise, or if the fit leaves no time for the
        work, the start is the known one. If most of the time was the start, the work is hardly
        measured, and the known ratio of start and unit is used.
    output_bytes : float
        Average size of a job's outputs.
    known : Cost, optional
        An earlier measurement.
    """
    took = np.array([job.cpu_seconds for job, _ in jobs])
    work = np.array([each for _, each in jobs])
    if not kind.study:
        start, unit = 0.0, float(took.mean())
    else:
        start, unit = _fitted(took, work) or _by_known_start(took, work, known)
    # Scale, so that the sum over the jobs is the measured one; the fit alone makes it smaller.
    factor = float(took.sum() / (start + unit * work).sum())
    start, unit = start * factor, unit * factor
    deviations = took / (start + unit * work) - 1
    return Cost(
        kind.rule,
        kind.study,
        len(jobs),
        start,
        unit,
        float(np.sqrt(np.mean(deviations**2))) if len(jobs) > 1 else SPREAD_OF_ONE,
        max(job.memory_mb for job, _ in jobs),
        output_bytes,
    )


def _fitted(took: Floats, work: Floats) -> tuple[float, float] | None:
    """Return the seconds of start and unit, or None if the sizes do not distinguish them."""
    if work.max() < 2 * work.min():
        return None
    design = np.column_stack([np.ones_like(work), work]) / took[:, None]
    start, unit = map(float, optimize.nnls(design, np.ones_like(took))[0])
    return (start, unit) if unit else None


def _by_known_start(took: Floats, work: Floats, known: Cost | None) -> tuple[float, float]:
    start = known.start_seconds if known else START
    unit = float((took.mean() - start) / work.mean())
    if unit * work.mean() >= start:
        return start, unit
    # Without a known cost, half of the time is the work: rather too much than none for large sizes.
    return start, known.unit_seconds if known and known.unit_seconds else start / work.mean()


def write_costs(costs: Iterable[Cost], path: Path | str = COSTS) -> None:
    """Write measured costs in the order of their kinds, with four digits."""
    ordered = sorted(costs, key=lambda cost: cost.kind)
    table = pd.DataFrame([vars(cost) for cost in ordered])
    with written_whole(path) as temporary:
        table.to_csv(temporary, index=False, float_format="%.4g")


def read_costs(path: Path | str = COSTS) -> dict[Kind, Cost]:
    """Return measured costs by kind; none if the file does not exist."""
    if not Path(path).is_file():
        return {}
    table = pd.read_csv(path, keep_default_na=False)
    costs = [Cost(*row) for row in table.itertuples(index=False, name=None)]
    return {cost.kind: cost for cost in costs}


@dataclass(frozen=True)
class Expected:
    """The expected cost of several jobs together."""

    jobs: int
    cpu_seconds: float
    low: float  # end of the range by twice the spread of single jobs, and by `BETWEEN_RUNS`
    high: float
    memory_mb: float  # of the largest job
    output_bytes: float


def expected(jobs: Sequence[tuple[Cost, float]]) -> Expected:
    """Return the expected cost of jobs, each given by its cost and its units of work."""
    seconds = [cost.seconds(work) for cost, work in jobs]
    total = sum(seconds)
    # Deviations of jobs count as independent; the deviation of the run is common to all jobs.
    spread = sum((cost.spread * each) ** 2 for (cost, _), each in zip(jobs, seconds, strict=True))
    reach = 2 * spread**0.5
    return Expected(
        len(jobs),
        total,
        max(total - reach, 0.0) * (1 - BETWEEN_RUNS),
        (total + reach) * (1 + BETWEEN_RUNS),
        max((cost.memory_mb for cost, _ in jobs), default=0.0),
        sum(cost.output_bytes for cost, _ in jobs),
    )
