"""Compare published numbers of [multirr] with ours; contents of sections on numbers, clusters."""

from collections.abc import Callable, Mapping, Sequence
from itertools import product
from operator import itemgetter
from typing import Any

import numpy as np
import pandas as pd
import scipy

from deniable.display import Tables, rows_of
from deniable.estimation import Z_95

from reproduction.papers.multirr.catalog import CLUSTER_QUERY_KEYS, PRINTED_RUNS, READING, VARIATION
from reproduction.papers.multirr.names import clusterings
from reproduction.study import EPSILON_COLUMNS, by, groups_of, independent_runs, widening

TREND_COLUMNS = (
    *("dataset", "mechanism", "p", "t_v", *EPSILON_COLUMNS[1:], "clusterings"),
    *("printed_low", "printed_high"),
    *("statistic", "degrees_of_freedom", "p_value", "p_value_without_worst"),
)
COUNTED_VERDICTS = ("agrees", "differs", "surrogate")
AS_READ = "none"  # the variation of interpretations without one


def with_variations(results: pd.DataFrame) -> pd.DataFrame:
    """Return `results` with the variation of each interpretation, `AS_READ` by default."""
    varied = results.get(VARIATION, pd.Series(AS_READ, results.index))
    return results.assign(**{VARIATION: varied.fillna(AS_READ)})


def agreement_by_reading(results: pd.DataFrame) -> pd.DataFrame:
    """Count the published numbers that agree under each interpretation, and test their joint fit.

    `results` are rows of Tables 1 and 2 and of their variations, from `with_variations`. Ratios are
    ours over published, and ``typical_factor`` is exp of the mean absolute log ratio.

    The test is that all published numbers of an interpretation are its medians. The ``statistic``
    is the sum of squared differences to our medians, in units of their standard errors. A standard
    error combines the error of our median, and this error scaled to `PRINTED_RUNS` replicates for
    the published median. By the normal approximation the statistic is chi-squared, with one degree
    of freedom per number, if the interpretation is right.
    """
    printed = results.dropna(subset=["published"])
    ours, published = printed["regenerated"], printed["published"]
    logs = (ours / published).map(np.log)
    score = (published - ours) / _errors(np.asarray, printed)
    own: dict[str, Any] = {name: printed["verdict"] == name for name in COUNTED_VERDICTS}
    own |= {"log": logs, "apart": logs.abs(), "score": score**2}
    groups = printed.assign(**own).groupby(list(READING))
    ranks = ((part["regenerated"].rank(), part["published"].rank()) for _, part in groups)
    found = groups[[*COUNTED_VERDICTS]].sum()
    found.insert(0, "cells", groups.size())
    found["median_ratio"] = np.exp(groups["log"].median())
    found["typical_factor"] = np.exp(groups["apart"].mean())
    found["rank_correlation"] = [one.corr(other) for one, other in ranks]
    found["statistic"], found["degrees_of_freedom"] = groups["score"].sum(), found["cells"]
    found["p_value"] = scipy.special.chdtrc(found["cells"], found["statistic"])
    return found.reset_index()


def misfit(results: pd.DataFrame) -> pd.DataFrame:
    """Return geometric means of our / published `results` by p and T_v, with the largest ε."""
    printed = results.dropna(subset=["published"])
    keys = [*READING, "p", "t_v"]
    logs = np.log(printed["regenerated"] / printed["published"])
    grouped = printed.assign(log=logs, square=_errors(np.log, printed) ** 2).groupby(keys)
    found = grouped[[name for name in EPSILON_COLUMNS[1:] if name in printed]].max()
    mean, cells = grouped["log"].mean(), grouped.size()
    reach = Z_95 * np.sqrt(grouped["square"].sum()) / cells
    ends = {"ratio": mean, "ci_low": mean - reach, "ci_high": mean + reach}
    found = found.assign(cells=cells, **{name: np.exp(end) for name, end in ends.items()})
    return found.reset_index()


def _errors(scale: Callable[[Any], Any], printed: pd.DataFrame) -> "pd.Series[float]":
    width = pd.Series(scale(printed["ci_high"]) - scale(printed["ci_low"]), printed.index)
    found: pd.Series[float] = width / (2 * Z_95) * widening(printed, PRINTED_RUNS)
    return found


def threshold_trend(results: pd.DataFrame, clusters: pd.DataFrame) -> pd.DataFrame:
    """Test for each p and T_v that the published values over T_d have one median ([multirr], 6.5).

    Only T_v with the same clusters at all T_d are tested. Their settings repeat one experiment, so
    every trend is sampling error. The error of a published median comes from our interval for the
    same setting. It is scaled to the paper's number of replicates and to the level of the published
    value, because the spread of relative errors is proportional to their level.

    `results` are rows of Tables 1 and 2, and `clusters` come from `clusters_table`. The intervals
    belong to the ``mechanism``. Rows without ``p`` and ``t_v`` combine all tests of a data set and
    mechanism; ``p_value_without_worst`` leaves out the largest statistic.
    """
    different: dict[Any, int] = clusterings(clusters).groupby("t_v").nunique().to_dict()
    printed = results.dropna(subset=["published"])
    rows: list[dict[str, Any]] = []
    for which, table in groups_of(printed, "dataset", "mechanism"):
        tests: list[dict[str, Any]] = [
            which
            | {"p": p, "t_v": t_v}
            | {name: cells[name].max() for name in EPSILON_COLUMNS[1:] if name in cells}
            | _one_median(cells)
            for (p, t_v), cells in table.groupby(["p", "t_v"])
            if different[t_v] == 1
        ]
        if tests:
            *others, _ = sorted(tests, key=itemgetter("statistic"))
            rows += [*tests, which | _chi_square(table["published"], tests)]
            rest = _chi_square(table["published"], others)["p_value"] if others else None
            rows[-1]["p_value_without_worst"] = rest
    found = pd.DataFrame(rows, columns=list(TREND_COLUMNS)).assign(clusterings=1)
    return found.astype({"p": "Float64", "t_v": "Int64"})


def _one_median(cells: pd.DataFrame) -> dict[str, float]:
    printed = cells["published"]
    half_width = (cells["ci_high"] - cells["ci_low"]).mean() / 2
    level = printed.mean() / cells["regenerated"].mean()
    error = half_width / Z_95 * level * np.sqrt(independent_runs(cells).mean() / PRINTED_RUNS)
    statistic = float((((printed - printed.mean()) / error) ** 2).sum())
    return _chi_square(printed, [{"statistic": statistic, "degrees_of_freedom": len(cells) - 1}])


def _chi_square(values: "pd.Series[float]", tests: Sequence[Mapping[str, Any]]) -> dict[str, float]:
    """Return the range of published `values`, and the sum of independent `tests`."""
    names = ("statistic", "degrees_of_freedom")
    statistic, freedom = (sum(test[name] for test in tests) for name in names)
    p_value = float(scipy.special.chdtrc(freedom, statistic)) if freedom else 1.0
    ends = {"printed_low": values.min(), "printed_high": values.max(), "p_value": p_value}
    return ends | {"statistic": statistic, "degrees_of_freedom": freedom}


def printed_table(tables: Tables, name: str) -> dict[str, Any]:
    """Return the table `name` of `tables` as in the paper: a row per p and T_d, columns by T_v."""
    table = tables[name]
    cells = by(table, "p", "t_d", "t_v", "mechanism")
    p, t_d, sizes = (sorted(table[column].unique()) for column in ("p", "t_d", "t_v"))
    mechanisms = list(dict.fromkeys(table["mechanism"]))
    rows = [
        {"p": a, "t_d": b, "first": b == t_d[0]}
        | {"cells": [[cells.get((a, b, t_v, m)) for m in mechanisms] for t_v in sizes]}
        for a, b in product(p, t_d)
    ]
    found = {"sizes": sizes, "mechanisms": mechanisms, "rows": rows}
    return found | {"name": name, "keys": CLUSTER_QUERY_KEYS}


def readings(tables: Tables) -> dict[str, Any]:
    """Return the agreement with published numbers from `tables`, for the published matrix first."""
    found = tables["multirr_agreement"]
    missed = tables.get("multirr_misfit", found.iloc[:0])
    printed = is_as_printed(found)
    return {
        "rows": pd.concat([found[printed], found[~printed]]),
        "misfit": rows_of(missed[is_as_printed(missed)]),
        "keys": CLUSTER_QUERY_KEYS,
    }


def is_as_printed(agreement: pd.DataFrame) -> "pd.Series[bool]":
    """Return whether rows of `agreement` have the published matrix and projection."""
    printed: pd.Series[bool] = agreement["matrix"] == "printed"
    return printed & (agreement["projection"] == "clip") & (agreement[VARIATION] == AS_READ)


def clusters(tables: Tables) -> dict[str, Any]:
    """Return the clusters of Algorithm 1 from `tables`, and tests of the stated trend over T_d."""
    trend = tables.get("multirr_threshold_trend", pd.DataFrame())
    if len(trend):
        trend = trend[trend["mechanism"] == trend["mechanism"].iloc[-1]]
    formed = groups_of(tables["multirr_clusters"], "t_v", "t_d")
    rows = [row | {"clusters": rows_of(part[part["attributes"] > 1])} for row, part in formed]
    return {"rows": rows, "trend": trend}
