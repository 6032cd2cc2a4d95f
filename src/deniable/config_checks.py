"""What a config must agree with besides itself: the data sets that it names."""

from collections.abc import Iterator, Mapping, Sequence

from deniable.config import (
    ClustersRelease,
    Config,
    IndependentRelease,
    JointRelease,
    Release,
    message,
)
from deniable.domain import Domain
from deniable.errors import ConfigError, DeniableError
from deniable.multirr import rr_channel, rr_joint


def check_domains(
    config: Config, domains: Mapping[str, Domain], records: Mapping[str, int]
) -> None:
    """Hold the config against the data sets it names, still before anything starts.

    Raises
    ------
    ConfigError
        With a line for each attribute that a data set does not have, each attribute named twice,
        more parties than records,
        each RR-Joint release whose domain is too large for its records, and each release that
        could not be estimated from.
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
            wrong += _unusable(path, release, domain.project(chosen), records[release.data])
        faults += wrong
    if faults:
        raise ConfigError(message(faults))


def _unusable(path: str, release: Release, domain: Domain, records: int) -> Iterator[str]:
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
