"""Whether printed numbers that differ only in T_d differ by more than chance ([multirr], 6.5).

On Adult the clusters are the same for T_d = .1, .2 and .3, so cells of one p and T_v repeat one
experiment, and whatever trend they show is sampling error.
"""

from typing import Any

import numpy as np
import pandas as pd
from scipy import special

from deniable.estimation import Z_95
from deniable.study import Given, agreement

PRINTED_RUNS = 1000
"""Runs behind a printed number ([multirr], 6.5)."""
TREND_COLUMNS = (
    "dataset",
    "mechanism",
    "p",
    "t_v",
    "clusterings",
    "printed_low",
    "printed_high",
    "statistic",
    "degrees_of_freedom",
    "p_value",
)


def threshold_trend(results: pd.DataFrame, clusters: pd.DataFrame) -> pd.DataFrame:
    """Test, for each p and T_v, that the printed values over T_d have one median.

    The sampling error of a printed median is taken from our interval for the same cells, scaled to
    the paper's replicate count, and to the level of the printed value: the printed cells are held
    against each other here, not against ours, and relative errors spread in proportion to their
    level. Only thresholds T_v at which all T_d give one clustering are tested.

    Parameters
    ----------
    results : DataFrame
        Rows of Tables 1 and 2, as their CSV files hold them.
    clusters : DataFrame
        As `deniable.randomized_response.audit.clusters_table` returns it.

    Returns
    -------
    DataFrame
        ``dataset``, ``mechanism`` (whose error is used), ``p``, ``t_v``, ``clusterings`` (how many
        different ones the T_d give: 1), ``printed_low``, ``printed_high``, ``statistic``,
        ``degrees_of_freedom``, ``p_value``; then a row for each dataset and mechanism with ``p``
        and ``t_v`` empty: the sum over all.
    """
    names = clusters.groupby(["t_v", "t_d"])["cluster"].agg("; ".join)
    different: dict[Any, int] = names.groupby("t_v").nunique().to_dict()
    printed = results.dropna(subset=["published"])
    rows: list[dict[str, Any]] = []
    for (dataset, mechanism), table in printed.groupby(["dataset", "mechanism"], sort=False):
        which = {"dataset": dataset, "mechanism": mechanism}
        tests: list[dict[str, Any]] = [
            which | {"p": p, "t_v": t_v, "clusterings": different[t_v]} | _one_median(cells)
            for (p, t_v), cells in table.groupby(["p", "t_v"])
            if different[t_v] == 1  # otherwise the cells are different experiments
        ]
        if tests:
            whole = {"p": None, "t_v": None, "clusterings": 1}
            low, high = table["published"].min(), table["published"].max()
            statistic = sum(test["statistic"] for test in tests)
            freedom = sum(test["degrees_of_freedom"] for test in tests)
            sums = {"printed_low": low, "printed_high": high} | _chi_square(statistic, freedom)
            rows += [*tests, which | whole | sums]
    return pd.DataFrame(rows, columns=list(TREND_COLUMNS)).astype({"p": "Float64", "t_v": "Int64"})


def _one_median(cells: pd.DataFrame) -> dict[str, float]:
    printed = cells["published"]
    half_width = (cells["ci_high"] - cells["ci_low"]).mean() / 2
    level = printed.mean() / cells["regenerated"].mean()
    runs = np.sqrt(cells["replicates"].mean() / PRINTED_RUNS)
    error = half_width / Z_95 * level * runs
    statistic = float((((printed - printed.mean()) / error) ** 2).sum())
    return {"printed_low": printed.min(), "printed_high": printed.max()} | _chi_square(
        statistic, len(cells) - 1
    )


def _chi_square(statistic: float, freedom: int) -> dict[str, float]:
    return {
        "statistic": statistic,
        "degrees_of_freedom": freedom,
        "p_value": float(special.chdtrc(freedom, statistic)) if freedom else 1.0,
    }


def trend(given: Given) -> dict[str, pd.DataFrame]:
    """Test the trend over T_d in the printed tables that this run regenerates."""
    printed = [table for name, table in given.tables.items() if name != "multirr_clusters"]
    found = threshold_trend(pd.concat(printed), given.tables["multirr_clusters"])
    return {"multirr_threshold_trend": found}


def agreement_by_reading(given: Given) -> dict[str, pd.DataFrame]:
    """Count which printed numbers hold under each reading, mechanism and projection."""
    by = ["dataset", "matrix", "mechanism", "projection"]
    return {"multirr_agreement": agreement(pd.concat(given.tables.values()), by)}
