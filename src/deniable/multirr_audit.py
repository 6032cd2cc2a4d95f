"""The audit of text 003: what RR-Independent and RR-Clusters claim, and what is so."""

import math
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass, fields
from fractions import Fraction
from functools import partial
from typing import Any

import pandas as pd

from deniable.audit import (
    Finding,
    SamplerTest,
    audit_attribute,
    audit_cluster,
    audit_sampler,
    rational_odds,
)
from deniable.channel.ratios import log_rounded_up
from deniable.clustering import Clusters, cluster_attributes
from deniable.domain import Domain
from deniable.multirr import Protocol
from deniable.randomness import generator_for
from deniable.readings import CLUSTER_MECHANISMS, READINGS, Reading

ATTRIBUTE_IN_CLUSTER = "one attribute in its cluster"


@dataclass(frozen=True)
class Setting:
    """One choice of probabilities and thresholds. `p` is decimal text, to be taken exactly."""

    reading: Reading
    p: str


def audit_multirr(
    domain: Domain,
    dependences: pd.DataFrame,
    probabilities: Sequence[float],
    largest_cells: Sequence[int],
    least_dependences: Sequence[float],
) -> pd.DataFrame:
    """Audit every mechanism of Tables 1 and 2 at every setting.

    Returns
    -------
    DataFrame
        ``mechanism``, ``matrix``, ``p``, ``t_v``, ``unit`` (what changes), ``of`` (which one),
        ``claimed_epsilon``, ``exact_epsilon``, ``kind`` ("exact"), ``holds``. Thresholds T_d that
        give the same clusters share their rows.
    """
    settings = [Setting(reading, repr(p)) for reading in READINGS for p in probabilities]
    rows = [row for setting in settings for row in _independent(domain, setting)]
    seen: set[tuple[int, Clusters]] = set()
    for t_v in largest_cells:
        for t_d in least_dependences:
            clusters = cluster_attributes(domain, dependences, t_v, t_d)
            if (t_v, clusters) not in seen:
                seen.add((t_v, clusters))
                rows += [r for s in settings for r in _clusters(domain, clusters, t_v, s)]
    table = pd.DataFrame(rows)
    table["t_v"] = table["t_v"].astype("Int64")
    return table


def clusters_table(
    domain: Domain,
    dependences: pd.DataFrame,
    largest_cells: Sequence[int],
    least_dependences: Sequence[float],
) -> pd.DataFrame:
    """Return the clusters that Algorithm 1 forms at each pair of thresholds."""
    rows = []
    for t_v in largest_cells:
        for t_d in least_dependences:
            for cluster in cluster_attributes(domain, dependences, t_v, t_d):
                cells = domain.project(cluster).size
                rows.append((t_v, t_d, " x ".join(cluster), len(cluster), cells))
    return pd.DataFrame(rows, columns=["t_v", "t_d", "cluster", "attributes", "cells"])


def _independent(domain: Domain, setting: Setting) -> Iterator[dict[str, Any]]:
    for attribute in domain:
        finding = audit_attribute(attribute.size, setting.p, setting.reading)
        yield _row("rr_independent", setting, "attribute", attribute.name, finding)
    yield _row("rr_independent", setting, "record", "all attributes", _record(domain, setting))


def _record(domain: Domain, setting: Setting) -> Finding:
    # Independent reports compose exactly: the parity of the record is the product of parities.
    odds = [rational_odds(size, Fraction(setting.p), setting.reading) for size in domain.shape]
    parity = math.prod((max(r, 1 / r) for r in odds), start=Fraction(1))
    return Finding(sum(abs(math.log(r)) for r in odds), log_rounded_up(parity))


def _clusters(
    domain: Domain, clusters: Clusters, t_v: int, setting: Setting
) -> Iterator[dict[str, Any]]:
    for mechanism in CLUSTER_MECHANISMS:
        name = f"rr_clusters {mechanism}"
        for cluster in clusters:
            if len(cluster) == 1:
                continue
            sizes = domain.project(cluster).shape
            finding = audit_cluster(sizes, setting.p, setting.reading, mechanism)
            yield _row(name, setting, "cluster", " x ".join(cluster), finding, t_v)
            for position, attribute in enumerate(cluster):
                finding = audit_cluster(sizes, setting.p, setting.reading, mechanism, position)
                inside = f"{attribute} in {' x '.join(cluster)}"
                yield _row(name, setting, ATTRIBUTE_IN_CLUSTER, inside, finding, t_v)
        yield _row(name, setting, "record", "all attributes", _record(domain, setting), t_v)


def _row(
    mechanism: str,
    setting: Setting,
    unit: str,
    of: str,
    finding: Finding,
    t_v: int | None = None,
) -> dict[str, Any]:
    return {
        "mechanism": mechanism,
        "matrix": setting.reading,
        "p": float(setting.p),
        "t_v": t_v,
        "unit": unit,
        "of": of,
        "claimed_epsilon": finding.claimed,
        "exact_epsilon": finding.exact,
        "kind": "exact",
        "holds": finding.holds,
    }


SAMPLER_COLUMNS = [
    "release",
    "cluster",
    "cells",
    *(part.name for part in fields(SamplerTest)),
    "holds",
]


def audit_release_samplers(
    description: Mapping[str, Any], root_seed: int, draws: int = 400_000
) -> pd.DataFrame:
    """Hold each channel of a release against its matrix, by drawing from every true category.

    Parameters
    ----------
    description : mapping
        What `deniable.release.describe` wrote.
    root_seed : int
    draws : int
        Draws for each channel, shared by its rows.

    Returns
    -------
    DataFrame
        ``release``, ``cluster``, ``cells``, ``draws``, ``statistic``, ``degrees_of_freedom``,
        ``p_value``, ``impossible`` (reports of probability 0) and ``holds``: none impossible and
        a p-value above 1e-4, which a right sampler misses once in ten thousand tests.
    """
    protocol = Protocol.from_json(description)
    rows = []
    for cluster, channel in zip(protocol.clusters, protocol.channels, strict=True):
        name = " x ".join(cluster)
        key = {"audit": "sampler", "release": description["release"], "cluster": name}
        randomize = partial(channel.randomize, source=generator_for(root_seed, key))
        test = audit_sampler(randomize, channel.matrix(), max(draws // channel.size, 1))
        holds = test.impossible == 0 and test.p_value > 1e-4
        rows.append(
            {"release": description["release"], "cluster": name, "cells": channel.size}
            | asdict(test)
            | {"holds": holds}
        )
    return pd.DataFrame(rows, columns=SAMPLER_COLUMNS)
