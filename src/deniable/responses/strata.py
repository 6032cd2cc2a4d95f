"""Tables from records that were randomized within strata: one channel in diagonal blocks."""

from collections.abc import Sequence
from functools import reduce
from itertools import product
from typing import Any, cast

import numpy as np

from deniable.arrays import Flags
from deniable.channels import Channel, DenseChannel, KeepOrReplace, ProductChannel
from deniable.errors import DeniableError, SingularChannelError
from deniable.pram import StratifiedProtocol, label
from deniable.records import Domain
from deniable.responses.tables import MAX_ENTRIES, Side, Table, TableStratum, domain_of


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
    randomized = [name for block in blocks for name in block]
    cells = protocol.domain.project([*protocol.strata, *randomized])
    inner = protocol.domain.project(randomized).size if blocks else 1
    if cells.size**2 > MAX_ENTRIES:
        raise DeniableError(
            f"the table of {', '.join(domain.names)} within strata is over {cells.size:,} cells, "
            f"a matrix of more than {MAX_ENTRIES:,} entries; name fewer columns"
        )
    entries, strata = np.eye(cells.size), []
    known = (protocol.domain[name].categories for name in protocol.strata)
    for number, key in enumerate(product(*known)):
        if key in protocol.protocols:  # other strata have no records
            ways = [protocol.protocols[key].channel_of(block) for block in blocks]
            ways = ways or [KeepOrReplace(1.0, np.zeros(1))]
            completed = [_completed(way, invariant=protocol.invariant) for way in ways]
            channels = tuple(channel for channel, _ in completed)
            channel = channels[0] if len(channels) == 1 else ProductChannel(channels)
            possible = reduce(np.kron, (flags for _, flags in completed)).astype(bool)
            at = slice(number * inner, (number + 1) * inner)
            entries[at, at] = channel.matrix()
            strata.append(TableStratum(label(key), at, channel, possible))
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
    known = list(product(*(domain[name].categories for name in strata)))
    inner = cells.size // len(known)
    named = [
        TableStratum(
            label(key), slice(at * inner, (at + 1) * inner), channel, np.ones(inner, dtype=bool)
        )
        for at, key in enumerate(known)
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
