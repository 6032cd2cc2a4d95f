"""What all studies share: cells, their random streams, their summaries and their verdicts.

A study adds a function that simulates one cell, a grid in the config and a file of printed
numbers; everything else is here.
"""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Literal, Protocol, runtime_checkable

import numpy as np
import numpy.typing as npt
import pandas as pd
import scipy

from deniable.arrays import Floats, at_least
from deniable.errors import DeniableError
from deniable.estimation import CONFIDENCE
from deniable.files import SIGNIFICANT_DIGITS
from deniable.sampling import generator_for

from reproduction.study.bootstrap import (
    How,
    compared_medians,
    percentile_interval,
    resampled_medians,
)
from reproduction.study.grid import Cell, Grid, cells_of_grids, chunk_of

Output = Mapping[str, Any]
SummaryName = Literal["median", "mean"]
Verdict = Literal["agrees", "differs", "fitted", "not printed", "surrogate"]

COUNTED_VERDICTS: tuple[Verdict, ...] = ("agrees", "differs", "surrogate")
AGREEMENT_COLUMNS = ("median_ratio", "typical_factor", "rank_correlation")
RESULT_COLUMNS = (
    *("published", "regenerated", "ci_low", "ci_high", "replicates"),
    *("data_source", "verdict"),
)
EPSILON_COLUMNS = ("p", "attribute_epsilon", "record_epsilon")
"""What a row's mechanism spends: p, and the exact epsilons of a change in one attribute, in all."""


class Simulator(Protocol):
    """Simulates the cells of a study. One run of a cell may have several outputs.

    A method ``wanted`` may decide from the runs of a cell, (cell, values), how many it is to have.
    A method ``spends`` may return the epsilons of a cell and an output: `EPSILON_COLUMNS`.
    """

    def outputs(self, cell: Cell) -> Sequence[Output]:
        """Return what names each output of a `cell`; a single output needs no name: ({},)."""

    def __call__(self, cell: Cell, generator: np.random.Generator, replicates: int) -> Floats:
        """Simulate runs of a cell; return an array of shape (replicates, outputs).

        Where a run answers several queries, it has a third axis: (replicates, outputs, answers).
        """


@runtime_checkable
class ComparingSimulator(Simulator, Protocol):
    """A simulator some of whose outputs are compared run by run; they are summed up by medians."""

    def compared(self, cell: Cell) -> Sequence[tuple[Output, How, tuple[int, int]]]:
        """Return what names each comparison of a `cell`, how it is made, positions of outputs."""


def replicate(
    simulator: Simulator, root_seed: int, study: str, cell: Cell, *, replicates: int, block: int
) -> Floats:
    """Simulate the replicates of a cell; return an array, shape (replicates, outputs).

    The `simulator` makes them `block` by block until there are `replicates`. Each block has a
    stream of its own, from the `root_seed`, the `study`, the `cell` and the block's number:
    what else runs, and where, changes nothing, and more replicates only add blocks. So do those
    that a simulator wants after a look at the first.
    """
    wanted = getattr(simulator, "wanted", None)
    blocks: list[Floats] = []
    while True:
        for start in range(len(blocks) * block, replicates, block):
            key = {"study": study, "cell": dict(cell), "block": start // block}
            generator = generator_for(root_seed, key)
            blocks.append(simulator(cell, generator, min(block, replicates - start)))
        values = np.concatenate(blocks)
        more = wanted(cell, values) if wanted else 0
        if more <= len(values):
            return values
        replicates, blocks = more, [each for each in blocks if len(each) == block]


@dataclass(frozen=True)
class Summary:
    """An estimate, `value`, from `replicates` with its 95 % interval, from `low` to `high`."""

    value: float
    low: float
    high: float
    replicates: int


def median_summary(values: npt.ArrayLike, confidence: float = CONFIDENCE) -> Summary:
    """Return the median of `values` with its distribution-free interval from order statistics.

    It covers with at least `confidence` whatever the distribution. With fewer than 6 values no
    order statistics reach 95 %; the interval is then the whole line.
    """
    ordered = np.sort(np.asarray(values, dtype=float))
    n = ordered.size
    if not n or np.isnan(ordered[-1]):
        raise DeniableError("a median needs at least one value, and none that is not a number")
    # The largest k with Pr(Bin(n, 1/2) < k) <= (1 - confidence) / 2; the interval is from the k-th
    # smallest value to the k-th largest.
    tails = scipy.special.bdtr(np.arange(n // 2), n, 0.5)
    rank = int(np.sum(tails <= (1 - confidence) / 2))
    low, high = (ordered[rank - 1], ordered[n - rank]) if rank >= 1 else (-np.inf, np.inf)
    return Summary(float(np.median(ordered)), float(low), float(high), n)


def mean_summary(values: npt.ArrayLike, confidence: float = CONFIDENCE) -> Summary:
    """Return the mean of `values` with Student's interval of a `confidence`.

    With a single value that is the whole line.
    """
    sample = np.asarray(values, dtype=float)
    n = sample.size
    if not n or np.any(np.isnan(sample)):
        raise DeniableError("a mean needs at least one value, and none that is not a number")
    reach = np.inf
    if n > 1:
        quantile = scipy.special.stdtrit(n - 1, (1 + confidence) / 2)
        reach = quantile * sample.std(ddof=1) / np.sqrt(n)
    mean = float(sample.mean())
    return Summary(mean, float(mean - reach), float(mean + reach), n)


SUMMARIES: Mapping[SummaryName, Callable[[npt.ArrayLike], Summary]] = {
    "median": median_summary,
    "mean": mean_summary,
}


def widening(replicates: Any, published_replicates: int) -> Any:
    """Return by which factor the error of a printed value widens ours, of `replicates`.

    Its error is ours scaled to the paper's count, `published_replicates`; being independent, they
    add in squares.
    """
    return np.sqrt(1 + replicates / published_replicates)


def verdict(
    summary: Summary,
    published: float | None,
    half_unit: float,
    published_replicates: int | None,
    surrogate: bool = False,
) -> Verdict:
    """Hold a regenerated value against a printed one; without one the verdict is "not printed".

    The `published` value, give or take `half_unit` of its last digit, must lie within the interval
    of our `summary`, widened by the printed value's own sampling error (`widening`, by its
    `published_replicates`) unless it has none: no count. Where our value rests on `surrogate` data
    nothing is to be compared.
    """
    if surrogate:
        return "surrogate"
    if published is None or np.isnan(published):
        return "not printed"
    factor = 1.0
    if published_replicates is not None:
        factor = float(widening(summary.replicates, published_replicates))
    low = summary.value - factor * (summary.value - summary.low)
    high = summary.value + factor * (summary.high - summary.value)
    reached = at_least(published, low - half_unit) and at_least(high + half_unit, published)
    return "agrees" if reached else "differs"


def compare(
    results: pd.DataFrame,
    published: pd.DataFrame | None,
    keys: Sequence[str],
    published_replicates: int | None,
) -> pd.DataFrame:
    """Set `results` beside the printed numbers, with a verdict a row.

    Results have the columns `keys`, and regenerated, ci_low, ci_high, replicates, data_source; the
    numbers `published` are as `reproduction.study.read_published` returns them, and may have some
    of the keys; `published_replicates` runs are behind each of them. What is returned has the keys
    first, then `RESULT_COLUMNS`, then what is `EPSILON_COLUMNS`.
    """
    if published is None:
        table = results.assign(published=np.nan, half_unit=0.0)
    else:
        shared = [key for key in keys if key in published]
        table = results.merge(published, how="left", on=shared, validate="many_to_one")
    table["verdict"] = [
        verdict(
            Summary(row["regenerated"], row["ci_low"], row["ci_high"], row["replicates"]),
            row["published"],
            row["half_unit"],
            published_replicates,
            surrogate=row["data_source"] == "surrogate",
        )
        for row in table.to_dict("records")
    ]
    return table[[*keys, *RESULT_COLUMNS, *_spent(table, keys)]]


def _spent(table: pd.DataFrame, keys: Sequence[str]) -> list[str]:
    """Return the columns besides the keys that say what is spent; none if the table does not."""
    spent = EPSILON_COLUMNS if {*EPSILON_COLUMNS[1:]} & {*table} else ()
    return [name for name in spent if name in table and name not in keys]


def plotted(results: pd.DataFrame, keys: Sequence[str], summary: str) -> pd.DataFrame:
    """Return `results` that no printed number stands beside: `keys`, `summary`, interval, origin.

    What is `EPSILON_COLUMNS` follows. What else names a cell comes last, where it says anything.
    """
    named = results.rename(columns={"regenerated": summary})
    first = [*keys, summary, "ci_low", "ci_high", "replicates", "data_source", *_spent(named, keys)]
    others = [name for name in named if name not in first and named[name].notna().any()]
    return named[[*first, *others]]


def simulate_chunk(
    simulator: Simulator,
    study: str,
    grids: Sequence[Grid],
    *,
    chunk: int,
    chunks: int,
    replicates: int,
    block: int,
    root_seed: int,
    summary: SummaryName = "median",
) -> pd.DataFrame:
    """Simulate one `chunk` (from 0) of `chunks` of a study's cells; a row an output, its `summary`.

    The cells are those of `grids`; `simulator`, `root_seed`, `study`, `replicates` and `block` are
    as `replicate` takes them.

    Columns are the cell's, what names the output, then regenerated, ci_low, ci_high, replicates,
    and what is `EPSILON_COLUMNS`, where the simulator says so.
    """
    rows = []
    spends = getattr(simulator, "spends", None)
    for cell in chunk_of(cells_of_grids(grids), chunk, chunks):
        values = replicate(simulator, root_seed, study, cell, replicates=replicates, block=block)
        names: list[Output] = list(simulator.outputs(cell))
        if values.ndim == 3 or isinstance(simulator, ComparingSimulator):
            generator = generator_for(root_seed, {"study": study, "cell": dict(cell), "of": "runs"})
            found, more = _by_runs(simulator, cell, values, generator)
            names += more
        else:
            found = [SUMMARIES[summary](column) for column in values.T]
        for output, each in zip(names, found, strict=True):
            numbers = {"regenerated": each.value, "ci_low": each.low, "ci_high": each.high}
            spent = spends(cell, output) if spends else {}
            rows.append({**cell, **output, **numbers, "replicates": each.replicates, **spent})
    return pd.DataFrame(rows)


def _by_runs(
    simulator: Simulator, cell: Cell, values: Floats, generator: np.random.Generator
) -> tuple[list[Summary], list[Output]]:
    """Return medians of each output, then comparisons, whose names are returned, too."""
    values = values.reshape(*values.shape[:2], -1)
    medians = np.median(values, axis=(0, 2))
    resampled = resampled_medians(values, generator)
    intervals = (percentile_interval(each, CONFIDENCE) for each in resampled.T)
    found = [(float(value), *ends) for value, ends in zip(medians, intervals, strict=True)]
    names: list[Output] = []
    if isinstance(simulator, ComparingSimulator):
        for name, how, pair in simulator.compared(cell):
            names.append(name)
            found.append(compared_medians(medians, resampled, pair, how, CONFIDENCE))
    return [Summary(*each, len(values)) for each in found], names


def in_order(results: pd.DataFrame, cells: Sequence[Cell]) -> pd.DataFrame:
    """Return the `results` of the `cells`, in the cells' order, whatever chunks they came from.

    Outputs of a cell stay in their order. A cell that is missing or there twice is refused.
    """
    keys = list(cells[0])
    names = list(results.columns[: list(results.columns).index("regenerated")])
    rows: dict[tuple[Any, ...], list[int]] = {}
    for position, row in enumerate(results[keys].to_numpy(dtype=object).tolist()):
        rows.setdefault(tuple(row), []).append(position)
    wanted = [tuple(_as_written(cell[key]) for key in keys) for cell in cells]
    missing = [cell for cell in wanted if cell not in rows]
    if missing or results.duplicated(names).any():
        what = f"lack the cell {missing[0]}" if missing else "hold a cell twice"
        raise DeniableError(f"the results {what}; delete results/studies and run again")
    order = [position for cell in wanted for position in rows[cell]]
    return results.iloc[order].reset_index(drop=True)


def _as_written(value: Any) -> Any:
    # Results come from files, which hold so many digits and no more.
    return float(f"{value:.{SIGNIFICANT_DIGITS}g}") if isinstance(value, float) else value


def agreement(results: pd.DataFrame, by: Sequence[str]) -> pd.DataFrame:
    """Count the verdicts of `results` in groups `by` columns, and how far apart values are.

    ``median_ratio`` is of regenerated to printed values, ``typical_factor`` exp of the mean
    absolute log ratio, ``rank_correlation`` Spearman's.
    """
    rows = []
    for group, cells in results.dropna(subset=["published"]).groupby(list(by), sort=True):
        log_ratio = (cells["regenerated"] / cells["published"]).apply(np.log)
        verdicts = (int((cells["verdict"] == each).sum()) for each in COUNTED_VERDICTS)
        ratios = np.exp(log_ratio.median()), np.exp(log_ratio.abs().mean())
        ranks = cells["regenerated"].rank().corr(cells["published"].rank())
        rows.append((*group, len(cells), *verdicts, *ratios, ranks))
    columns = [*by, "cells", *COUNTED_VERDICTS, *AGREEMENT_COLUMNS]
    return pd.DataFrame(rows, columns=columns)
