"""Tables from records that were randomized within strata: one channel, block by block."""

from collections.abc import Sequence
from itertools import product

import numpy as np

from deniable.analysis.tables import MOST_ENTRIES, Side, Table
from deniable.channels import DenseChannel, KeepOrReplace, ProductChannel
from deniable.errors import DeniableError, SingularChannelError
from deniable.pram import StratifiedProtocol


def table_within_strata(protocol: StratifiedProtocol, names: Sequence[str]) -> Table:
    """Return the table of some columns, in their order.

    Stratum and randomized columns went through one channel over their joint cells, that of each
    stratum for its own cells and none that leaves a stratum. Its unbiased estimates are those of
    the strata added up.

    Parameters
    ----------
    protocol : StratifiedProtocol
    names : sequence of str

    Raises
    ------
    DeniableError
        If there is none, one twice, or one that the release has not; if the channel is singular, or
        too large.
    """
    if not names:
        raise DeniableError("a table of no columns; name at least one")
    domain = protocol.domain.project(names)  # refuses what is not there, or twice
    blocks = [block for block in protocol.blocks if set(block) & set(names)]
    if not blocks:
        unchanged = KeepOrReplace(1.0, np.zeros(domain.size))
        return Table(domain, (Side(domain, domain, unchanged),))
    randomized = [name for block in blocks for name in block]
    cells = protocol.domain.project([*protocol.strata, *randomized])
    inner = protocol.domain.project(randomized).size
    if cells.size**2 > MOST_ENTRIES:
        raise DeniableError(
            f"the table of {', '.join(domain.names)} within strata is over {cells.size:,} cells, "
            f"a matrix of more than {MOST_ENTRIES:,} entries; name fewer columns"
        )
    entries = np.eye(cells.size)
    known = (protocol.domain[name].categories for name in protocol.strata)
    for number, stratum in enumerate(product(*known)):
        if stratum in protocol.protocols:  # no record is in any other
            own = protocol.protocols[stratum]
            channels = tuple(own.channel_of(block) for block in blocks)
            at = slice(number * inner, (number + 1) * inner)
            entries[at, at] = ProductChannel(channels).matrix()
    channel = DenseChannel(entries)
    if channel.singular:
        raise SingularChannelError(
            f"within strata the channel of {', '.join(cells.names)} tells nothing of some "
            "categories, so that nothing can be estimated of them; leave these columns out"
        )
    return Table(domain, (Side(cells, cells, channel),))
