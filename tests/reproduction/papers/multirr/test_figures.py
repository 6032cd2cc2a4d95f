"""Figures are the same bytes each time, say what their data are, and fit their canvas."""

import itertools
import warnings
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest
from matplotlib.axes import Axes
from matplotlib.transforms import Bbox
from tests.display.figure_checks import BANNER, Tables, cut_off, draw, extents, marked, saved
from tests.slow_variants import all_but_first

from deniable.display.style import save

from reproduction.papers.catalog import FIGURES
from reproduction.papers.multirr.error_analysis import figure_1 as figure_1_table
from reproduction.papers.multirr.figures import JOINT_STYLE, printed_table
from reproduction.papers.multirr.names import AT_EPSILON


def results(**changes: object) -> pd.DataFrame:
    generator = np.random.default_rng(1)
    rows = [
        {"p": p, "t_d": t_d, "t_v": t_v, "mechanism": mechanism}
        for p, t_d, t_v, mechanism in itertools.product(
            (0.1, 0.7), (0.1, 0.2, 0.3), (50, 100, 300), ("joint", "kronecker")
        )
    ]
    table = pd.DataFrame(rows)
    value = generator.uniform(0.05, 0.6, len(table))
    table = table.assign(published=value * 1.1, regenerated=value, ci_low=value * 0.9)
    table = table.assign(ci_high=value * 1.2, replicates=50, data_source="original")
    return table.assign(verdict=np.where(value > 0.3, "agrees", "differs")).assign(**changes)


def drawn(table: pd.DataFrame, folder: Path, name: str = "f") -> tuple[bytes, bytes]:
    figure = printed_table(table, "Table 1: a title")
    save(figure, folder / f"{name}.svg", folder / f"{name}.png")
    return (folder / f"{name}.svg").read_bytes(), (folder / f"{name}.png").read_bytes()


def test_the_same_table_gives_the_same_bytes(tmp_path: Path) -> None:
    one, two = drawn(results(), tmp_path, "one"), drawn(results(), tmp_path, "two")
    assert one == two
    assert one != drawn(results(regenerated=0.2, ci_low=0.1, ci_high=0.3), tmp_path, "three")


def test_a_figure_says_no_time_and_no_machine(tmp_path: Path) -> None:
    svg, png = drawn(results(), tmp_path)
    assert b"<dc:date>" not in svg
    assert b"Software" not in png
    assert str(tmp_path).encode() not in svg + png


@pytest.mark.parametrize("source", ["original", "surrogate"])
def test_the_banner_stands_on_surrogate_data_and_only_there(tmp_path: Path, source: str) -> None:
    verdict = {"verdict": "surrogate"} if source == "surrogate" else {}
    svg, _ = drawn(results(data_source=source, **verdict), tmp_path)
    assert (b"SURROGATE DATA" in svg) == (source == "surrogate")


def test_what_is_drawn_are_the_values_of_the_table() -> None:
    table = results()
    figure = printed_table(table, "t")
    panels = figure.axes
    assert [axis.get_title() for axis in panels] == ["p = 0.1", "p = 0.7"]
    for axis, p in zip(panels, (0.1, 0.7), strict=True):
        marks = [line for line in axis.lines if len(line.get_ydata()) == 1]
        heights = sorted(float(np.asarray(line.get_ydata())[0]) for line in marks)
        cells = table[table["p"] == p]
        expected = [*cells["regenerated"], *cells["published"]]
        for value in expected:
            assert any(np.isclose(value, height) for height in heights)


def test_marks_are_filled_where_the_value_agrees() -> None:
    table = results()
    figure = printed_table(table, "t")
    filled = {
        round(float(np.asarray(line.get_ydata())[0]), 9): line.get_markerfacecolor() != "white"
        for axis in figure.axes
        for line in axis.lines
        if line.get_marker() in ("s", "o") and len(line.get_ydata()) == 1
    }
    for row in table.to_dict("records"):
        assert filled[round(row["regenerated"], 9)] == (row["verdict"] == "agrees")


@pytest.mark.parametrize(
    "changes",
    [
        {"ci_low": -np.inf, "ci_high": np.inf},
        {"published": np.nan, "verdict": "not published"},
    ],
    ids=["very few runs", "nothing printed"],
)
def test_what_is_missing_is_left_out(tmp_path: Path, changes: dict[str, object]) -> None:
    svg, png = drawn(results(**changes), tmp_path)
    assert len(svg) > 1000
    assert png.startswith(b"\x89PNG")


def test_a_table_of_one_cell_is_drawn(tmp_path: Path) -> None:
    one, all_cells = drawn(results().iloc[:1], tmp_path), drawn(results(), tmp_path)
    assert one[1].startswith(b"\x89PNG")
    assert 1000 < len(one[0]) < len(all_cells[0])


def test_nothing_is_left_when_a_figure_cannot_be_written(tmp_path: Path) -> None:
    (tmp_path / "f.svg").mkdir()
    with pytest.raises(OSError, match=r"f\.svg"):
        drawn(results(), tmp_path)
    assert [path.name for path in tmp_path.iterdir()] == ["f.svg"]


# -- the figures of [multirr], and beyond
# -----------------------------------------------------------

SIGMAS = tuple(round(0.1 * i, 1) for i in range(1, 10))
ESTIMATORS = (
    "randomized_joint",
    "rr_independent",
    "pair_unbiased",
    "pair_clipped",
    "pair_projected",
    "pair_likelihood",
)
METHODS = ("rr_independent", "rr_clusters", "rr_independent_adjustment", "rr_clusters_adjustment")
ASSESSED = ("attributes", "attributes_inverted", "pairs_joint", "pairs_kronecker", "secure_sum")
MEASURES = ("absolute_error", "relative_error")


def numbers(names: str, cells: Any, summary: str = "median") -> pd.DataFrame:
    """Return a table as `reproduction.study.engine.plotted` makes it, with made-up numbers."""
    table = pd.DataFrame(list(cells), columns=names.split())
    value = np.random.default_rng(len(table)).uniform(0.01, 0.6, len(table))
    ends = {"ci_low": 0.9 * value, "ci_high": 1.1 * value}
    return table.assign(**{summary: value}, **ends, replicates=1000, data_source="original")


def of_table() -> Tables:
    whole = results()
    strong, weak = (
        whole.assign(p=whole["p"].map({0.1: p, 0.7: q})) for p, q in ((0.1, 0.7), (0.3, 0.5))
    )
    return [pd.concat([strong, weak], ignore_index=True)]


def of_figure_2(estimators: Any = ("randomized", "randomized_joint", "rr_independent")) -> Tables:
    cells = itertools.product(estimators, SIGMAS, MEASURES, [0.7])
    table = numbers("estimator sigma measure p", cells)
    wide = (table["measure"] == "absolute_error").map({True: 1000.0, False: 1.0})
    ends = ["median", "ci_low", "ci_high"]
    table[ends] = table[ends].mul(wide, axis=0)
    return [table]


def of_figure_3(
    p: Any = (0.1, 0.3, 0.5, 0.7), mechanisms: Any = ("joint", "kronecker"), methods: Any = METHODS
) -> Tables:
    t_v = {"paper": 50, "ours": 300, "both": 100}
    whose = {each: ("both",) if each == 0.3 else ("paper", "ours") for each in p}
    cells = [
        (mechanism, t_v[best], 0.3, each, sigma, method, best)
        for mechanism, each, sigma, method in itertools.product(mechanisms, p, SIGMAS, methods)
        for best in whose[each]
    ]
    return [numbers("mechanism t_v t_d p sigma method best", cells)]


def of_pairs(p: Any = SIGMAS, estimators: Any = ESTIMATORS, sigmas: Any = SIGMAS) -> Tables:
    cells = itertools.product(["printed"], p, estimators, sigmas, MEASURES)
    return [numbers("matrix p estimator sigma measure", cells), *of_figure_3()]


def of_assessment(
    p: Any = (0.1, 0.3, 0.5, 0.7),
    matrices: Any = ("printed", "keep"),
    methods: Any = ASSESSED,
    t_v: Any = (50, 100, 300),
) -> Tables:
    cells = [
        (*cell, measure, *thresholds)
        for cell in itertools.product(methods, matrices, p)
        for measure, thresholds in [
            ("spearman", (np.nan, np.nan)),
            *(("adjusted_rand", each) for each in itertools.product(t_v, (0.1, 0.2, 0.3))),
        ]
    ]
    return [numbers("method matrix p measure t_v t_d", cells, "mean")]


def of_sweep(
    records: Any = (1000, 5000, 32561, 195366, 1000000),
    p: Any = (0.1, 0.2, 0.3, 0.4, 0.5, 0.6, 0.7, 0.8, 0.9, 0.95),
    t_v: Any = (1, 20, 50, 100, 300),
    t_d: Any = (0.05, 0.2, 0.35, 0.5),
    projections: Any = ("clip",),
) -> Tables:
    cells = itertools.product(records, ["keep"], ["kronecker"], projections, p, t_v, t_d)
    names = "records matrix mechanism projection p t_v t_d"
    return [numbers(names, cells, "median_relative_error")]


def of_epsilon() -> Tables:
    cells = [
        (attributes, method, epsilon, "clip", 0.1, 50, 0.1)
        for attributes, methods in (("all", list(AT_EPSILON)[:-2]), ("few", list(AT_EPSILON)))
        for method, epsilon in itertools.product(methods, (0.5, 1.0, 2.0, 4.0))
    ]
    return [numbers("attributes method epsilon projection sigma t_v t_d", cells, "median")]


def of_joint() -> Tables:
    designs = [(m, d) for name in JOINT_STYLE for m, d in [name.replace(" ", "_").split(",_")]]
    cells = itertools.product(
        ("adult", "survey", "alarm", "child"), ("epsilon",), (1.0, 2.0, 4.0, 8.0), designs, (2, 3)
    )
    named = [(*at, *own, f"distance_{k}", None) for *at, own, k in cells]
    return [numbers("dataset given value method design measure against", named, "median")]


FULL: dict[str, Callable[[], Tables]] = {
    "multirr_table1": of_table,
    "multirr_table2": of_table,
    "multirr_fig1": lambda: [figure_1_table((9, 16, 7, 15, 6, 5, 2, 2))],
    "multirr_fig2": of_figure_2,
    "multirr_fig3": of_figure_3,
    "multirr_fig3_ours": of_figure_3,
    "multirr_pairs": of_pairs,
    "multirr_assessment": of_assessment,
    "multirr_sweep": of_sweep,
    "multirr_epsilon": of_epsilon,
    "joint_estimation": of_joint,
}
NEW = [figure for figure in FULL if not figure.startswith("multirr_table")]
OF_DATA = [figure for figure in NEW if figure != "multirr_fig1"]
FUNCTIONS = [figure for figure in NEW if figure != "multirr_fig3_ours"]  # drawn as multirr_fig3 is
# Enough to see what is drawn, in less time.
SMALL = FULL | {
    "multirr_fig3": lambda: of_figure_3((0.3, 0.7), ["joint"]),
    "multirr_fig3_ours": lambda: of_figure_3((0.3, 0.7), ["joint"]),
    "multirr_pairs": lambda: of_pairs((0.1, 0.5), ESTIMATORS[:4], (0.1, 0.5)),
    "multirr_assessment": lambda: of_assessment(matrices=["keep"], t_v=(50, 300)),
    "multirr_sweep": lambda: of_sweep((1000,), (0.1, 0.7), (1, 50)),
}
FEW = [
    # what a config may leave out
    pytest.param(
        figure, tables, id=f"{figure}: {what}", marks=() if "one" in what else pytest.mark.slow
    )
    for figure, what, tables in [
        ("multirr_fig1", "no data", lambda: [figure_1_table()]),
        ("multirr_fig2", "one estimator", lambda: of_figure_2(["randomized"])),
        ("multirr_fig3", "one p", lambda: of_figure_3([0.7])),
        ("multirr_fig3_ours", "one panel", lambda: of_figure_3([0.7], ["joint"])),
        (
            "multirr_fig3",
            "two methods",
            lambda: of_figure_3((0.3, 0.5, 0.7), ["joint"], METHODS[:2]),
        ),
        ("multirr_pairs", "one p", lambda: of_pairs([0.7])),
        ("multirr_pairs", "two estimators", lambda: of_pairs((0.1, 0.5), ESTIMATORS[1:3])),
        ("multirr_pairs", "other coverages", lambda: of_pairs(sigmas=(0.25,))),
        ("multirr_sweep", "one cell", lambda: of_sweep([1000], [0.7], [50], [0.1])),
        (
            "multirr_sweep",
            "two projections",
            lambda: of_sweep([1000], [0.3, 0.7], [1, 50], [0.1], ["simplex", "clip"]),
        ),
        ("multirr_assessment", "one p", lambda: of_assessment([0.5], ["keep"])),
        ("multirr_assessment", "two methods", lambda: of_assessment(methods=ASSESSED[::4])),
        ("multirr_assessment", "one T_v", lambda: of_assessment(t_v=[100])),
    ]
]


@pytest.fixture(autouse=True)
def _nothing_warns() -> Iterator[None]:
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        yield


def lines(axes: Axes) -> list[np.ndarray]:
    """Return the lines of a panel as rows of x and y; points and rules left out."""
    found = [np.asarray(line.get_xydata(), dtype=float) for line in axes.lines]
    return [each for each in found if len(each) > 2]


def test_every_figure_is_drawn_here() -> None:
    assert set(FULL) == {figure for figure in FIGURES if figure.startswith(("multirr_", "joint_"))}
    for figure, tables in FULL.items():
        assert len(tables()) == len(FIGURES[figure].tables)


@pytest.mark.parametrize("figure", all_but_first(FUNCTIONS))
def test_every_figure_is_the_same_bytes_each_time(tmp_path: Path, figure: str) -> None:
    tables = SMALL[figure]()
    before = [table.copy() for table in tables]
    one, two = (saved(draw(figure, tables), tmp_path, name) for name in ("one", "two"))
    assert one == two
    assert one[1].startswith(b"\x89PNG")
    assert b"<dc:date>" not in one[0]
    assert b"Software" not in one[1]
    for table, unchanged in zip(tables, before, strict=True):
        pd.testing.assert_frame_equal(table, unchanged)


@pytest.mark.parametrize("figure", all_but_first(FULL))
def test_no_text_of_a_whole_figure_is_cut_off_or_hidden(figure: str) -> None:
    tables = FULL[figure]()
    if figure != "multirr_fig1":  # a formula, of no data
        tables = marked(tables, data_source="surrogate")
    found = extents(draw(figure, tables))
    assert cut_off(found) == []
    banner = found.pop(BANNER, None)
    assert (banner is None) == (figure == "multirr_fig1")
    for text, box in found.items():
        assert not (banner and Bbox.intersection(banner, box)), text


@pytest.mark.parametrize("figure", OF_DATA)
def test_the_banner_stands_on_surrogates_only(figure: str) -> None:
    tables = SMALL[figure]()
    for source in ("original", "surrogate"):
        texts = draw(figure, marked(tables, data_source=source)).texts
        assert (BANNER in [text.get_text() for text in texts]) == (source == "surrogate")


@pytest.mark.parametrize(("figure", "tables"), FEW)
def test_no_text_is_cut_off_where_little_was_asked_for(
    figure: str, tables: Callable[[], Tables]
) -> None:
    found = extents(draw(figure, tables()))
    assert not any("nan" in text for text in found)
    assert cut_off(found) == []


@pytest.mark.parametrize("figure", FUNCTIONS[1:])
def test_intervals_of_few_runs_are_left_out(figure: str) -> None:
    whole_line = marked(SMALL[figure](), ci_low=-np.inf, ci_high=np.inf, replicates=6)
    found = extents(draw(figure, whole_line))
    assert not any("nan" in text or "inf" in text for text in found)
    # Some of them, as where more than half of a cell's runs have an infinite error.
    tables = SMALL[figure]()
    for table in tables:
        table.loc[table.index % 2 == 0, "ci_high"] = np.inf
    extents(draw(figure, tables))


@pytest.mark.parametrize(
    ("figure", "tables", "panels"),
    [
        pytest.param(
            "multirr_fig3_ours",
            lambda: [of_figure_3()[0].query("best == 'paper'")],
            0,
            id="no thresholds of our own",
        ),
        pytest.param(
            "multirr_pairs",
            lambda: of_pairs((0.1, 0.5), ESTIMATORS[5:]),
            3,
            id="pairs without rr_independent",
        ),
        pytest.param(
            "multirr_pairs",
            lambda: [
                pd.concat([of_pairs()[0], of_pairs()[0].assign(matrix="keep")]),
                *of_figure_3(),
            ],
            3,
            id="pairs under two matrices",
        ),
        pytest.param(
            "multirr_pairs", lambda: of_pairs(sigmas=(0.25,)), 0, id="no coverage that is shown"
        ),
        pytest.param(
            "multirr_assessment",
            lambda: of_assessment(methods=["secure_sum"]),
            0,
            id="the secure sum alone",
        ),
    ],
)
def test_what_the_config_allows_is_drawn(
    figure: str, tables: Callable[[], Tables], panels: int
) -> None:
    drawn_figure = draw(figure, tables())
    assert len(drawn_figure.axes) == panels
    said = " ".join(text.get_text() for text in drawn_figure.texts)
    assert ("nothing to plot" in said) == (panels == 0)
    assert cut_off(extents(drawn_figure)) == []


def test_what_is_cut_off_is_seen() -> None:
    figure = draw("multirr_fig2", of_figure_2())
    figure.text(0.9, 0.5, "too far to the right to be read whole")
    assert cut_off(extents(figure)) == ["too far to the right to be read whole"]


# -- what is drawn ---------------------------------------------------------------------------------


def test_figure_1_draws_the_table() -> None:
    (table,) = FULL["multirr_fig1"]()
    (axes,) = draw("multirr_fig1", [table]).axes
    np.testing.assert_array_equal(lines(axes)[0], table[["categories", "root_b"]])
    said = [text.get_text() for text in axes.texts]
    assert any(text.startswith("education: 16") for text in said)
    assert any("1,814,400" in text and "5.5" in text for text in said)


def test_figure_2_draws_an_estimator_a_line() -> None:
    (table,) = of_figure_2()
    figure = draw("multirr_fig2", [table])
    assert len(figure.axes) == 2
    for axes, measure in zip(figure.axes, MEASURES, strict=True):
        part = table[table["measure"] == measure]
        for estimator in ("randomized", "randomized_joint", "rr_independent"):
            drawn_points = part[part["estimator"] == estimator][["sigma", "median"]].to_numpy()
            assert any(np.array_equal(line, drawn_points) for line in lines(axes)), estimator
        assert len(lines(axes)) == 3
        assert axes.get_ylim()[0] == 0


@pytest.mark.parametrize(
    ("figure", "best"), [("multirr_fig3", "paper"), ("multirr_fig3_ours", "ours")]
)
def test_figure_3_draws_whose_thresholds_it_says(figure: str, best: str) -> None:
    (table,) = of_figure_3()
    panels = draw(figure, [table]).axes
    assert len(panels) == 8
    expected = table[table["best"].isin([best, "both"])]
    cells = itertools.product(("joint", "kronecker"), (0.1, 0.3, 0.5, 0.7))
    for axes, (mechanism, p) in zip(panels, cells, strict=True):
        part = expected[(expected["mechanism"] == mechanism) & (expected["p"] == p)]
        assert len(lines(axes)) == 4
        for method in METHODS:
            points = part[part["method"] == method][["sigma", "median"]].to_numpy()
            assert any(np.array_equal(line, points) for line in lines(axes)), (mechanism, p, method)
        t_v = 100 if p == 0.3 else {"paper": 50, "ours": 300}[best]
        assert f"p = {p:g}" in axes.get_title()
        assert f"T$_v$ = {t_v}" in axes.get_title()


def test_pairs_are_beside_one_method_at_our_thresholds_whatever_its_error() -> None:
    table, methods = of_pairs()
    figure = draw("multirr_pairs", [table, methods])
    shown = ("rr_independent", "pair_unbiased", "pair_likelihood")
    for axes, sigma in zip(figure.axes, (0.1, 0.3, 0.5), strict=True):
        points = [line for line in axes.lines if line.get_linestyle() == "None"]
        assert len(points) == 2
        for mark, mechanism in zip(points, ("joint", "kronecker"), strict=True):
            rows = methods[(methods["sigma"] == sigma) & (methods["mechanism"] == mechanism)]
            rows = rows[(rows["method"] == "rr_clusters_adjustment") & (rows["best"] != "paper")]
            np.testing.assert_array_equal(
                np.asarray(mark.get_xydata()), rows[["p", "median"]].sort_values("p")
            )
        assert len({str(mark.get_marker()) for mark in points}) == 2
        own = table[(table["sigma"] == sigma) & (table["measure"] == "relative_error")]
        assert len(lines(axes)) == len(points) + len(shown)
        for estimator in shown:
            expected = own[own["estimator"] == estimator][["p", "median"]].to_numpy()
            assert any(np.array_equal(line, expected) for line in lines(axes)), estimator


def test_the_assessment_has_a_panel_for_ranks_and_for_each_size() -> None:
    (table,) = of_assessment()
    panels = draw("multirr_assessment", [table]).axes
    assert len(panels) == 2 * 4
    columns = itertools.product(("printed", "keep"), ("spearman", 50, 100, 300))
    for axes, (matrix, column) in zip(panels, columns, strict=True):
        part = table[table["matrix"] == matrix]
        if column == "spearman":
            part = part[part["measure"] == "spearman"]
        else:
            part = part[(part["t_v"] == column) & (part["t_d"] == 0.1)]
            assert f"{column}" in axes.get_title()
        for method in ASSESSED[:-1]:
            points = part[part["method"] == method][["p", "mean"]].to_numpy()
            assert any(np.array_equal(line, points) for line in lines(axes)), (matrix, column)
