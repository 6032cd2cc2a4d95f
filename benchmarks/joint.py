"""Joint estimates compared with private-pgm (`mbi` 2.0.0) on the same randomized records of Adult.

Both estimate the tables of all pairs at one p of the matrix `printed`, or at one exact epsilon of a
record that is split evenly. `mbi` reads the unbiased tables of pairs, with the root mean square of
their standard errors. It runs mirror descent in 64 bits. The best stop, which nobody can know, has
the least distance among the steps of the callback. Its CPU seconds and its memory are those of a
process of its own. `pip install mbi==2.0.0` in this or another environment comes first; the results
are one line of JSON for each randomization, so a run can go on later.

    python benchmarks/joint.py run --adult results/data/adult.parquet --seeds 5 --into FILE \
        --python PYTHON-WITH-MBI
    python benchmarks/joint.py table --into FILE
"""

import argparse
import json
import resource
import subprocess
import sys
import tempfile
import time
from itertools import combinations
from pathlib import Path
from typing import Any

import numpy as np

STEPS, EVERY = 1000, 50
SETTINGS = (("p", 0.3), ("p", 0.5), ("p", 0.7), *(("epsilon", e) for e in (1.0, 2.0, 4.0, 8.0)))


def process_seconds() -> float:
    """Return the CPU seconds of this process, with all its threads."""
    used = resource.getrusage(resource.RUSAGE_SELF)
    return used.ru_utime + used.ru_stime


def distances(tables: dict[str, Any], truth: Any) -> float:
    """Return the mean total variation distance of `tables` from the `truth`, by name."""
    return float(np.mean([np.abs(tables[name] - truth[name]).sum() / 2 for name in tables]))


def run_mbi(folder: Path) -> dict[str, Any]:
    """Return the results of `mbi` on the tables that are stored in a `folder`."""
    import jax

    jax.config.update("jax_enable_x64", val=True)
    from mbi import Domain, LinearMeasurement, estimation

    given, truth = np.load(folder / "given.npz"), np.load(folder / "truth.npz")
    sizes, records = given["sizes"].tolist(), float(given["records"])
    names = [f"column {at}" for at in range(len(sizes))]
    pairs = {key: [names[int(at)] for at in key.split(",")] for key in truth.files}
    measured = [
        LinearMeasurement(
            given[key] * records, tuple(pairs[key]), stddev=float(given[f"{key} error"]) * records
        )
        for key in pairs
        if key in given.files
    ]
    path: list[tuple[float, float]] = []
    measuring = 0.0

    def follow(marginals: Any) -> None:
        nonlocal measuring
        start = process_seconds()
        tables = {
            key: np.asarray(marginals.project(tuple(own)).datavector()) / records
            for key, own in pairs.items()
        }
        measuring += process_seconds() - start
        path.append((start, distances(tables, truth)))

    model = estimation.MirrorDescent().estimate(
        Domain(names, sizes), measured, known_total=records, iters=STEPS, callback_fn=follow
    )
    own = {k: np.asarray(model.project(tuple(v)).datavector()) / records for k, v in pairs.items()}
    return {
        "end": distances(own, truth),
        "best": min(distance for _, distance in path),
        "path": [distance for _, distance in path],
        "cpu": process_seconds() - measuring,
        "mib": resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024,
    }
