"""Clients of RRBA: what they tell, what they refuse, and messages that are none."""

import math
from collections.abc import Sequence
from dataclasses import FrozenInstanceError, replace
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings, strategies as st
from scipy import special
from tests.rrba.domain import DOMAIN, PAIR
from tests.slow_variants import all_but_first

from deniable.arrays import Codes
from deniable.channels import KeepOrReplace
from deniable.errors import DataError, DeniableError
from deniable.rrba.client import Answer, BlockReport, Client, Question, Refusal
from deniable.rrba.tables import answer_epsilon, table_channel
from deniable.sampling import RandomSource

ERROR_RATE = 1e-6
UNIFORM = (1 / 6,) * 6
EVEN = (0.25,) * 4
HALF = (0.5, 0.5)


def question(**changed: Any) -> Question:
    return replace(Question(1, "x", 0.5, PAIR, (UNIFORM,)), **changed)


def client(
    values: Sequence[int] = (1, 2, 0, 0), budget: float = math.inf, name: str = "x", seed: int = 1
) -> Client:
    return Client(name, DOMAIN, values, budget, np.random.default_rng(seed))


# -- clients ---------------------------------------------------------------------------------------


@pytest.mark.parametrize("true", all_but_first([0, 5]))
def test_answers_are_drawn_from_the_row_of_the_true_cell(true: int) -> None:
    table, keep, draws = (0.05, 0.1, 0.15, 0.2, 0.2, 0.3), 0.3, 4000
    values = (*divmod(true, 3), 0, 0)
    asked = client(values)
    answers = [
        asked.answer(question(number=number, keep=keep, tables=(table,))) for number in range(draws)
    ]
    observed = np.bincount([a.cells[0] for a in answers if isinstance(a, Answer)], minlength=6)
    expected = draws * table_channel(table, keep).matrix()[true]
    statistic = float(((observed - expected) ** 2 / expected).sum())
    assert special.chdtrc(5, statistic) > ERROR_RATE


@settings(max_examples=25, deadline=None, derandomize=True)
@given(st.lists(st.tuples(st.integers(0, 1), st.integers(0, 2)), min_size=2, max_size=2))
def test_true_values_leave_through_the_channel_only(values: list[tuple[int, int]]) -> None:
    """With the channel cut, all that two different clients send and show is the same."""

    def cut(self: KeepOrReplace, codes: Codes, source: RandomSource) -> Codes:
        return np.zeros_like(codes)

    asked = [
        question(),
        question(),
        question(number=2, view=(("a", "b"), ("c", "d")), tables=(UNIFORM, (0.5, 0.5))),
        question(number=3, tables=((0.5, 0.5),)),
        question(number=4, client="y"),
        question(number=5, view=(("a", "b"), ("a", "c"))),
    ]
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(KeepOrReplace, "randomize", cut)
        clients = [client((*value, 0, 0), budget=5.0) for value in values]
        seen = [[repr([c.answer(q) for q in asked]), repr(c), c.spent] for c in clients]
    assert seen[0] == seen[1]


def test_a_question_sent_twice_has_one_answer_and_one_price() -> None:
    asked = client()
    first = asked.answer(question())
    spent = asked.spent
    assert all(asked.answer(question()) is first for _ in range(50))
    assert asked.spent == spent == answer_epsilon([UNIFORM], 0.5)
    # Another question of that number, as of another aggregator, has its own price.
    assert isinstance(asked.answer(question(keep=0.9)), Answer)
    assert asked.spent == pytest.approx(spent + answer_epsilon([UNIFORM], 0.9))


def test_a_client_asked_again_spends_the_sum_and_stops_at_its_budget() -> None:
    one = answer_epsilon([UNIFORM], 0.5)
    assert one == pytest.approx(math.log(7))
    asked = client(budget=2.5 * one)
    given = [asked.answer(question(number=number)) for number in range(4)]
    assert [type(answer) for answer in given] == [Answer, Answer, Refusal, Refusal]
    assert asked.spent == pytest.approx(2 * one)
    assert "above the budget" in given[2].reason  # type: ignore[union-attr]
    assert isinstance(client(budget=one).answer(question()), Answer)


@pytest.mark.parametrize(
    ("changed", "reason"),
    [
        ({"client": "y"}, "the question is for 'y'"),
        ({"view": (("a", "b"), ("b", "a")), "tables": (UNIFORM, UNIFORM)}, "about a table twice"),
        ({"view": (("a", "a"),)}, "a table has an attribute twice"),
        ({"tables": ()}, "differ in number"),
        ({"tables": ((0.5, 0.5),)}, "has 2 cells, not 6"),
        ({"tables": ((0.5, 0.5, 0.0, 0.0, 0.0, 0.0),)}, "epsilon infinite"),
        ({"tables": ((0.5, 0.7, -0.2, 0.0, 0.0, 0.0),)}, "negative"),
        ({"tables": ((0.5, 0.7, 0.1, 0.1, 0.1, 0.1),)}, "not to 1"),
        ({"tables": ((math.nan,) * 6,)}, "finite"),
        ({"keep": 1.0}, r"it must be in \(0, 1\)"),
        ({"view": (("a", "z"),)}, "there is no attribute 'z'"),
    ],
)
def test_a_client_refuses_what_would_harm_it(changed: dict[str, Any], reason: str) -> None:
    asked = client()
    refusal = asked.answer(question(**changed))
    assert isinstance(refusal, Refusal)
    with pytest.raises(DeniableError, match=reason):
        raise DeniableError(refusal.reason)
    assert asked.spent == 0


def test_clients_with_wrong_values_are_refused() -> None:
    with pytest.raises(DeniableError, match="3 values for 4 attributes"):
        client((0, 0, 0))
    with pytest.raises(DataError, match="attribute 'b'"):
        client((0, 3, 0, 0))
    with pytest.raises(DeniableError, match="the budget 0"):
        client(budget=0)


def test_messages_cannot_be_changed() -> None:
    with pytest.raises(FrozenInstanceError):
        question().keep = 1.0  # type: ignore[misc]


def test_an_empty_view_is_answered_with_nothing() -> None:
    answer = client().answer(question(view=(), tables=()))
    assert answer == Answer(1, "x", ())


# -- what is no report, no question ----------------------------------------------------------------


@pytest.mark.parametrize(
    ("changed", "message"),
    [
        ({"answers": (-3, 1)}, "answers.0"),
        ({"answers": (("x", -3), ("y", 1))}, "greater than or equal to 0"),
        ({"answers": (("x", 2),)}, r"a cell, 0 .. 1"),
        ({"answers": (("x", 0.0),)}, "valid integer"),
        ({"answers": (("x", 0), ("x", 1))}, "block 4 on c names the client 'x' twice"),
        ({"keep": 1.0}, r"must be in \(0, 1\)"),
        ({"table": (0.5, 0.6)}, "not to 1"),
        ({"table": (1.5, -0.5)}, "negative"),
    ],
)
def test_reports_that_would_be_counted_wrongly_are_refused(
    changed: dict[str, Any], message: str
) -> None:
    report = BlockReport(4, ("c",), 0.5, HALF, (("x", 0), ("y", 0), ("z", 1)))
    assert report.counts == (2, 1)
    with pytest.raises((DeniableError, ValueError), match=message):
        replace(report, **changed)


@pytest.mark.parametrize(
    "changed",
    [
        {"number": "1"},
        {"number": [1]},
        {"client": None},
        {"keep": "0.5"},
        {"view": None},
        {"view": ("ab",)},
        {"view": ((1, 2),)},
        {"tables": 0.25},
        {"tables": EVEN},
        {"tables": (("x",) * 4,)},
        {"tables": ([0.25] * 4,)},
        {"tables": ((10**400, 0.5, 0.5, 0.5),)},
    ],
)
def test_malformed_questions_are_refused(changed: dict[str, Any]) -> None:
    with pytest.raises(ValueError, match="for Question"):
        replace(Question(1, "c0", 0.5, PAIR, (EVEN,)), **changed)
