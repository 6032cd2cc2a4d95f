"""The protocol of RRBA: lost, doubled and odd messages, sizes, several aggregators."""

import math
from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings, strategies as st
from scipy import special
from tests.rrba.domain import DOMAIN, PAIR

from deniable.errors import DeniableError
from deniable.records.domain import Attribute, Domain
from deniable.rrba.client import Answer, BlockReport, Client, Refusal
from deniable.rrba.protocol import Aggregator, Server, run_rrba
from deniable.rrba.questions import Combination, View, make_views
from deniable.rrba.tables import POOLED, PRINTED, PRINTED_FIRST_VERSION, Rule, table_channel
from deniable.sampling import SystemRandomSource

ERROR_RATE = 1e-6
BINARY = Domain(tuple(Attribute(name, ("0", "1")) for name in "abcd"))
VIEWS = make_views(BINARY.names, 2)
HALF = (0.5, 0.5)


def crowd(size: int, seed: int = 1, budget: float = math.inf) -> list[Client]:
    generator = np.random.default_rng(seed)
    return [
        Client(
            f"c{number}",
            DOMAIN,
            [int(generator.integers(attribute.size)) for attribute in DOMAIN],
            budget,
            generator,
        )
        for number in range(size)
    ]


def answers_of(server: Server, combination: Combination) -> int:
    return sum(len(report.answers) for report in server._reports.get(combination, []))


def aggregator(rule: Rule = POOLED, keep: float = 0.5, seed: int = 2) -> Aggregator:
    views = make_views(DOMAIN.names, 2)
    return Aggregator(DOMAIN, views, keep, np.random.default_rng(seed), rule)


# -- faults ----------------------------------------------------------------------------------------


class Network:
    """Loses, doubles and shuffles messages as it is told."""

    def __init__(self, copies: Sequence[int], seed: int) -> None:
        self.copies = copies
        self.generator = np.random.default_rng(seed)

    def __call__(self, messages: Sequence[Any]) -> list[Any]:
        times = [self.copies[number % len(self.copies)] for number in range(len(messages))]
        sent = [message for message, n in zip(messages, times, strict=True) for _ in range(n)]
        return [sent[place] for place in self.generator.permutation(len(sent))]


def run_block(
    asking: Aggregator,
    server: Server,
    clients: Mapping[str, Client],
    names: Sequence[str],
    *,
    deliver: Callable[[Sequence[Any]], Sequence[Any]] = list,
    deliver_back: Callable[[Sequence[Any]], Sequence[Any]] = list,
) -> None:
    """Run a block over a network that returns the messages that arrive, to clients and back."""
    questions = deliver(asking.open_block(names))
    for answer in deliver_back([clients[each.client].answer(each) for each in questions]):
        asking.receive(answer)
    for report in asking.close_block():
        server.receive(report)


copies = st.lists(st.integers(0, 3), min_size=1, max_size=5)
rules = st.sampled_from([POOLED, PRINTED, PRINTED_FIRST_VERSION, Rule("none")])


@settings(max_examples=60, deadline=None, derandomize=True)
@given(
    st.lists(st.integers(0, 9), min_size=1, max_size=4), copies, copies, rules, st.integers(0, 99)
)
def test_lost_and_doubled_messages(
    sizes: list[int], out: list[int], back: list[int], rule: Rule, seed: int
) -> None:
    asking, server, clients = aggregator(rule), Server(), {}
    arrived: Counter[str] = Counter()
    for block, size in enumerate(sizes):
        for each in crowd(size, seed):
            each.name = f"{block}.{each.name}"
            clients[each.name] = each
        there, home = Network(out, seed), Network(back, seed + 1)

        def note(answers: Sequence[Answer | Refusal], home: Network = home) -> list[Any]:
            delivered = home(answers)
            arrived.update({a.client for a in delivered if isinstance(a, Answer)})
            return delivered

        names = [name for name in clients if name.startswith(f"{block}.")]
        run_block(asking, server, clients, names, deliver=there, deliver_back=note)
    # Every client of whom an answer arrived counts once, whatever was doubled; no other counts.
    views = asking.views
    counted = sum(answers_of(server, c) for c in list(server._reports))
    assert counted == len(arrived) * len(views[0])
    assert len({len(view) for view in views}) == 1
    lost = sum(sizes) - len(arrived)
    assert asking.passed_over["no answer"] + asking.passed_over["refused"] == lost
    for combination in list(server._reports):
        assert server.estimate(combination).sum() == pytest.approx(1.0, abs=1e-9)


@settings(max_examples=30, deadline=None, derandomize=True)
@given(st.integers(1, 12), st.integers(0, 99))
def test_losses_that_do_not_look_at_values_leave_estimates_unbiased(size: int, seed: int) -> None:
    # The estimate is a function of the answers that came: the same as if only those were asked.
    asking, server = aggregator(seed=seed), Server()
    clients = {each.name: each for each in crowd(size, seed)}
    run_block(asking, server, clients, list(clients), deliver_back=Network([1, 0], seed))
    for combination in list(server._reports):
        (report,) = server._reports[combination]
        expected = table_channel(report.table, 0.5).estimate(report.counts)
        np.testing.assert_allclose(server.estimate(combination), expected, atol=1e-9)


@settings(deadline=None, derandomize=True)
@given(st.lists(st.integers(0, 5), min_size=2, max_size=6))
def test_of_a_client_that_answers_twice_the_first_answer_counts(cells: list[int]) -> None:
    asking = Aggregator(DOMAIN, [PAIR], 0.5, np.random.default_rng(1))
    (asked,) = asking.open_block(["x"])
    for cell in cells:
        asking.receive(Answer(asked.number, "x", (cell,)))
    (report,) = asking.close_block()
    assert report.counts == tuple(np.eye(6, dtype=int)[cells[0]].tolist())
    assert asking.passed_over["late or doubled"] == len(cells) - 1
    asking.receive(Answer(asked.number, "x", (0,)))  # after the block
    assert asking.passed_over["late or doubled"] == len(cells)


@pytest.mark.parametrize(
    ("message", "reason"),
    [
        (Answer(1, "y", (0,)), "from another client"),
        (Answer(2, "x", (0,)), "to no question"),
        (Answer(0, "x", (0,)), "to no question"),
        (Answer(1, "x", (6,)), "malformed"),
        (Answer(1, "x", (0, 0)), "malformed"),
        (Answer(1, "x", ()), "malformed"),
        (Refusal(1, "x", "no"), "refused"),
    ],
)
def test_odd_messages_are_passed_over(message: Answer | Refusal, reason: str) -> None:
    asking = Aggregator(DOMAIN, [PAIR], 0.5, np.random.default_rng(1))
    asking.open_block(["x"])
    asking.receive(message)
    assert asking.passed_over == {reason: 1}
    if reason != "refused":  # the true answer still counts
        asking.receive(Answer(1, "x", (3,)))
        assert asking.close_block()[0].counts[3] == 1
    else:
        assert asking.close_block() == []


@pytest.mark.parametrize(
    ("question", "cells"),
    [([1], (0,)), (True, (0,)), (1, None), (1, (-1,)), (1, (0.5,)), (1, [0])],
)
def test_malformed_answers_are_refused(question: Any, cells: Any) -> None:
    with pytest.raises(ValueError, match="for Answer"):
        Answer(question, "x", cells)


@pytest.mark.parametrize("rule", [POOLED, PRINTED, PRINTED_FIRST_VERSION])
def test_an_empty_block_changes_no_table(rule: Rule) -> None:
    asking, server = aggregator(rule), Server()
    run_rrba(asking, server, crowd(12), 4)
    before = {c: asking.states[c].table.copy() for view in asking.views for c in view}
    reported = len(server._reports)
    run_block(asking, server, {}, [])
    for combination, table in before.items():
        np.testing.assert_array_equal(asking.states[combination].table, table)
    assert len(server._reports) == reported


def test_a_block_in_which_all_is_lost_is_an_empty_one() -> None:
    asking, server = aggregator(), Server()
    clients = {each.name: each for each in crowd(5)}
    run_block(asking, server, clients, list(clients), deliver=lambda _: [])
    assert asking.passed_over["no answer"] == 5
    assert list(server._reports) == []
    with pytest.raises(DeniableError, match="no answers came for a, b"):
        server.estimate(("a", "b"))


def test_a_report_that_comes_twice_counts_once() -> None:
    server = Server()
    answers = tuple((f"c{number}", int(number == 3)) for number in range(4))
    report = BlockReport(0, ("c",), 0.5, (0.5, 0.5), answers)
    for _ in range(3):
        server.receive(report)
    assert answers_of(server, ("c",)) == 4
    # (3/4 - 1/4) / (1/2) = 1, by hand.
    np.testing.assert_allclose(server.estimate(("c",)), [1.0, 0.0], atol=1e-12)


def test_the_server_pools_blocks_by_hand() -> None:
    server = Server()
    first = (("u", 0), ("v", 0), ("w", 0), ("x", 1))
    server.receive(BlockReport(0, ("c",), 0.5, (0.5, 0.5), first))
    server.receive(BlockReport(1, ("c",), 0.5, (0.75, 0.25), (("y", 0), ("z", 1))))
    # (4 - (4 * 1/2 + 2 * 3/4) / 2) / 3 = 3/4.
    np.testing.assert_allclose(server.estimate(("c",)), [0.75, 0.25], atol=1e-12)


# -- sizes -----------------------------------------------------------------------------------------


def test_one_category() -> None:
    domain = Domain((Attribute("only", ("x",)),))
    view = (("only",),)
    clients = [Client(f"c{i}", domain, [0], 0.001, SystemRandomSource()) for i in range(5)]
    server = Server()
    run_rrba(Aggregator(domain, [view], 0.9, np.random.default_rng(1)), server, clients, 2)
    assert answers_of(server, ("only",)) == 5
    assert server.estimate(("only",)).tolist() == pytest.approx([1.0])
    assert all(each.spent == 0 for each in clients)


def test_ten_thousand_categories() -> None:
    domain = Domain((Attribute("id", tuple(map(str, range(10_000)))),))
    generator = np.random.default_rng(1)
    clients = [Client(f"c{i}", domain, [9_999], math.inf, generator) for i in range(12)]
    server = Server()
    run_rrba(Aggregator(domain, [(("id",),)], 0.5, generator), server, clients, 4)
    estimate = server.estimate(("id",))
    assert answers_of(server, ("id",)) == 12
    assert estimate.sum() == pytest.approx(1.0, abs=1e-9)
    assert estimate.argmax() == 9_999
    # The first table is uniform: epsilon ln(1 + 10,000) at p = 1/2.
    assert clients[0].spent == pytest.approx(math.log(10_001))


def test_many_attributes_at_once() -> None:
    domain = Domain(tuple(Attribute(f"a{i:02d}", ("0", "1")) for i in range(37)))
    views = make_views(domain.names, 2)
    generator = np.random.default_rng(1)
    clients = [Client(f"c{i}", domain, [0] * 37, math.inf, generator) for i in range(8)]
    server = Server()
    run_rrba(Aggregator(domain, views, 0.5, generator), server, clients, 8)
    # A client answers 18 pairs, each at ln 5 under a uniform table: a price of 29.
    assert {round(each.spent, 9) for each in clients} == {round(18 * math.log(5), 9)}


# -- the two versions ------------------------------------------------------------------------------


def test_algorithm_1_updates_the_table_after_every_client() -> None:
    asking = Aggregator(DOMAIN, [PAIR], 0.5, np.random.default_rng(1), PRINTED_FIRST_VERSION)
    run_rrba(asking, Server(), crowd(1), 1)
    # (o / 1 - 1/2 * 1/6) * 2: 11/6 in one cell, -1/6 in five.
    assert sorted(asking.states[("a", "b")].table) == pytest.approx([-1 / 6] * 5 + [11 / 6])


def test_after_one_client_the_printed_table_gives_the_next_one_away() -> None:
    asking, server = Aggregator(DOMAIN, [PAIR], 0.5, np.random.default_rng(1), PRINTED), Server()
    asked = crowd(2, budget=100.0)
    run_rrba(asking, server, asked, 1)
    # The second client was sent a table of zeros but for one cell, and refused.
    assert asked[1].spent == 0
    assert asking.passed_over["refused"] == 1


def test_the_protocol_finds_the_truth() -> None:
    generator = np.random.default_rng(11)
    records = [(int(u < 0.3), int(v < 0.5) * 2, 0, 0) for u, v in generator.random((3000, 2))]
    clients = [Client(f"c{i}", DOMAIN, values, 20.0, generator) for i, values in enumerate(records)]
    server, asking = Server(), Aggregator(DOMAIN, [PAIR], 0.6, generator)
    run_rrba(asking, server, clients, 250)
    truth = np.bincount([3 * a + b for a, b, *_ in records], minlength=6) / 3000
    # Five standard errors under the largest variance of a report.
    assert np.abs(server.estimate(("a", "b")) - truth).max() < 5 * 0.5 / 0.6 / math.sqrt(3000)


def test_misuse_is_refused() -> None:
    asking = aggregator()
    asking.open_block(["x"])
    with pytest.raises(DeniableError, match="block 0 is still open"):
        asking.open_block(["y"])
    with pytest.raises(DeniableError, match="at least one view"):
        Aggregator(DOMAIN, [], 0.5, np.random.default_rng(1))
    with pytest.raises(DeniableError, match="blocks of 0"):
        run_rrba(aggregator(), Server(), crowd(2), 0)
    with pytest.raises(DeniableError, match="same name"):
        run_rrba(aggregator(), Server(), [*crowd(2), *crowd(2)], 1)


# -- several aggregators ---------------------------------------------------------------------------


def binary_crowd(size: int, prefix: str = "c", seed: int = 1) -> list[Client]:
    drawn = np.random.default_rng(seed)
    codes = drawn.integers(0, 2, (size, 4)).tolist()
    return [Client(f"{prefix}{i}", BINARY, row, math.inf, drawn) for i, row in enumerate(codes)]


def binary_aggregator(*views: View, seed: int = 1) -> Aggregator:
    return Aggregator(BINARY, views or VIEWS, 0.5, np.random.default_rng(seed))


@settings(max_examples=25, deadline=None, derandomize=True)
@given(st.lists(st.integers(0, 7), min_size=2, max_size=4), st.integers(1, 4))
def test_the_blocks_of_each_aggregator_count(sizes: list[int], block: int) -> None:
    server = Server()
    for number, size in enumerate(sizes):
        run_rrba(binary_aggregator(PAIR), server, binary_crowd(size, f"{number}."), block)
    if sum(sizes):
        assert answers_of(server, PAIR[0]) == sum(sizes)
        assert server.estimate(PAIR[0]).sum() == pytest.approx(1.0, abs=1e-9)


def test_a_client_of_two_aggregators_pays_both_and_counts_once() -> None:
    server, (asked,) = Server(), binary_crowd(1)
    once = math.log(5)  # 1 + p m / (1 - p)
    for number, keep in enumerate((0.5, 0.25), start=1):
        asking = Aggregator(BINARY, [PAIR], keep, np.random.default_rng(1))
        run_rrba(asking, server, [asked], 1)  # each begins with its question 1 and block 0
        assert asking.passed_over["refused"] == 0
        assert asked.spent == pytest.approx(once + (number - 1) * math.log(1 + 4 / 3))
    assert answers_of(server, PAIR[0]) == 1
    assert [report.keep for report in server._reports[PAIR[0]]] == [0.5]


def test_only_the_clients_that_were_counted_are_left_out() -> None:
    # First x, y, p = 1/2; then y, z from a table (3/4, 1/4): of those z alone is new.
    server = Server()
    server.receive(BlockReport(0, ("c",), 0.5, HALF, (("x", 0), ("y", 1))))
    server.receive(BlockReport(0, ("c",), 0.5, (0.75, 0.25), (("y", 0), ("z", 0))))
    assert answers_of(server, ("c",)) == 3
    # (2 - (2 * 1/2 + 3/4) / 2) / (3 / 2) = 3/4.
    np.testing.assert_allclose(server.estimate(("c",)), [0.75, 0.25], atol=1e-12)
    assert list(server._reports) == [("c",)]
    # On another combination y has not been counted.
    server.receive(BlockReport(0, ("d",), 0.5, HALF, (("y", 0),)))
    assert answers_of(server, ("d",)) == 1


def test_aggregators_of_different_domains_are_refused() -> None:
    server = Server()
    server.receive(BlockReport(0, ("c",), 0.5, HALF, (("x", 0),)))
    with pytest.raises(DeniableError, match="on c have tables of 2 and of 3 cells"):
        server.receive(BlockReport(0, ("c",), 0.5, (0.5, 0.25, 0.25), (("y", 2),)))
    assert answers_of(server, ("c",)) == 1


def test_each_view_is_asked_alike() -> None:
    # 3,000 clients in one block, three views: chi-squared with 2 degrees of freedom.
    asked = binary_aggregator(seed=5).open_block([str(number) for number in range(3000)])
    counts = np.array([sum(each.view == view for each in asked) for view in VIEWS])
    assert counts.sum() == 3000
    assert special.chdtrc(2, float(((counts - 1000) ** 2 / 1000).sum())) > ERROR_RATE


# -- clients named twice ---------------------------------------------------------------------------


def test_a_client_named_twice_in_a_block_is_refused() -> None:
    asking, server, (asked,) = binary_aggregator(), Server(), binary_crowd(1)
    with pytest.raises(DeniableError, match="block 0 names the client 'c0' twice"):
        run_block(asking, server, {"c0": asked}, ["c0", "c0"])
    assert asked.spent == 0
    run_block(asking, server, {"c0": asked}, ["c0"])  # nothing was begun
    assert {report.block for c in list(server._reports) for report in server._reports[c]} == {0}
