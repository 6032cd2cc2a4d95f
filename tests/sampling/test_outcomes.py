"""Outcomes of keyed draws, held against thresholds in whole numbers, record by record."""

from bisect import bisect_right
from collections.abc import Sequence
from fractions import Fraction
from itertools import accumulate

import numpy as np
import pytest
from hypothesis import given, settings, strategies as st
from scipy import stats

from deniable.arrays import Codes
from deniable.channels import Channel, DenseChannel, KeepOrReplace, ProductChannel
from deniable.sampling import Categories, KeyedColumn, KeyedDraws, Outcomes

DRAWS = KeyedDraws(bytes(range(32)), b"plan")
RECORDS = 20_000


def number_of(column: KeyedColumn, record: int, wide: bool) -> Fraction:
    """The first bits of a record's number; enough of them for any test here."""
    bits = 64 if wide else 16
    number = Fraction(int(column.words(bits)[record]), 1 << bits)
    for attempt in range(3):
        high, low = column.continued(np.array([record]), attempt)[0].tolist()
        bits += 128
        number += Fraction((high << 64) | low, 1 << bits)
    return number


def inverted(number: Fraction, probabilities: Sequence[Fraction]) -> int:
    return sum(each <= number for each in list(accumulate(probabilities))[:-1])


def of_rows(rows: list[list[Fraction]]) -> Outcomes:
    shares = np.array([[float(each) for each in row] for row in rows])
    return Outcomes(shares, lambda row: Categories.of(rows[row]))


def normalized(weights: Sequence[int]) -> list[Fraction]:
    return [Fraction(weight, sum(weights)) for weight in weights]


FEW = "deniable.sampling.outcomes.FEW_RECORDS"
ENTRIES = "deniable.sampling.outcomes.ENTRIES_PER_RECORD"
TABLES_OR_NOT = pytest.mark.parametrize("few", [-1, 200], ids=["table", "compared"])


@TABLES_OR_NOT
@settings(max_examples=60, deadline=None)
@given(
    st.lists(
        st.lists(st.integers(0, 50) | st.integers(0, 2**60), min_size=4, max_size=4).filter(any),
        min_size=1,
        max_size=6,
    ),
    st.integers(0, 10**9),
)
def test_outcomes_are_those_of_integer_inversion(
    few: int, weights: list[list[int]], start: int
) -> None:
    rows = [normalized(row) for row in weights]
    column = DRAWS.column(["a"], range(start, start + 40))
    own = np.arange(40) % len(rows)
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(FEW, few)
        drawn = of_rows(rows).draw(column, own)
    for record in range(40):
        number = number_of(column, record, wide=False)
        assert drawn[record] == inverted(number, rows[own[record]])


@pytest.mark.parametrize("rows", [1, 3])
@pytest.mark.parametrize("size", [257, 386, 9000])
def test_many_outcomes_are_those_of_integer_inversion(size: int, rows: int) -> None:
    generator = np.random.default_rng(size + rows)
    weights = [
        np.floor(generator.pareto(0.5, size) * 3) + (np.arange(size) == 7) for _ in range(rows)
    ]
    exact = [normalized([int(each) for each in row]) for row in weights]
    sums = [list(accumulate(row)) for row in exact]
    start = 10**6 + 1
    column = DRAWS.column(["a"], range(start, start + 70_000))  # two chunks
    own = generator.integers(0, rows, 70_000)
    drawn = of_rows(exact).draw(column, own if rows > 1 else None)
    every_23rd = np.arange(0, 70_000, 23)
    for record in every_23rd.tolist():
        number = number_of(column, record, wide=True)
        assert drawn[record] == bisect_right(sums[own[record]], number)


class Chosen(KeyedColumn):
    """A column whose words and continuations are given, to come as close as one likes."""

    def words(self, bits: int = 16) -> np.ndarray:  # type: ignore[type-arg]
        return np.array(GIVEN[bits], dtype=f"<u{bits // 8}")[np.asarray(self.records)]

    def chosen(self, part: object) -> KeyedColumn:
        return Chosen(self.draws, self.names, np.asarray(self.records)[part])  # type: ignore[index]

    def continued(self, which: Codes, attempt: int) -> np.ndarray:  # type: ignore[type-arg]
        found = [FURTHER[int(np.asarray(self.records)[at])][attempt] for at in which]
        return np.array([[each >> 64, each & (2**64 - 1)] for each in found], dtype=np.uint64)


GIVEN: dict[int, list[int]] = {}
FURTHER: list[list[int]] = []


@TABLES_OR_NOT
@pytest.mark.parametrize("size", [3, 300])
@pytest.mark.parametrize("chunk", [3, 1 << 16])
@pytest.mark.parametrize("row", [0, 1])
def test_numbers_next_to_a_threshold_are_told_from_it(
    size: int, few: int, chunk: int, row: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A third has no end in binary: words, and bits after them, that agree with it for long.

    The records have one row of two, and are drawn in one chunk or in two.
    """
    monkeypatch.setattr(FEW, few)
    monkeypatch.setattr("deniable.sampling.outcomes.CHUNK_RECORDS", chunk)
    if few < 0:
        monkeypatch.setattr(ENTRIES, 10**9)
    bits = 64 if size > 256 else 16
    threshold = Fraction(1, 3)
    rows = [[threshold, Fraction(2, 3) - Fraction(size - 2, 10**6)]]
    rows[0] += [Fraction(1, 10**6)] * (size - 2)
    digits = [int(threshold * 2**each) for each in (bits, bits + 128, bits + 256)]
    second = digits[1] - (digits[0] << 128)
    third = digits[2] - (digits[1] << 128)
    FURTHER[:] = [[second, third, 0], [second, third + 1, 0], [second + 1, 0, 0]]
    FURTHER.append([second - 1, 2**128 - 1, 0])
    GIVEN[bits] = [digits[0]] * 4
    column = Chosen(DRAWS, ("a",), np.arange(4))
    both = [rows[0], normalized([*range(1, size + 1)])]
    drawn = of_rows(both if row == 0 else both[::-1]).draw(column, np.full(4, row))
    np.testing.assert_array_equal(of_rows(rows).draw(column), drawn)
    expected = [
        inverted(
            Fraction(digits[0], 2**bits)
            + sum(Fraction(e, 2 ** (bits + 128 * (n + 1))) for n, e in enumerate(each)),
            rows[0],
        )
        for each in FURTHER
    ]
    assert drawn.tolist() == expected == [0, 1, 1, 0]


def channels() -> list[Channel]:
    rng = np.random.default_rng(5)
    rows = rng.dirichlet(np.ones(7), 7)
    return [
        KeepOrReplace.uniform(2, 0.5),
        KeepOrReplace.uniform(9, 0.7),
        KeepOrReplace(0.6, np.array([0.4, 0.0, 0.0])),
        KeepOrReplace.from_entries(4, 0.1, 0.3),
        KeepOrReplace(1.0, np.zeros(5)),
        KeepOrReplace.uniform(5, 0.0),
        KeepOrReplace.uniform(255, 0.3),
        KeepOrReplace.uniform(256, 0.3),
        KeepOrReplace.uniform(3000, 0.3),
        DenseChannel(rows),
        DenseChannel(np.eye(300)[rng.permutation(300)]),
        DenseChannel(rng.dirichlet(np.ones(300), 300)),
        ProductChannel((KeepOrReplace.uniform(3, 0.5), DenseChannel(rows))),
        KeepOrReplace.uniform(1, 0.5),
    ]


@pytest.mark.parametrize("channel", channels(), ids=lambda channel: f"{type(channel).__name__}")
def test_reports_have_the_distribution_of_the_matrix(channel: Channel) -> None:
    """A chi-square test a channel, at 1e-4: one of the fourteen fails for 1 seed in 700."""
    rng = np.random.default_rng(3)
    kinds = rng.choice(channel.size, min(channel.size, 4), replace=False)
    codes = kinds[rng.integers(0, len(kinds), RECORDS)].astype(np.min_scalar_type(channel.size))
    reports = channel.randomize_keyed(codes, DRAWS.column(["a"], RECORDS))
    assert reports.dtype == codes.dtype
    assert reports.shape == codes.shape
    for code in kinds:
        expected = channel.matrix()[code] * np.count_nonzero(codes == code)
        found = np.bincount(reports[codes == code], minlength=channel.size)
        assert not found[expected == 0].any()
        some = expected >= 5
        if not some.any():
            continue
        folded = (
            np.append(found[some], found[~some].sum()),
            np.append(expected[some], expected[~some].sum()),
        )
        some = folded[1] > 0
        if some.sum() > 1:
            assert stats.chisquare(folded[0][some], folded[1][some]).pvalue > 1e-4


@pytest.mark.parametrize("channel", channels(), ids=lambda channel: f"{type(channel).__name__}")
def test_portions_and_order_change_no_report(channel: Channel) -> None:
    rng = np.random.default_rng(4)
    codes = rng.integers(0, channel.size, 3000)
    column = DRAWS.column(["a"], 3000)
    reports = channel.randomize_keyed(codes, column)
    parts = [slice(0, 1), slice(1, 1500), slice(1500, 3000)]
    again = [channel.randomize_keyed(codes[part], column.chosen(part)) for part in parts]
    np.testing.assert_array_equal(np.concatenate(again), reports)
    order = rng.permutation(3000)
    shuffled = channel.randomize_keyed(codes[order], DRAWS.column(["a"], order))
    np.testing.assert_array_equal(shuffled, reports[order])
    # A record's report does not hang on the others' values.
    codes[:1500] = 0
    np.testing.assert_array_equal(channel.randomize_keyed(codes, column)[1500:], reports[1500:])


@pytest.mark.parametrize("channel", channels(), ids=lambda channel: f"{type(channel).__name__}")
def test_few_records_are_reported_as_among_many(
    channel: Channel, monkeypatch: pytest.MonkeyPatch
) -> None:
    rng = np.random.default_rng(6)
    codes = rng.integers(0, channel.size, 3000)
    reports = channel.randomize_keyed(codes, DRAWS.column(["a"], 3000))
    for count in (1, 2, 19, 20, 199, 200, 201):
        some = rng.permutation(3000)[:count]
        for few in (-1, 200, 10**9):
            monkeypatch.setattr(FEW, few)
            found = channel.randomize_keyed(codes[some], DRAWS.column(["a"], some))
            assert found.dtype == codes.dtype
            np.testing.assert_array_equal(found, reports[some])


def test_no_records_no_reports() -> None:
    for channel in channels():
        assert channel.randomize_keyed(np.empty(0, int), DRAWS.column(["a"], 0)).size == 0


@pytest.mark.parametrize("rows", [1, 3])
@pytest.mark.parametrize("size", [300, 10_000])
def test_a_record_alone_is_compared_with_all_thresholds(
    rows: int, size: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The time of a binary search would show the outcome; the outcomes are those of a long file."""
    generator = np.random.default_rng(size)
    outcomes = of_rows([normalized(generator.integers(0, 50, size).tolist()) for _ in range(rows)])
    own = None if rows == 1 else generator.integers(0, rows, RECORDS)
    whole = outcomes.draw(DRAWS.column(("x",), RECORDS), own)

    def refused(*_: object, **__: object) -> None:
        raise AssertionError("a binary search")

    monkeypatch.setattr(np, "searchsorted", refused)
    for record in range(40):
        alone = DRAWS.column(("x",), range(record, record + 1))
        row = None if own is None else own[record : record + 1]
        assert outcomes.draw(alone, row).tolist() == [whole[record]]
    with pytest.raises(AssertionError, match="a binary search"):
        outcomes.draw(DRAWS.column(("x",), 201), None if own is None else own[:201])
