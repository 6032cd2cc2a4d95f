"""How the clusters of RR-Clusters come about, and what it costs to find them ([multirr], 4).

Clusters that are formed from dependences of the true records tell of these without any bound. From
randomized answers (4.1, 4.3) they tell no more than the answers do. Who answers twice, for the
clusters and for the file, spends the sum of both epsilons; of a publicly drawn half of the
respondents that answers for the clusters alone nobody answers twice, so that a person spends the
larger of the two. Who is in which half rests on nothing but the draw and the record's number.

What the file's part costs a whole record is the same for any clusters, so that both epsilons are
fixed beforehand, although the second protocol follows from the first one's answers. That of one
attribute in a ``joint`` cluster is stated for the clusters that formed.
"""

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from hashlib import sha256
from typing import Any

import numpy as np
import pandas as pd

from deniable.arrays import Positions
from deniable.channels import Channel, channel_to_json
from deniable.errors import DeniableError
from deniable.randomized_response import (
    AssessmentProtocol,
    Clusters,
    Protocol,
    assessment_protocol,
    cluster_attributes,
    composed_epsilon,
    dependences,
)
from deniable.records import Domain, Microdata
from deniable.release import AssessedDependences, ClustersRelease
from deniable.sampling import KeyedDraws

HALVES = (
    "records are put in the order of the SHA-256 of the public draw, a colon and the record's "
    "number (from 1) in the true file; the first half, rounded down, answers for the dependences "
    "alone, the others for the released file alone"
)
WITHOUT_EPSILON = (
    "the clusters were formed from dependences of the true records, without any guarantee: no "
    "finite epsilon holds for which clusters there are"
)
COMPOSED = {
    "all": "the sum of both parts: every respondent answers for the dependences and for the file",
    "half": "the larger part: a publicly drawn half of the respondents answers for the dependences "
    "alone, the others for the file alone",
}
"""Of what a person's epsilon is made, by who answers for the dependences."""


@dataclass(frozen=True, eq=False)
class Formed:
    """Clusters of attributes, and the answers that they were formed from.

    Attributes
    ----------
    release : ClustersRelease
    clusters : Clusters
    records : int
        That answer for the released file.
    assessment : AssessmentProtocol, optional
        What answers about dependences went through; None: there were none, but the true records.
    measured : DataFrame, optional
        The dependences as assessed, columns as `deniable.randomized_response.dependences` has
        them. Those of the true records are not kept.
    draw : str, optional
        The public draw of the half that answers for the dependences.
    """

    release: ClustersRelease
    clusters: Clusters
    records: int
    assessment: AssessmentProtocol | None = None
    measured: pd.DataFrame | None = None
    draw: str | None = None

    def privacy(self, protocol: Protocol) -> dict[str, Any]:
        """Return what a record spends in all, on what, and what no figure counts.

        The `protocol` is what the released file goes through, by these clusters.
        """
        asked = self.release.dependences
        file = list(zip(protocol.clusters, protocol.channels, strict=True))
        if self.assessment is None or not isinstance(asked, AssessedDependences):
            said: dict[str, Any] = {"given": "the clusters", "not_counted": WITHOUT_EPSILON}
            return _epsilons(protocol.domain, [file]) | said
        both = [list(self.assessment.sent), file]
        apart = both if asked.respondents == "half" else [[*both[0], *both[1]]]
        named = zip(("dependences", "file"), both, strict=True)
        parts = {name: _epsilons(protocol.domain, [part]) for name, part in named}
        said = {"composed": COMPOSED[asked.respondents], "parts": parts, "not_counted": "nothing"}
        return _epsilons(protocol.domain, apart) | said

    def to_json(self) -> dict[str, Any]:
        """Describe how the clusters were formed in plain JSON values.

        Dependences that were assessed follow from the answers, so they may be known.
        """
        asked = self.release.dependences
        said = asked.model_dump()
        if self.assessment is None or self.measured is None:
            return said
        if self.draw is not None:
            said |= {"public_draw": self.draw, "halves": HALVES}
        channels = [
            {"attributes": list(names), "channel": channel_to_json(channel)}
            for names, channel in self.assessment.sent
        ]
        return said | {"channels": channels, "assessed": self.measured.to_dict("records")}


def form_clusters(release: ClustersRelease, data: Microdata, draws: KeyedDraws) -> Formed:
    """Form the clusters of a `release` by Algorithm 1, of dependences taken as it says.

    `data` are the true records, of the release's attributes. Where respondents answer, their
    answers are drawn by `draws`, and the half of them.

    Raises `DeniableError` if the answers have no finite epsilon, or there are too few records to
    halve.
    """
    asked, domain = release.dependences, data.domain
    if not isinstance(asked, AssessedDependences):
        measured = dependences(data, release.ordinal)
        clusters = cluster_attributes(domain, measured, release.t_v, release.t_d)
        return Formed(release, clusters, len(data))
    assessment = assessment_protocol(asked.by, domain, asked.p, release.matrix)
    if math.isinf(assessment.epsilon):
        raise DeniableError(
            f"release {release.name!r}: with p {asked.p:.17g} the answers about dependences tell "
            "some values apart for certain (their epsilon is infinite); choose a smaller p"
        )
    draw, first, others = None, None, 0
    if asked.respondents == "half":
        public = draws.stream("public draw")
        draw = "".join(f"{word:016x}" for word in public.integers(0, 2**63 - 1, 2).tolist())
        first, second = halves(len(data), draw)
        data, others = part_of(data, first), len(second)
    if not len(data):
        raise DeniableError(f"release {release.name!r}: one record alone has no half; add records")
    measured = assessment.assess(data, draws, release.ordinal, first)
    clusters = cluster_attributes(domain, measured, release.t_v, release.t_d)
    return Formed(release, clusters, others or len(data), assessment, measured, draw)


def halves(records: int, draw: str) -> tuple[Positions, Positions]:
    """Return the positions of the records that answer for the dependences, and of the others.

    As `HALVES` says, of so many `records` by the public `draw`. Both ascend.
    """
    hashes = [sha256(f"{draw}:{number}".encode()).digest() for number in range(1, records + 1)]
    order = np.array(sorted(range(records), key=hashes.__getitem__), dtype=np.intp)
    return np.sort(order[: records // 2]), np.sort(order[records // 2 :])


def answering(description: Mapping[str, Any], records: int) -> Positions | None:
    """Return which of so many true `records` answer for the released file of that `description`.

    None are all of them; else a half answers for the dependences.
    """
    draw = description.get("dependences", {}).get("public_draw")
    return None if draw is None else halves(records, draw)[1]


def part_of(data: Microdata, rows: Positions | None) -> Microdata:
    """Return the records of the `data` at `rows`, with the marks of all; None are all of them."""
    return data if rows is None else data.take(rows)


def _epsilons(
    domain: Domain, apart: Sequence[Sequence[tuple[Sequence[str], Channel]]]
) -> dict[str, Any]:
    """Return the epsilons of a person who sends one of several groups of reports: the largest."""

    def largest(changed: str | None) -> float:
        return max(composed_epsilon(domain, reports, changed) for reports in apart)

    by_attribute = {name: largest(name) for name in domain.names}
    return {"epsilon": largest(None), "epsilon_by_changed_attribute": by_attribute}
