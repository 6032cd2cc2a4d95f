"""What a config must agree with besides itself: the data sets that it names."""

from collections.abc import Mapping, Sequence

from deniable.config import ClustersRelease, Config, IndependentRelease, JointRelease, message
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
        and each RR-Joint release whose domain is too large for its records.
    """
    faults = []
    adult = domains["adult"]
    for study in type(config.studies).model_fields:
        faults += _unknown(f"studies.{study}.ordinal", config.study(study).ordinal, adult)
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
        if isinstance(release, IndependentRelease) and not wrong:
            wrong += [
                f"{path}.p: with matrix {release.matrix!r} and p {release.p:g} the attribute "
                f"{name!r} cannot be estimated (singular matrix); allowed: another p or matrix"
                for name in chosen
                if rr_channel(domain[name].size, release.p, release.matrix).singular
            ]
        if isinstance(release, JointRelease) and not wrong:
            try:
                rr_joint(domain.project(chosen), records[release.data], release.p, release.matrix)
            except DeniableError as error:
                wrong.append(f"{path}.attributes: {error}")
        faults += wrong
    if faults:
        raise ConfigError(message(faults))


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
