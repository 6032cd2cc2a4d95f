"""The release lane, from true records to a protected file and the channels it went through."""

import math
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
    AnyRelease,
    CategoricalRelease,
    ClustersRelease,
    IndependentRelease,
    JointRelease,
    PramRelease,
)
from deniable.release.categorical.pram import design_pram, estimators, pram_privacy
from deniable.sampling import RandomSource, SystemSource, generator_for

REHEARSAL_MARK = "REHEARSAL: drawn from a seed that is known, so it protects nobody; do not release"
PRODUCTION_MARK = "drawn from the operating system's cryptographic generator"


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
        privacy, channels = _privacy(release, protocol), protocol.protocols[()].to_json()
    return {
        "release": release.name,
        "notice": REHEARSAL_MARK if release.rehearsal else PRODUCTION_MARK,
        "rehearsal": release.rehearsal,
        "data_source": data_source,
        "parameters": release.model_dump(),
        "privacy": privacy,
        "convention": "P[u, v] = Pr(report v | true u); cells in row-major order of the attributes",
        **channels,
    }


def _privacy(release: CategoricalRelease, protocol: StratifiedProtocol) -> dict[str, Any]:
    return {
        "unit": "the whole record of one respondent",
        "epsilon": protocol.epsilon,
        "epsilon_by_changed_attribute": protocol.epsilon_by_changed_attribute(),
        "not_counted": (
            "clusters were formed from dependences of the true data; the epsilon of "
            "assessing them is not in these figures"
            if isinstance(release, ClustersRelease)
            else "nothing"
        ),
    }


def source_for(release: AnyRelease, root_seed: int, step: str | None = None) -> RandomSource:
    """Return the release's source of chance: seeded for a rehearsal only.

    Each step after the protection itself has a stream of its own.
    """
    if release.rehearsal:
        key = {"release": release.name} | ({"step": step} if step else {})
        return generator_for(root_seed, key)
    return SystemSource()


def protect(
    release: CategoricalRelease, protocol: StratifiedProtocol, data: Microdata, source: RandomSource
) -> Microdata:
    """Randomize every record of the release's attributes and mark the result."""
    reports = protocol.randomize(data.project(protocol.domain.names), source).reports
    notice = REHEARSAL_MARK if release.rehearsal else PRODUCTION_MARK
    # Not the digest of the true file: with a guess at hand it would confirm the guess.
    marks = {
        "data_source": data.marks.get("data_source", ""),
        "release": release.name,
        "notice": notice,
    }
    return Microdata(reports.domain, reports.columns, marks)
