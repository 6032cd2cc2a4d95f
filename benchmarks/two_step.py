"""Processor time of the closed form (7) of [rrba], and of the tests that use it.

Prints median milliseconds to project 100,000 tables of 8 cells (goal: 500), of one cvxpy program
for the same, of raking and of the test adjusted for randomization over 5,000 tables, to make 666
pair tables consistent, and of RRBA's test with 999 sampled tables. The exit code is always 0.

    python benchmarks/two_step.py [--runs N]
"""

import argparse
import statistics
import time
from collections.abc import Callable
from itertools import combinations

import numpy as np

from deniable.channels import KeepOrReplace
from deniable.contingency import (
    Independence,
    NoisyTable,
    RandomizedRelease,
    channel_test,
    consistent_tables,
    monte_carlo_test,
    nearest_table_by_program,
    nearest_tables,
)

TABLES = 100_000
GOAL = 500.0  # ms
SIZES = (2, 2, 3, 3, 4)


def works() -> dict[str, Callable[[], object]]:
    """Return the measured functions, by name."""
    rng = np.random.default_rng(2024)
    noisy = rng.normal(40, 60, (TABLES, 8))
    tables = rng.gamma(5.0, 8, (5000, 8))
    four = Independence((2,) * 4)
    channel = KeepOrReplace.uniform(16, 0.5)
    reports = rng.multinomial(2000, np.full(16, 1 / 16), 5000)
    release = RandomizedRelease(channel)
    estimates = release.estimated(reports[:100])
    pairs = pair_tables(rng)
    return {
        f"nearest tables, {TABLES:,} of 8 cells": lambda: nearest_tables(noisy, 320),
        "the same, one table, cvxpy": lambda: nearest_table_by_program(noisy[0], 320),
        "independence, 5,000 of 2 x 2 x 2": lambda: Independence((2, 2, 2)).fit(tables),
        "adjusted test, 5,000 of 16 cells": lambda: channel_test(reports, channel, four),
        "RRBA's test, 100 of 16 cells, l = 999": lambda: monte_carlo_test(
            estimates, 2000, release, four, np.random.default_rng(1), tables=999
        ),
        "consistent tables, 666 pairs": lambda: consistent_tables(pairs),
    }


def pair_tables(rng: np.random.Generator) -> list[NoisyTable]:
    """Return tables of all pairs of 37 attributes, each from 270 randomized values."""
    shares = {f"x{i}": rng.dirichlet(np.full(rng.choice(SIZES), 2.0)) for i in range(37)}
    found = []
    for first, second in combinations(shares, 2):
        cells = np.outer(shares[first], shares[second])
        channel = KeepOrReplace.uniform(cells.size, 0.5)
        reports = rng.multinomial(270, channel.reported(cells.reshape(-1)))
        found.append(NoisyTable((first, second), channel.estimate(reports).reshape(cells.shape)))
    return found


def milliseconds(work: Callable[[], object]) -> float:
    """Return the processor time of one call."""
    start = time.process_time()
    work()
    return 1000 * (time.process_time() - start)


def main() -> None:
    """Measure each function and print its line."""
    parser = argparse.ArgumentParser(description="Benchmarks of the two-step estimate.")
    parser.add_argument("--runs", type=int, default=5, help="runs of each (default: 5)")
    runs = max(parser.parse_args().runs, 3)
    print(f"medians of {runs} runs, milliseconds of processor time")
    for name, work in works().items():
        work()  # caches and imports are warm
        spent = statistics.median(milliseconds(work) for _ in range(runs))
        goal = ""
        if name.startswith("nearest"):
            goal = f"   goal {GOAL:g}: {'ok' if spent <= GOAL else 'MISSED'}"
        print(f"{name:42}{spent:10.2f}{goal}", flush=True)


if __name__ == "__main__":
    main()
