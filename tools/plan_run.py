"""Print the expected cost of a run before it starts: jobs, CPU hours, wall time, memory, disk.

Called by ``make plan``. The jobs are from Snakemake's own graph, without results that are up to
date. Their costs are in resources/costs.csv, which ``make costs`` measures.
"""

import argparse
import resource
import subprocess
import sys
import time
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path

from costs import SIMULATE, Cost, Kind, expected, read_costs, units
from deniable.errors import DeniableError
from job_graph import GraphJob, read_graph, schedule
from workflow_config import WHOLE, read_config

from reproduction.papers.multirr import settings as multirr
from reproduction.pipeline import Config

# They only name the results of other rules.
EMPTY = ("all", "fit_surrogates")


def arguments() -> argparse.Namespace:
    """Read the command line."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("targets", nargs="*", help="files to make (default: everything)")
    parser.add_argument("--configfile", type=Path, default=WHOLE)
    parser.add_argument("--cores", type=int, default=2)
    return parser.parse_args()


def graph(configfile: Path, targets: Sequence[str]) -> tuple[list[GraphJob], float, float]:
    """Return the jobs of a run, and the wall and CPU seconds in which Snakemake built their graph.

    Raises
    ------
    DeniableError
        If Snakemake fails, with its messages.
    """
    command = [sys.executable, "-m", "snakemake", "--dag", "--nolock", "--configfile"]
    command += [str(configfile), "--", *targets]
    started = time.perf_counter()
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    took = time.perf_counter() - started
    if done.returncode:
        raise DeniableError(f"Snakemake cannot plan this run:\n{done.stdout}{done.stderr}")
    spent = resource.getrusage(resource.RUSAGE_CHILDREN)
    jobs = [job for job in read_graph(done.stdout) if job.rule not in EMPTY]
    return jobs, took, spent.ru_utime + spent.ru_stime


def work_of(job: GraphJob, config: Config) -> tuple[Kind, float]:
    """Return the kind of a job and its units of work."""
    if job.rule != SIMULATE:
        return Kind(job.rule), 1.0
    kind = Kind(job.rule, job.wildcards["study"])
    chunk, chunks = int(job.wildcards["chunk"]), int(job.wildcards["chunks"])
    return kind, units(config, kind, chunk, chunks)


def minutes(seconds: float) -> str:
    """Return a time in seconds, minutes or hours, for readers."""
    if seconds < 99.5:
        return f"{seconds:.0f} s" if seconds >= 9.95 else f"{seconds:.1f} s"
    return f"{seconds / 60:.0f} min" if seconds < 5970 else f"{seconds / 3600:.1f} h"


def sizes(config: Config, study: str) -> str:
    """Return the numbers of settings and of replicates of a study, as text."""
    settings = config.study(study)
    cells = len(settings.cells())
    if isinstance(settings, multirr.ThresholdStudy):
        cells *= len(settings.t_v) * len(settings.t_d)
    return f"{cells:,} settings, {settings.replicates:,} replicates each"


def lines_of(jobs: Iterable[tuple[Kind, Cost, float]], config: Config) -> list[str]:
    """Return the plan as a table: one line per kind of job, the most expensive first."""
    kinds: dict[Kind, list[tuple[Cost, float]]] = {}
    for kind, cost, work in jobs:
        kinds.setdefault(kind, []).append((cost, work))
    found = {kind: expected(each) for kind, each in kinds.items()}
    lines = [f"{'jobs':>5}  {'CPU time':>9}  {'largest':>9}  {'memory':>8}  what"]
    for kind, each in sorted(found.items(), key=lambda item: -item[1].cpu_seconds):
        largest = max(cost.seconds(work) for cost, work in kinds[kind])
        cells = f": {sizes(config, kind.study)}" if kind.study else ""
        lines.append(
            f"{each.jobs:>5}  {minutes(each.cpu_seconds):>9}  {minutes(largest):>9}  "
            f"{each.memory_mb:>5.0f} MB  {kind}{cells}"
        )
    return lines


def summary(
    jobs: Mapping[int, tuple[Cost, float]], after: Mapping[int, tuple[int, ...]], cores: int
) -> list[str]:
    """Return the lines on all jobs together."""
    total = expected(list(jobs.values()))
    seconds = {number: cost.seconds(work) for number, (cost, work) in jobs.items()}
    wall, chain = schedule(seconds, after, cores)
    scale = (total.low / total.cpu_seconds, total.high / total.cpu_seconds)
    low, high = (minutes(wall * each) for each in scale)
    return [
        f"CPU hours: {total.cpu_seconds / 3600:.2f}, that is {minutes(total.cpu_seconds)} "
        f"(range {minutes(total.low)} to {minutes(total.high)})",
        f"wall time on {cores} otherwise idle cores: {minutes(wall)} ({low} to {high}); "
        f"with any number of cores at least {minutes(chain)}",
        f"memory: {total.memory_mb:.0f} MB for the largest job, at most this for each core",
        f"disk: {total.output_bytes / 1e6:.1f} MB",
    ]


def main() -> int:
    """Print the plan of a run."""
    told = arguments()
    try:
        config = read_config(told.configfile)
        jobs, took, spent = graph(told.configfile, told.targets)
        costs = read_costs()
    except (DeniableError, OSError) as error:
        print(f"plan: {error}", file=sys.stderr)
        return 1
    print(f"{told.configfile}: {', '.join(told.targets) or 'everything'}\n")
    work = {job.number: work_of(job, config) for job in jobs if job.to_do}
    priced = {n: (kind, costs[kind], each) for n, (kind, each) in work.items() if kind in costs}
    unknown = Counter(str(kind) for kind, _ in work.values() if kind not in costs)
    if priced:
        print("\n".join(lines_of(priced.values(), config)))
    print(f"\n{len(work)} jobs to run, {len(jobs) - len(work)} done before")
    if priced:
        after = {job.number: job.after for job in jobs}
        print("\n".join(summary({n: each[1:] for n, each in priced.items()}, after, told.cores)))
    if unknown:
        named = ", ".join(f"{kind} ({number})" for kind, number in sorted(unknown.items()))
        print(f"not counted, because never measured (make costs after a small run): {named}")
    print(f"graph of {len(jobs)} jobs built in {took:.1f} s, {spent:.1f} s of them CPU time")
    return 0


if __name__ == "__main__":
    sys.exit(main())
