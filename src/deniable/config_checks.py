"""What a config must agree with besides itself: the data sets that it names."""

from collections.abc import Iterator, Mapping, Sequence

from deniable.config import Config, message
from deniable.config_releases import (
    ClustersRelease,
    DesignedMatrix,
    FileMatrix,
    IndependentRelease,
    JointRelease,
    PramRelease,
    RetentionMatrix,
    TwoStepMatrix,
)
from deniable.domain import Domain
from deniable.errors import ConfigError, DeniableError
from deniable.multirr import FEWEST_RECORDS_A_CELL, rr_channel, rr_joint
from deniable.pram_matrices import (
    LARGEST_BLOCK,
    LARGEST_DESIGNED,
    channel_of_retention,
    matrix_from_file,
)


def check_domains(
    config: Config, domains: Mapping[str, Domain], records: Mapping[str, int]
) -> None:
    """Hold the config against the data sets it names, still before anything starts.

    Raises
    ------
    ConfigError
        With a line for each attribute that a data set does not have, each attribute named twice,
        more parties than records,
        each RR-Joint release whose domain is too large for its records, each block or stratum of
        PRAM that does not fit, and each release that could not be estimated from.
    """
    faults = []
    adult = domains["adult"]
    for study in type(config.studies).model_fields:
        ordinal = getattr(config.study(study), "ordinal", [])  # not every study has dependences
        faults += _unknown(f"studies.{study}.ordinal", ordinal, adult)
    summed = config.analyses.multirr_secure_sum
    path = "analyses.multirr_secure_sum"
    faults += _unknown(f"{path}.pair", summed.pair, adult)
    for option in ("parties", "parties_of_all_pairs", "linkage_parties"):
        if (parties := getattr(summed, option)) > records["adult"]:
            faults.append(
                f"{path}.{option}: {parties}; allowed: at most the {records['adult']} records that "
                "parties are drawn from"
            )
    for number, release in enumerate(config.releases):
        path = f"releases[{number}]"
        domain = domains[release.data]
        chosen = release.attributes or list(domain.names)
        wrong = _unknown(f"{path}.attributes", chosen, domain)
        if isinstance(release, ClustersRelease):
            known = [name for name in dict.fromkeys(chosen) if name in domain.names]
            wrong += _unknown(
                f"{path}.ordinal", release.ordinal, domain.project(known or domain.names)
            )
        if not wrong:
            own = domain.project(chosen)
            if isinstance(release, PramRelease):
                wrong += _misfits(path, release, own, records[release.data])
            else:
                wrong += _unusable(path, release, own, records[release.data])
        faults += wrong
    if faults:
        raise ConfigError(message(faults))


def _unusable(
    path: str,
    release: IndependentRelease | ClustersRelease | JointRelease,
    domain: Domain,
    records: int,
) -> Iterator[str]:
    """Yield what makes a release impossible whatever its data are.

    Clusters randomized jointly come from the data; `deniable.release.design` looks at those.
    """
    singular = "cannot be estimated (singular matrix); allowed: another p or matrix"
    setting = f"{path}.p: with matrix {release.matrix!r} and p {release.p:g}"
    if isinstance(release, JointRelease):
        try:
            protocol = rr_joint(domain, records, release.p, release.matrix)
        except DeniableError as error:
            yield f"{path}.attributes: {error}"
            return
        if protocol.channels[0].singular:
            yield f"{setting} {' x '.join(domain.names)} {singular}"
    elif isinstance(release, IndependentRelease) or release.cluster_mechanism == "kronecker":
        for attribute in domain:
            if rr_channel(attribute.size, release.p, release.matrix).singular:
                yield f"{setting} the attribute {attribute.name!r} {singular}"


def _misfits(path: str, release: PramRelease, domain: Domain, records: int) -> Iterator[str]:
    """Yield what makes a PRAM release impossible whatever its data are."""
    wrong = _unknown(f"{path}.strata", release.strata, domain)
    for i, block in enumerate(release.joint):
        wrong += _unknown(f"{path}.joint[{i}]", block, domain)
        earlier = {name: j for j in range(i) for name in release.joint[j]}
        for j, name in enumerate(block):
            at = f"{path}.joint[{i}][{j}]: {name!r}"
            if name in release.strata:
                wrong.append(
                    f"{at} is a stratum attribute, released as it is; allowed: in strata or in a "
                    "block, not in both"
                )
            if name in earlier:
                wrong.append(f"{at} is in joint[{earlier[name]}] already; allowed: in one block")
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
    for block in blocks:
        name = " x ".join(block.names)
        if isinstance(matrix, DesignedMatrix):
            most = LARGEST_DESIGNED[matrix.loss]
            if block.size > most:
                yield (
                    f"{path}.matrix.kind: {name} has {block.size} cells, too many for a matrix "
                    f"designed for {matrix.loss}; allowed: at most {most}, or another kind or loss"
                )
    if isinstance(matrix, RetentionMatrix | TwoStepMatrix):
        yield from _singular(f"{path}.matrix.retention", matrix.retention, blocks)
    if isinstance(matrix, FileMatrix):
        yield from _misfiled(f"{path}.matrix.files", matrix, blocks)


def _singular(path: str, retention: float | None, blocks: Sequence[Domain]) -> Iterator[str]:
    """Yield the blocks that the matrix of a retention would report alike whatever is true."""
    for block in blocks:
        if retention is None or block.size > LARGEST_BLOCK:
            continue
        if channel_of_retention(block.size, retention).singular:
            yield (
                f"{path}: with {retention:g} {' x '.join(block.names)} cannot be estimated "
                "(singular matrix); allowed: another retention"
            )


def _misfiled(path: str, matrix: FileMatrix, blocks: Sequence[Domain]) -> Iterator[str]:
    """Yield what is wrong with the files of a user's own matrices."""
    wanted = {" x ".join(block.names): block for block in blocks}
    for name in matrix.files:
        if name not in wanted:
            yield f"{path}.{name}: no block of the release; allowed: {', '.join(wanted)}"
    for name, block in wanted.items():
        if name not in matrix.files:
            yield f"{path}: no file for {name}; a matrix must be given for each block"
            continue
        try:
            singular = matrix_from_file(matrix.files[name], block).singular
        except DeniableError as error:
            yield f"{path}.{name}: {error}"
            continue
        if singular:
            yield (
                f"{path}.{name}: {matrix.files[name]} has a singular matrix, from which nothing "
                "can be estimated; allowed: another matrix"
            )


def _unknown(path: str, names: Sequence[str], domain: Domain) -> list[str]:
    lines = [
        f"{path}[{i}]: {name!r} is no attribute of the data; allowed: {', '.join(domain.names)}"
        for i, name in enumerate(names)
        if name not in domain.names
    ]
    lines += [
        f"{path}[{i}]: {name!r} is named twice; allowed: once"
        for i, name in enumerate(names)
        if name in names[:i]
    ]
    return lines
