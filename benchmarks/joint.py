"""Joint estimates compared with private-pgm (`mbi` 2.0.0) on the same randomized records of Adult.

Both estimate the tables of all pairs, at a p of the matrix `printed`, or at an exact epsilon of a
record that is split evenly. `mbi` reads unbiased tables of pairs, with the root mean square of
their standard errors, and runs 1,000 steps of mirror descent in 64 bits. It reports every 50
steps. The best stop has the least distance from the original tables, so nobody can know it.

`mbi` needs 650 MB, and may be in another environment: `pip install mbi==2.0.0`. It has a process
of its own, with its CPU seconds and peak memory. Each randomization adds a line to a file.

    python benchmarks/joint.py --adult results/data/adult.parquet --into joint.jsonl \
        --python mbi-environment/bin/python [--seeds 1 2 3 4 5] [--table]

With `--table` it only prints the table of the file. A ratio is ours over that of `mbi`, the mean
over seeds with Student's 95 % interval. The exit code is 0 unless a process fails.
"""

import argparse
import json
import os
import resource
import subprocess
import sys
import tempfile
from itertools import combinations
from pathlib import Path
from typing import Any

import numpy as np

STEPS = 1000
COSTS = ("ours_cpu", "ours_mib", "mbi_cpu", "mbi_mib")
SETTINGS = (
    *(("p", p) for p in (0.3, 0.5, 0.7)),
    *(("epsilon", epsilon) for epsilon in (1.0, 2.0, 4.0, 8.0)),
)


def used() -> dict[str, float]:
    """Return the CPU seconds of this process with all its threads, and its peak memory in MiB."""
    own = resource.getrusage(resource.RUSAGE_SELF)
    return {"cpu": own.ru_utime + own.ru_stime, "mib": own.ru_maxrss / 1024}


def distance(tables: dict[str, Any], truth: Any) -> float:
    """Return the mean total variation distance of `tables` from the `truth`, by key."""
    return float(np.mean([np.abs(own - truth[key]).sum() / 2 for key, own in tables.items()]))


def run_mbi(folder: Path) -> dict[str, Any]:
    """Return the results of `mbi` from the inputs in a `folder`."""
    # Its environment may lack the imports of `run_ours`.
    import jax  # noqa: PLC0415

    jax.config.update("jax_enable_x64", val=True)
    from mbi import Domain, LinearMeasurement, estimation  # noqa: PLC0415

    given, truth = np.load(folder / "given.npz"), np.load(folder / "truth.npz")
    sizes, records = given["sizes"].tolist(), float(given["records"])
    names = [f"column {at}" for at in range(len(sizes))]
    pairs = {key: tuple(names[int(at)] for at in key.split()) for key in truth.files}
    measured = [
        LinearMeasurement(given[key] * records, pair, stddev=float(given[f"{key} error"]) * records)
        for key, pair in pairs.items()
        if key in given.files
    ]
    path: list[float] = []

    def follow(marginals: Any) -> None:
        tables = {key: marginals.project(pair).datavector() for key, pair in pairs.items()}
        path.append(distance({k: np.asarray(own) / records for k, own in tables.items()}, truth))

    model = estimation.MirrorDescent().estimate(
        Domain(names, sizes), measured, known_total=records, iters=STEPS, callback_fn=follow
    )
    last = {key: np.asarray(model.project(pair).datavector()) for key, pair in pairs.items()}
    end = distance({key: own / records for key, own in last.items()}, truth)
    return {"end": end, "best": min(*path, end), "path": path} | used()


def run_ours(adult: Path, given: str, value: float, seed: int, folder: Path) -> dict[str, Any]:
    """Return our results, and write the inputs of `mbi` to a `folder`."""
    from deniable.channels import ProductChannel  # noqa: PLC0415
    from deniable.joint import estimate_joint  # noqa: PLC0415
    from deniable.randomized_response import protocol_from_epsilon, rr_independent  # noqa: PLC0415
    from deniable.records import read_true_records  # noqa: PLC0415
    from deniable.responses import Answers  # noqa: PLC0415

    data: Any = read_true_records(adult)
    domain = data.domain
    protocol = (
        rr_independent(domain, value, "printed")
        if given == "p"
        else protocol_from_epsilon(domain, value)
    )
    records = protocol.randomize(data, np.random.default_rng([seed, int(1000 * value)]))
    inputs: dict[str, Any] = {"sizes": domain.shape, "records": len(data)}
    truth: dict[str, Any] = {}
    for i, j in combinations(range(len(domain)), 2):
        pair, key = (domain.names[i], domain.names[j]), f"{i} {j}"
        truth[key] = data.counts(pair).reshape(-1) / len(data)
        channel = ProductChannel((protocol.channels[i], protocol.channels[j]))
        if not channel.singular:
            counts = records.counts(pair).reshape(-1)
            inputs[key] = channel.estimate(counts)
            inputs[f"{key} error"] = np.sqrt(np.mean(channel.standard_errors(counts) ** 2))
    np.savez(folder / "given.npz", **inputs)
    np.savez(folder / "truth.npz", **truth)
    ways = zip(protocol.clusters, protocol.channels, records.columns, strict=True)
    answers = [Answers(domain.project(own), way, codes) for own, way, codes in ways]
    before = used()["cpu"]
    joint = estimate_joint(answers, domain, seed=seed).distribution
    after = used()
    tables = {k: joint.table([domain.names[int(at)] for at in k.split()]) for k in truth}
    return {"ours": distance(tables, truth), "cpu": after["cpu"] - before, "mib": after["mib"]}


def print_table(lines: list[dict[str, Any]]) -> None:
    """Print distances, ratios with intervals, CPU seconds and memory by setting."""
    from scipy.special import stdtrit  # noqa: PLC0415

    print("setting        seeds    ours   best    end  ours/best            ours/end")
    for given, value in SETTINGS:
        own = [each for each in lines if each["setting"] == [given, value]]
        if not own:
            continue
        of = {name: np.array([each[name] for each in own]) for name in ("ours", "best", "end")}
        text = f"{given:>7} {value:5g}  {len(own):5} "
        text += "".join(f" {values.mean():.4f}" for values in of.values())
        for base in ("best", "end"):
            ratio, reach = of["ours"] / of[base], np.inf
            if len(own) > 1:
                error = ratio.std(ddof=1) / np.sqrt(len(own))
                reach = float(stdtrit(len(own) - 1, 0.975)) * error
            text += f"  {ratio.mean():.3f} ({ratio.mean() - reach:.3f}-{ratio.mean() + reach:.3f})"
        costs = (f"{name} {np.mean([each[name] for each in own]):.0f}" for name in COSTS)
        print(text, *costs, sep="  ")


def compare(options: argparse.Namespace, given: str, value: float, seed: int) -> dict[str, Any]:
    """Return the line of one randomization; each method runs in a process of its own."""
    with tempfile.TemporaryDirectory() as folder:
        at = ["--folder", folder, "--adult", str(options.adult)]
        at += ["--setting", given, str(value), "--seeds", str(seed)]
        found = []
        for python, job in ((sys.executable, "ours"), (options.python, "mbi")):
            command = [python, __file__, "--job", job, *at]
            done = subprocess.run(command, check=True, capture_output=True, env=os.environ)
            found.append(json.loads(done.stdout.splitlines()[-1]))
    ours, mbi = found
    line = {"setting": [given, value], "seed": seed, "ours": ours["ours"]}
    line |= {"ours_cpu": ours["cpu"], "ours_mib": ours["mib"]}
    line |= {"mbi_cpu": mbi["cpu"], "mbi_mib": mbi["mib"]}
    return line | {name: mbi[name] for name in ("best", "end", "path")}


def main() -> None:
    """Run what the file lacks, and print the table."""
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("--adult", type=Path)
    parser.add_argument("--into", type=Path)
    parser.add_argument("--python", default=sys.executable)
    parser.add_argument("--seeds", type=int, nargs="+", default=[1, 2, 3, 4, 5])
    parser.add_argument("--table", action="store_true")
    parser.add_argument("--job", choices=["ours", "mbi"], help=argparse.SUPPRESS)
    parser.add_argument("--folder", type=Path, help=argparse.SUPPRESS)
    parser.add_argument("--setting", nargs=2, help=argparse.SUPPRESS)
    options = parser.parse_args()
    if options.job == "mbi":
        print(json.dumps(run_mbi(options.folder)))
        return
    if options.job == "ours":
        given, value = options.setting
        seed = options.seeds[0]
        print(json.dumps(run_ours(options.adult, given, float(value), seed, options.folder)))
        return
    lines = [json.loads(line) for line in options.into.open()] if options.into.exists() else []
    known = {(*each["setting"], each["seed"]) for each in lines}
    for seed in [] if options.table else options.seeds:
        for given, value in SETTINGS:
            if (given, value, seed) not in known:
                lines.append(compare(options, given, value, seed))
                with options.into.open("a") as stream:
                    print(json.dumps(lines[-1]), file=stream)
    print_table(lines)


if __name__ == "__main__":
    main()
