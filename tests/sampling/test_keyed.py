"""Keyed draws: known answers of the layout, and the same draw however it is made."""

import hashlib
import hmac

import numpy as np
import pytest
from cryptography.hazmat.primitives.ciphers import Cipher, algorithms, modes

from deniable.errors import DeniableError
from deniable.sampling import KeyedDraws, by_words, new_key

KEY, PLAN = bytes(range(32)), hashlib.sha256(b"plan").digest()
DRAWS = KeyedDraws(KEY, PLAN)
RECORDS = 1000


def subkey(purpose: bytes, *names: bytes) -> bytes:
    """The documentation's words once more, by hand."""
    parts = (b"deniable keyed draws 1", PLAN, purpose, *names)
    message = b"".join(len(part).to_bytes(8, "big") + part for part in parts)
    return hmac.new(KEY, message, hashlib.sha256).digest()


def block(key: bytes, number: int) -> bytes:
    return Cipher(algorithms.AES(key), modes.ECB()).encryptor().update(number.to_bytes(16, "big"))


def test_the_layout_is_the_one_that_is_written_down() -> None:
    column = DRAWS.column(["sex", "größe"], RECORDS)
    names = b"sex", "größe".encode()
    words, wide = column.words(16), column.words(64)
    for record in (0, 1, 7, 8, 9, 500, 999):
        own = block(subkey(b"outcome", *names), record // 8)[record % 8 * 2 :][:2]
        assert words[record] == int.from_bytes(own, "little")
        own = block(subkey(b"wide outcome", *names), record // 2)[record % 2 * 8 :][:8]
        assert wide[record] == int.from_bytes(own, "little")
        for attempt in (0, 3):
            made = block(subkey(b"continuation", *names), (record << 64) | attempt)
            high, low = column.continued(np.array([record]), attempt)[0].tolist()
            assert (high << 64) | low == int.from_bytes(made, "big")


def test_known_answers() -> None:
    """A change of these is a change of the layout: it takes a new version."""
    column = DRAWS.column(["sex"], 8)
    assert column.words(16).tolist() == WORDS
    assert [hex(word) for word in column.words(64)[:2].tolist()] == WIDE_WORDS
    assert [hex(half) for half in column.continued(np.array([5]), 1)[0].tolist()] == CONTINUED
    assert [hex(word) for word in column.factor(1).words(16)[:3].tolist()] == OF_A_FACTOR


WORDS = [54834, 6052, 53004, 45286, 53940, 52176, 38325, 47771]
WIDE_WORDS = ["0x6ae2583baa6779c3", "0xded7b1894c25d435"]
CONTINUED = ["0xaa107841d95be3f1", "0x38351c0eaf98ad69"]
OF_A_FACTOR = ["0x7774", "0x90dc", "0x92d3"]


@pytest.mark.parametrize("bits", [16, 64])
def test_a_record_has_its_word_whatever_it_is_asked_with(bits: int) -> None:
    whole = DRAWS.column(["sex"], RECORDS)
    words = whole.words(bits)
    for start, stop in ((0, 1), (3, 4), (7, 19), (8, 16), (501, 1000), (4, 4)):
        part = slice(start, stop)
        np.testing.assert_array_equal(whole.chosen(part).words(bits), words[part])
        np.testing.assert_array_equal(
            DRAWS.column(["sex"], range(start, stop)).words(bits), words[part]
        )
    some = np.array([999, 3, 3, 500])
    np.testing.assert_array_equal(DRAWS.column(["sex"], some).words(bits), words[some])
    np.testing.assert_array_equal(whole.chosen(some).words(bits), words[some])
    # Few records of a long file, and so many that all words are made.
    for step in (400, 50, 9, 8, 7, 2, 1):
        some_of = np.arange(3, RECORDS, step)[::-1]
        np.testing.assert_array_equal(whole.chosen(some_of).words(bits), words[some_of])
    far = np.array([2**40 + 5, 2**40, 3])
    np.testing.assert_array_equal(
        DRAWS.column(["sex"], far).words(bits)[:2],
        DRAWS.column(["sex"], range(2**40, 2**40 + 6)).words(bits)[[5, 0]],
    )
    np.testing.assert_array_equal(
        whole.chosen(slice(2, 900)).continued(some[1:3], 2), whole.continued(some[1:3] + 2, 2)
    )


def test_key_plan_purpose_and_names_all_count() -> None:
    columns = [
        DRAWS.column(["a", "b"], RECORDS),
        DRAWS.column(["b", "a"], RECORDS),
        DRAWS.column(["ab"], RECORDS),
        DRAWS.column(["a", "b"], RECORDS).factor(0),
        KeyedDraws(KEY[::-1], PLAN).column(["a", "b"], RECORDS),
        KeyedDraws(KEY, PLAN[::-1]).column(["a", "b"], RECORDS),
    ]
    words = [column.words(bits).tobytes() for column in columns for bits in (16, 64)]
    assert len(set(words)) == len(words)
    alike = [np.mean(a.words() == b.words()) for a in columns for b in columns if a is not b]
    assert max(alike) < 0.01  # by chance 1 / 65,536 of them


def test_a_key_is_of_32_bytes_and_never_shown() -> None:
    assert len({new_key() for _ in range(100)}) == 100
    assert all(len(new_key()) == 32 for _ in range(5))
    assert repr(KEY) not in repr(DRAWS)
    assert KEY.hex() not in repr(DRAWS.column(["a"], 3))
    with pytest.raises(DeniableError, match="32 bytes, not 31"):
        KeyedDraws(KEY[1:], PLAN)


# -- the order of all records ----------------------------------------------------------------------


def order_of(draws: KeyedDraws, records: int) -> np.ndarray:
    return by_words(draws.order_words(range(records)))


def order_by_hand(records: int) -> np.ndarray:
    """The documentation's words once more: a key stream, two numbers a record."""
    counter = modes.CTR(bytes(16))
    stream = Cipher(algorithms.AES(subkey(b"order")), counter).encryptor()
    words = np.frombuffer(stream.update(bytes(16 * records)), dtype="<u8")
    return np.lexsort((words[1::2], words[::2]))


@pytest.mark.parametrize("records", [0, 1, 2, 1000])
def test_an_order_is_a_permutation_of_all_records(records: int) -> None:
    order = order_of(DRAWS, records)
    np.testing.assert_array_equal(np.sort(order), np.arange(records))
    np.testing.assert_array_equal(order, order_by_hand(records))


def test_the_order_is_the_one_that_is_written_down() -> None:
    """A change of the known answer is a change of the layout: it takes a new version."""
    assert order_of(DRAWS, 8).tolist() == ORDER
    # So many that fewer bits than all of a word would tie.
    np.testing.assert_array_equal(order_of(DRAWS, 100_000), order_by_hand(100_000))


ORDER = [5, 3, 2, 7, 4, 1, 0, 6]


def test_an_order_hangs_on_key_and_plan() -> None:
    draws = [DRAWS, KeyedDraws(KEY[::-1], PLAN), KeyedDraws(KEY, PLAN[::-1])]
    assert len({tuple(order_of(each, RECORDS).tolist()) for each in draws}) == 3


class Tied:
    """A cipher whose key stream has few first words, so that second ones decide."""

    SECOND = (9, 2, 2**63, 2, 0, 5)  # more than a signed number holds; once the same

    def __init__(self, *_: object) -> None: ...

    def encryptor(self) -> "Tied":
        return self

    def update(self, zeros: bytes) -> bytes:
        assert zeros == bytes(16 * len(self.SECOND))
        words = [each for i, second in enumerate(self.SECOND) for each in (i % 2, second)]
        return np.array(words, dtype="<u8").tobytes()


def test_records_that_tie_stand_by_their_second_words_then_by_number(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr("deniable.sampling.keyed.Cipher", Tied)
    # First words 0, 1, 0, 1, 0, 1; second words of records 1 and 3 are alike.
    assert order_of(DRAWS, 6).tolist() == [4, 0, 2, 1, 3, 5]
