"""Benchmarks of functions of the library, each compared with the obvious way to do the same.

Prints a table with the milliseconds of processor time of both ways, their ratio, and the target of
the ratio if there is one. The times are medians of runs that alternate, so that a change of the
machine's speed affects both. The exit code is always 0.

Cases on Adult need the published file in the directory that DENIABLE_DATA_MIRROR names.

    python benchmarks/run.py [--runs N]
"""

import argparse
import os
import statistics
import tempfile
import time
import warnings
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path

import numba
import numpy as np
import pandas as pd
from pyarrow import csv

from deniable.channels import Channel, DenseChannel, KeepOrReplace, ProductChannel, SquareWave
from deniable.datasets import load_manifest, read_published
from deniable.estimation import clip_and_rescale, expectation_maximization
from deniable.randomized_response import Party, adjust, cluster_channel, rr_independent, secure_sum
from deniable.records import Attribute, Domain, Microdata
from deniable.sampling import KeyedDraws, SystemRandomSource
from deniable.schema import RecordsFile, schema_from_dict

from reproduction.pipeline import MIRROR_VARIABLE

RECORDS = 1_000_000
CATEGORIES = 16
KEEP = 0.5
SIZES = (9, 16, 7, 15, 6, 5, 2, 2)  # the attributes of Adult
PARTIES = 2000
SWEEPS = 20
CLUSTER = ("marital-status", "relationship", "sex")
NATS = 0.1  # below the maximum of the log-likelihood, at which studies stop EM
MANIFEST = Path(__file__).resolve().parent.parent / "resources" / "datasets.yaml"


@dataclass(frozen=True)
class Case:
    """A function of the library, another way to do the same, and the target of their ratio."""

    name: str
    ours: Callable[[], object]
    other: Callable[[], object]
    other_name: str
    target: float | None = None


def five_lines(codes: np.ndarray, size: int, keep: float, rng: np.random.Generator) -> np.ndarray:
    """Randomize codes by the most obvious code."""
    n = len(codes)
    kept = rng.random(n) < keep
    new = rng.integers(0, size, n)
    return np.where(kept, codes, new)


def row_by_row(codes: np.ndarray, matrix: np.ndarray, rng: np.random.Generator) -> np.ndarray:
    """Randomize codes by any matrix, with one call of `choice` per true category."""
    reports = np.empty_like(codes)
    for category, row in enumerate(matrix):
        mine = codes == category
        reports[mine] = rng.choice(len(row), size=np.count_nonzero(mine), p=row)
    return reports


@numba.njit
def passes(codes, weights, size, times):  # type: ignore[no-untyped-def]
    """Sum the weights of all records by each attribute, so many times."""
    sums = np.zeros((codes.shape[0], size))
    for _ in range(times):
        for attribute in range(codes.shape[0]):
            for record in range(weights.size):
                sums[attribute, codes[attribute, record]] += weights[record]
    return sums


def sweeps(codes: Sequence[np.ndarray], targets: Sequence[np.ndarray]) -> object:
    """Run all `SWEEPS` sweeps over the records, by a tolerance that is never met."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", RuntimeWarning)
        return adjust(codes, targets, tolerance=1e-300, most_sweeps=SWEEPS)


def plain_em(counts: np.ndarray, channel: ProductChannel) -> np.ndarray:
    """Run EM until the log-likelihood is at most `NATS` below its maximum."""
    records = counts.sum()
    matrix = channel.matrix()
    back = matrix.T.copy()
    found = np.full(counts.size, 1 / counts.size)
    gap = np.inf
    while gap > NATS:
        gradient = matrix @ (counts / (back @ found)) / records
        gap = records * (gradient.max() - 1)
        found = found * gradient
    return found


def all_at_once(indicators: np.ndarray, rng: np.random.Generator) -> int:
    """Compute a secure sum without parties: all their shares are in one table."""
    n = len(indicators)
    shares = rng.integers(0, n + 1, (n, n))
    shares[:, -1] = -shares[:, :-1].sum(axis=1) % (n + 1)
    return int(((shares.sum(axis=0) + indicators) % (n + 1)).sum() % (n + 1))


def one_sum(indicators: Sequence[int], rng: np.random.Generator) -> int:
    """Compute a secure sum between parties that send and receive."""
    return secure_sum([Party(number, own) for number, own in enumerate(indicators)], rng).count


def adult_cases(mirror: Path) -> list[Case]:
    """Return the cases on the published Adult file."""
    dataset = load_manifest(MANIFEST)["adult"]
    data = read_published(dataset, mirror / dataset.file)
    rng = np.random.default_rng(2024)
    protocol = rr_independent(data.domain, 0.7, "keep")
    reports = protocol.randomize(data, rng)
    targets = [
        clip_and_rescale(channel.estimate(counts))
        for channel, counts in zip(
            protocol.channels, protocol.reported_counts(reports), strict=True
        )
    ]
    codes = np.stack(reports.columns)
    weights = np.full(len(data), 1 / len(data))
    channel = cluster_channel(data.domain.project(CLUSTER).shape, 0.3, "printed", "kronecker")
    assert isinstance(channel, ProductChannel)
    cells = channel.randomize_counts(data.counts(CLUSTER).reshape(-1), rng)
    return [
        Case(f"RR-Adjustment, {SWEEPS} sweeps", lambda: sweeps(reports.columns, targets),
             lambda: passes(codes, weights, max(SIZES), SWEEPS),
             f"{SWEEPS} compiled passes over records and attributes"),
        Case("EM, 7 x 6 x 2 cells, p = .3",
             lambda: expectation_maximization(cells, channel, tolerance=NATS),
             lambda: plain_em(cells, channel), "plain EM, dense matrix, same certificate"),
    ]  # fmt: skip


def keyed_cases() -> list[Case]:
    """Return the cases of keyed draws, which production releases use, against seeded draws."""
    rng = np.random.default_rng(2024)
    draws = KeyedDraws(bytes(range(32)), b"benchmark").column(["a"], RECORDS)
    channels: dict[str, Channel] = {
        "16 categories": KeepOrReplace.of_epsilon(16, 2.0),
        "300 categories": KeepOrReplace.of_epsilon(300, 2.0),
        "10,000 categories": KeepOrReplace.of_epsilon(10_000, 2.0),
        "dense, 300 categories": DenseChannel(rng.dirichlet(np.ones(300), 300)),
        "square wave, 256 cells": SquareWave.of_epsilon(256, 2.0),
    }

    def case(name: str, channel: Channel) -> Case:
        codes = rng.integers(0, channel.size, RECORDS).astype(np.uint16)
        return Case(f"keyed, {name}", lambda: channel.randomize_keyed(codes, draws),
                    lambda: channel.randomize(codes, rng), "seeded draws")  # fmt: skip

    return [case(name, channel) for name, channel in channels.items()]


def csv_cases(folder: Path) -> list[Case]:
    """Return the case of a CSV file that is read by its schema, in a `folder`."""
    rng = np.random.default_rng(2024)
    file = folder / "records.csv"
    answers = rng.choice(np.array(["yes", "no", "unknown"]), (RECORDS, 3))
    table = pd.DataFrame(answers, columns=["a", "b", "c"])
    table.assign(age=rng.integers(0, 100, RECORDS)).to_csv(file, index=False)
    answer = {"kind": "categorical", "categories": ["no", "unknown", "yes"]}
    columns = [{"name": name, **answer} for name in "abc"]
    columns.append({"name": "age", "kind": "numeric", "bounds": [0, 99], "step": 1})
    about = {"format": "deniable-schema", "population": "all", "file": {"kind": "csv"}}
    schema = schema_from_dict(about | {"columns": columns})

    def read() -> int:
        return sum(len(batch) for batch in RecordsFile.open(file, schema).portions())

    return [Case("CSV read by its schema", read, lambda: csv.read_csv(file), "bare pyarrow")]


def cases() -> list[Case]:
    """Return the cases with their data."""
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
    system = SystemRandomSource()
    indicators = rng.integers(0, 2, PARTIES)

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
             lambda: row_by_row(codes, dense.entries, rng), "a choice per row"),
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
        Case(f"secure sum, one cell, {PARTIES:,} parties", lambda: one_sum(indicators, rng),
             lambda: all_at_once(indicators, rng), "all shares as one table"),
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


def report(case: Case, runs: int) -> None:
    """Measure a case and print its line."""
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


def main() -> None:
    """Measure every case and print its line."""
    parser = argparse.ArgumentParser(description="Benchmarks of the library.")
    parser.add_argument("--runs", type=int, default=9, help="runs of each, at least 5 (default: 9)")
    runs = max(parser.parse_args().runs, 5)
    print(
        f"{RECORDS:,} records, medians of {runs} alternating runs, milliseconds of processor time"
    )
    print(f"{'':34}{'ours':>10}{'other':>10}{'ratio':>9}{'target':>8}")
    for case in [*cases(), *keyed_cases()]:
        report(case, runs)
    with tempfile.TemporaryDirectory() as folder:
        for case in csv_cases(Path(folder)):
            report(case, runs)
    mirror = os.environ.get(MIRROR_VARIABLE)
    if not (mirror and (Path(mirror) / "adult.data").is_file()):
        print(f"Adult: not measured; set {MIRROR_VARIABLE} to a directory with adult.data")
        return
    print("Adult:")
    for case in adult_cases(Path(mirror)):
        report(case, runs)


if __name__ == "__main__":
    main()
