"""The key of a release: made once, kept from all, and what a begun release is held to."""

import multiprocessing
import os
import platform
import re
import stat
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest

from deniable.errors import DeniableError
from deniable.files import write_once
from deniable.release import Ledger, RecordDigests, canonical
from deniable.release.counted import JOURNAL_FILE
from deniable.release.counting.digests import Fingerprint, Sketch
from deniable.release.keys import (
    KEY_FILE,
    PRIVATE,
    PUBLIC,
    PlaceOfKey,
    ReleaseKey,
    key_for,
    key_from_seed,
)
from deniable.sampling import KeyedColumn
from deniable.schema import RecordsFile, Schema, schema_from_dict

COLUMNS = {"a": ("x", "y"), "b": ("0", "1", "2")}


def schema(columns: dict[str, tuple[str, ...]] = COLUMNS, numbers: tuple[str, ...] = ()) -> Schema:
    categories = [
        {"name": name, "kind": "categorical", "categories": list(own)}
        for name, own in columns.items()
    ]
    bounded = [
        {"name": name, "kind": "numeric", "bounds": [-9, 9], "type": "double"} for name in numbers
    ]
    about = {"format": "deniable-schema", "version": 1, "population": "people"}
    return schema_from_dict(about | {"file": {"kind": "arrow"}, "columns": [*categories, *bounded]})


def digests(table: pd.DataFrame, of: Schema | None = None) -> RecordDigests:
    """Return the digests of records that a ledger stores."""
    chosen = schema() if of is None else of
    made, sketch = Fingerprint(chosen), Sketch(bytes(32))
    for batch in RecordsFile.open(table, chosen).portions(seen=sketch.add):
        made.add(batch)
    return sketch.with_fingerprint(made)


def records(seed: int = 1) -> pd.DataFrame:
    drawn = np.random.default_rng(seed)
    return pd.DataFrame(
        {"a": np.array(["x", "y"])[drawn.integers(0, 2, 50)]}
        | {"b": drawn.integers(0, 3, 50).astype(str)}
    )


LABEL = "small-0123456789abcdef"


def place_of(keys: Path | None = None, label: str = LABEL) -> PlaceOfKey:
    """Return the place of the key of a release, in a folder of keys if there is one."""
    return PlaceOfKey("small", str(keys) if keys else None, label, platform.node())


def key_at(folder: Path, *place: Any, counted: bool = False) -> ReleaseKey:
    """Return the key of a release in a folder; make it if there is none."""
    return key_for(folder, place_of(*place), counted)


def interrupted(*_: object) -> None:
    raise KeyboardInterrupt


def numbers() -> pd.DataFrame:
    drawn = np.random.default_rng(1)
    values = drawn.normal(size=(50, 2))
    labels = np.array(["small", "large"])[drawn.integers(0, 2, 50)]
    return pd.DataFrame({"width": values[:, 0], "height": values[:, 1], "size": labels})


def entries(folder: Path) -> list[str]:
    return sorted(path.name for path in folder.iterdir())


# -- one file, once --------------------------------------------------------------------------------


@pytest.mark.parametrize("umask", [0o000, 0o002, 0o022, 0o027, 0o077])
@pytest.mark.parametrize("there", [False, True], ids=["new", "open folder"])
def test_the_key_is_its_owners_alone_whatever_the_umask(
    tmp_path: Path, umask: int, there: bool
) -> None:
    private = tmp_path / "small" / PRIVATE
    if there:
        private.mkdir(mode=0o755, parents=True)
    before = os.umask(umask)
    try:
        key_at(tmp_path / "small")
    finally:
        os.umask(before)
    assert stat.S_IMODE(private.stat().st_mode) == 0o700
    assert entries(private) == [KEY_FILE]
    for file in private.iterdir():
        assert stat.S_IMODE(file.stat().st_mode) == 0o600
        assert file.stat().st_nlink == 1
    assert (private / KEY_FILE).stat().st_size == 32


def test_the_key_is_made_once_from_the_operating_system(tmp_path: Path) -> None:
    keys = [key_at(tmp_path / name) for name in ("one", "one", "other")]
    assert keys[0] == keys[1] != keys[2]
    assert keys[0].value == (tmp_path / "one" / PRIVATE / KEY_FILE).read_bytes()
    assert keys[0] != key_from_seed(1, "test", "small")


def asked(folder: Path, barrier: Any, found: Any) -> None:
    barrier.wait()
    found.put(key_at(folder).value)


def test_processes_that_start_at_once_have_one_key(tmp_path: Path) -> None:
    context = multiprocessing.get_context("spawn")
    for attempt in range(2):
        barrier, found = context.Barrier(4), context.Queue()
        folder = tmp_path / str(attempt)
        started = [context.Process(target=asked, args=(folder, barrier, found)) for _ in range(4)]
        for process in started:
            process.start()
        keys = {found.get(timeout=60) for _ in started}
        for process in started:
            process.join(60)
        assert keys == {(folder / PRIVATE / KEY_FILE).read_bytes()}
        assert entries(folder / PRIVATE) == [KEY_FILE]


def test_keys_of_test_releases_follow_from_seed_and_name() -> None:
    keys = {key_from_seed(seed, "test", name).value for seed in (1, 2) for name in ("a", "b")}
    assert len(keys) == 4
    assert key_from_seed(1, "test", "a").value in keys


def test_a_key_of_another_length_is_refused(tmp_path: Path) -> None:
    key_at(tmp_path)
    (tmp_path / PRIVATE / KEY_FILE).write_bytes(b"short")
    with pytest.raises(DeniableError, match="private/key: damaged, 5 of 32 bytes; restore it"):
        key_at(tmp_path)


# -- records that the ledger tells apart -----------------------------------------------------------


def changed(data: pd.DataFrame) -> dict[str, RecordDigests]:
    """Return digests of other records, by their difference."""
    other, order = data.copy(), np.arange(50)
    other.loc[17, "b"] = str((int(data.loc[17, "b"]) + 1) % 3)
    # One record put in front of the one after it: counts are the same.
    at = next(i for i in range(49) if tuple(data.iloc[i]) != tuple(data.iloc[i + 1]))
    order[[at, at + 1]] = at + 1, at
    recoded = data.replace({"a": {"y": "z"}})
    one = {"a": COLUMNS["a"]}
    return {
        "a value": digests(other),
        "order": digests(data.iloc[order]),
        "one less": digests(data[:-1]),
        "name": digests(
            data.rename(columns={"a": "c"}), schema({"c": COLUMNS["a"], "b": COLUMNS["b"]})
        ),
        # Of names alone: the columns' order by name is what it was.
        "name in its place": digests(
            data.rename(columns={"b": "bb"}), schema(one | {"bb": COLUMNS["b"]})
        ),
        "category": digests(recoded, schema({"a": ("x", "z"), "b": COLUMNS["b"]})),
        "categories": digests(data, schema({"a": ("y", "x"), "b": COLUMNS["b"]})),
        "an attribute less": digests(data[["a"]], schema(one)),
    }


@pytest.mark.parametrize("how", changed(records()))
def test_other_records_have_another_digest(how: str) -> None:
    assert changed(records())[how].whole != digests(records()).whole


def of_numbers(table: pd.DataFrame, names: tuple[str, ...] = ("width", "height")) -> str:
    columns = {"size": ("small", "large")} if "size" in table else {}
    return digests(table, schema(columns, names)).whole


def test_other_numbers_have_another_digest() -> None:
    data = numbers()
    last, label = data.copy(), data.copy()
    last.loc[3, "height"] = np.nextafter(last.loc[3, "height"], np.inf)
    label.loc[3, "size"] = "small" if data.loc[3, "size"] == "large" else "large"
    renamed = data.rename(columns={"width": "widths"})
    for other in (
        of_numbers(last),
        of_numbers(label),
        of_numbers(data[["width", "height"]]),
        of_numbers(renamed, ("widths", "height")),
        of_numbers(data[::-1]),
        of_numbers(data[["width", "size"]], ("width",)),
    ):
        assert other != of_numbers(data)


def test_the_same_records_of_any_file_have_one_digest(tmp_path: Path) -> None:
    data = records()
    data.to_parquet(tmp_path / "r.parquet", row_group_size=7)
    data[["b", "a"]].to_csv(tmp_path / "r.csv", index=False)
    turned = dict(reversed(COLUMNS.items()))
    for kind in ("parquet", "csv"):
        for columns in (COLUMNS, turned):
            of = schema_from_dict(schema(columns).to_json() | {"file": {"kind": kind}})
            assert digests(tmp_path / f"r.{kind}", of) == digests(data)


def test_the_same_numbers_of_any_file_have_one_digest(tmp_path: Path) -> None:
    data = numbers()
    data.to_parquet(tmp_path / "n.parquet")
    same = pd.read_parquet(tmp_path / "n.parquet")[["height", "size", "width"]]
    for each in (same, data):
        assert of_numbers(each, ("height", "width")) == of_numbers(data)


# -- a lost key ------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    "there", [PUBLIC, f"{PRIVATE}/entry.json", f"{PRIVATE}/{JOURNAL_FILE}", None]
)
def test_a_draw_whose_key_is_lost_is_refused(tmp_path: Path, there: str | None) -> None:
    folder = tmp_path / "small"
    key, file = key_at(folder), folder / PRIVATE / KEY_FILE
    kept = file.read_bytes()
    file.unlink()
    if there:
        (folder / there).touch()
    with pytest.raises(DeniableError) as refused:
        key_at(folder, counted=there is None)
    said = str(refused.value)
    trace = str(folder / there) if there else "its entry in the ledger"
    for part in (f"release 'small': {trace} exists", str(file), "Restore that file", "a new name"):
        assert part in said
    assert not file.exists()
    write_once(file, kept)
    assert key_at(folder, counted=there is None) == key


# -- where keys lie --------------------------------------------------------------------------------


def test_a_key_in_a_folder_that_the_owner_names(tmp_path: Path) -> None:
    (tmp_path / "keys").mkdir(mode=0o755)
    keys, folder = tmp_path / "keys", tmp_path / "small"
    key = key_at(folder, keys)
    (file,) = (tmp_path / "keys").rglob(KEY_FILE)
    assert file.read_bytes() == key.value
    assert file.parent.name == LABEL
    assert stat.S_IMODE(file.stat().st_mode) == 0o600
    assert stat.S_IMODE(file.parent.stat().st_mode) == 0o700
    assert stat.S_IMODE((tmp_path / "keys").stat().st_mode) == 0o755
    assert entries(folder / PRIVATE) == []
    # Of the same name in another project: not the same key.
    assert key_at(tmp_path / "other" / "small", keys, "small-other") != key
    # Another place, after the release was counted, is refused and gets no key.
    with pytest.raises(DeniableError, match=r"private/key, does not.*name the place of the key"):
        key_at(folder, counted=True)
    assert key_at(folder, keys, counted=True) == key
    place_of(keys).remove(folder / PRIVATE)
    assert not file.parent.exists()
    # As of a folder in memory, after the machine was started again.
    with pytest.raises(DeniableError, match=r"the key that the .*keys/small-.*, does not"):
        key_at(folder, keys, counted=True)


def test_labels_differ_by_ledger_population_and_name(tmp_path: Path) -> None:
    """Under one label the releases of two projects would be drawn by one key."""
    ledgers = [Ledger.init(tmp_path / name) for name in ("one", "other")]
    named = [(people, name) for people in ("people", "others") for name in ("small", "smaller")]
    labels = [ledger.label(*each) for ledger in ledgers for each in named]
    assert len(set(labels)) == 8
    for label in labels[::2]:
        assert re.fullmatch("small-[0-9a-f]{16}", label)
    assert Ledger(tmp_path / "one").label("People", "small") == labels[0]
    keys = [ledger.record_key(*each) for ledger in ledgers for each in named]
    assert len(set(keys)) == 8
    assert Ledger(tmp_path / "one").record_key("People", "small") == keys[0]


def test_a_key_is_made_where_there_is_none_and_is_never_replaced(tmp_path: Path) -> None:
    for place in (place_of(), place_of(tmp_path / "keys")):
        private = tmp_path / str(place.folder is None) / PRIVATE
        file = place.file(private)
        assert not file.exists()
        made = place.key(private)
        assert made == file.read_bytes()
        assert len(made) == 32
        assert place.key(private) == made == file.read_bytes()


def test_what_a_killed_process_left_of_a_key_is_removed_with_it(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Killed between the link that gives the key its name and the end of the temporary name."""
    kept = Path.unlink

    def not_the_key(path: Path, missing_ok: bool = False) -> None:
        if not path.name.startswith(".key."):
            kept(path, missing_ok=missing_ok)

    for place in (place_of(), place_of(tmp_path / "keys")):
        private = tmp_path / str(place.folder is None) / PRIVATE
        monkeypatch.setattr(Path, "unlink", not_the_key)
        key_at(private.parent, place.folder)
        monkeypatch.setattr(Path, "unlink", kept)
        file = place.file(private)
        assert len(list(file.parent.glob(".key.*"))) == 1
        place.remove(private)
        assert not file.parent.exists() or not list(file.parent.glob("*key*"))


def test_a_key_that_is_not_where_it_was_begun_is_told_of(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    place = place_of(tmp_path / "memory")
    monkeypatch.setattr("platform.node", lambda: "another machine")
    with pytest.warns(UserWarning, match="remove the key there"):
        place.remove(tmp_path / "small" / PRIVATE)


@pytest.mark.parametrize("how", ["0644", "0640", "0604", "0620", "a link", "somebody else's"])
def test_a_key_that_others_can_have_made_is_refused(
    tmp_path: Path, how: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    file = tmp_path / "small" / PRIVATE / KEY_FILE
    write_once(file, bytes(range(32)))
    if how.isdigit():
        file.chmod(int(how, 8))
    elif how == "a link":
        file.rename(tmp_path / "planted")
        file.symlink_to(tmp_path / "planted")
    else:
        monkeypatch.setattr(os, "geteuid", lambda: file.stat().st_uid + 1)
    with pytest.raises(
        DeniableError, match=r"not this user's alone|a key must be a file of its owner"
    ):
        key_at(tmp_path / "small")


# -- keys ------------------------------------------------------------------------------------------


def test_no_key_is_shown(tmp_path: Path) -> None:
    key = key_at(tmp_path)
    draws = key.draws({"p": 0.5})
    shown = [key, draws, draws.column(["a"], 3), [key], {"key": key}]
    for each in shown:
        for said in (repr(each), str(each), f"{each}"):
            assert repr(key.value) not in said
            assert repr(key.value)[2:-1] not in said
            assert key.value.hex() not in said
    with pytest.raises(DeniableError) as refused:
        ReleaseKey(b"secret").draws({})
    assert "secret" not in str(refused.value)


def test_a_digest_hangs_on_key_purpose_and_parts() -> None:
    key = key_from_seed(1)
    found = {
        key.digest("records", iter([b"ab", b"c"])),
        key.digest("records", iter([b"a", b"bc"])),
        key.digest("records", iter([b"abc"])),
        key.digest("plan", iter([b"abc"])),
        key_from_seed(2).digest("records", iter([b"abc"])),
    }
    assert len(found) == 5
    assert all(len(each) == 64 for each in found)


def test_plans_are_told_apart_and_order_of_keys_is_not() -> None:
    key = key_from_seed(1)

    def words(plan: Any) -> list[int]:
        column: KeyedColumn = key.draws(plan).column(["a"], 40)
        return [int(each) for each in column.words()]

    assert words({"p": 0.5, "q": "é"}) == words({"q": "é", "p": 0.5})
    other = [{"p": 0.5}, {"p": np.nextafter(0.5, 1).item()}, {"q": 0.5}, ["p", 0.5], None]
    assert len({tuple(words(plan)) for plan in other}) == len(other)
    assert canonical({"b": 1, "a": [0.1]}) == b'{"a": [0.1], "b": 1}'
    with pytest.raises(ValueError, match="JSON"):
        canonical({"p": float("nan")})
