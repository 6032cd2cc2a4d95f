"""The audit of a release of numbers, on its own records: for their owner."""

from collections.abc import Iterator, Mapping
from fractions import Fraction
from typing import Any

import numpy as np
import pandas as pd

from deniable.channels import rounded_up
from deniable.idp import Ranking
from deniable.idp.audit import ALL, AS_IT_RUNS, FROZEN, AuditedFile, as_table, audit_file, holds
from deniable.records import NumericMicrodata
from deniable.release import HistogramRelease, NumericRelease, marked
from deniable.release.numeric.design import Domains, chosen, domains, masking_of
from deniable.release.numeric.promises import describe, exact_epsilons, with_figures

FOR_THE_OWNER = "for the owner: computed on the true records"
FOR_ALL = "the same for all records: may be published"


def designed(
    release: NumericRelease, data: NumericMicrodata, bounds: Mapping[str, tuple[float, float]]
) -> dict[str, Any]:
    """Return what the design of a release leaves: what it says of itself, and its audit.

    Parameters
    ----------
    release : NumericRelease
    data : NumericMicrodata
        The true records.
    bounds : mapping of attribute to (lower, upper)
        The manifest's.
    """
    own = chosen(release, data)
    stated = domains(release, own, bounds)
    audit = marked(audit_numeric_release(release, stated, own), release, own)
    said = describe(release, stated, own, own.marks["data_source"])
    return {"release": with_figures(said, audit.to_dict("records")), "audit": audit}


def audit_numeric_release(
    release: NumericRelease, stated: Domains, data: NumericMicrodata
) -> pd.DataFrame:
    """Return claimed and exact epsilons of a release on its true records.

    Parameters
    ----------
    release : NumericRelease
    stated : Domains
    data : NumericMicrodata
        The true records, of the release's attributes.

    Returns
    -------
    DataFrame
        The columns of `deniable.idp.audit.report.COLUMNS`, and ``without_noise``, the share of all
        clusters whose centroid is released as it is, and ``use``: who may see the row.
    """
    if isinstance(release, HistogramRelease):
        table = as_table(list(_of_histograms(release, stated)))
        return table.assign(without_noise=0.0, use=FOR_ALL)
    masked = masking_of(release, stated, data)
    table = audit_file(
        AuditedFile(
            release.data,
            stated.names,
            Ranking.of(stated.inner(data.values)),
            stated.widths,
            np.nan if release.domain_factor is None else release.domain_factor,
        ),
        [release.k or 1],
        [release.epsilon],
        [release.method],
    )
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
