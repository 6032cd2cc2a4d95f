"""The release lane, from a protected file and its channels to estimates, and how good they are."""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import pandas as pd
from scipy import special

from deniable.arrays import Counts, Floats
from deniable.channels import Channel, KeepOrReplace, Target
from deniable.estimation import Likelihood, Part, Reduced, combined, own_share_part, unbiased_part
from deniable.pram import Block, StratifiedProtocol, cell_labels, label
from deniable.records import Domain, Microdata
from deniable.release import CategoricalRelease, marked

LIKELIHOOD_TOLERANCE = 1e-3  # nats; far below what any test between distributions could tell
TARGETS: tuple[Target, ...] = ("file", "population")


@dataclass(frozen=True, eq=False)
class StratumReports:
    """The reports of a block in one stratum, and the channel that they went through."""

    name: str
    channel: Channel
    reduced: Reduced
    counts: Counts

    def parts(self, indicators: Floats, *, invariant: bool) -> tuple[Part, Part | None]:
        """Return the unbiased estimate, and the reports' own shares where these are one."""
        own = own_share_part(self.channel, self.counts, indicators) if invariant else None
        return unbiased_part(self.reduced, self.counts, indicators), own


def estimated(release: CategoricalRelease, made: Mapping[str, Any]) -> dict[str, pd.DataFrame]:
    """Return the estimates of a release, from its ``channels`` and its ``protected`` file."""
    protocol = StratifiedProtocol.from_json(made["channels"])
    estimates = estimate(protocol, made["protected"])
    return {"estimates": marked(estimates, release, made["protected"])}


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
    for block, strata in reports_by_block(protocol, reports):
        likely = [each.reduced.likelihood(each.counts, LIKELIHOOD_TOLERANCE) for each in strata]
        for margin, indicators in margins(protocol.domain.project(block)):
            about = margin | {"cluster": " x ".join(block)}
            for name, chosen in groups(strata):
                parts = [strata[i].parts(indicators, invariant=protocol.invariant) for i in chosen]
                shown = _columns(strata, chosen, parts, indicators, z)
                likelihood = _likelihood(strata, chosen, likely, indicators)
                tables.append(pd.DataFrame({**about, "stratum": name, **shown, **likelihood}))
    return pd.concat(tables, ignore_index=True)[_order(protocol.invariant)]


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


def reports_by_block(
    protocol: StratifiedProtocol, data: Microdata
) -> Iterator[tuple[Block, list[StratumReports]]]:
    """Yield each block, with the counts of its cells and its channel in each stratum with records.

    Stratum attributes, which go through as they are, are a block that is not taken by strata.
    """
    parts = protocol.parts(data)
    for block in protocol.blocks:
        own, found = data.project(block), []
        for stratum, rows in parts:
            part = Microdata(own.domain, tuple(column[rows] for column in own.columns))
            channel = protocol.protocols[stratum].channel_of(block)
            found.append(_reports(protocol, label(stratum), channel, part))
        yield block, found
    if protocol.strata:
        own = data.project(protocol.strata)
        unchanged = KeepOrReplace(1.0, np.zeros(own.domain.size))
        yield protocol.strata, [_reports(protocol, "", unchanged, own)]


def _reports(
    protocol: StratifiedProtocol, stratum: str, channel: Channel, own: Microdata
) -> StratumReports:
    reduced = Reduced.of(channel, invariant=protocol.invariant)
    return StratumReports(stratum, channel, reduced, own.counts().reshape(-1))


def groups(strata: Sequence[StratumReports]) -> list[tuple[str, list[int]]]:
    """Return which strata are estimated together: all of them, and each where there are several."""
    together = [("", list(range(len(strata))))]
    return together + [(each.name, [i]) for i, each in enumerate(strata) if each.name]


def margins(block: Domain) -> Iterator[tuple[dict[str, Any], Floats]]:
    """Yield what names each margin of a block, and the 0/1 matrix that sums cells into it.

    The margins are those of its attributes and, if it has several, its cells themselves.
    """
    codes = np.arange(block.size)
    columns = np.unravel_index(codes, block.shape)
    single: list[Block] = [(name,) for name in block.names]
    for names in single if len(single) == 1 else [*single, block.names]:
        margin = block.project(names)
        cells = np.ravel_multi_index([columns[block.position(n)] for n in names], margin.shape)
        indicators = np.zeros((margin.size, block.size))
        indicators[cells, codes] = 1.0
        yield {"attributes": " x ".join(names), "categories": cell_labels(margin)}, indicators


def _columns(
    strata: Sequence[StratumReports],
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
    strata: Sequence[StratumReports],
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
