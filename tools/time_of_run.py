"""Show the times of the last run by study and rule, from its benchmark files.

Called by ``make times``, with the config file if it was not the last run by make. Writes times.csv
and where_the_time_goes.svg and .png into results/benchmarks. Times differ from run to run, so they
are not compared with the baseline.
"""

import sys
from pathlib import Path

import pandas as pd

from costs import BENCHMARKS, Kind, Measured, current, read_benchmarks
from deniable.display import save
from times import PART_STYLE, where_the_time_goes
from workflow_config import last_config, read_config

from reproduction.papers import ANALYSES

BY_NAME = ("simulate", "collect", "plot")
"""Rules for all papers: the name of a job begins with its paper."""


def parts_of_rules() -> dict[str, str]:
    """Return the part of the work of each rule: analyses of a paper, or releases."""
    papers = {name: name.split("_")[0] for name in ANALYSES}
    chain = ("plan", "protect", "publish", "estimate", "consistency", "two_step", "independence")
    found = papers | dict.fromkeys((*chain, "joint", "synthesize", "check"), "release")
    return {rule: part for rule, part in found.items() if part in PART_STYLE}


def part_of(job: Measured, parts: dict[str, str]) -> str:
    """Return the part of the work of a job."""
    if job.kind.rule in BY_NAME:
        return job.name.split("_")[0]
    return parts.get(job.kind.rule, "shared")


def line_of(kind: Kind, part: str) -> str:
    """Return the name of a bar: a study, or a rule."""
    if kind.study:
        return f"study {kind.study}"
    return f"{kind.rule} ({part})" if kind.rule in BY_NAME else kind.rule


def table_of(jobs: list[Measured]) -> pd.DataFrame:
    """Return CPU time, wall time and memory by study and rule, the most expensive first."""
    parts = parts_of_rules()
    rows = [
        {"part": part, "what": line_of(job.kind, part), "jobs": 1, "cpu_seconds": job.cpu_seconds}
        | {"wall_seconds": job.wall_seconds, "longest_seconds": job.wall_seconds}
        | {"memory_mb": job.memory_mb}
        for job in jobs
        for part in [part_of(job, parts)]
    ]
    how = {"jobs": "sum", "cpu_seconds": "sum", "wall_seconds": "sum"}
    how |= {"longest_seconds": "max", "memory_mb": "max"}
    table = pd.DataFrame(rows).groupby(["part", "what"], as_index=False).agg(how)
    return table.sort_values(["cpu_seconds", "what"], ascending=[False, True], ignore_index=True)


def main(arguments: list[str]) -> int:
    """Write the table and the figure; print the most expensive lines."""
    config = read_config(Path(arguments[0]) if arguments else last_config())
    jobs = current(read_benchmarks(), config)
    if not jobs:
        print(f"times: no benchmark files in {BENCHMARKS}; run first", file=sys.stderr)
        return 1
    table = table_of(jobs)
    began = min(job.ended - job.wall_seconds for job in jobs)
    wall = max(job.ended for job in jobs) - began
    total, busy = table["cpu_seconds"].sum(), table["wall_seconds"].sum()
    below = f"{total / 60:.1f} CPU minutes in {len(jobs)} jobs"
    table.round(2).to_csv(BENCHMARKS / "times.csv", index=False)
    files = [BENCHMARKS / f"where_the_time_goes.{kind}" for kind in ("svg", "png")]
    save(where_the_time_goes(table, below), *files)
    print(table.head(12).round(1).to_string(index=False))
    print(
        f"{below}; jobs took {busy / 60:.1f} minutes together, and {wall / 60:.1f} minutes from "
        "the first start to the last end (longer if the run was resumed)"
    )
    print(f"{BENCHMARKS / 'times.csv'}, {files[1]}")
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
