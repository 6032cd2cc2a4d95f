"""Benchmarks of the library's own work, each beside the obvious way to do the same.

Prints a table: the library's and the other's milliseconds of processor time (medians of runs that
alternate, so that a change of the machine's pace meets both), their ratio, and the ratio that is
the target where there is one. Always exits 0: it measures, the tests judge.

    python benchmarks/run.py [--runs N]
"""

import argparse
import statistics
import time
from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
import pandas as pd

from deniable.channel import DenseChannel, KeepOrReplace, ProductChannel
from deniable.domain import Attribute, Domain
from deniable.microdata import Microdata
from deniable.randomness import SystemSource

RECORDS = 1_000_000
CATEGORIES = 16
KEEP = 0.5
SIZES = (9, 16, 7, 15, 6, 5, 2, 2)  # the attributes of Adult


@dataclass(frozen=True)
class Case:
    """Something that the library does, another way to do it, and the ratio that is wanted."""

    name: str
    ours: Callable[[], object]
    other: Callable[[], object]
    other_name: str
    target: float | None = None


def five_lines(codes: np.ndarray, size: int, keep: float, rng: np.random.Generator) -> np.ndarray:
    """Randomize codes as one would write it at first."""
    n = len(codes)
    kept = rng.random(n) < keep
    new = rng.integers(0, size, n)
    return np.where(kept, codes, new)


def row_by_row(codes: np.ndarray, matrix: np.ndarray, rng: np.random.Generator) -> np.ndarray:
    """Randomize codes through any matrix, a `choice` for each true category."""
    reports = np.empty_like(codes)
    for category, row in enumerate(matrix):
        mine = codes == category
        reports[mine] = rng.choice(len(row), size=np.count_nonzero(mine), p=row)
    return reports


def cases() -> list[Case]:
    """Return the cases, data and all."""
    rng = np.random.default_rng(2024)
    codes = rng.integers(0, CATEGORIES, RECORDS)
    small = codes.astype(np.uint8)
    counts = np.bincount(codes, minlength=CATEGORIES)
    uniform = KeepOrReplace.uniform(CATEGORIES, KEEP)
    weights = rng.dirichlet(np.ones(CATEGORIES))
    uneven = KeepOrReplace(KEEP, weights * (1 - KEEP))
    dense = DenseChannel(rng.dirichlet(np.ones(CATEGORIES), CATEGORIES))
    pair = ProductChannel((KeepOrReplace.uniform(16, KEEP), KeepOrReplace.uniform(15, KEEP)))
    cells = rng.multinomial(RECORDS, rng.dirichlet(np.ones(pair.size)))
    joint = np.repeat(np.arange(pair.size), cells)
    domain = Domain(
        tuple(Attribute(f"a{i}", tuple(map(str, range(k)))) for i, k in enumerate(SIZES))
    )
    data = Microdata(domain, tuple(rng.integers(0, k, RECORDS) for k in SIZES))
    frame = pd.DataFrame(dict(zip(domain.names, data.columns, strict=True)))
    system = SystemSource()

    def lines() -> np.ndarray:
        return five_lines(codes, CATEGORIES, KEEP, rng)

    return [
        Case("randomize, int64 codes", lambda: uniform.randomize(codes, rng), lines,
             "five NumPy lines", 0.7),
        Case("randomize_counts", lambda: uniform.randomize_counts(counts, rng), lines,
             "five NumPy lines", 0.005),
        Case("randomize, uint8 codes", lambda: uniform.randomize(small, rng),
             lambda: five_lines(small, CATEGORIES, KEEP, rng), "five NumPy lines"),
        Case("randomize, own replacement", lambda: uneven.randomize(codes, rng),
             lambda: np.where(rng.random(RECORDS) < KEEP, codes,
                              rng.choice(CATEGORIES, RECORDS, p=weights)), "with choice(p=...)"),
        Case("randomize, system source", lambda: uniform.randomize(codes, system), lines,
             "five NumPy lines, seeded"),
        Case("randomize, dense channel", lambda: dense.randomize(codes, rng),
             lambda: row_by_row(codes, dense.entries, rng), "a choice a row"),
        Case("randomize_counts, dense channel", lambda: dense.randomize_counts(counts, rng),
             lambda: dense.randomize(codes, rng), "randomize"),
        Case("randomize_counts, 16 x 15 product", lambda: pair.randomize_counts(cells, rng),
             lambda: pair.randomize(joint, rng), "randomize"),
        Case("estimate, 16 x 15 product", lambda: pair.estimate(cells),
             lambda: np.linalg.solve(pair.matrix().T, cells / RECORDS), "dense solve"),
        Case("counts of 8 attributes", data.counts,
             lambda: frame.value_counts(sort=False), "pandas value_counts"),
        Case("counts of 2 attributes", lambda: data.counts(["a1", "a3"]),
             lambda: pd.crosstab(frame["a1"], frame["a3"]), "pandas crosstab"),
    ]  # fmt: skip


def milliseconds(work: Callable[[], object]) -> float:
    """Return the processor time of one call; short calls are repeated until they can be timed."""
    calls, start = 0, time.process_time()
    while (spent := time.process_time() - start) < 2e-3 or not calls:
        work()
        calls += 1
    return 1000 * spent / calls


def measure(case: Case, runs: int) -> tuple[float, float]:
    """Return the medians of the library's and the other's milliseconds, runs alternating."""
    milliseconds(case.ours), milliseconds(case.other)  # caches and imports are warm
    pairs = [(milliseconds(case.ours), milliseconds(case.other)) for _ in range(runs)]
    ours, others = zip(*pairs, strict=True)
    return statistics.median(ours), statistics.median(others)


def main() -> None:
    """Measure every case and print its line."""
    parser = argparse.ArgumentParser(description="Benchmarks of the library.")
    parser.add_argument("--runs", type=int, default=9, help="runs of each, at least 5 (default: 9)")
    runs = max(parser.parse_args().runs, 5)
    print(
        f"{RECORDS:,} records, medians of {runs} alternating runs, milliseconds of processor time"
    )
    print(f"{'':34}{'ours':>10}{'other':>10}{'ratio':>9}{'target':>8}")
    for case in cases():
        ours, other = measure(case, runs)
        ratio = ours / other
        goal, mark = "", ""
        if case.target is not None:
            goal, mark = f"{case.target:g}", "ok" if ratio <= case.target else "MISSED"
        print(
            f"{case.name:34}{ours:10.3f}{other:10.3f}{ratio:9.4f}{goal:>8}  "
            f"{mark:6}  against {case.other_name}",
            flush=True,
        )


if __name__ == "__main__":
    main()
