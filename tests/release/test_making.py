"""One draw of a release, whatever is killed, lost or started twice; and its folders."""

import errno
import io
import json
import math
import os
import re
import shutil
import stat
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import fields, replace
from fractions import Fraction
from pathlib import Path
from typing import Any

import pandas as pd
import pyarrow.parquet as pq
import pytest
from tests.release.small_releases import (
    KINDS,
    but_for_the_entry,
    content,
    known_key,
    ledger_in,
    made,
    plan_for,
    records,
    written,
)

from deniable.errors import DataError, DeniableError
from deniable.files import read_json, sha256, write_once
from deniable.plans import Plan, plan_from_json, plan_to_json
from deniable.release import Ledger, protect, protect_test
from deniable.release.contents import write_documents
from deniable.release.counted import (
    JOURNAL_FILE,
    Journal,
    current_versions,
    journal_of,
    store_journal,
)
from deniable.release.keys import KEY_FILE, PlaceOfKey
from deniable.release.receipts import RECEIPT, SUMS, faults_of_receipt

PLACE = PlaceOfKey("small", None, "small-1", "this machine")
MADE = "deniable.release.making"


@pytest.fixture(params=KINDS)
def kind(request: pytest.FixtureRequest) -> str:
    return str(request.param)


def mode(path: Path) -> int:
    return stat.S_IMODE(path.stat().st_mode)


# -- files -----------------------------------------------------------------------------------------


def test_two_folders_one_for_all_and_one_for_the_owner(kind: str, tmp_path: Path) -> None:
    before = os.umask(0)
    try:
        public = made(kind, tmp_path)
    finally:
        os.umask(before)
    folder, plan = tmp_path / "small", plan_for(kind)
    assert sorted(path.name for path in folder.iterdir()) == ["private", "public"]
    listed = {line.split("  ")[1] for line in public[SUMS].decode().splitlines()}
    assert listed | {SUMS} == set(public)
    protected = f"{plan.protected_name}.{plan.schema.file.kind}"
    more = {"histograms.csv"} if kind == "histograms" else set()
    more |= {"matrices.csv"} if plan.channels() else set()
    assert set(public) == {protected, "plan.json", "README.txt", SUMS} | more
    private = {path.name for path in (folder / "private").iterdir()}
    states = {JOURNAL_FILE, "receipt.json"}
    owner = {"risk.csv", "exact_cells.csv", "outside_bounds.csv"}
    assert private - owner == states | {"entry.json", "published.json", "log.jsonl"}
    assert mode(folder / "private") == 0o700
    assert {mode(path) for path in (folder / "private").iterdir()} == {0o600}
    assert mode(folder / "public") == 0o777  # by the umask
    assert {mode(path) for path in (folder / "public").iterdir()} == {0o666}
    assert not (folder / "private" / KEY_FILE).exists()
    assert faults_of_receipt(folder / RECEIPT) == []


def test_a_public_plan_is_the_plan_with_the_facts_of_its_release(kind: str, tmp_path: Path) -> None:
    made(kind, tmp_path, data_source="surrogate")
    document = read_json(tmp_path / "small" / "public" / "plan.json")
    assert plan_to_json(plan_from_json(document)) == plan_to_json(plan_for(kind))
    entry = Ledger(tmp_path / "ledger").entries("people")[0]
    block = document["release"]
    assert {name: block[name] for name in ("name", "mode", "data_source")} == {
        "name": "small",
        "mode": "production",
        "data_source": "surrogate",
    }
    assert set(block) == {"name", "mode", "notice", "records", "data_source", "shuffled", "ledger"}
    assert block["ledger"]["entry"] == entry.number == 1
    private = read_json(tmp_path / "small" / "private" / "entry.json")
    assert {name: private[name] for name in block["ledger"]} == block["ledger"]


def test_a_test_release_has_the_same_files_and_protects_nobody(kind: str, tmp_path: Path) -> None:
    first, again, plan = tmp_path / "first", tmp_path / "again", plan_for(kind)
    file = written(records(), plan, tmp_path / "records")
    for folder in (first, again, again):
        protect_test(file, plan, folder, 1, name="tried")
    assert content(first) == content(again)
    assert mode(first / "private") == 0o700
    assert set(made(kind, tmp_path)) == set(content(first / "public"))
    assert "NOTICE: TEST RELEASE" in (first / "public" / "README.txt").read_text("utf-8")
    assert read_json(first / "public" / "plan.json")["release"]["mode"] == "test"
    protect_test(file, plan, again, 2, name="tried")
    drawn = f"public/{plan.protected_name}.{plan.schema.file.kind}"
    assert (first / drawn).read_bytes() != (again / drawn).read_bytes()
    assert len(Ledger(tmp_path / "ledger").entries("people")) == 1


def test_no_protected_value_depends_on_the_ledger_or_the_owners_words(tmp_path: Path) -> None:
    first = made("columns", tmp_path / "1", known_key(tmp_path / "1"))
    words = "release 2 of people named small, total epsilon 4"
    ledger = ledger_in(tmp_path / "2/ledger")
    protect(records(), plan_for("columns"), tmp_path / "2/zero", ledger=ledger)
    keys = known_key(tmp_path / "2")
    second = made("columns", tmp_path / "2", keys, consent=words, quasi_identifiers=["a"])
    assert first["protected.parquet"] == second["protected.parquet"]


# -- once ------------------------------------------------------------------------------------------


def test_made_again_nothing_is_drawn_and_nothing_counted(kind: str, tmp_path: Path) -> None:
    first = made(kind, tmp_path)
    private = content(tmp_path / "small" / "private")
    del private["published.json"]  # it has the time of the records
    log = private.pop("log.jsonl")
    assert made(kind, tmp_path) == first
    (tmp_path / "small" / RECEIPT).unlink()
    assert made(kind, tmp_path) == first
    again = content(tmp_path / "small" / "private")
    assert again.items() >= private.items()
    assert again["log.jsonl"].startswith(log)
    assert len(Ledger(tmp_path / "ledger").entries("people")) == 1


def test_another_key_is_another_draw(kind: str, tmp_path: Path) -> None:
    folders = [tmp_path / "one", tmp_path / "other"]
    one, other = (made(kind, at, known_key(at, byte=i)) for i, at in enumerate(folders))
    plan = plan_for(kind)
    drawn = f"{plan.protected_name}.{plan.schema.file.kind}"
    assert one[drawn] != other[drawn]


class Killed(BaseException):
    """Ends a process at once, past all handlers."""


@contextmanager
def killed_at(
    monkeypatch: pytest.MonkeyPatch, place: str, call: int, after: bool
) -> Iterator[None]:
    """End the process at some call of a function, before or after it."""
    module, _, name = place.rpartition(".")
    owner: Any = Path if module.endswith("Path") else __import__(module, fromlist=["_"])
    kept, calls = getattr(owner, name), []

    def hooked(*given: Any, **options: Any) -> Any:
        calls.append(name)
        if len(calls) == call and not after:
            raise Killed
        found = kept(*given, **options)
        if len(calls) == call and after:
            raise Killed
        return found

    with monkeypatch.context() as patched:
        patched.setattr(owner, name, hooked)
        with pytest.raises(Killed):
            yield


KILLS = [
    ("deniable.release.keys.write_once", 1),  # the file system is tried
    ("deniable.release.keys._own_content", 1),  # the key
    ("deniable.release.counting.ledger.add_entry", 1),
    (f"{MADE}.store_entry", 1),
    ("deniable.release.drawing.write_documents", 1),
    ("deniable.release.counted.write_once", 1),
    (f"{MADE}.sync_tree", 1),
    ("pathlib.Path.rename", 1),
    (f"{MADE}.sync_to_disk", 1),
    (f"{MADE}.refuse_other_files", 1),  # the published files are verified
    ("deniable.release.keys.sync_to_disk", 1),  # the key is removed
    (f"{MADE}.store_states", 1),
    (f"{MADE}.write_once", 1),  # the receipt
]


@pytest.mark.parametrize("after", [False, True], ids=["before", "after"])
@pytest.mark.parametrize(("place", "call"), KILLS, ids=[f"{p[0]} {p[1]}" for p in KILLS])
def test_a_release_that_was_killed_goes_on_to_the_same(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, place: str, call: int, after: bool
) -> None:
    made("columns", tmp_path / "whole", known_key(tmp_path / "whole"))
    whole = but_for_the_entry(tmp_path / "whole" / "small" / "public")
    keys = known_key(tmp_path / "killed")
    with killed_at(monkeypatch, place, call, after):
        made("columns", tmp_path / "killed", keys)
    made("columns", tmp_path / "killed", keys)
    assert but_for_the_entry(tmp_path / "killed" / "small" / "public") == whole
    assert len(Ledger(tmp_path / "killed" / "ledger").entries("people")) == 1
    assert not list((tmp_path / "killed" / "small" / "private").glob(".*"))
    assert not list(keys.iterdir())


@pytest.mark.parametrize("place", [f"{MADE}.key_for", "deniable.release.drawing.write_documents"])
def test_a_job_that_was_thought_dead_publishes_nothing_of_its_own(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, place: str
) -> None:
    """Another one takes the release up and ends it while this one is still at work."""
    module, _, name = place.rpartition(".")
    kept = getattr(__import__(module, fromlist=["_"]), name)
    found: list[dict[str, bytes]] = []

    def meanwhile(*given: Any, **options: Any) -> Any:
        made_by_it = kept(*given, **options)
        monkeypatch.setattr(place, kept)
        found.append(made("columns", tmp_path))
        return made_by_it

    monkeypatch.setattr(place, meanwhile)
    assert made("columns", tmp_path) == found[0]
    assert len(Ledger(tmp_path / "ledger").entries("people")) == 1
    assert not (tmp_path / "small" / "private" / KEY_FILE).exists()


def test_files_of_a_process_at_work_are_left_to_it(tmp_path: Path) -> None:
    """They may vanish at any moment, and its receipt may be about to be put in place."""
    draft = tmp_path / "small" / "private" / ".draft.abcdefgh"
    draft.mkdir(parents=True)
    (draft / "protected.parquet").symlink_to("vanished")
    receipt = draft.with_name(".receipt.json.abcdefgh")
    receipt.write_text("{}")
    made("columns", tmp_path)
    assert [file.name for file in draft.parent.glob(".*")] == [receipt.name]
    os.utime(receipt, (0, 0))
    made("columns", tmp_path)
    assert not receipt.exists()


def test_a_damaged_population_is_refused_before_anything_is_stored(tmp_path: Path) -> None:
    made("columns", tmp_path)
    (tmp_path / "ledger" / "populations" / "people" / "000001.json").write_text("")
    plan = plan_for("columns", population="others")
    with pytest.raises(DeniableError, match=r"people/000001\.json: this entry is damaged"):
        protect(records(), plan, tmp_path / "more" / "small", ledger=tmp_path / "ledger")
    assert not (tmp_path / "more").exists()


# -- what was lost, or is not what it was ----------------------------------------------------------


@pytest.mark.parametrize("text", ["[]", "null", "{}", '{"release": null}', "[" * 10**5], ids=len)
def test_an_edited_plan_is_one_message_also_if_its_list_was_edited(
    tmp_path: Path, text: str
) -> None:
    made("columns", tmp_path)
    public, receipt = tmp_path / "small" / "public", tmp_path / "small" / RECEIPT
    (public / "plan.json").write_text(text)
    names = [line.split("  ")[1] for line in (public / SUMS).read_text().splitlines()]
    (public / SUMS).write_text("".join(f"{sha256(public / n)}  {n}\n" for n in names))
    before = receipt.read_bytes()
    with pytest.raises(DeniableError, match=r"plan\.json: missing, or edited since it was publ"):
        made("columns", tmp_path)
    assert receipt.read_bytes() == before
    receipt.unlink()
    with pytest.raises(DeniableError, match=r"plan\.json: damaged or edited since it was made"):
        made("columns", tmp_path)
    assert not receipt.exists()


@pytest.mark.parametrize("lost", ["public/protected.parquet", "public/plan.json", "public/x"])
def test_published_files_are_never_replaced(tmp_path: Path, lost: str) -> None:
    made("columns", tmp_path)
    file = tmp_path / "small" / lost
    if file.exists():
        file.unlink()
    else:
        file.write_text("more")
    before = content(tmp_path / "small" / "public")
    with pytest.raises(DataError, match=f"{file.name}: (missing|not in its list)"):
        made("columns", tmp_path)
    assert content(tmp_path / "small" / "public") == before


def test_an_edited_file_is_named(tmp_path: Path) -> None:
    made("columns", tmp_path)
    file = tmp_path / "small" / "public" / "README.txt"
    file.write_text(file.read_text() + "\n")
    assert "README.txt: missing, or edited" in faults_of_receipt(tmp_path / "small" / RECEIPT)[0]
    with pytest.raises(DataError, match=r"README\.txt: damaged or edited"):
        made("columns", tmp_path)


def test_no_key_no_second_draw(tmp_path: Path) -> None:
    made("columns", tmp_path)
    shutil.rmtree(tmp_path / "small" / "public")
    (tmp_path / "small" / RECEIPT).unlink()
    with pytest.raises(DeniableError, match=r"but the key that the release was begun with.*Restor"):
        made("columns", tmp_path)
    assert not (tmp_path / "small" / "public").exists()


def test_the_ledger_knows_a_release_whose_folder_is_gone(tmp_path: Path) -> None:
    first = made("columns", tmp_path)
    shutil.rmtree(tmp_path / "small")
    with pytest.raises(DeniableError, match=r"its entry in the ledger exists, but the key"):
        made("columns", tmp_path)
    assert not (tmp_path / "small" / "public").exists()
    assert first


def test_a_published_release_without_its_entry_is_refused(tmp_path: Path) -> None:
    made("columns", tmp_path)
    entry = tmp_path / "small" / "private" / "entry.json"
    before = entry.read_text()
    damages = ("entry", "0"), ("entry", "true"), ("entry", "1" * 99), ("total", "[]"), ("head", "1")
    damages += ("population", "{}"), ("release", "null"), ("ledger", "1.5")
    edits = [json.dumps(json.loads(before) | {name: json.loads(v)}) for name, v in damages]
    for text in ("", "{}", "[" * 10**5, *edits):
        entry.write_text(text)
        with pytest.raises(
            DeniableError, match=r"entry\.json: missing or damaged since the ledger"
        ):
            made("columns", tmp_path)
    for edited in ('"total": "3', '"release": "other', '"ledger": "x'):
        name = edited.partition(":")[0]
        entry.write_text(re.sub(f'{name}: "[0-9a-z]', edited, before))
        with pytest.raises(DeniableError, match=r"restore the ledger from a copy, or name"):
            made("columns", tmp_path)
    entry.write_text(before)
    shutil.rmtree(tmp_path / "ledger" / "populations" / "people")
    with pytest.raises(
        DeniableError, match=r"people/000001\.json: this entry is lost.* restore it"
    ):
        made("columns", tmp_path)
    (tmp_path / "ledger" / "heads" / "people.json").unlink()
    with pytest.raises(DeniableError, match=r"does not have its entry, number 1; restore the led"):
        made("columns", tmp_path)


def test_a_begun_release_is_compared_with_the_ledger_that_counted_it(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Else a new ledger would count it again, as the first one."""
    with killed_at(monkeypatch, "deniable.release.drawing.write_documents", 1, after=False):
        made("columns", tmp_path)
    shutil.rmtree(tmp_path / "ledger")
    with pytest.raises(DeniableError, match=r"'small' .* was counted in another ledger than"):
        made("columns", tmp_path)
    assert Ledger(tmp_path / "ledger").populations() == ()


def test_a_folder_has_one_release(tmp_path: Path) -> None:
    made("columns", tmp_path)
    for changed in ({"name": "other"}, {"plan": plan_for("columns", population="others")}):
        given = {"name": "small", "plan": plan_for("columns"), "ledger": tmp_path / "ledger"}
        given |= changed
        with pytest.raises(DeniableError, match="small: release 'small' of population 'people' is"):
            protect(records(), given.pop("plan"), tmp_path / "small", **given)


def test_other_records_are_refused_also_before_anything_was_published(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    with killed_at(monkeypatch, "deniable.release.drawing.write_documents", 1, after=False):
        made("columns", tmp_path)
    corrected = records(699)
    with pytest.raises(DeniableError, match=r"was begun on .* with other records"):
        made("columns", tmp_path, data=corrected)
    # With the key copied to where a new release looks for it.
    key = (tmp_path / "small" / "private" / KEY_FILE).read_bytes()
    write_once(tmp_path / "elsewhere" / "small" / "private" / KEY_FILE, key)
    given = {"ledger": tmp_path / "ledger"}
    with pytest.raises(DeniableError, match="other records"):
        protect(corrected, plan_for("columns"), tmp_path / "elsewhere" / "small", **given)
    assert not list(tmp_path.rglob("public/protected.parquet"))


def test_another_draw_by_the_same_key_is_refused(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """As of a version that draws otherwise, between a kill and the next start."""
    with killed_at(monkeypatch, f"{MADE}.sync_tree", 1, after=False):
        made("columns", tmp_path)
    monkeypatch.setattr("deniable.sampling.keyed.VERSION", b"deniable keyed draws 2")
    with pytest.raises(DeniableError, match="with another plan or another key"):
        made("columns", tmp_path)
    monkeypatch.undo()
    journal = tmp_path / "small" / "private" / JOURNAL_FILE
    values = read_json(journal)
    journal.write_text(json.dumps(values | {"drawn": "0" * 32}))
    with pytest.raises(DeniableError, match=r"would differ from .* by deniable .*, pyarrow"):
        made("columns", tmp_path)
    assert not (tmp_path / "small" / "public").exists()


@pytest.mark.parametrize("text", ["", "{", "null", "[]", "{}", '{"place": {}}'])
@pytest.mark.parametrize("published", [False, True])
def test_a_damaged_journal_is_one_message(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, text: str, published: bool
) -> None:
    place = "pathlib.Path.rename" if published else f"{MADE}.sync_tree"
    with killed_at(monkeypatch, place, 1, after=published):
        made("columns", tmp_path)
    (tmp_path / "small" / "private" / JOURNAL_FILE).write_text(text)
    with pytest.raises(DeniableError, match=r"journal\.json: missing or damaged since the draw"):
        made("columns", tmp_path)
    assert (tmp_path / "small" / "public").exists() == published
    assert (tmp_path / "small" / "private" / KEY_FILE).exists()


@pytest.mark.parametrize("edit", [{"plan": []}, {"versions": "1"}, {"place": []}, {"more": 1}])
def test_a_journal_with_values_of_other_types_is_damaged(
    tmp_path: Path, edit: dict[str, Any]
) -> None:
    journal = Journal(PLACE, "aa", {"x": 1}, "bb", {"y": "2"})
    store_journal(tmp_path, journal)
    assert journal_of(tmp_path) == journal
    file = tmp_path / "private" / JOURNAL_FILE
    file.write_text(json.dumps(read_json(file) | edit))
    with pytest.raises(DeniableError, match=r"journal\.json: missing or damaged since the draw"):
        journal_of(tmp_path)


@pytest.mark.parametrize("edit", [{"records": "cc"}, {"drawn": "cc"}])
def test_a_journal_of_another_draw_is_refused(tmp_path: Path, edit: dict[str, Any]) -> None:
    journal = Journal(PLACE, "aa", {"x": 1}, "bb", {"y": "2"})
    store_journal(tmp_path, journal)
    store_journal(tmp_path, replace(journal, versions={"y": "3"}))
    with pytest.raises(DeniableError, match=r"would differ from those .* by y 2; continue with"):
        store_journal(tmp_path, replace(journal, **edit))
    assert journal_of(tmp_path) == journal


@pytest.mark.parametrize(
    ("name", "value"), [("folder", []), ("folder", 1.5), ("label", None), ("machine", 1)]
)
def test_a_journal_with_another_kind_of_place_is_one_message(
    tmp_path: Path, name: str, value: Any
) -> None:
    made("columns", tmp_path)
    journal = tmp_path / "small" / "private" / JOURNAL_FILE
    values = read_json(journal)
    values["place"][name] = value
    journal.write_text(json.dumps(values))
    with pytest.raises(DeniableError, match=r"journal\.json: missing or damaged since the draw"):
        made("columns", tmp_path)


def test_the_journal_states_the_draw(kind: str, tmp_path: Path) -> None:
    made(kind, tmp_path)
    values = read_json(tmp_path / "small" / "private" / JOURNAL_FILE)
    (entry,) = Ledger(tmp_path / "ledger").entries("people")
    assert set(values) == {each.name for each in fields(Journal)}
    assert (values["records"], values["versions"]) == (entry.records.whole, current_versions())
    assert values["plan"] == plan_to_json(plan_for(kind))
    assert re.fullmatch("[0-9a-f]{32}", values["drawn"])


def test_other_bytes_of_the_same_records_block_no_release(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """As by another version of pyarrow, between a kill and the next start."""
    with killed_at(monkeypatch, f"{MADE}.sync_tree", 1, after=False):
        made("columns", tmp_path, known_key(tmp_path))
    writer = pq.ParquetWriter

    def other(*given: Any, **options: Any) -> Any:
        return writer(*given, **options | {"compression": "gzip"})

    monkeypatch.setattr("deniable.release.records.pq.ParquetWriter", other)
    found = made("columns", tmp_path, known_key(tmp_path))
    monkeypatch.undo()
    same = made("columns", tmp_path / "2", known_key(tmp_path / "2"))
    both = [pd.read_parquet(io.BytesIO(each["protected.parquet"])) for each in (found, same)]
    assert found["protected.parquet"] != same["protected.parquet"]
    pd.testing.assert_frame_equal(*both)


@pytest.mark.parametrize("how", ["dangling link", "link", "file"])
def test_what_stands_in_place_of_public_is_refused_before_it_counts(
    tmp_path: Path, how: str
) -> None:
    (tmp_path / "small").mkdir()
    public = tmp_path / "small" / "public"
    if how == "file":
        public.write_text("a file")
    else:
        (tmp_path / "there").mkdir()
        public.symlink_to(tmp_path / ("there" if how == "link" else "nowhere"))
    with pytest.raises(DeniableError, match="public: a file or a link is there; remove it, or"):
        made("columns", tmp_path)
    assert Ledger(tmp_path / "ledger").populations() == ()
    assert [each.name for each in (tmp_path / "small").iterdir()] == ["public"]


@pytest.mark.parametrize("elsewhere", [False, True], ids=["key here", "key elsewhere"])
def test_a_file_system_without_hard_links_is_refused_before_it_counts(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, elsewhere: bool
) -> None:
    keys = known_key(tmp_path) if elsewhere else None
    kept = Path.hardlink_to

    def refuse(path: Path, target: Path) -> None:
        if "private" in path.parts:
            raise OSError(errno.EPERM, "Operation not permitted")
        kept(path, target)

    monkeypatch.setattr(Path, "hardlink_to", refuse)
    with pytest.raises(DeniableError, match="private: its file system has no hard links"):
        made("columns", tmp_path, keys, name="new/small")
    assert Ledger(tmp_path / "ledger").populations() == ()
    assert not (tmp_path / "new").exists()


def test_a_published_folder_that_is_gone_is_to_be_restored(tmp_path: Path) -> None:
    first = made("columns", tmp_path)
    (tmp_path / "small" / "public").rename(tmp_path / "copy")
    with pytest.raises(DeniableError, match=r"was published there, and is missing; restore it"):
        made("columns", tmp_path)
    (tmp_path / "copy").rename(tmp_path / "small" / "public")
    assert made("columns", tmp_path) == first


def test_a_key_that_is_nowhere_known_is_not_taken_for_removed(tmp_path: Path) -> None:
    made("columns", tmp_path, tmp_path / "keys")
    for lost in (RECEIPT, f"private/{JOURNAL_FILE}"):
        (tmp_path / "small" / lost).unlink()
    with pytest.raises(DeniableError, match=r"journal\.json: missing .* and its key cannot be"):
        made("columns", tmp_path, tmp_path / "keys")
    assert not (tmp_path / "small" / RECEIPT).exists()


def test_a_test_release_takes_no_production_release_s_place(tmp_path: Path) -> None:
    made("columns", tmp_path)
    before = content(tmp_path / "small")
    with pytest.raises(DeniableError, match="give the test release another name"):
        protect_test(records(), plan_for("columns"), tmp_path / "small", 1)
    assert content(tmp_path / "small") == before


def test_another_plan_is_refused_where_one_is_published(tmp_path: Path) -> None:
    first = made("columns", tmp_path)
    with pytest.raises(DeniableError, match="'small' was published by another plan; give this one"):
        made("columns", tmp_path, plan=plan_for("columns", 1.0))
    # The owner's words are not part of the plan.
    assert made("columns", tmp_path, consent="any words") == first


@pytest.mark.parametrize("edit", [{"total": "1"}, {"entry": 2}, {"head": "00"}])
def test_an_edited_ledger_entry_in_public_is_refused(tmp_path: Path, edit: dict[str, Any]) -> None:
    """The checksums were made anew, and the receipt was lost."""
    made("columns", tmp_path)
    public = tmp_path / "small" / "public"
    before, plan = sha256(public / "plan.json"), read_json(public / "plan.json")
    plan["release"]["ledger"] |= edit
    (public / "plan.json").write_text(json.dumps(plan))
    listed = (public / SUMS).read_text().replace(before, sha256(public / "plan.json"))
    (public / SUMS).write_text(listed)
    (tmp_path / "small" / RECEIPT).unlink()
    with pytest.raises(DeniableError, match=r"plan\.json: another entry of the ledger than in"):
        made("columns", tmp_path)
    assert not (tmp_path / "small" / RECEIPT).exists()


def test_other_records_are_refused_where_a_release_is_published(tmp_path: Path) -> None:
    first = made("columns", tmp_path)
    with pytest.raises(DeniableError, match="'small' was published from other records; give"):
        made("columns", tmp_path, data=records(699))
    assert content(tmp_path / "small" / "public") == first


def test_a_rename_that_fails_publishes_nothing_and_keeps_the_key(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Only that something is published already is no failure."""

    def failing(path: Path, target: Path) -> None:
        raise OSError(errno.EIO, os.strerror(errno.EIO), str(target))

    made("columns", tmp_path / "whole", known_key(tmp_path / "whole"))
    keys = known_key(tmp_path / "killed")
    monkeypatch.setattr(Path, "rename", failing)
    with pytest.raises(OSError, match=os.strerror(errno.EIO)) as failed:
        made("columns", tmp_path / "killed", keys)
    assert failed.value.errno == errno.EIO
    monkeypatch.undo()
    assert not (tmp_path / "killed" / "small" / "public").exists()
    assert list(keys.rglob(KEY_FILE))
    made("columns", tmp_path / "killed", keys)
    both = [but_for_the_entry(tmp_path / each / "small/public") for each in ("whole", "killed")]
    assert both[0] == both[1]


@pytest.mark.parametrize(
    ("changed", "said"),
    [
        ("public/README.txt", "README.txt: damaged or edited"),
        ("public/protected.parquet", "protected.parquet: damaged or edited"),
        (f"private/{JOURNAL_FILE}", r"journal\.json: missing or damaged"),
    ],
)
def test_the_key_stays_until_the_published_files_are_verified(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, changed: str, said: str
) -> None:
    """It alone can repeat the draw, if the files are not the drawn ones."""
    with killed_at(monkeypatch, "pathlib.Path.rename", 1, after=True):
        made("columns", tmp_path)
    key = tmp_path / "small" / "private" / KEY_FILE
    kept = key.read_bytes()
    (tmp_path / "small" / changed).write_text("{}")
    with pytest.raises(DeniableError, match=said):
        made("columns", tmp_path)
    assert key.read_bytes() == kept
    assert not (tmp_path / "small" / RECEIPT).exists()


def test_a_draft_is_compared_with_its_list_before_it_is_published(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """As where a disk gives back other bytes than it was given."""

    def wrong(plan: Plan, document: Any, public: Path) -> None:
        write_documents(plan, document, public)
        digest = sha256(public / "README.txt")
        text = (public / SUMS).read_text("utf-8")
        (public / SUMS).write_text(text.replace(digest, digest[::-1]), "utf-8")

    monkeypatch.setattr("deniable.release.drawing.write_documents", wrong)
    with pytest.raises(DataError, match=r"README\.txt: damaged or edited since it was made"):
        made("columns", tmp_path)
    assert not (tmp_path / "small" / "public").exists()
    assert (tmp_path / "small" / "private" / KEY_FILE).exists()


def test_metadata_of_a_test_release_are_removed_and_nothing_else(tmp_path: Path) -> None:
    """They would be read as those of the published files."""
    folder = tmp_path / "small"
    folder.mkdir()
    left = [folder / f"{name}.provenance.json" for name in ("public", "private")]
    for file in (*left, folder / "words"):
        file.write_text("{}")
    made("columns", tmp_path)
    assert sorted(path.name for path in folder.iterdir()) == ["private", "public", "words"]


# -- counted ---------------------------------------------------------------------------------------


def test_epsilons_are_counted_rounded_up(kind: str, tmp_path: Path) -> None:
    made(kind, tmp_path)
    (entry,) = Ledger(tmp_path / "ledger").entries("people")
    plan = plan_for(kind)
    if plan.not_covered or plan.epsilon == math.inf:
        assert entry.epsilon == math.inf
    else:
        assert 0 <= entry.epsilon - Fraction(plan.epsilon) < Fraction(1, 10**7)


def test_a_plan_that_does_not_cover_something_counts_infinite(tmp_path: Path) -> None:
    plan = plan_for("strata")
    assert math.isfinite(plan.epsilon)
    assert plan.not_covered
    made("strata", tmp_path)
    assert Ledger(tmp_path / "ledger").total("people") == math.inf


def test_a_second_release_needs_the_words_that_its_refusal_says(tmp_path: Path) -> None:
    made("columns", tmp_path)
    second = {"name": "second", "plan": plan_for("cluster", 1.5)}
    with pytest.raises(DeniableError, match=r"release 2 of population 'people'") as refused:
        made("cluster", tmp_path, **second)
    words = str(refused.value).rpartition("give the consent ")[2].strip("'")
    assert words.startswith("release 2 of people named second, total epsilon 3.")
    with pytest.raises(DeniableError, match="give the consent"):
        made("cluster", tmp_path, **second, consent=words.replace("3.", "2."))
    assert not (tmp_path / "second").exists()  # neither key nor digest
    made("cluster", tmp_path, **second, consent=words)
    assert len(Ledger(tmp_path / "ledger").entries("people")) == 2


@pytest.mark.parametrize(
    ("holds", "said"),
    [
        ([True, False], "1 claims of the plan fail the audit, the first one for 'unit 1'"),
        (["False", "not decided"], "1 claims of the plan fail the audit, .* for 'unit 0'"),
        (["True", "False", "False"], "2 claims of the plan fail the audit, .* for 'unit 1'"),
    ],
)
def test_one_claim_that_fails_is_enough(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, holds: list[Any], said: str
) -> None:
    """As the audit writes them, or as they are read from a file."""
    rows = pd.DataFrame({"of": [f"unit {i}" for i in range(len(holds))], "holds": holds})
    monkeypatch.setattr("deniable.plans.ColumnsPlan.audit", lambda plan: rows)
    with pytest.raises(DeniableError, match=said):
        made("columns", tmp_path)
    assert not (tmp_path / "small").exists()  # nothing is counted either
    assert Ledger(tmp_path / "ledger").populations() == ()
    with pytest.raises(DeniableError, match=said):
        protect_test(records(), plan_for("columns"), tmp_path / "tried", 1)
    assert not (tmp_path / "tried").exists()


def test_the_same_respondents_under_another_population_are_noticed(
    kind: str, tmp_path: Path
) -> None:
    """By every kind of plan and format, with other columns, on another grid or without one."""
    made("columns", tmp_path)
    message = (
        r"about 100 % of the distinct records were in release 'small', of population 'people'; its "
        "epsilon is not added"
    )
    with pytest.warns(UserWarning, match=message):
        made(kind, tmp_path, name="second", plan=plan_for(kind, population="others"))


def test_other_respondents_are_not_noticed(
    tmp_path: Path, recwarn: pytest.WarningsRecorder
) -> None:
    made("columns", tmp_path)
    others = records().assign(width=lambda data: data["width"] + 0.04, a="0")
    others["height"] += 0.03
    for name in ("b", "c", "d"):
        others[name] = others[name].iloc[::-1].to_numpy()
        others.loc[0, name] = others[name].mode()[0]
    plan = plan_for("strata", population="others")
    made("strata", tmp_path, name="second", plan=plan, data=others)
    assert [str(each.message) for each in recwarn if "population" in str(each.message)] == []


def test_a_population_is_no_other_one_by_its_capital_letters(
    tmp_path: Path, recwarn: pytest.WarningsRecorder
) -> None:
    made("columns", tmp_path, plan=plan_for("columns", population="People"))
    for number, population, name in ((2, "people", "second"), (3, "PEOPLE", "third")):
        words = f"release {number} of people named {name}, total epsilon infinite"
        plan = plan_for("strata", population=population)
        made("strata", tmp_path, name=name, plan=plan, consent=words)
    assert len(Ledger(tmp_path / "ledger").entries("people")) == 3
    assert [str(each.message) for each in recwarn if "population" in str(each.message)] == []


def test_the_ledger_holds_a_release_to_its_plan(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Killed after the entry, before anything of the draw is stored."""
    with killed_at(monkeypatch, "deniable.release.counting.ledger.add_entry", 1, after=True):
        made("columns", tmp_path)
    # Of the same epsilon, so that the plan alone differs.
    with pytest.raises(DeniableError, match=r"with another plan or another key; restore"):
        made("columns", tmp_path, plan=plan_for("columns", order="as_in_file"))
    with pytest.raises(DeniableError, match=r"with another plan or another key and epsilon"):
        made("columns", tmp_path, plan=plan_for("columns", 1.0))
    assert not (tmp_path / "small" / "public").exists()


@pytest.mark.parametrize("name", ["", "a b", "../x", "é", "a" * 101])
def test_names_that_are_no_names_are_refused(tmp_path: Path, name: str) -> None:
    given = records(), plan_for("columns"), tmp_path / "made"
    ledger_in(tmp_path / "ledger")
    if name:
        with pytest.raises(DeniableError, match="a release cannot be named"):
            protect(*given, ledger=tmp_path / "ledger", name=name)
    (tmp_path / "made").write_text("a file")
    with pytest.raises(DeniableError, match="a file exists there; name another folder"):
        protect(*given, ledger=tmp_path / "ledger")
