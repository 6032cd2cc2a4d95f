"""The audit of [multirr]: claimed and exact epsilons of RR-Independent and RR-Clusters."""

import functools
import math
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from fractions import Fraction
from itertools import product
from typing import Any

import numpy as np
import pandas as pd

from deniable.errors import DeniableError
from deniable.privacy import (
    Finding,
    cells_differing_in_one_attribute,
    column_epsilon,
    constant_matrix,
    exact_epsilon,
)
from deniable.randomized_response.dependence import Clustering, cluster_attributes
from deniable.randomized_response.protocols import cluster_channel, rr_odds
from deniable.randomized_response.readings import (
    CLUSTER_MECHANISMS,
    READINGS,
    ClusterMechanism,
    Reading,
)
from deniable.records import Domain

ATTRIBUTE_IN_CLUSTER = "one attribute in its cluster"
MAX_AUDITED_MATRIX = 1000


@dataclass(frozen=True)
class Setting:
    """A probability `p`, as exact decimal text, and the `reading` of the matrix."""

    reading: Reading
    p: str


def claimed_odds(sizes: Sequence[int], p: Fraction, reading: Reading) -> Fraction:
    """Return exp(sum of the claimed epsilons of attributes with `sizes` categories), exactly.

    `p` and `reading` are as in `rr_odds`.
    """
    ratios = [rr_odds(size, p, reading) for size in sizes]
    return math.prod((max(r, 1 / r) for r in ratios), start=Fraction(1))


def audit_attribute(size: int, p: str, reading: Reading) -> Finding:
    """Return the claimed, exact and shipped epsilon of one attribute's RR matrix (6.3.1).

    `size` and `reading` are as in `deniable.randomized_response.protocols.rr_channel`; `p` is exact
    decimal text.
    """
    return audit_cluster((size,), p, reading, "kronecker")


@functools.cache
def audit_cluster(
    sizes: tuple[int, ...],
    p: str,
    reading: Reading,
    mechanism: ClusterMechanism,
    changed: int | None = None,
) -> Finding:
    """Return the epsilons of a cluster's matrix (6.3.2), if all attributes change or only one.

    The attributes have `sizes` categories, in at most 1,000 cells. `p` and `reading` are as in
    `audit_attribute`, the `mechanism` as in
    `deniable.randomized_response.protocols.cluster_channel`. `changed` is the position of the one
    attribute that changes, by default all. The claim is then its epsilon, the "equal risk" of
    RR-Clusters and RR-Independent by attribute.
    """
    exact_p, cells = Fraction(p), math.prod(sizes)
    if cells > MAX_AUDITED_MATRIX:
        raise DeniableError(
            f"a cluster of {cells} cells is over the {MAX_AUDITED_MATRIX} audited in "
            "rational numbers; audit its attributes"
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
    `cluster_attributes`. Thresholds T_d that give the same clusters share their rows.

    The columns are ``mechanism``, ``matrix``, ``p``, ``t_v``, ``unit`` (the kind of change), ``of``
    (its name), ``claimed_epsilon``, ``exact_epsilon`` (of the defined matrix), ``shipped_epsilon``
    (of the floating-point matrix), ``kind`` ("exact"), ``holds``.
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
    """Return the clusters that Algorithm 1 forms at each pair of thresholds.

    The arguments are as in `audit_multirr`: `domain`, `dependences`, `largest_cells` and
    `least_dependences`. The columns are ``t_v``, ``t_d``, ``cluster``, ``attributes`` (number) and
    ``cells``.
    """
    rows = []
    for t_v, t_d in product(largest_cells, least_dependences):
        for cluster in cluster_attributes(domain, dependences, t_v, t_d):
            cells = domain.project(cluster).size
            rows.append((t_v, t_d, " x ".join(cluster), len(cluster), cells))
    return pd.DataFrame(rows, columns=["t_v", "t_d", "cluster", "attributes", "cells"])


def _record_row(
    mechanism: str, domain: Domain, setting: Setting, t_v: int | None = None
) -> dict[str, Any]:
    # Independent reports compose exactly: the parity of the record is the product of parities. A
    # matrix of two rows has its logarithm rounded as all others.
    alone = summed(audit_attribute(size, setting.p, setting.reading) for size in domain.shape)
    parity = claimed_odds(domain.shape, Fraction(setting.p), setting.reading)
    finding = replace(alone, exact=exact_epsilon(constant_matrix(2, parity)))
    return audit_row(mechanism, setting, "record", "all attributes", finding, t_v)


def summed(findings: Iterable[Finding]) -> Finding:
    """Return the claimed and exact epsilons of several reports together, by `findings` of each."""
    parts = zip(*((each.claimed, each.exact, each.shipped) for each in findings), strict=True)
    return Finding(*map(sum, parts))


def _clusters(
    domain: Domain, clusters: Clustering, t_v: int, setting: Setting
) -> Iterator[dict[str, Any]]:
    for mechanism in CLUSTER_MECHANISMS:
        name = f"rr_clusters {mechanism}"
        for cluster in clusters:
            if len(cluster) == 1:
                continue
            sizes = domain.project(cluster).shape
            finding = audit_cluster(sizes, setting.p, setting.reading, mechanism)
            yield audit_row(name, setting, "cluster", " x ".join(cluster), finding, t_v)
            for position, attribute in enumerate(cluster):
                finding = audit_cluster(sizes, setting.p, setting.reading, mechanism, position)
                inside = f"{attribute} in {' x '.join(cluster)}"
                yield audit_row(name, setting, ATTRIBUTE_IN_CLUSTER, inside, finding, t_v)
        yield _record_row(name, domain, setting, t_v)


def audit_row(
    mechanism: str, setting: Setting, unit: str, of: str, finding: Finding, t_v: int | None = None
) -> dict[str, Any]:
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


def audit_table(rows: Iterable[dict[str, Any]]) -> pd.DataFrame:
    """Return `rows` of `audit_row` as a table."""
    return pd.DataFrame(rows).astype({"t_v": "Int64"})
