"""What all studies share: streams, medians with intervals, verdicts, order, agreement."""

import math
from collections.abc import Sequence
from dataclasses import astuple
from typing import Any

import numpy as np
import pandas as pd
import pytest
from scipy import stats

from deniable.errors import DeniableError
from deniable.files import write_table
from deniable.sampling import generator_for

from reproduction.study.engine import (
    SUMMARY_COLUMNS,
    Comparisons,
    Output,
    Simulated,
    Simulator,
    Summary,
    compare,
    in_order,
    mean_summary,
    median_summary,
    plotted,
    replicate,
    simulate_chunk,
)
from reproduction.study.grid import Cell, cells_of_grids

# -- medians ---------------------------------------------------------------------------------------


@pytest.mark.parametrize("n", [6, 7, 9, 17, 50, 101, 250, 1000])
def test_the_ranks_are_those_of_the_binomial(n: int) -> None:
    # With the values 1 .. n a rank is its value.
    summary = median_summary(np.random.default_rng(n).permutation(np.arange(1, n + 1)))
    tail = 0
    rank = 0
    while (tail := tail + math.comb(n, rank)) * 40 <= 2**n:  # Pr(Bin(n, 1/2) <= rank) <= 1/40
        rank += 1
    assert (summary.low, summary.high) == (rank, n + 1 - rank)
    assert summary.value == (n + 1) / 2
    assert summary.replicates == n
    covered = sum(math.comb(n, k) for k in range(rank, n + 1 - rank)) / 2**n
    wider = sum(math.comb(n, k) for k in range(rank + 1, n - rank)) / 2**n
    assert covered >= 0.95 > wider  # no narrower pair of ranks would do


def test_known_ranks() -> None:
    # From tables of the sign test: n = 10 gives the 2nd and 9th, n = 20 the 6th and 15th.
    for n, low, high in ((6, 1, 6), (10, 2, 9), (20, 6, 15), (100, 40, 61)):
        summary = median_summary(np.arange(1, n + 1))
        assert (summary.low, summary.high) == (low, high)


@pytest.mark.parametrize("n", [1, 2, 3, 4, 5])
def test_few_values_leave_the_whole_line(n: int) -> None:
    summary = median_summary(np.ones(n))
    assert (summary.low, summary.value, summary.high) == (-math.inf, 1.0, math.inf)


@pytest.mark.parametrize("values", [[], [1.0, math.nan]])
def test_a_median_of_nothing_is_refused(values: list[float]) -> None:
    with pytest.raises(DeniableError, match="a median needs"):
        median_summary(values)


def test_infinite_errors_are_values_like_others() -> None:
    summary = median_summary([*range(1, 40), math.inf, math.inf])
    assert summary.value == 21
    assert math.isfinite(summary.high)


@pytest.mark.parametrize("n", [6, 25, 100])
def test_the_interval_covers_the_median_of_a_skewed_distribution(n: int) -> None:
    generator = np.random.default_rng(n)
    trials = 4000
    true = math.exp(0.3)
    covered = 0
    for values in np.exp(generator.normal(0.3, 1.0, (trials, n))):
        summary = median_summary(values)
        covered += summary.low <= true <= summary.high
    # Fails by chance once in 10,000 runs if coverage is exactly .95.
    assert covered >= stats.binom.ppf(1e-4, trials, 0.95)


# -- verdicts --------------------------------------------------------------------------------------

# Value .300 with interval .290 to .320 from 1,000 runs. Beside a paper's 1,000 runs each half-width
# grows by sqrt(2): .0141 below, .0283 above; half a unit is .0005 on top.
OURS = Summary(0.300, 0.290, 0.320, 1000)
LOW = 0.300 - math.sqrt(2) * 0.010 - 0.0005
HIGH = 0.300 + math.sqrt(2) * 0.020 + 0.0005


def verdict(
    ours: Summary, printed: float, half_unit: float, runs: int | None, source: str = "original"
) -> str:
    row = dict(zip(SUMMARY_COLUMNS, astuple(ours), strict=True)) | {"p": 0.1}
    published = pd.DataFrame({"p": [0.1], "published": [printed], "half_unit": [half_unit]})
    table = compare(pd.DataFrame([row | {"data_source": source}]), published, ["p"], runs)
    return str(table["verdict"].iloc[0])


@pytest.mark.parametrize(
    ("printed", "expected"),
    [
        (0.300, "agrees"),
        (LOW + 1e-9, "agrees"),
        (LOW - 1e-9, "differs"),
        (HIGH - 1e-9, "agrees"),
        (HIGH + 1e-9, "differs"),
        (math.nan, "not published"),
    ],
)
def test_the_border_of_a_verdict(printed: float, expected: str) -> None:
    assert verdict(OURS, printed, 0.0005, 1000) == expected


class Growing(Simulator):
    """Draws uniform numbers, and wants as many runs as it is told, one look after another."""

    def __init__(self, *looks: int) -> None:
        self.looks, self.seen = looks, list[int]()

    def simulate(self, cell: Cell, generator: np.random.Generator, replicates: int) -> Simulated:
        yield {}, generator.random(replicates)

    def wanted(self, cell: Cell, values: np.ndarray) -> int:
        self.seen.append(len(values))
        return next((look for look in self.looks if look > len(values)), len(values))


@pytest.mark.parametrize("block", [5, 7, 10, 100])
def test_runs_that_are_wanted_later_are_those_of_one_long_run(block: int) -> None:
    growing = Growing(20, 40)
    grown = replicate(growing, 1, "s", {"x": 1}, replicates=10, block=block)[1]
    assert growing.seen == [10, 20, 40]
    long = replicate(Growing(), 1, "s", {"x": 1}, replicates=40, block=block)[1]
    np.testing.assert_array_equal(grown, long)
    assert len(np.unique(grown)) == 40


@pytest.mark.parametrize("last", range(10))
def test_rounding_does_not_decide_a_verdict(last: int) -> None:
    # Known without error and exactly half a unit away: .3105 is printed as .310 or .311.
    ours = 0.3005 + last / 1000
    exact = Summary(ours, ours, ours, 100)
    for printed in (0.3 + last / 1000, 0.301 + last / 1000):
        assert verdict(exact, printed, 0.0005, None) == "agrees"
    assert verdict(exact, 0.302 + last / 1000, 0.0005, None) == "differs"


@pytest.mark.parametrize(
    ("runs", "published_runs", "widening"),
    [(1000, 1000, 2**0.5), (3000, 1000, 2.0), (50, 1000, 1.05**0.5), (1000, None, 1.0)],
)
def test_the_widening_follows_from_both_counts(
    runs: int, published_runs: int | None, widening: float
) -> None:
    ours = Summary(1.0, 0.9, 1.2, runs)
    edge = 1.0 + widening * 0.2
    assert verdict(ours, edge - 1e-8, 0.0, published_runs) == "agrees"
    assert verdict(ours, edge + 1e-8, 0.0, published_runs) == "differs"
    edge = 1.0 - widening * 0.1
    assert verdict(ours, edge + 1e-8, 0.0, published_runs) == "agrees"
    assert verdict(ours, edge - 1e-8, 0.0, published_runs) == "differs"


def test_surrogate_data_give_no_verdict() -> None:
    for printed in (0.300, 0.9, float("nan")):
        assert verdict(OURS, printed, 0.0005, 1000, "surrogate") == "surrogate"


def test_an_infinite_median_differs_from_any_printed_value() -> None:
    ours = Summary(math.inf, 0.5, math.inf, 1000)
    assert verdict(ours, 0.4, 0.0005, 1000) == "differs"


def results(**columns: Any) -> pd.DataFrame:
    base = {"ci_low": 0.29, "ci_high": 0.32, "replicates": 1000, "data_source": "original"}
    return pd.DataFrame(base | columns)


def test_compare_sets_printed_values_beside_every_reading() -> None:
    ours = results(matrix=["a", "b", "a"], p=[0.1, 0.1, 0.2], regenerated=[0.3, 0.9, 0.3])
    printed = pd.DataFrame({"p": [0.1], "published": [0.301], "half_unit": [0.0005]})
    table = compare(ours, printed, ["matrix", "p"], 1000)
    assert list(table) == [
        *("matrix", "p", "published", "regenerated", "ci_low", "ci_high", "replicates"),
        *("data_source", "verdict"),
    ]
    assert table["verdict"].tolist()[::2] == ["agrees", "not published"]
    assert table["published"].tolist()[:2] == [0.301, 0.301]


def test_compare_without_printed_values() -> None:
    printed = pd.DataFrame({"p": [0.9], "published": [0.3], "half_unit": [0.05]})
    table = compare(results(p=[0.1], regenerated=[0.3]), printed, ["p"], None)
    assert table["verdict"].tolist() == ["not published"]


# -- streams ---------------------------------------------------------------------------------------


class Draws(Simulator):
    """Stands for a simulation whose values depend on everything drawn before, in its block."""

    def __init__(self, *names: str) -> None:
        self.names = names

    def simulate(self, cell: Cell, generator: np.random.Generator, replicates: int) -> Simulated:
        one = np.cumsum(generator.random(replicates)) + cell["p"]
        for number, name in enumerate(self.names or ("",)):
            yield {"method": name} if name else {}, one + number


draws = Draws()


def test_more_replicates_only_add_blocks() -> None:
    few = replicate(draws, 1, "s", {"p": 0.1}, replicates=20, block=10)[1]
    many = replicate(draws, 1, "s", {"p": 0.1}, replicates=47, block=10)[1]
    assert many.size == 47
    np.testing.assert_array_equal(few, many[:20])


def test_streams_differ_by_seed_study_cell_and_block() -> None:
    runs = [
        replicate(draws, seed, study, {"p": p}, replicates=10, block=5)[1] - p
        for seed in (1, 2)
        for study in ("s", "t")
        for p in (0.1, 0.2)
    ]
    firsts = [part[0] for run in runs for part in (run[:5], run[5:])]
    assert len({round(float(first[0]), 12) for first in firsts}) == 16


@pytest.mark.parametrize("chunks", [1, 2, 5])
def test_results_depend_neither_on_chunks_nor_on_the_order_of_cells(chunks: int) -> None:
    grid = {"p": [0.1, 0.3, 0.5], "t_v": [50, 100]}
    setting = {"replicates": 30, "block": 8, "root_seed": 7}
    whole = simulate_chunk(draws, "s", [grid], chunk=0, chunks=1, **setting)
    turned = {"p": [0.5, 0.1, 0.3], "t_v": [100, 50]}
    parts = [
        simulate_chunk(draws, "s", [turned], chunk=i, chunks=chunks, **setting)
        for i in reversed(range(chunks))
    ]
    pd.testing.assert_frame_equal(in_order(pd.concat(parts), cells_of_grids([grid])), whole)


def test_each_output_of_a_run_is_a_row_under_its_name() -> None:
    grid = {"p": [0.3, 0.1]}
    setting: dict[str, Any] = {"replicates": 9, "block": 4, "root_seed": 7, "summary": "mean"}
    parts = [
        simulate_chunk(Draws("a", "b"), "s", [grid], chunk=i, chunks=2, **setting) for i in (1, 0)
    ]
    rows = in_order(pd.concat(parts), cells_of_grids([grid]))
    assert rows[["p", "method"]].values.tolist() == [[0.3, "a"], [0.3, "b"], [0.1, "a"], [0.1, "b"]]
    values = replicate(Draws("a", "b"), 7, "s", {"p": 0.1}, replicates=9, block=4)[1]
    assert values.shape == (9, 2)
    np.testing.assert_allclose(rows["regenerated"][2:], values.mean(axis=0))
    np.testing.assert_allclose(np.diff(rows["regenerated"])[[0, 2]], 1.0)


def test_a_mean_has_students_interval() -> None:
    # By hand: mean 2, standard deviation 1, t(2, .975) = 4.302653 over the root of 3.
    found = mean_summary([1.0, 2.0, 3.0])
    assert (found.value, found.replicates) == (2.0, 3)
    assert found.high - 2 == pytest.approx(4.302653 / np.sqrt(3), rel=1e-6)
    assert mean_summary([5.0]).low == -np.inf
    assert mean_summary([5.0, 5.0]).low == mean_summary([5.0, 5.0]).high == 5.0
    with pytest.raises(DeniableError, match="mean needs"):
        mean_summary([1.0, np.nan])


def test_the_numbers_of_a_figure_keep_all_that_names_them() -> None:
    rows = pd.DataFrame(
        {
            "p": [0.1],
            "best": ["ours"],
            "sigma": [0.5],
            "regenerated": [1.0],
            "ci_low": [0.0],
            "ci_high": [2.0],
            "replicates": [9],
            "data_source": ["original"],
        }
    )
    table = plotted(rows, ["sigma", "p"], "median")
    assert list(table) == [
        "sigma",
        "p",
        "median",
        "ci_low",
        "ci_high",
        "replicates",
        "data_source",
        "best",
    ]


def test_a_stream_does_not_depend_on_the_order_of_its_key() -> None:
    one = generator_for(5, {"study": "s", "cell": {"p": 0.1, "t_v": 50}, "block": 0})
    two = generator_for(5, {"block": 0, "cell": {"t_v": 50, "p": 0.1}, "study": "s"})
    np.testing.assert_array_equal(one.random(5), two.random(5))
    other = generator_for(5, {"block": 0, "cell": {"t_v": 50, "p": 0.10000001}, "study": "s"})
    assert generator_for(5, {"a": 1}).random() != generator_for(6, {"a": 1}).random()
    assert one.random() != other.random()


# -- order -----------------------------------------------------------------------------------------


def test_a_cell_that_is_missing_or_there_twice_is_named() -> None:
    cells = cells_of_grids([{"p": [0.1, 0.3]}])
    rows = pd.DataFrame({"p": [0.3, 0.1], "regenerated": [3.0, 1.0]})
    assert in_order(rows, cells)["regenerated"].tolist() == [1.0, 3.0]
    with pytest.raises(DeniableError, match=r"lack the setting \(0\.1,\); delete results/studies"):
        in_order(rows[:1], cells)
    with pytest.raises(DeniableError, match="have a setting twice"):
        in_order(pd.concat([rows, rows]), cells)


def test_cells_outside_are_left_out() -> None:
    rows = pd.DataFrame({"p": [0.3, 0.1], "regenerated": [3.0, 1.0]})
    assert in_order(rows, [{"p": 0.3}])["regenerated"].tolist() == [3.0]


def test_settings_with_many_digits_survive_the_file(tmp_path: Any) -> None:
    grid = {"p": [1 / 3, 2 / 3], "t_d": [0.0, 1.0]}
    whole = simulate_chunk(
        draws, "s", [grid], chunk=0, chunks=1, replicates=7, block=7, root_seed=1
    )
    write_table(tmp_path / "t.csv", whole)
    ordered = in_order(pd.read_csv(tmp_path / "t.csv"), cells_of_grids([grid]))
    np.testing.assert_allclose(ordered["regenerated"], whole["regenerated"], rtol=1e-8)


# -- runs with several answers, and comparisons ----------------------------------------------------


class Answers(Simulator):
    """Two outputs of three answers a run; the second is the first and 1 more."""

    def compared(self, outputs: Sequence[Output]) -> Comparisons:
        return [({"which": "two", "against": "one"}, "difference", (1, 0))]

    def simulate(self, cell: Cell, generator: np.random.Generator, replicates: int) -> Simulated:
        first = generator.normal(size=(replicates, 3))
        yield {"which": "one", "against": None}, first
        yield {"which": "two", "against": None}, first + 1


def test_runs_with_several_answers_are_summed_up_and_compared_by_runs() -> None:
    simulator = Answers()
    setting = {"replicates": 40, "block": 10, "root_seed": 1}
    found = simulate_chunk(simulator, "s", [{"x": [1]}], chunk=0, chunks=1, **setting)
    assert found["which"].tolist() == ["one", "two", "two"]
    assert found["against"].fillna("").tolist() == ["", "", "one"]
    assert found["replicates"].tolist() == [40] * 3
    values = replicate(simulator, 1, "s", {"x": 1}, replicates=40, block=10)[1]
    np.testing.assert_allclose(found["regenerated"][:2], np.median(values, axis=(0, 2)))
    # The same reports, the same resamples: the difference is known exactly.
    np.testing.assert_allclose(found.loc[2, ["regenerated", "ci_low", "ci_high"]].astype(float), 1)
    width = found["ci_high"] - found["ci_low"]
    assert 0.1 < width[0] == pytest.approx(width[1])
    again = simulate_chunk(simulator, "s", [{"x": [1]}], chunk=0, chunks=1, **setting)
    pd.testing.assert_frame_equal(found, again)
