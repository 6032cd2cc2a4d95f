"""What lanes share: files in and out, marks, notes."""

from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest

from deniable.files import write_table
from deniable.records.categorical import Microdata, read_csv
from deniable.records.domain import Attribute, Domain
from deniable.records.numeric import NumericMicrodata
from deniable.release import LANES, key_of_seed, release_from
from deniable.release.made import (
    PRODUCTION_MARK,
    REHEARSAL_MARK,
    described,
    epsilon_of,
    exact_cells,
    in_order,
    in_true_order,
    marked,
    marked_as,
    marks_for,
    notes,
    read_made,
    spreadsheets,
    texts_of,
    write_made,
)

DOMAIN = Domain((Attribute("a", ("NA", "1")),))
PAIR = Domain((Attribute("a", ("0", "1")), Attribute("b", ("x", "y", "z"))))
KEY = key_of_seed("tests of what lanes share")


def records(**marks: str) -> Microdata:
    codes = np.array([0, 1, 1], dtype=np.int8)
    return Microdata(DOMAIN, (codes,), {"data_source": "original", "notice": "", **marks})


def release(**changes: Any) -> Any:
    given = {"name": "small", "data": "made", "mechanism": "rr_independent", "matrix": "keep"}
    return release_from(given | {"p": 0.5, "rehearsal": True} | changes)


def test_what_is_written_is_read_again(tmp_path: Path) -> None:
    numbers = NumericMicrodata(("x",), np.array([[0.1], [2.0]]), marks=dict(records().marks))
    table = pd.DataFrame({"attributes": ["a"], "categories": ["NA"], "stratum": [""], "n": [3]})
    made = {"said": {"p": 0.1}, "protected": records(), "numbers": numbers, "estimates": table}
    files = ("said.json", "protected.parquet", "numbers.parquet", "estimates.csv")
    paths = [tmp_path / file for file in files]
    write_made([*paths, tmp_path / "protected.csv"], made)
    read = read_made(paths)
    assert read["said"] == made["said"]
    assert read["protected"].domain == DOMAIN
    np.testing.assert_array_equal(read["protected"].column("a"), [0, 1, 1])
    np.testing.assert_array_equal(read["numbers"].values, numbers.values)
    pd.testing.assert_frame_equal(read["estimates"], table, check_dtype=False)
    assert (tmp_path / "protected.csv").read_text("utf-8") == '"a"\n"NA"\n"1"\n"1"\n'


def test_digits_and_texts_of_tables_are_kept(tmp_path: Path) -> None:
    number = 0.1 + 0.2
    table = pd.DataFrame({"categories": ["007"], "probability": [repr(number)]})
    write_table(tmp_path / "t.csv", table)
    read = read_made([tmp_path / "t.csv"])["t"]
    assert read["categories"].tolist() == ["007"]
    assert read["probability"].tolist() == [number]


@pytest.mark.parametrize(
    ("marks", "columns"),
    [
        ({}, {}),
        ({"notice": REHEARSAL_MARK}, {"rehearsal": "yes"}),
        ({"notice": PRODUCTION_MARK, "data_source": "surrogate"}, {"data_source": "surrogate"}),
        ({"synthetic": "yes"}, {"synthetic": "yes"}),
        ({"synthetic": "SYNTHETIC: in words"}, {}),
        (
            {"synthetic": "SYNTHETIC: in words", "synthetic_from": "clusters"},
            {"synthetic": "clusters"},
        ),
    ],
)
def test_notes_say_that_nobody_is_in_a_file(marks: dict[str, str], columns: dict[str, str]) -> None:
    assert notes(records(**marks)) == columns


def test_marks_name_the_draw_and_no_digest_of_the_records() -> None:
    data = records(source_sha256="0" * 64)
    marks = marks_for(release(), data)
    assert marks == {"data_source": "original", "release": "small", "notice": REHEARSAL_MARK}
    assert (
        marks_for(release(rehearsal=False, population="people"), data)["notice"] == PRODUCTION_MARK
    )
    table = marked(pd.DataFrame({"n": [1, 2]}), release(), data)
    assert table["rehearsal"].tolist() == [True, True]
    again = marked_as(pd.DataFrame({"m": [1]}), table)
    assert again.to_dict("records") == [{"m": 1, "rehearsal": True, "data_source": "original"}]


@pytest.mark.parametrize(
    ("texts", "named"),
    [
        (["<=50K", ">50K", "-9", "+1", "-1.5", "-1,000", "0-4", "(-inf, 0)", "?"], ""),
        (["=1+1", "high"], "=1+1"),
        (["@SUM(A1)", "+A1", "-none", "-1+cmd", "-"], "@SUM(A1), +A1, -none, -1+cmd, -"),
        (["\t=1", "\r=1"], "\\t=1, \\r=1"),
        ([f"={n}" for n in range(6)], "=0, =1, =2, =3, =4, ..."),
    ],
)
def test_a_release_says_which_texts_a_spreadsheet_computes(texts: list[str], named: str) -> None:
    if not named:
        assert spreadsheets(texts) == {}
        return
    with pytest.warns(UserWarning, match="begin as formulas of spreadsheets do") as caught:
        said = spreadsheets(texts)["spreadsheets"]
    assert f"do ({named}): a program" in said
    assert str(caught[0].message) == said


def test_what_looks_like_a_formula_is_written_and_read_as_it_is(tmp_path: Path) -> None:
    domain = Domain((Attribute("=name", ("=1+1", "-9")),))
    assert texts_of(domain) == ["=name", "=1+1", "-9"]
    data = Microdata(domain, (np.array([0, 1]),), records().marks)
    write_made([tmp_path / f"protected.{kind}" for kind in ("parquet", "csv")], {"protected": data})
    assert (tmp_path / "protected.csv").read_text("utf-8") == '"=name"\n"=1+1"\n"-9"\n'
    np.testing.assert_array_equal(read_csv(tmp_path / "protected.csv", domain).columns, [[0, 1]])


# -- what is said ----------------------------------------------------------------------------------


def test_a_description_begins_with_the_release_and_what_fails() -> None:
    own = {"population": "people", "consent": "asked"}
    said = described(release(rehearsal=False, **own), "original")
    assert list(said)[:3] == ["release", "fails", "notice"]
    assert said["fails"] == {}
    assert not own.keys() & said["parameters"].keys()
    accept = ["no_epsilon_for_records", "true_values_released"]
    kind = {"mechanism": "idp", "method": "idp_cbls", "k": 5, "epsilon": 1.0, "accept": accept}
    failing = release_from({"name": "n", "data": "d", "rehearsal": True} | kind)
    assert described(failing, "original")["fails"] == failing.findings
    assert list(failing.findings) == accept


CLUSTERS = {"mechanism": "rr_clusters", "cluster_mechanism": "joint", "t_v": 6, "t_d": 0.0}
RANDOMIZED = {"matrix": "keep", "p": 0.5}
ANSWERS = {"by": "attributes", "p": 0.3, "respondents": "all"}
ACCEPT = ["no_epsilon_for_records"]


@pytest.mark.parametrize(
    ("finite", "settings"),
    [
        (True, {"mechanism": "rr_independent"} | RANDOMIZED),
        (True, {"mechanism": "rr_joint"} | RANDOMIZED),
        (True, CLUSTERS | RANDOMIZED | {"dependences": ANSWERS}),
        (False, CLUSTERS | RANDOMIZED | {"dependences": {"by": "true_records"}}),
        (True, {"mechanism": "pram", "matrix": {"kind": "epsilon", "epsilon": 1.0}}),
        (True, {"mechanism": "pram", "matrix": {"kind": "retention", "retention": 0.7}}),
        (False, {"mechanism": "pram", "matrix": {"kind": "two_step", "epsilon": 1.0}}),
        (
            False,
            {"mechanism": "pram"}
            | {"matrix": {"kind": "designed", "epsilon": 1.0, "invariant": False, "loss": "trace"}},
        ),
        (True, {"mechanism": "idp", "method": "dp"}),
        (
            False,
            {"mechanism": "idp", "method": "dp", "domain_factor": 1.5}
            | {"accept": ["largest_values_shown"]},
        ),
        (False, {"mechanism": "idp", "method": "dp_um", "k": 5, "accept": ACCEPT}),
        (False, {"mechanism": "idp", "method": "idp_ls", "k": 5, "accept": ACCEPT}),
        (
            False,
            {"mechanism": "idp", "method": "idp_cbls", "k": 5}
            | {"accept": [*ACCEPT, "true_values_released"]},
        ),
        (True, {"mechanism": "numeric_dp"}),
        (True, {"mechanism": "rrba", "p": 0.5}),
        (True, {"mechanism": "rrba", "p": 0.5, "update": "pooled", "floor": 0.2}),
    ],
)
def test_the_epsilon_of_a_release_is_finite_where_all_that_it_tells_is_counted(
    finite: bool, settings: dict[str, Any], tmp_path: Path
) -> None:
    budget = {"epsilon": 1.0} if settings["mechanism"] in ("idp", "numeric_dp") else {}
    chosen = release_from({"name": "r", "data": "d", "rehearsal": True} | budget | settings)
    drawn = np.random.default_rng(1)
    first = drawn.integers(0, 2, 300)
    second = np.where(drawn.random(300) < 0.6, first, drawn.integers(0, 3, 300))
    if chosen.data_kind == "numeric":
        numbers = NumericMicrodata(("x",), second[:, None] + 1.0, marks=dict(records().marks))
        given: tuple[Any, ...] = (numbers, KEY, {"x": (0.0, 5.0)})
    else:
        given = (Microdata(PAIR, (first, second), records().marks), KEY)
    design = LANES[chosen.lane].design
    made = design(chosen, *given)
    write_made([tmp_path / "release.json"], made)
    read = read_made([tmp_path / "release.json"])["release"]
    # Of what is in memory, as it is counted, and of the file, as readers are told.
    found = epsilon_of(read)
    assert found == epsilon_of(made["release"])
    assert np.isfinite(found) == finite
    if finite:
        privacy = read["privacy"]
        assert found == privacy.get("proved_epsilon", privacy.get("epsilon")) > 0


@pytest.mark.parametrize(
    ("privacy", "fails", "epsilon"),
    [
        ({"epsilon": 1.0}, {}, 1.0),
        ({"epsilon": 1}, {"largest_values_shown": "why"}, np.inf),
        # What is proved counts, whatever the method's authors claim.
        ({"proved_epsilon": 1.3, "claimed_epsilon": 1.0}, {}, 1.3),
        ({"proved_epsilon": 1.3, "claimed_epsilon": 1.0, "epsilon": 1.0}, {}, 1.3),
        ({"proved_epsilon": "infinite", "claimed_epsilon": 1.0}, {}, np.inf),
        ({"proved_epsilon": 1.3, "claimed_epsilon": 1.0}, {"no_epsilon": "why"}, np.inf),
        # As the description says what its epsilon does not count.
        ({"epsilon": 1.0, "not_counted": "nothing"}, {}, 1.0),
        ({"epsilon": 1.0, "not_counted": "nothing: the matrices are of settings alone"}, {}, 1.0),
        ({"epsilon": 1.0, "not_counted": "the matrices, which follow from the file"}, {}, np.inf),
        ({"epsilon": 1.0, "not_counted": "clusters; nothing else"}, {}, np.inf),
        ({"epsilon": 1.0, "not_counted": ""}, {}, np.inf),
    ],
)
def test_an_epsilon_is_counted_if_it_is_proved_and_of_all_that_is_told(
    privacy: dict[str, Any], fails: dict[str, str], epsilon: float
) -> None:
    assert epsilon_of({"privacy": privacy, "fails": fails}) == epsilon


# -- the order of records --------------------------------------------------------------------------


@pytest.mark.parametrize("numeric", [False, True])
@pytest.mark.parametrize("order", ["permuted", "as_in_file"])
def test_records_are_permuted_by_the_key_and_put_back(order: str, numeric: bool) -> None:
    count = 500
    place = np.arange(count)
    if numeric:
        values, labels = np.stack([place, -place], axis=1).astype(float), place % 2
        drawn: Any = NumericMicrodata(("x", "y"), values, "c", ("even", "odd"), labels)
    else:
        wide = Domain((Attribute("n", tuple(map(str, place))), Attribute("c", ("even", "odd"))))
        drawn = Microdata(wide, (place, place % 2), records().marks)

    def columns(of: Any) -> list[np.ndarray]:
        return [*of.values.T, of.labels] if numeric else list(of.columns)

    chosen = release(order=order)
    draws = KEY.draws("a plan")
    given = in_order(chosen, drawn, draws)
    assert given.marks == drawn.marks
    for own, found in zip(columns(drawn), columns(given), strict=True):
        assert np.array_equal(own, found) == (order == "as_in_file")
    # Whole records: each of them once, with all that is its own.
    moved = columns(given)
    first = np.asarray(moved[0]).astype(int)
    np.testing.assert_array_equal(np.sort(first), place)
    np.testing.assert_array_equal(moved[-1], first % 2)
    for one, other in ((in_true_order, in_order), (in_order, in_true_order)):
        again = one(chosen, other(chosen, drawn, draws), draws)
        for own, found in zip(columns(drawn), columns(again), strict=True):
            np.testing.assert_array_equal(own, found)
    if order == "permuted":
        other = columns(in_order(chosen, drawn, KEY.draws("another plan")))
        assert not np.array_equal(other[0], moved[0])


# -- cells that are true ---------------------------------------------------------------------------


def test_exact_cells_are_counted_by_attribute() -> None:
    exact = {"a": np.array([True, False, True, True]), "b": np.zeros(4, dtype=bool)}
    table = exact_cells(exact)
    assert list(table) == ["attribute", "records", "exact", "share"]
    assert table.to_numpy().tolist() == [["a", 4, 3, 0.75], ["b", 4, 0, 0.0]]
    assert list(exact_cells({})) == list(table)
    assert len(exact_cells({})) == 0


@pytest.mark.parametrize("order", ["permuted", "as_in_file"])
def test_exact_cells_compare_each_record_with_its_own(order: str) -> None:
    drawn = np.random.default_rng(1)
    data = Microdata(PAIR, (drawn.integers(0, 2, 400), drawn.integers(0, 3, 400)), records().marks)
    chosen = release(p=0.6, order=order)
    lane = LANES["categorical"]
    made = lane.design(chosen, data, KEY)
    left = lane.draw(chosen, made, data, KEY)
    own = in_true_order(chosen, left["protected"], KEY.draws(made["release"]))
    for row in left["exact_cells"].to_dict("records"):
        same = own.column(row["attribute"]) == data.column(row["attribute"])
        assert (row["records"], row["exact"]) == (400, same.sum())
        assert row["share"] == same.sum() / 400
        # Kept with p = .6, or replaced by itself: .8 and .73, within six standard errors.
        stays = 0.6 + 0.4 / PAIR[row["attribute"]].size
        assert abs(row["share"] - stays) < 6 * np.sqrt(stays * (1 - stays) / 400)
    # Of numbers: noise on 0 is below it in every other record, and is cut off there.
    values = np.where(np.arange(50) % 3, 0.0, 2.5)[:, None]
    numbers = NumericMicrodata(("x",), values, marks=dict(records().marks))
    given = {"name": "n", "data": "d", "epsilon": 1.0, "rehearsal": True, "order": order}
    lane, bounds = LANES["numeric"], {"x": (0.0, 5.0)}
    chosen = release_from(given | {"mechanism": "idp", "method": "dp"})
    made = lane.design(chosen, numbers, KEY, bounds)
    left = lane.draw(chosen, made, numbers, KEY)
    own_numbers = in_true_order(chosen, left["protected"], KEY.draws(made["release"]))
    count = int((own_numbers.values == values).sum())
    assert 5 < count < 25  # not half of them, for so many differ then
    assert left["exact_cells"].to_numpy().tolist() == [["x", 50, count, count / 50]]
    # Synthetic records are nobody's.
    synthetic = release_from(given | {"mechanism": "numeric_dp"})
    made = lane.design(synthetic, numbers, KEY, bounds)
    assert len(lane.draw(synthetic, made, numbers, KEY)["exact_cells"]) == 0
