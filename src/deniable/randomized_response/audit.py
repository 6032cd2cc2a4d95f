"""The audit of [multirr]: claimed and exact epsilons of its methods and assessments.

Section 4.3 waives composition. `deniable.randomized_response.waiver` proves this wrong.
"""

import functools
import math
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from fractions import Fraction
from itertools import combinations, product
from typing import Any

import numpy as np
import pandas as pd

from deniable.channels import as_written
from deniable.errors import DeniableError, named_types
from deniable.privacy import (
    Finding,
    cells_differing_in_one_attribute,
    column_epsilon,
    constant_matrix,
    exact_epsilon,
)
from deniable.randomized_response.dependence import cluster_attributes
from deniable.randomized_response.protocols import cluster_channel, rr_odds
from deniable.randomized_response.readings import (
    CLUSTER_MECHANISMS,
    READINGS,
    Clustering,
    ClusterMechanism,
    Reading,
)
from deniable.records import Domain

ATTRIBUTE_IN_CLUSTER = "one attribute in its cluster"
SUMMED = "all attributes, pairs composed"
WAIVED = "all attributes, as if released once"
ASSESSMENTS = ("none", "4.1", "4.2", "4.3 waived", "4.3 summed")
MAX_AUDITED_MATRIX = 1000
Row = dict[str, Any]


@dataclass(frozen=True)
class Setting:
    """A probability `p`, as exact decimal text, and the interpretation of the matrix, `reading`."""

    reading: Reading
    p: str


def claimed_odds(sizes: Sequence[int], p: Fraction, reading: Reading) -> Fraction:
    """Return exp(sum of the claimed epsilons of attributes with `sizes` categories), exactly.

    `p` and `reading` are as in `rr_odds`.
    """
    ratios = [rr_odds(size, p, reading) for size in sizes]
    return math.prod((max(r, 1 / r) for r in ratios), start=Fraction(1))


@named_types
def audit_attribute(size: int, p: str, reading: Reading) -> Finding:
    """Return the claimed, exact and floating-point epsilon of an attribute's RR matrix (6.3.1).

    `size` and `reading` are as in `rr_channel`; `p` is exact decimal text.
    """
    return audit_cluster((size,), p, reading, "kronecker")


@functools.cache
@named_types
def audit_cluster(
    sizes: tuple[int, ...],
    p: str,
    reading: Reading,
    mechanism: ClusterMechanism,
    changed: int | None = None,
) -> Finding:
    """Return the epsilons of a cluster's matrix (6.3.2), if all attributes change or only one.

    The attributes have `sizes` categories. Two or more attributes have at most 1,000 cells. `p` and
    `reading` are as in `audit_attribute`, the `mechanism` as in
    `deniable.randomized_response.protocols.cluster_channel`. `changed` is the position of the only
    attribute that changes; by default all change. The claim for one attribute is its own epsilon,
    because of the "equal risk" of RR-Clusters and RR-Independent by attribute.
    """
    exact_p, cells = as_written(p), math.prod(sizes)
    if cells > MAX_AUDITED_MATRIX and len(sizes) > 1:
        raise DeniableError(
            f"a cluster has {cells} cells, and the audit in rational numbers takes at most "
            f"{MAX_AUDITED_MATRIX}; audit its attributes"
        )
    if mechanism == "joint" and len(sizes) > 1:
        matrix = constant_matrix(cells, claimed_odds(sizes, exact_p, reading))
    else:
        matrix = np.ones((1, 1), dtype=object)
        for size in sizes:
            matrix = np.kron(matrix, constant_matrix(size, rr_odds(size, exact_p, reading)))
    claimed_sizes = sizes if changed is None else [sizes[changed]]
    claimed = math.log(claimed_odds(claimed_sizes, exact_p, reading))
    shipped = cluster_channel(sizes, float(p), reading, mechanism).matrix()
    classes = None if changed is None else cells_differing_in_one_attribute(sizes, changed)
    return Finding(claimed, exact_epsilon(matrix, classes), column_epsilon(shipped, classes))


def audit_multirr(
    domain: Domain,
    dependences: pd.DataFrame,
    probabilities: Sequence[float],
    largest_cells: Sequence[int],
    least_dependences: Sequence[float],
) -> pd.DataFrame:
    """Audit every mechanism of Tables 1 and 2 at every setting.

    Records of the `domain` are randomized at each p of the `probabilities`, in (0, 1). Clusters are
    formed from `dependences` at each T_v of `largest_cells` and T_d of `least_dependences`: see
    `cluster_attributes`. If several T_d give the same clusters, their rows appear once. The columns
    are ``mechanism``, ``matrix``, ``p``, ``t_v``, ``unit`` (the kind of change), ``of`` (its name),
    ``claimed_epsilon``, ``exact_epsilon`` (of the defined matrix), ``shipped_epsilon`` (of the
    floating-point matrix), ``kind`` ("exact"), ``holds``.
    """
    settings = [Setting(reading, repr(p)) for reading in READINGS for p in probabilities]
    rows = []
    for setting in settings:
        for attribute in domain:
            finding = audit_attribute(attribute.size, setting.p, setting.reading)
            rows.append(audit_row("rr_independent", setting, "attribute", attribute.name, finding))
        rows.append(_record_row("rr_independent", domain, setting))
    thresholds = product(largest_cells, least_dependences)
    formed = [(t_v, cluster_attributes(domain, dependences, t_v, t_d)) for t_v, t_d in thresholds]
    for t_v, clusters in dict.fromkeys(formed):
        rows += [row for setting in settings for row in _clusters(domain, clusters, t_v, setting)]
    return audit_table(rows)


def clusters_table(
    domain: Domain,
    dependences: pd.DataFrame,
    largest_cells: Sequence[int],
    least_dependences: Sequence[float],
) -> pd.DataFrame:
    """Return the clusters that Algorithm 1 of [multirr] forms at each pair of thresholds.

    `domain`, `dependences`, `largest_cells` and `least_dependences` are as in `audit_multirr`. The
    columns are ``t_v``, ``t_d``, ``cluster``, and the numbers of its ``attributes`` and ``cells``.
    """
    rows = []
    for t_v, t_d in product(largest_cells, least_dependences):
        for cluster in cluster_attributes(domain, dependences, t_v, t_d):
            rows.append((t_v, t_d, " x ".join(cluster), len(cluster), domain.project(cluster).size))
    return pd.DataFrame(rows, columns=["t_v", "t_d", "cluster", "attributes", "cells"])


def _record_row(mechanism: str, domain: Domain, setting: Setting, t_v: int | None = None) -> Row:
    # Independent randomizations compose exactly: the parity of a record is the product of the
    # parities. A two-row matrix gives its logarithm, rounded up like all others.
    alone = summed(audit_attribute(size, setting.p, setting.reading) for size in domain.shape)
    parity = claimed_odds(domain.shape, Fraction(setting.p), setting.reading)
    finding = replace(alone, exact=exact_epsilon(constant_matrix(2, parity)))
    return audit_row(mechanism, setting, "record", "all attributes", finding, t_v)


def summed(findings: Iterable[Finding]) -> Finding:
    """Return the sums of the claimed, exact and floating-point epsilons of `findings`."""
    parts = zip(*((each.claimed, each.exact, each.shipped) for each in findings), strict=True)
    return Finding(*map(sum, parts))


def _clusters(domain: Domain, clusters: Clustering, t_v: int, setting: Setting) -> Iterator[Row]:
    for mechanism in CLUSTER_MECHANISMS:
        name, changes = f"rr_clusters {mechanism}", _Changes(domain, setting, mechanism)
        for cluster in clusters:
            if len(cluster) > 1:
                joined = " x ".join(cluster)
                yield audit_row(name, setting, "cluster", joined, changes.of(cluster), t_v)
                for attribute in cluster:
                    found, inside = changes.of(cluster, attribute), f"{attribute} in {joined}"
                    yield audit_row(name, setting, ATTRIBUTE_IN_CLUSTER, inside, found, t_v)
        yield _record_row(name, domain, setting, t_v)


def audit_row(
    mechanism: str, setting: Setting, unit: str, of: str, finding: Finding, t_v: int | None = None
) -> Row:
    """Return a row of the audit of a `mechanism` at a `setting`.

    `unit` is the kind of change ("attribute", "record"), `of` its name, `finding` the epsilons, and
    `t_v` the largest number of cells of a cluster, if any.
    """
    return {
        "mechanism": mechanism,
        "matrix": setting.reading,
        "p": float(setting.p),
        "t_v": t_v,
        "unit": unit,
        "of": of,
        "claimed_epsilon": finding.claimed,
        "exact_epsilon": finding.exact,
        "shipped_epsilon": finding.shipped,
        "kind": "exact",
        "holds": finding.holds,
    }


def audit_table(rows: Iterable[Row]) -> pd.DataFrame:
    """Return `rows` of `audit_row` as a table."""
    return pd.DataFrame(rows).astype({"t_v": "Int64"})


@dataclass(frozen=True)
class _Changes:
    """Epsilons of the changes of a record, for one setting and mechanism of clusters."""

    domain: Domain
    setting: Setting
    mechanism: ClusterMechanism

    def of(self, names: Sequence[str], changed: str | None = None) -> Finding:
        """Audit a cluster for a change of all its attributes, or of `changed` alone."""
        position = None if changed is None else names.index(changed)
        sizes = self.domain.project(names).shape
        return audit_cluster(sizes, self.setting.p, self.setting.reading, self.mechanism, position)

    def record(self, clusters: Sequence[Sequence[str]]) -> Finding:
        """Audit several independently randomized clusters for a change of all attributes."""
        return summed(self.of(cluster) for cluster in clusters)

    def attribute(self, clusters: Sequence[Sequence[str]], name: str) -> Finding:
        """Audit the clusters that contain the attribute `name` for a change of it."""
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

    For 4.1 the audit sums over attributes. Section 4.2 claims no epsilon. For 4.3, under both
    mechanisms, it has the sum over pairs by sequential composition, and the waiver, for a record
    and for each attribute. The settings are each p of the `probabilities`, in (0, 1), and each
    interpretation of the matrix in `readings`, for records of the `domain`.
    """
    settings = [Setting(reading, repr(p)) for reading in readings for p in probabilities]
    return audit_table(row for setting in settings for row in _assessment_rows(domain, setting))


def _assessment_rows(domain: Domain, setting: Setting) -> Iterator[Row]:
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

    Dependences are assessed with the matrices of the release (the paper names no others), pairs by
    the mechanism of the clusters. Assessment and release compose sequentially (section 4), with
    equality: two records that differ in all attributes are the worst pair for both. The release has
    the `clusters` of each T_v, for records of the `domain`. The settings are each p of the
    `probabilities`, in (0, 1), and each interpretation of the matrix in `readings`.

    The columns ``matrix``, ``p``, ``mechanism``, ``t_v`` have the setting. ``assessment`` is none,
    4.1, 4.2, 4.3 waived (the claim) or 4.3 summed (exact). For a whole record there are
    ``release_epsilon``, ``assessment_epsilon`` and their sum, ``total_epsilon``.
    ``attribute_epsilon`` is for a change of one ``attribute`` in the release, and
    ``attribute_alone`` the same under RR-Independent, for the attribute with the largest excess.
    ``attribute_ratio`` divides them (infinite if only the latter is 0, 1 if both are). Three flags
    mean at most the epsilon of RR-Independent: ``equal_risk_record`` and ``equal_risk_attribute``
    (every attribute) for the release, ``equal_risk_with_assessment`` for the total of a record.
    """
    rows: list[Row] = []
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
) -> Iterator[Row]:
    once = changes.alone
    release = changes.record(clusters).exact
    costs = {"none": 0.0, "4.1": once.exact, "4.2": math.inf, "4.3 waived": once.claimed}
    found = {name: changes.attribute(clusters, name) for name in changes.domain.names}
    apart = {name: changes.of((name,)).exact for name in found}
    # The worst attribute multiplies an intruder's odds most: largest difference, then largest ε.
    worst = max(found, key=lambda n: (round(found[n].exact - apart[n], 9), found[n].exact))
    epsilon, alone = found[worst].exact, apart[worst]
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
            "attribute_epsilon": epsilon,
            "attribute_alone": alone,
            "attribute": worst,
            "attribute_ratio": epsilon / alone if alone else math.inf if epsilon > 0 else 1.0,
            "equal_risk_record": _not_above(release, once.exact),
            "equal_risk_attribute": all(each.holds for each in found.values()),
            "equal_risk_with_assessment": _not_above(release + cost, once.exact),
        }


def _not_above(epsilon: float, claim: float) -> bool:
    return Finding(claim, epsilon, epsilon).holds
