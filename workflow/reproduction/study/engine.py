"""Random streams, summaries and verdicts of the settings ("cells") of a study."""

import math
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import astuple, dataclass
from typing import Any, Literal

import numpy as np
import numpy.typing as npt
import pandas as pd
import scipy
from numpy.random import Generator

from deniable.arrays import Counts, Floats, Positions, at_least
from deniable.errors import DeniableError
from deniable.estimation import CONFIDENCE, Z_95
from deniable.files import SIGNIFICANT_DIGITS
from deniable.sampling import generator_for

from reproduction.study.grid import Cell, Grid, cells_of_grids, chunk_of

How = Literal["difference", "ratio"]
Output = Mapping[str, Any]
Comparisons = list[tuple[Output, How, tuple[int, int]]]
Simulated = Iterator[tuple[Output, npt.ArrayLike]]
SummaryName = Literal["median", "mean"]
Verdict = Literal["agrees", "differs", "fitted", "not published", "surrogate"]

INTERVAL = ("ci_low", "ci_high", "replicates")
RESULT_COLUMNS = ("published", "regenerated", *INTERVAL, "data_source", "verdict")
EQUIVALENT = "equivalent_replicates"
SUMMARY_COLUMNS = ("regenerated", *INTERVAL, EQUIVALENT)
"""The columns of a `Summary`; the last one exists only if a replicate has several answers."""
EPSILON_COLUMNS = ("p", "attribute_epsilon", "record_epsilon")
"""p, and the exact ε of a change in one attribute and in all attributes."""

RESAMPLES = 400
"""With this number, the error of a percentile is a tenth of the interval's half-width."""


class Simulator:
    """Base of the simulators of the settings of a study. One replicate may have several outputs."""

    def simulate(self, cell: Cell, generator: Generator, replicates: int) -> Simulated:
        """Yield the columns that name an output of a `cell`, and the values of the output.

        Values have the shape (replicates,), or (replicates, answers) if a replicate has several.
        A number is the value of all `replicates`. The `generator` does not change the names.
        """
        raise NotImplementedError

    def __call__(
        self, cell: Cell, generator: Generator, replicates: int
    ) -> tuple[list[Output], Floats]:
        """Return the names of all outputs, and an array (replicates, outputs[, answers])."""
        names, values = zip(*self.simulate(cell, generator, replicates), strict=True)
        return list(names), np.stack(np.broadcast_arrays(*values), axis=1)

    def wanted(self, cell: Cell, values: Floats) -> int:
        """Return the number of replicates that a `cell` needs, given the first `values`."""
        return len(values)

    def spends(self, cell: Cell, output: Output) -> Mapping[str, float]:
        """Return the `EPSILON_COLUMNS` of an `output` of a `cell`; by default none."""
        return {}

    def compared(self, outputs: Sequence[Output]) -> Comparisons:
        """Return comparisons of `outputs` within replicates. Summaries are medians then.

        They are the name of each, its form ("difference" or "ratio"), and the positions of outputs.
        """
        return []


def measured(measures: Mapping[str, npt.ArrayLike], **names: Any) -> Simulated:
    """Yield an output for each of the `measures`, with further `names`."""
    for measure, values in measures.items():
        yield {**names, "measure": measure}, values


def replicate(
    simulator: Simulator, root_seed: int, study: str, cell: Cell, *, replicates: int, block: int
) -> tuple[list[Output], Floats]:
    """Simulate `replicates` of a setting, `cell`; return names and values of outputs.

    Each `block` of replicates has its own random stream. It depends on the `root_seed`, the
    `study`, the setting and the number of the block. So more replicates, also those that the
    `simulator` wants, only add blocks.
    """
    blocks: list[Floats] = []
    while True:
        for start in range(len(blocks) * block, replicates, block):
            key = {"study": study, "cell": dict(cell), "block": start // block}
            generator = generator_for(root_seed, key)
            names, found = simulator(cell, generator, min(block, replicates - start))
            blocks.append(found)
        values = np.concatenate(blocks)
        more = simulator.wanted(cell, values)
        if more <= len(values):
            return names, values
        replicates, blocks = more, [each for each in blocks if len(each) == block]


@dataclass(frozen=True)
class Summary:
    """An estimate, `value`, from `replicates`, and its 95 % interval from `low` to `high`."""

    value: float
    low: float  # -inf if nothing bounds the estimate
    high: float  # inf if nothing bounds the estimate
    replicates: int
    equivalent: float = math.nan  # number of independent one-answer replicates of equal precision


def median_summary(values: npt.ArrayLike, confidence: float = CONFIDENCE) -> Summary:
    """Return the median of `values` with its distribution-free interval from order statistics.

    The interval covers with a probability of at least `confidence` for any distribution. With fewer
    than 6 values no order statistics reach 95 %, and the interval is the whole line.
    """
    ordered = np.sort(np.asarray(values, dtype=float))
    n = ordered.size
    if not n or np.isnan(ordered[-1]):
        raise DeniableError("a median needs at least one value, and every value must be a number")
    # The largest k with Pr(Bin(n, 1/2) < k) <= (1 - confidence) / 2; the interval is from the k-th
    # smallest value to the k-th largest.
    tails = scipy.special.bdtr(np.arange(n // 2), n, 0.5)
    rank = int(np.sum(tails <= (1 - confidence) / 2))
    low, high = (ordered[rank - 1], ordered[n - rank]) if rank >= 1 else (-np.inf, np.inf)
    return Summary(float(np.median(ordered)), float(low), float(high), n)


def mean_summary(values: npt.ArrayLike, confidence: float = CONFIDENCE) -> Summary:
    """Return the mean of `values` with Student's interval at a `confidence`; infinite for one."""
    sample = np.asarray(values, dtype=float)
    n = sample.size
    if not n or np.any(np.isnan(sample)):
        raise DeniableError("a mean needs at least one value, and every value must be a number")
    reach = np.inf
    if n > 1:
        quantile = scipy.special.stdtrit(n - 1, (1 + confidence) / 2)
        reach = quantile * sample.std(ddof=1) / np.sqrt(n)
    mean = float(sample.mean())
    return Summary(mean, float(mean - reach), float(mean + reach), n)


def independent_runs(table: pd.DataFrame) -> "pd.Series[float]":
    """Return the numbers of independent one-answer replicates as precise as the rows of `table`."""
    return table.get(EQUIVALENT, table["replicates"]).fillna(table["replicates"])


def widening(table: pd.DataFrame, published_replicates: int) -> "pd.Series[float]":
    """Return how the error of `published_replicates` widens the intervals of a `table`."""
    return (1 + independent_runs(table) / published_replicates) ** 0.5


def compare(
    results: pd.DataFrame,
    published: pd.DataFrame,
    keys: Sequence[str],
    published_replicates: int | None,
) -> pd.DataFrame:
    """Add published values and verdicts to `results`.

    Results have the columns `keys`, ``regenerated``, ``ci_low``, ``ci_high``, ``replicates`` and
    ``data_source``. The `published` values come from `read_published` and have some of the keys.
    The columns returned are keys, `RESULT_COLUMNS` and `EPSILON_COLUMNS`.

    A result agrees if the published value, ± half a unit of its last digit, lies in our interval.
    The interval is widened by the sampling error of `published_replicates` (`widening`), or not at
    all if this number is None. Values from surrogate data are not compared.
    """
    shared = [key for key in keys if key in published]
    table = results.merge(published, how="left", on=shared, validate="many_to_one")
    value, printed = table["regenerated"], table["published"]
    factor = widening(table, published_replicates) if published_replicates else 1.0
    low = value - factor * (value - table["ci_low"]) - table["half_unit"]
    high = value + factor * (table["ci_high"] - value) + table["half_unit"]
    reached = at_least(printed, low) & at_least(high, printed)
    cases: Any = [table["data_source"] == "surrogate", printed.isna(), reached]
    table["verdict"] = np.select(cases, ["surrogate", "not published", "agrees"], "differs")
    more = [name for name in (EQUIVALENT,) if name in table]
    return table[[*keys, *RESULT_COLUMNS, *more, *_spent(table, keys)]]


def _spent(table: pd.DataFrame, keys: Sequence[str]) -> list[str]:
    spent = EPSILON_COLUMNS if {*EPSILON_COLUMNS[1:]} & {*table} else ()
    return [name for name in spent if name in table and name not in keys]


def plotted(results: pd.DataFrame, keys: Sequence[str], summary: str) -> pd.DataFrame:
    """Return a table of `results` without published values; its estimates are named `summary`.

    The columns are `keys`, estimate, interval, source of the data, `EPSILON_COLUMNS`, then others
    with values.
    """
    named = results.rename(columns={"regenerated": summary})
    first = [*keys, summary, *INTERVAL, "data_source", *_spent(named, keys)]
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
    """Simulate one `chunk` (from 0) of `chunks` of the settings of `grids`; summarize each output.

    The `simulator`, `study`, `replicates`, `block` and `root_seed` are as in `replicate`. The
    `summary` applies to replicates with one answer and without comparisons; others have medians.
    The first columns describe the setting and the output. Then come ``regenerated``, ``ci_low``,
    ``ci_high``, ``replicates`` and any `EPSILON_COLUMNS`.
    """
    rows = []
    for cell in chunk_of(cells_of_grids(grids), chunk, chunks):
        names, values = replicate(
            simulator, root_seed, study, cell, replicates=replicates, block=block
        )
        comparisons = simulator.compared(names)
        if values.ndim == 3 or comparisons:
            generator = generator_for(root_seed, {"study": study, "cell": dict(cell), "of": "runs"})
            names += (name for name, *_ in comparisons)
            found = _by_runs(values, comparisons, generator)
        else:
            summarize = median_summary if summary == "median" else mean_summary
            found = [summarize(column) for column in values.T]
        for output, each in zip(names, found, strict=True):
            numbers = dict(zip(SUMMARY_COLUMNS, astuple(each), strict=True))
            if values.ndim < 3:
                del numbers[EQUIVALENT]
            rows.append({**cell, **output, **numbers, **simulator.spends(cell, output)})
    return pd.DataFrame(rows)


def _by_runs(values: Floats, comparisons: Comparisons, generator: Generator) -> list[Summary]:
    values = values.reshape(*values.shape[:2], -1)
    medians = np.median(values, axis=(0, 2))
    resampled = resampled_medians(values, generator)
    intervals = (percentile_interval(each, CONFIDENCE) for each in resampled.T)
    found = [
        Summary(float(value), *ends, len(values), equivalent_replicates(each, *ends))
        for value, ends, each in zip(medians, intervals, values.swapaxes(0, 1), strict=True)
    ]
    compared = (
        compared_medians(medians, resampled, at, how, CONFIDENCE) for _, how, at in comparisons
    )
    return found + [Summary(*each, len(values)) for each in compared]


def equivalent_replicates(values: Floats, low: float, high: float) -> float:
    """Return the number of independent answers with a median as precise as the median of `values`.

    The `values` have shape (replicates, answers). The 95 % interval of their median is from `low`
    to `high`. As many independent answers as replicates, each to a random query, have an interval
    between two quantiles of all values. A replicate with every query can be worth more than all its
    answers, because the choice of queries adds no error. It is worth at least one answer.
    """
    runs, answers = values.shape
    reach = Z_95 / 2 / math.sqrt(runs)
    ends = np.quantile(values, np.clip([0.5 - reach, 0.5 + reach], 0, 1), method="inverted_cdf")
    width = high - low
    if answers == 1 or not np.isfinite([*ends, width]).all() or width <= 0:
        return float(runs)
    return float(runs * max(((ends[1] - ends[0]) / width) ** 2, 1))


# Answers of one replicate are dependent. So are methods that answer the same queries. Replicates
# ("runs") are independent, so whole replicates are resampled, the same ones for all outputs.


def resampled_medians(values: Floats, generator: Generator, resamples: int = RESAMPLES) -> Floats:
    """Return the lower medians of resampled replicates, shape (`resamples`, outputs).

    The `values` have shape (replicates, outputs, answers); `generator` resamples replicates.
    """
    runs, outputs, answers = values.shape
    times = generator.multinomial(runs, np.full(runs, 1 / runs), size=resamples)
    found = np.empty((resamples, outputs))
    for output in range(outputs):
        flat = values[:, output].reshape(-1)
        order = np.argsort(flat, kind="stable")
        found[:, output] = flat[order[_middles(times, order // answers)]]
    return found


def _middles(times: Counts, run: Positions) -> Positions:
    """Return the position in `run` where each row of `times` reaches a half, shape (resamples,).

    Most are near the middle. Searching the middle fifth first is 3 times as fast.
    """
    for low, high in ((2 * run.size // 5, 3 * run.size // 5), (0, run.size)):
        before = times @ np.bincount(run[:low], minlength=times.shape[1])
        reached = before[:, None] + np.cumsum(times[:, run[low:high]], axis=1)
        if np.all(2 * before < run.size) and np.all(2 * reached[:, -1:] >= run.size):
            break
    return np.asarray(low + np.argmax(2 * reached >= run.size, axis=1))


def percentile_interval(resampled: Floats, confidence: float) -> tuple[float, float]:
    """Return the interval of `resampled` values at a `confidence`; the whole line if any is NaN."""
    if np.isnan(resampled).any():
        return -np.inf, np.inf
    tail = (1 - confidence) / 2
    low, high = np.quantile(resampled, [tail, 1 - tail], method="inverted_cdf")
    return float(low), float(high)


def compared_medians(
    medians: Floats, resampled: Floats, pair: tuple[int, int], how: How, confidence: float
) -> tuple[float, float, float]:
    """Return the difference or ratio of two medians, and the ends of its interval.

    The `pair` has the positions of two outputs. By `how`, the second is subtracted from the first
    or divides it. Infinite medians give NaN. The `medians` have shape (outputs,), the `resampled`
    ones (resamples, outputs). The interval has the level `confidence`.
    """
    first, second = pair
    of = np.subtract if how == "difference" else np.divide
    with np.errstate(divide="ignore", invalid="ignore"):
        value = float(of(medians[first], medians[second]))
        every = np.asarray(of(resampled[:, first], resampled[:, second]))
    return (value, *percentile_interval(every, confidence))


def in_order(results: pd.DataFrame, cells: Sequence[Cell]) -> pd.DataFrame:
    """Return `results` in the order of the settings `cells`; each must occur exactly once."""
    keys = list(cells[0])
    names = list(results.columns[: list(results.columns).index("regenerated")])

    def as_in_files(value: Any) -> Any:
        return float(f"{value:.{SIGNIFICANT_DIGITS}g}") if isinstance(value, float) else value

    wanted = [tuple(as_in_files(cell[key]) for key in keys) for cell in cells]
    rows: dict[tuple[Any, ...], list[int]] = {cell: [] for cell in wanted}
    for position, row in enumerate(results[keys].to_numpy(dtype=object).tolist()):
        rows.get(tuple(row), []).append(position)
    missing = [cell for cell, positions in rows.items() if not positions]
    if missing or results.duplicated(names).any():
        what = f"lack the setting {missing[0]}" if missing else "have a setting twice"
        raise DeniableError(f"the results {what}; delete results/studies and run again")
    order = [position for positions in rows.values() for position in positions]
    return results.iloc[order].reset_index(drop=True)
