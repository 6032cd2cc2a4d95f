"""Theorem 4.1 of [rrba] against the exact epsilons of RRBA, and Figure 4.

The theorem claims ln(1 / (1 - p)) for the protocol, whatever the tables, however many of them a
client answers. `claimed` is that; `claimed_composed` reads it generously, as the price of each
single answer. Exact epsilons are those of the channels that clients use, in rational numbers.
"""

import math
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

import numpy as np
import pandas as pd

from deniable.arrays import Floats
from deniable.channels import ProductChannel
from deniable.records import Microdata
from deniable.rrba import (
    Combination,
    View,
    answer_epsilon,
    claimed_epsilon,
    floor_epsilon,
    floored_projection,
    make_views,
    repeated_epsilon,
    table_channel,
)
from deniable.study import Given

CELLS = (2, 4, 8, 16)
"""Of the tables of one answer: the two coins, and binary attributes two, three and four at once."""

FLOORS_OF_FIGURE_4 = (0.1,)
CLAIM_TOLERANCE = 1e-12  # claims are formulas evaluated to nearest
CURVE = tuple(round(0.01 * step, 2) for step in range(1, 100))
"""The p of Figure 4."""

COLUMNS = (
    *("unit", "table", "dataset", "attributes", "cells", "answers", "rounds", "p", "floor"),
    *("claimed", "claimed_composed", "exact", "holds", "holds_composed"),
)


def epsilon_table(
    files: Mapping[str, Microdata],
    probabilities: Sequence[float],
    floors: Sequence[float],
    rounds: Sequence[int],
    size: int = 2,
) -> pd.DataFrame:
    """Return claimed and exact epsilons of answers, views and rounds.

    Parameters
    ----------
    files : mapping of str to Microdata
        Data sets, by name; their views are those of pairs.
    probabilities : sequence of float
        The p.
    floors : sequence of float, in (0, 1]
        Of tables that are made of the data.
    rounds : sequence of int
        How often a client answers again.
    size : int
        k, attributes a combination of a view.

    Returns
    -------
    DataFrame
        The columns of `COLUMNS`. ``unit``: "answer", "view", or "rounds". ``table``: "uniform"
        (before the first block), "lowest" (any table that touches its floor), or "true" (the
        data's own proportions, where the protocol is heading, projected on the floor; of a data
        set the worst combination, or view). ``cells`` are those of the table, of a view those of
        all its tables together.
    """
    rows = [row for p in probabilities for row in _single_tables(p, floors, rounds)]
    for name, data in files.items():
        views = make_views(data.domain.names, size)
        for p in probabilities:
            rows += _of_data(name, data, views, p, floors)
    return pd.DataFrame(rows, columns=list(COLUMNS))


def _single_tables(
    p: float, floors: Sequence[float], rounds: Sequence[int]
) -> Iterator[dict[str, Any]]:
    for cells in CELLS:
        uniform = np.full(cells, 1 / cells)
        attributes = int(math.log2(cells))
        about = {"attributes": attributes, "cells": cells, "answers": 1, "rounds": 1}
        yield _row(p, answer_epsilon(uniform, p), about, unit="answer", table="uniform")
        for floor in floors:
            exact = floor_epsilon(cells, p, floor)
            yield _row(p, exact, about, unit="answer", table="lowest", floor=floor)
        for times in rounds:
            exact = repeated_epsilon([uniform] * times, p)
            more = about | {"answers": times, "rounds": times}
            yield _row(p, exact, more, unit="rounds", table="uniform")


def _of_data(
    name: str, data: Microdata, views: Sequence[View], p: float, floors: Sequence[float]
) -> Iterator[dict[str, Any]]:
    truth = {c: data.counts(c).reshape(-1) / len(data) for view in views for c in view}
    for table, floor in [("uniform", math.nan), *(("true", floor) for floor in floors)]:
        sent = {c: _sent(proportions, table, floor) for c, proportions in truth.items()}
        channels = {c: table_channel(q, p) for c, q in sent.items()}
        of_answer = {c: channel.epsilon for c, channel in channels.items()}
        worst: Combination = max(of_answer, key=lambda c: of_answer[c])
        # The sum of floats finds the worst view, rational numbers its epsilon.
        view = max(views, key=lambda each: sum(of_answer[c] for c in each))
        exact = ProductChannel(tuple(channels[c] for c in view)).epsilon
        about = {"table": table, "floor": floor, "dataset": name, "attributes": len(worst)}
        about |= {"rounds": 1}
        cells = {"cells": sent[worst].size, "answers": 1}
        yield _row(p, of_answer[worst], about | cells, unit="answer")
        cells = {"cells": sum(sent[c].size for c in view), "answers": len(view)}
        yield _row(p, exact, about | cells, unit="view")


def _sent(proportions: Floats, table: str, floor: float) -> Floats:
    if table == "uniform":
        return np.full(proportions.size, 1 / proportions.size)
    return floored_projection(proportions, floor)


def _row(p: float, exact: float, about: Mapping[str, Any], **more: Any) -> dict[str, Any]:
    claimed = claimed_epsilon(p)
    composed = claimed * about["answers"]
    return (
        {"dataset": "", "floor": math.nan}
        | dict(about)
        | more
        | {
            "p": p,
            "claimed": claimed,
            "claimed_composed": composed,
            "exact": exact,
            "holds": exact <= claimed * (1 + CLAIM_TOLERANCE),
            "holds_composed": exact <= composed * (1 + CLAIM_TOLERANCE),
        }
    )


def figure_4_table(floors: Sequence[float] = ()) -> pd.DataFrame:
    """Return the curve of Figure 4, epsilon over p by (6), and what is exact beside it.

    Parameters
    ----------
    floors : sequence of float, optional
        For curves of tables of four cells that touch a floor.

    Returns
    -------
    DataFrame
        Columns ``curve`` ("claimed", "uniform", "lowest"), ``cells``, ``floor``, ``p``,
        ``epsilon``.
    """
    rows: list[dict[str, Any]] = []
    for p in CURVE:
        rows.append({"curve": "claimed", "cells": 0, "floor": math.nan, "p": p})
        rows[-1]["epsilon"] = claimed_epsilon(p)
        for cells, floor in [*((m, 1.0) for m in CELLS), *((4, floor) for floor in floors)]:
            curve = {"curve": "uniform" if floor == 1 else "lowest", "cells": cells}
            rows.append(curve | {"floor": floor if floor < 1 else math.nan, "p": p})
            rows[-1]["epsilon"] = floor_epsilon(cells, p, floor)
    table = pd.DataFrame(rows)
    return table.sort_values(["curve", "cells", "floor", "p"], kind="stable", ignore_index=True)


def priced(given: Given) -> dict[str, pd.DataFrame]:
    """Hold Theorem 4.1 against the exact epsilons of answers, views and rounds."""
    epsilons = epsilon_table(given.data, **given.settings)
    return {
        "rrba_epsilon": epsilons.assign(data_source="network"),
        "rrba_fig4": figure_4_table(FLOORS_OF_FIGURE_4).assign(data_source="formula"),
    }
