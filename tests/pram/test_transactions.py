"""Transactions: items by name and number, patterns against plain loops, refusals."""

import itertools
from collections.abc import Callable

import numpy as np
import pytest
from tests.pram.baskets import transactions_of

from deniable.channels import DenseChannel, KeepOrReplace, ProductChannel
from deniable.errors import ChannelError, DataError, SingularChannelError
from deniable.pram.item_sets import Transactions
from deniable.records.categorical import Microdata
from deniable.records.domain import Attribute, Domain

COIN = KeepOrReplace.uniform(2, 0.5)
COINS = ProductChannel((COIN,) * 4)
REPORTS = np.random.default_rng(3).integers(0, 2, (200, 4))


@pytest.mark.parametrize("kind", [bool, np.uint8, np.int64])
def test_patterns_are_those_of_the_loops(kind: type) -> None:
    found = transactions_of(COINS, REPORTS.astype(kind))
    assert len(found) == 200
    for size in range(1, 5):
        for places in itertools.permutations(range(4), size):
            expected = [0] * 2**size
            for record in REPORTS.tolist():
                expected[int("".join(str(record[place]) for place in places), 2)] += 1
            assert found.patterns(places).tolist() == expected


def test_many_items_in_a_pattern() -> None:
    # Codes of 17 items and more need 32 bits.
    records = np.zeros((3, 20), dtype=bool)
    records[1] = True
    records[2, -1] = True
    counts = transactions_of(ProductChannel((COIN,) * 20), records).patterns(range(20))
    assert {int(i): int(counts[i]) for i in np.flatnonzero(counts)} == {0: 1, 1: 1, 2**20 - 1: 1}


def test_microdata_are_transactions() -> None:
    domain = Domain(tuple(Attribute(name, ("no", "yes")) for name in ("tea", "jam", "oats", "rye")))
    data = Microdata(domain, tuple(REPORTS.T))
    found = Transactions(COINS, data.columns, data.domain.names)
    assert found.names == ("tea", "jam", "oats", "rye")
    assert found.positions(["rye", 1]) == (3, 1)
    assert found.label((3, 1)) == "rye & jam"
    np.testing.assert_array_equal(
        found.patterns((3, 1)), transactions_of(COINS, REPORTS).patterns((3, 1))
    )


def test_the_given_records_stay_as_they_are() -> None:
    records = REPORTS.astype(np.uint8)
    found = transactions_of(COINS, records, names="abcd")
    assert found.positions("da") == (3, 0)
    found.patterns((0, 1, 2, 3))
    np.testing.assert_array_equal(records, REPORTS)


@pytest.mark.parametrize(
    ("call", "error", "message"),
    [
        (lambda: transactions_of(COINS, REPORTS[:, :3]), DataError, "3 columns, 4 channels and 3"),
        (lambda: transactions_of(COINS, REPORTS, "aabc"), DataError, "3 different names"),
        (lambda: transactions_of(COINS, REPORTS + 1), DataError, "item '0' has values other than"),
        (lambda: transactions_of(COINS, REPORTS * 0.5), DataError, "item '0' has values other"),
        (
            lambda: Transactions(
                COINS, tuple(REPORTS[: 9 - i, i] for i in range(4)), tuple("abcd")
            ),
            DataError,
            "columns of equal length",
        ),
        (
            lambda: transactions_of(
                ProductChannel((COIN, KeepOrReplace.uniform(3, 0.5))), REPORTS[:, :2]
            ),
            ChannelError,
            "item '1': its channel has 3 categories",
        ),
        (
            lambda: transactions_of(
                ProductChannel((COIN, DenseChannel(np.full((2, 3), 1 / 3)))), REPORTS[:, :2]
            ),
            ChannelError,
            "item '1': its channel has 2 categories and 3 randomized values",
        ),
        (lambda: transactions_of(COINS, REPORTS).positions([0, 4]), DataError, "no item 4; items"),
        (lambda: transactions_of(COINS, REPORTS).positions([-1]), DataError, "no item -1"),
        (lambda: transactions_of(COINS, REPORTS).positions(["tea"]), DataError, "no item 'tea'"),
        (lambda: transactions_of(COINS, REPORTS).positions([]), DataError, "is empty or names"),
        (lambda: transactions_of(COINS, REPORTS).positions([1, "1"]), DataError, "an item twice"),
        (
            lambda: transactions_of(ProductChannel((COIN,) * 21), np.ones((2, 21), int)).positions(
                range(21)
            ),
            DataError,
            r"a set of 21 items has 2\^21 patterns; give at most 20",
        ),
        (
            lambda: transactions_of(
                ProductChannel((COIN, DenseChannel(np.full((2, 2), 0.5)))), REPORTS[:, :2], "ab"
            ).positions("ab"),
            SingularChannelError,
            "the channel of item 'b' is singular",
        ),
    ],
)
def test_refusals(call: Callable[[], object], error: type[Exception], message: str) -> None:
    with pytest.raises(error, match=message):
        call()


def test_a_singular_item_leaves_the_others_alone() -> None:
    channel = ProductChannel((COIN, KeepOrReplace.uniform(2, 0.0)))
    assert transactions_of(channel, REPORTS[:, :2]).positions([0]) == (0,)
