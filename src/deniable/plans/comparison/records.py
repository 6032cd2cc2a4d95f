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
    """Return the numbers of records for an error of each block of a `plan` and of each table.

    Errors are the absolute one (5) and the relative one (6) of [multirr], section 2.3, of all
    proportions of a block at once, with probability 1 - `alpha`. The `error` is in [1e-9, 1).
    `tables` are lists of columns; a column in a cluster needs the whole cluster.

    The columns are ``columns``; ``values``, the number r of randomized values; ``absolute``, in the
    worst case, and ``relative``, at equal frequencies, for proportions of randomized values;
    ``propagation``; and ``estimate_absolute``, ``estimate_relative``, for estimates. Their errors
    are larger by the propagation factor, so they need its square times as many records. This number
    is exact for matrices with one value on the diagonal and one elsewhere, else a lower bound. It
    is missing with more randomized values than categories, and infinite for singular matrices.

    Raises `DeniableError` if the plan has no channels, a column is unknown, a number out of range.
    """
    if not 0 < error < 1:
        raise DeniableError(f"the error of proportions must be in (0, 1), not {error}")
    if part := _asked_in_part(plan):
        raise DeniableError(
            f"only a part of the records has values of {part[0]}, and these numbers are of records "
            "with all values; use the expected errors (--records, --within)"
        )
    rows = []
    for columns, channel in (*plan.channels().items(), *_tables(plan, tables)):
        row: dict[str, Any] = {"columns": columns, "values": channel.reports}
        needed = {each: records_needed(channel.reports, error, alpha, each) for each in KINDS}
        factor = propagation_factor(channel) if channel.square else math.nan
        estimates = {f"estimate_{each}": number * factor**2 for each, number in needed.items()}
        rows.append(row | needed | {"propagation": factor} | estimates)
    if not rows:
        raise DeniableError(f"a plan of kind {plan.kind} has no channels; compare test releases")
    table = pd.DataFrame(rows)
    estimated = [f"estimate_{each}" for each in KINDS]
    table[estimated] = np.ceil(table[estimated])
    return table


def _tables(plan: Plan, tables: Sequence[Sequence[str]]) -> Iterator[Named]:
    """Yield each table with the channel of all clusters that have a column of it."""
    protocol = plan.record_protocol
    for names in tables:
        if protocol is None:
            raise DeniableError(f"a plan of kind {plan.kind} has no channel of tables; name none")
        protocol.domain.project(names)  # refuses unknown names
        own = [each for each in protocol.clusters if set(each) & set(names)]
        yield " x ".join(names), ProductChannel(tuple(map(protocol.channel_of, own)))


def _asked_in_part(plan: Plan) -> list[str]:
    names = [each.name for each in plan.schema_of_tables.randomized]
    try:
        return [name for name in names if plan.table_of([name]).asked < 1]
    except DeniableError:  # of a plan without channels, or of large tables within strata
        return []
