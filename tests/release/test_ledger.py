"""The ledger counts every release that may have been drawn, whoever reserves, dies or tampers."""

import errno
import hmac
import itertools
import json
import math
import multiprocessing
import os
import pathlib
import shutil
import signal
import stat
import tempfile
from collections.abc import Callable, Iterable
from datetime import datetime
from fractions import Fraction
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import numpy as np
import pyarrow as pa
import pytest
from hypothesis import given, settings, strategies as st
from tests.release.small_releases import new_entry, overlap

from deniable.errors import DataError, DeniableError
from deniable.release import Entry, Ledger, RecordDigests
from deniable.release.counted import entry_of, faults_of_entries, store_entry
from deniable.release.counting.digests import Fingerprint, Sketch
from deniable.release.counting.entries import (
    SKETCH_SIZE,
    Overlap,
    content_of,
    counted,
    entry_from,
    epsilon_text,
    head_file,
    overlaps,
)
from deniable.release.counting.ledger import (
    LEDGER_VARIABLE,
    composed_epsilon,
    named_ledger,
    total_of,
)
from deniable.schema import Part, RecordBatch, schema_from_dict

PEOPLE = RecordDigests("aa" * 32, 3, (5, 7, 2**63))
OTHERS = RecordDigests("bb" * 32, 3, (5, 8, 9))
FOREIGN = RecordDigests("cc" * 32, 3, (1, 2, 3))
POPULATION = "survey-2024.1"
KEY = bytes(32)


def digests(ledger: Ledger, values: Iterable[int]) -> RecordDigests:
    """Return the digests of records with one number, under the key of a ledger."""
    column = {"name": "x", "kind": "numeric", "bounds": [-1, 9999], "type": "double"}
    about = {"format": "deniable-schema", "version": 1, "population": "people"}
    of = schema_from_dict(about | {"file": {"kind": "arrow"}, "columns": [column]})
    batch = RecordBatch(0, {}, {}, {"x": np.array([*values], dtype=float)})
    fingerprint, sketch = Fingerprint(of), Sketch(ledger.key)
    fingerprint.add(batch)
    sketch.add(pa.record_batch([batch.numbers["x"]], names=["x"]))
    return sketch.with_fingerprint(fingerprint)


@pytest.fixture
def ledger(tmp_path: Path) -> Ledger:
    return Ledger.init(tmp_path / "new" / "ledger")


def folder_of(ledger: Ledger, population: str = POPULATION) -> Path:
    return ledger.folder / "populations" / population


def consent_for(
    ledger: Ledger,
    population: str,
    release: str,
    epsilon: Any,
    part: Part | None = None,
    records: RecordDigests = PEOPLE,
) -> str | None:
    """Return the consent that the next release needs, None for the first one."""
    entries = ledger.entries(population)
    new = new_entry(population, release, "", records, counted(epsilon), part)
    total = epsilon_text(composed_epsilon((*entries, new)))
    release = f"release {len(entries) + 1} of {new.population.lower()} named {new.release}"
    return f"{release}, total epsilon {total}" if entries else None


def reserve(ledger: Ledger, release: str, epsilon: Any = 1, **changes: Any) -> Entry:
    """Reserve with the consent that is needed."""
    population = changes.pop("population", POPULATION)
    told = {"plan": f"plan of {release}", "records": PEOPLE} | changes
    more = told.get("part"), told["records"]
    needed = consent_for(ledger, population, release, epsilon, *more)
    consent = told.pop("consent", needed)
    return ledger.reserve(new_entry(population, release, epsilon=epsilon, **told), consent)


def files(ledger: Ledger) -> list[str]:
    return sorted(str(file.relative_to(ledger.folder)) for file in ledger.folder.rglob("*"))


def modes(folder: Path) -> dict[str, int]:
    return {file.name: stat.S_IMODE(file.stat().st_mode) for file in (folder, *folder.rglob("*"))}


# -- what is counted ------------------------------------------------------------------------------


def test_releases_add(ledger: Ledger) -> None:
    assert ledger.total(POPULATION) == 0
    assert (ledger.entries(POPULATION), ledger.populations()) == ((), ())
    assert files(ledger) == ["heads", "key", "populations"]  # asking makes nothing
    first = reserve(ledger, "a", 0.1)
    second = reserve(ledger, "b", Fraction(1, 3), records=OTHERS)
    assert ledger.entries(POPULATION) == (first, second)
    assert [first.number, second.number] == [1, 2]
    assert first.epsilon == Fraction(1, 10)
    assert ledger.total(POPULATION) == Fraction(1, 10) + Fraction(1, 3)
    reserve(ledger, "a", population="survey-2025")  # another population, another count
    assert ledger.total("survey-2025") == 1
    assert ledger.populations() == ("survey-2024.1", "survey-2025")
    assert Ledger(ledger.folder).entries(POPULATION) == (first, second)


@pytest.mark.parametrize("epsilon", [None, math.inf])
def test_without_a_finite_epsilon_the_total_is_infinite(ledger: Ledger, epsilon: Any) -> None:
    reserve(ledger, "a", 2)
    assert consent_for(ledger, POPULATION, "b", epsilon) == (
        "release 2 of survey-2024.1 named b, total epsilon infinite"
    )
    assert reserve(ledger, "b", epsilon).epsilon == math.inf
    reserve(ledger, "c", 2)
    assert ledger.total(POPULATION) == math.inf


numbers = st.one_of(
    st.floats(0, exclude_min=False, allow_nan=False),
    st.fractions(min_value=0),
    st.integers(0, 10**30),
    st.none(),
)


@given(st.lists(numbers, max_size=6))
def test_the_total_is_exact(epsilons: list[Any]) -> None:
    kept = [counted(each) for each in epsilons]
    entries = [new_entry("p", "r", "plan", PEOPLE, each, time="now") for each in kept]
    read = [entry_from(Path("f"), content_of(each, KEY), KEY, "p", 1) for each in entries]
    assert read == entries
    if None in epsilons or math.inf in epsilons:
        assert total_of(kept) == math.inf
    else:
        written = (Fraction(str(each)) for each in epsilons)
        assert total_of(each.epsilon for each in read) == sum(written, Fraction())


@given(numbers)
def test_epsilons_are_shown_exactly_or_rounded_up(epsilon: Any) -> None:
    exact = counted(epsilon)
    text = epsilon_text(exact)
    assert len(text) <= 50 or "E" in text
    if exact == math.inf:
        assert text == "infinite"
    elif len(text) <= 18:
        assert Fraction(text) == exact
    else:
        assert exact <= Fraction(text) <= exact * (1 + Fraction(1, 10**18))


@pytest.mark.parametrize(
    ("epsilon", "text"),
    [
        (3.5, "3.5"),
        (100.0, "100"),
        (0, "0"),
        (1.6094379124341003, "1.6094379124341003"),
        (Fraction(1, 3), "1/3"),
        (Fraction(0.1), "0.10000000000000000556"),
    ],
)
def test_epsilons_in_words(epsilon: Any, text: str) -> None:
    assert epsilon_text(counted(epsilon)) == text


@pytest.mark.parametrize("epsilon", [-1, -math.inf, math.nan, Fraction(1, 10**2000)])
def test_what_is_no_epsilon_is_refused(ledger: Ledger, epsilon: Any) -> None:
    with pytest.raises(DeniableError, match=r"epsilon is|is not a finite number"):
        ledger.reserve(new_entry(POPULATION, "a", "plan", PEOPLE, epsilon))
    assert ledger.populations() == ()


# -- parts of a partition -------------------------------------------------------------------------


def part(take: int, of: int = 2, seed: str = "public") -> Part:
    return Part(of, take, seed)


def test_parts_of_one_partition_count_by_their_maximum(ledger: Ledger) -> None:
    reserve(ledger, "first-half", 2, part=part(1))
    assert ledger.total(POPULATION) == 2
    second = reserve(ledger, "second-half", Fraction(5, 2), part=part(2))
    assert second.part == part(2)
    assert ledger.total(POPULATION) == Fraction(5, 2)
    reserve(ledger, "again", 1, part=part(1))  # the first half answers a second time
    assert ledger.total(POPULATION) == 3
    reserve(ledger, "all", 4)
    assert ledger.total(POPULATION) == 7
    assert [each.part for each in ledger.entries(POPULATION)] == [part(1), part(2), part(1), None]


@pytest.mark.parametrize(
    "other",
    [{"part": part(2, 3)}, {"part": part(2, seed="other")}, {"part": part(2), "records": OTHERS}],
    ids=["of", "seed", "records"],
)
def test_parts_of_other_partitions_or_records_are_added(
    ledger: Ledger, other: dict[str, Any]
) -> None:
    """A respondent may be in both; record numbers of other records are other respondents'."""
    reserve(ledger, "a", 2, part=part(1))
    reserve(ledger, "b", 3, **other)
    assert ledger.total(POPULATION) == 5


def test_a_part_with_no_finite_epsilon_makes_the_total_infinite(ledger: Ledger) -> None:
    reserve(ledger, "a", 2, part=part(1))
    reserve(ledger, "b", None, part=part(2))
    assert ledger.total(POPULATION) == math.inf


def test_a_consent_names_the_total_of_the_parts(ledger: Ledger) -> None:
    reserve(ledger, "a", 2, part=part(1))
    with pytest.raises(DeniableError) as refused:
        ledger.reserve(new_entry(POPULATION, "b", "plan", PEOPLE, 3, part=part(2)))
    assert "The population's total epsilon is 2 and would be 3, even" in str(refused.value)
    assert "of the distinct records were in" not in str(
        refused.value
    )  # not these: the parts are disjoint
    with pytest.raises(
        DeniableError, match=r"would be 5.*about 100 % of the distinct records were in"
    ):
        ledger.reserve(new_entry(POPULATION, "b", "plan", PEOPLE, 3, part=part(1)))
    with pytest.raises(DeniableError, match=r"begun on .* another part of the respondents"):
        ledger.reserve(new_entry(POPULATION, "a", "plan of a", PEOPLE, 2, part=part(2)))


def test_the_bytes_of_an_entry_are_those_of_its_format() -> None:
    """Ledgers are shared by versions: the chain's head is the MAC of these bytes."""
    records = RecordDigests("ab" * 16, 2, (1, 2), (3,), ((4, 5),))
    time = "2026-01-02T03:04:05+00:00"
    given = {"number": 2, "time": time, "epsilon": Fraction(3, 2), "before": "5a"}
    new = new_entry("p", "a", "plan", records, **given)
    line, mac = content_of(new, KEY).decode().splitlines()
    assert line == (
        '{"format": 3, "number": 2, "population": "p", "release": "a", "plan": "plan", "time": '
        '"2026-01-02T03:04:05+00:00", "before": "5a", "epsilon": "1.5", "part": null, '
        '"records": {"whole": "abababababababababababababababab", "number": 2, "rows": '
        '"00000000000000010000000000000002", "columns": "0000000000000003", '
        '"identifiers": ["00000000000000040000000000000005"]}}'
    )
    assert mac == hmac.new(KEY, line.encode(), "sha256").hexdigest()


# -- again, and another ---------------------------------------------------------------------------


def test_a_retry_costs_nothing_and_needs_no_consent(ledger: Ledger) -> None:
    first = reserve(ledger, "a", 1.5)
    reserve(ledger, "b")
    before = files(ledger)
    for consent in (None, "release 2 of survey-2024.1 named b, total epsilon 2.5"):
        again = reserve(ledger, "a", 1.5, consent=consent)
        assert again == first
    assert files(ledger) == before
    assert ledger.total(POPULATION) == Fraction(5, 2)


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        ({"plan": "another"}, "another plan or another key;"),
        ({"records": OTHERS}, "other records, or the same in another order;"),
        ({"epsilon": 3}, "epsilon 2;"),
        ({"epsilon": None}, "epsilon 2;"),
        ({"plan": "another", "records": OTHERS}, "another plan or another key and other records"),
    ],
)
def test_a_release_is_begun_once(ledger: Ledger, changes: dict[str, Any], message: str) -> None:
    reserve(ledger, "a", 2)
    with pytest.raises(DeniableError, match=f"release 'a' of .* was begun on .* {message}"):
        reserve(ledger, "a", **({"epsilon": 2} | changes))
    assert ledger.total(POPULATION) == 2


def test_the_same_records_in_another_order_are_others(ledger: Ledger) -> None:
    # A draw goes by the number of a record: the second order would be a second draw.
    reserve(ledger, "a", records=digests(ledger, [1, 2, 3]))
    with pytest.raises(DeniableError, match="the same in another order"):
        reserve(ledger, "a", records=digests(ledger, [2, 1, 3]))


def test_names_of_releases_differ_by_capitals(ledger: Ledger) -> None:
    reserve(ledger, "A")
    assert [reserve(ledger, name).number for name in ("a", "A")] == [2, 1]


def test_a_further_release_names_the_total_and_needs_consent(ledger: Ledger) -> None:
    reserve(ledger, "a", 1.5)
    with pytest.raises(DeniableError) as refused:
        ledger.reserve(new_entry(POPULATION, "b", "plan", OTHERS, 2))
    assert str(refused.value) == (
        "release 'b' would be release 2 of population 'survey-2024.1'. The population's total "
        "epsilon is 1.5 and would be 3.5, even if the release fails; about 33.3 % of the distinct "
        "records were in release 'a'; to make it nevertheless, give the consent "
        "'release 2 of survey-2024.1 named b, total epsilon 3.5'"
    )
    word = "release 2 of survey-2024.1 named b, total epsilon 3.5"
    wrongs = (word.replace("named b", "named c"), word.replace("3.5", "3"))
    for wrong in ("", "yes", "3.5", "total 3.5", *wrongs):
        with pytest.raises(DeniableError, match=r"give the consent .*3\.5', not "):
            ledger.reserve(new_entry(POPULATION, "b", "plan", OTHERS, 2), wrong)
    assert ledger.total(POPULATION) == Fraction(3, 2)
    assert ledger.reserve(new_entry(POPULATION, "b", "plan", OTHERS, 2), word).number == 2


@pytest.mark.parametrize("between", [0, 1, None])
def test_consent_is_stale_when_a_release_came_between(ledger: Ledger, between: Any) -> None:
    reserve(ledger, "a", math.inf)
    word = consent_for(ledger, POPULATION, "b", 1)
    reserve(ledger, "between", between)  # the total is infinite, before as after
    with pytest.raises(DeniableError, match="would be release 3 of"):
        ledger.reserve(new_entry(POPULATION, "b", "plan", PEOPLE, 1), word)


def test_the_stored_facts_are_those_of_the_own_entry(ledger: Ledger, tmp_path: Path) -> None:
    """A release that was begun before others, and is made after them."""
    first, second = reserve(ledger, "a", 1.5), reserve(ledger, "b", 2)
    macs = [
        (folder_of(ledger) / f"00000{number}.json").read_text().split()[-1] for number in (1, 2)
    ]
    (tmp_path / "private").mkdir()
    for entry, total in ((second, "3.5"), (first, "1.5")):
        facts = {"entry": entry.number, "total": total, "head": macs[entry.number - 1]}
        assert store_entry(tmp_path, ledger, entry, None) == facts
        stored = entry_of(tmp_path)
        assert stored == facts | {
            "release": entry.release,
            "population": POPULATION,
            "ledger": ledger.digest,
        }
        assert faults_of_entries(ledger, [tmp_path]) == {}


def test_consent_to_a_total_that_the_ledger_does_not_know_is_refused(ledger: Ledger) -> None:
    with pytest.raises(DeniableError, match="the ledger has no release of population"):
        reserve(ledger, "b", consent="release 2 of survey-2024.1 named b, total epsilon 3.5")


def test_populations_are_one_whatever_their_capitals(ledger: Ledger) -> None:
    reserve(ledger, "a", population="Wave")
    assert ledger.total("wave") == ledger.total("WAVE") == 1
    assert reserve(ledger, "a", population="wave").population == "Wave"
    assert reserve(ledger, "b", population="wAve").number == 2


@pytest.mark.parametrize("name", ["", "..", ".a", "a/b", "a b", "é", "a\n", "a" * 101, "-a", "a."])
def test_names_that_are_no_names_are_refused(ledger: Ledger, name: str) -> None:
    for what in ("population", "release"):
        given = {"population": "p", "release": "r"} | {what: name}
        with pytest.raises(DeniableError, match=f"^{what} .*names in a ledger have"):
            ledger.reserve(new_entry(**given, plan="", records=PEOPLE, epsilon=1))
    assert ledger.populations() == ()


@pytest.mark.parametrize("name", ["key", "populations", "head.json", "000001.json"])
def test_a_population_may_have_the_name_of_a_file(ledger: Ledger, name: str) -> None:
    for number, release in enumerate("ab", 1):
        assert reserve(ledger, release, population=name).number == number
    assert (Ledger(ledger.folder).total(name), ledger.populations()) == (2, (name,))


# -- records that were in earlier releases --------------------------------------------------------


def test_overlaps_are_named(ledger: Ledger) -> None:
    earlier = digests(ledger, range(100))
    corrected = digests(ledger, [*range(98), 1000, 1001])
    reserve(ledger, "a", records=earlier)
    reserve(ledger, "b", records=FOREIGN)
    reserve(ledger, "c", records=corrected)
    with_a, with_c = overlaps(corrected, ledger.entries(POPULATION))
    assert str(with_a) == "about 98 % of the distinct records were in release 'a'"
    assert (with_a.release, with_c.release) == ("a", "c")
    assert [*overlaps(corrected, ledger.entries("elsewhere"))] == []
    assert ledger.total(POPULATION) == 3  # overlapping or not


@pytest.mark.parametrize(
    ("size", "shared", "compared"),
    [
        (SKETCH_SIZE, 2, 2),  # a full sketch lacks the digests above its last one
        (SKETCH_SIZE - 1, 1, 3),  # this one has all digests of its records
    ],
)
def test_sketches_are_compared_up_to_the_last_digest_of_a_full_one(
    size: int, shared: int, compared: int
) -> None:
    earlier = RecordDigests("aa", size, tuple(range(size)))
    last = SKETCH_SIZE - 1
    own = RecordDigests("bb", 3, (last - 1, last, last + 1))
    assert overlap(own, "a", earlier) == Overlap("a", shared / compared, 0.0, 0)
    assert overlap(earlier, "b", own).rows == shared / size


# -- the folder ------------------------------------------------------------------------------------


def test_a_ledger_is_made_once_by_init_alone(ledger: Ledger, tmp_path: Path) -> None:
    made = digests(ledger, [1, 2])
    key = (ledger.folder / "key").read_bytes()
    assert len(key) == 32
    assert digests(Ledger(ledger.folder), [1, 2]) == made
    other = Ledger.init(tmp_path / "other")
    assert digests(other, [1, 2]) != made
    assert other.digest != ledger.digest == Ledger(ledger.folder).digest
    reserve(ledger, "a", records=made)
    assert key not in (folder_of(ledger) / "000001.json").read_bytes()
    for folder in (ledger.folder, tmp_path):
        with pytest.raises(DeniableError, match="exists and is not an empty folder; name a new"):
            Ledger.init(folder)
    assert (ledger.folder / "key").read_bytes() == key


def test_an_empty_folder_becomes_a_ledger_of_its_owner_alone(tmp_path: Path) -> None:
    (tmp_path / "mounted").mkdir(mode=0o755)
    assert Ledger.init(tmp_path / "mounted").populations() == ()
    folders = dict.fromkeys(("mounted", "heads", "populations"), 0o700)
    assert modes(tmp_path / "mounted") == folders | {"key": 0o600}


def test_without_hard_links_nothing_is_left(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def refuse(*_: Any) -> None:
        raise OSError(errno.EPERM, "Operation not permitted")

    monkeypatch.setattr(pathlib.Path, "hardlink_to", refuse)
    with pytest.raises(DeniableError, match="has no hard links"):
        Ledger.init(tmp_path / "ledger")
    assert list(tmp_path.iterdir()) == []


def test_a_folder_that_is_not_a_ledger_is_refused(ledger: Ledger, tmp_path: Path) -> None:
    reserve(ledger, "a")
    (tmp_path / "file").write_text("")
    (tmp_path / "earlier" / "people").mkdir(parents=True)  # the layout of earlier versions
    shutil.copy(ledger.folder / "key", tmp_path / "earlier")
    (ledger.folder / "key").rename(tmp_path / "key")
    for at in (tmp_path / "gone", tmp_path / "file", tmp_path / "earlier", ledger.folder):
        with pytest.raises(DeniableError, match=r"not a ledger.*restore.*deniable ledger init"):
            Ledger(at)
    for length in (0, 5, 31, 33):
        (ledger.folder / "key").write_bytes(bytes(length))
        with pytest.raises(DataError, match=f"key: damaged, {length} of 32 bytes; restore it"):
            Ledger(ledger.folder)
    assert not (tmp_path / "gone").exists()


def test_a_ledger_is_named_or_refused(ledger: Ledger, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv(LEDGER_VARIABLE, raising=False)
    with pytest.raises(DeniableError, match=r"deniable ledger init FOLDER.*--ledger FOLDER"):
        named_ledger(None)
    other = Ledger.init(ledger.folder.parent / "other")
    monkeypatch.setenv(LEDGER_VARIABLE, str(other.folder))
    assert named_ledger(None).folder == other.folder
    assert named_ledger(ledger.folder).folder == ledger.folder


# -- private, durable -----------------------------------------------------------------------------


@pytest.mark.parametrize("umask", [0, 0o022, 0o777])
def test_folders_and_files_are_the_owners_alone(ledger: Ledger, umask: int) -> None:
    before = os.umask(umask)
    try:
        own = Ledger.init(ledger.folder.parent / "own")
        reserve(own, "a", records=digests(own, [1]))
        reserve(own, "b")
    finally:
        os.umask(before)
    assert modes(own.folder) == {
        "own": 0o700,
        "populations": 0o700,
        "heads": 0o700,
        POPULATION: 0o700,
        "key": 0o600,
        f"{POPULATION}.json": 0o600,
        "000001.json": 0o600,
        "000002.json": 0o600,
    }


@pytest.mark.parametrize("mode", [0o755, 0o750, 0o701])
def test_a_folder_open_to_others_is_refused(ledger: Ledger, mode: int) -> None:
    ledger.folder.chmod(mode)
    with pytest.raises(DeniableError, match=rf"open to others \(mode {mode:o}\).*chmod 700"):
        Ledger(ledger.folder)


def test_nothing_is_said_before_it_is_on_the_disk(
    ledger: Ledger, monkeypatch: pytest.MonkeyPatch
) -> None:
    done: list[tuple[str, str]] = []
    real_sync, real_link = os.fsync, pathlib.Path.hardlink_to

    def sync(handle: int) -> None:
        done.append(("sync", Path(f"/proc/self/fd/{handle}").readlink().name))
        real_sync(handle)

    def link(self: Path, target: Path) -> None:
        done.append(("link", self.name))
        real_link(self, target)

    monkeypatch.setattr(os, "fsync", sync)
    monkeypatch.setattr(pathlib.Path, "hardlink_to", link)
    reserve(ledger, "a")
    position = done.index(("link", "000001.json"))
    assert done[position - 1][0] == "sync"
    assert done[position - 1][1].startswith(".000001.json.")
    after = [name for _, name in done[position + 1 :]]
    assert (after[0], after[2:]) == (POPULATION, ["heads"])
    assert after[1].startswith(f".{POPULATION}.json.")
    assert {("sync", "populations"), ("sync", "heads")} <= set(done[:position])
    done.clear()
    Ledger.init(ledger.folder.parent / "more" / "own")
    # The folders on the way, each in its parent.
    assert {name for _, name in done} >= {"new", "more", "own"}
    done.clear()
    reserve(ledger, "a")  # who made the entry may have been killed before the folder was written
    assert done[-1] == ("sync", POPULATION)


@pytest.mark.parametrize("call", ["fsync", "link", "mkdir", "open"])
def test_what_the_disk_refuses_is_said_in_words(
    ledger: Ledger, monkeypatch: pytest.MonkeyPatch, call: str
) -> None:
    def refuse(*_: Any, **__: Any) -> None:
        raise OSError(5, "Input/output error")

    with monkeypatch.context() as patched:
        patched.setattr(os, call, refuse)
        with pytest.raises(DeniableError, match="Input/output error; the ledger of releases needs"):
            reserve(ledger, "a")
    assert ledger.total(POPULATION) == 0
    assert not [name for name in files(ledger) if "/0000" in name or "/." in name]


# -- damage ---------------------------------------------------------------------------------------


@pytest.fixture
def three(ledger: Ledger) -> Ledger:
    for name, epsilon in (("a", 1), ("b", None), ("c", 2.5)):
        reserve(ledger, name, epsilon)
    return ledger


def test_no_truncated_entry_passes(three: Ledger) -> None:
    before, folder = three.entries(POPULATION), folder_of(three)
    for number in (1, 3):
        file = folder / f"{number:06}.json"
        whole = file.read_bytes()
        for length in range(len(whole) - 1):
            file.write_bytes(whole[:length])
            with pytest.raises(DataError, match=f"{file.name}: this entry is damaged"):
                three.total(POPULATION)
        file.write_bytes(whole[:-1])  # all but the last line's end
        assert three.entries(POPULATION) == before
        file.write_bytes(whole)


@given(st.data())
def test_no_changed_byte_passes(data: st.DataObject) -> None:
    entry = new_entry("p", "r", "plan", PEOPLE, Fraction(7, 2), time="now")
    whole = bytearray(content_of(entry, KEY))
    place = data.draw(st.integers(0, len(whole) - 1))
    whole[place] = data.draw(st.integers(0, 255).filter(lambda byte: byte != whole[place]))
    try:
        read = entry_from(Path("f"), bytes(whole), KEY, "p", 1)
    except DataError:
        return
    assert read == entry  # white space at the end


@given(st.binary(max_size=200) | st.text(max_size=200).map(str.encode))
def test_nothing_but_entries_passes(content: bytes) -> None:
    with pytest.raises(DataError, match="this entry is damaged"):
        entry_from(Path("f"), content, KEY, "p", 1)


@pytest.mark.parametrize("lost", [1, 2, 3])
def test_lost_entries_are_missed(three: Ledger, lost: int) -> None:
    (folder_of(three) / f"00000{lost}.json").unlink()
    for act in (
        lambda: three.total(POPULATION),
        lambda: three.reserve(new_entry(POPULATION, "d", "plan", PEOPLE, 1), "any"),
        lambda: three.reserve(new_entry(POPULATION, "a", "plan of a", PEOPLE, 1)),
    ):
        with pytest.raises(DataError, match=rf"00000{lost}\.json: this entry is lost"):
            act()


@pytest.mark.parametrize("lost", [1, 2, 3])
def test_an_entry_that_is_lost_with_the_head_is_missed(three: Ledger, lost: int) -> None:
    (folder_of(three) / f"00000{lost}.json").unlink()
    head_file(folder_of(three)).unlink()
    with pytest.raises(DataError, match=r"this entry is lost|json: lost"):
        three.total(POPULATION)


def test_entries_that_belong_elsewhere_do_not_pass(three: Ledger) -> None:
    folder = folder_of(three)
    shutil.copy(folder / "000001.json", folder / "000004.json")
    with pytest.raises(DataError, match=r"it is entry 1 of 'survey-2024\.1'"):
        three.total(POPULATION)
    (folder / "000004.json").unlink()
    shutil.copytree(folder, folder_of(three, "other"))
    with pytest.raises(DataError, match=r"it is entry 1 of 'survey-2024\.1'"):
        three.total("other")


def test_an_edited_entry_does_not_pass_with_a_digest_that_anybody_can_make(three: Ledger) -> None:
    file = folder_of(three) / "000003.json"
    line = file.read_text().splitlines()[0].replace('"epsilon": "2.5"', '"epsilon": "0"')
    for key in (b"", bytes(32), three.key):  # the key of entries is a subkey of that one
        mac = hmac.new(key, line.encode(), "sha256").hexdigest()
        file.write_text(f"{line}\n{mac}\n")
        with pytest.raises(DataError, match=r"000003\.json: this entry is damaged \(its MAC"):
            three.total(POPULATION)


def test_entries_of_two_histories_do_not_mix(
    three: Ledger, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """As where two copies of a ledger were used and then put together."""
    begun = datetime.fromisoformat(three.entries(POPULATION)[0].time)  # of both histories
    clock = SimpleNamespace(now=begun.astimezone)
    monkeypatch.setattr("deniable.release.counting.entries.datetime", clock)
    folder = folder_of(three)
    shutil.copytree(three.folder, tmp_path / "copy")
    shutil.copy(folder / "000002.json", tmp_path / "kept")
    copy, first = Ledger(tmp_path / "copy"), Ledger.init(tmp_path / "first")
    (first.folder / "key").write_bytes(three.key)
    reserve(Ledger(first.folder), "a", 1)
    for name in ("000003.json", "000002.json"):
        (folder_of(copy) / name).unlink()
    shutil.copy(folder_of(first) / "000001.json", folder_of(copy))
    shutil.copy(head_file(folder_of(first)), head_file(folder_of(copy)))
    reserve(copy, "other", 5)
    shutil.copy(folder / "000003.json", folder_of(copy))
    with pytest.raises(DataError, match=r"000003\.json: this entry does not follow the one before"):
        copy.total(POPULATION)
    (folder_of(copy) / "000003.json").unlink()
    shutil.copy(tmp_path / "kept", folder_of(copy) / "000002.json")
    with pytest.raises(DataError, match=r"heads/.*: not of these entries; restore the ledger"):
        copy.total(POPULATION)


@pytest.mark.parametrize(
    "text",
    ["", "{", "null", "[]", "[" * 10**5, '{"number": -1, "mac": ""}', '{"number": 3}'],
    ids=str.__len__,
)
def test_a_damaged_head_is_one_message(three: Ledger, text: str) -> None:
    head_file(folder_of(three)).write_text(text)
    with pytest.raises(DataError, match=r"heads/.*: damaged; restore the ledger from a copy"):
        three.total(POPULATION)


@pytest.mark.parametrize("lost", [1, 2, 3])
@pytest.mark.parametrize("head", ["kept", "lost", "edited"])
def test_entries_that_are_lost_at_the_end_are_missed(three: Ledger, lost: int, head: str) -> None:
    """Also with the head, or with a head that was edited to the last entry that is left."""
    folder, file = folder_of(three), head_file(folder_of(three))
    left = 3 - lost
    for number in range(left + 1, 4):
        (folder / f"{number:06}.json").unlink()
    last = (folder / f"{left:06}.json").read_text().split()[-1] if left else ""
    if head == "lost":
        file.unlink()
    elif head == "edited":
        file.write_text(json.dumps({"number": left, "mac": last}))
    if head == "lost" and not left:
        assert three.entries(POPULATION) == ()  # nothing is left that could show it
        return
    with pytest.raises(DataError, match=r"restore (the ledger|it) from a copy"):
        three.entries(POPULATION)


def test_a_lost_folder_of_a_population_is_missed(three: Ledger) -> None:
    shutil.rmtree(folder_of(three))
    assert three.populations() == (POPULATION,)
    with pytest.raises(DataError, match=r"000001\.json: this entry is lost"):
        reserve(three, "d")


def test_a_head_that_is_made_meanwhile_is_not_lost(
    three: Ledger, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The head is read before entries, and another process makes both between."""
    seen = iter([None, (1, "")])
    monkeypatch.setattr("deniable.release.counting.entries._head", lambda _: next(seen))
    assert len(three.entries(POPULATION)) == 3


def test_a_head_that_is_behind_is_moved_on(three: Ledger) -> None:
    """A process was killed between the entry and the head."""
    head = head_file(folder_of(three))
    before = head.read_text()
    reserve(three, "d", 1)
    last = head.read_text()
    head.write_text(before)
    assert three.total(POPULATION) == math.inf
    reserve(three, "d", 1)
    assert head.read_text() == last


def test_entries_of_later_versions_are_not_guessed_at(
    three: Ledger, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("deniable.release.counting.entries.FORMAT", 4)
    with pytest.raises(DataError, match="format 3, which this version does not support"):
        three.total(POPULATION)


def test_temporary_files_count_nothing_and_go(three: Ledger) -> None:
    folder = folder_of(three)
    left = folder / ".000004.json.abcdefgh", folder / ".000003.json.hgfedcba"
    left[0].write_text('{"half')
    left[1].hardlink_to(folder / "000003.json")
    reserve(three, "d")
    assert [file.exists() for file in left] == [True, False]  # one may be at work
    os.utime(left[0], (0, 0))
    assert reserve(three, "e").number == 5
    assert not left[0].exists()


# -- several at once, and killed ------------------------------------------------------------------

FORK = multiprocessing.get_context("fork")


def at_once(processes: int, work: Callable[[int], None]) -> None:
    started = [FORK.Process(target=work, args=(number,)) for number in range(processes)]
    for each in started:
        each.start()
    for each in started:
        each.join()
    assert [each.exitcode for each in started] == [0] * processes


def test_several_processes_lose_no_reservation(ledger: Ledger) -> None:
    def work(process: int) -> None:
        for step in range(5):
            for _ in range(1000):  # consent goes stale whenever another is faster
                try:
                    reserve(ledger, f"r{process}-{step}", Fraction(1, 7))
                    break
                except DeniableError as error:
                    if "to make it nevertheless" not in str(error):
                        raise
            else:
                raise AssertionError("never served")

    at_once(4, work)
    entries = ledger.entries(POPULATION)
    assert sorted(each.release for each in entries) == sorted(
        f"r{process}-{step}" for process, step in itertools.product(range(4), range(5))
    )
    assert ledger.total(POPULATION) == Fraction(20, 7)
    assert len(files(ledger)) == 5 + 20  # key, three folders and head


def test_the_same_release_at_once_is_one(ledger: Ledger) -> None:
    def work(_: int) -> None:
        records = digests(ledger, [1, 2, 3])
        assert ledger.reserve(new_entry(POPULATION, "a", "plan", records, 1)).number == 1

    at_once(6, work)
    assert ledger.total(POPULATION) == 1
    assert [file.name for file in folder_of(ledger).iterdir()] == ["000001.json"]


def test_of_two_first_releases_at_once_one_needs_consent(ledger: Ledger) -> None:
    def work(process: int) -> None:
        try:
            ledger.reserve(new_entry(POPULATION, f"r{process}", "plan", PEOPLE, 1))
        except DeniableError as error:
            if "would be release 2 of" not in str(error):
                raise
            (ledger.folder.parent / f"refused-{process}").touch()

    at_once(6, work)
    assert ledger.total(POPULATION) == 1
    assert len(list(ledger.folder.parent.glob("refused-*"))) == 5


def test_of_two_that_make_a_ledger_at_once_one_is_refused(tmp_path: Path) -> None:
    def work(process: int) -> None:
        try:
            Ledger.init(tmp_path / "ledger")
        except DeniableError:
            (tmp_path / f"refused-{process}").touch()

    at_once(6, work)
    assert len(list(tmp_path.glob("refused-*"))) == 5
    assert Ledger(tmp_path / "ledger").populations() == ()


# Calls of the system that a kill may come before: of folders, temporary files, entry and head.
STEPS = [("mkdir", 1), ("link", 1), ("replace", 1), ("unlink", 1)]
STEPS += [("open", number) for number in range(1, 7)]
STEPS += [("fsync", number) for number in range(1, 7)]


@pytest.mark.parametrize(("call", "number"), STEPS)
def test_a_kill_at_any_step_is_made_good(ledger: Ledger, call: str, number: int) -> None:
    reserved = ledger.folder.parent / "reserved"
    real, left = getattr(os, call), itertools.count(1 - number)

    def killing(*given: Any, **options: Any) -> Any:
        if next(left) == 0:
            os.kill(os.getpid(), signal.SIGKILL)
        return real(*given, **options)

    def work() -> None:
        setattr(os, call, killing)
        ledger.reserve(new_entry("p", "a", "plan", digests(ledger, [1]), 1.5))
        reserved.touch()

    process = FORK.Process(target=work)
    process.start()
    process.join()
    assert process.exitcode == -signal.SIGKILL
    assert not reserved.exists()
    assert ledger.total("p") in (0, Fraction(3, 2))
    assert ledger.reserve(new_entry("p", "a", "plan", digests(ledger, [1]), 1.5)).number == 1
    assert ledger.total("p") == Fraction(3, 2)


@settings(max_examples=20)
@given(st.lists(st.tuples(st.sampled_from("abc"), st.sampled_from((1, 2, None))), max_size=8))
def test_the_total_never_falls(asked: list[tuple[str, Any]]) -> None:
    with tempfile.TemporaryDirectory() as folder:
        ledger = Ledger.init(folder)
        first: dict[str, Any] = {}
        for release, epsilon in asked:
            before = ledger.total(POPULATION)
            if first.setdefault(release, epsilon) == epsilon:
                assert reserve(ledger, release, epsilon).epsilon == counted(epsilon)
            else:
                with pytest.raises(DeniableError, match="was begun on"):
                    reserve(ledger, release, epsilon)
            assert ledger.total(POPULATION) >= before
        assert ledger.total(POPULATION) == total_of(map(counted, first.values()))
