"""The design and the draw of a file of categories, and the matrices that it goes through."""

import math
import re
from collections.abc import Iterator, Mapping
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd

from deniable.arrays import Floats, Positions
from deniable.channels import Channel, invariance_gap, write_channel
from deniable.errors import DeniableError
from deniable.files import write_table
from deniable.pram import StratifiedProtocol, Stratum, label, parts_by_stratum, shares
from deniable.randomized_response import (
    Protocol,
    as_reports,
    refuse_too_large,
    rr_clusters,
    rr_independent,
    rr_joint,
)
from deniable.records import Microdata
from deniable.release import (
    CONVENTION,
    NOTHING,
    CategoricalRelease,
    PramRelease,
    RandomizedResponseRelease,
    ReleaseKey,
    described,
    exact_cells,
    in_order,
    marks_for,
    spreadsheets,
    texts_of,
)
from deniable.release.categorical.clusters import Formed, answering, form_clusters, part_of
from deniable.sampling import Chance

TOLERANCE = 1e-9  # of what a solver is asked for
WHOLE_RECORD = "the whole record of one respondent"


def designed(release: CategoricalRelease, data: Microdata, key: ReleaseKey) -> dict[str, Any]:
    """Return what the design of a `release` leaves: what it says of itself.

    Matrices may be made of the true `data`, clusters of answers that are drawn by the `key`.
    """
    chosen, formed = data.project(release.attributes or data.domain.names), None
    if release.mechanism == "rr_clusters":
        formed = form_clusters(release, chosen, key.draws(release.stated()))
    protocol = design(release, chosen, formed)
    records = len(data) if formed is None else formed.records
    return {"release": describe(release, protocol, data.marks["data_source"], records, formed)}


def protected(
    release: CategoricalRelease, made: Mapping[str, Any], data: Microdata, key: ReleaseKey
) -> dict[str, Any]:
    """Return what the draw of a `release` leaves: its protected file, by the ``release`` it `made`.

    Drawn by the `key`, of all records of the true `data`, or of those that the design leaves to
    answer for the file. For the owner alone, ``exact_cells``: how many reports are true.
    """
    protocol = StratifiedProtocol.from_json(made["release"])
    rows = answering(made["release"], len(data))
    draws = key.draws(made["release"])
    drawn = protect(release, protocol, data, draws, rows)
    own = part_of(data, rows)
    exact = {name: own.column(name) == drawn.column(name) for name in drawn.domain.names}
    return {"protected": in_order(release, drawn, draws), "exact_cells": exact_cells(exact)}


def protect(
    release: CategoricalRelease,
    protocol: StratifiedProtocol,
    data: Microdata,
    chance: Chance,
    rows: Positions | None = None,
) -> Microdata:
    """Randomize a `release`'s attributes by its `protocol`, and mark the result.

    Of every record of the true `data`, or of those at `rows`; `chance` is what draws.
    """
    own = part_of(data, rows)
    reports = protocol.randomize(own.project(protocol.domain.names), chance, rows).reports
    return Microdata(reports.domain, reports.columns, marks_for(release, data))


def design(
    release: CategoricalRelease, data: Microdata, formed: Formed | None = None
) -> StratifiedProtocol:
    """Return the protocol of a `release`: its clusters and their channels, by stratum.

    Clusters of RR-Clusters are those that were `formed`; matrices may be made of the true `data`.

    Raises `DeniableError` if a cluster's channel is singular, so that its file could not be
    estimated from; if its epsilon is infinite; if it is one matrix over too many cells for the
    records (bound (7)).
    """
    chosen = data.project(release.attributes) if release.attributes else data
    if isinstance(release, PramRelease):
        return _pram(release, chosen)
    return StratifiedProtocol.single(_randomized_response(release, chosen, formed))


def _randomized_response(
    release: RandomizedResponseRelease, data: Microdata, formed: Formed | None
) -> Protocol:
    domain, records = data.domain, len(data) if formed is None else formed.records
    given = release.p, release.matrix
    if release.mechanism == "rr_independent":
        protocol = rr_independent(domain, *given)
    elif release.mechanism == "rr_joint":
        protocol = rr_joint(domain, records, *given)
    elif formed is None:
        raise DeniableError(f"release {release.name!r} has no clusters yet; form them first")
    else:
        protocol = rr_clusters(domain, formed.clusters, *given, release.cluster_mechanism)
    for cluster, channel in zip(protocol.clusters, protocol.channels, strict=True):
        if channel.size > 1 and math.isinf(channel.epsilon):
            raise DeniableError(
                f"release {release.name!r}: with p {release.p:.17g} the channel of "
                f"{' x '.join(cluster)} never changes a record, or tells some values apart for "
                "certain (its epsilon is infinite); choose a smaller p"
            )
        # One matrix over all cells of a cluster.
        if release.mechanism == "rr_clusters" and len(channel.shape) == 1:
            refuse_too_large(domain.project(cluster), records)
        if channel.singular:
            raise DeniableError(
                f"release {release.name!r}: with matrix {release.matrix!r} and p {release.p:g} "
                f"the channel of {' x '.join(cluster)} is singular, so nothing could be estimated "
                "from the file; choose another p or matrix"
            )
    return protocol


def _pram(release: PramRelease, data: Microdata) -> StratifiedProtocol:
    """Return the matrices of a release, for each stratum that has records and each block.

    `data` are the true records, of the release's attributes. Raises `DeniableError` if a matrix
    cannot be made, never changes a record, cannot be estimated from, or lacks what is asked of it.
    """
    blocks = release.blocks(data.domain.names)
    randomized = data.domain.project([n for n in data.domain.names if n not in release.strata])
    protocols: dict[Stratum, Protocol] = {}
    for stratum, rows in parts_by_stratum(data, tuple(release.strata)):
        part = Microdata(data.domain, tuple(column[rows] for column in data.columns))
        channels = tuple(_channel(release, part, stratum, block) for block in blocks)
        protocols[stratum] = Protocol(randomized, blocks, channels)
    return StratifiedProtocol(
        data.domain, tuple(release.strata), protocols, invariant=_is_invariant_release(release)
    )


def _is_invariant_release(release: PramRelease) -> bool:
    """Return whether a release's matrices leave the true frequencies of a stratum as they are."""
    matrix = release.matrix
    return matrix.kind == "two_step" or (matrix.kind == "designed" and matrix.invariant)


def _channel(
    release: PramRelease, part: Microdata, stratum: Stratum, block: tuple[str, ...]
) -> Channel:
    name = " x ".join(block)
    where = f"release {release.name!r}: {name}"
    where += f" in the stratum {' x '.join(release.strata)} = {label(stratum)}" if stratum else ""
    proportions = shares(part, block)
    try:
        channel = release.matrix.channel(proportions, part.domain.project(block))
    except DeniableError as error:
        raise DeniableError(f"{where}: {error}") from None
    if channel.size > 1 and np.array_equal(channel.matrix(), np.eye(channel.size)):
        raise DeniableError(
            f"{where}: the matrix never changes a record; choose a smaller epsilon or retention"
        )
    # Through an invariant matrix the reports' own shares are estimates, be it singular or not.
    if channel.singular and not _is_invariant_release(release):
        raise DeniableError(
            f"{where}: the matrix is singular, so nothing could be estimated from the file; choose "
            "another epsilon or retention, or another kind or loss"
        )
    _refuse_unkept(where, release, channel, proportions)
    return channel


def _refuse_unkept(where: str, release: PramRelease, channel: Channel, proportions: Floats) -> None:
    """Raise `DeniableError` if the matrix that would be used lacks what was asked for."""
    wanted = release.matrix
    moved = invariance_gap(channel, proportions) if _is_invariant_release(release) else 0.0
    if moved > TOLERANCE:
        raise DeniableError(
            f"{where}: the matrix moves a frequency by {moved:.2g} and is not invariant; choose "
            "another kind of matrix"
        )
    if wanted.kind in ("retention", "designed") and wanted.retention is not None:
        # A category that no record has, an invariant matrix cannot report, let alone retain.
        kept = float(np.diag(channel.matrix())[proportions > 0].min())
        if kept < wanted.retention - TOLERANCE and channel.size > 1:
            raise DeniableError(
                f"{where}: a category is retained with {kept:.9g} only, not {wanted.retention:g}; "
                "choose another kind of matrix"
            )
    epsilon = getattr(wanted, "epsilon", None)
    if epsilon is not None and channel.epsilon > epsilon + TOLERANCE:
        raise DeniableError(
            f"{where}: epsilon is {channel.epsilon:.9g}, above {epsilon:g}; choose another kind of "
            "matrix"
        )


def describe(
    release: CategoricalRelease,
    protocol: StratifiedProtocol,
    data_source: str,
    records: int,
    formed: Formed | None = None,
) -> dict[str, Any]:
    """Return what a `release` says of itself: data, parameters, privacy, channels.

    Channels and epsilons are those of the `protocol`; records are published ones or a surrogate by
    the `data_source`. Of RR-Clusters also how the clusters were `formed`. The number of `records`
    that answer for the file is taken as public.
    """
    if isinstance(release, PramRelease):
        privacy = _pram_privacy(release, protocol)
        channels = {"estimates": _estimators(release)} | protocol.to_json()
    else:
        own = protocol.protocols[()]
        privacy = {
            "epsilon": protocol.epsilon,
            "epsilon_by_changed_attribute": protocol.epsilon_by_changed_attribute(),
            "not_counted": NOTHING,
        }
        channels = own.to_json()
        if formed is not None:
            privacy = formed.privacy(own)
            channels = {"dependences": formed.to_json()} | channels
        privacy = {"unit": WHOLE_RECORD} | privacy
    shown = {"records": records, "privacy": privacy, "convention": CONVENTION} | spreadsheets(
        texts_of(protocol.domain)
    )
    return described(release, data_source) | shown | channels


def _pram_privacy(release: PramRelease, protocol: StratifiedProtocol) -> dict[str, Any]:
    """Return what a PRAM release promises, and what it does not.

    An infinite epsilon is the text "infinity": JSON knows no such number.
    """
    by_attribute = protocol.epsilon_by_changed_attribute()
    epsilons = {name: by_attribute.get(name, math.inf) for name in protocol.domain.names}
    strata = f"the stratum attribute{'' if len(release.strata) == 1 else 's'} "
    strata += ", ".join(release.strata)
    privacy: dict[str, Any] = {
        "unit": WHOLE_RECORD + (f", but for {strata}" if release.strata else ""),
        "epsilon": _finite_or_text(protocol.epsilon),
        "epsilon_by_changed_attribute": {n: _finite_or_text(e) for n, e in epsilons.items()},
        "given": "the matrices, as they are published below; the worst stratum",
        "not_counted": _not_counted(release),
    }
    if release.strata:
        shown = "released unchanged: a change of stratum shows for certain (infinite epsilon)"
        privacy["not_protected"] = f"{strata}, {shown}"
    return privacy


def _estimators(release: PramRelease) -> str:
    """Return what estimates.csv holds, and what its intervals allow for."""
    text = (
        "estimate: the inverse of the matrix applied to the shares of reports, stratum by stratum; "
        "empty where a matrix is singular. Its intervals, for these records and for the "
        "population, hold for a matrix of any origin"
    )
    if _is_invariant_release(release):
        text += (
            ". reported: the reports' own shares, unbiased through invariant matrices; their "
            "reported_* intervals are those of [pram], (2.4) and (2.5), never of (1.3)"
        )
    return text


def _finite_or_text(epsilon: float) -> float | str:
    """Return an epsilon as JSON can hold it; ``float`` turns the text back."""
    return epsilon if math.isfinite(epsilon) else "infinity"


def _not_counted(release: PramRelease) -> str:
    if _is_invariant_release(release):
        return (
            "the matrices were computed from the true frequencies, and an invariant matrix "
            "discloses them: the frequencies of a block in a stratum are the stationary "
            "distribution of its matrix, so they are published with it, exactly; whoever knows all "
            "other records of the stratum can tell the last one's block. No finite epsilon holds "
            "for the matrices"
        )
    if release.matrix.kind == "designed":
        return (
            "the matrices were chosen by the true frequencies; what they tell of these is not in "
            "these figures"
        )
    if release.matrix.kind == "file":
        return "whatever the files of matrices tell, if they were made from the true records"
    return NOTHING


def matrices_table(protocol: StratifiedProtocol) -> pd.DataFrame:
    """Return matrices of a `protocol`: ``stratum, block, true, reported, probability``.

    A row an entry. Probabilities are text, with as many digits as give the same number again.
    """
    tables = []
    for _, about, categories, channel in _named_matrices(protocol):
        domain = protocol.domain.project(about["block"].split(" x "))
        reports = as_reports(domain, channel).cell_labels()
        entries = channel.matrix().reshape(-1)
        cells = {"true": np.repeat(categories, len(reports)), "reported": reports * len(categories)}
        entry = {"probability": [repr(float(each)) for each in entries]}
        tables.append(pd.DataFrame(about | cells | entry))
    return pd.concat(tables, ignore_index=True)


def written_matrices(release: PramRelease, made: Mapping[str, Any]) -> dict[str, Any]:
    """Return all matrices of the ``release`` that a `release` `made`.

    They are in one table, and there is what writes them into a folder one by one.
    """
    protocol = StratifiedProtocol.from_json(made["release"])
    return {
        "matrices": matrices_table(protocol),
        "channels": partial(write_matrices, protocol),
    }


def write_matrices(protocol: StratifiedProtocol, folder: Path | str) -> None:
    """Write each matrix of a `protocol` to a file in a `folder`, and ``index.csv``, a row a matrix.

    The files have the form that ``deniable channel`` reads. The index has ``file``, ``stratum``,
    ``block``, ``categories``, ``epsilon`` (exact), ``least_retention`` (smallest diagonal entry),
    ``invariant``.
    """
    rows = []
    for file, about, categories, channel in _named_matrices(protocol):
        write_channel(Path(folder) / file, channel, categories)
        least = float(np.diag(channel.matrix()).min())
        found = {"categories": channel.size, "epsilon": channel.epsilon, "least_retention": least}
        rows.append({"file": file} | about | found | {"invariant": protocol.invariant})
    write_table(Path(folder) / "index.csv", pd.DataFrame(rows))


def _named_matrices(
    protocol: StratifiedProtocol,
) -> Iterator[tuple[str, dict[str, str], list[str], Channel]]:
    """Yield a file's name, stratum and block, categories and channel for each matrix.

    The name is safe in any file system and the only one of its kind.
    """
    for number, (stratum, own) in enumerate(protocol.protocols.items(), start=1):
        prefix = f"{number:02d}_{_safe(stratum)}." if stratum else ""
        pairs = zip(own.clusters, own.channels, strict=True)
        for position, (block, channel) in enumerate(pairs, start=1):
            about = {"stratum": label(stratum), "block": " x ".join(block)}
            categories = protocol.domain.project(block).cell_labels()
            yield f"{prefix}{position:02d}_{_safe(block)}.csv", about, categories, channel


def _safe(names: tuple[str, ...]) -> str:
    return re.sub(r"[^A-Za-z0-9-]+", "_", "_x_".join(names))[:60]
