"""State the claims about a mechanism for numeric records, and which of them hold for all files.

`verdicts` depend on the mechanism and its parameters only, so they can be published.
"""

import math
from dataclasses import dataclass, replace
from fractions import Fraction

import numpy as np

from deniable.arrays import Counts, Floats
from deniable.channels import rounded_up
from deniable.idp import NumericMechanism, protect_numbers
from deniable.idp.audit.report import FIXED_SCALE, RECOMPUTED_SCALE
from deniable.records import NumericMicrodata

BOTH = f"{FIXED_SCALE}, {RECOMPUTED_SCALE}"
CENTROID, CENTROIDS, RECORD = "one centroid", "all centroids of an attribute", "the records"

COUNTS = (
    "a record changes two counts of each histogram by 1, the noise is scaled for that change, and "
    "neither noise nor bins depend on the records; everything else is made from the noisy counts"
)
WIDTHS = "each value has its own noise, scaled for the whole width of its domain"
SMALL_MOVES = (
    "another value for one record moves the sums of all clusters together by at most the width of "
    "the domain (in real numbers; rounding of centroids is not counted)"
)
SENSITIVITY = "a centroid changes by at most the sensitivity of Propositions 2 and 3"
SHIFTS = (
    "clusters are cut from the sorted values: if a record changes its rank, a value shifts in "
    "every cluster between the two ranks, and the losses of these clusters add up"
)
SCALES = {
    "idp_ls": "the noise scale depends on the cluster's values, and outputs reveal the scale",
    "idp_cbls": "the noise scale depends on the cluster's values, and outputs reveal the scale; "
    "a cluster of equal values is released without noise",
}
PARTITION = (
    "all records of a cluster have one value, so the file shows which records share a cluster; "
    "another value for one record changes the clusters with certainty"
)
MAX_VALUES = (
    "domains end at a multiple of the largest value, and clipped values show the end of the domain"
)


@dataclass(frozen=True)
class PromiseVerdict:
    """Whether a `claimed_epsilon` `holds` for every file, and `why`.

    `what` is the released object: one centroid, all centroids of an attribute, or the records. The
    `reading` is the interpretation of Definition 3: scale frozen, as it runs, or both. The
    `proved_epsilon` is for all files and can be infinite. It is None if it depends on the records.
    """

    what: str
    reading: str
    claimed_epsilon: float
    holds: bool
    proved_epsilon: float | None
    why: str


class _Recorder:
    """A `deniable.sampling.Noise` that adds nothing and stores its arguments."""

    values: Floats
    scales: Floats

    def add(self, values: Floats, scales: Floats, runs: int) -> Floats:
        self.values, self.scales = values, scales
        return np.broadcast_to(values, (runs, *values.shape)).copy()

    def add_whole(self, counts: Counts, scale: float) -> Counts:
        self.values, self.scales = counts.astype(float), np.full(counts.shape, scale)
        return counts


def recorded_epsilons(mechanism: NumericMechanism) -> list[Fraction]:
    """Return the exact epsilon of each attribute from two files that differ as much as possible.

    The `mechanism` runs on two files of two records. One record changes from the lower to the upper
    end of all domains, and the other one stays the same. The changes of the values before noise,
    divided by the noise scales, add up to the epsilon. This holds for ``dp`` and histograms,
    because their scales do not depend on the records.
    """
    domains, seen = mechanism.domains, []
    for changed in (domains.lower, domains.upper):
        recorder = _Recorder()
        data = NumericMicrodata(domains.names, np.stack([domains.lower, changed]))
        protect_numbers(mechanism, data, recorder, np.random.default_rng(0))
        # Attributes are the first axis of histograms, and the last one of records.
        tables = np.array([recorder.values, recorder.scales])
        tables = tables if mechanism.by_histograms else tables.swapaxes(1, 2)
        seen.append(tables.reshape(2, len(domains.names), -1))
    (before, scales), (after, _) = seen
    return [
        sum((Fraction(c) / Fraction(s) for c, s in zip(*each, strict=True)), Fraction(0))
        for each in zip(np.abs(after - before).tolist(), scales.tolist(), strict=True)
    ]


def proved_epsilon(mechanism: NumericMechanism) -> float:
    """Return the proved epsilon of released records of a `mechanism`, rounded up, or infinity."""
    if mechanism.k is not None or not mechanism.public_domains:
        return math.inf
    return rounded_up(sum(mechanism.exact_epsilons, Fraction(0)))


def verdicts(mechanism: NumericMechanism) -> list[PromiseVerdict]:
    """Return a verdict on each claim about a `mechanism`, for all files in the domains.

    Claims about clusters are for files of two clusters or more.
    """
    epsilon, method = mechanism.epsilon, mechanism.method
    share = epsilon / len(mechanism.domains.names)
    partition = PromiseVerdict(RECORD, BOTH, epsilon, False, math.inf, PARTITION)
    if mechanism.k is None:
        exact = rounded_up(sum(mechanism.exact_epsilons, Fraction(0)))
        why = COUNTS if mechanism.by_histograms else WIDTHS
        found = [PromiseVerdict(RECORD, BOTH, epsilon, True, exact, why)]
    elif method == "dp_um":
        found = [PromiseVerdict(CENTROIDS, BOTH, share, True, share, SMALL_MOVES), partition]
    else:
        found = [
            PromiseVerdict(CENTROID, FIXED_SCALE, share, True, share, SENSITIVITY),
            PromiseVerdict(CENTROIDS, FIXED_SCALE, share, False, None, SHIFTS),
            PromiseVerdict(CENTROIDS, RECOMPUTED_SCALE, share, False, None, SCALES[method]),
            partition,
        ]
    if mechanism.public_domains:
        return found
    # If domains depend on the records, no claim holds for the algorithm as it runs.
    held = [replace(each, reading=FIXED_SCALE) if each.holds else each for each in found]
    return [*held, PromiseVerdict(RECORD, RECOMPUTED_SCALE, epsilon, False, math.inf, MAX_VALUES)]


def definition(mechanism: NumericMechanism) -> str:
    """Return the privacy definition that a `mechanism` claims."""
    if mechanism.k is None:
        return "differential privacy"
    if mechanism.method == "dp_um":
        return "differential privacy by parallel composition over clusters ([idp], section 3.1)"
    return "individual differential privacy ([idp], Definition 3)"
