"""Collections by RRBA: what is asked, the answers, and everything that is made of them."""

import math
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest
from hypothesis import given, settings, strategies as st
from scipy import stats
from tests.rrba.collected_records import DOMAIN, some_records

from deniable.contingency.many_tables import NOTHING
from deniable.contingency.two_step import nearest_tables
from deniable.datasets.networks import FILES, drawn_file, from_resources
from deniable.files import write_table
from deniable.records.categorical import Microdata
from deniable.records.domain import Attribute, Domain
from deniable.release import key_for, release_from
from deniable.release.collection.check import check_collection, margins_of_network
from deniable.release.collection.design import (
    describe,
    design_from_json,
    design_to_json,
    in_full,
    release_design,
)
from deniable.release.collection.estimates import (
    cells_of,
    fit_in_two_steps,
    make_consistent,
    margins_apart,
)
from deniable.release.collection.independence import independence_tests
from deniable.release.made import REHEARSAL_MARK, read_made
from deniable.release.settings import CollectionRelease
from deniable.rrba.answers import estimate_tables
from deniable.rrba.collection import CollectionDesign, collect_answers

NETWORKS = Path(__file__).resolve().parents[3] / "resources" / "networks"


def release(**changes: Any) -> CollectionRelease:
    given = {"name": "small", "data": "made", "mechanism": "rrba", "p": 0.5, "rehearsal": True}
    found = release_from(given | {"block": 100} | changes)
    assert isinstance(found, CollectionRelease)
    return found


def collected(
    data: Microdata, seed: int = 1, folder: Path | str = "no file", **changes: Any
) -> tuple[CollectionDesign, pd.DataFrame, pd.DataFrame]:
    asked = release(**changes)
    design = release_design(asked, data.domain)
    draws = key_for(asked, seed, folder, data).draws("plan")
    return design, *collect_answers(design, data, draws)


# -- what is asked, and what it costs --------------------------------------------------------------


@given(
    epsilon=st.floats(0.01, 10),
    floor=st.none() | st.floats(0.01, 1),
    answers=st.sampled_from(["view", "table"]),
)
def test_an_epsilon_that_is_asked_for_is_kept(
    epsilon: float, floor: float | None, answers: str
) -> None:
    update = "uniform" if floor is None else "pooled"
    asked = release(p=None, epsilon=epsilon, floor=floor, update=update, answers=answers)
    for table in release_design(asked, DOMAIN).tables.values():
        assert epsilon * (1 - 1e-9) <= table.epsilon <= epsilon


def test_what_a_release_says_of_itself() -> None:
    data, asked = some_records(), release(update="pooled", floor=0.2)
    design = release_design(asked, DOMAIN)
    said = describe(asked, design, data)
    assert said["notice"] == REHEARSAL_MARK
    assert said["parameters"] == asked.stated()
    assert said["answers_about_a_table"] == [200, 200]
    assert said["blocks"] == 6
    assert "floor" in said["privacy"]["exact"]
    assert said["privacy"]["epsilon"] == max(map(design.client_epsilon, range(3)))
    cells = [row["cells"] for row in said["privacy"]["by_cells"]]
    assert cells == [4, 6, 8, 12]
    assert sum(row["tables"] for row in said["privacy"]["by_cells"]) == 6
    # Described from the domain and the number of records alone.
    assert describe(asked, design, some_records(seed=2)) == said


def test_a_design_is_read_as_it_was_written() -> None:
    design = release_design(release(p=0.3, size=3), DOMAIN)
    again = design_from_json(design_to_json(design, 100))
    assert again.questions == design.questions
    assert list(again.tables) == list(design.tables)
    assert [(t.cells, t.keep, t.epsilon) for t in again.tables.values()] == [
        (t.cells, t.keep, t.epsilon) for t in design.tables.values()
    ]
    assert again.domain == design.domain
    asked = [question["clients"] for question in design_to_json(design, 101)["questions"]]
    assert sum(asked) == 101
    assert max(asked) - min(asked) <= 1


# -- the answers -----------------------------------------------------------------------------------


def test_a_rehearsal_is_repeated_and_a_release_uses_no_seed(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    data = some_records()
    first, again, other = (collected(data, seed=s)[1] for s in (1, 1, 2))
    pd.testing.assert_frame_equal(first, again)
    assert (first["reports"] != other["reports"]).any()
    assert (first["reports"] != collected(data, name="other")[1]["reports"]).any()

    def refuse(*_: Any) -> None:
        raise AssertionError("a release must not be seeded")

    monkeypatch.setattr("deniable.release.keys.key_of_seed", refuse)
    drawn = [
        collected(data, seed, tmp_path / name, rehearsal=False, population="people")
        for seed, name in ((1, "one"), (1, "other"), (2, "one"))
    ]
    for one, again in zip(drawn[0][1:], drawn[2][1:], strict=True):
        pd.testing.assert_frame_equal(one, again)
    assert (drawn[0][1]["reports"] != drawn[1][1]["reports"]).any()
    assert (drawn[0][2]["question"] != drawn[1][2]["question"]).any()


# -- estimates -------------------------------------------------------------------------------------


def test_files_hold_all_that_the_next_step_needs(tmp_path: Path) -> None:
    design, collection, _ = collected(some_records(), update="pooled", floor=0.1, p=0.37)
    write_table(tmp_path / "c.csv", in_full(collection, ["p", "fake", "epsilon"]))
    again = read_made([tmp_path / "c.csv"])["c"]
    for name in ("p", "fake", "epsilon", "reports"):
        np.testing.assert_array_equal(again[name], collection[name])
    tables = estimate_tables(design, again, 600)
    consistent, _ = make_consistent(design, tables)
    write_table(tmp_path / "t.csv", in_full(consistent, ["probability"]))
    read = read_made([tmp_path / "t.csv"])["t"]
    assert margins_apart(cells_of(design, read, "probability")) <= 1e-9


@given(seed=st.integers(0, 2**32), size=st.sampled_from([2, 3]), records=st.integers(12, 60))
@settings(max_examples=15, deadline=None)
def test_consistent_tables_agree_and_are_distributions(seed: int, size: int, records: int) -> None:
    design, collection, _ = collected(some_records(records, seed), seed=seed, size=size, p=0.2)
    tables = estimate_tables(design, collection, records)
    consistent, margins = make_consistent(design, tables)
    cells = cells_of(design, consistent, "probability")
    assert margins_apart(cells) <= 1e-9
    assert min(table.min() for table in cells.values()) >= 0
    assert margins.groupby("attribute")["consistent"].sum().to_numpy() == pytest.approx(1, abs=1e-9)
    assert (margins["lowest"] <= margins["median"]).all()
    assert (margins["median"] <= margins["highest"]).all()
    assert set(margins["tables"]) == {math.comb(3, size - 1)}


def test_margins_apart_are_found() -> None:
    same = {("a", "b"): np.full((2, 2), 0.25), ("a", "c"): np.full((2, 2), 0.25)}
    assert margins_apart(same) == 0
    tilted = same | {("a", "c"): np.array([[0.3, 0.3], [0.2, 0.2]])}
    assert margins_apart(tilted) == pytest.approx(0.1, abs=1e-12)
    assert margins_apart({("a", "b"): np.full((2, 2), 0.3)}) == pytest.approx(0.2, abs=1e-12)


def test_the_two_steps_are_those_of_each_table_by_itself() -> None:
    design, collection, _ = collected(some_records(60), p=0.3)
    tables = estimate_tables(design, collection, 60)
    fitted = fit_in_two_steps(design, tables)
    assert (tables["estimate"] < 0).any()
    for each, cells in cells_of(design, tables, "estimate").items():
        nearest = nearest_tables(cells.reshape(-1), 1.0).reshape(cells.shape)
        independent = np.outer(nearest.sum(axis=1), nearest.sum(axis=0))
        np.testing.assert_allclose(cells_of(design, fitted, "nearest")[each], nearest, atol=1e-12)
        np.testing.assert_allclose(
            cells_of(design, fitted, "independent")[each], independent, atol=1e-12
        )


def test_an_attribute_of_one_category_is_no_hindrance() -> None:
    domain = Domain((*DOMAIN.attributes[:2], Attribute("k", ("all",)), Attribute("l", ("one",))))
    data = some_records(200, domain=domain)
    design, collection, _ = collected(data, p=None, epsilon=1.0)
    assert design.tables["k", "l"].epsilon == design.tables["k", "l"].claimed_epsilon == 0
    tables = estimate_tables(design, collection, 200)
    consistent, _ = make_consistent(design, tables)
    tests = independence_tests(design, collection, np.random.default_rng(1), 19)
    by_name = tests.set_index("attributes")
    assert by_name.loc["a x k", "method"] == NOTHING
    assert math.isnan(by_name.loc["a x k", "p_value_holm"])
    assert not by_name.loc["a x k", "rejected"]
    fitted = fit_in_two_steps(design, tables)
    checked = check_collection(design, data, tables, consistent, fitted, tests)
    assert checked.set_index("attributes").loc["k x l", "l2_estimate"] == pytest.approx(0)


# -- tests of independence -------------------------------------------------------------------------


# -- the truth of a rehearsal ----------------------------------------------------------------------


def test_a_rehearsal_is_held_against_the_truth() -> None:
    data = drawn_file("survey", lambda name: from_resources(name, NETWORKS))
    design, collection, _ = collected(data, p=0.8)
    tables = estimate_tables(design, collection, len(data))
    consistent, _ = make_consistent(design, tables)
    fitted = fit_in_two_steps(design, tables)
    tests = independence_tests(design, collection, np.random.default_rng(1), 99)
    margin = margins_of_network(NETWORKS / f"{FILES['survey'].network}.json")
    args = (design, data, tables, consistent, fitted, tests)
    checked = check_collection(*args, margin).set_index("attributes")
    # Age and sex of the network have no common ancestor; what people do depends on where they live.
    dependent = {frozenset(name.split(" x ")): x for name, x in checked["dependent"].items()}
    assert not dependent[frozenset("AS")]
    assert dependent[frozenset("OR")] or dependent[frozenset("ER")]
    for each, cells in cells_of(design, tables, "estimate").items():
        true = data.counts(each) / len(data)
        row = checked.loc[" x ".join(each)]
        assert row["l2_estimate"] == pytest.approx(math.sqrt(((cells - true) ** 2).sum()))
        pearson = stats.chi2_contingency(data.counts(each), correction=False)
        assert row["true_p_value"] == pytest.approx(pearson.pvalue, rel=1e-6)
        smaller = min(true.shape) - 1
        v = math.sqrt(pearson.statistic / len(data) / smaller)
        assert row["true_cramers_v"] == pytest.approx(v, rel=1e-6)
        assert 0 <= row["covered"] <= 1
        assert row["l2_nearest"] <= row["l2_estimate"] + 1e-12
    assert check_collection(*args)["dependent"].isna().all()
