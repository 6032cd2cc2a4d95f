"""What a release of numbers promises, what is proved of it, and what fails whatever the records.

Promises and verdicts follow from the mechanism, its parameters and the number of records: they may
be published. What the audit finds on the records themselves tells of them, and is for the owner.
"""

from collections.abc import Iterator, Mapping
from dataclasses import asdict, dataclass, replace
from fractions import Fraction
from typing import Any

import numpy as np
import pandas as pd

from deniable.channels import rounded_up
from deniable.idp import TABLE_DISTANCE, Ranking, split_budget
from deniable.idp.audit import ALL, AS_IT_RUNS, FROZEN, AuditedFile, as_table, audit_file, holds
from deniable.records import NumericMicrodata
from deniable.release import (
    FOR_ALL,
    HistogramRelease,
    NumericRelease,
    ReleaseKey,
    described,
    marked,
    spreadsheets,
)
from deniable.release.numeric.design import SAMPLER_MARK, Domains, chosen, domains, masking_of

FOR_THE_OWNER = "for the owner: computed on the true records"
INFINITE = "infinite"
BOTH = f"{FROZEN}, {AS_IT_RUNS}"
CENTROID, CENTROIDS, RECORD = "one centroid", "all centroids of an attribute", "the records"

COUNTS = (
    "a record changes two counts of each histogram by 1, which is what the noise is made for, and "
    "neither noise nor bins depend on the records; all else is made from the noisy counts"
)
WIDTHS = "each value has noise of its own, made for the whole width of its domain"
SMALL_MOVES = (
    "another value for one record moves the sums of all clusters together by at most the width of "
    "the domain (in real numbers: rounding of the centroids is not counted)"
)
SENSITIVITY = "a centroid changes by no more than the noise is made for (Propositions 2 and 3)"
SHIFTS = (
    "clusters are cut from the sorted values: a record that changes its rank shifts a value in "
    "every cluster on its way, and the losses of these clusters add up"
)
SCALES = {
    "idp_ls": "the noise's scale depends on the cluster's values, and outputs tell scales apart",
    "idp_cbls": "the noise's scale depends on the cluster's values, and outputs tell scales apart; "
    "a cluster of equal values is released without noise",
}
PARTITION = (
    "all records of a cluster have one value, so that the file shows who is in a cluster with "
    "whom; another value for one record changes that for certain"
)
LARGEST_VALUES = (
    "domains end at a multiple of the largest value, which shows where values are cut off there"
)
LARGEST_VALUES_SHOWN = (
    "the upper ends of the domains: divided by domain_factor they are the largest value of each "
    "attribute, exactly"
)


@dataclass(frozen=True)
class Verdict:
    """Whether a promise, `claimed_epsilon`, holds for every file (`holds`), and `why`.

    `what` is released: one centroid, all centroids of an attribute, the records. The `reading` is
    Definition 3 with the scale frozen, the algorithm as it runs, or both. `proved_epsilon` is for
    all files; there is none if it depends on the records.
    """

    what: str
    reading: str
    claimed_epsilon: float
    holds: bool
    proved_epsilon: float | str | None
    why: str


def exact_epsilons(release: NumericRelease, stated: Domains) -> list[Fraction]:
    """Return the exact epsilon of each attribute, from the scale of its noise as a float has it.

    By a `release` in the `stated` domains: of the histograms of ``numeric_dp``, and of
    values that each have noise of their own (``dp``).
    """
    shares = split_budget(release.epsilon, len(stated.names))
    honest = isinstance(release, HistogramRelease)
    distances = np.full(len(shares), float(TABLE_DISTANCE)) if honest else stated.widths
    pairs = zip(distances.tolist(), (distances / shares).tolist(), strict=True)
    return [Fraction(distance) / Fraction(scale) for distance, scale in pairs]


def proved_epsilon(release: NumericRelease, stated: Domains) -> float | str:
    """Return the epsilon of differential privacy of the released records, or "infinite".

    By a `release` in the `stated` domains.
    """
    public = isinstance(release, HistogramRelease) or (
        release.method == "dp" and release.domain_factor is None
    )
    return rounded_up(sum(exact_epsilons(release, stated), Fraction(0))) if public else INFINITE


def verdicts(release: NumericRelease, stated: Domains) -> list[Verdict]:
    """Return what holds and what fails for all files in the `stated` domains.

    Of a `release` of two clusters or more, where it forms clusters.
    """
    epsilon = release.epsilon
    if isinstance(release, HistogramRelease):
        return [Verdict(RECORD, BOTH, epsilon, True, proved_epsilon(release, stated), COUNTS)]
    share = epsilon / len(stated.names)
    partition = Verdict(RECORD, BOTH, epsilon, False, INFINITE, PARTITION)
    if release.method == "dp":
        exact = rounded_up(sum(exact_epsilons(release, stated), Fraction(0)))
        found = [Verdict(RECORD, BOTH, epsilon, True, exact, WIDTHS)]
    elif release.method == "dp_um":
        found = [Verdict(CENTROIDS, BOTH, share, True, share, SMALL_MOVES), partition]
    else:
        found = [
            Verdict(CENTROID, FROZEN, share, True, share, SENSITIVITY),
            Verdict(CENTROIDS, FROZEN, share, False, None, SHIFTS),
            Verdict(CENTROIDS, AS_IT_RUNS, share, False, None, SCALES[release.method]),
            partition,
        ]
    if release.domain_factor is None:
        return found
    # What holds as it runs holds with public domains only.
    held = [replace(each, reading=FROZEN) if each.holds else each for each in found]
    return [*held, Verdict(RECORD, AS_IT_RUNS, epsilon, False, INFINITE, LARGEST_VALUES)]


def describe(
    release: NumericRelease, stated: Domains, data: NumericMicrodata, data_source: str
) -> dict[str, Any]:
    """Return what a `release` says of itself: `stated` domains, promises, verdicts.

    `data` is of the release's attributes; its number of records and its classes are taken as
    public. It is published or a surrogate by the `data_source`.
    """
    shares = split_budget(release.epsilon, len(stated.names)).tolist()
    ends = stated.lower.tolist(), stated.upper.tolist()
    kept = f"the class {data.class_name} of each record and " if data.classes else ""
    stated_first = isinstance(release, HistogramRelease) or release.domain_factor is None
    public = ", which are taken as public" + (", as are the domains" if stated_first else "")
    texts = [*data.names, *([data.class_name] if data.classes else []), *data.classes]
    said = described(release, data_source, SAMPLER_MARK) | spreadsheets(texts)
    return said | {
        "records": len(data),
        "domains": [
            {"attribute": name, "lower": low, "upper": high, "epsilon": share}
            for name, low, high, share in zip(stated.names, *ends, shares, strict=True)
        ],
        "privacy": {
            "unit": "the numbers of one record, whatever they change to",
            "not_protected": f"{kept}the number of records{public}",
            "claimed_epsilon": release.epsilon,
            "claimed": definition(release),
            "proved_epsilon": proved_epsilon(release, stated),
            "proved": "differential privacy of the released records, from the noise's scale as it "
            "is in floating point, rounded up",
            "verdicts": [asdict(each) for each in verdicts(release, stated)],
            "depends_on_the_records": [] if stated_first else [LARGEST_VALUES_SHOWN],
            "figures_for_these_records": "for the owner alone: computed on the true records, so "
            "that they tell of them; verdicts here follow from the mechanism alone",
        },
    }


def definition(release: NumericRelease) -> str:
    """Return what a `release`'s epsilon is claimed to be of."""
    if isinstance(release, HistogramRelease) or release.method == "dp":
        return "differential privacy"
    if release.method == "dp_um":
        return "differential privacy by parallel composition over clusters ([idp], section 3.1)"
    return "individual differential privacy ([idp], Definition 3)"


def designed(
    release: NumericRelease,
    data: NumericMicrodata,
    key: ReleaseKey,
    bounds: Mapping[str, tuple[float, float]],
) -> dict[str, Any]:
    """Return what the design of a `release` leaves: what it says of itself, and its audit.

    The audit is on the true `data`. Nothing of it is random; the `key` is not looked at. `bounds`
    are the manifest's, (lower, upper) of attributes.
    """
    own = chosen(release, data)
    stated = domains(release, own, bounds)
    audit = marked(audit_numeric_release(release, stated, own), release, own)
    said = describe(release, stated, own, own.marks["data_source"])
    return {"release": said, "audit": audit}


def audited(made: Mapping[str, Any]) -> pd.DataFrame:
    """Return the ``audit`` of a release, which was `made` with its design."""
    table: pd.DataFrame = made["audit"]
    return table


def audit_numeric_release(
    release: NumericRelease, stated: Domains, data: NumericMicrodata
) -> pd.DataFrame:
    """Return claimed and exact epsilons of a `release` on its true `data`, in `stated` domains.

    In the columns of `deniable.idp.audit.report.COLUMNS`, and ``without_noise``, the share of all
    clusters whose centroid is released as it is, and ``use``: who may see the row.
    """
    if isinstance(release, HistogramRelease):
        table = as_table(list(_of_histograms(release, stated)))
        return table.assign(without_noise=0.0, use=FOR_ALL)
    masked = masking_of(release, stated, data)
    factor = np.nan if release.domain_factor is None else release.domain_factor
    ranking = Ranking.of(stated.inner(data.values))
    file = AuditedFile(release.data, stated.names, ranking, stated.widths, factor)
    table = audit_file(file, [release.k or 1], [release.epsilon], [release.method])
    if release.domain_factor is None:
        table = table[table["domain"] == "public"].reset_index(drop=True)
    return table.assign(without_noise=float(np.mean(masked.scales == 0)), use=FOR_THE_OWNER)


def _of_histograms(release: HistogramRelease, stated: Domains) -> Iterator[dict[str, Any]]:
    """Yield the rows of noisy histograms: every file has neighbours that attain these."""
    exact = exact_epsilons(release, stated)
    worst = max(range(len(exact)), key=exact.__getitem__)
    found = (
        ("attribute", release.epsilon / len(exact), exact[worst], stated.names[worst]),
        ("record", release.epsilon, sum(exact, Fraction(0)), ALL),
    )
    for reading in (FROZEN, AS_IT_RUNS):
        for unit, claimed, epsilon, attribute in found:
            spent = rounded_up(epsilon)
            yield {
                "dataset": release.data,
                "method": release.mechanism,
                "reading": reading,
                "unit": unit,
                "claimed_epsilon": claimed,
                "exact_or_lower_bound": spent,
                "kind": "exact",
                "holds": holds(claimed, spent, "exact"),
                "epsilon": release.epsilon,
                "domain": "public",
                "clusters": "none",
                "attribute": attribute,
                "times_claimed": spent / claimed,
                "records_beyond": 0.0,
                "note": "histograms with noise for two counts; records are drawn from them",
            }
