"""Collections of tables: questions and their epsilons, answers through channels, estimates."""

import math
from fractions import Fraction
from functools import partial
from typing import Any

import numpy as np
import pandas as pd
import pytest
from hypothesis import given, strategies as st
from scipy import stats
from tests.rrba.collected_records import DOMAIN, estimate_tables, some_records
from tests.slow_variants import all_but_first

from deniable.channels import KeepOrReplace
from deniable.errors import DeniableError
from deniable.records.categorical import Microdata
from deniable.rrba.collection import TableAnswers, answers_by_table, collect_answers
from deniable.rrba.questions import (
    CollectedTable,
    CollectionDesign,
    design_collection,
    keep_for_record,
)
from deniable.rrba.tables import TableState, answer_epsilon
from deniable.sampling.keyed import KeyedDraws


def design_of(
    domain: Any = DOMAIN, p: float = 0.5, size: int = 2, answers: Any = "view", **rest: Any
) -> CollectionDesign:
    return design_collection(domain, size, answers, lambda _: p, **({"block": 100} | rest))


def collected(
    data: Microdata, seed: int = 1, **changes: Any
) -> tuple[CollectionDesign, pd.DataFrame, pd.DataFrame]:
    design = design_of(data.domain, **changes)
    draws = KeyedDraws(seed.to_bytes(32, "big"), b"plan")
    return design, *collect_answers(design, data, draws)


# -- questions, and their epsilons -----------------------------------------------------------------


def test_views_hold_every_table_once_and_epsilons_are_exact() -> None:
    design = design_of()
    assert len(design.questions) == 3
    assert len(design.tables) == 6
    for number, question in enumerate(design.questions):
        names = [name for combination in question for name in combination]
        assert len(set(names)) == len(names) == 4
        uniform = [np.full(design.tables[c].cells, 1 / design.tables[c].cells) for c in question]
        exact = answer_epsilon(uniform, 0.5)
        assert design.client_epsilon(number) == pytest.approx(exact, abs=1e-15)
        assert design.client_epsilon(number) >= exact - 1e-15
    # ln(1 + p m / (1 - p)): 5, 7, 9 and 13 at p = 1/2.
    for table in design.tables.values():
        assert table.epsilon == pytest.approx(math.log(1 + table.cells), abs=1e-15)
        assert math.exp(table.epsilon) >= 1 + table.cells - 1e-13
        assert table.claimed_epsilon == pytest.approx(math.log(2), abs=1e-15)


def test_a_client_that_answers_about_one_table_uses_the_epsilon_of_one_answer() -> None:
    design = design_of(answers="table")
    assert sorted(design.questions) == sorted((each,) for each in design.tables)
    for number, (combination,) in enumerate(design.questions):
        assert design.client_epsilon(number) == design.tables[combination].epsilon


@given(
    epsilon=st.floats(0.01, 10),
    floor=st.none() | st.floats(0.01, 1),
    answers=st.sampled_from(["view", "table", "all"]),
)
def test_a_requested_epsilon_of_a_record_is_met_and_never_exceeded(
    epsilon: float, floor: float | None, answers: Any
) -> None:
    keep_of = partial(keep_for_record, epsilon=epsilon, floor=floor)
    design = design_collection(DOMAIN, 2, answers, keep_of, floor)
    for number in range(len(design.questions)):
        assert epsilon * (1 - 1e-9) <= design.client_epsilon(number) <= epsilon


TABLE = CollectedTable(("a", "b"), 6, 0.5)
BAD_DESIGNS: dict[str, tuple[Any, str]] = {
    "a table twice": (
        lambda: CollectionDesign(DOMAIN, ((("a", "b"), ("a", "b")),), {("a", "b"): TABLE}),
        "name each table once",
    ),
    "no table": (lambda: CollectionDesign(DOMAIN, ((),), {}), "the question about nothing"),
    "another number of cells": (
        lambda: CollectionDesign(DOMAIN, ((("a", "c"),),), {("a", "c"): TABLE}),
        "has 4 cells, not 6",
    ),
    "no clients in a block": (lambda: design_of(block=0), "blocks of 0 clients"),
    "no probability": (lambda: design_of(p=1.0), "must be in"),
    "no floor": (lambda: design_of(floor=0.0), "above 0 and at most 1"),
    "larger than the record": (lambda: design_of(size=5), "k must be"),
    "fewer clients than questions": (lambda: collected(some_records(2)), "2 clients for 3"),
}


@pytest.mark.parametrize(("make", "words"), BAD_DESIGNS.values(), ids=BAD_DESIGNS)
def test_impossible_collections_are_refused(make: Any, words: str) -> None:
    with pytest.raises(DeniableError, match=words):
        make()


# -- the answers -----------------------------------------------------------------------------------


@pytest.mark.parametrize("answers", ["view", "table"])
@pytest.mark.parametrize("block", [7, 100, 10_000])
def test_every_client_receives_one_question(answers: str, block: int) -> None:
    design, found, clients = collected(some_records(103), answers=answers, block=block)
    assert clients["client"].tolist() == list(range(1, 104))
    sizes = clients["block"].value_counts()
    assert sizes.max() == min(block, 103)
    assert len(sizes) == -(-103 // block)
    received = clients["question"].value_counts().reindex(range(1, len(design.questions) + 1))
    assert received.sum() == 103
    assert received.max() - received.min() <= 1
    assert received.tolist() == sorted(received, reverse=True)  # the first have one more
    reports = found.groupby("attributes")["reports"].sum()
    for question, number in zip(design.questions, received, strict=True):
        assert all(reports[" x ".join(table)] == number for table in question)
    # Each block and table has as many answers as clients that received the question.
    place = {each: i + 1 for i, view in enumerate(design.questions) for each in view}
    for (attributes, number), rows in found.groupby(["attributes", "block"]):
        question = place[tuple(attributes.split(" x "))]
        same = (clients["block"] == number) & (clients["question"] == question)
        assert rows["reports"].sum() == same.sum() > 0
        assert rows["categories"].tolist() == DOMAIN.project(attributes.split(" x ")).cell_labels()


def test_a_part_of_the_records_answers_as_in_the_whole_file() -> None:
    data, design = some_records(), design_of(block=1000)
    records, draws = np.arange(0, 600, 2), KeyedDraws(bytes(32), b"plan")
    half = Microdata(DOMAIN, tuple(data.column(name)[records] for name in DOMAIN.names))
    answers, clients = collect_answers(design, half, draws, records)
    assert clients["client"].tolist() == (records + 1).tolist()
    assert answers.groupby("attributes")["reports"].sum().sum() == 2 * 300
    again, _ = collect_answers(design, half, draws, records)
    pd.testing.assert_frame_equal(answers, again)


def test_answers_come_through_channels_alone(monkeypatch: pytest.MonkeyPatch) -> None:
    # A channel that always returns the same cell removes all information on the records.
    monkeypatch.setattr(KeepOrReplace, "randomize_keyed", lambda _, codes, __: np.zeros_like(codes))
    one, other = (collected(some_records(seed=seed), floor=0.5) for seed in (1, 2))
    pd.testing.assert_frame_equal(one[1], other[1])
    pd.testing.assert_frame_equal(one[2], other[2])


def test_reports_have_the_distribution_of_the_channel() -> None:
    # All clients are equal: the reports of a table are multinomial with one row of its channel.
    codes = (np.full(20_000, 1), np.full(20_000, 2), np.full(20_000, 0), np.full(20_000, 3))
    _, found, _ = collected(Microdata(DOMAIN, codes), seed=3, p=0.4, block=5_000)
    for attributes, rows in found.groupby("attributes"):
        counts = rows.groupby("categories", sort=False)["reports"].sum().to_numpy()
        names = attributes.split(" x ")
        true = ["1", "z", "no", "4"]
        own = [true[DOMAIN.position(name)] for name in names]
        expected = np.full(counts.size, 0.6 / counts.size)
        expected[DOMAIN.project(names).cell_labels().index(" x ".join(own))] += 0.4
        # 6 tables, an error rate of 1e-6 each.
        assert stats.chisquare(counts, expected * counts.sum()).pvalue > 1e-6


def test_pooled_tables_follow_the_reports_before_and_keep_to_the_floor() -> None:
    design, found, _ = collected(some_records(), floor=0.3, block=60, p=0.6)
    for combination, answers in answers_by_table(design, found).items():
        state = TableState.uniform(design.tables[combination].cells)
        for reports, sent in zip(answers.reports, answers.fake, strict=True):
            np.testing.assert_array_equal(state.table, sent)
            state = state.updated(reports, 0.6, design.rule)
            assert answer_epsilon([sent], 0.6) <= design.tables[combination].epsilon
        np.testing.assert_allclose(answers.estimate(), state.estimate(0.6), atol=1e-12)
    stated = found.groupby(["attributes", "block"])["epsilon"].agg(["min", "max"])
    assert (stated["min"] == stated["max"]).all()


# -- estimates -------------------------------------------------------------------------------------


def test_an_estimate_and_its_errors_worked_by_hand() -> None:
    # p = 1/2; two blocks with the tables (1/2, 1/2) and (3/4, 1/4).
    answers = TableAnswers(0.5, np.array([[3, 1], [3, 3]]), np.array([[0.5, 0.5], [0.75, 0.25]]))
    # o / n = 6/10, q = (4 * 1/2 + 6 * 3/4) / 10 = 13/20; (6/10 - 13/40) / (1/2) = 11/20.
    pi, q = Fraction(11, 20), Fraction(13, 20)
    assert answers.average_fake[0] == pytest.approx(float(q), abs=1e-12)
    np.testing.assert_allclose(answers.estimate(), [0.55, 0.45], atol=1e-12)
    half = Fraction(1, 2)
    blocks = [(4, half * (pi + half)), (6, half * (pi + Fraction(3, 4)))]
    variance = sum(n * x * (1 - x) for n, x in blocks) / (half * 10) ** 2
    found = answers.standard_errors()
    assert found[0] == pytest.approx(math.sqrt(variance), abs=1e-12)
    # All of 10 clients answer: the file is not a sample, and pi (1 - pi) / 10 is subtracted.
    within = variance - pi * (1 - pi) / 10
    assert answers.standard_errors(10)[0] == pytest.approx(math.sqrt(within), abs=1e-12)
    part = variance - pi * (1 - pi) / 10 * Fraction(9, 99)
    assert answers.standard_errors(100)[0] == pytest.approx(math.sqrt(part), abs=1e-12)


@pytest.mark.parametrize("changes", all_but_first([{}, {"floor": 0.3}]))
def test_estimates_are_unbiased_with_the_errors_that_are_stated(changes: dict[str, Any]) -> None:
    data = some_records(300).project(["a", "b", "c"])
    true = np.concatenate([(data.counts(c) / 300).reshape(-1) for c in ("ab", "ac", "bc")])
    found = []
    for seed in range(200):
        design, answers, _ = collected(data, seed=seed, p=0.6, **changes)
        table = estimate_tables(design, answers, 300).set_index("attributes")
        found.append(table.loc[["a x b", "a x c", "b x c"]])
    estimates = np.array([each["estimate"] for each in found])
    errors = np.array([each["standard_error_file"] for each in found])
    z = (estimates.mean(axis=0) - true) / (estimates.std(axis=0, ddof=1) / math.sqrt(200))
    assert np.abs(z).max() < 5.5  # 16 cells, an error rate of 1e-6 in all
    # The variance of a variance from 200 runs: 10 %, 4 deviations, and the plug-in's own.
    ratio = estimates.var(axis=0, ddof=1) / np.mean(errors**2, axis=0)
    assert np.all((ratio > 0.6) & (ratio < 1.5))


def test_a_damaged_collection_is_refused() -> None:
    design, answers, _ = collected(some_records())
    with pytest.raises(DeniableError, match="no complete table of a x b"):
        answers_by_table(design, answers[answers["attributes"] != "a x b"])
    with pytest.raises(DeniableError, match="no complete table"):
        answers_by_table(design, answers.iloc[1:])
