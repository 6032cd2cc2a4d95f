"""From simulated distances to tables: Tables 4 and 5 of [rrba], equal epsilons, Figure 7."""

from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any

import numpy as np
import pandas as pd

from deniable.arrays import Floats
from deniable.errors import DeniableError
from deniable.papers.rrba.catalog import PRINTED_TRIALS, TABLE_3_KEYS
from deniable.papers.rrba.names import HYPOTHESES
from deniable.papers.rrba.released_tables import EVERY, PrintedTables
from deniable.rrba import claimed_epsilon
from deniable.study import Given, below, cells_of_grids, compare, read_published, replicate

INTERVAL = ("ci_low", "ci_high", "replicates")
TABLE_COLUMNS = (
    *("metric", "dataset", "k", "method", "p", "epsilon_claimed", "epsilon_exact"),
    *("published", "regenerated", "subset_min", "subset_max", *INTERVAL, "data_source", "verdict"),
    *("main", "file", "reading", "trust", "epsilon_theorem", "cells"),
    *("subsets", "subsets_agreeing", "printed_is"),
)
EQUAL_COLUMNS = (
    *("metric", "dataset", "k", "epsilon", "method", "reading", "trust", "epsilon_exact"),
    *("mean", "subset_min", "subset_max", *INTERVAL),
    *("subsets", "subsets_lowest", "verdict", "data_source", "file"),
)
FIGURE_7_COLUMNS = (
    *("dataset", "file", "k", "p", "epsilon_claimed", "metric", "method"),
    *("bin_low", "bin_high", "count", "share", "trials", "subsets", "mean", "published"),
)
MAIN_READINGS = {
    "l2": "noisy",
    "squared_error": "noisy",
    "jensen_shannon": "projected",
    "chi_squared": "projected",
}
RESAMPLED = "_resampled"
FIGURE_7_METRICS = ("l2", "jensen_shannon")
FIGURE_7_PANELS = (("survey_8000", 0.4), ("survey_8000", 0.5), ("alarm_8000", 0.5))
"""The files and p of Figure 7."""
BINS = 48
"""Of a panel of Figure 7, equally wide on the logarithmic scale: Laplace noise of the printed scale
is many times as large as the rest."""
_CELL = ["file", "k", "p", "epsilon_claimed"]
_OUTPUT = ["metric", "method", "reading", "trust"]


def dataset_of(file: str) -> str:
    """Return the data set that a file stands for: its name up to the first underscore."""
    return file.split("_", maxsplit=1)[0]


def table_3(results: pd.DataFrame, published: pd.DataFrame | None) -> pd.DataFrame:
    """Set the results of `deniable.papers.rrba.independence.Table3` beside the printed rates.

    Every method with Laplace noise is held against the one that is printed. The text states neither
    n nor the effect: where both rates of RRBA agree, these were fitted to them, and that is the
    ``verdict``. The columns are `TABLE_3_KEYS` and those of `deniable.study.compare`.
    """
    noise = results["method"].str.startswith("laplace")
    named = results.assign(printed_as=results["method"].mask(noise, "laplace"))
    if published is not None:
        published = published.rename(columns={"method": "printed_as"})
    table = compare(named, published, [*TABLE_3_KEYS, "printed_as"], PRINTED_TRIALS)
    agrees = (table["method"] == "rrba") & (table["verdict"] == "agrees")
    setting = [table[name] for name in ("k", "n", "effect", "sampled_tables", "small_cells")]
    both = agrees.groupby(setting).transform("sum") == len(HYPOTHESES)
    table.loc[agrees & both, "verdict"] = "fitted"
    return table.drop(columns="printed_as")


def printed_table(results: pd.DataFrame, published: pd.DataFrame | None) -> pd.DataFrame:
    """Set the results of `PrintedTables` beside the printed numbers.

    Every reading and every file of a data set is held against the same printed number. Results have
    the columns file, k, p, epsilon_claimed, those of `PrintedTables.outputs`, regenerated, ci_low,
    ci_high, replicates, data_source; printed numbers (`deniable.study.published.read_published`)
    metric, dataset, k, method, p, epsilon_claimed, published, half_unit.

    Rows are of a cell, measure, method and reading, of `TABLE_COLUMNS`. ``regenerated`` is the
    mean over sets of attributes, ``subset_min`` and ``subset_max`` the smallest and largest mean of
    a set. ``verdict`` holds the printed number against the mean over sets, as in
    `deniable.study.engine.verdict` with the 100 printed trials; the text does not say which set it
    is of, so ``subsets_agreeing`` counts the sets whose own mean it agrees with, and ``printed_is``
    says whether it is "below", "within" or "above" the range of all of them. ``epsilon_exact`` is
    the largest of a set, ``epsilon_theorem`` that of Theorem 4.1. ``main`` marks one row for each
    printed cell, and these rows come first: the file drawn from the network, the table as it is
    released where the measure exists for it (l2), else projected.
    """
    named = results.assign(dataset=results["file"].map(dataset_of))
    keys = ["dataset", *_CELL, *_OUTPUT, "subset", "cells", "epsilon_exact"]
    compared = compare(named, published, keys, PRINTED_TRIALS)
    table = _with_ranges(compared, [*_CELL, *_OUTPUT])
    keep = table["p"].where(table["method"] == "rrba")
    table["epsilon_theorem"] = keep.map(claimed_epsilon, na_action="ignore")
    table["printed_is"] = np.select(
        [
            table["published"].isna(),
            table["published"] < table["subset_min"],
            table["published"] > table["subset_max"],
        ],
        ["not printed", "below", "above"],
        "within",
    )
    readings = table["metric"].map(MAIN_READINGS)
    table["main"] = (table["reading"] == readings) & ~table["file"].str.endswith(RESAMPLED)
    first = table.sort_values("main", ascending=False, kind="stable", ignore_index=True)
    return first[list(TABLE_COLUMNS)]


def _with_ranges(table: pd.DataFrame, keys: Sequence[str]) -> pd.DataFrame:
    """Return the rows of means over sets, with the range of the sets beside them."""
    means = table[table["subset"] == EVERY]
    each = table[table["subset"] != EVERY].groupby(list(keys), sort=False)
    ranges = each.agg(
        subset_min=("regenerated", "min"),
        subset_max=("regenerated", "max"),
        subsets=("regenerated", "size"),
    )
    if "verdict" in table:
        ranges["subsets_agreeing"] = each["verdict"].agg(lambda found: (found == "agrees").sum())
    merged = means.merge(ranges.reset_index(), on=list(keys), how="left", validate="one_to_one")
    if merged["subsets"].isna().any():
        raise DeniableError("results lack the single sets of attributes; simulate the cell again")
    return merged


def equal_table(results: pd.DataFrame, printed: pd.DataFrame | None = None) -> pd.DataFrame:
    """Say which method wins at the same exact epsilon, from results of `EqualEpsilon`.

    The paper has no such table: nothing is ``printed``. Of `EQUAL_COLUMNS`, ``verdict`` is
    "unbeaten" if no other local method has a mean that is lower beyond chance (Holm, 5 % over
    the comparisons of a row), else "beaten"; methods that are not local are held against the local
    ones. ``subsets_lowest``: sets of attributes in which the mean is the lowest of all local
    methods (one's own included).
    """
    group = ["file", "k", "epsilon", "metric", "reading"]
    table = _with_ranges(results, ["file", "k", "epsilon", *_OUTPUT])
    table["dataset"] = table["file"].map(dataset_of)
    verdicts = {}
    for _, part in table.groupby(group, sort=False):
        rows = part.rename(columns={"regenerated": "median"}).to_dict("index")
        local = [row for row in rows.values() if row["trust"] == "local"]
        for place, row in rows.items():
            others = [(other, row) for other in local if other["method"] != row["method"]]
            lower = replace(below(others, ""), kind="some")
            verdicts[place] = "beaten" if lower.support else "unbeaten"
    table["verdict"] = pd.Series(verdicts)
    table = table.join(_lowest_in(results, group), on=[*group, "method"])
    return table.rename(columns={"regenerated": "mean"})[list(EQUAL_COLUMNS)]


def _lowest_in(results: pd.DataFrame, group: list[str]) -> "pd.Series[Any]":
    """Count for each method the sets in which no local method has a lower mean."""
    each = results[results["subset"] != EVERY]
    of_set = [*group, "subset"]
    lowest = each[each["trust"] == "local"].groupby(of_set)["regenerated"].min().rename("lowest")
    beside = each.join(lowest, on=of_set)
    is_lowest = (beside["regenerated"] <= beside["lowest"]).rename("subsets_lowest")
    return is_lowest.groupby([beside[name] for name in (*group, "method")]).sum()


def figure_7_cells(cells: Sequence[Mapping[str, Any]]) -> list[Mapping[str, Any]]:
    """Return the cells of Tables 4 and 5 that Figure 7 shows."""
    return [cell for cell in cells if (cell["file"], cell["p"]) in FIGURE_7_PANELS]


def figure_7_table(
    simulator: PrintedTables,
    cells: Sequence[Mapping[str, Any]],
    published: pd.DataFrame,
    **runs: Any,
) -> pd.DataFrame:
    """Return the histograms of Figure 7: distances over trials and sets of attributes.

    With the name, the seed and the sizes of the study (``study``, which names the random streams,
    ``root_seed``, ``replicates`` and ``block``, as in `deniable.study.replicate`) they are of the
    very trials whose means are in Tables 4 and 5. The cells are as the simulator takes them; what
    is published, as in `printed_table`, are the averages of Tables 4 and 5, to be drawn beside the
    histograms. The columns are `FIGURE_7_COLUMNS`; bins without a trial are left out.
    """
    rows: list[dict[str, Any]] = []
    for cell in cells:
        values = replicate(simulator, cell=cell, **runs)
        outputs = pd.DataFrame(simulator.outputs(cell))
        about = {"dataset": dataset_of(cell["file"]), **cell}
        for metric in FIGURE_7_METRICS:
            reading = MAIN_READINGS[metric]
            shown = (outputs["metric"] == metric) & (outputs["reading"] == reading)
            sets = outputs[shown & (outputs["subset"] != EVERY)]
            by_method = {
                str(method): values.take(part.index, axis=1)
                for method, part in sets.groupby("method", sort=False)
            }
            rows += [about | {"metric": metric} | row for row in _histograms(by_method)]
    table = pd.DataFrame(rows, columns=[c for c in FIGURE_7_COLUMNS if c != "published"])
    keys = [column for column in published if column not in ("published", "half_unit")]
    return table.merge(published, how="left", on=keys)[list(FIGURE_7_COLUMNS)]


def _histograms(by_method: Mapping[str, Floats]) -> list[dict[str, Any]]:
    """Return the bins that hold a distance, by method; of each a column a set of attributes."""
    everything = np.concatenate([values.reshape(-1) for values in by_method.values()])
    # A distance of 0 has no logarithm: it goes into the first bin.
    low, high = everything[everything > 0].min() / 1.01, everything.max() * 1.01
    edges = np.geomspace(low, high, BINS + 1)
    rows = []
    for method, values in by_method.items():
        counts, _ = np.histogram(np.maximum(values, edges[0]), edges)
        about = {"method": method, "trials": len(values), "subsets": values.shape[1]}
        about["mean"] = float(values.mean())
        rows += [
            about
            | {"bin_low": edges[place], "bin_high": edges[place + 1]}
            | {"count": int(counts[place]), "share": counts[place] / values.size}
            for place in np.flatnonzero(counts)
        ]
    return rows


def spread(given: Given) -> dict[str, pd.DataFrame]:
    """Tabulate the distances of single trials behind Tables 4 and 5: Figure 7."""
    asked = given.settings
    simulator = PrintedTables(
        given.data, asked["subsets"], asked["subset_seed"], asked["block_size"]
    )
    table = figure_7_table(
        simulator,
        figure_7_cells(cells_of_grids(asked["grids"])),
        pd.concat(read_published(file, "value") for file in given.published.values()),
        study="rrba_tables",
        root_seed=given.seed,
        replicates=asked["replicates"],
        block=asked["block"],
    )
    return {"rrba_fig7": table.assign(data_source="network")}
