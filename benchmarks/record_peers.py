"""Count the responses of clients of multi-freq-ldpy and pure-ldp, and record their estimates.

Writes two tables, which the tests compare with our channels. Use a separate environment, because
the two are not dependencies of ours, and this script imports nothing of ours:

    pip install multi-freq-ldpy==0.2.5 pure-ldp==1.2.0 xxhash==3.5.0 numpy==2.2.6 numba==0.68.1 \
        scipy==1.17.1
    python benchmarks/record_peers.py tests/channels/protocols

``peer_reports.csv`` has the frequency of each response in 20,000 draws per true category. A
response is an integer: the category (generalized randomized response), the row of the Hadamard
matrix, or the set of categories that it supports, with bit u for category u.
``peer_estimates.csv`` has the server's estimate from all these responses. It also has the variance
of the estimate in 200 tables, each with 100 responses per category (pure-ldp), or the variance that
the library states for one response and equal proportions (multi-freq-ldpy). Estimates of
multi-freq-ldpy are clipped at 0 and divided by their sum. Local hashing of both needs an xxhash
below 4, which still accepts strings.

The mechanisms of the libraries differ from ours in these points:

- Subset selection of multi-freq-ldpy uses d = k / (exp(epsilon) + 1) rounded to the nearest, ours
  the d of least variance. For 2 to 62 categories and epsilons .1, .2, ..., 5 theirs has at most
  2.4 % more variance (7 categories, epsilon 1.3: d = 1, not 2). With equal d the distribution is
  the same.
- Local hashing of both draws a hash of 32 bits by a seed, ours a linear function modulo a prime.
  Values of two categories are independent in both, values of three only in theirs. So, with as
  many values g, a response has the same joint distribution for the true category and one other.
  Estimates and their variances have the same distribution too, but not covariances. By default
  theirs uses g = round(exp(epsilon)) + 1, ours the prime of least variance.
- Hadamard response of pure-ldp is compared here up to epsilon 1. Above, it divides the responses
  into blocks, and ours does not.
- pure-ldp numbers categories from 1.
"""

import argparse
import csv
import random
from collections import Counter
from collections.abc import Callable
from dataclasses import dataclass
from importlib.metadata import version
from pathlib import Path
from typing import Any

import numba
import numpy as np
from multi_freq_ldpy.pure_frequency_oracles import GRR, LH, SS, UE
from multi_freq_ldpy.pure_frequency_oracles.Variance_PURE import VAR_Pure
from pure_ldp.frequency_oracles.direct_encoding import DEClient, DEServer
from pure_ldp.frequency_oracles.hadamard_response import (
    HadamardResponseClient,
    HadamardResponseServer,
)
from pure_ldp.frequency_oracles.local_hashing import LHClient, LHServer
from pure_ldp.frequency_oracles.unary_encoding import UEClient, UEServer
from xxhash import xxh32

SEED = 20_260_101
DRAWS = 20_000  # per category
TABLES = 200


@dataclass(frozen=True)
class Peer:
    """A mechanism of a library: its client, its server, and the number of a response."""

    library: str
    mechanism: str
    categories: int
    epsilon: float
    parameter: int  # the size of subsets, or the values of a hash; 0 if there is none
    draw: Callable[[int], Any]
    estimate: Callable[[list[Any]], np.ndarray]
    number: Callable[[Any], int]
    probabilities: tuple[float, float] | None = None  # p and q, if the library states a variance


def of_multi_freq() -> list[Peer]:
    """Return the mechanisms of multi-freq-ldpy."""
    library, e = "multi-freq-ldpy", np.exp
    p = 2 * e(0.8) / (2 * e(0.8) + 4)  # 6 / (exp(.8) + 1) is 1.9: subsets of 2
    return [
        Peer(
            *(library, "generalized", 4, 1.0, 0),
            lambda u: GRR.GRR_Client(u, 4, 1.0),
            lambda reports: GRR.GRR_Aggregator_MI(reports, 4, 1.0),
            int,
            (e(1) / (e(1) + 3), 1 / (e(1) + 3)),
        ),
        Peer(
            *(library, "unary", 4, 1.0, 0),
            lambda u: UE.UE_Client(u, 4, 1.0, True),
            lambda reports: UE.UE_Aggregator_MI(reports, 1.0, True),
            lambda bits: set_number(np.flatnonzero(bits)),
            (0.5, 1 / (e(1) + 1)),
        ),
        Peer(
            *(library, "hashing", 4, 1.4, 5),
            lambda u: LH.LH_Client(u, 4, 1.4, True),
            lambda reports: LH.LH_Aggregator_MI(reports, 4, 1.4, True),
            lambda report: hashed_number(*report, 4, 5),
            (e(1.4) / (e(1.4) + 4), 1 / 5),
        ),
        Peer(
            *(library, "subsets", 6, 0.8, 2),
            lambda u: SS.SS_Client(u, 6, 0.8),
            lambda reports: SS.SS_Aggregator_MI(reports, 6, 0.8),
            set_number,
            (p, (2 - p) / 5),
        ),
    ]


def of_pure_ldp() -> list[Peer]:
    """Return the mechanisms of pure-ldp."""
    library, peers = "pure-ldp", []
    hadamard = HadamardResponseClient(0.8, 6, None)
    for mechanism, k, epsilon, parameter, client, server, number in (
        ("generalized", 4, 1.0, 0, DEClient(1.0, 4), DEServer(1.0, 4), int),
        ("Hadamard", 6, 0.8, 0, hadamard, HadamardResponseServer(0.8, 6), int),
        (
            *("unary", 4, 1.0, 0),
            *(UEClient(1.0, 4, use_oue=True), UEServer(1.0, 4, use_oue=True)),
            lambda bits: set_number(np.flatnonzero(bits)),
        ),
        (
            *("hashing", 4, 1.0, 3),
            *(LHClient(1.0, 4, g=3), LHServer(1.0, 4, g=3)),
            lambda report: hashed_number(*report, 4, 3),
        ),
    ):
        peers.append(
            Peer(
                *(library, mechanism, k, epsilon, parameter),
                lambda u, client=client: client.privatise(u + 1),
                lambda reports, server=server, k=k: served(server, reports, k),
                number,
            )
        )
    return peers


def set_number(members: Any) -> int:
    """Return a set of categories as the number with these bits."""
    return sum(1 << int(u) for u in members)


def hashed_number(value: int, seed: int, categories: int, values: int) -> int:
    """Return the set of the categories with this hash value."""
    return set_number(
        u for u in range(categories) if xxh32(str(u), seed=seed).intdigest() % values == value
    )


def served(server: Any, reports: list[Any], categories: int) -> np.ndarray:
    """Return the proportions that a server of pure-ldp estimates."""
    server.reset()
    server.aggregate_all(reports)
    estimates = server.estimate_all(range(1, categories + 1), suppress_warnings=True)
    return np.asarray(estimates) / len(reports)


@numba.njit
def seed_compiled(seed: int) -> None:
    """Seed the generator of compiled functions, which is not NumPy's own."""
    np.random.seed(seed)  # noqa: NPY002 - the peers draw from it


def main() -> None:
    """Draw responses, count them, estimate, and write both tables."""
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("folder", type=Path)
    folder = parser.parse_args().folder
    counted, estimated = [], []
    for number, peer in enumerate([*of_multi_freq(), *of_pure_ldp()]):
        seed = SEED + number
        random.seed(seed)
        np.random.seed(seed)  # noqa: NPY002 - the peers draw from it
        seed_compiled(seed)
        k = peer.categories
        reports = [[peer.draw(u) for _ in range(DRAWS)] for u in range(k)]
        settings = (peer.mechanism, k, peer.epsilon, peer.parameter)
        head = (peer.library, version(peer.library), *settings, seed)
        for u, own in enumerate(reports):
            counts = Counter(map(peer.number, own))
            counted += [(*head, u, report, counts[report]) for report in sorted(counts)]
        estimates = peer.estimate([report for own in reports for report in own])
        if peer.probabilities:
            variances, tables = [VAR_Pure(*peer.probabilities, 1, 1 / k)] * k, 0
        else:
            size, tables = DRAWS // TABLES, TABLES
            parts = [slice(size * t, size * (t + 1)) for t in range(tables)]
            found = [peer.estimate([r for own in reports for r in own[part]]) for part in parts]
            variances = np.var(found, axis=0, ddof=1).tolist()
        for u, (estimate, variance) in enumerate(zip(estimates, variances, strict=True)):
            estimated.append((*head, u, float(estimate), tables, float(variance)))
    columns = ["library", "version", "mechanism", "categories", "epsilon", "parameter", "seed"]
    for name, rest, rows in (
        ("peer_reports", ["true_category", "report", "count"], counted),
        ("peer_estimates", ["category", "estimate", "tables", "variance"], estimated),
    ):
        with (folder / f"{name}.csv").open("w", encoding="utf-8", newline="") as file:
            writer = csv.writer(file, lineterminator="\n")
            writer.writerow([*columns, *rest])
            writer.writerows(rows)


if __name__ == "__main__":
    main()
