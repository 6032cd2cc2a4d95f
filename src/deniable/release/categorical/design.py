"""The release lane, from true records to a protected file and the channels it went through."""

import math
from collections.abc import Mapping
from typing import Any

from deniable.errors import DeniableError
from deniable.pram import StratifiedProtocol
from deniable.randomized_response import (
    Protocol,
    cluster_attributes,
    dependences,
    refuse_too_large,
    rr_clusters,
    rr_independent,
    rr_joint,
)
from deniable.records import Microdata
from deniable.release import (
    CONVENTION,
    CategoricalRelease,
    ClustersRelease,
    IndependentRelease,
    JointRelease,
    PramRelease,
    described,
    marks_for,
    source_for,
)
from deniable.release.categorical.pram import design_pram, estimators, pram_privacy
from deniable.sampling import RandomSource


def designed(release: CategoricalRelease, data: Microdata) -> dict[str, Any]:
    """Return what the design of a release leaves: what it says of itself."""
    return {"channels": describe(release, design(release, data), data.marks["data_source"])}


def protected(
    release: CategoricalRelease, made: Mapping[str, Any], data: Microdata, seed: int
) -> dict[str, Microdata]:
    """Return what the draw of a release leaves: its protected file, by its ``channels``."""
    protocol = StratifiedProtocol.from_json(made["channels"])
    return {"protected": protect(release, protocol, data, source_for(release, seed))}


def design(release: CategoricalRelease, data: Microdata) -> StratifiedProtocol:
    """Return the protocol of a release: its clusters and their channels, by stratum.

    Raises
    ------
    DeniableError
        If a cluster's channel is singular, so that its file could not be estimated from; if its
        epsilon is infinite; if it is one matrix over too many cells for the records (bound (7)).
    """
    chosen = data.project(release.attributes) if release.attributes else data
    if isinstance(release, PramRelease):
        return design_pram(release, chosen)
    return StratifiedProtocol.single(_randomized_response(release, chosen))


def _randomized_response(
    release: IndependentRelease | ClustersRelease | JointRelease, data: Microdata
) -> Protocol:
    domain = data.domain
    if isinstance(release, IndependentRelease):
        protocol = rr_independent(domain, release.p, release.matrix)
    elif isinstance(release, JointRelease):
        protocol = rr_joint(domain, len(data), release.p, release.matrix)
    else:
        strengths = dependences(data, release.ordinal)
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
        in_one = len(channel.shape) == 1  # one matrix over the cells of the cluster
        if isinstance(release, ClustersRelease) and in_one:
            refuse_too_large(domain.project(cluster), len(data))
        if channel.singular:
            raise DeniableError(
                f"release {release.name!r}: with matrix {release.matrix!r} and p {release.p:g} "
                f"the channel of {' x '.join(cluster)} is singular, so nothing could be estimated "
                "from the file; choose another p or matrix"
            )
    return protocol


def describe(
    release: CategoricalRelease, protocol: StratifiedProtocol, data_source: str
) -> dict[str, Any]:
    """Return what a release says of itself: data, parameters, privacy, channels."""
    if isinstance(release, PramRelease):
        privacy = pram_privacy(release, protocol)
        channels = {"estimates": estimators(release)} | protocol.to_json()
    else:
        formed = (
            "clusters were formed from dependences of the true data; the epsilon of assessing them "
            "is not in these figures"
        )
        privacy = {
            "unit": "the whole record of one respondent",
            "epsilon": protocol.epsilon,
            "epsilon_by_changed_attribute": protocol.epsilon_by_changed_attribute(),
            "not_counted": formed if isinstance(release, ClustersRelease) else "nothing",
        }
        channels = protocol.protocols[()].to_json()
    shown = {"privacy": privacy, "convention": CONVENTION}
    return described(release, data_source) | shown | channels


def protect(
    release: CategoricalRelease, protocol: StratifiedProtocol, data: Microdata, source: RandomSource
) -> Microdata:
    """Randomize every record of the release's attributes and mark the result."""
    reports = protocol.randomize(data.project(protocol.domain.names), source).reports
    return Microdata(reports.domain, reports.columns, marks_for(release, data))
