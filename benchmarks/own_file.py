"""Benchmark of `deniable protect`: processor time compared with bare pyarrow, and memory.

Makes a Parquet file of categorical records, and measures these, each in its own process:

- bare: pyarrow reads its row groups, dictionary-encoded, one by one, and writes them again;
- draw: the randomizing pass of a release in the order of the file: read, code, draw, count, write;
- all: the whole command `deniable protect` in this order: both passes, digests, ledger, audit;
- permuted: the same in the default order; csv: the same from CSV to CSV.

Prints medians of processor time (user and system), the ratio to bare in the same round, the largest
memory, and the target if there is one. The draw is compared with the work of bare, without
start-up; commands are compared with the whole process. The exit code is always 0.

    python benchmarks/own_file.py [--records N] [--runs N] [--csv] [--responses any]
"""

import argparse
import os
import resource
import statistics
import subprocess
import sys
import tempfile
from collections.abc import Callable
from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
from pyarrow import csv

SIZES = (2, 3, 5, 7, 9, 12, 16, 24, 40, 6)
GROUP = 1_000_000  # records of a row group
EPSILON = "8"
TARGETS = {"draw": 1.5, "all": 2.2}
MOST_MEMORY = 400  # MB


def work(of: Callable[[], None]) -> None:
    """Print the processor seconds of a call."""
    before = resource.getrusage(resource.RUSAGE_SELF)
    of()
    after = resource.getrusage(resource.RUSAGE_SELF)
    print(after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime)


def bare(source: Path, target: Path) -> None:
    """Read and write a file with pyarrow alone, a row group at a time."""
    metadata = pq.read_metadata(source)
    names = metadata.schema.names
    writer = None
    for group in range(metadata.num_row_groups):
        with pq.ParquetFile(source, metadata=metadata, read_dictionary=names) as file:
            table = file.read_row_group(group)
        if writer is None:
            writer = pq.ParquetWriter(target, table.schema, compression="zstd")
        writer.write_table(table)
    assert writer is not None
    writer.close()


def draw(source: Path, plan_file: Path, folder: Path) -> None:
    """Measure the randomizing pass, after a first pass."""
    from deniable.plans import read_plan  # noqa: PLC0415 - bare is measured without
    from deniable.release import OriginalRecords, Risk, key_from_seed, records_writer  # noqa: PLC0415

    plan = read_plan(plan_file)
    records, draws, risk = OriginalRecords(source, plan), key_from_seed(1).draws({}), Risk(plan, [])
    records.read(bytes(32))

    def randomize() -> None:
        file, form = plan.schema.file, records.file.form
        with records_writer(folder / "drawn.parquet", file, form) as writer:
            for table in plan.randomize(records.batches(), draws, risk.add):
                writer.write(table)

    work(randomize)


def make(folder: Path, records: int, as_csv: bool, responses: str) -> None:
    """Write the records and the plans."""
    rng = np.random.default_rng(2024)
    shares = [rng.dirichlet(np.full(size, 5.0)) for size in SIZES]
    names = [f"a{number}" for number in range(len(SIZES))]
    texts = [[f"category {code}" for code in range(size)] for size in SIZES]
    writers: list[pq.ParquetWriter | csv.CSVWriter] = []
    for start in range(0, records, GROUP):
        number = min(GROUP, records - start)
        codes = [rng.choice(each.size, number, p=each).astype(np.int32) for each in shares]
        table = pa.table(
            [
                pa.DictionaryArray.from_arrays(pa.array(each), pa.array(own))
                for each, own in zip(codes, texts, strict=True)
            ],
            names=names,
        )
        if not writers:
            writers = [pq.ParquetWriter(folder / "true.parquet", table.schema, compression="zstd")]
            if as_csv:
                plain = pa.schema([(name, pa.string()) for name in names])
                writers.append(csv.CSVWriter(folder / "true.csv", plain))
        writers[0].write_table(table)
        for writer in writers[1:]:
            writer.write_table(table.cast(plain))
    for writer in writers:
        writer.close()
    for kind in ("parquet", "csv"):
        lines = ["format: deniable-schema", "version: 1", "population: benchmark"]
        lines += [f"file: {{kind: {kind}}}", "columns:"]
        lines += [
            f"- {{name: {name}, kind: categorical, categories: [{', '.join(own)}]}}"
            for name, own in zip(names, texts, strict=True)
        ]
        schema = folder / f"{kind}.yaml"
        schema.write_text("\n".join(lines))
        for order in ("as_in_file", "permuted"):
            plan = folder / f"{kind}_{order}.json"
            options = ["--epsilon", EPSILON, "--order", order, "--responses", responses]
            options += ["--out", plan]
            command = [sys.executable, "-m", "deniable", "plan", schema, *options]
            subprocess.run(command, check=True, stdout=subprocess.DEVNULL)


def spent(command: list[str | Path]) -> tuple[float, float, float]:
    """Run a command; return the seconds that it prints, its processor seconds and largest MB."""
    process = subprocess.Popen(
        command, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True
    )
    assert process.stdout is not None
    told = process.stdout.read().split()
    _, status, usage = os.wait4(process.pid, 0)
    if status:
        raise SystemExit(f"failed: {' '.join(map(str, command))}")
    own = float(told[0]) if len(told) == 1 else 0.0
    return own, usage.ru_utime + usage.ru_stime, usage.ru_maxrss / 1024


def measure(folder: Path, cases: list[str], runs: int) -> None:
    """Measure all `cases` in turn, so many times, and print the medians."""
    found: dict[str, list[tuple[float, float, float]]] = {case: [] for case in cases}
    ratios: dict[str, list[float]] = {case: [] for case in cases}
    for _ in range(runs):
        for case in cases:
            with tempfile.TemporaryDirectory(dir=folder) as scratch:
                found[case].append(spent(_command(case, folder, Path(scratch))))
            place = 0 if case == "draw" else 1
            ratios[case].append(found[case][-1][place] / found["bare"][-1][place])
    print(f"{'':10}{'work s':>9}{'process s':>11}{'ratio':>8}{'target':>8}{'MB':>7}")
    for case in cases:
        own, whole, memory = (statistics.median(each) for each in zip(*found[case], strict=True))
        ratio, target = statistics.median(ratios[case]), TARGETS.get(case)
        kept = target is None or (ratio <= target and memory <= MOST_MEMORY)
        shown = f"{own:9.2f}" if own else f"{'':9}"
        goal = f"{target:g}" if target else ""
        print(f"{case:10}{shown}{whole:11.2f}{ratio:8.2f}{goal:>8}{memory:7.0f}"
              f"{'' if kept else '  MISSED'}")  # fmt: skip


def _command(case: str, folder: Path, scratch: Path) -> list[str | Path]:
    true = folder / "true.parquet"
    if case == "bare":
        return [sys.executable, __file__, "--child", case, true, scratch / "copy.parquet"]
    if case == "draw":
        plan = folder / "parquet_as_in_file.json"
        return [sys.executable, __file__, "--child", case, true, plan, scratch]
    kind = "csv" if case == "csv" else "parquet"
    order = "permuted" if case == "permuted" else "as_in_file"
    command = [sys.executable, "-m", "deniable", "protect", folder / f"true.{kind}"]
    ledger = scratch / "ledger"
    make = [*command[:3], "ledger", "init", ledger]
    subprocess.run(make, check=True, stdout=subprocess.DEVNULL)
    command += [folder / f"{kind}_{order}.json", "--ledger", ledger]
    return [*command, "--out", scratch / "release"]


def main() -> None:
    """Make the records, measure, print."""
    if sys.argv[1:2] == ["--child"]:
        paths = [Path(each) for each in sys.argv[3:]]
        if sys.argv[2] == "make":
            folder, records, as_csv, responses = sys.argv[3:]
            make(Path(folder), int(records), as_csv == "True", responses)
        elif sys.argv[2] == "bare":
            work(lambda: bare(*paths))
        else:
            draw(*paths)
        return
    parser = argparse.ArgumentParser(description="Benchmark of deniable protect.")
    parser.add_argument("--records", type=int, default=1_000_000)
    parser.add_argument("--runs", type=int, default=5)
    parser.add_argument("--csv", action="store_true", help="measure CSV, too")
    parser.add_argument("--responses", default="categories", help="default: categories")
    options = parser.parse_args()
    with tempfile.TemporaryDirectory() as scratch:
        folder = Path(scratch)
        # In another process, because the largest memory of a process includes its parent's.
        given = map(str, (folder, options.records, options.csv, options.responses))
        subprocess.run([sys.executable, __file__, "--child", "make", *given], check=True)
        print(f"{options.records:,} records of {len(SIZES)} columns, medians of {options.runs}")
        cases = ["bare", "draw", "all", "permuted", *["csv"] * options.csv]
        measure(folder, cases, options.runs)


if __name__ == "__main__":
    main()
