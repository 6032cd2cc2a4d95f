"""The audit of [idp] on its data sets: the table of bounds, and what stands behind it.

- `audit_table`: claimed against exact epsilon, or a lower bound (`idp_audit.csv`);
- `cluster_table`: what does not depend on epsilon: how tight each sensitivity is, how far an
  attribute exceeds its claim, which clusters get no noise (`idp_audit_clusters.csv`).
"""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import pandas as pd

from deniable.idp import Ranking, domain_bounds
from deniable.idp.audit import (
    ALL,
    ANEW,
    AS_IT_RUNS,
    CLAIM_TOLERANCE,
    FIXED,
    METHODS,
    AuditedFile,
    ClusteredFile,
    Method,
    Page,
    as_table,
    audit_file,
    certain_values,
    certificate,
)
from deniable.records import NumericMicrodata
from deniable.sampling import SeededNoise, generator_for
from deniable.study import Given

DATASETS = ("census", "wine")
INDEPENDENTLY = "attributes released independently"
CERTIFIED: tuple[Method, ...] = ("dp", "dp_um", "idp_ls", "idp_cbls")


@dataclass(frozen=True)
class AuditGrid:
    """What is audited of a data set.

    Attributes
    ----------
    k : sequence of int, at least 3
    epsilons : sequence of float
        Claimed for a record.
    domain_factors : sequence of float
        The first is audited in both readings, the others with the scale frozen.
    releases : int
        That each certificate is measured in.
    """

    k: Sequence[int]
    epsilons: Sequence[float] = (0.01, 0.1, 1.0)
    domain_factors: Sequence[float] = (1.5, 10.0)
    releases: int = 20


def file_of(name: str, data: NumericMicrodata, domain_factor: float) -> AuditedFile:
    """Return a data set with the domains that a factor gives it."""
    upper = domain_bounds(data.values, domain_factor)
    return AuditedFile(name, data.names, Ranking.of(data.values), upper, domain_factor)


def audit_table(name: str, data: NumericMicrodata, grid: AuditGrid, root_seed: int) -> pd.DataFrame:
    """Audit all methods on a data set.

    Returns
    -------
    DataFrame
        The columns `deniable.idp.audit.report.COLUMNS`.
    """
    tables = []
    for position, factor in enumerate(grid.domain_factors):
        file = file_of(name, data, factor)
        tables.append(audit_file(file, grid.k, grid.epsilons, as_it_runs=position == 0))
    first = file_of(name, data, grid.domain_factors[0])
    tables.append(as_table(list(certificate_rows(first, data, grid, root_seed))))
    return pd.concat(tables, ignore_index=True)


def certificate_rows(
    file: AuditedFile, data: NumericMicrodata, grid: AuditGrid, root_seed: int
) -> Iterator[dict[str, Any]]:
    """Yield what the released numbers alone prove of each method."""
    for method in CERTIFIED:
        for k in (1,) if method == "dp" else grid.k:
            clustered = ClusteredFile(file, k)
            for epsilon in grid.epsilons:
                key = {"audit": "certificate", "data": file.dataset, "method": method}
                generator = generator_for(root_seed, key | {"k": k, "epsilon": epsilon})
                noise = SeededNoise(generator)
                released = clustered.shipped(method, epsilon).mask(noise, grid.releases)
                found = certificate(data.values, released)
                page = Page(clustered, method, epsilon)
                note = f"released numbers, {grid.releases} releases, upper 99.9 % of the error"
                worst = int(np.argmax(found.of_attributes))
                for unit, claimed, bound, attribute, said in (
                    ("attribute", page.of_attribute, found.largest, data.names[worst], note),
                    ("record", epsilon, found.largest, data.names[worst], note),
                    ("record", epsilon, found.summed, ALL, f"{note}; {INDEPENDENTLY}"),
                ):
                    yield page.row(
                        AS_IT_RUNS, unit, claimed, bound, "lower bound", ANEW, attribute, note=said
                    )


def cluster_table(name: str, data: NumericMicrodata, grid: AuditGrid) -> pd.DataFrame:
    """Hold each sensitivity against all changes of one record, attribute by attribute.

    Returns
    -------
    DataFrame
        ``dataset``, ``attribute``, ``method``, ``k``, ``domain_factor``, ``clusters`` (how many);
        ``tightness_fixed`` and ``tightness_fixed_median``, the largest and the median over clusters
        of largest change / claimed sensitivity if records stay in their clusters, and
        ``tightness_anew``, the largest if clusters are formed anew: above 1 the sensitivity is too
        small; ``attribute_times_claimed``, the exact epsilon of all centroids of the attribute over
        the claimed one, scale frozen; ``records_beyond``, the share of records that alone exceed
        the claim; ``clusters_without_noise`` and ``values_without_noise``, shares; and
        ``values_certain_from_means``, the share of values that the means of the clusters alone
        give away.
    """
    files = [file_of(name, data, factor) for factor in grid.domain_factors]
    return pd.DataFrame(
        row for file in files for k in grid.k for row in _cluster_rows(ClusteredFile(file, k))
    )


def _cluster_rows(clustered: ClusteredFile) -> Iterator[dict[str, Any]]:
    for method in METHODS:
        if method != "dp":
            yield from _rows_of_method(clustered, method)


def _rows_of_method(clustered: ClusteredFile, method: Method) -> Iterator[dict[str, Any]]:
    file = clustered.file
    attributes = file.ranking.attributes  # losses at epsilon 1, of which each claims a share
    scales = clustered.shipped(method, 1.0).scales
    losses = clustered.frozen_losses(method)
    parts = zip(
        file.names, clustered.moves(method), scales, losses[FIXED], losses[ANEW], strict=True
    )
    for attribute, moves, scale, fixed, anew in parts:
        exact = scale == 0
        yield {
            "dataset": file.dataset,
            "attribute": attribute,
            "method": method,
            "k": clustered.k,
            "domain_factor": file.domain_factor,
            "clusters": scale.size,
            "tightness_fixed": fixed.of_centroids.max() * attributes,
            "tightness_fixed_median": np.median(fixed.of_centroids) * attributes,
            "tightness_anew": anew.of_centroids.max() * attributes,
            "attribute_times_claimed": anew.of_records.max() * attributes,
            "records_beyond": np.mean(anew.of_records * attributes > 1 + CLAIM_TOLERANCE),
            "clusters_without_noise": exact.mean(),
            "values_without_noise": moves.cut.sizes[exact].sum() / moves.cut.values.size,
            "values_certain_from_means": certain_values(moves.cut).microaggregated,
        }


def of_datasets(tables: Mapping[str, pd.DataFrame], sources: Mapping[str, str]) -> pd.DataFrame:
    """Return the tables of several data sets as one, with the source of each.

    Rows that are about no data set stand in each table and are kept once.
    """
    joined = pd.concat([table.assign(data_source=sources[name]) for name, table in tables.items()])
    about_none = joined["dataset"] == "none"
    again = about_none & joined.drop(columns="data_source").duplicated()
    return joined[~again].reset_index(drop=True)


def audited(given: Given) -> dict[str, pd.DataFrame]:
    """Audit individual differential privacy by microaggregation on a data set."""
    ((name, data),) = given.data.items()
    asked = dict(given.settings)
    sizes = {each: asked.pop(f"{each}_k") for each in DATASETS}
    grid = AuditGrid(sizes[name], **asked)
    return {
        name: audit_table(name, data, grid, given.seed),
        f"{name}_clusters": cluster_table(name, data, grid),
    }


def joined(given: Given) -> dict[str, pd.DataFrame]:
    """Join what audits and attacks found on each data set, with the source of its records."""
    sources = {name: data.marks["data_source"] for name, data in given.data.items()}
    found = {}
    for table, part in (
        ("idp_audit", ""),
        ("idp_audit_clusters", "_clusters"),
        ("idp_attacks", "_attacks"),
        ("idp_protection", "_protection"),
    ):
        tables = {name: given.tables[f"{name}{part}"] for name in DATASETS}
        typed = {name: each.astype(_types(each)) for name, each in tables.items()}
        found[table] = of_datasets(typed, sources)
    return found


def _types(table: pd.DataFrame) -> dict[str, str]:
    """Return the types of columns that have missing values, and would be written otherwise."""
    return {
        name: kind for name, kind in {"k": "Int64", "holds": "boolean"}.items() if name in table
    }
