"""The secure sum: what it counts, what it costs, what it keeps secret, which faults it notices.

Secrecy is tested exactly: over all draws of the shares for three parties, and by linear algebra
modulo a prime n + 1 for more (all that is seen is a linear function of uniform shares).
"""

import itertools
import math
import pickle
from collections import Counter
from collections.abc import Sequence
from functools import cache, partial

import numpy as np
import pytest
from hypothesis import given, settings, strategies as st
from tests.slow_variants import slow

from deniable.errors import DataError, DeniableError
from deniable.randomized_response.secure_sums import (
    BivariateDistribution,
    Network,
    Party,
    SecureSumError,
    bivariate_distribution,
    disagreeing_margins,
    secure_sum,
)
from deniable.records.categorical import Microdata
from deniable.records.domain import Attribute, Domain
from deniable.sampling import SystemRandomSource

from reproduction.papers.multirr.secure_sum import Deviating

AB = Domain((Attribute("a", ("x", "y")), Attribute("b", ("k", "l", "m"))))
ABC = Domain((*AB, Attribute("c", ("s", "t"))))
SEEDS = st.integers(0, 2**32 - 1)
TRAFFIC = ("share_messages", "broadcasts", "bits")


def honest(indicators: Sequence[int]) -> list[Party]:
    return [Party(number, indicator) for number, indicator in enumerate(indicators)]


def rng(seed: int) -> np.random.Generator:
    return np.random.default_rng(seed)


class Scripted:
    """A source whose draws are given: the n - 1 free shares of one party after the other."""

    def __init__(self, draws: Sequence[int]) -> None:
        self.draws = list(draws)

    def integers(self, low: int, high: int, size: int) -> np.ndarray:
        taken, self.draws = self.draws[:size], self.draws[size:]
        assert len(taken) == size
        assert all(low <= draw < high for draw in taken)
        return np.array(taken, dtype=np.int64)


def view(network: Network, coalition: Sequence[int]) -> tuple[np.ndarray, ...]:
    """Return what a coalition of seats sees: shares sent, shares received, broadcasts."""
    seats = list(coalition)
    return network.shares[seats], network.shares[:, seats], network.broadcasts


def seen(network: Network, coalition: Sequence[int]) -> tuple[int, ...]:
    return tuple(np.concatenate([part.ravel() for part in view(network, coalition)]).tolist())


# -- what it counts --------------------------------------------------------------------------------


def test_by_hand():
    # Modulo 4: shares (1, 2, 1), (3, 3, 2), (0, 1, 3) in rows; columns sum to 0, 2, 2.
    network = secure_sum(honest([1, 0, 1]), Scripted([1, 2, 3, 3, 0, 1]))
    sent, received, broadcasts = view(network, range(3))
    assert sent.tolist() == [[0, 2, 1], [3, 0, 2], [0, 1, 0]]  # the diagonal is kept, not sent
    np.testing.assert_array_equal(received, sent)
    assert broadcasts.tolist() == [1, 2, 3]
    assert network.count == 6 % 4 == 2
    assert tuple(network.traffic[each] for each in TRAFFIC) == (6, 3, 24)  # 12 numbers of 2 bits
    sent, received, _ = view(network, [1])
    assert (sent.tolist(), received.tolist()) == ([[3, 0, 2]], [[2], [0], [1]])


@given(st.lists(st.integers(0, 1), min_size=3, max_size=24), SEEDS)
def test_count_and_cost(indicators, seed):
    n = len(indicators)
    network = secure_sum(honest(indicators), rng(seed))
    assert network.count == sum(indicators)
    sent, _, broadcasts = view(network, range(n))
    assert 0 <= sent.min() <= sent.max() <= n
    assert 0 <= broadcasts.min() <= broadcasts.max() <= n
    bits = math.ceil(math.log2(n + 1))
    shares, broadcasts, sent_bits = (network.traffic[each] for each in TRAFFIC)
    assert (shares, broadcasts, sent_bits) == (n * (n - 1), n, 2 * n * (n - 1) * bits)
    assert shares + broadcasts == n * n


@pytest.mark.parametrize("n", [3, 4, 7, 8])
def test_modulo_n_nobody_and_everybody_would_be_the_same(n):
    nobody, everybody = (secure_sum(honest([x] * n), rng(1)) for x in (0, 1))
    assert (nobody.count, everybody.count) == (0, n)
    assert nobody.modulus == n + 1
    assert nobody.count % n == everybody.count % n


def test_two_thousand_parties():
    indicators = rng(2).integers(0, 2, 2000)
    network = secure_sum(honest(indicators.tolist()), SystemRandomSource())
    assert network.count == indicators.sum()
    assert tuple(network.traffic[each] for each in TRAFFIC) == (3_998_000, 2000, 7_996_000 * 11)


@pytest.mark.parametrize("n", [0, 1, 2, 10_001])
def test_too_few_parties_hide_nothing_and_too_many_are_not_simulated(n):
    with pytest.raises(SecureSumError, match=f"sum of {n} parties: at least 3 .* at most 10,000"):
        secure_sum(honest([1] * n), rng(0))


# -- what it keeps secret --------------------------------------------------------------------------

# All 4**6 draws of three parties, for all 8 indicators: every transcript there is.
ASSIGNMENTS = list(itertools.product((0, 1), repeat=3))


@pytest.fixture(scope="module")
def transcripts() -> dict[tuple[int, ...], list[Network]]:
    return {
        indicators: [
            secure_sum(honest(indicators), Scripted(draws))
            for draws in itertools.product(range(4), repeat=6)
        ]
        for indicators in ASSIGNMENTS
    }


@pytest.mark.parametrize("coalition", [(), (0,), slow((1,)), slow((2,))])
def test_a_coalition_of_three_sees_the_same_whoever_else_it_is(transcripts, coalition):
    views = {x: Counter(seen(net, coalition) for net in transcripts[x]) for x in ASSIGNMENTS}
    for x, y in itertools.combinations(ASSIGNMENTS, 2):
        if all(x[seat] == y[seat] for seat in coalition):
            if sum(x) == sum(y):
                assert views[x] == views[y]
            else:  # the sum is what it is told
                assert not views[x].keys() & views[y].keys()


@pytest.mark.parametrize("heard", [(0, 1), (0, 2), (1, 2)])
def test_all_broadcasts_but_one_are_uniform(transcripts, heard):
    for indicators in ASSIGNMENTS:
        some = Counter(
            tuple(net.broadcasts[list(heard)].tolist()) for net in transcripts[indicators]
        )
        assert set(some.values()) == {4096 // 16}
        assert len(some) == 16


@cache
def linear_maps(n: int) -> tuple[np.ndarray, np.ndarray]:
    """Return what shares and what indicators do to the transcript, as matrices modulo n + 1."""

    def transcript(indicators: np.ndarray, draws: np.ndarray) -> np.ndarray:
        network = secure_sum(honest(indicators.tolist()), Scripted(draws.tolist()))
        return np.array(seen(network, range(n)))

    p, free = n + 1, n * (n - 1)
    none, silent = np.zeros(n, dtype=int), np.zeros(free, dtype=int)
    assert not transcript(none, silent).any()
    by_draws = np.stack([transcript(none, unit) for unit in np.eye(free, dtype=int)], axis=1)
    by_indicators = np.stack([transcript(unit, silent) for unit in np.eye(n, dtype=int)], axis=1)
    for seed in range(50):  # that it is linear, which the matrices rest on
        x, r = rng(seed).integers(0, 2, n), rng(seed).integers(0, p, free)
        np.testing.assert_array_equal(transcript(x, r), (by_draws @ r + by_indicators @ x) % p)
    return by_draws, by_indicators


def rank(matrix: np.ndarray, p: int) -> int:
    rows, found = matrix.copy() % p, 0
    for column in range(rows.shape[1]):
        pivots = found + np.flatnonzero(rows[found:, column])
        if pivots.size:
            rows[[found, pivots[0]]] = rows[[pivots[0], found]]
            rows[found] = rows[found] * pow(int(rows[found, column]), -1, p) % p
            others = np.delete(np.arange(len(rows)), found)
            rows[others] = (rows[others] - np.outer(rows[others, column], rows[found])) % p
            found += 1
    return found


def coalitions(n: int) -> list[tuple[int, ...]]:
    return [c for size in range(n - 1) for c in itertools.combinations(range(n), size)]


@pytest.mark.parametrize(
    ("n", "coalition"),
    [(n, c) for n in (4, 6) for c in coalitions(n)] + [(10, c) for c in [(), (3,), (2, 3, 5, 7)]],
)
def test_coalitions_of_more_parties(n, coalition):
    # A view is uniform over an offset plus the span of the draws: it is the same for two
    # indicators if, and only if, they differ by an element of the span.
    p = n + 1
    by_draws, by_indicators = linear_maps(n)
    matrix = np.arange(n * n).reshape(n, n)
    in_sight = [*matrix[list(coalition)].ravel(), *(n * n + matrix[:, list(coalition)].ravel())]
    in_sight += range(2 * n * n, 2 * n * n + n)
    span, offsets = by_draws[in_sight], by_indicators[in_sight]
    dimension = rank(span, p)
    outside = [seat for seat in range(n) if seat not in coalition]
    for j, k in itertools.pairwise(outside):  # swaps lead to all with the same sum
        assert rank(np.column_stack([span, offsets[:, j] - offsets[:, k]]), p) == dimension
    for j in outside:  # a different sum is another view
        assert rank(np.column_stack([span, offsets[:, j]]), p) == dimension + 1
    broadcasts = by_draws[2 * n * n :]
    assert all(rank(np.delete(broadcasts, seat, axis=0), p) == n - 1 for seat in range(n))


def known_to_the_others(network: Network, seat: int) -> int:
    """Work out a party's indicator from what all others have seen; no private field is read."""
    others = [other for other in range(network.parties) if other != seat]
    sent, received, broadcasts = view(network, others)
    kept = -int(received[seat].sum())  # its shares sum to 0
    return int(broadcasts[seat] - sent[:, seat].sum() - kept) % network.modulus


@given(st.lists(st.integers(0, 1), min_size=3, max_size=9), SEEDS, st.data())
def test_all_others_together_know_the_last_one(indicators, seed, data):
    network = secure_sum(honest(indicators), rng(seed))
    seat = data.draw(st.integers(0, len(indicators) - 1))
    assert known_to_the_others(network, seat) == indicators[seat]


@given(st.lists(st.integers(0, 1), min_size=3, max_size=9), SEEDS)
def test_who_reads_every_channel_knows_all(indicators, seed):
    # Neither what is kept nor any indicator is used: the channels have to be private.
    network = secure_sum(honest(indicators), rng(seed))
    sent, _, broadcasts = view(network, range(len(indicators)))
    found = (broadcasts - sent.sum(axis=0) + sent.sum(axis=1)) % network.modulus
    assert found.tolist() == indicators


def test_shares_do_not_depend_on_the_indicator_nor_does_a_party_show_it():
    for seed in range(20):
        views = [view(secure_sum(honest(x), rng(seed)), range(4)) for x in ([0] * 4, [1, 0, 1, 1])]
        np.testing.assert_array_equal(views[0][0], views[1][0])
    assert [name for name in vars(Party(7, 1)) if not name.startswith("_")] == ["number"]
    assert "1" not in str(Party(7, 1)).split(" at ")[0]


# -- tables ----------------------------------------------------------------------------------------


def of(domain: Domain, *records: tuple[int, ...]) -> Microdata:
    return Microdata(domain, tuple(np.array(column) for column in zip(*records, strict=True)))


def counted_pairs(data, pairs, source, faults):
    return {
        pair: bivariate_distribution(data, pair, source, faults=faults.get(pair, {}))
        for pair in pairs
    }


@st.composite
def files(draw: st.DrawFn, domain: Domain = AB, fewest: int = 3, most: int = 8) -> Microdata:
    record = st.tuples(*(st.integers(0, size - 1) for size in domain.shape))
    return of(domain, *draw(st.lists(record, min_size=fewest, max_size=most)))


@given(files(ABC), SEEDS)
@settings(max_examples=30)
def test_tables_of_honest_parties(data, seed):
    pairs = list(itertools.combinations(ABC.names, 2))
    counted = counted_pairs(data, pairs, rng(seed), {})
    assert list(counted) == pairs
    for pair, distribution in counted.items():
        np.testing.assert_array_equal(distribution.table, data.counts(pair))
        cells, n = distribution.domain.size, len(data)
        traffic = distribution.traffic
        assert traffic["share_messages"] + traffic["broadcasts"] == cells * n * n
        assert distribution.parties == n
        assert distribution.inconsistencies == ()
    assert disagreeing_margins(counted.values()) == ()


def test_the_order_of_a_pair_is_that_of_the_table(small_data):
    data = Microdata(small_data.domain, tuple(column[:40] for column in small_data.columns))
    counted = bivariate_distribution(data, ("region", "colour"), rng(3))
    assert counted.domain.names == ("region", "colour")
    np.testing.assert_array_equal(counted.table, data.counts(["region", "colour"]))


def test_pairs_that_are_none():
    data = of(ABC, (0, 0, 0), (1, 2, 1), (1, 1, 1))
    with pytest.raises(DeniableError, match="a pair has 3 names"):
        bivariate_distribution(data, ("a", "b", "c"), rng(0))
    with pytest.raises(DeniableError, match="'a' twice"):
        bivariate_distribution(data, ("a", "a"), rng(0))
    with pytest.raises(DataError, match="no attribute 'z'"):
        bivariate_distribution(data, ("a", "z"), rng(0))


# -- parties that leave ----------------------------------------------------------------------------


@given(files(), SEEDS, st.data())
@settings(max_examples=60)
def test_a_party_that_leaves_is_named(data, seed, draw):
    party = draw.draw(st.integers(0, len(data) - 1))
    cell = draw.draw(st.integers(0, 5))
    reached = draw.draw(st.sampled_from([0.0, 0.5, 1.0]))
    faults = {(party, cell): partial(Deviating, reached=reached)}
    what = "broadcast" if reached == 1 else "share"
    combination = f"a '{'xy'[cell // 3]}', b '{'klm'[cell % 3]}'"
    with pytest.raises(SecureSumError) as caught:
        bivariate_distribution(data, ("a", "b"), rng(seed), faults=faults)
    assert caught.value.parties == (party,)
    assert str(caught.value).startswith(f"{combination}: no {what} came from party {party} ")


def test_several_that_leave_are_all_named():
    parties = honest([1] * 6)
    parties[1] = Deviating(11, 1, reached=0.5)
    parties[4] = Deviating(14, 1, reached=0)
    with pytest.raises(SecureSumError, match="no share came from party 11, 14 ") as caught:
        secure_sum(parties, rng(0))
    again = pickle.loads(pickle.dumps(caught.value))
    assert (again.parties, str(again)) == ((11, 14), str(caught.value))


@given(files(ABC, fewest=4), SEEDS, st.data())
@settings(max_examples=30)
def test_a_party_that_leaves_between_pairs_gives_its_value_away(data, seed, draw):
    party = draw.draw(st.integers(0, len(data) - 1))
    faults = {(party, 0): partial(Deviating, reached=0)}
    with pytest.raises(SecureSumError, match=f"no share came from party {party} "):
        bivariate_distribution(data, ("a", "c"), rng(seed), faults=faults)
    stayed = Microdata(ABC, tuple(np.delete(column, party) for column in data.columns))
    counted = [
        bivariate_distribution(data, ("a", "b"), rng(seed)),
        bivariate_distribution(stayed, ("a", "c"), rng(seed)),
    ]
    before, after = (distribution.table.sum(axis=1) for distribution in counted)
    assert (before - after).tolist() == [int(a == data.column("a")[party]) for a in (0, 1)]
    (message,) = disagreeing_margins(counted)
    assert message.startswith("a '")
    assert "in a and b, but" in message
    assert "in a and c; a party gave another answer in one of them, or left" in message


# -- parties that send what is wrong ---------------------------------------------------------------


@given(files(), SEEDS, st.data())
@settings(max_examples=100)
def test_any_wrong_numbers_shift_counts_and_are_noticed_by_the_total_in_whole_numbers(
    data, seed, draw
):
    n = len(data)
    amounts = draw.draw(st.lists(st.integers(-n, n), min_size=6, max_size=6))
    party = draw.draw(st.integers(0, n - 1))
    tables = []
    for part in ("shares", "broadcast"):
        faults = {
            (party, cell): partial(Deviating, **{part: amount})
            for cell, amount in enumerate(amounts)
        }
        counted = bivariate_distribution(data, ("a", "b"), rng(seed), faults=faults)
        tables.append(counted.table.ravel())
        assert bool(counted.inconsistencies) == (counted.table.sum() != n)
    # Nobody can tell wrong shares from a wrong broadcast, nor whose they are.
    np.testing.assert_array_equal(tables[0], tables[1])
    expected = (data.counts().ravel() + amounts) % (n + 1)
    np.testing.assert_array_equal(tables[0], expected)
    assert np.all((tables[0] >= 0) & (tables[0] <= n))  # says nothing: it is always so


@given(files(), SEEDS, st.data())
def test_one_wrong_number_is_always_noticed(data, seed, draw):
    n = len(data)
    fault = partial(Deviating, broadcast=draw.draw(st.integers(1, n)))
    where = draw.draw(st.integers(0, n - 1)), draw.draw(st.integers(0, 5))
    counted = bivariate_distribution(data, ("a", "b"), rng(seed), faults={where: fault})
    (message,) = counted.inconsistencies
    assert message.startswith(f"'a' and 'b': the counts add up to {counted.table.sum()}, but {n}")


@pytest.mark.parametrize(
    ("amount", "noticed"), [(1, False), (2, False), (3, True), (4, True), (5, False)]
)
def test_moving_more_records_than_there_are_takes_whole_numbers_to_notice(amount, noticed):
    # Two records in cell 0, one in cell 1, five parties, modulo 6: one or two can be moved from 0
    # to 1; five too, since modulo 6 that is one from 1 to 0.
    data = of(AB, (0, 0), (0, 0), (0, 1), (0, 2), (1, 0))
    faults = {
        (4, 0): partial(Deviating, broadcast=-amount),
        (4, 1): partial(Deviating, broadcast=amount),
    }
    table = bivariate_distribution(data, ("a", "b"), rng(1), faults=faults)
    assert table.table.sum() % 6 == 5  # modulo n + 1 all is well
    moved = [(2 - amount) % 6, (1 + amount) % 6]
    assert table.table.ravel().tolist() == [*moved, 1, 1, 0, 0]
    assert bool(table.inconsistencies) == (sum(moved) != 3) == noticed


def test_margins_tell_of_a_party_that_answers_two_ways_in_two_pairs():
    data = of(ABC, (0, 0, 0), (0, 1, 1), (1, 1, 1), (1, 2, 0))
    pairs = [("a", "b"), ("a", "c"), ("b", "c")]
    lie = {(0, 0): partial(Deviating, broadcast=-1), (0, 3): partial(Deviating, broadcast=1)}
    counted = counted_pairs(data, pairs, rng(0), {("a", "b"): lie})
    assert not any(distribution.inconsistencies for distribution in counted.values())
    assert disagreeing_margins(counted.values()) == (
        "a 'x': 1 records in a and b, but 2 in a and c; a party gave another answer in one of "
        "them, or left the sum; count both pairs again",
    )
    assert disagreeing_margins([counted["a", "b"]]) == ()


@given(files(ABC), SEEDS, st.data())
@settings(max_examples=30)
def test_a_party_that_answers_for_another_record_throughout_is_not_noticed(data, seed, draw):
    party = draw.draw(st.integers(0, len(data) - 1))
    other = draw.draw(st.tuples(*(st.integers(0, size - 1) for size in ABC.shape)))
    pretended = Microdata(ABC, tuple(column.copy() for column in data.columns))
    for column, code in zip(pretended.columns, other, strict=True):
        column[party] = code
    pairs = list(itertools.combinations(ABC.names, 2))
    faults = {}
    for pair in pairs:
        difference = pretended.counts(pair) - data.counts(pair)
        faults[pair] = {
            (party, int(cell)): partial(Deviating, broadcast=int(difference.ravel()[cell]))
            for cell in np.flatnonzero(difference)
        }
    counted = counted_pairs(data, pairs, rng(seed), faults)
    for pair in pairs:
        np.testing.assert_array_equal(counted[pair].table, pretended.counts(pair))
        assert counted[pair].inconsistencies == ()
    assert disagreeing_margins(counted.values()) == ()


@given(files(), SEEDS, st.data())
@settings(max_examples=30)
def test_who_broadcasts_last_sets_every_count(data, seed, draw):
    n = len(data)
    wanted = rng(seed).multinomial(n, np.full(6, 1 / 6))
    faults = {(n - 1, cell): partial(Deviating, count=int(wanted[cell])) for cell in range(6)}
    counted = bivariate_distribution(data, ("a", "b"), rng(seed), faults=faults)
    assert counted.table.ravel().tolist() == wanted.tolist()
    assert counted.inconsistencies == ()


class LeavesWithTheCount(Party):
    """A party in the last seat that hears all others and then leaves: only it knows the count."""

    learnt = -1

    def answer(self, seat: int, network: Network) -> None:
        own = int(network.shares[:, seat].sum()) + self._kept + self._indicator
        LeavesWithTheCount.learnt = int(network.broadcasts[:seat].sum() + own) % (seat + 2)


def test_who_leaves_last_knows_the_count_and_the_others_do_not():
    for indicators in itertools.product((0, 1), repeat=4):
        parties = [*honest(indicators[:3]), LeavesWithTheCount(3, indicators[3])]
        with pytest.raises(SecureSumError, match="no broadcast came from party 3"):
            secure_sum(parties, rng(5))
        assert LeavesWithTheCount.learnt == sum(indicators)


def test_a_distribution_is_consistent_when_it_adds_up_to_its_parties():
    table = np.array([[2, 0, 0], [0, 0, 1]])
    assert BivariateDistribution(AB, table, 3, Counter()).inconsistencies == ()
    assert BivariateDistribution(AB, table, 4, Counter()).inconsistencies
