"""A ledger of releases by population: epsilon is counted before a draw and never taken back.

docs/ledger.md describes its files and the errors that it detects.
"""

import hashlib
import hmac
import math
import os
import random
import re
import time
from collections.abc import Iterable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import replace
from fractions import Fraction
from itertools import chain
from pathlib import Path
from typing import Any

from deniable.channels import Number, rounded_up
from deniable.errors import DataError, DeniableError, refuse_unknown
from deniable.files import PRIVATE_FOLDER, private_folder, sync_to_disk, write_once
from deniable.release.counting.entries import (
    HEADS,
    Entry,
    add_entry,
    canonical,
    counted,
    epsilon_text,
    mac_of,
    move_head,
    overlaps,
    read_chain,
)

KEY_FILE, POPULATIONS, TWO_PERSONS = "key", "populations", "two-persons"
KEY_BYTES = 32
LEDGER_VARIABLE = "DENIABLE_LEDGER"
"""The environment variable that names a ledger."""
ATTEMPTS = 1000
_NAME = re.compile(r"[A-Za-z0-9]([A-Za-z0-9_.-]{0,98}[A-Za-z0-9_-])?")
TO_MAKE = "make one by: deniable ledger init FOLDER"


class Ledger:
    """The ledger in a `folder` that the data owner named and made by `Ledger.init`.

    The folder is as confidential as the records (mode 0700, files 0600): with its key, guesses at
    records can be checked. Keep it while a release exists. An old backup lacks later releases.

    Raises `DeniableError` if the folder is not a ledger or is open to others.

    Examples
    --------
    >>> import tempfile
    >>> from dataclasses import replace
    >>> from deniable.release.counting import RecordDigests
    >>> folder = tempfile.TemporaryDirectory()
    >>> ledger = Ledger.init(f"{folder.name}/ledger")
    >>> people = RecordDigests("5ee1", records=2, rows=(17, 44))
    >>> first = Entry(population="survey", release="first", epsilon=1.5, records=people)
    >>> ledger.reserve(first).number
    1
    >>> consent = "release 2 of survey named second, total epsilon 3.5"
    >>> ledger.reserve(replace(first, release="second", epsilon=2), consent).number
    2
    >>> print(ledger.total("survey"))
    7/2
    >>> folder.cleanup()
    """

    def __init__(self, folder: Path | str) -> None:
        self.folder = Path(folder)
        file = self.folder / KEY_FILE
        with _as_errors(self.folder):
            lost = [n for n in (POPULATIONS, HEADS) if not (self.folder / n).is_dir()]
            lost += [] if file.is_file() else [KEY_FILE]
            if lost:
                raise DeniableError(
                    f"{self.folder}: not a ledger of this version, because {' and '.join(lost)} "
                    "cannot be found there. If releases were counted there, restore it from a "
                    f"copy. Otherwise {TO_MAKE}, and name it by --ledger FOLDER"
                )
            mode = self.folder.stat().st_mode & 0o777
            if mode & 0o077:
                raise DeniableError(
                    f"{self.folder}: the ledger's folder is open to others (mode {mode:o}); close "
                    f"it with chmod {PRIVATE_FOLDER:o}, or name another one"
                )
            self.key = file.read_bytes()
        if len(self.key) != KEY_BYTES:
            raise DataError(
                f"{file}: damaged, {len(self.key)} of {KEY_BYTES} bytes; restore it from a copy"
            )
        self.digest = self._derived(b"digest").hex()
        """A digest of the key, which reveals nothing of it."""
        self._entry_key = self._derived(b"entries")

    @classmethod
    def init(cls, folder: Path | str, two_persons: bool = False) -> "Ledger":
        """Make a ledger in a `folder`, and return it. No other function makes one.

        With `two_persons` each release needs an approval of its plan by a second person. Raises
        `DeniableError` if the folder exists and is not empty, or cannot be written.
        """
        at = Path(folder)
        with _as_errors(at):
            there = at.exists()
            if there and not (at.is_dir() and not any(at.iterdir())):
                raise DeniableError(
                    f"{at}: exists and is not an empty folder; name a new folder for the ledger"
                )
            private_folder(at)
            try:
                made = write_once(at / KEY_FILE, os.urandom(KEY_BYTES))
            except BaseException:
                if not there:
                    at.rmdir()
                raise
            if not made:
                raise DeniableError(f"{at}: another process made a ledger there; use that one")
            if two_persons:
                write_once(at / TWO_PERSONS, b"")
            for name in (HEADS, POPULATIONS):
                private_folder(at / name)
        return cls(at)

    @property
    def two_persons(self) -> bool:
        """Whether each release needs an approval of its plan by a second person."""
        return (self.folder / TWO_PERSONS).exists()

    def _derived(self, purpose: bytes) -> bytes:
        return hmac.digest(self.key, b"deniable ledger 3, " + purpose, hashlib.sha256)

    def populations(self) -> tuple[str, ...]:
        """Return the populations that have a folder or a head, in lower case."""
        with _as_errors(self.folder):
            folders = (self.folder / POPULATIONS).iterdir()
            names = {each.name for each in folders if each.is_dir() and _NAME.fullmatch(each.name)}
            return tuple(sorted(names | {e.stem for e in (self.folder / HEADS).glob("*.json")}))

    def entries(self, population: str) -> tuple[Entry, ...]:
        """Return the entries of a `population`, in their order.

        Raises `DataError` if an entry is lost, damaged or edited, because the total would be wrong.
        """
        with _as_errors(self.folder):
            return read_chain(self._folder_of(population), population, self._entry_key)

    def facts(self, entries: Sequence[Entry]) -> dict[str, Any]:
        """Return number, total and MAC of the last of the first `entries` of a population."""
        total = epsilon_text(composed_epsilon(entries))
        return {"entry": len(entries), "total": total, "head": mac_of(entries[-1], self._entry_key)}

    def label(self, population: str, release: str) -> str:
        """Return a label for the key of a `release` of a `population`, unique to this release."""
        named = self._derived(b"label " + canonical([population.lower(), release]))
        return f"{release}-{named.hex()[:16]}"

    def record_key(self, population: str, release: str) -> bytes:
        """Return a key for digests of the protected records of a `population`'s `release`."""
        return self._derived(b"protected records " + canonical([population.lower(), release]))

    def total(self, population: str) -> Number:
        """Return the exact epsilon, or math.inf, of a `population`; see `composed_epsilon`."""
        return composed_epsilon(self.entries(population))

    def reserve(self, new: Entry, consent: str | None = None) -> Entry:
        """Count a `new` release before its draw; afterwards the returned entry is on the disk.

        A second call for the same release, plan, records and epsilon returns the same entry, counts
        nothing and needs no consent. The data owner gives the `consent`, a text that the error of a
        further release states.

        Raises `DeniableError` for a release that was begun with another plan, other records or
        another epsilon. Also for a further release without consent, for a consent to another total
        or without an earlier release, for a folder that cannot be written, and for an invalid
        epsilon or name. Names have letters, digits, "_", "-" and ".".
        """
        new, folder = _checked(new), self._folder_of(new.population)
        with _as_errors(self.folder):
            for _ in range(ATTEMPTS):
                entries = self.entries(new.population)
                names = [each.release for each in entries]
                if new.release in names:
                    begun = entries[names.index(new.release)]
                    _refuse_another(begun, new)
                    move_head(folder, new.population, self._entry_key)
                    sync_to_disk(folder)  # the process that made it may be dead
                    return begun
                self.refuse_without_consent(new, entries, consent)
                for name in _matched(new):
                    refuse_unknown("earlier release", name, names)
                before = mac_of(entries[-1], self._entry_key) if entries else ""
                new = replace(new, number=len(entries) + 1, before=before)
                if add_entry(folder, new, self._entry_key):
                    return new
                time.sleep(random.uniform(0, 0.02))
        raise DeniableError(f"{folder}: too many reservations at once; start again")

    def refuse_without_consent(
        self, new: Entry, entries: Sequence[Entry], consent: str | None
    ) -> None:
        """Raise the error of `reserve` for a `consent` to a `new` release after the `entries`."""
        population, begun = new.population, new.release in [each.release for each in entries]
        if begun or (not entries and consent is None):
            return
        if not entries:
            raise DeniableError(
                f"{self.folder}: a consent is given, {consent!r}, but the ledger has no release of "
                f"population {population!r}; name the ledger and population of earlier releases, "
                "or leave the consent out if there are none"
            )
        before, after = composed_epsilon(entries), epsilon_text(composed_epsilon((*entries, new)))
        # With number and total, a consent is invalid after any other release.
        release = f"release {len(entries) + 1} of {population.lower()} named {new.release}"
        if consent == (needed := f"{release}, total epsilon {after}"):
            return
        # The parts of a partition have no record in common.
        others = (
            each
            for each in entries
            if each.partition is None or each.partition != new.partition or each.part == new.part
        )
        found = "".join(f"; {each}" for each in overlaps(new.records, others))
        given = "" if consent is None else f", not {consent!r}"
        raise DeniableError(
            f"release {new.release!r} would be release {len(entries) + 1} of population "
            f"{population!r}. The population's total epsilon is {epsilon_text(before)} and would "
            f"be {after}, even if the release fails{found}; to make it nevertheless, give the "
            f"consent {needed!r}{given}"
        )

    def _folder_of(self, population: str) -> Path:
        _refuse_bad_name("population", population)
        return self.folder / POPULATIONS / population.lower()  # some file systems ignore case


def total_of(epsilons: Iterable[Number]) -> Number:
    """Return the exact sum of `epsilons`; math.inf if one of them is infinite."""
    found = list(epsilons)
    return math.inf if math.inf in found else sum((Fraction(each) for each in found), Fraction())


def composed_epsilon(entries: Iterable[Entry]) -> Number:
    """Return the exact epsilon of all `entries` of a population; math.inf if one is infinite.

    Epsilons add up (sequential composition). But a respondent belongs to only one part of a
    partition, so the parts of one partition count by their maximum (parallel composition).
    """
    return _composed((each, each.epsilon) for each in entries)


def shuffled_total(entries: Sequence[Entry]) -> tuple[Number, Number]:
    """Return (epsilon, delta) of all `entries` for somebody who has published folders alone.

    Releases with independent keys add up. Releases with rows that can be matched are one record:
    their local epsilons are added first, and the sum is amplified for the smallest file. A release
    without the figure counts with its local epsilon and delta 0, and so do matched ones if their
    sum is not amplified. Parts of a partition count as in `composed_epsilon`.
    """
    groups: list[list[Entry]] = []
    for entry in entries:
        joined = [each for each in groups if any(_same_rows(entry, other) for other in each)]
        groups = [each for each in groups if each not in joined]
        groups.append([*chain.from_iterable(joined), entry])
    found = []
    for group in groups:
        same = len({(each.partition, each.part) for each in group}) == 1
        leading = group[0] if same else replace(group[0], part=None)
        found.append((leading, *_of_group(group)))
    epsilon = _composed((entry, epsilon) for entry, epsilon, _ in found)
    return epsilon, _composed((entry, delta) for entry, _, delta in found)


def _same_rows(entry: Entry, earlier: Entry) -> bool:
    own, other = entry.row_order, earlier.row_order
    same = own is not None and other is not None and own.order == other.order
    return same or (own is not None and earlier.release in own.matched)


def _of_group(group: Sequence[Entry]) -> tuple[Number, Number]:
    """Return (epsilon, delta) of releases with rows that can be matched."""
    orders = [each.row_order for each in group if each.row_order]
    local = [each.epsilon for each in orders if each.epsilon is not None]
    if len(local) == len(group):
        from deniable.privacy import shuffled_guarantee  # noqa: PLC0415 - slow to import

        rows, unit = min(each.answering for each in group), max(each.unit for each in orders)
        found = shuffled_guarantee(rounded_up(sum(local, Fraction())), rows, unit)
        if found is not None:
            return found[0], Fraction(found[1])
    return total_of(each.epsilon for each in group), Fraction()


def _composed(values: Iterable[tuple[Entry, Number]]) -> Number:
    """Return the sum of a value of each entry; parts of a partition count by their maximum."""
    alone: list[Number] = []
    partitions: dict[tuple[int, str, str], dict[int, list[Number]]] = {}
    for entry, value in values:
        if entry.part is None or entry.partition is None:
            alone.append(value)
        else:
            parts = partitions.setdefault(entry.partition, {})
            parts.setdefault(entry.part.take, []).append(value)
    largest = (max(map(total_of, parts.values())) for parts in partitions.values())
    return total_of([*alone, *largest])


def named_ledger(folder: Path | str | None) -> Ledger:
    """Open the ledger in a `folder`, or by default in the one that DENIABLE_LEDGER names.

    Raises `DeniableError` if neither names a folder, or the folder is not a ledger.
    """
    if not (named := folder or os.environ.get(LEDGER_VARIABLE)):
        raise DeniableError(
            "no ledger is named. A production release needs one, in which its epsilon is counted: "
            f"{TO_MAKE}, unless you have one, and name it by --ledger FOLDER (ledger in Python and "
            f"in a config), or by the environment variable {LEDGER_VARIABLE}"
        )
    return Ledger(named)


@contextmanager
def _as_errors(folder: Path) -> Iterator[None]:
    try:
        yield
    except OSError as error:
        raise DeniableError(
            f"{error.filename or folder}: {error.strerror or error}; the ledger of releases needs "
            "room in a folder that its owner can read and write, on a file system with hard links"
        ) from None


def _checked(new: Entry) -> Entry:
    _refuse_bad_name("population", new.population)
    _refuse_bad_name("release", new.release)
    return replace(new, epsilon=counted(new.epsilon))


def _refuse_bad_name(what: str, name: str) -> None:
    if not _NAME.fullmatch(name):
        raise DeniableError(
            f"{what} {name!r}: names in a ledger have 1 to 100 letters (a to z), digits, '_', '-' "
            "and '.', begin with a letter or digit, and do not end with '.'"
        )


def _matched(entry: Entry) -> tuple[str, ...]:
    return entry.row_order.matched if entry.row_order else ()


def _refuse_another(begun: Entry, new: Entry) -> None:
    differences = {
        "another plan or another key": begun.plan != new.plan,
        "other records, or the same in another order": begun.records.whole != new.records.whole,
        f"epsilon {epsilon_text(begun.epsilon)}": begun.epsilon != new.epsilon,
        "another part of the respondents": begun.part != new.part,
        "other matched releases": _matched(begun) != _matched(new),
    }
    if other := [what for what, differs in differences.items() if differs]:
        raise DeniableError(
            f"release {new.release!r} of population {new.population!r} was begun on {begun.time} "
            f"with {' and '.join(other)}; restore these, or give the new release a name of its "
            "own (its epsilon adds to the total)"
        )
