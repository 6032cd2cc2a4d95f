"""Tables of any columns, and the channel from their cells to randomized values."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import cached_property, reduce
from itertools import product
from typing import Any, cast

import numpy as np

from deniable.arrays import Codes, Flags, Floats, Positions
from deniable.channels import (
    Channel,
    DenseChannel,
    KeepOrReplace,
    ProductChannel,
    RestrictedChannel,
)
from deniable.errors import DeniableError, SingularChannelError
from deniable.pram import StratifiedProtocol
from deniable.randomized_response import Protocol
from deniable.records import Domain

MAX_CELLS = 1 << 20  # cells of a table, and its randomized values, that are counted together
MAX_SCORED = 1 << 16  # cells of a table that is estimated from scores of single records
MAX_ENTRIES = 1 << 24
"""Entries of a matrix from the randomized values of a cluster to a table of some of its columns."""
LUMPED = 1e-9  # difference of probabilities that are equal apart from rounding


@dataclass(frozen=True, eq=False)
class Side:
    """Columns of a table that were randomized together.

    The `channel` turns `cells` into randomized values, `reports`. If there is a channel of the
    table's own columns alone, both are these columns. Otherwise they are the whole cluster.
    """

    cells: Domain
    reports: Domain
    channel: Channel

    @classmethod
    def of(cls, protocol: Protocol, cluster: tuple[str, ...], names: Sequence[str]) -> "Side":
        """Return the side of a `cluster` of the `protocol`, for its columns among `names`."""
        whole = cls.of_cluster(protocol, cluster)
        own = tuple(name for name in cluster if name in names)
        alone = None if own == cluster else margin_channel(whole.channel, whole.cells, own)
        if alone is None:
            return whole
        return cls(whole.cells.project(own), whole.cells.project(own), alone)

    @classmethod
    def of_cluster(cls, protocol: Protocol, cluster: tuple[str, ...]) -> "Side":
        """Return the side of a whole `cluster` of the `protocol`."""
        channel = protocol.channel_of(cluster)
        if channel.singular:
            raise SingularChannelError(
                f"the channel of {' x '.join(cluster)} cannot distinguish some categories, so "
                "they cannot be estimated; leave these columns out, or release them with less noise"
            )
        return cls(protocol.domain.project(cluster), protocol.reported_as(cluster), channel)


def margin_channel(channel: Channel, cluster: Domain, names: tuple[str, ...]) -> Channel | None:
    """Return the channel of the columns `names` alone in a `cluster` of a `channel`, if any."""
    factors = channel.simple_factors
    if tuple(factor.size for factor in factors) == cluster.shape and channel.square:
        return ProductChannel(tuple(factors[cluster.position(name)] for name in names))
    margin = cluster.project(names)
    cells = cells_of(cluster, margin)
    if (form := channel.weight_and_replacement) is not None:
        return KeepOrReplace(form[0], np.bincount(cells, form[1], margin.size).astype(float))
    if not channel.returns_categories:
        return None
    sums = channel.matrix() @ np.eye(margin.size)[cells]
    if (possible := channel.possible_cells) is not None:
        sums, cells = sums[possible], cells[possible]
    own, first, again = np.unique(cells, return_index=True, return_inverse=True)
    entries = sums[first]
    if np.abs(sums - entries[again]).max() > LUMPED:
        return None
    if own.size == margin.size:
        return DenseChannel(entries)
    return RestrictedChannel(DenseChannel(entries[:, own]), np.isin(np.arange(margin.size), own))


def cells_of(domain: Domain, margin: Domain) -> Positions:
    """Return for each cell of a `domain` its cell in `margin`, a domain of some of the columns."""
    columns = np.unravel_index(np.arange(domain.size), domain.shape)
    return np.ravel_multi_index([columns[domain.position(n)] for n in margin.names], margin.shape)


@dataclass(frozen=True, eq=False)
class Answers:
    """The randomized values of columns that were randomized together, record by record."""

    cells: Domain  # the columns
    channel: Channel  # from their joint cells to randomized values
    codes: Codes
    """Code of each record's randomized value; -1 if the record has none through this channel."""


AllAnswers = tuple[list[Answers], Floats | None]  # with the weights of the records


@dataclass(frozen=True, eq=False)
class TableStratum:
    """A stratum of a table's records."""

    name: str  # the categories of the stratum columns, joined by " x "; empty for all records
    at: slice  # positions of its cells, and of its randomized values, in the table
    channel: Channel  # over these cells, the product of the channels of `Table.blocks`
    possible: Flags  # False for cells without records, which an invariant matrix never returns


@dataclass(frozen=True, eq=False)
class Table:
    """A table that can be estimated: its columns, and the randomized values that it depends on."""

    domain: Domain  # the columns of the table, in order
    sides: tuple[Side, ...]  # one for each cluster of these columns
    strata: tuple[TableStratum, ...] = ()  # empty if all records have the same channels
    blocks: tuple[Domain, ...] = ()  # with strata, the columns of each channel of a stratum
    invariant: bool = False  # whether proportions of randomized values are unbiased estimates
    weight: str | None = None  # column of the weights with which they are unbiased
    kept_back: bool = False  # whether its channels, which are invariant, are not published
    asked: float = 1.0  # proportion of the records that have all its columns
    whole_cluster: "Table | None" = None
    """The same table from all columns of its only cluster, if `sides` has only some of them."""

    @classmethod
    def of(cls, protocol: Protocol, names: Sequence[str]) -> "Table":
        """Return the table of some columns of a `protocol`, in the order of their `names`.

        Raises `DeniableError` if no name is given, or a name is given twice or unknown.
        """
        domain = domain_of(protocol.domain, names)
        clusters = dict.fromkeys(
            cluster for name in names for cluster in protocol.clusters if name in cluster
        )
        sides = tuple(Side.of(protocol, cluster, names) for cluster in clusters)
        whole = None
        if len(sides) == 1 and len(sides[0].cells) < len(next(iter(clusters))):
            whole = cls(domain, (Side.of_cluster(protocol, *clusters),))
        return cls(domain, sides, whole_cluster=whole)

    @cached_property
    def cells(self) -> Domain:
        """All columns of the sides, from left to right."""
        return Domain(tuple(each for side in self.sides for each in side.cells))

    @cached_property
    def reports(self) -> Domain:
        """The columns of randomized values that are counted, from left to right."""
        return Domain(tuple(each for side in self.sides for each in side.reports))

    @property
    def channel(self) -> Channel:
        """The channel from `cells` to `reports`."""
        channels = tuple(side.channel for side in self.sides)
        return channels[0] if len(channels) == 1 else ProductChannel(channels)

    @property
    def all_records(self) -> TableStratum:
        """All records, as one stratum without a name."""
        everything = slice(0, self.reports.size)
        return TableStratum("", everything, self.channel, np.ones(self.cells.size, dtype=bool))

    @property
    def label(self) -> str:
        """The names of its columns, joined by " x "."""
        return " x ".join(self.domain.names)

    @property
    def one_cluster(self) -> bool:
        """Whether the columns, except strata, were randomized together."""
        return len(self.blocks or self.sides) <= 1

    @property
    def whole(self) -> bool:
        """Whether the table's cells are `cells`, in any order."""
        return self.cells.size == self.domain.size

    @property
    def order(self) -> Positions:
        """The position among `cells` of each cell of the table, if it is `whole`."""
        return np.argsort(cells_of(self.cells, self.domain))

    @property
    def functionals(self) -> Floats:
        """Indicators of the `cells` in each cell of the table, shape (own cells, cells)."""
        sums = np.zeros((self.domain.size, self.cells.size))
        sums[cells_of(self.cells, self.domain), np.arange(self.cells.size)] = 1.0
        return sums

    def summed(self, proportions: Floats) -> Floats:
        """Return the table's own cells from `proportions` of `cells`."""
        return proportions[self.order] if self.whole else self.functionals @ proportions

    @property
    def returns_categories(self) -> bool:
        """Whether all randomized values are categories, so that proportions are meaningful."""
        return all(
            side.cells.size == side.reports.size and side.channel.returns_categories
            for side in self.sides
        )

    @property
    def impossible(self) -> Flags:
        """Flags of the table's cells that no record can have, shape (own cells,)."""
        cells = self.channel.possible_cells if self.countable else None
        found = np.full(self.domain.size, cells is not None)
        if cells is not None:
            found[cells_of(self.cells, self.domain)[cells]] = False
        return found

    @property
    def countable(self) -> bool:
        """Whether the randomized values are few enough to count them together."""
        most = max(self.cells.size, self.reports.size)
        entries = 0 if self.whole else self.domain.size * most
        return most <= MAX_CELLS and entries <= MAX_ENTRIES

    def answers(self, codes: Codes) -> Iterator[Answers]:
        """Yield the randomized `codes` of records as answers, through the channel of each stratum.

        The columns of the strata themselves are left out; see `answers_of_strata`.
        """
        if not self.strata:
            yield Answers(self.cells, self.channel, codes)
        for each in self.strata:
            own = codes.astype(np.intp) - each.at.start  # signed, for -1
            within = (own >= 0) & (own < each.at.stop - each.at.start)
            yield Answers(self.blocks[0], each.channel, np.where(within, own, -1))

    def answers_of_strata(self, codes: Codes) -> Iterator[Answers]:
        """Yield the columns of the strata, which are not randomized, from `codes` of records."""
        columns = self.cells.unravel(codes) if self.strata else ()
        for name, values in zip(self.cells.names, columns, strict=bool(self.strata)):
            if name not in self.blocks[0].names:
                kept = KeepOrReplace.uniform(self.cells[name].size, 1.0)
                yield Answers(self.cells.project([name]), kept, values)

    @property
    def parts(self) -> tuple[Domain, ...]:
        """The table's own columns of each side."""
        return tuple(
            side.cells.project([name for name in side.cells.names if name in self.domain.names])
            for side in self.sides
        )

    def refuse_too_large(self) -> None:
        """Raise `DeniableError` if the table can be estimated neither by counts nor by scores."""
        if self.countable:
            return
        entries = max(
            part.size * max(side.cells.size, side.reports.size)
            for part, side in zip(self.parts, self.sides, strict=True)
        )
        if self.domain.size > MAX_SCORED:
            fault = f"has {self.domain.size:,} cells; at most {MAX_SCORED:,} are estimated at once"
        elif entries > MAX_ENTRIES:
            fault = (
                f"is a part of large clusters: it needs a matrix of {entries:,} entries, and at "
                f"most {MAX_ENTRIES:,} are allowed"
            )
        else:
            return
        names = ", ".join(self.domain.names)
        raise DeniableError(
            f"the table of {names} {fault}. Name fewer columns, or request a query of some cells"
        )


def domain_of(domain: Domain, names: Sequence[str]) -> Domain:
    """Return the columns `names` of a `domain`, or raise `DeniableError` if there are none."""
    if not names:
        raise DeniableError("a table needs columns; name at least one")
    return domain.project(names)  # raises an error for a name that is unknown or given twice


def table_within_strata(
    protocol: StratifiedProtocol, names: Sequence[str], *, weight: str | None = None
) -> Table:
    """Return the table of some columns of a `protocol`, in the order of their `names`.

    Stratum and randomized columns have one channel over their joint cells: each stratum has its own
    channel over its own cells. Unbiased estimates are sums over the strata. Invariant matrices are
    invariant for weights in the column `weight`, if given. Raises `DeniableError` if no name is
    given, or a name is given twice or is not a column of the protocol. The channel must not be too
    large, or singular without being invariant.
    """
    domain = domain_of(protocol.domain, names)
    blocks = [block for block in protocol.blocks if set(block) & set(names)]
    cells = protocol.domain.project([*protocol.strata, *(n for block in blocks for n in block)])
    if cells.size**2 > MAX_ENTRIES:
        raise DeniableError(
            f"the table of {', '.join(domain.names)} within strata is over {cells.size:,} cells, "
            f"a matrix of more than {MAX_ENTRIES:,} entries; name fewer columns"
        )
    entries, strata = np.eye(cells.size), []
    for key, at in _positions(cells, protocol.strata):
        if key in protocol.protocols:  # other strata have no records
            ways = [protocol.protocols[key].channel_of(block) for block in blocks]
            ways = ways or [KeepOrReplace(1.0, np.zeros(1))]
            completed = [_completed(way, invariant=protocol.invariant) for way in ways]
            channels = tuple(channel for channel, _ in completed)
            channel = channels[0] if len(channels) == 1 else ProductChannel(channels)
            possible = reduce(np.kron, (flags for _, flags in completed)).astype(bool)
            entries[at, at] = channel.matrix()
            strata.append(TableStratum(" x ".join(key), at, channel, possible))
    if not protocol.invariant and any(each.channel.singular for each in strata):
        raise SingularChannelError(
            f"within strata the channel of {', '.join(cells.names)} cannot distinguish "
            "some categories, so they cannot be estimated; leave these columns out"
        )
    channel = DenseChannel(entries) if protocol.strata else strata[0].channel
    return Table(
        domain,
        (Side(cells, cells, channel),),
        tuple(strata),
        tuple(protocol.domain.project(block) for block in blocks),
        protocol.invariant,
        weight=weight,
    )


def _positions(cells: Domain, strata: Sequence[str]) -> Iterator[tuple[tuple[str, ...], slice]]:
    """Yield each stratum and the positions of its `cells`; the columns `strata` are the first."""
    known = list(product(*(cells[name].categories for name in strata)))
    inner = cells.size // len(known)
    return ((key, slice(at * inner, (at + 1) * inner)) for at, key in enumerate(known))


class _KeptBack:
    """An invariant channel that is not published: every use raises `DeniableError`."""

    def __getattr__(self, name: str) -> Any:
        raise DeniableError(
            "the data owner keeps the matrices back, but this estimate needs them; only "
            "proportions of columns that share a matrix, and of strata, are unbiased"
        )


def kept_back_table(
    domain: Domain,
    strata: tuple[str, ...],
    blocks: Sequence[tuple[str, ...]],
    names: Sequence[str],
    *,
    weight: str | None = None,
) -> Table:
    """Return the table of some columns, `names`, of a `domain` if matrices are kept back.

    There is a matrix for each of `blocks` in each stratum of the columns `strata`. The matrices are
    invariant, for weights in the column `weight` if given. Raises `DeniableError` if the columns
    are in several blocks, because their matrices together are not invariant.
    """
    own = domain_of(domain, names)
    if len(parts := [block for block in blocks if set(block) & set(names)]) > 1:
        of = " and ".join(" x ".join(block) for block in parts)
        raise DeniableError(
            f"the table of {', '.join(names)} needs the matrices of {of} together, which the data "
            "owner keeps back; estimate columns that share a matrix"
        )
    cells = domain.project([*strata, *(name for block in parts for name in block)])
    channel = cast(Channel, _KeptBack())
    named = [
        TableStratum(" x ".join(key), at, channel, np.ones(at.stop - at.start, dtype=bool))
        for key, at in _positions(cells, strata)
    ]
    return Table(
        own,
        (Side(cells, cells, channel),),
        tuple(named),
        tuple(domain.project(block) for block in parts),
        invariant=True,
        weight=weight,
        kept_back=True,
    )


def _completed(channel: Channel, *, invariant: bool) -> tuple[Channel, Flags]:
    """Return the channel, completed to keep categories that it never returns, and other flags.

    An invariant matrix never returns a category that no record has, and may be singular only for
    this reason. Since no record has the category, its row is arbitrary. The flags are true for
    categories that the original channel returns.
    """
    if not invariant:
        return channel, np.ones(channel.size, dtype=bool)
    entries = channel.matrix()
    possible: Flags = np.asarray(entries.any(axis=0))
    if possible.all():
        return channel, possible
    entries[~possible] = np.eye(channel.size)[~possible]
    return DenseChannel(entries), possible
