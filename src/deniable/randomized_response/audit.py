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
from deniable.randomized_response.protocols import (
    CLUSTER_MECHANISMS,
    READINGS,
    Clustering,
    ClusterMechanism,
    Reading,
    cluster_channel,
    rr_odds,
)
from deniable.records import Domain

ATTRIBUTE_IN_CLUSTER = "one attribute in its cluster"
SUMMED = "all attributes, pairs composed"
WAIVED = "all attributes, as if released once"
ASSESSMENTS = ("none", "4.1", "4.2", "4.3 waived", "4.3 summed")
MAX_AUDITED_MATRIX = 1000
COLUMNS = (
    *("mechanism", "matrix", "p", "t_v", "unit", "of"),
    *("claimed_epsilon", "exact_epsilon", "shipped_epsilon", "kind", "holds"),
)
Row = dict[str, Any]


def claimed_odds(sizes: Sequence[int], p: Fraction, reading: Reading) -> Fraction:
    """Return exp(sum of the claimed epsilons of attributes with `sizes` categories), exactly.

    `p` and `reading` are as in `rr_odds`.
    """
    ratios = [rr_odds(size, p, reading) for size in sizes]
    return math.prod((max(r, 1 / r) for r in ratios), start=Fraction(1))


@named_types
def audit_cluster(
    sizes: Sequence[int],
    p: str,
    reading: Reading,
    mechanism: ClusterMechanism = "kronecker",
    changed: int | None = None,
) -> Finding:
    """Return the epsilons of a cluster's matrix (6.3.2), if all attributes change or only one.

    The attributes have `sizes` categories. Two or more attributes have at most 1,000 cells; one
    attribute has its RR matrix (6.3.1). `reading` is as in `rr_channel`, and `p` is exact decimal
    text. The `mechanism` is as in `deniable.randomized_response.cluster_channel`. `changed` is the
    position of the only attribute that changes; by default all change. The claim for one attribute
    is its own epsilon, because of the "equal risk" of RR-Clusters and RR-Independent by attribute.
    """
    exact_p, cells = as_written(p), math.prod(sizes)
    if cells > MAX_AUDITED_MATRIX and len(sizes) > 1:
        raise DeniableError(
            f"a cluster has {cells} cells, and the audit in rational numbers takes at most "
            f"{MAX_AUDITED_MATRIX}; audit its attributes"
        )
    if changed is not None and changed not in range(-len(sizes), len(sizes)):
        raise DeniableError(f"changed is {changed}; give a position below {len(sizes)}, from 0")
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


_audited = functools.cache(audit_cluster)


@dataclass(frozen=True)
class _Setting:
    """Epsilons of records of a `domain`, at p (exact decimal text), for one kind of matrices."""

    domain: Domain
    reading: Reading
    p: str
    mechanism: ClusterMechanism = "kronecker"

    def of(self, names: Sequence[str], changed: str | None = None) -> Finding:
        """Audit a cluster for a change of all its attributes, or of `changed` alone."""
        position = None if changed is None else names.index(changed)
        sizes = self.domain.project(names).shape
        return _audited(sizes, self.p, self.reading, self.mechanism, position)

    def record(self, clusters: Iterable[Sequence[str]]) -> Finding:
        """Audit several independently randomized clusters for a change of all attributes."""
        return summed(self.of(cluster) for cluster in clusters)

    def attribute(self, clusters: Iterable[Sequence[str]], name: str) -> Finding:
        """Audit the clusters that contain the attribute `name` for a change of it."""
        return summed(self.of(each, name) for each in clusters if name in each)

    @property
    def alone(self) -> Finding:
        """The audit of all attributes, each randomized once."""
        return self.record(combinations(self.domain.names, 1))

    @property
    def pairs(self) -> list[tuple[str, ...]]:
        """All pairs of attributes."""
        return list(combinations(self.domain.names, 2))

    @property
    def by_mechanism(self) -> "list[_Setting]":
        """The same setting for each mechanism of clusters."""
        return [replace(self, mechanism=each) for each in CLUSTER_MECHANISMS]

    def row(self, mechanism: str, unit: str, of: str, finding: Finding, t_v: int | None) -> Row:
        """Return a row of the audit, in the columns of `audit_multirr`."""
        epsilons = (finding.claimed, finding.exact, finding.shipped)
        about = (mechanism, self.reading, float(self.p), t_v, unit, of)
        return dict(zip(COLUMNS, (*about, *epsilons, "exact", finding.holds), strict=True))

    def record_row(self, mechanism: str, t_v: int | None = None) -> Row:
        # Independent randomizations compose exactly: the parity of a record is the product of the
        # parities. A two-row matrix gives its logarithm, rounded up like all others.
        parity = claimed_odds(self.domain.shape, Fraction(self.p), self.reading)
        exact = exact_epsilon(constant_matrix(2, parity))
        finding = replace(self.alone, exact=exact)
        return self.row(mechanism, "record", "all attributes", finding, t_v)


def _settings(domain: Domain, probabilities: Sequence[float]) -> list[_Setting]:
    return [_Setting(domain, reading, repr(p)) for reading in READINGS for p in probabilities]


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
    rows, settings = [], _settings(domain, probabilities)
    for setting in settings:
        for name in domain.names:
            alone = setting.of((name,))
            rows.append(setting.row("rr_independent", "attribute", name, alone, None))
        rows.append(setting.record_row("rr_independent"))
    thresholds = product(largest_cells, least_dependences)
    formed = [(t_v, cluster_attributes(domain, dependences, t_v, t_d)) for t_v, t_d in thresholds]
    for (t_v, clusters), setting in product(dict.fromkeys(formed), settings):
        for each in setting.by_mechanism:
            rows += _cluster_rows(each, clusters, t_v)
    return _table(rows)


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


def summed(findings: Iterable[Finding]) -> Finding:
    """Return the sums of the claimed, exact and floating-point epsilons of `findings`."""
    parts = zip(*((each.claimed, each.exact, each.shipped) for each in findings), strict=True)
    return Finding(*map(sum, parts))


def _cluster_rows(setting: _Setting, clusters: Clustering, t_v: int) -> Iterator[Row]:
    name = f"rr_clusters {setting.mechanism}"
    for cluster in clusters:
        if len(cluster) > 1:
            joined = " x ".join(cluster)
            yield setting.row(name, "cluster", joined, setting.of(cluster), t_v)
            for attribute in cluster:
                found, inside = setting.of(cluster, attribute), f"{attribute} in {joined}"
                yield setting.row(name, ATTRIBUTE_IN_CLUSTER, inside, found, t_v)
    yield setting.record_row(name, t_v)


def _table(rows: Iterable[Row]) -> pd.DataFrame:
    return pd.DataFrame(rows).astype({"t_v": "Int64"})


def audit_assessments(domain: Domain, probabilities: Sequence[float]) -> pd.DataFrame:
    """Audit the claims of sections 4.1 and 4.3, in a table like the one of `audit_multirr`.

    For 4.1 the audit sums over attributes. Section 4.2 claims no epsilon. For 4.3, under both
    mechanisms, it has the sum over pairs by sequential composition, and the waiver, for a record
    and for each attribute. The settings are each p of the `probabilities`, in (0, 1), and each
    interpretation of the matrix, for records of the `domain`.
    """
    settings = _settings(domain, probabilities)
    return _table(row for setting in settings for row in _assessment_rows(setting))


def _assessment_rows(setting: _Setting) -> Iterator[Row]:
    once = setting.alone
    yield setting.row("assessment attributes", "record", "all attributes", once, None)
    for each in setting.by_mechanism:
        name, pairs = f"assessment pairs_{each.mechanism}", each.record(each.pairs)
        yield each.row(name, "record", SUMMED, pairs, None)
        yield each.row(name, "record", WAIVED, replace(pairs, claimed=once.claimed), None)
        for attribute in setting.domain.names:
            claimed = each.of((attribute,)).claimed
            waived = replace(each.attribute(each.pairs, attribute), claimed=claimed)
            yield each.row(name, "attribute", f"{attribute}, as if released once", waived, None)


def risk_table(
    domain: Domain, clusters: Mapping[int, Clustering], probabilities: Sequence[float]
) -> pd.DataFrame:
    """Compare the "equal risk" of [multirr], 6.3.2, with the exact epsilons.

    Dependences are assessed with the matrices of the release (the paper names no others), pairs by
    the mechanism of the clusters. Assessment and release compose sequentially (section 4), with
    equality: two records that differ in all attributes are the worst pair for both. The release has
    the `clusters` of each T_v, for records of the `domain`. The settings are each p of the
    `probabilities`, in (0, 1), and each interpretation of the matrix.

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
    for setting in _settings(domain, probabilities):
        single = tuple(combinations(domain.names, 1))
        rows += _risks("rr_independent", None, single, setting, ("none",))
        for (t_v, formed), each in product(clusters.items(), setting.by_mechanism):
            rows += _risks(each.mechanism, t_v, formed, each, ASSESSMENTS)
    return _table(rows)


def _risks(
    mechanism: str, t_v: int | None, clusters: Clustering, setting: _Setting, ways: Sequence[str]
) -> Iterator[Row]:
    once = setting.alone
    release = setting.record(clusters).exact
    costs = {"none": 0.0, "4.1": once.exact, "4.2": math.inf, "4.3 waived": once.claimed}
    if "4.3 summed" in ways:
        costs["4.3 summed"] = setting.record(setting.pairs).exact
    found = {name: setting.attribute(clusters, name) for name in setting.domain.names}
    apart = {name: setting.of((name,)).exact for name in found}
    # The worst attribute multiplies an intruder's odds most: largest difference, then largest ε.
    worst = max(found, key=lambda n: (round(found[n].exact - apart[n], 9), found[n].exact))
    epsilon, alone = found[worst].exact, apart[worst]
    for assessment in ways:
        yield {
            "matrix": setting.reading,
            "p": float(setting.p),
            "mechanism": mechanism,
            "t_v": t_v,
            "assessment": assessment,
            "release_epsilon": release,
            "assessment_epsilon": costs[assessment],
            "total_epsilon": release + costs[assessment],
            "attribute_epsilon": epsilon,
            "attribute_alone": alone,
            "attribute": worst,
            "attribute_ratio": epsilon / alone if alone else math.inf if epsilon > 0 else 1.0,
            "equal_risk_record": _not_above(release, once.exact),
            "equal_risk_attribute": all(each.holds for each in found.values()),
            "equal_risk_with_assessment": _not_above(release + costs[assessment], once.exact),
        }


def _not_above(epsilon: float, claim: float) -> bool:
    return Finding(claim, epsilon, epsilon).holds
