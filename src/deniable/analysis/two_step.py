"""Two-step maximum likelihood of independence, for all tables of a release."""

import numpy as np
import pandas as pd

from deniable.analysis.many_tables import ChosenTables, unbiased_estimates
from deniable.arrays import Floats
from deniable.contingency import LogLinearModel, two_step_estimate
from deniable.responses import Responses


def two_step_estimates(
    chosen: ChosenTables, responses: Responses, weight: str | None
) -> pd.DataFrame:
    """Return the nearest non-negative tables, and the independence models fitted to these.

    [rrba], section 6; see `deniable.contingency.two_step_estimate`.

    Parameters
    ----------
    chosen : ChosenTables
    responses : Responses
    weight : str or None
        The released column of weights that records count by.

    Returns
    -------
    DataFrame
        One row per cell of a table: ``columns`` and ``values``, joined by " x "; ``estimate``;
        ``nearest``, which is not negative and sums to 1; ``independent``, expected if the columns
        were independent. ``attrs["left_out"]`` has the tables left out, with the reasons.
    """
    estimates, left_out = unbiased_estimates(chosen, responses, weight)
    by_shape: dict[tuple[int, ...], list[int]] = {}
    for position, each in enumerate(estimates):
        by_shape.setdefault(each.domain.shape, []).append(position)
    steps: dict[int, tuple[Floats, Floats]] = {}
    for shape, positions in by_shape.items():
        noisy = np.array([estimates[position].proportions.reshape(-1) for position in positions])
        found = two_step_estimate(noisy, 1.0, LogLinearModel.independence(shape))
        steps |= zip(positions, zip(found.tables, found.fitted, strict=True), strict=True)
    parts = [
        pd.DataFrame(
            {
                "columns": each.label,
                "values": each.domain.cell_labels(),
                "estimate": each.proportions.reshape(-1),
                "nearest": steps[position][0],
                "independent": steps[position][1],
            }
        )
        for position, each in enumerate(estimates)
    ]
    tables = pd.concat(parts, ignore_index=True)
    tables.attrs["left_out"] = left_out
    return tables
