"""Mechanisms side by side: closed forms, marks, what is said of the choice."""

import numpy as np
import pandas as pd
import pyarrow as pa
import pytest

from deniable.channels import KeepOrReplace
from deniable.errors import DeniableError
from deniable.plans import compare, draw, expected_errors, make_plan, make_questionnaire
from deniable.plans.comparison.comparing import ASKED, WAYS
from deniable.plans.comparison.picture import COLOURS
from deniable.schema import Schema, schema_from_dict

COLUMNS = [
    {"name": "a", "kind": "categorical", "categories": ["x", "y"]},
    {"name": "b", "kind": "categorical", "categories": ["p", "q", "r"]},
    {"name": "n", "kind": "numeric", "bounds": [0.0, 8.0], "step": 1.0},
]
TABLE = pa.table(
    {
        "a": ["x"] * 300 + ["y"] * 100,
        "b": ["p", "q", "q", "r"] * 100,
        "n": ["0", "3", "4", "8"] * 100,
    }
)
PRIOR = {
    "a": np.array([0.75, 0.25]),
    "b": np.array([0.25, 0.5, 0.25]),
    "n": np.array([1, 0, 0, 1, 1, 0, 0, 0, 1]) / 4,
}


def schema() -> Schema:
    about = {"format": "deniable-schema", "version": 1, "population": "survey"}
    return schema_from_dict(about | {"file": {"kind": "arrow"}, "columns": COLUMNS})


def test_errors_are_the_covariances_of_the_channels() -> None:
    found = compare(TABLE.select(["a", "b"]), _two(), [1.0], [("a", "b")])
    assert any(
        each.startswith("Equal to best, split even, clusters a x b:") and "generalized-rr" in each
        for each in found.repeated
    )
    row = found.table.query("split == 'even' and clusters == 'a x b'").iloc[0]
    joint = np.array([75, 150, 75, 25, 50, 25]) / 400
    covariance = KeepOrReplace.of_epsilon(6, 1.0).covariance(joint, 400, "file")
    assert row["a x b"] == pytest.approx(np.sqrt(np.diagonal(covariance).mean()), rel=1e-9)
    assert row["pairs"] == row["a x b"]
    assert 1 - 1e-12 < row["exact_epsilon"] <= 1.0
    assert row["posterior_of_1_percent"] == pytest.approx(np.e / (np.e + 99))
    assert found.records == 400


def test_kinds_that_are_the_best_everywhere_are_told_and_not_listed() -> None:
    found = compare(TABLE, schema(), [0.5, 4.0], [("a", "b")])
    told = {each for said in found.repeated for each in said.partition(": ")[2][:-1].split(", ")}
    assert "square-wave" in told  # of the only number it is the best anyway
    numbers = found.table.select_dtypes("number").columns
    for _, rows in found.table.query("split == 'even'").groupby("clusters"):
        ways = [own[numbers].to_numpy() for _, own in rows.groupby("mechanism")]
        for number, way in enumerate(ways):
            for other in ways[:number]:
                assert way.shape != other.shape or not np.allclose(way, other, rtol=1e-9)


def test_errors_worse_than_a_guess_are_told() -> None:
    few, many = TABLE.slice(0, 4), pa.concat_tables([TABLE] * 20)
    found = compare(few, schema(), [0.1]).recommendation[0]
    assert "a guess without any data has smaller errors than these estimates" in found
    assert "guess" not in compare(many, schema(), [4.0]).recommendation[0]


def test_points_are_those_of_the_plan_and_the_recommended_ones_are_listed() -> None:
    found = compare(TABLE, schema(), [1.0, 3.0], [("a", "b")])
    for label in ("", "a x b"):
        for split in ("even", "size", "optimal", "ask 1", "ask 2"):
            rows = found.table.query("split == @split and clusters == @label and epsilon == 3")
            if rows.empty:  # two of two clusters are a plan for all columns
                assert (split, label) == ("ask 2", "a x b")
                continue
            (row,) = rows[rows["mechanism"] == "best"].to_dict("records")
            options = {"clusters": [("a", "b")] if label else [], "tables": [("a", "b")]}
            if split.startswith("ask"):
                plan = make_questionnaire(schema(), 3.0, int(split[-1]), prior=PRIOR, **options)
            else:
                plan = make_plan(schema(), 3.0, split=split, prior=PRIOR, **options)
            together = label or split != "ask 1"  # else no record has both columns
            errors = expected_errors(plan, 400, [("a", "b")] if together else [], prior=PRIOR)
            points = {name: row[f"points {name}"] for name in errors["columns"]}
            assert errors["points"].tolist() == pytest.approx([*points.values()], rel=0.005)
            assert row["left_out"] == ("n" if split == "optimal" else "")
            margins = np.sqrt(np.mean([points.get(name, np.nan) ** 2 for name in "abn"]))
            assert row["margins_points"] == pytest.approx(margins, nan_ok=True)
    best = found.table[found.table["recommended"]].set_index("epsilon")
    assert found.errors["columns"].tolist() == ["a", "b", "n", "a x b"] * 2
    for epsilon, name, points in zip(
        found.errors["epsilon"], found.errors["columns"], found.errors["points"], strict=True
    ):
        recommended = best.loc[epsilon, f"points {name}"]
        assert points == pytest.approx(recommended, rel=0, abs=0, nan_ok=True)
    least = found.table.groupby("epsilon")["points a x b"].min()
    assert best["points a x b"].to_numpy() == pytest.approx(least.to_numpy())


def _two() -> Schema:
    about = {"format": "deniable-schema", "version": 1, "population": "survey"}
    return schema_from_dict(about | {"file": {"kind": "arrow"}, "columns": COLUMNS[:2]})


def test_the_least_error_is_recommended_at_each_epsilon() -> None:
    found = compare(TABLE, schema(), [0.5, 4.0], [("a", "b")])
    for epsilon, rows in found.table.groupby("epsilon"):
        (best,) = rows.loc[rows["recommended"], "a x b"]
        assert best <= rows["a x b"].min() * (1 + 1e-6), epsilon
        assert (rows["exact_epsilon"] <= epsilon).all()
    assert [each.partition(":")[0] for each in found.recommendation] == ["epsilon 0.5", "epsilon 4"]
    assert "data owner only" in found.chosen_from
    best = found.table[found.table["mechanism"] == "best"].groupby(["split", "clusters"])
    assert all(rows["margins"].dropna().is_monotonic_decreasing for _, rows in best)
    figure = draw(found.table, found.errors)
    assert [axis.get_title() for axis in figure.axes] == ["a", "b", "n", "a x b"]


def test_every_way_has_a_colour_of_its_own() -> None:
    ways = len(WAYS) + len(ASKED)
    assert len(set(COLOURS)) == len(COLOURS) >= ways
    found = compare(TABLE, schema(), [1.0])
    one = found.table.head(1)
    every = pd.concat([one.assign(split=f"{number}") for number in range(ways)])
    assert len(draw(every, found.errors).axes[0].get_lines()) == ways + 1  # and the guess


@pytest.mark.parametrize("columns", [1, 3, 12, 20])
def test_all_texts_of_the_picture_are_inside_and_apart(columns: int) -> None:
    names = [f"question {number:02} of a survey with long names" for number in range(columns)]
    own = [COLUMNS[0] | {"name": name} for name in names]
    about = {"format": "deniable-schema", "population": "survey", "file": {"kind": "arrow"}}
    records = pa.table({name: ["x", "y"] * 500 for name in names})
    found = compare(records, schema_from_dict(about | {"columns": own}), [0.5, 1.0, 2.0, 8.0, 9.0])
    figure = draw(found.table, found.errors)
    figure.canvas.draw()
    shown = [axis for axis in figure.axes if axis.get_visible()]
    assert len(shown) == columns
    boxes = [
        text.get_window_extent()
        for axis in shown
        for text in (axis.title, axis.xaxis.label, axis.yaxis.label, *axis.get_xticklabels())
        if text.get_text()
    ]
    boxes += [each.get_window_extent() for each in (*figure.texts, *figure.legends)]
    assert all(figure.bbox.containsx(x) for box in boxes for x in (box.x0, box.x1))
    assert all(figure.bbox.containsy(y) for box in boxes for y in (box.y0, box.y1))
    for number, box in enumerate(boxes):
        assert not box.count_overlaps(boxes[:number]), number


def test_forms_show_the_better_design_of_many_columns() -> None:
    names = [f"c{number}" for number in range(16)]
    columns = [COLUMNS[0] | {"name": name} for name in names]
    about = {"format": "deniable-schema", "version": 1, "population": "survey"}
    sixteen = schema_from_dict(about | {"file": {"kind": "arrow"}, "columns": columns})
    records = pa.table({name: ["x", "y"] * 6000 for name in names})
    found = compare(records, sixteen, [2.0], prior={})
    rows = found.table.set_index("split")
    # The variance of 750 records of 12,000, without the one of all records, in closed form.
    e = np.exp(2)
    one = (16 * (e / (e - 1) ** 2 + 0.25) - 0.25) / 12_000
    assert rows.loc["ask 1", "margins"] == pytest.approx(np.sqrt(one), rel=1e-9)
    assert np.isnan(rows.loc["ask 1", "pairs"])
    joint = KeepOrReplace.of_epsilon(4, 2.0).covariance(np.full(4, 0.25), 100)[0, 0] * 100
    pair = (120 * joint - 0.25 * 0.75) / 12_000
    assert rows.loc["ask pairs", "pairs"] == pytest.approx(np.sqrt(pair), rel=1e-6)
    assert rows.loc["ask pairs", "recommended"]
    assert found.recommendation[0].startswith("epsilon 2: best, ask pairs. Its ± points")
    assert rows.loc["even", "margins"].iloc[0] > 3 * rows.loc["ask pairs", "margins"]
    two = compare(records, sixteen.only(names[:2]), [0.5], prior={})
    assert two.recommendation[0].startswith("epsilon 0.5: best, ask 1. ")
    assert "Tables of other columns cannot be estimated" in two.recommendation[0]


def test_by_a_public_prior_only_the_number_of_records_counts() -> None:
    other = pa.table({"a": ["y"] * 400, "b": ["r"] * 400, "n": ["1"] * 400})
    first, second = (compare(each, schema(), [1.0], prior={}) for each in (TABLE, other))
    assert first.table.equals(second.table)
    assert "only the number of records" in first.chosen_from
    assert not compare(other, schema(), [1.0]).table.equals(second.table)


def test_what_cannot_be_compared_is_refused() -> None:
    for epsilons, tables in (([], []), ([1.0], [("a", "z")]), ([-1.0], [])):
        with pytest.raises(DeniableError):
            compare(TABLE, schema(), epsilons, tables)
    with pytest.raises(DeniableError, match="no record"):
        compare(TABLE.slice(0, 0), schema(), [1.0])
