"""The release lane: from true records to a protected file, its channels and its estimates."""

import math
from collections.abc import Iterator, Sequence
from typing import Any

import numpy as np
import pandas as pd
from scipy import special

from deniable.channel import Channel, ProductChannel, Target
from deniable.channel.base import Counts, Floats
from deniable.clustering import cluster_attributes
from deniable.config import ClustersRelease, IndependentRelease, JointRelease
from deniable.dependence import dependences
from deniable.domain import Domain
from deniable.errors import DeniableError
from deniable.microdata import Microdata
from deniable.multirr import (
    Protocol,
    refuse_too_large,
    rr_clusters,
    rr_independent,
    rr_joint,
)
from deniable.randomness import RandomSource, SystemSource, generator_for
from deniable.simplex import Likelihood, maximum_likelihood

AnyRelease = IndependentRelease | ClustersRelease | JointRelease

REHEARSAL_MARK = "REHEARSAL: drawn from a seed that is known, so it protects nobody; do not release"
PRODUCTION_MARK = "drawn from the operating system's cryptographic generator"
LIKELIHOOD_TOLERANCE = 1e-3  # nats; far below what any test between distributions could tell
TARGETS: tuple[Target, ...] = ("file", "population")


def design(release: AnyRelease, data: Microdata) -> Protocol:
    """Return the protocol of a release: its clusters and their channels.

    Raises
    ------
    DeniableError
        If a cluster's channel is singular, so that its file could not be estimated from; if its
        epsilon is infinite; if it is one matrix over too many cells for the records (bound (7)).
    """
    chosen = data.project(release.attributes) if release.attributes else data
    domain = chosen.domain
    if isinstance(release, IndependentRelease):
        protocol = rr_independent(domain, release.p, release.matrix)
    elif isinstance(release, JointRelease):
        protocol = rr_joint(domain, len(data), release.p, release.matrix)
    else:
        strengths = dependences(chosen, release.ordinal)
        clusters = cluster_attributes(domain, strengths, release.t_v, release.t_d)
        protocol = rr_clusters(
            domain, clusters, release.p, release.matrix, release.cluster_mechanism
        )
    for cluster, channel in zip(protocol.clusters, protocol.channels, strict=True):
        if channel.size > 1 and math.isinf(channel.epsilon):
            raise DeniableError(
                f"release {release.name!r}: with p {release.p:.17g} the channel of "
                f"{' x '.join(cluster)} never changes a record, or tells some values apart for "
                "certain (its epsilon is infinite); choose a smaller p"
            )
        if isinstance(release, ClustersRelease) and not isinstance(channel, ProductChannel):
            refuse_too_large(domain.project(cluster), len(data))
        if channel.singular:
            raise DeniableError(
                f"release {release.name!r}: with matrix {release.matrix!r} and p {release.p:g} "
                f"the channel of {' x '.join(cluster)} is singular, so nothing could be estimated "
                "from the file; choose another p or matrix"
            )
    return protocol


def describe(release: AnyRelease, protocol: Protocol, data_source: str) -> dict[str, Any]:
    """Return what a release says of itself: data, parameters, privacy, channels."""
    return {
        "release": release.name,
        "notice": REHEARSAL_MARK if release.rehearsal else PRODUCTION_MARK,
        "rehearsal": release.rehearsal,
        "data_source": data_source,
        "parameters": release.model_dump(),
        "privacy": {
            "unit": "the whole record of one respondent",
            "epsilon": protocol.epsilon,
            "epsilon_by_changed_attribute": dict(_attribute_epsilons(protocol)),
            "not_counted": (
                "clusters were formed from dependences of the true data; the epsilon of "
                "assessing them is not in these figures"
                if isinstance(release, ClustersRelease)
                else "nothing"
            ),
        },
        "convention": "P[u, v] = Pr(report v | true u); cells in row-major order of the attributes",
        **protocol.to_json(),
    }


def _attribute_epsilons(protocol: Protocol) -> Iterator[tuple[str, float]]:
    for cluster, channel in zip(protocol.clusters, protocol.channels, strict=True):
        for position, name in enumerate(cluster):
            if isinstance(channel, ProductChannel):
                yield name, channel.factors[position].epsilon
            else:
                # In one matrix over the cluster any two cells are told apart equally well.
                yield name, channel.epsilon


def source_for(release: AnyRelease, root_seed: int, step: str | None = None) -> RandomSource:
    """Return the release's source of chance: seeded for a rehearsal only.

    Each step after the protection itself has a stream of its own.
    """
    if release.rehearsal:
        key = {"release": release.name} | ({"step": step} if step else {})
        return generator_for(root_seed, key)
    return SystemSource()


def protect(
    release: AnyRelease, protocol: Protocol, data: Microdata, source: RandomSource
) -> Microdata:
    """Randomize every record of the release's attributes and mark the result."""
    reports = protocol.randomize(data.project(protocol.domain.names), source)
    notice = REHEARSAL_MARK if release.rehearsal else PRODUCTION_MARK
    # Not the digest of the true file: with a guess at hand it would confirm the guess.
    marks = {
        "data_source": data.marks.get("data_source", ""),
        "release": release.name,
        "notice": notice,
    }
    return Microdata(reports.domain, reports.columns, marks)


def estimate(protocol: Protocol, reports: Microdata, confidence: float = 0.95) -> pd.DataFrame:
    """Estimate every attribute's margin and every cluster's joint distribution.

    Parameters
    ----------
    protocol : Protocol
    reports : Microdata
        The protected file.
    confidence : float
        Of each interval on its own (normal approximation).

    Returns
    -------
    DataFrame
        A row a category or cell: ``attributes`` and ``categories`` (joined by " x "), ``cluster``,
        ``reported`` (share of reports), ``estimate`` (unbiased: may leave [0, 1]), for the target
        "file" (these very records) and for "population" (what they were drawn from)
        ``standard_error_*``, ``ci_low_*``, ``ci_high_*`` (empty where the variance is estimated
        below zero), ``maximum_likelihood`` (a proper distribution) and ``likelihood_gap`` (bound
        on what its log-likelihood lacks of the maximum, in nats).
    """
    parts = []
    for cluster, channel, counts in zip(
        protocol.clusters, protocol.channels, protocol.reported_counts(reports), strict=True
    ):
        domain = protocol.domain.project(cluster)
        likely = maximum_likelihood(counts, channel, tolerance=LIKELIHOOD_TOLERANCE)
        for names in _margins(cluster):
            parts.append(_estimate_margin(domain, names, channel, counts, likely, confidence))
    return pd.concat(parts, ignore_index=True)


def _margins(cluster: Sequence[str]) -> list[tuple[str, ...]]:
    single: list[tuple[str, ...]] = [(name,) for name in cluster]
    return single if len(cluster) == 1 else [*single, tuple(cluster)]


def _estimate_margin(
    domain: Domain,
    names: tuple[str, ...],
    channel: Channel,
    counts: Counts,
    likely: Likelihood,
    confidence: float,
) -> pd.DataFrame:
    indicators = _margin_indicators(domain, names)
    estimated = indicators @ channel.estimate(counts)
    table = pd.DataFrame(
        {
            "attributes": " x ".join(names),
            "categories": _labels(domain.project(names)),
            "cluster": " x ".join(domain.names),
            "reported": indicators @ (counts / counts.sum()),
            "estimate": estimated,
        }
    )
    z = float(-special.ndtri((1 - confidence) / 2))
    for target in TARGETS:
        errors = channel.standard_errors(counts, target, indicators)
        table[f"standard_error_{target}"] = errors
        table[f"ci_low_{target}"] = estimated - z * errors
        table[f"ci_high_{target}"] = estimated + z * errors
    table["maximum_likelihood"] = indicators @ likely.proportions
    table["likelihood_gap"] = likely.gap
    return table


def _labels(domain: Domain) -> list[str]:
    return [
        " x ".join(a.categories[code] for a, code in zip(domain, codes, strict=True))
        for codes in np.ndindex(*domain.shape)
    ]


def _margin_indicators(domain: Domain, names: Sequence[str]) -> Floats:
    """Return the 0/1 matrix that sums the cells of `domain` into the margin over `names`."""
    codes = np.arange(domain.size)
    columns = np.unravel_index(codes, domain.shape)
    margin = domain.project(names)
    cells = np.ravel_multi_index([columns[domain.position(n)] for n in names], margin.shape)
    indicators = np.zeros((margin.size, domain.size))
    indicators[cells, codes] = 1.0
    return indicators


def check_against_truth(
    estimates: pd.DataFrame, data: Microdata, coverage: pd.DataFrame
) -> pd.DataFrame:
    """Set the estimates of a rehearsal beside the true proportions, which a rehearsal knows.

    Parameters
    ----------
    estimates : DataFrame
        As `estimate` returns it.
    data : Microdata
        The true records.
    coverage : DataFrame
        As `coverage_of_redraws` returns it.

    Returns
    -------
    DataFrame
        ``estimates`` with ``true``, ``covered`` (whether the interval for the file holds it),
        ``coverage`` and ``redraws``.
    """
    true = []
    for attributes in estimates["attributes"].unique():
        counts = data.counts(attributes.split(" x ")).reshape(-1)
        true.append(counts / counts.sum())
    table = estimates.copy()
    table["true"] = np.concatenate(true)
    table["covered"] = table["true"].between(table["ci_low_file"], table["ci_high_file"])
    return table.merge(coverage, on=["attributes", "categories"], validate="one_to_one")


def coverage_of_redraws(
    protocol: Protocol,
    data: Microdata,
    generator: np.random.Generator,
    redraws: int = 2000,
    confidence: float = 0.95,
) -> pd.DataFrame:
    """Draw the release again and again, as counts, and see how often each interval covers.

    One release says little of its intervals: its cells depend on each other, so they miss together.

    Returns
    -------
    DataFrame
        ``attributes``, ``categories``, ``coverage`` (share of redraws whose interval for the file
        holds the true proportion), ``redraws``.
    """
    z = float(-special.ndtri((1 - confidence) / 2))
    parts = []
    for cluster, channel in zip(protocol.clusters, protocol.channels, strict=True):
        domain = protocol.domain.project(cluster)
        true = data.counts(cluster).reshape(-1)
        reports = channel.randomize_counts(np.broadcast_to(true, (redraws, true.size)), generator)
        for names in _margins(cluster):
            indicators = _margin_indicators(domain, names)
            errors = channel.standard_errors(reports, "file", indicators)
            misses = channel.estimate(reports) @ indicators.T - indicators @ (true / true.sum())
            # Exact estimates (nothing was replaced) have no error and cover, up to rounding.
            covered = np.abs(misses) <= z * errors + 1e-12
            parts.append(
                pd.DataFrame(
                    {
                        "attributes": " x ".join(names),
                        "categories": _labels(domain.project(names)),
                        "coverage": covered.mean(axis=0),
                        "redraws": redraws,
                    }
                )
            )
    return pd.concat(parts, ignore_index=True)
