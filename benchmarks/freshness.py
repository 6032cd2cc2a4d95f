"""Time of the check that a folder of results is current, which every start of Snakemake makes.

Prints seconds (median of runs, files in the cache of the system) for a made-up folder: 500 results
in chains of data, chunk, table and figure, each with its record, and a report made from all of
them. It measures; the target is 2 s, for the check and all that Snakemake does for it.

    python benchmarks/freshness.py [--results N] [--bytes N] [--runs N]
"""

import argparse
import os
import statistics
import tempfile
import time
from pathlib import Path

from deniable.files import write_text

from reproduction.pipeline import Asked, Making, recorded, stale

FOLDERS = ("data", "studies", "tables", "figures")
SETTINGS = {"grids": [{"p": [n / 100 for n in range(50)], "dataset": ["adult"] * 20}]}


def make(jobs: list[Asked], size: int) -> None:
    """Make what jobs make, `size` bytes each."""
    for job in jobs:
        making = Making("rule", job.inputs, job.outputs, job.params, {"seed": 7}, Path())
        with recorded(making):
            for output in job.outputs:
                write_text(output, f"{output}\n" * (size // (len(output) + 1)))


def chains(results: int) -> list[Asked]:
    """Return the jobs of chains of results, and of a report at their ends."""
    jobs = []
    for chain in range(results // len(FOLDERS)):
        files = [f"results/{folder}/{chain}.csv" for folder in FOLDERS]
        for before, file in zip([[], *([each] for each in files)], files, strict=False):
            params = {"study": SETTINGS, "seed": 7, "code": f"{chain}"}
            jobs.append(Asked((file,), tuple(before), params))
    everything = tuple(job.outputs[0] for job in jobs)
    return [*jobs, Asked(("results/report",), everything, {"config": SETTINGS, "code": "r"})]


def seconds(jobs: list[Asked], runs: int) -> float:
    """Return the median time of the check."""
    taken = []
    for _ in range(runs):
        started = time.perf_counter()
        stale(jobs)
        taken.append(time.perf_counter() - started)
    return statistics.median(taken)


def main() -> None:
    """Make the folder, check it as it is and with other settings asked for."""
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("--results", type=int, default=500)
    parser.add_argument("--bytes", type=int, default=200_000, help="of each result")
    parser.add_argument("--runs", type=int, default=5)
    given = parser.parse_args()
    with tempfile.TemporaryDirectory() as folder:
        os.chdir(folder)
        jobs = chains(given.results)
        make(jobs, given.bytes)
        other = [Asked(job.outputs, job.inputs, {**job.params, "seed": 8}) for job in jobs]
        print(f"{len(jobs)} records, {given.results * given.bytes / 1e6:.0f} MB of results")
        print(f"current: {seconds(jobs, given.runs):.3f} s, {len(stale(jobs))} stale")
        print(f"another seed: {seconds(other, given.runs):.3f} s, {len(stale(other))} stale")
        os.chdir("/")


if __name__ == "__main__":
    main()
