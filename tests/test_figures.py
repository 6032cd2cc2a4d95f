"""Figures are the same bytes each time and say what their data are."""

import itertools
from pathlib import Path

import numpy as np
import pandas as pd
import pytest

from deniable.figures import printed_against_regenerated, save


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
    figure = printed_against_regenerated(table, "Table 1: a title")
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
    figure = printed_against_regenerated(table, "t")
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
    figure = printed_against_regenerated(table, "t")
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
        {"published": np.nan, "verdict": "not printed"},
    ],
    ids=["very few runs", "nothing printed"],
)
def test_what_is_missing_is_left_out(tmp_path: Path, changes: dict[str, object]) -> None:
    svg, png = drawn(results(**changes), tmp_path)
    assert len(svg) > 1000
    assert png.startswith(b"\x89PNG")


def test_a_table_of_one_cell_is_drawn(tmp_path: Path) -> None:
    drawn(results().iloc[:1], tmp_path)


def test_nothing_is_left_when_a_figure_cannot_be_written(tmp_path: Path) -> None:
    (tmp_path / "f.svg").mkdir()
    with pytest.raises(OSError, match=r"f\.svg"):
        drawn(results(), tmp_path)
    assert [path.name for path in tmp_path.iterdir()] == ["f.svg"]
