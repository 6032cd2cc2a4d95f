"""Mechanisms side by side: closed forms, marks, what is said of the choice."""

import numpy as np
import pyarrow as pa
import pytest

from deniable.channels import KeepOrReplace
from deniable.errors import DeniableError
from deniable.plans import compare, draw
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
    assert "A guess between 0 and 1 has a smaller error" in found
    assert "guess" not in compare(many, schema(), [4.0]).recommendation[0]


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
    assert all(rows["margins"].is_monotonic_decreasing for _, rows in best)
    told = {axis.get_title() for axis in draw(found.table).axes}
    assert told == {"margins", "pairs", "a x b"}


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
    assert found.recommendation[0].startswith("epsilon 2: best, ask pairs. Its root mean")
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
