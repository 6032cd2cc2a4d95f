"""What is made from a protected file after its release: weights, and synthetic records.

Everything here but the last function starts from the protected file and its channels, never from
the true records, so it costs no privacy (text 003, section 5).
"""

from collections.abc import Mapping
from itertools import combinations
from typing import Any, Literal

import numpy as np
import numpy.typing as npt
import pandas as pd

from deniable.adjustment import TOLERANCE, Adjustment, adjust
from deniable.channel.base import Floats
from deniable.errors import DeniableError
from deniable.microdata import Microdata
from deniable.multirr import Protocol
from deniable.randomness import RandomSource
from deniable.synthetic import repeat_records, synthesize

Basis = Literal["clusters", "adjustment"]

SYNTHETIC_MARKS: Mapping[Basis, str] = {
    "clusters": "SYNTHETIC: the cells estimated for each cluster of attributes, repeated, and the "
    "clusters matched at random; no record is anybody's answer",
    "adjustment": "SYNTHETIC: randomized records repeated as RR-Adjustment weights them; their "
    "number and order are nobody's",
}


def estimated_distributions(protocol: Protocol, estimates: pd.DataFrame) -> list[Floats]:
    """Return the maximum-likelihood distribution of each cluster from a release's estimates.

    Parameters
    ----------
    protocol : Protocol
    estimates : DataFrame
        As `deniable.release.estimate` returns it.

    Raises
    ------
    DeniableError
        If the estimates are not those of the protocol's clusters.
    """
    distributions = []
    for cluster in protocol.clusters:
        name, cells = " x ".join(cluster), protocol.domain.project(cluster).size
        found = estimates.loc[estimates["attributes"] == name, "maximum_likelihood"].to_numpy(float)
        if found.size != cells:
            raise DeniableError(
                f"the estimates have {found.size} rows for {name}, which has {cells} cells; "
                "estimate again from the protected file"
            )
        distributions.append(found)
    return distributions


def adjust_reports(protocol: Protocol, reports: Microdata, estimates: pd.DataFrame) -> Adjustment:
    """Weight the randomized records so that every cluster has its estimated distribution.

    The targets are the maximum-likelihood estimates: attribute by attribute for RR-Independent,
    cluster by cluster for RR-Clusters. RR-Joint has one cluster, so its weights are that estimate.

    Warns
    -----
    RuntimeWarning
        As `deniable.adjustment.adjust` does.
    """
    return adjust(
        [_cells(reports, cluster) for cluster in protocol.clusters],
        estimated_distributions(protocol, estimates),
        domains=[protocol.domain.project(cluster) for cluster in protocol.clusters],
    )


def describe_adjustment(
    release: Mapping[str, Any], protocol: Protocol, adjustment: Adjustment
) -> dict[str, Any]:
    """Return what the weights say of themselves.

    Parameters
    ----------
    release : mapping
        What the release says of itself, as `deniable.release.describe` returns it.
    protocol : Protocol
    adjustment : Adjustment

    Returns
    -------
    dict
        Among others ``effective_records``, 1 / (sum of squared weights): as many equally weighted
        records would say as much (Kish).
    """
    weights = adjustment.weights
    return {
        **{key: release[key] for key in ("release", "notice", "rehearsal", "data_source")},
        "method": "RR-Adjustment, Algorithm 2 of Multi-Dimensional Randomized Response",
        "targets": "maximum_likelihood in estimates.csv, for each of the clusters",
        "clusters": [list(cluster) for cluster in protocol.clusters],
        "records": weights.size,
        "records_of_weight_0": int(np.sum(weights == 0)),
        "effective_records": float(1 / np.sum(weights**2)),
        "sweeps": adjustment.sweeps,
        "gap": adjustment.gap,
        "tolerance": TOLERANCE,
        "left_out": [
            _left_out(protocol, each.attribute, each.category, each.target)
            for each in adjustment.unreachable
        ],
    }


def _left_out(protocol: Protocol, cluster: int, cell: int, target: float) -> dict[str, Any]:
    domain = protocol.domain.project(protocol.clusters[cluster])
    codes = np.unravel_index(cell, domain.shape)
    categories = [a.categories[code] for a, code in zip(domain, codes, strict=True)]
    return {"attributes": list(domain.names), "categories": categories, "target": target}


def synthesize_release(
    basis: Basis,
    protocol: Protocol,
    protected: Microdata,
    estimates: pd.DataFrame,
    weights: npt.ArrayLike,
    source: RandomSource,
) -> Microdata:
    """Return as many synthetic records as the protected file has, marked as synthetic.

    Parameters
    ----------
    basis : "clusters" or "adjustment"
        What to repeat: the estimated cells of each cluster, or the weighted reports.
    protocol : Protocol
    protected : Microdata
    estimates : DataFrame
        As `deniable.release.estimate` returns it.
    weights : array, shape (len(protected),)
        As `adjust_reports` returns them.
    source : RandomSource
    """
    if basis == "adjustment":
        made = repeat_records(protected, weights, len(protected), source)
    else:
        distributions = estimated_distributions(protocol, estimates)
        made = synthesize(
            protected.domain, protocol.clusters, distributions, len(protected), source
        )
    marks = dict(protected.marks) | {"synthetic": SYNTHETIC_MARKS[basis]}
    return Microdata(made.domain, made.columns, marks)


def distances_from_truth(
    protocol: Protocol,
    data: Microdata,
    protected: Microdata,
    synthetic: Microdata,
    weights: npt.NDArray[np.float64],
) -> pd.DataFrame:
    """Say how far a rehearsal's files are from the true records, which a rehearsal knows.

    Parameters
    ----------
    protocol : Protocol
    data : Microdata
        The true records.
    protected, synthetic : Microdata
    weights : array, shape (len(protected),)
        As `adjust_reports` returns them.

    Returns
    -------
    DataFrame
        A row for each attribute and each pair of attributes: ``attributes`` (joined by " x "),
        ``one_cluster`` (whether the protocol randomizes them together), and the total variation
        distance between the true table and that of the protected file as it is (``protected``), of
        the synthetic file (``synthetic``) and of the weighted reports (``adjusted``).
    """
    names = protocol.domain.names
    rows = []
    for attributes in [*combinations(names, 1), *combinations(names, 2)]:
        true = _shares(data, attributes)
        found = {
            "protected": _shares(protected, attributes),
            "synthetic": _shares(synthetic, attributes),
            "adjusted": _shares(protected, attributes, weights),
        }
        rows.append(
            {
                "attributes": " x ".join(attributes),
                "one_cluster": any(set(attributes) <= set(c) for c in protocol.clusters),
            }
            | {file: float(np.abs(shares - true).sum() / 2) for file, shares in found.items()}
        )
    return pd.DataFrame(rows)


def _cells(data: Microdata, names: tuple[str, ...]) -> npt.NDArray[np.int64]:
    return data.domain.project(names).ravel([data.column(name) for name in names])


def _shares(data: Microdata, names: tuple[str, ...], weights: Floats | None = None) -> Floats:
    cells = data.domain.project(names).size
    table = np.bincount(_cells(data, names), weights=weights, minlength=cells)
    return np.asarray(table / table.sum())
