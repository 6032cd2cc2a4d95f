"""Tables 4 and 5 of [rrba]: closed forms, hand-made results, Figure 7."""

import math
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest
from pydantic import ValidationError
from tests.simulations import outputs_of, simulated_whole

from deniable.channels import KeepOrReplace
from deniable.errors import DeniableError
from deniable.records.categorical import Microdata
from deniable.rrba.tables import (
    POOLED,
    answer_epsilon,
    floor_epsilon,
    floored_projection,
    keep_for_epsilon,
    table_channel,
)

from reproduction.papers.rrba.names import dataset_of
from reproduction.papers.rrba.released_tables import (
    FIGURE_7_COLUMNS,
    EqualEpsilon,
    PrintedTables,
    drawn_sets,
    figure_7_table,
    true_tables,
)
from reproduction.papers.rrba.settings import (
    EqualEpsilonGrid,
    PrintedTablesGrid,
    ReleasedTables,
)
from reproduction.papers.rrba.table_results import (
    EQUAL_COLUMNS,
    TABLE_COLUMNS,
    equal_table,
    printed_table,
)
from reproduction.study.published import read_published

PUBLISHED = Path(__file__).resolve().parents[4] / "resources" / "published"
CELL = {"file": "survey_8000", "k": 2, "p": 0.4, "epsilon_claimed": 0.35}
EQUAL_CELL = {"file": "survey_8000", "k": 2, "epsilon": 1.0}
Z = 5.0  # standard errors; 1e-6 for the two sides of one test


@pytest.fixture(scope="module")
def printed(small_data: Microdata) -> PrintedTables:
    return PrintedTables({"survey_8000": small_data}, block_size=50)


@pytest.fixture(scope="module")
def equal(small_data: Microdata) -> EqualEpsilon:
    return EqualEpsilon({"survey_8000": small_data}, block_size=50)


def values_by_name(simulator: Any, cell: Any, runs: int, seed: int = 1) -> dict[Any, np.ndarray]:
    values = simulator(cell, np.random.default_rng(seed), runs)[1]
    names = [
        (row["metric"], row["method"], row["reading"], row["subset"])
        for row in outputs_of(simulator, cell)
    ]
    assert values.shape == (runs, len(names))
    return dict(zip(names, values.T, strict=True))


# -- which sets of attributes ----------------------------------------------------------------------


def test_all_sets_are_taken_if_they_are_few() -> None:
    assert drawn_sets("abc", 2, 3, 1) == (("a", "b"), ("a", "c"), ("b", "c"))


def test_of_many_sets_some_are_drawn_with_the_seed() -> None:
    names = [f"x{number}" for number in range(37)]
    drawn = drawn_sets(names, 3, 40, 1)
    assert len(set(drawn)) == 40
    assert drawn == drawn_sets(names, 3, 40, 1) != drawn_sets(names, 3, 40, 2)
    positions = [tuple(names.index(name) for name in names_) for names_ in drawn]
    assert positions == sorted(positions)
    assert all(a < b < c for a, b, c in positions)


def test_sets_are_drawn_alike() -> None:
    # 20 of 45 pairs, 400 seeds: each of 10 attributes 400 * 20 * 2 / 10 times on average.
    drawn = [
        name
        for seed in range(400)
        for pair in drawn_sets("abcdefghij", 2, 20, seed)
        for name in pair
    ]
    counts = np.array([drawn.count(name) for name in "abcdefghij"])
    # Of the 9 pairs with an attribute a draw has a hypergeometric number.
    assert np.abs(counts - 1600).max() < Z * math.sqrt(400 * 20 * 0.2 * 0.8 * 25 / 44)


# -- simulated distances against closed forms ------------------------------------------------------


def test_means_over_sets_are_means(printed: PrintedTables) -> None:
    found = values_by_name(printed, CELL, 5)
    for metric, method, reading, subset in found:
        if subset == "all":
            own = [
                v for k, v in found.items() if k[:3] == (metric, method, reading) and k[3] != "all"
            ]
            assert len(own) == 6
            np.testing.assert_allclose(found[metric, method, reading, "all"], np.mean(own, axis=0))


def test_measures_fit_each_other(printed: PrintedTables, equal: EqualEpsilon) -> None:
    for simulator, cell in ((printed, CELL), (equal, EQUAL_CELL)):
        found = values_by_name(simulator, cell, 20)
        for (metric, method, reading, subset), values in found.items():
            if metric == "l2" and subset != "all":
                squared = found["squared_error", method, reading, subset]
                np.testing.assert_allclose(values**2, squared, rtol=1e-9)
                if reading == "projected":  # never farther from a table of the same total
                    assert np.all(values <= found["l2", method, "noisy", subset] + 1e-9)
            if metric == "jensen_shannon":
                assert np.all((values >= 0) & (values <= math.log(2) ** 0.5))


def pairs_of(study: PrintedTables | EqualEpsilon) -> dict[Any, np.ndarray]:
    return true_tables(study.files["survey_8000"], 2, study.subsets, study.subset_seed)


def test_laplace_noise_has_the_error_of_its_scale(printed: PrintedTables) -> None:
    found = values_by_name(printed, CELL, 4000)
    for subset, true in pairs_of(printed).items():
        for method, factor in (("laplace", true.size), ("laplace_honest", 1)):
            values = found["squared_error", method, "noisy", "+".join(subset)]
            scale = 2 * factor / CELL["epsilon_claimed"]
            # m cells with the variance 2 b^2; squares have the variance 20 b^4.
            error = math.sqrt(20 * true.size / 4000) * scale**2
            assert abs(values.mean() - 2 * true.size * scale**2) < Z * error


def test_uniform_tables_have_the_error_of_their_channel(equal: EqualEpsilon) -> None:
    found = values_by_name(equal, EQUAL_CELL, 2000)
    for subset, true in pairs_of(equal).items():
        m = true.size
        keep = keep_for_epsilon([m], 1.0)
        channel = KeepOrReplace.uniform(m, keep)
        assert channel.epsilon == pytest.approx(1.0, abs=1e-9)
        entries = channel.matrix()
        exact = float(np.sum(true[:, None] * entries * (1 - entries))) / keep**2
        for method in ("rrba_uniform", "randomized_response"):
            values = found["squared_error", method, "noisy", "+".join(subset)]
            assert abs(values.mean() - exact) < Z * values.std() / math.sqrt(values.size)


def test_a_uniform_table_is_generalized_randomized_response() -> None:
    for m in (2, 4, 9, 81):
        for epsilon in (0.5, 1.0, 4.0):
            stays = table_channel(np.full(m, 1 / m), keep_for_epsilon([m], epsilon)).matrix()
            elsewhere = 1 / (math.exp(epsilon) + m - 1)
            assert stays[0, 1] == pytest.approx(elsewhere, rel=1e-12)
            assert stays[0, 0] == pytest.approx(math.exp(epsilon) * elsewhere, rel=1e-12)


def test_pooled_tables_are_unbiased(printed: PrintedTables) -> None:
    true = next(iter(pairs_of(printed).values()))
    runs = np.repeat(true[None], 4000, axis=0)
    released = printed.released(CELL, runs, np.random.default_rng(2))
    tables = {method: noisy for method, readings, noisy in released if "noisy" in readings}
    for method in ("rrba", "laplace", "laplace_honest"):
        noisy = tables[method]
        errors = np.abs(noisy.mean(axis=0) - true) / (noisy.std(axis=0) / math.sqrt(4000))
        assert errors.max() < Z


# -- exact epsilons --------------------------------------------------------------------------------


def test_epsilons_of_tables_4_and_5(printed: PrintedTables) -> None:
    rows = pd.DataFrame(outputs_of(printed, CELL)).set_index(
        ["method", "reading", "subset", "metric"]
    )
    exact = rows["epsilon_exact"]
    pair = "colour+smokes"
    assert exact["rrba", "noisy", pair, "l2"] == floor_epsilon([6], 0.4, POOLED.floor)
    assert exact["rrba", "last_block", pair, "l2"] == math.inf
    assert exact["laplace", "noisy", pair, "l2"] == pytest.approx(0.35 / 6)
    assert exact["laplace_honest", "noisy", pair, "l2"] == 0.35
    assert exact["rrba", "noisy", "all", "l2"] == floor_epsilon([12], 0.4, POOLED.floor)
    assert exact["laplace", "noisy", "all", "l2"] == pytest.approx(0.35 / 4)


def test_the_p_of_the_truth_gives_epsilon_there(small_data: Microdata) -> None:
    for pair in (("colour", "smokes"), ("colour", "region"), ("smokes", "owner")):
        pi = small_data.counts(pair).reshape(-1) / 500
        sent = floored_projection(pi, POOLED.floor)
        keep = keep_for_epsilon([2], 1.0, float(2 * sent.min()))
        assert answer_epsilon([sent], keep) == pytest.approx(1.0, abs=1e-9)
        assert answer_epsilon([np.full(pi.size, 1 / pi.size)], keep) <= 1.0


# -- tables ----------------------------------------------------------------------------------------


def results(cells: list[tuple[str, str, str, float]], **more: Any) -> pd.DataFrame:
    """Return results of (method, subset, trust, mean), known to one percent."""
    rows = [
        {
            "file": "survey_8000",
            "k": 2,
            **more,
            "metric": "l2",
            "method": method,
            "trust": trust,
            "reading": "noisy",
            "subset": subset,
            "cells": 4,
            "epsilon_exact": 1.0,
            "regenerated": mean,
            "ci_low": 0.99 * mean,
            "ci_high": 1.01 * mean,
            "replicates": 100,
            "data_source": "network",
        }
        for method, subset, trust, mean in cells
    ]
    return pd.DataFrame(rows)


def test_printed_numbers_stand_beside_means_and_ranges() -> None:
    found = results(
        [
            ("rrba", "all", "local", 100.0),
            ("rrba", "a", "local", 80.0),
            ("rrba", "b", "local", 120.0),
            ("laplace", "all", "central", 60.0),
            ("laplace", "a", "central", 59.0),
            ("laplace", "b", "central", 61.0),
        ],
        p=0.4,
        epsilon_claimed=0.35,
    )
    published = read_published(PUBLISHED / "rrba_table4.csv", "value")
    table = printed_table(found, published)
    assert tuple(table.columns) == TABLE_COLUMNS
    rrba, laplace = table.to_dict("records")
    assert rrba["main"]
    assert laplace["main"]
    assert (rrba["published"], rrba["verdict"], rrba["printed_is"]) == (68.27, "differs", "below")
    assert (rrba["subset_min"], rrba["subset_max"], rrba["subsets"]) == (80, 120, 2)
    assert rrba["subsets_agreeing"] == 0
    assert rrba["epsilon_theorem"] == pytest.approx(-math.log(0.6))
    # 59.58 lies within 60 +- .6 sqrt 2, and within 59 +- .59 sqrt 2.
    assert (laplace["published"], laplace["verdict"]) == (59.58, "agrees")
    assert (laplace["subsets_agreeing"], laplace["printed_is"]) == (1, "within")
    assert math.isnan(laplace["epsilon_theorem"])
    alone = printed_table(found, published.iloc[:0])
    assert set(alone["verdict"]) == set(alone["printed_is"]) == {"not published"}


def test_one_main_row_a_printed_cell(printed: PrintedTables, small_data: Microdata) -> None:
    files = dict.fromkeys(("survey_8000", "survey_8000_resampled"), small_data)
    grid = {"file": list(files), "k": [2], "p": [0.4], "epsilon_claimed": [0.35]}
    found = simulated_whole(PrintedTables(files, block_size=50), "s", [grid], 6)
    table = printed_table(
        found.assign(data_source="network"), read_published(PUBLISHED / "rrba_table4.csv", "value")
    )
    main = table[table["main"]]
    keys = ["metric", "dataset", "k", "method", "p"]
    assert not main.duplicated(keys).any()
    assert len(main) == 4 * 3
    assert main.index.tolist() == list(range(12))
    assert set(main["file"]) == {"survey_8000"}
    assert table[~table["main"]]["published"].notna().any()


def test_results_without_single_sets_are_refused() -> None:
    found = results([("rrba", "all", "local", 100.0)], p=0.4, epsilon_claimed=0.35)
    with pytest.raises(DeniableError, match="lack the single sets"):
        printed_table(found, read_published(PUBLISHED / "rrba_table4.csv", "value"))


def test_printed_files_hold_every_cell() -> None:
    first = read_published(PUBLISHED / "rrba_table4.csv", "value")
    second = read_published(PUBLISHED / "rrba_table5.csv", "value")
    assert (len(first), len(second)) == (16, 24)
    assert first["half_unit"].max() == 0.005
    assert sorted(set(first["half_unit"])) == [0.00005, 0.0005, 0.005]
    # As printed, the last digit included: 140.10, 0.1580.
    assert first.set_index("published")["half_unit"][140.1] == 0.005
    assert second.set_index("published")["half_unit"][0.158] == 0.00005
    assert set(first["p"]) == {0.4}
    assert set(second["epsilon_claimed"]) == {0.5}


def test_who_wins_at_equal_epsilon() -> None:
    found = results(
        [
            ("rrba", "all", "local", 100.0),
            ("rrba", "a", "local", 40.0),
            ("rrba", "b", "local", 160.0),
            ("rrba_uniform", "all", "local", 60.0),
            ("rrba_uniform", "a", "local", 50.0),
            ("rrba_uniform", "b", "local", 70.0),
            ("randomized_response", "all", "local", 60.5),
            ("randomized_response", "a", "local", 51.0),
            ("randomized_response", "b", "local", 70.0),
            ("laplace_honest", "all", "central", 10.0),
            ("laplace_honest", "a", "central", 45.0),
            ("laplace_honest", "b", "central", 5.0),
        ],
        epsilon=1.0,
    )
    table = equal_table(found)
    assert tuple(table.columns) == EQUAL_COLUMNS
    verdicts = dict(zip(table["method"], table["verdict"], strict=True))
    assert verdicts == {
        "rrba": "beaten",
        "rrba_uniform": "unbeaten",
        "randomized_response": "unbeaten",
        "laplace_honest": "unbeaten",
    }
    lowest = dict(zip(table["method"], table["subsets_lowest"], strict=True))
    assert lowest == {"rrba": 1, "rrba_uniform": 1, "randomized_response": 1, "laplace_honest": 1}


def test_adapting_loses_at_equal_epsilon(equal: EqualEpsilon) -> None:
    grid = {key: [value] for key, value in EQUAL_CELL.items()}
    found = simulated_whole(equal, "s", [grid], 60)
    table = equal_table(found.assign(data_source="network"))
    shown = table[(table["metric"] == "l2") & (table["reading"] == "projected")]
    verdicts = dict(zip(shown["method"], shown["verdict"], strict=True))
    assert verdicts.pop("rrba") == verdicts.pop("rrba_half_floor") == "beaten"
    assert verdicts.pop("rrba_at_truth") == "beaten"
    # Of so few cells all reports of a protocol are no better than the cells themselves.
    assert verdicts.pop("hadamard") == verdicts.pop("unary_encoding") == "beaten"
    assert set(verdicts.values()) == {"unbeaten"}


# -- Figure 7 --------------------------------------------------------------------------------------


def test_figure_7_counts_the_trials_of_the_table(printed: PrintedTables) -> None:
    published = read_published(PUBLISHED / "rrba_table4.csv", "value")
    table = figure_7_table(
        printed, [CELL], published, study="s", root_seed=1, replicates=30, block=20
    )
    assert tuple(table.columns) == FIGURE_7_COLUMNS
    for _, part in table.groupby(["metric", "method"]):
        assert part["count"].sum() == 30 * 6
        assert part["share"].sum() == pytest.approx(1)
        assert np.all(part["bin_low"] < part["bin_high"])
    # 59.58 and 68.27 of Table 4, and the two distances.
    assert set(table["published"].dropna()) == {59.58, 68.27, 0.0104, 0.0142}
    grid = {key: [value] for key, value in CELL.items()}
    means = simulated_whole(printed, "s", [grid], 30, block=20)
    shown = means[(means["subset"] == "all") & (means["metric"] == "l2")]
    noisy = shown[shown["reading"] == "noisy"].set_index("method")["regenerated"]
    drawn = table[table["metric"] == "l2"].groupby("method")["mean"].first()
    np.testing.assert_allclose(drawn[noisy.index], noisy)


def test_figure_7_shows_the_cells_of_the_text(small_data: Microdata) -> None:
    files = ("survey_8000", "alarm_8000", "child_8000")
    cells = [CELL | {"file": file, "p": p} for file in files for p in (0.4, 0.5)]
    simulator = PrintedTables(dict.fromkeys(files, small_data), block_size=50)
    published = read_published(PUBLISHED / "rrba_table4.csv", "value")
    runs: Any = {"study": "s", "root_seed": 1, "replicates": 6, "block": 6}
    table = figure_7_table(simulator, cells, published, **runs)
    shown = table[["file", "p"]].drop_duplicates().to_dict("records")
    assert shown == [{name: cells[n][name] for name in ("file", "p")} for n in (0, 1, 3)]


def test_files_stand_for_data_sets() -> None:
    assert [dataset_of(file) for file in ("survey_8000_resampled", "alarm")] == ["survey", "alarm"]


def test_config_models() -> None:
    grid = {"file": ["alarm_8000"], "k": [2, 3], "p": [0.4], "epsilon_claimed": [0.35]}
    study = ReleasedTables[PrintedTablesGrid](replicates=100, grids=[grid])
    assert len(study.cells()) == 2
    assert (study.subsets, study.block_size) == (40, 250)
    with pytest.raises(ValidationError, match="file"):
        ReleasedTables[PrintedTablesGrid](replicates=100, grids=[grid | {"file": ["adult"]}])
    with pytest.raises(ValidationError, match="epsilon"):
        ReleasedTables[EqualEpsilonGrid](
            replicates=100, grids=[{"file": ["alarm_8000"], "k": [2], "epsilon": [0.0]}]
        )
