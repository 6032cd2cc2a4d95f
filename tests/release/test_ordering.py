"""The order of the key by way of the disk is the order of all words in memory."""

from collections.abc import Iterator
from pathlib import Path

import numpy as np
import pyarrow as pa
import pytest
from tests.release.small_releases import known_key, plan_for, records

from deniable.release import drawing, protect
from deniable.release.records import _Groups
from deniable.sampling import KeyedDraws, Words, by_words

DRAWS = KeyedDraws(bytes(range(32)), b"plan")
BATCH = 64
CATEGORIES = {"a": pa.array(["x", "y", "z"]), "b": pa.array(map(str, range(300)))}


class FewWords(KeyedDraws):
    """Draws whose words tie: first ones have two leading bits alone, second ones one bit."""

    def order_words(self, records: range) -> Words:
        return super().order_words(records) & np.array([3 << 62, 1], dtype=np.uint64)


def table(records: int) -> pa.Table:
    rng = np.random.default_rng(1)
    codes = {
        "a": rng.integers(0, 3, records).astype(np.uint8),
        "b": rng.integers(0, 300, records).astype(np.uint16),
    }
    coded = {
        name: pa.DictionaryArray.from_arrays(pa.array(each), CATEGORIES[name])
        for name, each in codes.items()
    }
    texts = pa.array([None if i % 7 == 3 else f"person {i}" for i in range(records)], pa.string())
    # Names that are places, as the parts name their columns.
    return pa.table({"0": texts, "a": coded["a"], "1": pa.array(rng.normal(size=records))} | coded)


@pytest.mark.parametrize("draws", [DRAWS, FewWords(DRAWS.key, DRAWS.plan)])
@pytest.mark.parametrize(
    ("records", "rows"), [(1, 1), (BATCH, 10), (BATCH + 1, BATCH), (1000, 130), (5000, BATCH)]
)
def test_all_records_have_the_place_that_the_words_give_them(
    records: int,
    rows: int,
    draws: KeyedDraws,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(drawing, "BATCH", BATCH)
    whole = table(records)
    parts = (whole.slice(start, rows) for start in range(0, records, rows))
    made = list(drawing.in_order_of_key(parts, draws, records, tmp_path))
    joined = pa.concat_tables(made)
    assert joined.schema == whole.schema
    order = by_words(draws.order_words(range(records)))
    assert joined.to_pylist() == whole.take(pa.array(order)).to_pylist()
    assert not list(tmp_path.iterdir())
    if draws is DRAWS:  # at 64 to a part, four times as many are beyond all chance
        assert max(len(own) for own in made) < 4 * BATCH


def test_words_order_by_the_first_then_the_second_then_as_they_are() -> None:
    words = np.array([[2**63, 0], [1, 2**63], [1, 5], [0, 9], [1, 5]], dtype=np.uint64)
    assert by_words(words).tolist() == [3, 2, 4, 1, 0]


def test_another_dictionary_in_a_later_table_is_an_error(tmp_path: Path) -> None:
    tables = [pa.table({"a": pa.array(each).dictionary_encode()}) for each in (["x"], ["y"])]
    with pytest.raises(ValueError, match="'a' has another dictionary in a later table"):
        list(drawing.in_order_of_key(tables, DRAWS, 2, tmp_path))


def test_no_original_order_is_left_if_the_draw_breaks_off(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Neither on the way into the parts nor out of them; and the scratch is its owner's alone."""
    given = records(400), plan_for("columns"), tmp_path / "made"
    keys = known_key(tmp_path, "made")
    monkeypatch.setattr(drawing, "BATCH", BATCH)
    seen: list[int] = []

    def broken(*_: object) -> Iterator[None]:
        (scratch,) = tmp_path.rglob(".order.*")
        seen.append(len(list(scratch.iterdir())))
        assert scratch.stat().st_mode & 0o777 == 0o700
        raise KeyboardInterrupt

    for where, name in ((drawing, "_read_part"), (_Groups, "write"), (drawing, "_put_by_part")):
        with monkeypatch.context() as patch:
            patch.setattr(where, name, broken)
            with pytest.raises(KeyboardInterrupt):
                protect(*given, ledger=tmp_path / "ledger", key_folder=keys)
        assert not list(tmp_path.rglob(".order.*"))
        assert not list(tmp_path.rglob(".draft.*"))
    assert seen == [8, 7, 0]
    protect(*given, ledger=tmp_path / "ledger", key_folder=keys)
    assert (tmp_path / "made" / "public").exists()
