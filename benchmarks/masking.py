"""Masking numeric records: processor time compared with numpy's sort of the same columns.

Prints median milliseconds for each data set, method and k: of a new masked file (with ranking), of
one more run of the same masking, and of numpy's sort of the columns. All are measured in turn, so
that a change of the machine's speed affects all of them. The goals are at most 3 ms per run on
Census, and 12 ms on Wine. The exit code is always 0.

Needs the published files in the directory that DENIABLE_DATA_MIRROR names. Without them it uses
random records of the same shape, and prints this.

    python benchmarks/masking.py [--runs N]
"""

import argparse
import os
import statistics
import time
from collections.abc import Callable
from pathlib import Path

import numpy as np
import pandas as pd

from deniable.idp import METHODS, Method, Ranking, domain_bounds, masking
from deniable.sampling import SeededNoise

CENSUS = [
    "AFNLWGT",
    "AGI",
    "EMCONTRB",
    "FEDTAX",
    "STATETAX",
    "TAXINC",
    "POTHVAL",
    "INTVAL",
    "FICA",
]
GOALS = {"census": 3.0, "wine": 12.0}  # ms per run
SHAPES = {"census": (1080, 9), "wine": (4898, 11)}


def records(dataset: str) -> tuple[np.ndarray, str]:
    """Return the numeric attributes of a data set, and their source."""
    mirror = Path(os.environ.get("DENIABLE_DATA_MIRROR", "."))
    if dataset == "census" and (file := mirror / "CASCrefmicrodata.csv").is_file():
        return pd.read_csv(file)[CENSUS].to_numpy(dtype=float), "published"
    if dataset == "wine" and (file := mirror / "winequality-white.csv").is_file():
        return pd.read_csv(file, sep=";").iloc[:, :11].to_numpy(dtype=float), "published"
    return np.random.default_rng(1).exponential(size=SHAPES[dataset]), "random"


def milliseconds(work: Callable[[], object]) -> float:
    """Return the processor time of one call."""
    start = time.process_time()
    work()
    return 1000 * (time.process_time() - start)


def measured(values: np.ndarray, method: Method, k: int, runs: int) -> list[float]:
    """Return the medians of a new masked file, of one more run, and of the sort of the columns."""
    noise = SeededNoise(np.random.default_rng(1))
    columns, upper = np.ascontiguousarray(values.T), domain_bounds(values, 1.5)
    kept = masking(method, Ranking.of(values), k, upper, 0.1)
    kept.mask(noise)
    works = (
        lambda: masking(method, Ranking.of(values), k, upper, 0.1).mask(noise),
        lambda: kept.mask(noise),
        lambda: np.sort(columns, axis=1),
    )
    times = [[milliseconds(work) for work in works] for _ in range(runs)]
    return [statistics.median(each) for each in zip(*times, strict=True)]


def main() -> None:
    """Measure and print."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--runs", type=int, default=51)
    runs = parser.parse_args().runs
    print("data     source     method     k   whole ms  again ms  sort ms  whole/sort  goal ms")
    for dataset, goal in GOALS.items():
        values, source = records(dataset)
        for method in METHODS:
            for k in (3, 10, 100):
                whole, again, sort = measured(values, method, k, runs)
                print(
                    f"{dataset:8} {source:10} {method:8} {k:4} {whole:9.2f} {again:9.2f} "
                    f"{sort:8.2f} {whole / sort:11.1f} {goal:8.0f}"
                )


if __name__ == "__main__":
    main()
