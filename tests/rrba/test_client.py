"""Several aggregators, clients named twice, counts and questions that are none."""

import math
from collections.abc import Callable
from dataclasses import replace
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings, strategies as st
from scipy import special

from deniable.errors import DeniableError
from deniable.records.domain import Attribute, Domain
from deniable.release.collection.estimates import Answers
from deniable.rrba.batch import sampled_blocks, split_blocks
from deniable.rrba.client import Answer, BlockReport, Client, Question
from deniable.rrba.protocol import Aggregator, Server, run_block, run_protocol
from deniable.rrba.tables import POOLED, TableState, printed_estimate
from deniable.rrba.views import View, make_views

ERROR_RATE = 1e-6
DOMAIN = Domain(tuple(Attribute(name, ("0", "1")) for name in "abcd"))
VIEWS = make_views(DOMAIN.names, 2)
PAIR = ("a", "b")
EVEN = (0.25,) * 4
HALF = (0.5, 0.5)


def crowd(size: int, prefix: str = "c", seed: int = 1) -> list[Client]:
    drawn = np.random.default_rng(seed)
    codes = drawn.integers(0, 2, (size, 4)).tolist()
    return [Client(f"{prefix}{i}", DOMAIN, row, math.inf, drawn) for i, row in enumerate(codes)]


def aggregator(*views: View, seed: int = 1) -> Aggregator:
    return Aggregator(DOMAIN, views or VIEWS, 0.5, np.random.default_rng(seed))


# -- several aggregators ---------------------------------------------------------------------------


@settings(max_examples=25, deadline=None, derandomize=True)
@given(st.lists(st.integers(0, 7), min_size=2, max_size=4), st.integers(1, 4))
def test_the_blocks_of_each_aggregator_count(sizes: list[int], block: int) -> None:
    server = Server()
    for number, size in enumerate(sizes):
        run_protocol(aggregator((PAIR,)), server, crowd(size, f"{number}."), block)
    if sum(sizes):
        assert server.answers(PAIR) == sum(sizes)
        assert server.estimate(PAIR).sum() == pytest.approx(1.0, abs=1e-9)


def test_a_client_of_two_aggregators_pays_both_and_counts_once() -> None:
    server, (asked,) = Server(), crowd(1)
    once = math.log(5)  # 1 + p m / (1 - p)
    for number, keep in enumerate((0.5, 0.25), start=1):
        asking = Aggregator(DOMAIN, [(PAIR,)], keep, np.random.default_rng(1))
        run_protocol(asking, server, [asked], 1)  # each begins with its question 1 and block 0
        assert asking.passed_over["refused"] == 0
        assert asked.spent == pytest.approx(once + (number - 1) * math.log(1 + 4 / 3))
    assert server.answers(PAIR) == 1
    assert [report.keep for report in server._of(PAIR)] == [0.5]


def test_only_the_clients_that_were_counted_are_left_out() -> None:
    # First x, y, p = 1/2; then y, z from a table (3/4, 1/4): of those z alone is new.
    server = Server()
    server.receive(BlockReport(0, ("c",), 0.5, HALF, (("x", 0), ("y", 1))))
    server.receive(BlockReport(0, ("c",), 0.5, (0.75, 0.25), (("y", 0), ("z", 0))))
    assert server.answers(("c",)) == 3
    # (2 - (2 * 1/2 + 3/4) / 2) / (3 / 2) = 3/4.
    np.testing.assert_allclose(server.estimate(("c",)), [0.75, 0.25], atol=1e-12)
    assert server.combinations == [("c",)]
    # On another combination y has not been counted.
    server.receive(BlockReport(0, ("d",), 0.5, HALF, (("y", 0),)))
    assert server.answers(("d",)) == 1


def test_aggregators_of_different_domains_are_refused() -> None:
    server = Server()
    server.receive(BlockReport(0, ("c",), 0.5, HALF, (("x", 0),)))
    with pytest.raises(DeniableError, match="on c have tables of 2 and of 3 cells"):
        server.receive(BlockReport(0, ("c",), 0.5, (0.5, 0.25, 0.25), (("y", 2),)))
    assert server.answers(("c",)) == 1


def test_each_view_is_asked_alike() -> None:
    # 3,000 clients in one block, three views: chi-squared with 2 degrees of freedom.
    asked = aggregator(seed=5).open_block([str(number) for number in range(3000)])
    counts = np.array([sum(each.view == view for each in asked) for view in VIEWS])
    assert counts.sum() == 3000
    assert special.chdtrc(2, float(((counts - 1000) ** 2 / 1000).sum())) > ERROR_RATE


# -- clients named twice ---------------------------------------------------------------------------


def test_a_client_named_twice_in_a_block_is_refused() -> None:
    asking, server, (asked,) = aggregator(), Server(), crowd(1)
    with pytest.raises(DeniableError, match="block 0 names the client 'c0' twice"):
        run_block(asking, server, {"c0": asked}, ["c0", "c0"])
    assert asked.spent == 0
    run_block(asking, server, {"c0": asked}, ["c0"])  # nothing was begun
    assert {report.block for c in server.combinations for report in server._of(c)} == {0}


def test_a_client_that_there_is_not_is_refused_before_anyone_is_asked() -> None:
    asking, (asked,) = aggregator(), crowd(1)
    with pytest.raises(DeniableError, match="there is no client 'who'"):
        run_block(asking, Server(), {"c0": asked}, ["c0", "who"])
    assert asked.spent == 0


# -- what is no count, no report, no question ------------------------------------------------------


@pytest.mark.parametrize(
    "use",
    [
        lambda counts: printed_estimate(counts, HALF, 0.5),
        lambda counts: TableState.uniform(2).updated(counts, 0.5, POOLED),
        lambda counts: split_blocks(counts, (sum(counts),), 1, np.random.default_rng(1)),
        lambda counts: sampled_blocks(HALF, counts, 1, np.random.default_rng(1)),
        lambda counts: Answers(0.5, np.array([counts]), np.array([HALF])),
    ],
)
def test_a_negative_count_is_refused(use: Callable[[Any], object]) -> None:
    with pytest.raises(DeniableError, match="there are -3 reports of a cell"):
        use((-3, 1))
    use((3, 1))


@pytest.mark.parametrize("counts", [(1.0, math.nan), (1.0, math.inf), (1, 2, 3), ("3", "1"), 3])
def test_other_counts_that_are_none_are_refused(counts: Any) -> None:
    with pytest.raises(DeniableError, match="counts"):
        printed_estimate(counts, HALF, 0.5)
    with pytest.raises(DeniableError, match="counts"):
        TableState.uniform(2).updated(counts, 0.5, POOLED)


@pytest.mark.parametrize(
    ("changed", "message"),
    [
        ({"answers": (-3, 1)}, "holds the answer -3"),
        ({"answers": (("x", -3), ("y", 1))}, r"holds the answer \('x', -3\)"),
        ({"answers": (("x", 2),)}, r"a cell, 0 .. 1"),
        ({"answers": (("x", 0.0),)}, "give pairs"),
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
    with pytest.raises(DeniableError, match=message):
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
    with pytest.raises(DeniableError, match="a malformed question"):
        replace(Question(1, "c0", 0.5, (PAIR,), (EVEN,)), **changed)


@pytest.mark.parametrize("answer", [Answer([1], "x", (0,)), Answer(1, "x", None)])  # type: ignore[arg-type, list-item]
def test_malformed_answers_are_passed_over(answer: Answer) -> None:
    asking = aggregator((PAIR,))
    asking.open_block(["x"])
    asking.receive(answer)
    assert sum(asking.passed_over.values()) == 1
    asking.receive(Answer(1, "x", (3,)))
    assert asking.close_block()[0].counts == (0, 0, 0, 1)
