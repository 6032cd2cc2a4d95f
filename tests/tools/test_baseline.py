"""The quick baseline: what is kept, what counts as chance, what fails, how it is told."""

import math
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest
from scipy import stats

from baseline.chance import p_values, same, spaces_of_median
from baseline.comparison import FALSE_ALARMS, Comparison, Finding, compare
from baseline.kept import (
    FACTS as FACTS_FILE,
    KEPT_IN,
    Facts,
    Kept,
    Run,
    as_text,
    from_text,
    kept,
    origin_of,
    read,
    write,
)
from baseline.told import MARK, MOST_ROWS, markdown
from deniable.errors import DataError, DeniableError
from deniable.files import read_json, write_table
from deniable.sampling import generator_for

from reproduction.papers.catalog import columns_of, names_of_tables
from reproduction.study.catalog import Columns
from reproduction.study.engine import mean_summary, median_summary

ROOT = Path(__file__).resolve().parents[2]
COMMITTED = ROOT / "tests" / "baseline"
FACTS = Facts(1, "c", {"numpy": "2.0"}, {"adult": "d"})

# -- two estimates ---------------------------------------------------------------------------------


def test_means_are_held_to_the_test_of_two_samples() -> None:
    generator = np.random.default_rng(1)
    first, second = np.add(generator.normal(size=(2, 12)), [[0], [0.5]])
    summaries = [mean_summary(values) for values in (first, second)]
    (found,) = p_values(
        *(([each.value], [(each.high - each.low) / 2]) for each in summaries), [12], "mean"
    )
    t = stats.ttest_ind(first, second).statistic
    assert found == pytest.approx(2 * stats.t.sf(abs(t), 11), rel=1e-9)


@pytest.mark.parametrize("n", [6, 10, 50, 1000])
def test_spaces_of_a_median_lie_between_the_ends_of_its_interval(n: int) -> None:
    ranks = median_summary(np.arange(n))
    assert spaces_of_median([n]) == [ranks.high - ranks.low]


@pytest.mark.parametrize(
    ("before", "after", "n", "summary", "p"),
    [
        ((2.0, 0.0), (2.0, 0.0), 50, "mean", 1.0),
        ((2.0, 0.0), (2.1, 0.0), 50, "mean", 0.0),
        # Both of two runs may agree by luck; ten that agree are no luck.
        ((2.0, 0.0), (2.1, 0.0), 2, "mean", 1.0),
        ((2.25, 0.0), (2.3, 0.0), 50, "median", 0.0),
        ((2.0, math.inf), (9.0, math.inf), 1, "mean", math.nan),
        ((2.0, 0.1), (9.0, math.inf), 1, "mean", math.nan),
        ((math.nan, math.nan), (math.nan, math.nan), 50, "mean", math.nan),
    ],
)
def test_estimates_without_an_error_or_with_an_infinite_one(
    before: tuple[float, float], after: tuple[float, float], n: int, summary: Any, p: float
) -> None:
    (found,) = p_values(*(([value], [half]) for value, half in (before, after)), [n], summary)
    assert found == p or (math.isnan(found) and math.isnan(p))


def test_medians_that_are_counts_may_differ_by_one() -> None:
    one, five = p_values(([7, 7], [0, 0]), ([8, 12], [0, 0]), [50, 50], "median")
    assert one > 0.01
    assert five < 1e-6


@pytest.mark.parametrize("summarize", [mean_summary, median_summary])
@pytest.mark.parametrize("draw", ["standard_normal", "standard_exponential", "standard_cauchy"])
@pytest.mark.parametrize("n", [10, 50])
def test_luck_is_called_chance(summarize: Any, draw: str, n: int) -> None:
    """At a limit of 1 % no more than 1 % of pairs are refused, give or take 4.3 deviations.

    A correct test fails here with probability 1e-5 at most.
    """
    pairs = 2000
    generator = np.random.default_rng(20211121)
    values = getattr(generator, draw)(size=(2, pairs, n))
    runs = [[summarize(sample) for sample in run] for run in values]
    estimates = [([s.value for s in run], [(s.high - s.low) / 2 for s in run]) for run in runs]
    name = "mean" if summarize is mean_summary else "median"
    found = p_values(*estimates, np.full(pairs, n), name)  # type: ignore[arg-type]
    assert np.sum(found < 0.01) <= 0.01 * pairs + 4.3 * math.sqrt(0.01 * pairs)


@pytest.mark.parametrize(
    ("before", "after", "equal"),
    [
        (1.0, 1.0 + 1e-9, True),
        (1.0, 1.0 + 1e-7, False),
        (1e-17, -3e-16, True),
        (math.inf, math.inf, True),
        (math.inf, 1.0, False),
        (math.nan, math.nan, True),
        (math.nan, 0.0, False),
        (-1.0, 1.0, False),
    ],
)
def test_same_numbers(before: float, after: float, equal: bool) -> None:
    assert same(before, after, 2e-8) == equal


# -- what is kept ----------------------------------------------------------------------------------


def test_every_table_says_what_its_columns_are() -> None:
    assert [type(columns_of(name)) for name in names_of_tables()] == [Columns] * len(
        names_of_tables()
    )
    with pytest.raises(DeniableError, match=r"'table_9'.*the catalog of its paper"):
        columns_of("table_9")


def test_a_table_is_read_as_it_was_written() -> None:
    rows = pd.DataFrame(
        {"p": ["0.1", "0.1", "0.1"], "t": ["", "", "long"], "x": ["7", "7", 'a,b\n"c"']}
    )
    text = as_text(rows)
    assert text.splitlines()[1:3] == ["0.1,,7", "^,,7"]
    pd.testing.assert_frame_equal(from_text(text), rows)


def test_a_kept_table_has_half_widths_and_nothing_by_chance(tmp_path: Path) -> None:
    path = tmp_path / "idp_attacks.csv"
    keys = dict.fromkeys(columns_of("idp_attacks").keys, "k")
    table = pd.DataFrame([keys | {"accuracy": 0.5, "ci_low": 0.4, "ci_high": 0.62}])
    write_table(path, table.assign(replicates=9, epsilon_at_least=0.3, holds=None))
    found = kept("idp_attacks", path).rows
    assert list(found) == [*keys, "accuracy", "half_width", "replicates", "holds"]
    assert found.loc[0, "half_width"] == "0.11"


def test_rows_by_chance_are_by_chance(tmp_path: Path) -> None:
    path = tmp_path / "idp_protection.csv"
    keys = dict.fromkeys(columns_of("idp_protection").keys, "k")
    rows = [keys | {"measure": name} for name in ("records linked", "values known")]
    write_table(path, pd.DataFrame(rows))
    assert list(kept("idp_protection", path).rows["measure"]) == ["values known"]


def test_a_damaged_table_is_refused_by_name(tmp_path: Path) -> None:
    with pytest.raises(DataError, match=r"multirr_fig1\.csv.*make quick"):
        kept("multirr_fig1", tmp_path / "multirr_fig1.csv")
    (tmp_path / "multirr_fig1.csv").write_text("cats,root_b\n1,2\n", encoding="utf-8")
    with pytest.raises(DataError, match="no column categories"):
        kept("multirr_fig1", tmp_path / "multirr_fig1.csv")


@pytest.mark.parametrize(
    ("sources", "origin"),
    [
        (["original", "original"], "original"),
        (["surrogate", "exact"], "surrogate"),
        (["network", "model"], "any"),
        (["original", "surrogate"], "mixed"),
    ],
)
def test_what_a_table_rests_on(sources: list[str], origin: str) -> None:
    assert origin_of(pd.DataFrame({"data_source": sources}), "original") == origin
    assert origin_of(pd.DataFrame({"x": sources}), "surrogate") == "surrogate"


# -- comparing -------------------------------------------------------------------------------------


def table_1(*rows: Mapping[str, Any]) -> pd.DataFrame:
    """Rows of Table 1 as kept; t_v names them."""
    keys = dict.fromkeys(columns_of("multirr_table1").keys, "k")
    usual = {"regenerated": 0.5, "half_width": 0.1, "published": 0.55, "replicates": 50}
    usual |= {"data_source": "original", "verdict": "agrees"}
    return pd.DataFrame([keys | {"t_v": i} | usual | dict(row) for i, row in enumerate(rows)])


def as_written(value: Any) -> str:
    return "" if isinstance(value, float) and math.isnan(value) else str(value)


def run_of(facts: Facts = FACTS, **tables: pd.DataFrame) -> Run:
    written = {name: rows.map(as_written) for name, rows in tables.items()}
    texts = {name: Kept(rows, as_text(rows)) for name, rows in written.items()}
    return Run(texts, dict.fromkeys(texts, "original"), {"original": facts})


def compared(before: pd.DataFrame, after: pd.DataFrame, **others: Any) -> Comparison:
    return compare(
        run_of(multirr_table1=before, **{name: pair[0] for name, pair in others.items()}),
        run_of(multirr_table1=after, **{name: pair[1] for name, pair in others.items()}),
    )


def kinds(comparison: Comparison) -> list[tuple[str, bool]]:
    return [(finding.kind, finding.fails) for finding in comparison.findings]


def test_the_same_run_passes() -> None:
    found = compared(table_1({}, {}), table_1({}, {}))
    assert (found.findings, found.fails, found.identical, found.tables) == ([], False, 1, 1)
    assert "**Passed**" in markdown(found)


def test_numbers_within_error_pass_and_are_told() -> None:
    found = compared(table_1({}, {}), table_1({}, {"regenerated": 0.6}))
    assert (found.findings, found.fails, found.identical) == ([], False, 0)
    assert found.movements[0].moved == 1
    assert "`multirr_table1` | 2 | 1 |" in markdown(found)


def test_a_number_outside_its_error_fails() -> None:
    found = compared(table_1({}, {}), table_1({}, {"regenerated": 1.5}))
    (finding,) = found.findings
    assert (finding.kind, finding.fails) == ("number", True)
    assert (finding.before, finding.after) == ("0.5", "1.5")
    assert finding.row.endswith("t_v 1")
    assert finding.p_value < found.limit == FALSE_ALARMS / 2
    assert "**Failed**: 1 difference" in markdown(found)


def test_lost_rows_fail_and_new_ones_do_not() -> None:
    rows = table_1({}, {}, {})
    assert kinds(compared(rows, rows.iloc[:2])) == [("row lost", True)]
    assert kinds(compared(rows.iloc[:2], rows)) == [("row new", False)]
    assert not compared(rows, rows.iloc[::-1]).findings  # their order is no matter


def test_lost_tables_fail_and_new_ones_do_not() -> None:
    one, both = (
        run_of(multirr_table1=table_1({})),
        run_of(multirr_table1=table_1({}), multirr_table2=table_1({})),
    )
    assert kinds(compare(both, one)) == [("table lost", True)]
    assert kinds(compare(one, both)) == [("table new", False)]


@pytest.mark.parametrize(
    ("column", "value", "fails"),
    [
        ("published", 0.56, True),
        ("published", 0.55 + 1e-10, False),
        ("published", math.nan, True),
        ("replicates", 51, True),
        ("data_source", "model", True),
    ],
)
def test_what_is_not_chance_must_be_equal(column: str, value: Any, fails: bool) -> None:
    found = compared(table_1({}), table_1({column: value}))
    assert kinds(found) == ([("exact", True)] if fails else [])


def test_a_column_that_is_gone_fails() -> None:
    found = compared(table_1({}), table_1({}).drop(columns="published"))
    assert kinds(found) == [("exact", True)]


def test_computed_tables_have_their_own_tolerance() -> None:
    rows = pd.DataFrame({"categories": [1, 2], "root_b": [1.5, 2.5]})
    near, far = rows.assign(root_b=[1.5, 2.500001]), rows.assign(root_b=[1.5, 2.50001])
    one = table_1({})
    assert kinds(compared(one, one, multirr_fig1=(rows, near))) == []
    assert kinds(compared(one, one, multirr_fig1=(rows, far))) == [("exact", True)]


def test_rows_of_one_name_are_compared_in_their_order() -> None:
    rows = pd.DataFrame({"categories": ["2", "2.0"], "root_b": ["1", "3"]})
    one = table_1({})
    found = compared(one, one, multirr_fig1=(rows, rows.assign(root_b=["1", "4"])))
    assert [finding.row for finding in found.findings] == ["categories 2 (no. 2)"]


@pytest.mark.parametrize(
    ("change", "fails"),
    [
        ({"regenerated": 0.6}, [("verdict", False)]),
        ({"half_width": 0.12}, [("verdict", False)]),
        ({"regenerated": 2.0}, [("number", True), ("verdict", True)]),
        ({}, [("verdict", True)]),  # nothing moved: the rule is another
        ({"regenerated": 0.6, "verdict": "not published"}, [("verdict", True)]),
    ],
)
def test_verdicts_that_change(change: Mapping[str, Any], fails: list[tuple[str, bool]]) -> None:
    found = compared(table_1({}), table_1({"verdict": "differs"} | dict(change)))
    assert kinds(found) == fails
    (told,) = found.of("verdict")
    assert f"| {told.before} | {told.after} |" in markdown(found)


def claims(verdict: str, comparisons: int = 3) -> pd.DataFrame:
    row = {"claim": "gain", "mechanism": "any", "projection": "clip"}
    return pd.DataFrame([row | {"comparisons": comparisons, "verdict": verdict}])


def test_claims_may_change_if_any_estimate_moved() -> None:
    pair = claims("holds"), claims("undecided")
    still = compared(table_1({}), table_1({}), multirr_claims=pair)
    moved = compared(table_1({}), table_1({"regenerated": 0.51}), multirr_claims=pair)
    assert (kinds(still), kinds(moved)) == ([("verdict", True)], [("verdict", False)])
    fewer = compared(
        table_1({}), table_1({"regenerated": 0.51}), multirr_claims=(pair[0], claims("holds", 2))
    )
    assert kinds(fewer) == [("exact", True)]


def test_without_errors_nothing_is_known() -> None:
    for half in (math.nan, math.inf):
        before, after = ({"half_width": half, "regenerated": value} for value in (0.5, 5.0))
        found = compared(table_1(before), table_1(after))
        assert (found.findings, found.movements[0].unknown) == ([], 1)


def test_a_number_that_is_none_any_more_fails() -> None:
    found = compared(table_1({}), table_1({"regenerated": math.nan}))
    assert kinds(found) == [("exact", True)]


def test_other_records_are_told_and_other_versions_remarked() -> None:
    other = Facts(1, "c", {"numpy": "2.1"}, {"adult": "e"})
    found = compare(run_of(multirr_table1=table_1({})), run_of(other, multirr_table1=table_1({})))
    assert kinds(found) == [("records", True)]
    assert found.remarks == ["numpy 2.0 → 2.1"]


def test_long_lists_are_cut_but_not_those_of_verdicts() -> None:
    rows = [{}] * (MOST_ROWS + 15)
    text = markdown(compared(table_1(*rows), table_1(*({"regenerated": 9.0} for _ in rows))))
    assert "… and 15 more." in text  # of 30
    many = MOST_ROWS + 15
    pair = (
        pd.concat([claims(verdict).assign(claim=f"claim {n}") for n in range(many)])
        for verdict in ("holds", "undecided")
    )
    told = markdown(compared(table_1({}), table_1({}), multirr_claims=tuple(pair)))
    assert "### Verdicts that changed (30)" in told
    assert told.count("| holds | undecided |") == many
    assert text.startswith(MARK)
    assert len(text) < 10_000
    assert len(markdown(Comparison([FINDING] * 10_000, [], 1, 0, 0.1, ["t"] * 99, []))) < 10_000


FINDING = Finding("exact", "t", "r|" * 400, "c", "a\nb" * 99, "<b>")


# -- the folder ------------------------------------------------------------------------------------


def other_run(origin: Any, **tables: pd.DataFrame) -> Run:
    run = run_of(**tables)
    return Run(run.tables, dict.fromkeys(run.tables, origin), {origin: FACTS})


def test_each_origin_has_a_baseline_of_its_own(tmp_path: Path) -> None:
    original = other_run("original", multirr_table1=table_1({}), multirr_table2=table_1({}))
    surrogate = other_run("surrogate", multirr_table1=table_1({"regenerated": 0.7}))
    write(original, tmp_path)
    write(surrogate, tmp_path)
    assert read(tmp_path, original).tables.keys() == {"multirr_table1", "multirr_table2"}
    kept_table = read(tmp_path, surrogate).tables["multirr_table1"]
    pd.testing.assert_frame_equal(kept_table.rows, surrogate.tables["multirr_table1"].rows)
    assert kept_table.digest == surrogate.tables["multirr_table1"].digest
    # A table that there is no more leaves.
    files = write(other_run("original", multirr_table1=table_1({})), tmp_path)
    assert sorted((tmp_path / "original").iterdir()) == sorted(files)


def test_without_a_baseline_nothing_is_compared(tmp_path: Path) -> None:
    run = other_run("original", multirr_table1=table_1({}))
    with pytest.raises(DataError, match=r"no baseline for original data.*make baseline"):
        read(tmp_path, run)
    write(run, tmp_path)
    mixed = Run(
        {**run.tables, "idp_claims": run.tables["multirr_table1"]},
        {**run.origins, "idp_claims": "mixed"},
        run.facts,
    )
    found = compare(read(tmp_path, mixed), mixed)
    assert (found.fails, found.not_compared) == (False, ["idp_claims"])
    assert "no baseline has such records: idp_claims" in markdown(found)
    with pytest.raises(
        DataError, match="idp_claims depends on published records and on a surrogate"
    ):
        write(mixed, tmp_path)


@pytest.mark.parametrize("folder", sorted(COMMITTED.glob("*/")), ids=lambda path: path.name)
def test_the_committed_baseline_is_whole(folder: Path) -> None:
    tables = read_json(folder / FACTS_FILE)["tables"]
    assert folder.name in KEPT_IN
    assert tables.keys() == {file.stem for file in folder.glob("*.csv")}
    assert tables.keys() <= set(names_of_tables())
    for name in tables:
        rows = from_text((folder / f"{name}.csv").read_text(encoding="utf-8"))
        assert len(rows) > 0
        assert set(columns_of(name).keys) <= set(rows)


# -- false alarms ----------------------------------------------------------------------------------


def simulated(seed: int, cells: int) -> pd.DataFrame:
    """Table 1 from a cheap study: skewed errors, 20 runs a cell."""
    draws = generator_for(seed, {"study": "cheap"}).gamma(1.0, 0.3, size=(cells, 20))
    found = [median_summary(row) for row in draws]
    return table_1(
        *(
            {"regenerated": each.value, "half_width": (each.high - each.low) / 2}
            | {"replicates": each.replicates, "published": math.nan, "verdict": "not published"}
            for each in found
        )
    )


def test_runs_with_other_luck_are_refused_once_in_a_hundred() -> None:
    """40 pairs of runs: with a rate of 1 %, 5 or more false alarms have probability 4e-5."""
    failed = 0
    for seed in range(40):
        found = compared(simulated(2 * seed, 30), simulated(2 * seed + 1, 30))
        assert found.movements[0].moved == 30
        failed += found.fails
    assert failed < 5


def test_a_study_that_changed_is_refused() -> None:
    before, after = simulated(1, 30), simulated(2, 30)
    other = after.assign(regenerated=after["regenerated"] + 2)
    assert not compared(before, after).fails
    assert compared(before, other).movements[0].unlikely > 0.9
    assert compared(before, other).fails
