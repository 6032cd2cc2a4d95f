"""The claims about a mechanism for numeric records, and the claims that hold for all files.

`verdicts` depend on the mechanism and its parameters only, and can be published. `audit_numbers`
computes losses on the original records, and its rows for centroids are confidential.
"""

import math
from collections.abc import Iterator
from dataclasses import dataclass, replace
from fractions import Fraction
from typing import Any

import numpy as np
import pandas as pd

from deniable.arrays import Counts, Floats
from deniable.channels import rounded_up
from deniable.idp import NumericMechanism, Ranking, protect_numbers
from deniable.idp.audit.report import (
    ALL,
    FIXED_SCALE,
    RECOMPUTED_SCALE,
    AuditedFile,
    as_table,
    audit_file,
    claim_row,
)
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
    """Whether a claimed epsilon holds for every file.

    Attributes
    ----------
    what : str
        The released object: one centroid, all centroids of an attribute, or the records.
    reading : str
        The interpretation of Definition 3: scale frozen, as it runs, or both.
    claimed_epsilon : float
    holds : bool
    proved_epsilon : float or None
        For all files, perhaps infinite; None if it depends on the records.
    why : str
    """

    what: str
    reading: str
    claimed_epsilon: float
    holds: bool
    proved_epsilon: float | None
    why: str


class _Recorder:
    """A `deniable.sampling.Noise` that adds nothing and keeps its arguments."""

    values: Floats
    scales: Floats

    def add(self, values: Floats, scales: Floats, runs: int) -> Floats:
        self.values, self.scales = values, scales
        return np.broadcast_to(values, (runs, *values.shape)).copy()

    def add_whole(self, counts: Counts, scale: float) -> Counts:
        self.values, self.scales = counts.astype(float), np.full(counts.shape, scale)
        return counts


def recorded_epsilons(mechanism: NumericMechanism) -> list[Fraction]:
    """Return the exact epsilon of each attribute by two files that are as different as possible.

    The `mechanism` runs on two files of two records. One record changes from the lower to the upper
    end of all domains, and the other one stays. The changes of the values before noise, divided by
    the noise scales, add up to the epsilon. This holds for ``dp`` and histograms, because their
    scales do not depend on the records.
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
    found = [
        [Fraction(c) / Fraction(s) for c, s in zip(*each, strict=True)]
        for each in zip(np.abs(after - before).tolist(), scales.tolist(), strict=True)
    ]
    return [sum(each, Fraction(0)) for each in found]


def proved_epsilon(mechanism: NumericMechanism) -> float:
    """Return the proved epsilon of records under a `mechanism`, rounded up, or infinity."""
    if mechanism.k is not None or not mechanism.public_domains:
        return math.inf
    return rounded_up(sum(mechanism.exact_epsilons, Fraction(0)))


def verdicts(mechanism: NumericMechanism) -> list[PromiseVerdict]:
    """Return the claims about a `mechanism` that hold, and that fail, for all files in the domains.

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


def audit_numbers(
    mechanism: NumericMechanism, data: NumericMicrodata, dataset: str
) -> pd.DataFrame:
    """Return claimed and exact epsilons of a `mechanism` on the original records, `data`.

    The columns are `deniable.idp.audit.report.COLUMNS`, with the name of the `dataset`, and
    ``without_noise``: the proportion of centroids that are released without noise. Rows of
    histograms depend on no record; all others are confidential.
    """
    if mechanism.by_histograms:
        return as_table(list(_of_histograms(mechanism, dataset))).assign(without_noise=0.0)
    masked, domains = mechanism.masking_of(data), mechanism.domains
    factor = np.nan if mechanism.domain_factor is None else mechanism.domain_factor
    ranking = Ranking.of(domains.inner(data.values))
    file = AuditedFile(dataset, domains.names, ranking, domains.widths, factor)
    table = audit_file(file, [mechanism.k or 1], [mechanism.epsilon], [mechanism.formed_of])
    if mechanism.public_domains:
        table = table[table["domain"] == "public"].reset_index(drop=True)
    return table.assign(without_noise=float(np.mean(masked.scales == 0)))


def _of_histograms(mechanism: NumericMechanism, dataset: str) -> Iterator[dict[str, Any]]:
    """Yield the rows of noisy histograms, which some neighbours of every file attain."""
    exact = mechanism.exact_epsilons
    worst = max(range(len(exact)), key=exact.__getitem__)
    name, budget = mechanism.domains.names[worst], mechanism.epsilon / len(exact)
    found = (
        ("attribute", budget, exact[worst], name),
        ("record", mechanism.epsilon, sum(exact, Fraction(0)), ALL),
    )
    for reading in (FIXED_SCALE, RECOMPUTED_SCALE):
        for unit, claimed, epsilon, attribute in found:
            yield claim_row(
                claimed,
                rounded_up(epsilon),
                "exact",
                dataset=dataset,
                method="numeric_dp",
                reading=reading,
                unit=unit,
                epsilon=mechanism.epsilon,
                domain="public",
                clusters="none",
                attribute=attribute,
                records_beyond=0.0,
                note="histograms with noise for two counts; records are drawn from them",
            )
