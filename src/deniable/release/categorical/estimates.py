"""What is made from a protected file and its channels: estimates, weights, synthetic records.

Nothing here reads the true records, so it costs no privacy ([multirr], section 5).
"""

import warnings
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from itertools import combinations
from typing import Any, Literal

import numpy as np
import numpy.typing as npt
import pandas as pd

from deniable.arrays import Counts, Floats, Positions
from deniable.channels import Channel, KeepOrReplace, Target
from deniable.errors import DeniableError
from deniable.estimation import (
    Z_95,
    Likelihood,
    Part,
    Reduced,
    combined,
    own_share_part,
    unbiased_part,
)
from deniable.pram import Block, StratifiedProtocol, Stratum, label
from deniable.randomized_response import (
    TOLERANCE,
    Adjustment,
    Unreachable,
    adjust,
    repeat_records,
    reports_categories,
    synthesize,
)
from deniable.records import Domain, Microdata
from deniable.release import CategoricalRelease, marked_as, public_source
from deniable.sampling import RandomSource

LIKELIHOOD_TOLERANCE = 1e-3  # nats; far below what any test between distributions could tell
TARGETS: tuple[Target, ...] = ("file", "population")
Basis = Literal["clusters", "adjustment"]

SYNTHETIC_MARKS: Mapping[Basis, str] = {
    "clusters": "SYNTHETIC: the cells estimated for each cluster of attributes, repeated, and the "
    "clusters matched at random; no record is anybody's answer",
    "adjustment": "SYNTHETIC: randomized records repeated as RR-Adjustment weights them; their "
    "number and order are nobody's",
}


@dataclass(frozen=True, eq=False)
class StratumReports:
    """The reports of a block in the stratum `name`, and the `channel` that they went through.

    Estimates are through `reduced`; `counts` have the shape (reports,).
    """

    name: str
    channel: Channel
    reduced: Reduced
    counts: Counts

    def parts(self, indicators: Floats, *, invariant: bool) -> tuple[Part, Part | None]:
        """Return the unbiased estimate, and the reports' own shares if these are one (`invariant`).

        Of the proportions that `indicators` sum cells into, shape (proportions, cells).
        """
        own = own_share_part(self.channel, self.counts, indicators) if invariant else None
        return unbiased_part(self.reduced, self.counts, indicators), own


def estimate(protocol: StratifiedProtocol, reports: Microdata) -> pd.DataFrame:
    """Estimate every attribute's margin and every joint distribution of a cluster of a `protocol`.

    `reports` is the protected file; intervals of 95 % hold each on its own (normal approximation).

    A row a category or cell: ``attributes`` and ``categories`` (joined by " x "), ``cluster``,
    ``stratum`` (empty: the whole file) and its ``records``, ``reported`` (share of reports;
    empty where reports are of other things than the categories),
    ``estimate`` (unbiased: may leave [0, 1]), for the target "file" (these very records) and for
    "population" (what they were drawn from) ``standard_error_*``, ``ci_low_*``, ``ci_high_*``
    (empty where the variance is estimated below zero, or one record would have to tell of a
    population), ``maximum_likelihood`` (a proper distribution) and ``likelihood_gap`` (bound on
    what its log-likelihood lacks of the maximum, in nats). All of these are empty where a matrix is
    singular, which only an invariant one may be. Where the matrices are invariant, ``reported`` is
    an estimate itself and has ``reported_standard_error_*``, ``reported_ci_low_*``,
    ``reported_ci_high_*``. Stratum attributes are reported as they are: their rows have no error
    but that of sampling.
    """
    tables = []
    for block, strata in reports_by_block(protocol, reports):
        likely = [each.reduced.likelihood(each.counts, LIKELIHOOD_TOLERANCE) for each in strata]
        for margin, indicators in margins(protocol.domain.project(block)):
            about = margin | {"cluster": " x ".join(block)}
            for name, chosen in groups(strata):
                own = [strata[i] for i in chosen]
                columns = _columns(own, indicators, invariant=protocol.invariant)
                columns |= _likelihood(own, [likely[i] for i in chosen], indicators)
                tables.append(pd.DataFrame(about | {"stratum": name} | columns))
    table = pd.concat(tables, ignore_index=True)
    last = [name for name in table.columns.astype(str) if name.startswith("reported_")]
    return table[[*table.columns.drop(last), *last]]


def reports_by_block(
    protocol: StratifiedProtocol, data: Microdata, *, true: bool = False
) -> Iterator[tuple[Block, list[StratumReports]]]:
    """Yield each block of a `protocol`, with its reports and channel in each stratum with records.

    Reports are counted of the `data`; of `true` records the block's cells. Stratum attributes,
    which go through as they are, are a block that is not taken by strata.
    """
    parts = protocol.parts(data)
    for block in protocol.blocks:
        found = []
        for stratum, rows in parts:
            each = protocol.protocols[stratum]
            own = data.project(block if true else each.reported_as(block).names)
            part = Microdata(own.domain, tuple(column[rows] for column in own.columns))
            channel = each.channel_of(block)
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
    """Return which `strata` are estimated together: all, and each where there are several."""
    together = [("", list(range(len(strata))))]
    return together + [(each.name, [i]) for i, each in enumerate(strata) if each.name]


def margins(block: Domain) -> Iterator[tuple[dict[str, Any], Floats]]:
    """Yield what names each margin of a `block`, and the 0/1 matrix that sums cells into it.

    The margins are those of its attributes and, if it has several, its cells themselves.
    """
    for names in dict.fromkeys([*combinations(block.names, 1), block.names]):
        about = {"attributes": " x ".join(names), "categories": block.project(names).cell_labels()}
        yield about, indicators_of(block, names)


def indicators_of(block: Domain, names: Block) -> Floats:
    """Return the 0/1 matrix that sums a `block`'s cells into those of its attributes `names`."""
    codes, margin = np.arange(block.size), block.project(names)
    columns = np.unravel_index(codes, block.shape)
    cells = np.ravel_multi_index([columns[block.position(n)] for n in names], margin.shape)
    indicators = np.zeros((margin.size, block.size))
    indicators[cells, codes] = 1.0
    return indicators


def _columns(
    strata: Sequence[StratumReports], indicators: Floats, *, invariant: bool
) -> dict[str, Any]:
    parts = [each.parts(indicators, invariant=invariant) for each in strata]
    unbiased = combined([part for part, _ in parts])
    columns: dict[str, Any] = {
        "records": unbiased.records,
        "reported": _reported(strata, indicators),
        "estimate": unbiased.values,
    }
    columns |= interval_columns(unbiased)
    if own := [part for _, part in parts if part is not None]:
        columns |= interval_columns(combined(own), "reported_")
    return columns


def _reported(strata: Sequence[StratumReports], indicators: Floats) -> Floats:
    """Return shares of reports; NaN where these are of other things than the categories."""
    if not all(reports_categories(each.channel) for each in strata):
        return np.full(len(indicators), np.nan)
    counts = np.sum([each.counts for each in strata], axis=0)
    return np.asarray(indicators @ (counts / counts.sum()))


def _likelihood(
    strata: Sequence[StratumReports], likely: Sequence[Likelihood], indicators: Floats
) -> dict[str, Any]:
    """Return the maximum-likelihood estimate: strata have likelihoods of their own, which add."""
    records = np.array([each.counts.sum() for each in strata])
    parts = [n * own.proportions for n, own in zip(records / records.sum(), likely, strict=True)]
    mixed = sum(parts, np.zeros(indicators.shape[1]))
    gap = float(sum(own.gap for own in likely))
    return {"maximum_likelihood": indicators @ mixed, "likelihood_gap": gap}


def interval_columns(part: Part, prefix: str = "") -> dict[str, Floats | int]:
    """Return standard errors and intervals of 95 % of a `part`, as columns after a `prefix`."""
    columns: dict[str, Floats | int] = {}
    for target in TARGETS:
        errors = part.standard_errors(target)
        columns[f"{prefix}standard_error_{target}"] = errors
        columns[f"{prefix}ci_low_{target}"] = part.values - Z_95 * errors
        columns[f"{prefix}ci_high_{target}"] = part.values + Z_95 * errors
    return columns


@dataclass(frozen=True, eq=False)
class AdjustedReports:
    """Weights of a protected file, and how well they meet its estimates in each stratum.

    The `weights`, shape (records,), are not negative and sum to 1; each stratum has its share.
    Strata are adjusted each on its own: the `adjustments`.
    """

    weights: Floats
    adjustments: Mapping[Stratum, Adjustment]

    def table(self) -> pd.DataFrame:
        """Return a row a record: ``record``, its number from 1, and ``weight``."""
        records = np.arange(1, self.weights.size + 1)
        return pd.DataFrame({"record": records, "weight": self.weights})


def estimated_distributions(
    protocol: StratifiedProtocol, estimates: pd.DataFrame, stratum: Stratum = ()
) -> list[Floats]:
    """Return the distribution of each cluster of a `protocol`, by default of the whole file.

    Else of a `stratum`. By maximum likelihood; through invariant matrices the reports' own shares,
    which are unbiased, a distribution already, and nearer to the truth. The `estimates` are those
    of `estimate`; of other clusters than the protocol's they are refused by a `DeniableError`.
    """
    distributions = []
    own = estimates[estimates["stratum"] == label(stratum)]
    column = "reported" if protocol.invariant else "maximum_likelihood"
    for cluster in protocol.blocks:
        name, cells = " x ".join(cluster), protocol.domain.project(cluster).size
        found = own.loc[own["attributes"] == name, column].to_numpy(float)
        if found.size != cells:
            where = f" in the stratum {label(stratum)}" if stratum else ""
            raise DeniableError(
                f"the estimates have {found.size} rows for {name}{where}, which has {cells} cells; "
                "estimate again from the protected file"
            )
        distributions.append(found)
    return distributions


def adjust_reports(
    protocol: StratifiedProtocol, reports: Microdata, estimates: pd.DataFrame
) -> AdjustedReports:
    """Weight the `reports` so that every cluster of the `protocol` has its estimated distribution.

    The targets are the maximum-likelihood ones of `estimates`: attribute by attribute for
    RR-Independent, cluster by cluster for RR-Clusters. RR-Joint has one cluster, so its weights are
    that estimate. Strata, which are reported as they are, are weighted one by one, each to its own
    estimates.
    Reports through invariant matrices meet their targets as they are: their weights are equal.

    Warns as `deniable.randomized_response.adjustment.adjust` does.
    """
    weights = np.empty(len(reports))
    adjustments = {}
    for stratum, rows, part in _strata(protocol, reports):
        with _named_warnings(stratum):
            adjusted = adjust(
                [own.domain.ravel(own.columns) for own in map(part.project, protocol.blocks)],
                estimated_distributions(protocol, estimates, stratum),
                domains=[protocol.domain.project(cluster) for cluster in protocol.blocks],
            )
        weights[rows] = adjusted.weights * (len(part) / len(reports))
        adjustments[stratum] = adjusted
    return AdjustedReports(weights, adjustments)


def adjusted(release: CategoricalRelease, made: Mapping[str, Any]) -> dict[str, Any]:
    """Return the weights of the ``protected`` file of a `release`, and what they say of themselves.

    From it, the ``release`` and the ``estimates`` that were `made`.
    """
    estimates, protocol = made["estimates"], StratifiedProtocol.from_json(made["release"])
    found = adjust_reports(protocol, made["protected"], estimates)
    return {
        "adjusted_weights": marked_as(found.table(), estimates),
        "adjustment": describe_adjustment(made["release"], protocol, found),
    }


@contextmanager
def _named_warnings(stratum: Stratum) -> Iterator[None]:
    """Say of which stratum a warning is."""
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        yield
    for each in caught:
        where = f"stratum {label(stratum)}: " if stratum else ""
        warnings.warn(f"{where}{each.message}", each.category, stacklevel=4)


def _strata(
    protocol: StratifiedProtocol, data: Microdata
) -> Iterator[tuple[Stratum, Positions, Microdata]]:
    """Yield the records of each stratum, restricted to what is randomized, and their positions."""
    own = data.project(protocol.randomized.names)
    for stratum, rows in protocol.parts(data):
        part = Microdata(own.domain, tuple(column[rows] for column in own.columns), data.marks)
        yield stratum, rows, part


def describe_adjustment(
    release: Mapping[str, Any], protocol: StratifiedProtocol, adjusted: AdjustedReports
) -> dict[str, Any]:
    """Return what `adjusted` weights say; `release` is what the release says of itself.

    They are of reports by the `protocol`.
    Among others ``effective_records``, 1 / (sum of squared weights): as many equally weighted
    records would say as much (Kish). ``sweeps`` and ``gap`` are the largest of any stratum.
    """
    weights, each = adjusted.weights, adjusted.adjustments
    return {
        **{key: release[key] for key in ("release", "notice", "rehearsal", "data_source")},
        "method": "RR-Adjustment, Algorithm 2 of Multi-Dimensional Randomized Response"
        + (", in each stratum on its own" if protocol.strata else ""),
        "targets": ("reported" if protocol.invariant else "maximum_likelihood")
        + " in estimates.csv, for each of the clusters"
        + (" in each stratum" if protocol.strata else ""),
        "clusters": [list(cluster) for cluster in protocol.blocks],
        "records": weights.size,
        "records_of_weight_0": int(np.sum(weights == 0)),
        "effective_records": float(1 / np.sum(weights**2)),
        "sweeps": max(adjustment.sweeps for adjustment in each.values()),
        "gap": max(adjustment.gap for adjustment in each.values()),
        "tolerance": TOLERANCE,
        "left_out": [
            _left_out(protocol, stratum, out)
            for stratum, adjustment in each.items()
            for out in adjustment.unreachable
        ],
    }


def _left_out(protocol: StratifiedProtocol, stratum: Stratum, out: Unreachable) -> dict[str, Any]:
    domain = protocol.domain.project(protocol.blocks[out.attribute])
    codes = np.unravel_index(out.category, domain.shape)
    categories = [a.categories[code] for a, code in zip(domain, codes, strict=True)]
    about = {"attributes": list(domain.names), "categories": categories, "target": out.target}
    where = {"stratum": dict(zip(protocol.strata, stratum, strict=True))} if stratum else {}
    return about | where


def synthesize_release(
    basis: Basis,
    protocol: StratifiedProtocol,
    protected: Microdata,
    estimates: pd.DataFrame,
    weights: npt.ArrayLike,
    source: RandomSource,
) -> Microdata:
    """Return as many synthetic records as the `protected` file has, marked as synthetic.

    By a `protocol`, with chance from a `source`.
    Stratum attributes are public: record by record they are those of the protected file, and the
    others are made within the stratum.

    The `basis` says what to repeat: the estimated cells of each cluster, as `estimates` has them,
    or the reports, by their `weights` of shape (len(protected),), as `adjust_reports` returns them.
    """
    shares = np.asarray(weights, dtype=float)
    columns = {name: protected.column(name).copy() for name in protected.domain.names}
    for stratum, rows, part in _strata(protocol, protected):
        if basis == "adjustment":
            own = shares[rows] if shares.shape == (len(protected),) else shares
            scaled = own / own.sum() if stratum else own
            made = repeat_records(part, scaled, len(part), source)
        else:
            distributions = estimated_distributions(protocol, estimates, stratum)
            made = synthesize(part.domain, protocol.blocks, distributions, len(part), source)
        for name in part.domain.names:
            columns[name][rows] = made.column(name)
    synthetic = {"synthetic": SYNTHETIC_MARKS[basis], "synthetic_from": basis}
    marks = dict(protected.marks) | synthetic
    return Microdata(protected.domain, tuple(columns.values()), marks)


def synthesized(release: CategoricalRelease, made: Mapping[str, Any]) -> dict[str, Microdata]:
    """Return the ``synthetic`` records of a `release`, from all that was `made` before.

    Unlike the protected file they may be drawn again: all of them rest on that one draw.
    """
    protocol = StratifiedProtocol.from_json(made["release"])
    given = made["protected"], made["estimates"], made["adjusted_weights"]["weight"]
    source = public_source(release, made["protected"], "synthesis")
    return {"synthetic": synthesize_release(release.synthetic, protocol, *given, source)}
