"""Measure the costs of jobs from benchmark files of finished runs, and write resources/costs.csv.

Called by ``make costs`` after a run. Each argument is the folder of a project and the config file
of its run: ``.:config/quick.yaml``. By default it is the last run here. Two runs of different sizes
distinguish the start of a job from its work. Kinds of jobs without a measurement do not change.
"""

import subprocess
import sys
from collections import Counter
from pathlib import Path

from costs import (
    BENCHMARKS,
    COSTS,
    SIMULATE,
    Kind,
    Measured,
    current,
    measured_cost,
    read_benchmarks,
    read_costs,
    units,
    write_costs,
)
from workflow_config import last_config, read_config


def output_sizes(folder: Path, configfile: Path) -> Counter[Kind]:
    """Return the bytes of the outputs of a run, by kind of job."""
    command = [sys.executable, "-m", "snakemake", "--summary", "--nolock", "--configfile"]
    done = subprocess.run(
        [*command, str(configfile)], cwd=folder, capture_output=True, text=True, check=True
    )
    found: Counter[Kind] = Counter()
    for line in done.stdout.splitlines()[1:]:
        file, _, rule, *_ = line.split("\t")
        study = Path(file).parent.name if rule == SIMULATE else ""
        found[Kind(rule, study)] += size(folder / file)
    return found


def size(path: Path) -> int:
    """Return the bytes of a file, or of all files in a folder; 0 for a missing path."""
    if path.is_dir():
        return sum(file.stat().st_size for file in path.rglob("*") if file.is_file())
    return path.stat().st_size if path.is_file() else 0


def main(runs: list[str]) -> int:
    """Measure costs and write them; return the exit code."""
    jobs: dict[Kind, list[tuple[Measured, float]]] = {}
    written: dict[Kind, float] = {}
    for run in runs or [f".:{last_config()}"]:
        folder, _, file = run.partition(":")
        configfile = Path(file)
        config = read_config(configfile)
        found = current(read_benchmarks(Path(folder) / BENCHMARKS), config)
        bytes_of = output_sizes(Path(folder), configfile)
        number = Counter(job.kind for job in found)
        for job in found:
            work = units(config, job.kind, job.chunk, job.chunks)
            jobs.setdefault(job.kind, []).append((job, work))
            written[job.kind] = bytes_of[job.kind] / number[job.kind]
    if not jobs:
        print(f"costs: no benchmark files in {BENCHMARKS}; run first", file=sys.stderr)
        return 1
    costs = read_costs()
    for kind, each in jobs.items():
        costs[kind] = measured_cost(kind, each, written[kind], costs.get(kind))
    write_costs(costs.values())
    print(f"{COSTS}: {len(jobs)} kinds of jobs measured, {len(costs)} known")
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
