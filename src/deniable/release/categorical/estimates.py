"""The release lane, from a protected file and its channels to estimates, and how good they are."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
from scipy import special

from deniable.arrays import Counts, Floats
from deniable.channels import Channel, KeepOrReplace, Target
from deniable.estimation import Likelihood, Part, Reduced, combined, own_share_part, unbiased_part
from deniable.files import read_table
from deniable.pram import Block, StratifiedProtocol, cell_labels, label
from deniable.records import Domain, Microdata

LIKELIHOOD_TOLERANCE = 1e-3  # nats; far below what any test between distributions could tell
TARGETS: tuple[Target, ...] = ("file", "population")
ROUNDING = 1e-8  # of numbers written with 9 digits
KEYS = ["attributes", "categories", "stratum"]
TEXTS = [*KEYS, "cluster"]


@dataclass(frozen=True, eq=False)
class _Stratum:
    """The reports of a block in one stratum, and the channel that they went through."""

    name: str
    channel: Channel
    reduced: Reduced
    counts: Counts

    def parts(self, indicators: Floats, *, invariant: bool) -> tuple[Part, Part | None]:
        """Return the unbiased estimate, and the reports' own shares where these are one."""
        own = own_share_part(self.channel, self.counts, indicators) if invariant else None
        return unbiased_part(self.reduced, self.counts, indicators), own


def estimate(
    protocol: StratifiedProtocol, reports: Microdata, confidence: float = 0.95
) -> pd.DataFrame:
    """Estimate every attribute's margin and every cluster's joint distribution.

    Parameters
    ----------
    protocol : StratifiedProtocol
    reports : Microdata
        The protected file.
    confidence : float
        Of each interval on its own (normal approximation).

    Returns
    -------
    DataFrame
        A row a category or cell: ``attributes`` and ``categories`` (joined by " x "), ``cluster``,
        ``stratum`` (empty: the whole file) and its ``records``, ``reported`` (share of reports),
        ``estimate`` (unbiased: may leave [0, 1]), for the target "file" (these very records) and
        for "population" (what they were drawn from) ``standard_error_*``, ``ci_low_*``,
        ``ci_high_*`` (empty where the variance is estimated below zero, or one record would have
        to tell of a population), ``maximum_likelihood`` (a proper distribution) and
        ``likelihood_gap`` (bound on what its log-likelihood lacks of the maximum, in nats). All of
        these are empty where a matrix is singular, which only an invariant one may be. Where the
        matrices are invariant, ``reported`` is an estimate itself and has
        ``reported_standard_error_*``, ``reported_ci_low_*``, ``reported_ci_high_*``. Stratum
        attributes are reported as they are: their rows have no error but that of sampling.
    """
    z = float(-special.ndtri((1 - confidence) / 2))
    tables = []
    for block, channels in _blocks(protocol):
        domain = protocol.domain.project(block)
        strata = _reports(protocol, channels, block, reports)
        likely = [each.reduced.likelihood(each.counts, LIKELIHOOD_TOLERANCE) for each in strata]
        for names in _margins(block):
            indicators = _margin_indicators(domain, names)
            about: dict[str, Any] = {
                "attributes": " x ".join(names),
                "categories": cell_labels(domain.project(names)),
                "cluster": " x ".join(block),
            }
            for name, chosen in _groups(strata):
                parts = [strata[i].parts(indicators, invariant=protocol.invariant) for i in chosen]
                shown = _columns(strata, chosen, parts, indicators, z)
                likelihood = _likelihood(strata, chosen, likely, indicators)
                tables.append(pd.DataFrame({**about, "stratum": name, **shown, **likelihood}))
    return pd.concat(tables, ignore_index=True)[_order(protocol.invariant)]


def read_estimates(path: Path | str) -> pd.DataFrame:
    """Read what was written of `estimate`: an empty stratum is "", another empty field NaN."""
    table = read_table(path, dtype=dict.fromkeys(TEXTS, str))
    return table.fillna({"stratum": ""})


def _order(invariant: bool) -> list[str]:
    of_target = [
        f"{name}_{target}" for target in TARGETS for name in ("standard_error", "ci_low", "ci_high")
    ]
    columns = [
        *("attributes", "categories", "cluster", "stratum", "records", "reported", "estimate"),
        *of_target,
        *("maximum_likelihood", "likelihood_gap"),
    ]
    return columns + ([f"reported_{name}" for name in of_target] if invariant else [])


def _blocks(
    protocol: StratifiedProtocol,
) -> Iterator[tuple[Block, dict[tuple[str, ...], Channel]]]:
    """Yield each block with its channel in each stratum; stratum attributes go through as they are.

    These are keyed by () and so are not taken stratum by stratum.
    """
    for block in protocol.blocks:
        yield block, {s: own.channel_of(block) for s, own in protocol.protocols.items()}
    if protocol.strata:
        size = protocol.domain.project(protocol.strata).size
        yield protocol.strata, {(): KeepOrReplace(1.0, np.zeros(size))}


def _reports(
    protocol: StratifiedProtocol,
    channels: dict[tuple[str, ...], Channel],
    block: Block,
    data: Microdata,
) -> list[_Stratum]:
    """Return the counts of a block's cells, with their channel, for each stratum with records."""
    own = data.project(block)
    parts = protocol.parts(data) if () not in channels else [((), np.arange(len(data)))]
    found = []
    for stratum, rows in parts:
        part = own if not stratum else Microdata(own.domain, tuple(c[rows] for c in own.columns))
        channel = channels[stratum]
        reduced = Reduced.of(channel, invariant=protocol.invariant)
        found.append(_Stratum(label(stratum), channel, reduced, part.counts().reshape(-1)))
    return found


def _groups(strata: Sequence[_Stratum]) -> list[tuple[str, list[int]]]:
    """Return which strata are estimated together: all of them, and each where there are several."""
    groups = [("", list(range(len(strata))))]
    return groups + [(each.name, [i]) for i, each in enumerate(strata) if each.name]


def _margins(cluster: Sequence[str]) -> list[tuple[str, ...]]:
    single: list[tuple[str, ...]] = [(name,) for name in cluster]
    return single if len(cluster) == 1 else [*single, tuple(cluster)]


def _columns(
    strata: Sequence[_Stratum],
    chosen: Sequence[int],
    parts: Sequence[tuple[Part, Part | None]],
    indicators: Floats,
    z: float,
) -> dict[str, Floats | int]:
    counts = sum((strata[i].counts for i in chosen), np.zeros(indicators.shape[1], dtype=np.int64))
    unbiased = combined([part for part, _ in parts])
    columns: dict[str, Floats | int] = {
        "records": unbiased.records,
        "reported": indicators @ (counts / counts.sum()),
        "estimate": unbiased.values,
    }
    columns |= _intervals(unbiased, "", z)
    if own := [part for _, part in parts if part is not None]:
        columns |= _intervals(combined(own), "reported_", z)
    return columns


def _intervals(part: Part, prefix: str, z: float) -> dict[str, Floats | int]:
    columns: dict[str, Floats | int] = {}
    for target in TARGETS:
        errors = part.standard_errors(target)
        columns[f"{prefix}standard_error_{target}"] = errors
        columns[f"{prefix}ci_low_{target}"] = part.values - z * errors
        columns[f"{prefix}ci_high_{target}"] = part.values + z * errors
    return columns


def _likelihood(
    strata: Sequence[_Stratum],
    chosen: Sequence[int],
    likely: Sequence[Likelihood],
    indicators: Floats,
) -> dict[str, Floats | float]:
    """Return the maximum-likelihood estimate: strata have likelihoods of their own, which add."""
    records = [int(strata[i].counts.sum()) for i in chosen]
    mixed = sum(
        (n / sum(records) * likely[i].proportions for n, i in zip(records, chosen, strict=True)),
        np.zeros(indicators.shape[1]),
    )
    gap = float(sum(likely[i].gap for i in chosen))
    return {"maximum_likelihood": indicators @ mixed, "likelihood_gap": gap}


def _margin_indicators(domain: Domain, names: Sequence[str]) -> Floats:
    """Return the 0/1 matrix that sums the cells of `domain` into the margin over `names`."""
    codes = np.arange(domain.size)
    columns = np.unravel_index(codes, domain.shape)
    margin = domain.project(names)
    cells = np.ravel_multi_index([columns[domain.position(n)] for n in names], margin.shape)
    indicators = np.zeros((margin.size, domain.size))
    indicators[cells, codes] = 1.0
    return indicators


# -- a rehearsal knows the truth -------------------------------------------------------------------


def check_against_truth(estimates: pd.DataFrame, coverage: pd.DataFrame) -> pd.DataFrame:
    """Set the estimates of a rehearsal beside the true proportions, which a rehearsal knows.

    Parameters
    ----------
    estimates : DataFrame
        As `estimate` returns it.
    coverage : DataFrame
        As `coverage_of_redraws` returns it.

    Returns
    -------
    DataFrame
        ``estimates`` with ``true``, ``coverage``, ``redraws``, and ``covered``: whether the
        interval for the file holds the truth, empty without an estimate. Where the matrices are
        invariant, with ``reported_covered`` and ``reported_coverage``, the same for the reports'
        own shares.
    """
    table = estimates.merge(coverage, on=KEYS, validate="one_to_one", how="left")
    for prefix in ("", "reported_"):
        if f"{prefix}coverage" in table:
            low = table[f"{prefix}ci_low_file"] - ROUNDING
            high = table[f"{prefix}ci_high_file"] + ROUNDING
            covered = table["true"].between(low, high)
            unknown = table[f"{prefix}coverage"].isna()  # without an estimate nothing can cover
            table[f"{prefix}covered"] = (
                covered.astype("boolean").mask(unknown) if unknown.any() else covered
            )
    return table


def coverage_of_redraws(
    protocol: StratifiedProtocol,
    data: Microdata,
    generator: np.random.Generator,
    redraws: int = 2000,
    confidence: float = 0.95,
) -> pd.DataFrame:
    """Draw the release again and again, as counts, and see how often each interval covers.

    One release says little of its intervals: its cells depend on each other, so they miss together.

    Parameters
    ----------
    protocol : StratifiedProtocol
        Its matrices stay as they are, as they do given the records.
    data : Microdata
        The true records.

    Returns
    -------
    DataFrame
        ``attributes``, ``categories``, ``stratum``, ``true`` (proportion), ``coverage`` (share of
        redraws whose interval for the file holds it), ``redraws``; with ``reported_coverage`` where
        the matrices are invariant.
    """
    z = float(-special.ndtri((1 - confidence) / 2))
    tables = []
    for block, channels in _blocks(protocol):
        domain = protocol.domain.project(block)
        truth = _reports(protocol, channels, block, data)
        drawn = [_redrawn(each, generator, redraws) for each in truth]
        for names in _margins(block):
            indicators = _margin_indicators(domain, names)
            for name, chosen in _groups(truth):
                counts = sum(truth[i].counts for i in chosen)
                true = indicators @ counts / np.sum(counts)
                parts = [drawn[i].parts(indicators, invariant=protocol.invariant) for i in chosen]
                own = [part for _, part in parts if part is not None]
                columns = {
                    "attributes": " x ".join(names),
                    "categories": cell_labels(domain.project(names)),
                    "stratum": name,
                    "true": true,
                    "coverage": _coverage(combined([part for part, _ in parts]), true, z),
                }
                if own:
                    columns["reported_coverage"] = _coverage(combined(own), true, z)
                tables.append(pd.DataFrame(columns | {"redraws": redraws}))
    return pd.concat(tables, ignore_index=True)


def _redrawn(true: _Stratum, generator: np.random.Generator, redraws: int) -> _Stratum:
    tables = np.broadcast_to(true.counts, (redraws, true.counts.size))
    reports = true.channel.randomize_counts(tables, generator)
    return _Stratum(true.name, true.channel, true.reduced, reports)


def _coverage(part: Part, true: Floats, z: float) -> Floats:
    # Exact estimates (nothing was replaced) have no error and cover, up to rounding.
    covered = np.abs(part.values - true) <= z * part.standard_errors("file") + 1e-12
    rates = np.asarray(covered.mean(axis=0))
    return np.where(np.isnan(part.values).all(axis=0), np.nan, rates)
