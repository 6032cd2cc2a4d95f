"""How the distances of single trials spread: Figure 7 of [rrba]."""

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
import pandas as pd

from deniable.arrays import Floats
from deniable.papers.rrba.names import EVERY
from deniable.papers.rrba.released_tables import PrintedTables
from deniable.papers.rrba.table_results import MAIN_READINGS, dataset_of
from deniable.study import Given, cells_of_grids, read_published, replicate

COLUMNS = (
    *("dataset", "file", "k", "p", "epsilon_claimed", "metric", "method"),
    *("bin_low", "bin_high", "count", "share", "trials", "subsets", "mean", "published"),
)
METRICS = ("l2", "jensen_shannon")
PANELS = (("survey_8000", 0.4), ("survey_8000", 0.5), ("alarm_8000", 0.5))
"""The files and p of Figure 7."""
BINS = 48
"""Of a panel of Figure 7, equally wide on the logarithmic scale: Laplace noise of the printed scale
is many times as large as the rest."""


def figure_7_cells(cells: Sequence[Mapping[str, Any]]) -> list[Mapping[str, Any]]:
    """Return the cells of Tables 4 and 5 that Figure 7 shows."""
    return [cell for cell in cells if (cell["file"], cell["p"]) in PANELS]


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
    histograms. The columns are `COLUMNS`; bins without a trial are left out.
    """
    rows: list[dict[str, Any]] = []
    for cell in cells:
        values = replicate(simulator, cell=cell, **runs)
        outputs = pd.DataFrame(simulator.outputs(cell))
        about = {"dataset": dataset_of(cell["file"]), **cell}
        for metric in METRICS:
            reading = MAIN_READINGS[metric]
            shown = (outputs["metric"] == metric) & (outputs["reading"] == reading)
            sets = outputs[shown & (outputs["subset"] != EVERY)]
            by_method = {
                str(method): values.take(part.index, axis=1)
                for method, part in sets.groupby("method", sort=False)
            }
            rows += [about | {"metric": metric} | row for row in _histograms(by_method)]
    table = pd.DataFrame(rows, columns=[c for c in COLUMNS if c != "published"])
    keys = [column for column in published if column not in ("published", "half_unit")]
    return table.merge(published, how="left", on=keys)[list(COLUMNS)]


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
