"""Estimates of a test release, compared with the original records."""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from itertools import combinations
from typing import Any

import numpy as np
import pandas as pd

from deniable.arrays import Floats
from deniable.channels import Channel
from deniable.estimation import (
    Z_95,
    WeightedCounts,
    confidence_intervals,
    own_proportions,
    weighted_intervals,
)
from deniable.pram import shares
from deniable.records import Attribute, Microdata
from deniable.responses.base import Responses
from deniable.responses.tables import Table

REDRAWS, MAX_COUNTS, MAX_DRAWN = 1000, 1 << 23, 1 << 28
"""Largest numbers of redraws of a table, of counts in memory, and of redrawn weighted records."""
ROUNDING = 1e-8  # of limits that are written with 9 digits


@dataclass(frozen=True, eq=False)
class WeightedMicrodata(Microdata):
    """Original records with `weights`, positive and of shape (records,), or with weight 1."""

    weights: Floats | None = None


def compare_records(
    protected: Responses,
    original: Microdata,
    estimates: Mapping[str, pd.DataFrame],
    generator: np.random.Generator,
) -> pd.DataFrame:
    """Return the coverage of intervals for original proportions, and distances of estimates.

    Redraws are counts of randomized values through the same channels. One release is not enough,
    because its cells depend on each other, and so do the errors of its intervals. The `protected`
    records are the randomized values, of columns or within strata, of the `original` records that
    answered. The `estimates` are ``margins``, ``pairs``, ``weights`` and ``synthetic`` of
    `deniable.Released`, if they exist. The `generator` draws the redraws; they protect nobody.

    The first rows have ``check`` "coverage", one for each category of a column. Their values are
    ``columns``, ``values``, ``stratum`` (empty for all records), ``original`` (the proportion), and
    its ``estimate`` with the limits ``ci_low`` and ``ci_high`` for the file. ``covered`` states
    whether the limits contain the original; ``coverage`` is the proportion of ``redraws`` with an
    interval that contains it. For invariant matrices ``reported_coverage`` is the same for
    proportions of randomized values. Then rows with ``check`` "distance" follow, one for each
    column and each estimated pair: total variation distances from the original proportions, for the
    ``protected`` records, the ``consistent`` estimates, the weighted records (``weights``) and the
    ``synthetic`` records.
    """
    if not isinstance(original, WeightedMicrodata):
        original = WeightedMicrodata(original.domain, original.columns)
    margins = estimates.get("margins")
    rows: list[dict[str, Any]] = []
    for name in original.domain.names:
        for row in _coverage(protected.table([name]), original, generator):
            rows += _with_intervals(row, _of_file(margins, "column", name, row["stratum"]))
    rows += _distances(protected, original, estimates)
    return pd.DataFrame(rows)


def _coverage(
    table: Table, original: WeightedMicrodata, generator: np.random.Generator
) -> Iterator[dict[str, Any]]:
    """Yield the coverage of all categories, for all records and in each stratum with records."""
    all_counts: Any
    drawn: Any
    (name,) = table.domain.names
    about = {"columns": name, "values": table.domain.cell_labels(), "stratum": ""}
    if table.asked < 1:  # redraws of a channel do not draw the records that were asked
        yield about | {"original": shares(original, (name,)), "redraws": 0, "coverage": np.nan}
        return
    if (weights := original.weights) is None:
        all_counts = original.counts(table.cells.names).reshape(-1)
        redraws = int(np.clip(MAX_COUNTS // table.reports.size, 1, REDRAWS))
        drawn = table.channel.randomize_counts(np.tile(all_counts, (redraws, 1)), generator)
    else:
        cells = table.cells.ravel([original.column(name) for name in table.cells.names])
        all_counts = np.bincount(cells, weights, table.cells.size)
        redraws = int(np.clip(MAX_DRAWN // cells.size, 1, REDRAWS))
        drawn = np.empty((redraws, 2, table.reports.size))
        for each in drawn:
            codes = table.channel.randomize(cells, generator)
            each[:] = [np.bincount(codes, weights**power, each.shape[1]) for power in (1, 2)]
    named = [each for each in table.strata if each.name and all_counts[each.at].sum()]
    for stratum in (table.all_records, *named):
        counts, own = all_counts[stratum.at], drawn[..., stratum.at]
        functionals = table.functionals[:, stratum.at]
        true = functionals @ (counts / counts.sum())
        found: dict[str, Any] = about | {
            "stratum": stratum.name,
            "original": true,
            "redraws": redraws,
            "coverage": _covered(stratum.channel, counts, own, functionals, true),
        }
        if table.invariant:
            samples = [own] if weights is None else map(_weighted_counts, own)
            parts = [
                own_proportions(each, stratum.channel, functionals, "file") for each in samples
            ]
            values, errors = (np.array(part) for part in zip(*parts, strict=True))
            inside = np.abs(values - true) <= Z_95 * errors + 1e-12
            found["reported_coverage"] = inside.reshape(redraws, -1).mean(axis=0)
        yield found


def _covered(
    channel: Channel, counts: Any, drawn: Any, functionals: Floats, true: Floats
) -> Floats:
    """Return the coverage of intervals for the file; NaN through a singular matrix.

    It uses the left inverse of least variance at the original proportions, since an inverse for
    each redraw would take seconds.
    """
    if channel.singular:
        return np.full(true.size, np.nan)
    fitted = channel.of_least_variance((counts + 1) / (counts.sum() + channel.size))
    how: dict[str, Any] = {"target": "file", "functionals": functionals, "inverse": "own"}
    if drawn.ndim > 2:
        found = weighted_intervals(_weighted_counts(drawn), fitted, **how)
    else:
        found = confidence_intervals(drawn, fitted, **how)
    return np.asarray(found.cover(true).mean(axis=0))


def _weighted_counts(sums: Floats) -> WeightedCounts:
    """Return counts from `sums` of weights and of their squares, shape (..., 2, reports)."""
    records = np.ones((*sums.shape[:-2], 1), dtype=np.int64)  # not used for the file
    return WeightedCounts(sums[..., :1, :], sums[..., 1:, :], records)


def _of_file(
    table: pd.DataFrame | None, column: str, name: str, stratum: str = ""
) -> pd.DataFrame | None:
    if table is None or column not in table or "target" not in table:
        return None
    own = table[(table[column] == name) & (table["target"] == "file")]
    if "stratum" in own:
        own = own[own["stratum"].fillna("") == stratum]
    return own if len(own) else None


def _with_intervals(row: Mapping[str, Any], own: pd.DataFrame | None) -> list[dict[str, Any]]:
    table = pd.DataFrame(dict(row)).assign(check="coverage")
    if own is not None and len(own) == len(table):
        low, high = (own[name].to_numpy(float) for name in ("ci_low", "ci_high"))
        true = table["original"].to_numpy()
        inside = (low - ROUNDING <= true) & (true <= high + ROUNDING)
        at = list(table).index("original") + 1
        for name in ("ci_high", "ci_low", "estimate"):
            table.insert(at, name, own[name].to_numpy(float))
        table["covered"] = pd.Series(inside).astype("boolean").mask(np.isnan(low))
    return [{str(name): value for name, value in row.items()} for row in table.to_dict("records")]


def _distances(
    protected: Responses, original: WeightedMicrodata, estimates: Mapping[str, pd.DataFrame]
) -> Iterator[dict[str, Any]]:
    pairs, margins = estimates.get("pairs"), estimates.get("margins")
    own = [] if pairs is None or "columns" not in pairs else list(pairs["columns"].unique())
    named = {" x ".join(pair): pair for pair in combinations(original.domain.names, 2)}
    tables: dict[str, tuple[str, ...]] = {name: (name,) for name in original.domain.names}
    tables |= {label: named[label] for label in own if label in named}
    weighted = _weighted(protected, original, estimates.get("weights"))
    synthetic = _coded(original, estimates.get("synthetic"))
    for label, names in tables.items():
        true = shares(original, names, original.weights)
        given = _of_file(margins, "column", label)
        given = _of_file(pairs, "columns", label) if given is None else given
        found: dict[str, Floats] = {}
        if given is not None and len(given) == true.size:
            kept = {"reported": "protected", "consistent": "consistent"}
            found = {new: given[old].to_numpy(float) for old, new in kept.items() if old in given}
        if weighted is not None:
            found["weights"] = shares(weighted[0], names, weighted[1])
        if synthetic is not None:
            found["synthetic"] = shares(synthetic, names)
        row: dict[str, Any] = {"check": "distance", "columns": label}
        for name, each in found.items():
            # Adjusted weights do not include the survey weights.
            of = shares(original, names) if name == "weights" else true
            row[name] = float(np.abs(each - of).sum() / 2)
        yield row


def _weighted(
    protected: Responses, original: Microdata, weights: pd.DataFrame | None
) -> tuple[Microdata, Floats] | None:
    """Return the protected records and their weights, if all their values are categories."""
    if weights is None or "weight" not in weights:
        return None
    if not all(table.returns_categories for table in protected.clusters()):
        return None
    columns, _ = protected.codes([original.domain.project([each.name]) for each in original.domain])
    return Microdata(original.domain, tuple(columns)), weights["weight"].to_numpy(float)


def _coded(original: Microdata, records: pd.DataFrame | None) -> Microdata | None:
    if records is None or not set(original.domain.names) <= set(records.columns):
        return None
    columns = tuple(
        np.array([_code(attribute, value) for value in records[attribute.name]], dtype=np.int64)
        for attribute in original.domain
    )
    return Microdata(original.domain, columns)


def _code(attribute: Attribute, value: Any) -> int:
    """Return the code of a value, which has the type of its column; integers may be floats."""
    if pd.isna(value):
        return attribute.size - 1  # the category of records without a value
    text = str(value).lower() if isinstance(value, bool | np.bool_) else str(value)
    return attribute.code_of(text if text in attribute.categories else f"{float(value):.12g}")
