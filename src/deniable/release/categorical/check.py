"""How a rehearsal of a release of categories fares against the truth, which a rehearsal knows."""

from collections.abc import Mapping
from dataclasses import replace
from itertools import combinations
from typing import Any

import numpy as np
import numpy.typing as npt
import pandas as pd
from scipy import special

from deniable.arrays import Floats
from deniable.estimation import Part, combined
from deniable.pram import StratifiedProtocol
from deniable.records import Microdata
from deniable.release import CategoricalRelease, marked
from deniable.release.categorical.estimates import StratumReports, groups, margins, reports_by_block
from deniable.release.categorical.synthesis import SYNTHETIC_MARKS
from deniable.sampling import generator_for

ROUNDING = 1e-8  # of numbers written with 9 digits
KEYS = ["attributes", "categories", "stratum"]


def checked(
    release: CategoricalRelease, made: Mapping[str, Any], data: Microdata, seed: int
) -> dict[str, pd.DataFrame]:
    """Return a rehearsal's estimates, and what is made from them, beside the truth.

    Parameters
    ----------
    release : CategoricalRelease
    made : mapping
        What the rehearsal left: ``channels``, ``estimates``, ``protected``, ``synthetic``,
        ``adjusted_weights``.
    data : Microdata
        The true records.
    seed : int
        Of the redraws.
    """
    protocol = StratifiedProtocol.from_json(made["channels"])
    generator = generator_for(seed, {"release": release.name, "check": "redraws"})
    coverage = coverage_of_redraws(protocol, data, generator)
    weights = made["adjusted_weights"]["weight"].to_numpy()
    distances = distances_from_truth(protocol, data, made["protected"], made["synthetic"], weights)
    bases = {mark: basis for basis, mark in SYNTHETIC_MARKS.items()}
    distances["synthetic_from"] = bases[made["synthetic"].marks["synthetic"]]
    return {
        "check": check_against_truth(made["estimates"], coverage),
        "synthetic_check": marked(distances, release, data),
    }


def check_against_truth(estimates: pd.DataFrame, coverage: pd.DataFrame) -> pd.DataFrame:
    """Set the estimates of a rehearsal beside the true proportions, which a rehearsal knows.

    Parameters
    ----------
    estimates : DataFrame
        As `estimate` returns it.
    coverage : DataFrame
        As `coverage_of_redraws` returns it.

    Returns
    -------
    DataFrame
        ``estimates`` with ``true``, ``coverage``, ``redraws``, and ``covered``: whether the
        interval for the file holds the truth, empty without an estimate. Where the matrices are
        invariant, with ``reported_covered`` and ``reported_coverage``, the same for the reports'
        own shares.
    """
    table = estimates.merge(coverage, on=KEYS, validate="one_to_one", how="left")
    for prefix in ("", "reported_"):
        if f"{prefix}coverage" in table:
            low = table[f"{prefix}ci_low_file"] - ROUNDING
            high = table[f"{prefix}ci_high_file"] + ROUNDING
            covered = table["true"].between(low, high)
            unknown = table[f"{prefix}coverage"].isna()  # without an estimate nothing can cover
            table[f"{prefix}covered"] = (
                covered.astype("boolean").mask(unknown) if unknown.any() else covered
            )
    return table


def coverage_of_redraws(
    protocol: StratifiedProtocol,
    data: Microdata,
    generator: np.random.Generator,
    redraws: int = 2000,
    confidence: float = 0.95,
) -> pd.DataFrame:
    """Draw the release again and again, as counts, and see how often each interval covers.

    One release says little of its intervals: its cells depend on each other, so they miss together.

    Parameters
    ----------
    protocol : StratifiedProtocol
        Its matrices stay as they are, as they do given the records.
    data : Microdata
        The true records.

    Returns
    -------
    DataFrame
        ``attributes``, ``categories``, ``stratum``, ``true`` (proportion), ``coverage`` (share of
        redraws whose interval for the file holds it), ``redraws``; with ``reported_coverage`` where
        the matrices are invariant.
    """
    z = float(-special.ndtri((1 - confidence) / 2))
    tables = []
    for block, truth in reports_by_block(protocol, data):
        drawn = [_redrawn(each, generator, redraws) for each in truth]
        for about, indicators in margins(protocol.domain.project(block)):
            for name, chosen in groups(truth):
                counts = sum(truth[i].counts for i in chosen)
                true = indicators @ counts / np.sum(counts)
                parts = [drawn[i].parts(indicators, invariant=protocol.invariant) for i in chosen]
                unbiased = combined([part for part, _ in parts])
                coverage = {"coverage": _coverage(unbiased, true, z)}
                if own := [part for _, part in parts if part is not None]:
                    coverage["reported_coverage"] = _coverage(combined(own), true, z)
                columns = about | {"stratum": name, "true": true} | coverage
                tables.append(pd.DataFrame(columns | {"redraws": redraws}))
    return pd.concat(tables, ignore_index=True)


def _redrawn(true: StratumReports, generator: np.random.Generator, redraws: int) -> StratumReports:
    tables = np.broadcast_to(true.counts, (redraws, true.counts.size))
    return replace(true, counts=true.channel.randomize_counts(tables, generator))


def _coverage(part: Part, true: Floats, z: float) -> Floats:
    # Exact estimates (nothing was replaced) have no error and cover, up to rounding.
    covered = np.abs(part.values - true) <= z * part.standard_errors("file") + 1e-12
    rates = np.asarray(covered.mean(axis=0))
    return np.where(np.isnan(part.values).all(axis=0), np.nan, rates)


def distances_from_truth(
    protocol: StratifiedProtocol,
    data: Microdata,
    protected: Microdata,
    synthetic: Microdata,
    weights: npt.NDArray[np.float64],
) -> pd.DataFrame:
    """Say how far a rehearsal's files are from the true records, which a rehearsal knows.

    Parameters
    ----------
    protocol : StratifiedProtocol
    data : Microdata
        The true records.
    protected, synthetic : Microdata
    weights : array, shape (len(protected),)
        As `adjust_reports` returns them.

    Returns
    -------
    DataFrame
        A row for each attribute and each pair of attributes: ``attributes`` (joined by " x "),
        ``one_cluster`` (whether their joint distribution is estimated: all but stratum attributes
        are randomized together), and the total variation distance between the true table and that
        of the protected file as it is (``protected``), of the synthetic file (``synthetic``) and of
        the weighted reports (``adjusted``).
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
                "one_cluster": any(
                    set(attributes) - set(protocol.strata) <= set(block)
                    for block in protocol.blocks
                ),
            }
            | {file: float(np.abs(shares - true).sum() / 2) for file, shares in found.items()}
        )
    return pd.DataFrame(rows)


def _shares(data: Microdata, names: tuple[str, ...], weights: Floats | None = None) -> Floats:
    own = data.project(names)
    table = np.bincount(own.domain.ravel(own.columns), weights=weights, minlength=own.domain.size)
    return np.asarray(table / table.sum())
