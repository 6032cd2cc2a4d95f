"""The audit of [multirr], 4.1 to 4.3: exact and claimed epsilons of assessing dependences.

Section 4.3 waives composition; `deniable.randomized_response.waiver` proves that it must not.
"""

import math
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import combinations
from typing import Any

import pandas as pd

from deniable.privacy import Finding
from deniable.randomized_response.audit import (
    Setting,
    audit_cluster,
    audit_row,
    audit_table,
    summed,
)
from deniable.randomized_response.dependence import Clustering
from deniable.randomized_response.readings import (
    CLUSTER_MECHANISMS,
    READINGS,
    ClusterMechanism,
    Reading,
)
from deniable.records import Domain

SUMMED = "all attributes, pairs composed"
WAIVED = "all attributes, as if released once"
ASSESSMENTS = ("none", "4.1", "4.2", "4.3 waived", "4.3 summed")


@dataclass(frozen=True)
class _Changes:
    """Epsilons of changes of a record, for one setting and mechanism of clusters."""

    domain: Domain
    setting: Setting
    mechanism: ClusterMechanism

    def of(self, names: Sequence[str], changed: str | None = None) -> Finding:
        """Audit a cluster, for a change of all its attributes or of one."""
        position = None if changed is None else names.index(changed)
        sizes = self.domain.project(names).shape
        return audit_cluster(sizes, self.setting.p, self.setting.reading, self.mechanism, position)

    def record(self, clusters: Sequence[Sequence[str]]) -> Finding:
        """Audit several clusters that are randomized independently, for a change of all."""
        return summed(self.of(cluster) for cluster in clusters)

    def attribute(self, clusters: Sequence[Sequence[str]], name: str) -> Finding:
        """Audit the clusters with an attribute, for a change of it."""
        return summed(self.of(each, name) for each in clusters if name in each)

    @property
    def alone(self) -> Finding:
        """The audit of all attributes, each randomized once."""
        return self.record(list(combinations(self.domain.names, 1)))

    @property
    def pairs(self) -> list[tuple[str, ...]]:
        """All pairs of attributes."""
        return list(combinations(self.domain.names, 2))


def audit_assessments(
    domain: Domain, probabilities: Sequence[float], readings: Sequence[Reading] = READINGS
) -> pd.DataFrame:
    """Audit the claims of sections 4.1 and 4.3, in a table like the one of `audit_multirr`.

    For 4.1 the sum over attributes; 4.2 claims no epsilon. For 4.3, under both mechanisms, the sum
    over pairs by sequential composition; and the waiver, for a record and each attribute. Settings
    are each p of the `probabilities`, in (0, 1), and each of the `readings` of the matrix, for
    records of the `domain`.
    """
    settings = [Setting(reading, repr(p)) for reading in readings for p in probabilities]
    return audit_table(row for setting in settings for row in _assessment_rows(domain, setting))


def _assessment_rows(domain: Domain, setting: Setting) -> Iterator[dict[str, Any]]:
    once = _Changes(domain, setting, "kronecker").alone
    yield audit_row("assessment attributes", setting, "record", "all attributes", once)
    for mechanism in CLUSTER_MECHANISMS:
        changes = _Changes(domain, setting, mechanism)
        name, summed = f"assessment pairs_{mechanism}", changes.record(changes.pairs)
        yield audit_row(name, setting, "record", SUMMED, summed)
        waived = Finding(once.claimed, summed.exact, summed.shipped)
        yield audit_row(name, setting, "record", WAIVED, waived)
        for attribute in domain.names:
            told = changes.attribute(changes.pairs, attribute)
            waived = Finding(changes.of((attribute,)).claimed, told.exact, told.shipped)
            yield audit_row(name, setting, "attribute", f"{attribute}, as if released once", waived)


def risk_table(
    domain: Domain,
    clusters: Mapping[int, Clustering],
    probabilities: Sequence[float],
    readings: Sequence[Reading] = READINGS,
) -> pd.DataFrame:
    """Compare the "equal risk" of [multirr], 6.3.2, with the exact epsilons.

    Dependences are assessed with the matrices of the release (the text names no others), pairs by
    the mechanism of the clusters. Assessment and release compose sequentially (section 4), with
    equality: two records that differ in all attributes are the worst pair for both.

    The release has the `clusters` of each T_v, for records of the `domain`, at each p of the
    `probabilities`, in (0, 1), and each of the `readings` of the matrix.

    The columns are ``matrix``, ``p``, ``mechanism``, ``t_v``; ``assessment`` (none, 4.1, 4.2, 4.3
    waived: the claim, 4.3 summed: exact); ``release_epsilon``, ``assessment_epsilon`` and their sum
    ``total_epsilon``, for a whole record; ``attribute_epsilon``, the release's largest for a change
    of one ``attribute``, and ``attribute_ratio``, to the same under RR-Independent. Flags for at
    most the epsilon of RR-Independent: ``equal_risk_record`` and ``equal_risk_attribute`` (every
    attribute's) of the release, ``equal_risk_with_assessment`` of the total for a record.
    """
    rows: list[dict[str, Any]] = []
    single: Clustering = tuple(combinations(domain.names, 1))
    for setting in (Setting(reading, repr(p)) for reading in readings for p in probabilities):
        alone = _Changes(domain, setting, "kronecker")
        rows += _risks("rr_independent", None, single, alone, ("none",))
        for t_v, formed in clusters.items():
            for mechanism in CLUSTER_MECHANISMS:
                changes = _Changes(domain, setting, mechanism)
                rows += _risks(mechanism, t_v, formed, changes, ASSESSMENTS)
    return audit_table(rows)


def _risks(
    mechanism: str, t_v: int | None, clusters: Clustering, changes: _Changes, ways: Sequence[str]
) -> Iterator[dict[str, Any]]:
    once = changes.alone
    release = changes.record(clusters).exact
    costs = {"none": 0.0, "4.1": once.exact, "4.2": math.inf, "4.3 waived": once.claimed}
    attributes = [_attribute_risk(changes, clusters, name) for name in changes.domain.names]
    largest = max(attributes, key=lambda risk: (risk[1].exact, risk[2]))
    for assessment in ways:
        summed = assessment == "4.3 summed"
        cost = changes.record(changes.pairs).exact if summed else costs[assessment]
        yield {
            "matrix": changes.setting.reading,
            "p": float(changes.setting.p),
            "mechanism": mechanism,
            "t_v": t_v,
            "assessment": assessment,
            "release_epsilon": release,
            "assessment_epsilon": cost,
            "total_epsilon": release + cost,
            "attribute_epsilon": largest[1].exact,
            "attribute": largest[0],
            "attribute_ratio": largest[2],
            "equal_risk_record": _not_above(release, once.exact),
            "equal_risk_attribute": all(_not_above(f.exact, f.claimed) for _, f, _ in attributes),
            "equal_risk_with_assessment": _not_above(release + cost, once.exact),
        }


def _attribute_risk(
    changes: _Changes, clusters: Clustering, name: str
) -> tuple[str, Finding, float]:
    """Return an attribute's epsilon in its cluster, and the ratio to its epsilon alone."""
    found, alone = changes.attribute(clusters, name), changes.of((name,)).exact
    if alone == 0:
        return name, found, math.inf if found.exact > 0 else 1.0
    return name, found, found.exact / alone


def _not_above(epsilon: float, claim: float) -> bool:
    return Finding(claim, epsilon, epsilon).holds
