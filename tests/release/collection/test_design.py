"""Collections by RRBA: what is asked, the answers, and everything that is made of them."""

import math
from fractions import Fraction
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest
from hypothesis import given, settings, strategies as st
from scipy import stats
from tests.slow_variants import all_but_first

from deniable.channels import KeepOrReplace
from deniable.contingency.independence import channel_test
from deniable.contingency.log_linear import LogLinearModel
from deniable.contingency.two_step import nearest_tables
from deniable.datasets.networks import FILES, drawn_file, exact_margin, from_resources
from deniable.errors import DeniableError
from deniable.files import write_table
from deniable.records.categorical import Microdata
from deniable.records.domain import Attribute, Domain
from deniable.release import key_for, release_from
from deniable.release.collection import independence
from deniable.release.collection.check import check_collection, depends, margins_of_network
from deniable.release.collection.design import (
    CollectionDesign,
    collect_answers,
    describe,
    design_collection,
    in_full,
    rule_of,
)
from deniable.release.collection.estimates import (
    Answers,
    answers_of,
    cells_of,
    estimate_tables,
    fit_in_two_steps,
    make_consistent,
    margins_apart,
)
from deniable.release.collection.independence import (
    LEVEL,
    MONTE_CARLO,
    NOTHING,
    benjamini_hochberg,
    independence_tests,
)
from deniable.release.made import REHEARSAL_MARK, read_made
from deniable.release.settings import CollectionRelease
from deniable.rrba.privacy import answer_epsilon, view_epsilon
from deniable.rrba.tables import TableState

NETWORKS = Path(__file__).resolve().parents[3] / "resources" / "networks"
DOMAIN = Domain(
    (
        Attribute("a", ("0", "1")),
        Attribute("b", ("x", "y", "z")),
        Attribute("c", ("no", "yes")),
        Attribute("d", ("1", "2", "3", "4")),
    )
)


def release(**changes: Any) -> CollectionRelease:
    given = {"name": "small", "data": "made", "mechanism": "rrba", "p": 0.5, "rehearsal": True}
    found = release_from(given | {"block": 100} | changes)
    assert isinstance(found, CollectionRelease)
    return found


def made(records: int = 600, seed: int = 1, domain: Domain = DOMAIN) -> Microdata:
    """Return records of which the first two attributes depend on each other."""
    drawn = np.random.default_rng(seed)
    columns = [drawn.integers(0, attribute.size, records) for attribute in domain]
    columns[1] = np.where(drawn.random(records) < 0.7, columns[0], columns[1])
    return Microdata(domain, tuple(columns), {"data_source": "original"})


def collected(
    data: Microdata, seed: int = 1, folder: Path | str = "no file", **changes: Any
) -> tuple[CollectionDesign, pd.DataFrame, pd.DataFrame]:
    asked = release(**changes)
    design = design_collection(asked, data.domain)
    draws = key_for(asked, seed, folder, data).draws("plan")
    rule = rule_of(asked.floor)
    return design, *collect_answers(design, data, draws, block=asked.block, rule=rule)


# -- what is asked, and what it costs --------------------------------------------------------------


def test_views_hold_every_table_once_and_epsilons_are_exact() -> None:
    design = design_collection(release(), DOMAIN)
    assert len(design.questions) == 3
    assert len(design.tables) == 6
    for number, question in enumerate(design.questions):
        names = [name for combination in question for name in combination]
        assert len(set(names)) == len(names) == 4
        uniform = [np.full(design.tables[c].cells, 1 / design.tables[c].cells) for c in question]
        exact = view_epsilon(uniform, 0.5)
        assert design.client_epsilon(number) == pytest.approx(exact, abs=1e-15)
        assert design.client_epsilon(number) >= exact - 1e-15
    # ln(1 + p m / (1 - p)): 5, 7, 9 and 13 at p = 1/2.
    for table in design.tables.values():
        assert table.epsilon == pytest.approx(math.log(1 + table.cells), abs=1e-15)
        assert math.exp(table.epsilon) >= 1 + table.cells - 1e-13
        assert table.claimed_epsilon == pytest.approx(math.log(2), abs=1e-15)


def test_one_table_each_costs_one_answer() -> None:
    design = design_collection(release(answers="table"), DOMAIN)
    assert sorted(design.questions) == sorted((each,) for each in design.tables)
    for number, (combination,) in enumerate(design.questions):
        assert design.client_epsilon(number) == design.tables[combination].epsilon


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
    for table in design_collection(asked, DOMAIN).tables.values():
        assert epsilon * (1 - 1e-9) <= table.epsilon <= epsilon


def test_what_a_release_says_of_itself() -> None:
    data, asked = made(), release(update="pooled", floor=0.2)
    design = design_collection(asked, DOMAIN)
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
    assert describe(asked, design, made(seed=2)) == said


def test_a_design_is_read_as_it_was_written() -> None:
    design = design_collection(release(p=0.3, size=3), DOMAIN)
    again = CollectionDesign.from_json(design.to_json(100))
    assert again.questions == design.questions
    assert list(again.tables) == list(design.tables)
    assert [vars(t) for t in again.tables.values()] == [vars(t) for t in design.tables.values()]
    assert again.domain == design.domain
    asked = [question["clients"] for question in design.to_json(101)["questions"]]
    assert sum(asked) == 101
    assert max(asked) - min(asked) <= 1


# -- the answers -----------------------------------------------------------------------------------


@pytest.mark.parametrize("answers", ["view", "table"])
@pytest.mark.parametrize("block", [7, 100, 10_000])
def test_every_client_is_asked_once(answers: str, block: int) -> None:
    data = made(103)
    design, collection, clients = collected(data, answers=answers, block=block)
    assert clients["client"].tolist() == list(range(1, 104))
    sizes = clients["block"].value_counts()
    assert sizes.max() == min(block, 103)
    assert len(sizes) == -(-103 // block)
    asked = clients["question"].value_counts().reindex(range(1, len(design.questions) + 1))
    assert asked.tolist() == design.clients(103)
    reports = collection.groupby("attributes")["reports"].sum()
    assert {tuple(k.split(" x ")): n for k, n in reports.items()} == design.answers(103)
    # Of each block and table no more answers than clients who were asked.
    place = {each: i + 1 for i, view in enumerate(design.questions) for each in view}
    for (attributes, block_number), rows in collection.groupby(["attributes", "block"]):
        question = place[tuple(attributes.split(" x "))]
        same = (clients["block"] == block_number) & (clients["question"] == question)
        assert rows["reports"].sum() == same.sum() > 0
        assert rows["categories"].tolist() == DOMAIN.project(attributes.split(" x ")).cell_labels()


def test_a_rehearsal_is_repeated_and_a_release_uses_no_seed(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    data = made()
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


def test_answers_come_through_channels_alone(monkeypatch: pytest.MonkeyPatch) -> None:
    # With a channel that says always the same, nothing of the records is left.
    monkeypatch.setattr(KeepOrReplace, "randomize_keyed", lambda _, codes, __: np.zeros_like(codes))
    one, other = (collected(made(seed=seed), update="pooled", floor=0.5) for seed in (1, 2))
    pd.testing.assert_frame_equal(one[1], other[1])
    pd.testing.assert_frame_equal(one[2], other[2])


def test_reports_have_the_distribution_of_the_channel() -> None:
    # All clients alike: reports of a table are multinomial with one row of its channel.
    codes = (np.full(20_000, 1), np.full(20_000, 2), np.full(20_000, 0), np.full(20_000, 3))
    _, collection, _ = collected(Microdata(DOMAIN, codes), seed=3, p=0.4, block=5_000)
    for attributes, rows in collection.groupby("attributes"):
        counts = rows.groupby("categories", sort=False)["reports"].sum().to_numpy()
        names = attributes.split(" x ")
        true = ["1", "z", "no", "4"]
        own = [true[DOMAIN.position(name)] for name in names]
        expected = np.full(counts.size, 0.6 / counts.size)
        expected[DOMAIN.project(names).cell_labels().index(" x ".join(own))] += 0.4
        # 6 tables, an error rate of 1e-6 each.
        assert stats.chisquare(counts, expected * counts.sum()).pvalue > 1e-6


def test_pooled_tables_follow_the_reports_before_and_keep_to_the_floor() -> None:
    design, collection, _ = collected(made(), update="pooled", floor=0.3, block=60, p=0.6)
    for combination, answers in answers_of(design, collection).items():
        state = TableState.uniform(design.tables[combination].cells)
        for reports, sent in zip(answers.reports, answers.fake, strict=True):
            np.testing.assert_array_equal(state.table, sent)
            state = state.updated(reports, 0.6, rule_of(0.3))
            guaranteed = design.tables[combination].epsilon
            assert answer_epsilon(sent, 0.6) <= guaranteed
        np.testing.assert_allclose(answers.estimate(), state.estimate(0.6), atol=1e-12)
    stated = collection.groupby(["attributes", "block"])["epsilon"].agg(["min", "max"])
    assert (stated["min"] == stated["max"]).all()


def test_too_few_clients_are_refused() -> None:
    with pytest.raises(DeniableError, match="2 clients for 3 questions"):
        collected(made(2))


# -- estimates -------------------------------------------------------------------------------------


def test_an_estimate_and_its_errors_worked_by_hand() -> None:
    # p = 1/2; two blocks with the tables (1/2, 1/2) and (3/4, 1/4).
    answers = Answers(0.5, np.array([[3, 1], [3, 3]]), np.array([[0.5, 0.5], [0.75, 0.25]]))
    # o / n = 6/10, q = (4 * 1/2 + 6 * 3/4) / 10 = 13/20; (6/10 - 13/40) / (1/2) = 11/20.
    pi, q = Fraction(11, 20), Fraction(13, 20)
    assert answers.average_fake[0] == pytest.approx(float(q), abs=1e-12)
    np.testing.assert_allclose(answers.estimate(), [0.55, 0.45], atol=1e-12)
    half = Fraction(1, 2)
    blocks = [(4, half * (pi + half)), (6, half * (pi + Fraction(3, 4)))]
    variance = sum(n * x * (1 - x) for n, x in blocks) / (half * 10) ** 2
    found = answers.standard_errors()
    assert found[0] == pytest.approx(math.sqrt(variance), abs=1e-12)
    # All of 10 clients asked: the file is no sample, what pi (1 - pi) / 10 adds is not there.
    within = variance - pi * (1 - pi) / 10
    assert answers.standard_errors(10)[0] == pytest.approx(math.sqrt(within), abs=1e-12)
    part = variance - pi * (1 - pi) / 10 * Fraction(9, 99)
    assert answers.standard_errors(100)[0] == pytest.approx(math.sqrt(part), abs=1e-12)


@pytest.mark.parametrize("changes", all_but_first([{}, {"update": "pooled", "floor": 0.3}]))
def test_estimates_are_unbiased_with_the_errors_that_are_stated(changes: dict[str, Any]) -> None:
    data = made(300).project(["a", "b", "c"])
    true = np.concatenate([(data.counts(c) / 300).reshape(-1) for c in ("ab", "ac", "bc")])
    found = []
    for seed in range(200):
        design, collection, _ = collected(data, seed=seed, p=0.6, **changes)
        table = estimate_tables(design, collection, 300).set_index("attributes")
        found.append(table.loc[["a x b", "a x c", "b x c"]])
    estimates = np.array([each["estimate"] for each in found])
    errors = np.array([each["standard_error_file"] for each in found])
    z = (estimates.mean(axis=0) - true) / (estimates.std(axis=0, ddof=1) / math.sqrt(200))
    assert np.abs(z).max() < 5.5  # 16 cells, an error rate of 1e-6 in all
    # The variance of a variance from 200 runs: 10 %, 4 deviations, and the plug-in's own.
    ratio = estimates.var(axis=0, ddof=1) / np.mean(errors**2, axis=0)
    assert np.all((ratio > 0.6) & (ratio < 1.5))


def test_files_hold_all_that_the_next_step_needs(tmp_path: Path) -> None:
    design, collection, _ = collected(made(), update="pooled", floor=0.1, p=0.37)
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
    design, collection, _ = collected(made(records, seed), seed=seed, size=size, p=0.2)
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
    design, collection, _ = collected(made(60), p=0.3)
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


def test_a_damaged_collection_is_refused() -> None:
    design, collection, _ = collected(made())
    with pytest.raises(DeniableError, match="no whole table of a x b"):
        answers_of(design, collection[collection["attributes"] != "a x b"])
    with pytest.raises(DeniableError, match="no whole table"):
        answers_of(design, collection.iloc[1:])


def test_an_attribute_of_one_category_is_no_hindrance() -> None:
    domain = Domain((*DOMAIN.attributes[:2], Attribute("k", ("all",)), Attribute("l", ("one",))))
    data = made(200, domain=domain)
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


def test_rounding_does_not_decide_after_an_adjustment(monkeypatch: pytest.MonkeyPatch) -> None:
    # 17 of 25 p-values are 34/1000: 25/17 of that is 1/20, in floats a little more.
    adjusted = benjamini_hochberg([34 / 1000] * 17 + [0.9] * 8)[0]
    assert LEVEL < adjusted < LEVEL + 1e-15
    monkeypatch.setattr(independence, "holm", lambda p_values: np.full(len(p_values), adjusted))
    design, collection, _ = collected(made())
    found = independence_tests(design, collection, np.random.default_rng(1), 19)
    assert found["rejected_holm"].all()


def test_each_table_is_tested_with_its_channel() -> None:
    design, collection, _ = collected(made(30_000), block=10_000)
    tests = independence_tests(design, collection, np.random.default_rng(1)).set_index("attributes")
    assert tests["valid"].all()
    assert set(tests["method"]) == {"chi-squared"}
    assert tests.loc["a x b", "rejected_holm"]
    assert tests["rejected"].sum() <= 3
    for each, answers in answers_of(design, collection).items():
        shape = design.domain.project(each).shape
        channel = KeepOrReplace.uniform(math.prod(shape), 0.5)
        found = channel_test(
            answers.reports.sum(axis=0), channel, LogLinearModel.independence(shape)
        )
        row = tests.loc[" x ".join(each)]
        assert row["statistic"] == pytest.approx(float(found.statistic), rel=1e-9)
        assert row["p_value"] == pytest.approx(float(found.p_value), rel=1e-9)
        assert row["degrees_of_freedom"] == found.degrees_of_freedom


def test_the_least_monte_carlo_p_values_are_made_again_with_more_tables() -> None:
    drawn = np.random.default_rng(1)
    first = (drawn.random(2000) < 0.02).astype(int)
    domain = Domain(tuple(Attribute(name, ("0", "1")) for name in "abc"))
    data = Microdata(domain, (first, first, (drawn.random(2000) < 0.02).astype(int)))
    design, collection, _ = collected(data, p=0.99, block=5000)
    tests = independence_tests(design, collection, np.random.default_rng(1), 9)
    again = tests.set_index("attributes").loc["a x b"]
    # 3 tests / .05
    assert again["method"] == f"{MONTE_CARLO}, 60 tables"
    assert again["p_value"] == pytest.approx(1 / 61)
    assert again["rejected_holm"]
    assert "Monte Carlo, 9 tables" in set(tests["method"])


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


def test_dependence_of_exact_distributions() -> None:
    assert not depends(np.outer([0.2, 0.8], [0.5, 0.3, 0.2]))
    assert depends(np.array([[0.25, 0.25], [0.2, 0.3]]))
    network = from_resources("survey", NETWORKS)
    assert depends(exact_margin(network, ("A", "E")))
