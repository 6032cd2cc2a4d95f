"""Indexes uniform within two ranges: exact, from a source and from keys."""

import math
from fractions import Fraction

import numpy as np
import pytest
from cryptography.hazmat.primitives.ciphers import Cipher, algorithms, modes
from tests.channels.channel_cases import fit_p_value

from deniable.sampling import KeyedColumn, KeyedDraws, Levels, keyed_events, keyed_integers

ALARM = 1e-6  # of a false alarm of each comparison, were keys and seeds free
DRAWS = KeyedDraws(bytes(range(32)), b"plan")


class Digits:
    """A column whose words and further digits are given: what is drawn follows by hand."""

    def __init__(self, narrow: list[int], wide: list[int], further: dict[int, int]) -> None:
        self.given = {16: np.array(narrow, "<u2"), 64: np.array(wide, "<u8")}
        self.further = further

    def __len__(self) -> int:
        return max(map(len, self.given.values()))

    def words(self, bits: int = 16) -> np.ndarray:
        return self.given[bits]

    def continued(self, which: np.ndarray, attempt: int) -> np.ndarray:
        digits = self.further[attempt]
        return np.array([[digits >> 64, digits % 2**64]] * len(which), dtype=np.uint64)


FEW = "deniable.sampling.levels.FEW_RECORDS"
ALL_OR_OPEN = pytest.mark.parametrize("few", [0, 200], ids=["open ones", "all"])


@ALL_OR_OPEN
def test_events_at_the_threshold_take_further_digits(few, monkeypatch):
    monkeypatch.setattr(FEW, few)
    # 1/3 is .010101...: in 16 bits 21845, in 128 more the same pattern again.
    pattern = (2**128 - 1) // 3
    for digits, expected in (
        ({0: pattern - 1}, True),
        ({0: pattern + 1}, False),
        ({0: pattern, 2: pattern - 1}, True),
        ({0: pattern, 2: pattern, 4: pattern + 1}, False),
    ):
        column = Digits([21844, 21845, 21846], [], digits)
        found = keyed_events(column, Fraction(1, 3)).tolist()
        assert found == [True, expected, False]
    assert keyed_events(Digits([0, 65535], [], {}), 0.0).tolist() == [False, False]
    assert keyed_events(Digits([0, 65535], [], {}), 1.0).tolist() == [True, True]
    assert keyed_events(Digits([32767, 32768], [], {}), 0.5).tolist() == [True, False]


@pytest.mark.parametrize("length", [1, 2, 3, 10, 2**31 - 1, 2**33 + 7, 10**18, 2**62, 2**63 - 1])
def test_integers_are_whole_parts(length):
    generator = np.random.default_rng(1)
    words = [0, 1, 2**63, 2**64 - 1, *generator.integers(0, 2**64, 50, dtype=np.uint64).tolist()]
    # Words whose digits to come decide: just below where the whole part changes.
    words += [(j * 2**64 - 1) // length for j in (1, min(2, length))]
    for first in (0, 2**127, 2**128 - 1):
        digits, bits, further = first, 128, {1: first, 3: 0}
        if first == 2**128 - 1:  # the next ones may decide again
            digits, bits, further = (first << 128) + first, 256, {1: first, 3: first, 5: 0}
        column = Digits([], words, further)
        expected = [((word << bits) + digits) * length >> (bits + 64) for word in words]
        lengths = np.full(len(words), length, dtype=np.uint64)
        assert keyed_integers(column, lengths).tolist() == expected


def test_indexes_are_those_of_the_layout():
    """By hand: words of AES-256 in counter mode under the subkeys of both purposes."""
    records = range(1000, 3000)
    column, levels = DRAWS.column(("x",), records), Levels(0.3, 1000, 77)
    words = {}
    for purpose, size in (("outcome", 2), ("wide outcome", 8)):
        key = algorithms.AES(DRAWS.subkey(purpose, ("x",)))
        stream = Cipher(key, modes.CTR(bytes(16))).encryptor().update(bytes(size * records.stop))
        words[size] = [int.from_bytes(stream[size * r : size * (r + 1)], "little") for r in records]
    threshold = math.floor(Fraction(0.3) * 2**16)
    decided = [number for number, word in enumerate(words[2]) if word != threshold]
    expected = [
        word * 1000 >> 64 if hit < threshold else 1000 + (word * 77 >> 64)
        for hit, word in zip(words[2], words[8], strict=True)
    ]
    found = levels.draw_keyed(column).tolist()
    assert [found[r] for r in decided] == [expected[r] for r in decided]


@ALL_OR_OPEN
def test_the_probability_is_not_rounded(few, monkeypatch):
    monkeypatch.setattr(FEW, few)
    # All digits but the last of 1 - 2 ** -50 are 1.
    digits = (2**34 - 1) << 94
    for further, index in ((digits - 1, 0), (digits + 1, 3)):
        column = Digits([2**16 - 1], [0], {0: further})
        assert Levels(1 - 2**-50, 3, 2).draw_keyed(column).tolist() == [index]


@pytest.mark.parametrize("probability", [Fraction(1, 3), 0.3, 2**-20, 1 - 2**-50])
def test_few_records_take_as_many_bits_whether_they_need_them_or_not(probability, monkeypatch):
    """So that the time to draw one record hides its first bits; the events stay the same."""
    words = DRAWS.column(("x",), 1 << 18).words()
    open_ones = np.flatnonzero(words == math.floor(Fraction(probability) * 2**16))
    taken, continued = [], KeyedColumn.continued

    def noted(self, which, attempt):
        taken.append((len(which), attempt))
        return continued(self, which, attempt)

    monkeypatch.setattr(KeyedColumn, "continued", noted)
    assert open_ones.size
    for record in [*open_ones.tolist(), *range(20)]:
        alone = keyed_events(DRAWS.column(("x",), range(record, record + 1)), probability)
        assert taken == [(1, 0)]
        with monkeypatch.context() as patch:
            patch.setattr(FEW, 0)
            many = keyed_events(DRAWS.column(("x",), range(record, record + 1)), probability)
        assert alone.tolist() == many.tolist()
        taken.clear()


@pytest.mark.parametrize(
    ("probability", "first", "second"),
    [(0.3, 4, 4), (Fraction(1, 3), 2, 5), (0.0, 3, 2), (1.0, 3, 2), (0.9, 1, 1), (0.5, 3, 1)],
)
def test_indexes_have_their_probabilities(probability, first, second):
    exact = Fraction(probability)
    shares = [exact / first] * first + [(1 - exact) / second] * second
    levels = Levels(probability, first, second)
    for drawn in (
        levels.draw(np.random.default_rng(2), 50_000),
        levels.draw_keyed(DRAWS.column(("x",), 50_000)),
    ):
        tally = np.bincount(drawn, minlength=first + second)
        assert fit_p_value(tally, [float(share) for share in shares]) > ALARM
