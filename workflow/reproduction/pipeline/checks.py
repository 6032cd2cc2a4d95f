"""What a config must agree with besides itself: the data sets that it names."""

import math
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path

from deniable.datasets import NumericDataset
from deniable.errors import ConfigError, DeniableError
from deniable.pram import LARGEST_BLOCK, LARGEST_DESIGNED, channel_of_retention, matrix_from_file
from deniable.randomized_response import FEWEST_RECORDS_A_CELL, rr_channel, rr_joint
from deniable.records import Domain
from deniable.release import (
    AnyRelease,
    AskedRelease,
    CollectionRelease,
    PramRelease,
    RandomizedResponseRelease,
)
from deniable.rrba import fewest_views

from reproduction.pipeline.config import Config, message

LARGEST_COLLECTION = 50_000
"""Cells of all tables that are made consistent with each other."""
LARGEST_FILE = 1_000_000
"""Cells of all tables that blocks report."""


def check_domains(
    config: Config,
    domains: Mapping[str, Domain],
    records: Mapping[str, int],
    numeric: Mapping[str, NumericDataset] | None = None,
    drawn: Mapping[str, Domain] | None = None,
) -> None:
    """Hold the config against the data sets it names, still before anything starts.

    Parameters
    ----------
    config : Config
    domains, records : mapping by name
        Of the categorical data sets, and numbers of records of all data sets.
    numeric : mapping of name to NumericDataset, optional
    drawn : mapping of name to Domain, optional
        Of the files drawn from networks, that releases by `rrba` may collect from.

    Raises
    ------
    ConfigError
        With a line for each release whose data are of the other kind than its mechanism takes, each
        attribute that a data set does not have or that is named twice, more parties than records,
        each RR-Joint release whose domain is too large for its records, each block or stratum of
        PRAM that does not fit, each collection with too few clients or too many tables, and each
        release that could not be estimated from.
    """
    faults = list(_of_analyses(config, domains["adult"], records["adult"]))
    numbers = numeric or {}
    for number, release in enumerate(config.releases):
        path = f"releases[{number}]"
        if release.lane == "planned":
            faults += _of_own(path, release)
            continue
        categories = domains
        if isinstance(release, CollectionRelease):
            categories = {**domains, **(drawn or {})}
        known = {"categorical": categories, "numeric": numbers}
        if release.data not in known[release.data_kind]:
            faults.append(_misplaced(path, release, known))
        elif release.data_kind == "numeric":
            faults += _of_numbers(path, release, numbers[release.data])
        else:
            domain = categories[release.data]
            faults += _of_categories(path, release, domain, records[release.data])
    if faults:
        raise ConfigError(message(faults))


def cells_of_tables(domain: Domain, size: int) -> int:
    """Return how many cells the tables of all combinations of `size` attributes of a `domain` have.

    Examples
    --------
    >>> from deniable.records import Attribute
    >>> few = Domain(tuple(Attribute(name, ("0", "1")) for name in "abc"))
    >>> cells_of_tables(few, 2)
    12
    """
    # The elementary symmetric polynomial of the numbers of categories.
    sums = [1] + [0] * size
    for categories in domain.shape:
        for k in range(size, 0, -1):
            sums[k] += sums[k - 1] * categories
    return sums[size]


def _of_analyses(config: Config, adult: Domain, records: int) -> Iterator[str]:
    """Yield what studies and analyses ask of Adult, which it does not have."""
    for study, settings in config.studies:
        for option in ("ordinal", "few"):  # which not every study has
            named = getattr(settings, option, [])
            yield from _unknown(f"studies.{study}.{option}", named, adult.names)
    summed = config.analyses.multirr_secure_sum
    if summed is None:
        return
    path = "analyses.multirr_secure_sum"
    yield from _unknown(f"{path}.pair", summed.pair, adult.names)
    for option in ("parties", "parties_of_all_pairs", "linkage_parties"):
        if (parties := getattr(summed, option)) > records:
            yield (
                f"{path}.{option}: {parties}; allowed: at most the {records} records that parties "
                "are drawn from"
            )


def _of_own(path: str, release: AnyRelease) -> Iterator[str]:
    """Yield what is wrong with a file of one's own."""
    file = getattr(release, "file", None)
    if file is None:
        yield f"{path}.file: missing; allowed: the path of the records"
    elif not Path(file.path).exists():
        yield f"{path}.file.path: {file.path!r} is not there; allowed: the path of the records"


def _misplaced(path: str, release: AnyRelease, known: Mapping[str, Mapping[str, object]]) -> str:
    """Say that data are of the other kind than a release takes, or are no data set at all."""
    allowed = ", ".join(known[release.data_kind])
    for kind, names in known.items():
        if release.data in names:
            return (
                f"{path}.data: {release.data!r} is a {kind} data set, but {release.mechanism} "
                f"takes a {release.data_kind} one; allowed: {allowed}"
            )
    return f"{path}.data: {release.data!r} is no data set of the manifest; allowed: {allowed}"


def _of_numbers(path: str, release: AnyRelease, dataset: NumericDataset) -> Iterator[str]:
    """Yield what a release asks of numbers: records, and bounds to calibrate its noise by."""
    given = release.attributes or list(dataset.names)
    unknown = _unknown(f"{path}.attributes", given, dataset.names)
    yield from unknown
    k = getattr(release, "k", None)
    if k is not None and 2 * k > dataset.records:
        yield (
            f"{path}.k: {k}; allowed: at most {dataset.records // 2}, so that the "
            f"{dataset.records} records form two clusters or more"
        )
    if unknown or not getattr(release, "needs_bounds", False):
        return
    for name in given:
        if name not in dataset.bounds:
            yield (
                f"{path}.attributes: {name!r} has no bounds, which {release.mechanism} needs; "
                f"allowed: attributes with bounds: [lower, upper] under {dataset.name!r} in "
                "resources/datasets.yaml, stated from public knowledge"
            )


def _of_categories(path: str, release: AnyRelease, domain: Domain, records: int) -> Iterator[str]:
    """Yield what a release or a collection asks of categories."""
    chosen = release.attributes or list(domain.names)
    wrong = _unknown(f"{path}.attributes", chosen, domain.names)
    if release.mechanism == "rr_clusters":
        there = [name for name in dict.fromkeys(chosen) if name in domain.names]
        wrong += _unknown(f"{path}.ordinal", release.ordinal, there or domain.names)
    if wrong:
        yield from wrong
        return
    own = domain.project(chosen)
    assessed = release.mechanism == "rr_clusters" and release.dependences.by != "true_records"
    if assessed and len(own) < 2:
        yield (
            f"{path}.dependences: {own.names[0]!r} is the only attribute, so that there are none; "
            "allowed: two attributes or more"
        )
    if isinstance(release, CollectionRelease):
        yield from _uncollectable(path, release, own, records)
    elif isinstance(release, AskedRelease):
        yield from _unasked(path, release, own)
    elif isinstance(release, PramRelease):
        yield from _misfits(path, release, own, records)
    elif isinstance(release, RandomizedResponseRelease):
        yield from _unusable(path, release, own, records)


def _unusable(
    path: str, release: RandomizedResponseRelease, domain: Domain, records: int
) -> Iterator[str]:
    """Yield what makes a release impossible whatever its data are.

    Clusters randomized jointly come from the data; `deniable.release.categorical.design.design`
    looks at those.
    """
    singular = "cannot be estimated (singular matrix); allowed: another p or matrix"
    setting = f"{path}.p: with matrix {release.matrix!r} and p {release.p:g}"
    if release.mechanism == "rr_joint":
        try:
            protocol = rr_joint(domain, records, release.p, release.matrix)
        except DeniableError as error:
            yield f"{path}.attributes: {error}"
            return
        if protocol.channels[0].singular:
            yield f"{setting} {' x '.join(domain.names)} {singular}"
    elif release.mechanism == "rr_independent" or release.cluster_mechanism == "kronecker":
        for attribute in domain:
            if rr_channel(attribute.size, release.p, release.matrix).singular:
                yield f"{setting} the attribute {attribute.name!r} {singular}"


def _uncollectable(
    path: str, release: CollectionRelease, domain: Domain, records: int
) -> Iterator[str]:
    """Yield what makes a collection impossible whatever its data are."""
    if release.size > len(domain):
        yield f"{path}.size: {release.size}; allowed: at most {len(domain)}, the attributes"
        return
    tables, cells = math.comb(len(domain), release.size), cells_of_tables(domain, release.size)
    if cells > LARGEST_COLLECTION:
        yield (
            f"{path}.size: {tables:,} tables of {release.size} attributes have {cells:,} cells; "
            f"allowed: at most {LARGEST_COLLECTION:,}; name fewer attributes"
        )
        return
    questions = tables if release.answers == "table" else fewest_views(len(domain), release.size)
    if records < questions:
        yield (
            f"{path}.answers: {records:,} clients for {questions:,} {release.answers}s; allowed: "
            "at least one client each; name fewer attributes"
        )
    # Each block reports all tables, or at least one for each of its clients.
    blocks = -(-records // release.block)
    reported = blocks * cells * min(1, release.block / questions)
    if reported > LARGEST_FILE:
        yield (
            f"{path}.block: {release.block:,} makes {blocks:,} blocks, which report "
            f"{reported:,.0f} cells; allowed: larger blocks, of at most {LARGEST_FILE:,} cells"
        )


def _unasked(path: str, release: AskedRelease, domain: Domain) -> Iterator[str]:
    """Yield what makes a release at an epsilon impossible whatever its data are."""
    from deniable.release.asked import protocol_within  # noqa: PLC0415 - few configs have one

    wrong = _misfits_of_blocks(path, release.joint, domain)
    if not wrong:
        blocks = release.blocks(domain.names)
        try:
            protocol_within(domain, blocks, release.channel, release.epsilon)
        except DeniableError as error:
            wrong.append(f"{path}.channel: {release.channel!r}: {error}")
    yield from wrong


def _misfits_of_blocks(
    path: str, joint: Sequence[Sequence[str]], domain: Domain, strata: Sequence[str] = ()
) -> list[str]:
    """Return what is wrong with the attributes that go through a matrix together."""
    wrong = []
    for i, block in enumerate(joint):
        wrong += _unknown(f"{path}.joint[{i}]", block, domain.names)
        earlier = {name: j for j in range(i) for name in joint[j]}
        for j, name in enumerate(block):
            at = f"{path}.joint[{i}][{j}]: {name!r}"
            if name in strata:
                wrong.append(
                    f"{at} is a stratum attribute, released as it is; allowed: in strata or in a "
                    "block, not in both"
                )
            if name in earlier:
                wrong.append(f"{at} is in joint[{earlier[name]}] already; allowed: in one block")
    return wrong


def _misfits(path: str, release: PramRelease, domain: Domain, records: int) -> Iterator[str]:
    """Yield what makes a PRAM release impossible whatever its data are."""
    wrong = _unknown(f"{path}.strata", release.strata, domain.names)
    wrong += _misfits_of_blocks(path, release.joint, domain, release.strata)
    if not wrong and set(release.strata) == set(domain.names):
        wrong.append(
            f"{path}.strata: all attributes of the release; allowed: to leave one to be randomized"
        )
    if not wrong:
        blocks = release.blocks(domain.names)
        wrong += _unusable_blocks(path, release, [domain.project(each) for each in blocks], records)
    yield from wrong


def _unusable_blocks(
    path: str, release: PramRelease, blocks: Sequence[Domain], records: int
) -> Iterator[str]:
    for i, names in enumerate(release.joint):
        cells = next(block.size for block in blocks if block.names == tuple(names))
        if cells > LARGEST_BLOCK or records < FEWEST_RECORDS_A_CELL * cells:
            yield (
                f"{path}.joint[{i}]: {' x '.join(names)} has {cells:,} cells for {records:,} "
                f"records; allowed: at most {LARGEST_BLOCK} cells, and at least "
                f"{FEWEST_RECORDS_A_CELL} records a cell"
            )
    matrix = release.matrix
    if matrix.kind == "designed":
        most = LARGEST_DESIGNED[matrix.loss]
        yield from (
            f"{path}.matrix.kind: {' x '.join(block.names)} has {block.size} cells, too many for "
            f"a matrix designed for {matrix.loss}; allowed: at most {most}, or another kind or loss"
            for block in blocks
            if block.size > most
        )
    if matrix.kind in ("retention", "two_step") and matrix.retention is not None:
        yield from _singular(f"{path}.matrix.retention", matrix.retention, blocks)
    if matrix.kind == "file":
        yield from _misfiled(f"{path}.matrix.files", matrix.files, blocks)


def _singular(path: str, retention: float, blocks: Sequence[Domain]) -> Iterator[str]:
    """Yield the blocks that the matrix of a retention would report alike whatever is true."""
    for block in blocks:
        if block.size <= LARGEST_BLOCK and channel_of_retention(block.size, retention).singular:
            yield (
                f"{path}: with {retention:g} {' x '.join(block.names)} cannot be estimated "
                "(singular matrix); allowed: another retention"
            )


def _misfiled(path: str, files: Mapping[str, str], blocks: Sequence[Domain]) -> Iterator[str]:
    """Yield what is wrong with the files of a user's own matrices."""
    wanted = {" x ".join(block.names): block for block in blocks}
    for name in files:
        if name not in wanted:
            yield f"{path}.{name}: no block of the release; allowed: {', '.join(wanted)}"
    for name, block in wanted.items():
        if name not in files:
            yield f"{path}: no file for {name}; a matrix must be given for each block"
            continue
        try:
            singular = matrix_from_file(files[name], block).singular
        except DeniableError as error:
            yield f"{path}.{name}: {error}"
            continue
        if singular:
            yield (
                f"{path}.{name}: {files[name]} has a singular matrix, from which nothing "
                "can be estimated; allowed: another matrix"
            )


def _unknown(path: str, names: Sequence[str], known: Sequence[str]) -> list[str]:
    lines = [
        f"{path}[{i}]: {name!r} is no attribute of the data; allowed: {', '.join(known)}"
        for i, name in enumerate(names)
        if name not in known
    ]
    lines += [
        f"{path}[{i}]: {name!r} is named twice; allowed: once"
        for i, name in enumerate(names)
        if name in names[:i]
    ]
    return lines
