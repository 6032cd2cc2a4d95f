"""Protocols with many categories: time to draw a response and to estimate, and the variance.

Prints, for numbers of categories and epsilons, the nanoseconds of processor time to draw a
response, from a generator and by a key, and the seconds to count supports and estimate from a
tally. Then come n times the variance of a rare category, and the large-k limit
4 exp(e) / (exp(e) - 1) ** 2. The goals at 100,000 categories are 40 ns per response (Hadamard),
2,000 ns (projective geometry), and 2 s per estimate. The exit code is always 0.

    python benchmarks/protocols.py [--records N]
"""

import argparse
import math
import time
from collections.abc import Callable
from typing import Any

import numpy as np

from deniable.channels import HadamardResponse, ProjectiveGeometry
from deniable.sampling import KeyedDraws

CASES = (
    (100_000, 0.5),
    (100_000, 1.0),
    (100_000, 2.0),
    (100_000, 4.0),
    (100_000, 6.0),
    (1_000_000, 1.0),
    (1_000_000, 4.0),
)


def seconds(work: Callable[[], Any]) -> tuple[float, Any]:
    """Return the processor time of one call, and its result."""
    start = time.process_time()
    result = work()
    return time.process_time() - start, result


def main() -> None:
    """Measure and print."""
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("--records", type=int, default=1_000_000)
    records = parser.parse_args().records
    generator = np.random.default_rng(1)
    column = KeyedDraws(bytes(32), b"benchmark").column(("attribute",), records)
    print("protocol             categories  epsilon  ns keyed ns  first s  next s  variance  limit")
    for categories, epsilon in CASES:
        codes = generator.integers(0, categories, records)
        limit = 4 * math.exp(epsilon) / math.expm1(epsilon) ** 2
        for kind in (HadamardResponse, ProjectiveGeometry):
            channel = kind.of_epsilon(categories, epsilon)
            channel.randomize(codes[:10], generator)  # computes what all records use
            drawn, reports = seconds(lambda c=channel, u=codes: c.randomize(u, generator))
            keyed, _ = seconds(lambda c=channel, u=codes: c.randomize_keyed(u, column))
            tally = np.bincount(reports, minlength=channel.reports)
            first, _ = seconds(lambda c=channel, t=tally: c.estimate(t))
            following, _ = seconds(lambda c=channel, t=tally: c.estimate(t))
            print(
                f"{kind.__name__:20} {categories:10,} {epsilon:8g} {drawn / records * 1e9:4.0f}"
                f"{keyed / records * 1e9:9.0f}{first:9.2f}{following:8.2f}"
                f"{float(channel.own_variance()):10.4f}{limit:8.4f}"
            )


if __name__ == "__main__":
    main()
