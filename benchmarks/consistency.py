"""Consistent tables and two-step estimates of all pairs of 20 columns.

Prints medians of seconds of processor time and of wall-clock time. The file has columns of 16
categories up to the default limit: 190 tables with 48,640 cells. At three epsilons few, half and
most cells of the tables are zero. The last row has the largest memory of the process. The goals are
60 s and 1 GiB. The exit code is always 0.

    python benchmarks/consistency.py [--runs N]
"""

import argparse
import resource
import statistics
import time
from collections.abc import Callable

import numpy as np
import pandas as pd

import deniable

COLUMNS, CATEGORIES, RECORDS = 20, 16, 20_000
EPSILONS = (40.0, 10.0, 2.0)
SECONDS, GIBIBYTES = 60.0, 1.0  # goals


def released(epsilon: float) -> deniable.Released:
    """Return a release of columns that depend on each other, at an epsilon of a record."""
    drawn = np.random.default_rng(2024)
    labels = [f"c{code:02}" for code in range(CATEGORIES)]
    common, columns = drawn.normal(size=RECORDS), {}
    for number in range(COLUMNS):
        own = 0.6 * common + 0.8 * drawn.normal(size=RECORDS)
        cuts = np.quantile(own, np.sort(drawn.random(CATEGORIES - 1)))
        columns[f"v{number:02}"] = np.array(labels)[np.searchsorted(cuts, own)]
    schema = deniable.schema_from_dict(
        {
            "format": "deniable-schema",
            "population": "benchmark",
            "file": {"kind": "arrow"},
            "columns": [
                {"name": name, "kind": "categorical", "categories": labels} for name in columns
            ],
        }
    )
    plan = deniable.make_plan(schema, epsilon, mechanism="generalized-rr")
    protected = deniable.randomize(pd.DataFrame(columns), plan, np.random.default_rng(1))
    return deniable.Released(protected, plan)


def seconds(work: Callable[[], object]) -> tuple[float, float]:
    """Return the processor and the wall-clock seconds of some `work`."""
    cpu, wall = time.process_time(), time.perf_counter()
    work()
    return time.process_time() - cpu, time.perf_counter() - wall


def main() -> None:
    """Print the table."""
    parser = argparse.ArgumentParser(description=str(__doc__).split("\n", 1)[0])
    parser.add_argument("--runs", type=int, default=5)
    runs = parser.parse_args().runs
    print(f"{'':<34}{'CPU s':>8}{'wall s':>8}   goal")
    for epsilon in EPSILONS:
        own = released(epsilon)
        for name, work in (("consistent", own.consistent), ("two_step", own.two_step)):
            work()  # imports modules, and counts the file
            found = [seconds(work) for _ in range(runs)]
            cpu, wall = (statistics.median(each) for each in zip(*found, strict=True))
            print(f"{name}, epsilon {epsilon:g}".ljust(34) + f"{cpu:8.2f}{wall:8.2f}   {SECONDS:g}")
    memory = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 2**20
    print(f"{'largest memory, GiB':<34}{memory:8.2f}{'':>8}   {GIBIBYTES:g}")


if __name__ == "__main__":
    main()
