"""The number of records that a plan needs for an error ([multirr], section 2.3)."""

import math
from collections.abc import Iterator, Sequence
from typing import Any, Literal

import numpy as np
import pandas as pd

from deniable.channels import Channel, ProductChannel
from deniable.errors import DeniableError
from deniable.estimation import propagation_factor, records_needed
from deniable.plans.interface import Plan

KINDS: tuple[Literal["absolute", "relative"], ...] = ("absolute", "relative")
Named = tuple[str, Channel]


def records_for_error(
    plan: Plan, error: float, tables: Sequence[Sequence[str]] = (), alpha: float = 0.05
) -> pd.DataFrame:
    """Return the numbers of records for an error of each block of a plan and of each table.

    SOURCE: [multirr], section 2.3. The first two numbers are for proportions of randomized values,
    all of a block or table at once. The error of an estimate is larger by the propagation factor,
    so it needs the square of the factor times as many records. This is exact for matrices with one
    value on the diagonal and one elsewhere, and a lower bound for others.

    Parameters
    ----------
    plan : Plan
        A plan with channels.
    error : float, at least 1e-9
        The absolute error (5), and the relative error (6).
    tables : sequence of sequences of str, optional
        Tables of columns that are estimated. A column in a cluster needs the whole cluster.
    alpha : float, in (0, 1)
        All errors of a block are at most `error` with probability 1 - `alpha`.

    Returns
    -------
    DataFrame
        ``columns``, ``values`` (number r of randomized values), ``absolute`` (if a value has half
        of the records, the worst case), ``relative`` (at equal frequencies, the best case),
        ``propagation``, ``estimate_absolute`` and ``estimate_relative``. The last three are missing
        if there are more randomized values than categories, and infinite for singular matrices.

    Raises
    ------
    DeniableError
        If the plan has no channels, a column is unknown, or a number is out of range.
    """
    rows = []
    for columns, channel in (*plan.channels().items(), *_tables(plan, tables)):
        row: dict[str, Any] = {"columns": columns, "values": channel.reports}
        needed = {each: records_needed(channel.reports, error, alpha, each) for each in KINDS}
        factor = propagation_factor(channel) if channel.square else math.nan
        estimates = {f"estimate_{each}": number * factor**2 for each, number in needed.items()}
        rows.append(row | needed | {"propagation": factor} | estimates)
    if not rows:
        raise DeniableError(
            f"a plan of kind {plan.kind} has no channels, so section 2.3 of [multirr] has no bound "
            "for it; compare test releases instead"
        )
    table = pd.DataFrame(rows)
    estimated = [f"estimate_{each}" for each in KINDS]
    table[estimated] = np.ceil(table[estimated])
    return table


def _tables(plan: Plan, tables: Sequence[Sequence[str]]) -> Iterator[Named]:
    """Yield each table with the channel of all clusters that have a column of it."""
    protocol = plan.record_protocol
    for names in tables:
        if protocol is None:
            raise DeniableError(
                f"a plan of kind {plan.kind} has no one channel of a table; leave --table out"
            )
        protocol.domain.project(names)  # refuses unknown names
        own = [each for each in protocol.clusters if set(each) & set(names)]
        yield " x ".join(names), ProductChannel(tuple(map(protocol.channel_of, own)))
