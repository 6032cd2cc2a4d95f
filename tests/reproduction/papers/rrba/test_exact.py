"""Worked cases of [rrba], in exact fractions."""

from fractions import Fraction

import numpy as np
import pytest

from deniable.channels import KeepOrReplace
from deniable.contingency import Independence, nearest_tables, two_step_estimate
from deniable.rrba.questions import make_views
from deniable.rrba.tables import answer_epsilon, claimed_epsilon

from reproduction.papers.rrba.exact import (
    PRINTED_TABLE_B,
    PRINTED_TABLE_C,
    estimate_from_two_coins,
    example_records,
    independent,
    projected,
    two_coins,
    worked_cases,
)


def test_the_table_of_the_records_is_not_the_printed_one() -> None:
    counts = example_records().counts(("R", "E"))
    assert counts.tolist() == [[2, 1], [3, 2]]
    assert PRINTED_TABLE_B == (2, 2, 4, 2)
    assert counts.sum() == 8
    assert sum(PRINTED_TABLE_B) == 10


def test_the_printed_margin_is_that_of_the_printed_table() -> None:
    regions = np.reshape(PRINTED_TABLE_B, (2, 2)).sum(axis=1)
    assert tuple(regions) == PRINTED_TABLE_C
    assert example_records().counts(("R",)).tolist() == [3, 5]


def test_the_running_example_has_five_views_of_three_pairs() -> None:
    views = make_views(example_records().domain.names, 2)
    assert [len(view) for view in views] == [3] * 5


@pytest.mark.parametrize("truth", [Fraction(0), Fraction(1, 3), Fraction(7, 10), Fraction(1)])
def test_two_coins_are_unbiased(truth: Fraction) -> None:
    assert estimate_from_two_coins(two_coins(truth)) == truth
    # Right 75 % of the time: when the first coin is heads, and half of the other times.
    assert Fraction(1, 2) + Fraction(1, 4) == Fraction(3, 4)


def test_two_coins_are_the_channel_with_p_one_half_and_a_uniform_table() -> None:
    channel = KeepOrReplace.uniform(2, keep=0.5)
    assert channel.matrix().tolist() == [[0.75, 0.25], [0.25, 0.75]]
    assert float(two_coins(Fraction(3, 10))) == pytest.approx(channel.reported([0.3, 0.7])[0])
    assert channel.parity == 3.0  # the text's own ln 3, which Theorem 4.1 would make ln 2
    assert answer_epsilon([[0.5, 0.5]], 0.5) == pytest.approx(1.0986122886681098, abs=1e-15)
    assert claimed_epsilon(0.5) == pytest.approx(0.6931471805599453, abs=1e-15)


def test_worked_cases_differ_where_the_text_does_not_add_up() -> None:
    table = worked_cases()
    differs = table.loc[table["verdict"] == "differs", ["case", "quantity"]]
    assert list(differs["quantity"]) == [
        "exp of the epsilon claimed at p = 1/2",
        "records big, uni",
        "records small, high",
        "records big",
        "records small",
        "records in all",
        "views of 6 attributes, as Algorithm 1 makes them",
    ]
    assert (table["verdict"] == "agrees").sum() == 7  # of 14: what is worked out here has none
    estimates = table[table["quantity"].str.contains(", reported |say Yes truly")]
    assert (estimates["verdict"] == "not published").all()
    truths = estimates["quantity"].str.extract(r"(?:true|where) (\d+(?:/\d+)?)")[0]
    assert [Fraction(x) for x in truths] == [Fraction(x) for x in estimates["exact"]]
    exact = table[table["exact"].str.fullmatch(r"-?\d+(/\d+)?")]
    values = [float(Fraction(text)) for text in exact["exact"]]
    np.testing.assert_allclose(exact["value"], values, atol=1e-12)
    assert (table.loc[table["quantity"].str.contains("gamma"), "value"] == 0).all()


def test_fractions_of_the_two_steps_are_those_of_the_library() -> None:
    for noisy, total in (((6, -2, 2, 2), 8), ((5, 5, -1, -1), 8), ((1, 2, 3, 4), 4)):
        nearest = projected(noisy, total)
        assert sum(nearest) == total
        np.testing.assert_allclose(
            nearest_tables(list(noisy), total), [float(x) for x in nearest], atol=1e-12
        )
        model = Independence((2, 2))
        _, fitted = two_step_estimate(list(noisy), total, model)
        np.testing.assert_allclose(fitted, [float(x) for x in independent(nearest)], atol=1e-9)
