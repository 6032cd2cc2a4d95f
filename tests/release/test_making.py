"""One draw of a release, whatever is killed, lost or started twice; and what its folders hold."""

import errno
import math
import os
import shutil
import stat
from collections.abc import Iterator
from contextlib import contextmanager
from fractions import Fraction
from pathlib import Path
from typing import Any

import pandas as pd
import pytest
from tests.release.small_releases import KINDS, content, known_key, records, settings, source

from deniable.errors import DataError, DeniableError
from deniable.files import read_json, sha256, write_once
from deniable.release import (
    LANES,
    RECEIPT,
    KeyPlace,
    Ledger,
    faults_of_receipt,
    make_release,
    rehearse,
)
from deniable.release.contents import write_contents
from deniable.release.key_places import KEY_FILE, PLACE_FILE
from deniable.release.keys import DRAWN_FILE, PLAN_FILE
from deniable.release.receipts import RECORDS_FILE, SUMS

MADE = "deniable.release.making"


@pytest.fixture(params=KINDS)
def kind(request: pytest.FixtureRequest) -> str:
    return str(request.param)


def made(kind: str, at: Path, place: KeyPlace | None = None, **changes: Any) -> dict[str, bytes]:
    """Make a release, with a ledger beside it; return what is public."""
    release = settings(kind, **changes)
    place = KeyPlace() if place is None else place
    make_release(release, source(release), at / release.name, Ledger(at / "ledger"), place)
    return content(at / release.name / "public")


def mode(path: Path) -> int:
    return stat.S_IMODE(path.stat().st_mode)


# -- what is left ----------------------------------------------------------------------------------


def test_two_folders_one_for_all_and_one_for_the_owner(kind: str, tmp_path: Path) -> None:
    before = os.umask(0)
    try:
        public = made(kind, tmp_path)
    finally:
        os.umask(before)
    folder, lane = tmp_path / "small", LANES[settings(kind).lane]
    assert sorted(path.name for path in folder.iterdir()) == ["private", "public"]
    listed = {line.split("  ")[1] for line in public["SHA256SUMS"].decode().splitlines()}
    assert listed | {"SHA256SUMS"} == set(public)
    steps = lane.steps(settings(kind))
    left = {file.removeprefix("public/") for step in steps for file in step.leaves}
    shown = {name.split("/")[0] for name in public}
    assert shown == {f for f in left if "/" not in f} | {"README.txt", "SHA256SUMS"}
    private = {path.name for path in (folder / "private").iterdir()}
    owners = {f.removeprefix("private/") for f in left if f.startswith("private/")}
    assert private == owners | {PLACE_FILE, RECORDS_FILE, PLAN_FILE, DRAWN_FILE, "receipt.json"}
    assert mode(folder / "private") == 0o700
    assert {mode(path) for path in (folder / "private").iterdir()} == {0o600}
    assert mode(folder / "public") == 0o777  # what the umask gives
    assert not (folder / "private" / KEY_FILE).exists()
    assert faults_of_receipt(folder / RECEIPT) == []


def test_a_rehearsal_has_the_same_folders_and_is_checked(kind: str, tmp_path: Path) -> None:
    release = settings(kind, rehearsal=True)
    first, again = tmp_path / "first", tmp_path / "again"
    for folder in (first, again, again):
        rehearse(release, source(release), folder)
    assert content(first) == content(again)
    assert mode(first / "private") == 0o700
    checked = LANES[release.lane].check.leaves
    assert all((first / file).is_file() for file in checked)
    assert set(made(kind, tmp_path)) == set(content(first / "public"))
    notice = (first / "public" / "README.txt").read_text("utf-8")
    assert "NOTICE: REHEARSAL" in notice
    rehearse(release, source(release, seed=2), again)
    drawn = LANES[release.lane].draw.leaves[0]
    assert (first / drawn).read_bytes() != (again / drawn).read_bytes()


def test_nothing_public_depends_on_the_ledger_or_the_owners_words(tmp_path: Path) -> None:
    first = made("independent", tmp_path / "1", known_key(tmp_path / "keys"))
    other = known_key(tmp_path / "keys")
    assert made("independent", tmp_path / "2", other, population="others") == first


# -- once ------------------------------------------------------------------------------------------


def test_made_again_nothing_is_drawn_and_nothing_counted(kind: str, tmp_path: Path) -> None:
    first = made(kind, tmp_path)
    private = content(tmp_path / "small" / "private")
    assert made(kind, tmp_path) == first
    (tmp_path / "small" / RECEIPT).unlink()
    assert made(kind, tmp_path) == first
    assert content(tmp_path / "small" / "private") == private
    assert len(Ledger(tmp_path / "ledger").entries("people")) == 1


def test_another_key_is_another_draw(kind: str, tmp_path: Path) -> None:
    keys = [known_key(tmp_path / str(byte), byte=byte) for byte in (1, 2)]
    one, other = (made(kind, tmp_path / f"{i}", each) for i, each in enumerate(keys))
    drawn = [Path(f).name for f in LANES[settings(kind).lane].draw.leaves if "public" in f]
    for name in drawn:
        assert one[name] != other[name]


class Killed(BaseException):
    """What ends a process at once, past all that would mend things."""


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
    ("deniable.release.keys.write_once", 1),  # digest of the records
    (f"{MADE}.reserve", 1),
    ("deniable.release.keys.write_once", 2),  # digest of the design
    (f"{MADE}.write_contents", 1),
    ("deniable.release.keys.write_once", 3),  # digest of what was drawn
    (f"{MADE}.sync_tree", 1),
    ("pathlib.Path.rename", 1),
    (f"{MADE}.sync_folder", 1),
    (f"{MADE}.output_digest", 2),
    ("deniable.release.key_places.sync_folder", 1),  # the key is removed
    (f"{MADE}.write_once", 1),  # the receipt
]


@pytest.mark.parametrize("after", [False, True], ids=["before", "after"])
@pytest.mark.parametrize(("place", "call"), KILLS, ids=[f"{p[0]} {p[1]}" for p in KILLS])
def test_a_release_that_was_killed_goes_on_to_the_same(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, place: str, call: int, after: bool
) -> None:
    whole = made("independent", tmp_path / "whole", known_key(tmp_path / "keys"))
    keys = known_key(tmp_path / "keys")
    with killed_at(monkeypatch, place, call, after):
        made("independent", tmp_path / "killed", keys)
    assert made("independent", tmp_path / "killed", keys) == whole
    assert len(Ledger(tmp_path / "killed" / "ledger").entries("people")) == 1
    assert not list((tmp_path / "killed" / "small" / "private").glob(".*"))
    assert not (tmp_path / "keys" / "small").exists()


@pytest.mark.parametrize(
    "place", [f"{MADE}.key_for", f"{MADE}.write_contents", f"{MADE}.sync_tree"]
)
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
        found.append(made("independent", tmp_path))
        return made_by_it

    monkeypatch.setattr(place, meanwhile)
    assert made("independent", tmp_path) == found[0]
    assert len(Ledger(tmp_path / "ledger").entries("people")) == 1
    assert not (tmp_path / "small" / "private" / KEY_FILE).exists()


# -- what was lost, or is not what it was ----------------------------------------------------------


@pytest.mark.parametrize("lost", ["public/protected.parquet", "public/protected.csv", "public/x"])
def test_what_was_published_is_never_replaced(tmp_path: Path, lost: str) -> None:
    made("independent", tmp_path)
    file = tmp_path / "small" / lost
    if file.exists():
        file.unlink()
    else:
        file.write_text("more")
    before = content(tmp_path / "small" / "public")
    with pytest.raises(DataError, match=f"{file.name}: (missing|not in its list)"):
        made("independent", tmp_path)
    assert content(tmp_path / "small" / "public") == before


def test_a_file_that_was_edited_is_named(tmp_path: Path) -> None:
    made("independent", tmp_path)
    file = tmp_path / "small" / "public" / "estimates.csv"
    file.write_text(file.read_text() + "\n")
    assert "estimates.csv: missing, or edited" in faults_of_receipt(tmp_path / "small" / RECEIPT)[0]
    with pytest.raises(DataError, match=r"estimates\.csv: damaged or edited"):
        made("independent", tmp_path)


def test_no_key_no_second_draw(tmp_path: Path) -> None:
    made("independent", tmp_path)
    shutil.rmtree(tmp_path / "small" / "public")
    (tmp_path / "small" / RECEIPT).unlink()
    with pytest.raises(DeniableError, match=r"but the key that it was begun with.*Restore"):
        made("independent", tmp_path)
    assert not (tmp_path / "small" / "public").exists()


def test_the_ledger_knows_a_release_whose_folder_is_gone(tmp_path: Path) -> None:
    first = made("independent", tmp_path)
    shutil.rmtree(tmp_path / "small")
    with pytest.raises(DeniableError, match=r"'small' of population 'people' was begun.*plan"):
        made("independent", tmp_path)
    assert not (tmp_path / "small" / "public").exists()
    assert first


def test_other_records_are_refused_also_before_anything_was_published(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    with killed_at(monkeypatch, f"{MADE}.write_contents", 1, after=False):
        made("independent", tmp_path)
    release = settings("independent")
    corrected = source(release, records("categorical", 699))
    with pytest.raises(DeniableError, match="begun with other records"):
        make_release(release, corrected, tmp_path / "small", Ledger(tmp_path / "ledger"))
    # With the digest gone too, and the key copied to where a new release looks for it.
    (tmp_path / "small" / "private" / RECORDS_FILE).unlink()
    with pytest.raises(DeniableError, match="digest of the records"):
        make_release(release, corrected, tmp_path / "small", Ledger(tmp_path / "ledger"))
    key = (tmp_path / "small" / "private" / KEY_FILE).read_bytes()
    write_once(tmp_path / "elsewhere" / "private" / KEY_FILE, key)
    with pytest.raises(DeniableError, match="other records"):
        make_release(release, corrected, tmp_path / "elsewhere", Ledger(tmp_path / "ledger"))
    assert not list(tmp_path.rglob("public/protected.csv"))


def test_a_release_of_an_earlier_layout_is_not_drawn_beside(tmp_path: Path) -> None:
    (tmp_path / "small").mkdir()
    (tmp_path / "small" / "protected.csv").write_text("a\n")
    with pytest.raises(DeniableError, match=r"protected\.csv is there, but the"):
        made("independent", tmp_path)


def test_another_draw_by_the_same_key_is_refused(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """As of a version that reports otherwise, between a kill and the next start."""
    with killed_at(monkeypatch, f"{MADE}.sync_tree", 1, after=False):
        made("independent", tmp_path)
    monkeypatch.setattr("deniable.sampling.keyed.VERSION", b"deniable keyed draws 2")
    with pytest.raises(DeniableError, match="with other records, or with another key"):
        made("independent", tmp_path)
    monkeypatch.undo()
    (tmp_path / "small" / "private" / DRAWN_FILE).write_text('{"drawn": "another"}')
    with pytest.raises(DeniableError, match="would not be what was drawn before by the same key"):
        made("independent", tmp_path)
    assert not (tmp_path / "small" / "public").exists()


def test_what_was_published_and_is_gone_is_to_be_restored(tmp_path: Path) -> None:
    first = made("independent", tmp_path)
    (tmp_path / "small" / "public").rename(tmp_path / "copy")
    with pytest.raises(DeniableError, match=r"was published there, and is gone; restore it"):
        made("independent", tmp_path)
    (tmp_path / "copy").rename(tmp_path / "small" / "public")
    assert made("independent", tmp_path) == first


def test_a_key_that_is_nowhere_known_is_not_taken_for_removed(tmp_path: Path) -> None:
    place = KeyPlace(str(tmp_path / "keys"))
    made("independent", tmp_path, place)
    for lost in (RECEIPT, f"private/{PLACE_FILE}"):
        (tmp_path / "small" / lost).unlink()
    with pytest.raises(DeniableError, match=r"place\.json, which says where the key of release"):
        made("independent", tmp_path, place)
    assert not (tmp_path / "small" / RECEIPT).exists()


def test_a_rehearsal_takes_no_release_s_place(tmp_path: Path) -> None:
    made("independent", tmp_path)
    before = content(tmp_path / "small")
    rehearsal = settings("independent", rehearsal=True)
    with pytest.raises(DeniableError, match="give its rehearsal another name"):
        rehearse(rehearsal, source(rehearsal), tmp_path / "small")
    assert content(tmp_path / "small") == before


def test_settings_of_another_release_are_refused_where_one_is_published(tmp_path: Path) -> None:
    first = made("independent", tmp_path)
    with pytest.raises(DeniableError, match="'small' was published with other settings; give"):
        made("independent", tmp_path, p=0.9)
    # Words of its owner's are no settings of it: they are not published.
    assert made("independent", tmp_path, consent="any words") == first


def test_other_records_are_refused_where_a_release_is_published(tmp_path: Path) -> None:
    first, release = made("independent", tmp_path), settings("independent")
    corrected = source(release, records("categorical", 699))
    with pytest.raises(DeniableError, match="'small' was published from other records; give"):
        make_release(release, corrected, tmp_path / "small", Ledger(tmp_path / "ledger"))
    assert content(tmp_path / "small" / "public") == first


@pytest.mark.parametrize("lost", ["", "people/000001.json"], ids=["ledger", "entry"])
def test_a_published_release_without_an_entry_is_refused(tmp_path: Path, lost: str) -> None:
    """The totals of its ledger are too small until the ledger is restored."""
    first = made("independent", tmp_path)
    before, ledger = content(tmp_path), tmp_path / "ledger"
    shutil.copytree(ledger, tmp_path / "copy")
    if lost:
        (ledger / lost).unlink()
    else:
        shutil.rmtree(ledger)
    said = r"ledger: the ledger has no entry of release 'small' of population 'people'.*Restore the"
    with pytest.raises(DeniableError, match=said):
        made("independent", tmp_path)
    assert ledger.exists() == bool(lost)
    shutil.rmtree(ledger, ignore_errors=True)
    (tmp_path / "copy").rename(ledger)
    assert made("independent", tmp_path) == first
    assert content(tmp_path) == before


def test_without_the_digest_of_what_was_drawn_nothing_is_taken_as_published(
    tmp_path: Path,
) -> None:
    made("independent", tmp_path)
    for file in (tmp_path / "small" / RECEIPT, tmp_path / "small" / "private" / DRAWN_FILE):
        file.unlink()
    with pytest.raises(DeniableError, match=r"public: not what was drawn for release 'small'"):
        made("independent", tmp_path)
    assert not (tmp_path / "small" / RECEIPT).exists()


def test_a_rename_that_fails_publishes_nothing_and_keeps_the_key(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Only that something is published already is no failure."""

    def failing(path: Path, target: Path) -> None:
        raise OSError(errno.EIO, os.strerror(errno.EIO), str(target))

    whole = made("independent", tmp_path / "whole", known_key(tmp_path / "keys"))
    keys = known_key(tmp_path / "keys")
    monkeypatch.setattr(Path, "rename", failing)
    with pytest.raises(OSError, match=os.strerror(errno.EIO)) as failed:
        made("independent", tmp_path / "killed", keys)
    assert failed.value.errno == errno.EIO
    monkeypatch.undo()
    assert not (tmp_path / "killed" / "small" / "public").exists()
    assert (tmp_path / "keys" / "small" / KEY_FILE).exists()
    assert made("independent", tmp_path / "killed", keys) == whole


@pytest.mark.parametrize(
    ("changed", "said"),
    [
        ("public/estimates.csv", "estimates.csv: damaged or edited"),
        ("public/protected.parquet", "protected.parquet: damaged or edited"),
        (f"private/{DRAWN_FILE}", "not what was drawn for release 'small'"),
    ],
)
def test_the_key_stays_until_what_is_published_is_verified(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, changed: str, said: str
) -> None:
    """It alone can tell what was drawn, if that is not what stands there."""
    with killed_at(monkeypatch, "pathlib.Path.rename", 1, after=True):
        made("independent", tmp_path)
    key = tmp_path / "small" / "private" / KEY_FILE
    kept = key.read_bytes()
    (tmp_path / "small" / changed).write_text("{}")
    with pytest.raises(DeniableError, match=said):
        made("independent", tmp_path)
    assert key.read_bytes() == kept
    assert not (tmp_path / "small" / RECEIPT).exists()


def test_a_draft_is_held_to_its_list_before_it_is_published(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """As where a disk gives back other bytes than it was given."""

    def wrong(release: Any, public: Path) -> None:
        write_contents(release, public)
        digest = sha256(public / "estimates.csv")
        text = (public / SUMS).read_text("utf-8")
        (public / SUMS).write_text(text.replace(digest, digest[::-1]), "utf-8")

    monkeypatch.setattr(f"{MADE}.write_contents", wrong)
    with pytest.raises(DataError, match=r"estimates\.csv: damaged or edited since it was made"):
        made("independent", tmp_path)
    assert not (tmp_path / "small" / "public").exists()
    assert (tmp_path / "small" / "private" / KEY_FILE).exists()


def test_what_a_rehearsal_left_beside_is_removed_and_nothing_else(tmp_path: Path) -> None:
    """Its record of provenance would be read as that of what is published."""
    folder = tmp_path / "small"
    folder.mkdir()
    left = [folder / f"{name}.provenance.json" for name in ("public", "private")]
    for file in (*left, folder / "words"):
        file.write_text("{}")
    made("independent", tmp_path)
    assert sorted(path.name for path in folder.iterdir()) == ["private", "public", "words"]


# -- counted ---------------------------------------------------------------------------------------


def test_epsilons_are_counted_rounded_up(kind: str, tmp_path: Path) -> None:
    made(kind, tmp_path)
    (entry,) = Ledger(tmp_path / "ledger").entries("people")
    privacy = read_json(tmp_path / "small" / "public" / "release.json")["privacy"]
    stated = privacy.get("proved_epsilon", privacy.get("epsilon"))
    if kind in ("strata", "centroids"):
        assert entry.epsilon == math.inf
    else:
        assert 0 <= entry.epsilon - Fraction(stated) < Fraction(1, 10**7)


def test_a_second_release_needs_the_words_that_its_refusal_says(tmp_path: Path) -> None:
    made("independent", tmp_path)
    with pytest.raises(DeniableError, match=r"release 2 of population 'people'") as refused:
        made("values", tmp_path, name="second")
    words = str(refused.value).rpartition("give the consent ")[2].strip("'")
    assert words == "release 2 of people named second, total epsilon 6.19295686"
    with pytest.raises(DeniableError, match="give the consent"):
        made("values", tmp_path, name="second", consent=words.replace("6", "5"))
    assert not (tmp_path / "second" / "public").exists()
    # Nor is it held to a design: with the words it may be another one.
    assert not (tmp_path / "second" / "private" / PLAN_FILE).exists()
    made("values", tmp_path, name="second", consent=words)
    assert Ledger(tmp_path / "ledger").total("people") == Fraction("6.19295686")


def test_an_unsound_release_is_not_published(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("deniable.release.settings.IdpRelease.findings", {})
    with pytest.raises(DeniableError, match=r"its claims fail.*not published"):
        made("centroids", tmp_path, accept=[])
    assert not (tmp_path / "small" / "public").exists()


@pytest.mark.parametrize(
    ("holds", "said"),
    [
        ([True, False], "1 of its claims fail, the first one of 'unit 1'"),
        (["False", "not decided"], "1 of its claims fail, the first one of 'unit 0'"),
        (["True", "False", "False"], "2 of its claims fail, the first one of 'unit 1'"),
    ],
)
def test_one_claim_that_fails_is_enough(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, holds: list[Any], said: str
) -> None:
    """As the audit writes them, or as they are read from a file."""
    rows = pd.DataFrame({"unit": [f"unit {i}" for i in range(len(holds))], "holds": holds})
    monkeypatch.setattr("deniable.release.categorical.check.audited", lambda made: rows)
    with pytest.raises(DeniableError, match=said):
        made("independent", tmp_path)
    assert not (tmp_path / "small" / "public").exists()


def test_the_same_people_under_another_population_are_noticed(tmp_path: Path) -> None:
    made("independent", tmp_path)
    with pytest.warns(UserWarning, match=r"of population 'people', whose epsilon is not added"):
        made("strata", tmp_path, name="second", population="others")


def test_a_population_is_no_other_one_by_its_capital_letters(
    tmp_path: Path, recwarn: pytest.WarningsRecorder
) -> None:
    made("independent", tmp_path, population="People")
    for population, name in (("people", "second"), ("PEOPLE", "third")):
        words = Ledger(tmp_path / "ledger").consent_needed("people", name, math.inf)
        made("strata", tmp_path, name=name, population=population, consent=words)
    assert len(Ledger(tmp_path / "ledger").entries("people")) == 3
    assert [str(each.message) for each in recwarn if "population" in str(each.message)] == []


def test_the_ledger_holds_a_release_to_its_settings(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """As what is counted stands before the design is held: killed between, or with that lost."""
    with killed_at(monkeypatch, f"{MADE}.reserve", 1, after=True):
        made("independent", tmp_path)
    assert not (tmp_path / "small" / "private" / PLAN_FILE).exists()
    # Of the same epsilon, so that the plan alone tells.
    with pytest.raises(DeniableError, match=r"with another plan or another key; restore"):
        made("independent", tmp_path, order="as_in_file")
    with pytest.raises(DeniableError, match=r"with another plan or another key and epsilon"):
        made("independent", tmp_path, p=0.9)
    assert not (tmp_path / "small" / "public").exists()
