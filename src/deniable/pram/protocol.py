"""Randomize a file by PRAM: by attribute, jointly and within strata ([pram], section 2).

Unlike a respondent, the data owner has the whole file. So each stratum may have its own matrices,
and a matrix may depend on the original frequencies. A protocol has the matrices of all strata and
blocks.
"""

from collections.abc import Container, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property

import numpy as np
import numpy.typing as npt

from deniable.arrays import Counts, Floats, Positions
from deniable.errors import DeniableError
from deniable.randomized_response import Clustering, Protocol
from deniable.records import Domain, Microdata
from deniable.sampling import RandomnessSource

Stratum = tuple[str, ...]
"""The names of a category of each stratum attribute; () without strata."""


@dataclass(frozen=True, eq=False)
class StratifiedProtocol:
    """A protocol for each stratum of a file; stratum attributes are released unchanged.

    The `domain` has all released attributes, in the order of the file, and `strata` are some of
    them. `protocols` are over the other attributes, all with the same clusters. Without strata, one
    protocol under the key () is for all records. A stratum without records needs no protocol.
    `invariant` states that every matrix leaves the original frequencies of its stratum unchanged in
    expectation ([pram], (2.1)). Then the proportions of randomized values are unbiased, and the
    matrices disclose the original frequencies.

    Given the matrices, the randomized values of a record do not depend on other records. Their
    epsilon is for a change that leaves the record in its stratum. Raises `DeniableError` if a
    stratum is not in the domain, or the protocols do not fit the domain or each other.
    """

    domain: Domain
    strata: tuple[str, ...]
    protocols: Mapping[Stratum, Protocol]
    invariant: bool = False

    def __post_init__(self) -> None:
        object.__setattr__(self, "strata", tuple(self.strata))
        object.__setattr__(self, "protocols", dict(self.protocols))
        if repeated := sorted({name for name in self.strata if self.strata.count(name) > 1}):
            raise DeniableError(f"the stratum attribute {repeated[0]!r} is repeated; name it once")
        if not self.protocols:
            raise DeniableError("there is no protocol; give one for each stratum with records")
        for name in self.strata:
            self.domain.position(name)
        for stratum, protocol in self.protocols.items():
            self._refuse_misfit(stratum, protocol)

    def _refuse_misfit(self, stratum: Stratum, protocol: Protocol) -> None:
        if len(stratum) != len(self.strata):
            raise DeniableError(
                f"the stratum {stratum} has {len(stratum)} categories for the "
                f"{len(self.strata)} stratum attributes; give one for each of them"
            )
        for name, category in zip(self.strata, stratum, strict=True):
            self.domain[name].code_of(category)
        if protocol.domain != self.randomized:
            raise DeniableError(
                f"the protocol of stratum {' x '.join(stratum)!r} randomizes "
                f"{', '.join(protocol.domain.names)}, with their own categories; besides strata, "
                f"the domain has {', '.join(self.randomized.names)}, in that order"
            )
        if protocol.clusters != self.blocks:
            raise DeniableError(
                f"the protocol of stratum {' x '.join(stratum)!r} has other clusters than the "
                "first; estimates for the whole file need the same in all strata"
            )

    @cached_property
    def randomized(self) -> Domain:
        """The randomized attributes: all but the strata."""
        return randomized_domain(self.domain, self.strata)

    @property
    def blocks(self) -> Clustering:
        """Groups of attributes with one matrix each, the same in all strata."""
        return next(iter(self.protocols.values())).clusters

    @property
    def epsilon(self) -> float:
        """Exact epsilon of a change within a stratum, in the worst stratum, given the matrices.

        If matrices are computed from the records, their own disclosure is not included.
        """
        return max(protocol.epsilon for protocol in self.protocols.values())

    def epsilon_by_changed_attribute(self) -> dict[str, float]:
        """Return the exact epsilon of a change of one attribute, in the worst stratum."""
        found = [protocol.epsilon_by_changed_attribute() for protocol in self.protocols.values()]
        return {name: max(each[name] for each in found) for name in self.randomized.names}

    def randomize(
        self, data: Microdata, chance: RandomnessSource, records: Positions | None = None
    ) -> Microdata:
        """Randomize every record of `data` through the matrices of its stratum.

        `chance` draws the randomized values. For keyed draws, `records` has the record numbers in
        the whole file, by default from 0. All checks precede the first draw. Draws have exactly the
        probabilities of the matrix (`deniable.sampling`). Raises `DeniableError` if the data have
        another domain, or a stratum without a protocol.
        """
        if data.domain != self.domain:
            raise DeniableError(
                f"the protocol is for {', '.join(self.domain.names)}, but the data have "
                f"{', '.join(data.domain.names)}; project the data to the protocol's attributes"
            )
        for protocol in self.protocols.values():
            protocol.refuse_other_reports()
        parts = parts_by_stratum(data, self.strata, self.protocols)
        columns = {name: data.column(name).copy() for name in self.domain.names}
        for stratum, rows in parts:
            own = tuple(columns[name][rows] for name in self.randomized.names)
            true = Microdata(self.randomized, own)
            numbers = rows if records is None else records[rows]
            reports = self.protocols[stratum].randomize(true, chance, numbers)
            for name in self.randomized.names:
                columns[name][rows] = reports.column(name)
        ordered = tuple(columns[name] for name in self.domain.names)
        return Microdata(self.domain, ordered, data.marks)


def randomized_domain(domain: Domain, strata: Sequence[str]) -> Domain:
    """Return the columns of a `domain` besides `strata`; raise `DeniableError` without any."""
    if not (rest := [name for name in domain.names if name not in strata]):
        raise DeniableError(
            f"all columns ({', '.join(strata)}) are strata, which are released unchanged; leave "
            "one to randomize"
        )
    return domain.project(rest)


def parts_by_stratum(
    data: Microdata, strata: tuple[str, ...], known: Container[Stratum]
) -> list[tuple[Stratum, Positions]]:
    """Return the records of each stratum of `data` that has any, as ascending positions.

    `strata` are attributes; their categories name a stratum. Raises `DeniableError` if a stratum
    with records is not in `known`.
    """
    if not strata:
        return [((), np.arange(len(data)))]
    domain = data.domain.project(strata)
    cells = domain.ravel([data.column(name) for name in strata])
    found = []
    for cell in np.unique(cells):
        codes = np.unravel_index(cell, domain.shape)
        stratum = tuple(a.categories[int(code)] for a, code in zip(domain, codes, strict=True))
        rows = np.flatnonzero(cells == cell)
        if stratum not in known:
            raise DeniableError(
                f"{rows.size:,} records (the first is record {rows[0] + 1}) are in the stratum "
                f"{' x '.join(strata)} = {' x '.join(stratum)}, which has no matrix; give it one"
            )
        found.append((stratum, rows))
    return found


def shares(data: Microdata, names: tuple[str, ...], weights: npt.ArrayLike | None = None) -> Floats:
    """Return the proportions of the joint cells of some attributes, `names`, flat.

    `data` has at least one record. Survey `weights`, shape (len(data),), are not negative, with a
    positive sum. The matrix of [pram], (2.7), is invariant for the weighted proportions.
    """
    given = None if weights is None else np.asarray(weights, dtype=float)
    if given is not None:
        if given.shape != (len(data),):
            raise DeniableError(f"{len(data)} records, but weights of shape {given.shape}")
        if not (np.all(np.isfinite(given)) and np.all(given >= 0) and given.sum() > 0):
            raise DeniableError("survey weights must be finite, not negative, and not all zero")
    domain = data.domain.project(names)
    cells = domain.ravel([data.column(name) for name in names])
    counts = np.bincount(cells, weights=given, minlength=domain.size)
    if not counts.sum() > 0:
        raise DeniableError(f"there are no records; proportions of {' x '.join(names)} need some")
    return np.asarray(counts / counts.sum())


def margins(data: Microdata) -> Iterator[tuple[str, list[str], Counts]]:
    """Yield each attribute of `data` with 2 or more occurring categories: name, these, counts."""
    for attribute in data.domain:
        counts = data.counts((attribute.name,))
        present = np.flatnonzero(counts)
        if present.size >= 2:
            yield attribute.name, [attribute.categories[code] for code in present], counts[present]
