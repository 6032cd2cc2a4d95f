"""Tables of any attributes, as what went through a product of the channels of their clusters."""

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property

import numpy as np

from deniable.arrays import Floats, Positions
from deniable.channels import Channel, DenseChannel, KeepOrReplace, ProductChannel
from deniable.errors import DeniableError, SingularChannelError
from deniable.randomized_response import Protocol, reports_categories
from deniable.records import Domain

MOST_CELLS = 1 << 20
"""Cells of a table, of its reports too, that are counted at once."""
MOST_SCORED = 1 << 16
"""Cells of a table of which each report says something by itself."""
MOST_ENTRIES = 1 << 24
"""Of a matrix that leads from the reports of a cluster to a table of some of its attributes."""
LUMPED = 1e-9
"""By how much probabilities may differ that are the same but for rounding."""


@dataclass(frozen=True, eq=False)
class Side:
    """What one cluster's reports tell of some of its attributes.

    Attributes
    ----------
    cells, reports : Domain
        What `channel` leads from and to: of the attributes alone where it takes their categories to
        theirs whatever the others are, else of the whole cluster.
    """

    cells: Domain
    reports: Domain
    channel: Channel

    @classmethod
    def of(cls, protocol: Protocol, cluster: tuple[str, ...], names: Sequence[str]) -> "Side":
        """Return the side of a `cluster` of the `protocol`, of its attributes among `names`."""
        part, channel = protocol.domain.project(cluster), protocol.channel_of(cluster)
        if channel.singular:
            raise SingularChannelError(
                f"the channel of {' x '.join(cluster)} tells nothing of some categories, so that "
                "nothing can be estimated of them; leave these columns out"
            )
        own = tuple(name for name in cluster if name in names)
        alone = None if own == cluster else _alone(channel, part, own)
        if alone is None:
            return cls(part, protocol.reported_as(cluster), channel)
        return cls(part.project(own), part.project(own), alone)


def _alone(channel: Channel, cluster: Domain, names: tuple[str, ...]) -> Channel | None:
    """Return the channel from some attributes to themselves, None if there is none."""
    factors = channel.simple_factors
    if tuple(factor.size for factor in factors) == cluster.shape and channel.square:
        return ProductChannel(tuple(factors[cluster.position(name)] for name in names))
    margin = cluster.project(names)
    cells = cells_of(cluster, margin)
    if (form := channel.weight_and_replacement) is not None:
        return KeepOrReplace(form[0], np.bincount(cells, form[1], margin.size).astype(float))
    if not reports_categories(channel):
        return None
    sums = channel.matrix() @ np.eye(margin.size)[cells]
    entries = sums[np.unique(cells, return_index=True)[1]]
    return DenseChannel(entries) if np.abs(sums - entries[cells]).max() <= LUMPED else None


def cells_of(domain: Domain, margin: Domain) -> Positions:
    """Return for each cell of a `domain` the cell of a `margin`, some attributes, that it is in."""
    columns = np.unravel_index(np.arange(domain.size), domain.shape)
    return np.ravel_multi_index([columns[domain.position(n)] for n in margin.names], margin.shape)


@dataclass(frozen=True, eq=False)
class Table:
    """A table that can be estimated: its attributes, and what is read of which clusters for it.

    The attributes, in order, are its `domain`; `sides` has one for each cluster of theirs.
    """

    domain: Domain
    sides: tuple[Side, ...]

    @classmethod
    def of(cls, protocol: Protocol, names: Sequence[str]) -> "Table":
        """Return the table of some attributes of a `protocol`, in the order of their `names`.

        Raises
        ------
        DeniableError
            If there is none, one twice, or one that the release has not.
        """
        if not names:
            raise DeniableError("a table of no columns; name at least one")
        domain = protocol.domain.project(names)  # refuses what is not there, or twice
        clusters = dict.fromkeys(
            cluster for name in names for cluster in protocol.clusters if name in cluster
        )
        return cls(domain, tuple(Side.of(protocol, cluster, names) for cluster in clusters))

    @cached_property
    def cells(self) -> Domain:
        """All attributes whose categories are told apart, side by side."""
        return Domain(tuple(each for side in self.sides for each in side.cells))

    @cached_property
    def reports(self) -> Domain:
        """Columns of reports that are counted, side by side."""
        return Domain(tuple(each for side in self.sides for each in side.reports))

    @property
    def channel(self) -> Channel:
        """From `cells` to `reports`."""
        channels = tuple(side.channel for side in self.sides)
        return channels[0] if len(channels) == 1 else ProductChannel(channels)

    @property
    def whole(self) -> bool:
        """Whether the table's cells are `cells`, in whatever order."""
        return self.cells.size == self.domain.size

    @property
    def order(self) -> Positions:
        """Of a `whole` table: which of `cells` each of its own is."""
        return np.argsort(cells_of(self.cells, self.domain))

    @property
    def functionals(self) -> Floats:
        """Which of `cells` each of the table's own is the sum of, shape (own, cells)."""
        sums = np.zeros((self.domain.size, self.cells.size))
        sums[cells_of(self.cells, self.domain), np.arange(self.cells.size)] = 1.0
        return sums

    @property
    def countable(self) -> bool:
        """Whether its reports can be counted together, as not too many."""
        most = max(self.cells.size, self.reports.size)
        entries = 0 if self.whole else self.domain.size * most
        return most <= MOST_CELLS and entries <= MOST_ENTRIES

    @property
    def parts(self) -> tuple[Domain, ...]:
        """Of each side its attributes among the table's own."""
        own = (
            [name for name in side.cells.names if name in self.domain.names] for side in self.sides
        )
        return tuple(side.cells.project(names) for side, names in zip(self.sides, own, strict=True))

    def parts_as_sets(self) -> list[Floats]:
        """Return for each side which of its cells each of its part's is the sum of."""
        pairs = zip(self.parts, self.sides, strict=True)
        return [np.eye(part.size)[:, cells_of(side.cells, part)] for part, side in pairs]

    def refuse_too_large(self) -> None:
        """Raise `DeniableError` if the table can be estimated neither by counts nor by scores."""
        if self.countable:
            return
        entries = max(
            part.size * max(side.cells.size, side.reports.size)
            for part, side in zip(self.parts, self.sides, strict=True)
        )
        names = ", ".join(self.domain.names)
        if self.domain.size > MOST_SCORED:
            fault = f"has {self.domain.size:,} cells; at most {MOST_SCORED:,} are estimated at once"
        elif entries > MOST_ENTRIES:
            fault = (
                f"is a part of clusters so large that it takes a matrix of {entries:,} entries, of "
                f"which there may be {MOST_ENTRIES:,}"
            )
        else:
            return
        raise DeniableError(
            f"the table of {names} {fault}. Name fewer columns, or ask a query for the cells wanted"
        )
