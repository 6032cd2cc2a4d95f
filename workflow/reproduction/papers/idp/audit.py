"""Audit [idp] on its data sets: the claimed and the exact ε, or a lower bound."""

from collections.abc import Iterable, Sequence
from itertools import product
from typing import Any

import numpy as np
import pandas as pd

from deniable.idp import METHODS, audit, domain_bounds
from deniable.records import NumericMicrodata
from deniable.sampling import SeededNoise, generator_for


def file_of(name: str, data: NumericMicrodata, domain_factor: float) -> audit.AuditedFile:
    """Return the data set `name` with the records `data` and domains by a `domain_factor`."""
    upper = domain_bounds(data.values, domain_factor)
    return audit.AuditedFile(name, data.names, data.values, upper, domain_factor)


def audit_table(
    name: str,
    data: NumericMicrodata,
    seed: int,
    *,
    k: Sequence[int],
    epsilons: Sequence[float],
    domain_factors: Sequence[float],
    releases: int,
) -> pd.DataFrame:
    """Audit all methods on a data set, with the columns of `deniable.idp.audit.as_table`.

    The data set `name` with the records `data` is audited in clusters of at least each `k`, at each
    of the claimed `epsilons`. The first of the `domain_factors` is audited under both
    interpretations, the others with a fixed scale. Certificates come from a number of `releases`
    with the root `seed`.
    """
    files = [file_of(name, data, factor) for factor in domain_factors]
    tables = [audit.audit_file(file, k, epsilons, as_it_runs=file is files[0]) for file in files]
    note = f"released numbers, {releases} releases, upper 99.9 % of the error"
    of_sums, certified = f"{note}; attributes released independently", []
    for method in METHODS:
        for size, epsilon in product((1,) if method == "dp" else k, epsilons):
            audited = audit.MethodAudit(audit.ClusteredFile(files[0], size), method, epsilon)
            key = {"audit": "certificate", "data": name, "method": method}
            noise = SeededNoise(generator_for(seed, key | {"k": size, "epsilon": epsilon}))
            found = audit.certificate(data.values, audited.shipped.mask(noise, releases))
            largest, worst = float(found.max()), data.names[int(found.argmax())]
            about = {"reading": audit.RECOMPUTED_SCALE, "clusters": audit.RECLUSTERED}
            for unit, bound, attribute, why in (
                ("attribute", largest, worst, note),
                ("record", largest, worst, note),
                ("record", float(found.sum()), audit.ALL, of_sums),
            ):
                about |= {"unit": unit, "attribute": attribute, "note": why}
                certified.append(audited.row(bound, "lower bound", **about))
    return pd.concat([*tables, audit.as_table(certified)], ignore_index=True)


def cluster_table(
    name: str, data: NumericMicrodata, k: Sequence[int], domain_factors: Sequence[float]
) -> pd.DataFrame:
    """Compare each sensitivity with all changes of one record, for each attribute.

    `name`, `data`, `k` and `domain_factors` are as in `audit_table`. The numbers do not depend on
    ε.

    ``tightness_fixed`` and ``tightness_fixed_median`` are the largest and the median ratio, over
    all ``clusters``, of the largest change to the claimed sensitivity if records stay in their
    clusters. ``tightness_anew`` is the largest ratio if clusters are formed again. Above 1 the
    sensitivity is too small. ``attribute_times_claimed`` is the exact ε of all centroids of the
    attribute over the claimed ε, with a fixed scale. Proportions are ``records_beyond`` (records
    that alone exceed the claim), ``clusters_without_noise``, ``values_without_noise`` and
    ``values_certain_from_means`` (values that the means of the clusters alone reveal).
    """
    rows: list[dict[str, Any]] = []
    files = [file_of(name, data, factor) for factor in domain_factors]
    every = (audit.ClusteredFile(file, size) for file in files for size in k)
    for clustered, method in product(every, audit.VARIANTS[1:]):
        file, losses = clustered.file, clustered.frozen_losses(method)
        attributes = file.ranking.attributes  # each has 1 / attributes of ε, which is 1 here
        scales = clustered.shipped(method, 1.0).scales
        both = losses[audit.FIXED], losses[audit.RECLUSTERED]
        parts = zip(file.names, clustered.moves(method), scales, *both, strict=True)
        for attribute, moves, scale, fixed, anew in parts:
            exact = scale == 0
            beyond = anew.of_records * attributes > 1 + audit.CLAIM_TOLERANCE
            rows.append(
                {
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
                    "records_beyond": beyond.mean(),
                    "clusters_without_noise": exact.mean(),
                    "values_without_noise": moves.cut.sizes[exact].sum() / moves.cut.values.size,
                    "values_certain_from_means": audit.certain_values(moves.cut)[0],
                }
            )
    return pd.DataFrame(rows)


def of_datasets(tables: Iterable[pd.DataFrame], sources: Iterable[str]) -> pd.DataFrame:
    """Join the `tables` of data sets, with their `sources`; keep rows without data set once."""
    parts = zip(tables, sources, strict=True)
    joined = pd.concat(table.assign(data_source=source) for table, source in parts)
    again = (joined["dataset"] == "none") & joined.drop(columns="data_source").duplicated()
    return joined[~again].reset_index(drop=True)
