"""Cramér's V of all pairs in synthetic records of Adult, against the release's own error.

Each release randomizes Adult at a p of the matrix `printed`, or at an exact epsilon of a record,
split evenly. As many synthetic records are drawn from its joint estimate. The release's own error
of a pair belongs to an estimate that is valid whatever the joint distribution: V² of the unbiased
table, weighted by the original marginal distributions. From its standard deviation over `--draws`
draws of the randomized counts come 95 % limits about the original V. At strong noise they are 0
and more than 1, so pairs with other limits are counted.

Prints, for each setting, how many V of synthetic records are within these limits, and the mean
error over pairs beside that of the most likely table of each pair alone. The exit code is always 0.

    python benchmarks/dependences.py --adult results/data/adult.parquet [--seeds 1 2 3 4 5]
        [--draws 60]
"""

import argparse
from itertools import combinations
from pathlib import Path
from typing import Any

import numpy as np

from deniable.channels import ProductChannel
from deniable.estimation import consistent
from deniable.joint import estimate_joint
from deniable.randomized_response import (
    Protocol,
    cramers_v,
    protocol_from_epsilon,
    rr_independent,
)
from deniable.records import Microdata, read_true_records
from deniable.responses import Answers

SETTINGS = (
    *(("p", p) for p in (0.3, 0.5, 0.7)),
    *(("epsilon", epsilon) for epsilon in (1.0, 2.0, 4.0, 8.0)),
)
Z = 1.96


def limits(table: np.ndarray, channel: ProductChannel, draws: int, seed: int) -> tuple[float, ...]:
    """Return the limits of V of a `table` of original counts, and the mean error of the pair alone.

    The seed decides the draws of the randomized counts through the channel.
    """
    generator, true = np.random.default_rng(seed), cramers_v(table)
    margins = np.outer(table.sum(axis=1), table.sum(axis=0)) / table.sum() ** 2
    possible, squares, errors = margins > 0, [], []
    for _ in range(draws):
        counts = channel.randomize_counts(table.reshape(-1), generator)
        found = channel.estimate(counts).reshape(table.shape)
        differences = found - np.outer(found.sum(axis=1), found.sum(axis=0))
        ratios = differences[possible] ** 2 / margins[possible]
        squares.append(ratios.sum() / (min(table.shape) - 1))
        alone = consistent(counts, channel).proportions.reshape(table.shape)
        errors.append(abs(cramers_v(alone) - true))
    reach = Z * np.std(squares, ddof=1)
    low, high = np.sqrt(np.maximum([true**2 - reach, true**2 + reach], 0))
    return float(low), float(high), float(np.mean(errors))


def synthetic(data: Microdata, protocol: Protocol, seed: int) -> Microdata:
    """Return synthetic records from a release of `data`."""
    records = protocol.randomize(data, np.random.default_rng(seed))
    ways = zip(protocol.clusters, protocol.channels, records.columns, strict=True)
    answers = [Answers(data.domain.project(own), way, codes) for own, way, codes in ways]
    joint = estimate_joint(answers, data.domain, seed=seed).distribution
    return joint.sample(len(data), np.random.default_rng(seed))


def main() -> None:
    """Print the table."""
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("--adult", type=Path, required=True)
    parser.add_argument("--seeds", type=int, nargs="+", default=[1, 2, 3, 4, 5])
    parser.add_argument("--draws", type=int, default=60)
    options = parser.parse_args()
    data: Any = read_true_records(options.adult)
    names = data.domain.names
    pairs = [*combinations(range(len(names)), 2)]
    print("setting        within limits    error of V   alone   pairs with limits")
    for given, value in SETTINGS:
        if given == "p":
            protocol = rr_independent(data.domain, value, "printed")
        else:
            protocol = protocol_from_epsilon(data.domain, value)
        made = [synthetic(data, protocol, seed) for seed in options.seeds]
        within, errors, known = [], [], []
        for i, j in pairs:
            channel = ProductChannel((protocol.channels[i], protocol.channels[j]))
            own, table = (names[i], names[j]), data.counts((names[i], names[j]))
            low, high, alone = limits(table, channel, options.draws, i * len(names) + j)
            values = np.array([cramers_v(each.counts(own)) for each in made])
            within.append((values >= low) & (values <= high))
            errors.append((np.abs(values - cramers_v(table)).mean(), alone))
            known.append(low > 0 or high < 1)
            if not within[-1].all():
                print(f"  outside: {own}, {cramers_v(table):.3f}, {values.round(3)}")
        error, alone = np.mean(errors, axis=0)
        print(
            f"{given:>7} {value:5g}  {np.sum(within):6} of {np.size(within)}"
            f"  {error:10.3f} {alone:10.3f}  {np.sum(known):6} of {len(pairs)}"
        )


if __name__ == "__main__":
    main()
