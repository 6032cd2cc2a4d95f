"""What is made from a protected file after its release: weights, and synthetic records.

Everything here starts from the protected file and its channels, never from the true records, so it
costs no privacy ([multirr], section 5).
"""

import warnings
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any, Literal

import numpy as np
import numpy.typing as npt
import pandas as pd

from deniable.arrays import Floats, Positions
from deniable.errors import DeniableError
from deniable.pram import StratifiedProtocol, Stratum, label
from deniable.randomized_response import TOLERANCE, Adjustment, adjust, repeat_records, synthesize
from deniable.records import Microdata
from deniable.sampling import RandomSource

Basis = Literal["clusters", "adjustment"]

SYNTHETIC_MARKS: Mapping[Basis, str] = {
    "clusters": "SYNTHETIC: the cells estimated for each cluster of attributes, repeated, and the "
    "clusters matched at random; no record is anybody's answer",
    "adjustment": "SYNTHETIC: randomized records repeated as RR-Adjustment weights them; their "
    "number and order are nobody's",
}


@dataclass(frozen=True, eq=False)
class AdjustedReports:
    """Weights of a protected file, and how well they meet its estimates in each stratum.

    Attributes
    ----------
    weights : array, shape (records,)
        In the order of the records, not negative, sum 1; each stratum has its share.
    adjustments : mapping of stratum to Adjustment
        Of each stratum on its own.
    """

    weights: Floats
    adjustments: Mapping[Stratum, Adjustment]

    def table(self) -> pd.DataFrame:
        """Return a row a record: ``record``, its number from 1, and ``weight``."""
        records = np.arange(1, self.weights.size + 1)
        return pd.DataFrame({"record": records, "weight": self.weights})


def estimated_distributions(
    protocol: StratifiedProtocol, estimates: pd.DataFrame, stratum: Stratum = ()
) -> list[Floats]:
    """Return the estimated distribution of each cluster from a release's estimates.

    By maximum likelihood; through invariant matrices the reports' own shares, which are unbiased,
    a distribution already, and nearer to the truth.

    Parameters
    ----------
    protocol : StratifiedProtocol
    estimates : DataFrame
        As `deniable.release.categorical.estimates.estimate` returns it.
    stratum : tuple of categories
        By default of the whole file.

    Raises
    ------
    DeniableError
        If the estimates are not those of the protocol's clusters.
    """
    distributions = []
    own = estimates[estimates["stratum"] == label(stratum)]
    column = "reported" if protocol.invariant else "maximum_likelihood"
    for cluster in protocol.blocks:
        name, cells = " x ".join(cluster), protocol.domain.project(cluster).size
        found = own.loc[own["attributes"] == name, column].to_numpy(float)
        if found.size != cells:
            where = f" in the stratum {label(stratum)}" if stratum else ""
            raise DeniableError(
                f"the estimates have {found.size} rows for {name}{where}, which has {cells} cells; "
                "estimate again from the protected file"
            )
        distributions.append(found)
    return distributions


def adjust_reports(
    protocol: StratifiedProtocol, reports: Microdata, estimates: pd.DataFrame
) -> AdjustedReports:
    """Weight the randomized records so that every cluster has its estimated distribution.

    The targets are the maximum-likelihood estimates: attribute by attribute for RR-Independent,
    cluster by cluster for RR-Clusters. RR-Joint has one cluster, so its weights are that estimate.
    Strata, which are reported as they are, are weighted one by one, each to its own estimates.
    Reports through invariant matrices meet their targets as they are: their weights are equal.

    Warns
    -----
    RuntimeWarning
        As `deniable.randomized_response.adjustment.adjust` does.
    """
    weights = np.empty(len(reports))
    adjustments = {}
    for stratum, rows, part in _strata(protocol, reports):
        with _named_warnings(stratum):
            adjusted = adjust(
                [_cells(part.project(cluster)) for cluster in protocol.blocks],
                estimated_distributions(protocol, estimates, stratum),
                domains=[protocol.domain.project(cluster) for cluster in protocol.blocks],
            )
        weights[rows] = adjusted.weights * (len(part) / len(reports))
        adjustments[stratum] = adjusted
    return AdjustedReports(weights, adjustments)


@contextmanager
def _named_warnings(stratum: Stratum) -> Iterator[None]:
    """Say of which stratum a warning is."""
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        yield
    for each in caught:
        where = f"stratum {label(stratum)}: " if stratum else ""
        warnings.warn(f"{where}{each.message}", each.category, stacklevel=4)


def _strata(
    protocol: StratifiedProtocol, data: Microdata
) -> Iterator[tuple[Stratum, Positions, Microdata]]:
    """Yield the records of each stratum, restricted to what is randomized, and their positions."""
    own = data.project(protocol.randomized.names)
    for stratum, rows in protocol.parts(data):
        part = Microdata(own.domain, tuple(column[rows] for column in own.columns), data.marks)
        yield stratum, rows, part


def describe_adjustment(
    release: Mapping[str, Any], protocol: StratifiedProtocol, adjusted: AdjustedReports
) -> dict[str, Any]:
    """Return what the weights say of themselves.

    Parameters
    ----------
    release : mapping
        What the release says of itself, as `deniable.release.categorical.design.describe` returns
        it.
    protocol : StratifiedProtocol
    adjusted : AdjustedReports

    Returns
    -------
    dict
        Among others ``effective_records``, 1 / (sum of squared weights): as many equally weighted
        records would say as much (Kish). ``sweeps`` and ``gap`` are the largest of any stratum.
    """
    weights, each = adjusted.weights, adjusted.adjustments
    return {
        **{key: release[key] for key in ("release", "notice", "rehearsal", "data_source")},
        "method": "RR-Adjustment, Algorithm 2 of Multi-Dimensional Randomized Response"
        + (", in each stratum on its own" if protocol.strata else ""),
        "targets": ("reported" if protocol.invariant else "maximum_likelihood")
        + " in estimates.csv, for each of the clusters"
        + (" in each stratum" if protocol.strata else ""),
        "clusters": [list(cluster) for cluster in protocol.blocks],
        "records": weights.size,
        "records_of_weight_0": int(np.sum(weights == 0)),
        "effective_records": float(1 / np.sum(weights**2)),
        "sweeps": max(adjustment.sweeps for adjustment in each.values()),
        "gap": max(adjustment.gap for adjustment in each.values()),
        "tolerance": TOLERANCE,
        "left_out": [
            _left_out(protocol, stratum, out.attribute, out.category, out.target)
            for stratum, adjustment in each.items()
            for out in adjustment.unreachable
        ],
    }


def _left_out(
    protocol: StratifiedProtocol, stratum: Stratum, cluster: int, cell: int, target: float
) -> dict[str, Any]:
    domain = protocol.domain.project(protocol.blocks[cluster])
    codes = np.unravel_index(cell, domain.shape)
    categories = [a.categories[code] for a, code in zip(domain, codes, strict=True)]
    where = {"stratum": dict(zip(protocol.strata, stratum, strict=True))} if stratum else {}
    return {
        "attributes": list(domain.names),
        "categories": categories,
        "target": target,
        **where,
    }


def synthesize_release(
    basis: Basis,
    protocol: StratifiedProtocol,
    protected: Microdata,
    estimates: pd.DataFrame,
    weights: npt.ArrayLike,
    source: RandomSource,
) -> Microdata:
    """Return as many synthetic records as the protected file has, marked as synthetic.

    Stratum attributes are public: record by record they are those of the protected file, and the
    others are made within the stratum.

    Parameters
    ----------
    basis : "clusters" or "adjustment"
        What to repeat: the estimated cells of each cluster, or the weighted reports.
    protocol : StratifiedProtocol
    protected : Microdata
    estimates : DataFrame
        As `deniable.release.categorical.estimates.estimate` returns it.
    weights : array, shape (len(protected),)
        As `adjust_reports` returns them.
    source : RandomSource
    """
    shares = np.asarray(weights, dtype=float)
    columns = {name: protected.column(name).copy() for name in protected.domain.names}
    for stratum, rows, part in _strata(protocol, protected):
        if basis == "adjustment":
            own = shares[rows] if shares.shape == (len(protected),) else shares
            scaled = own / own.sum() if stratum else own
            made = repeat_records(part, scaled, len(part), source)
        else:
            distributions = estimated_distributions(protocol, estimates, stratum)
            made = synthesize(part.domain, protocol.blocks, distributions, len(part), source)
        for name in part.domain.names:
            columns[name][rows] = made.column(name)
    marks = dict(protected.marks) | {"synthetic": SYNTHETIC_MARKS[basis]}
    return Microdata(protected.domain, tuple(columns.values()), marks)


def _cells(data: Microdata) -> npt.NDArray[np.int64]:
    return data.domain.ravel(data.columns)
