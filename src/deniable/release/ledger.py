"""A ledger of releases by population: epsilon is counted before a draw and never taken back.

A population has a folder, and each entry has a numbered file in it: 000001.json. The whole file is
on the disk under a temporary name before a hard link gives it the next number. The link fails if
another process has taken that number; then all entries are read again. This step is atomic on
network file systems too, where locks may not work. A killed process leaves neither a lock nor a
part of an entry, only a temporary file that counts nothing. Reservations stay, because nobody can
prove that a draw never happened.
"""

import os
import random
import re
import time
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import replace
from datetime import UTC, datetime
from pathlib import Path

from deniable.channels import Number
from deniable.errors import DataError, DeniableError
from deniable.files import (
    PRIVATE_FOLDER,
    private_folder,
    put_once,
    remove_abandoned,
    sync_folder,
)
from deniable.plans import Part
from deniable.release.entries import (
    Entry,
    Overlap,
    RecordDigests,
    composed_epsilon,
    content_of,
    counted,
    entry_from,
    epsilon_text,
    overlap,
)

KEY_FILE = "key"
KEY_BYTES = 32  # of digests
ATTEMPTS = 1000
_ENTRY_FILE = re.compile(r"[0-9]{6,}\.json")
_NAME = re.compile(r"[A-Za-z0-9][A-Za-z0-9_.-]{0,99}")


class Ledger:
    """The ledger in a `folder` that the data owner names.

    The folder is as confidential as the records (mode 0700, files 0600): its key allows guesses at
    records. Keep it as long as any release exists. An old backup lacks later releases. The first
    reservation makes the folder. An existing one must be closed to others.

    Examples
    --------
    >>> import tempfile
    >>> folder = tempfile.TemporaryDirectory()
    >>> ledger = Ledger(folder.name)
    >>> people = RecordDigests("5ee1", records=2, sketch=(17, 44))
    >>> ledger.reserve("survey", "first", plan="6f1a", records=people, epsilon=1.5).number
    1
    >>> consent = "release 2 of survey named second, total epsilon 3.5"
    >>> ledger.reserve("survey", "second", "70b2", people, 2, consent=consent).number
    2
    >>> print(ledger.total("survey"))
    7/2
    >>> folder.cleanup()
    """

    def __init__(self, folder: Path | str) -> None:
        self.folder = Path(folder)

    def populations(self) -> tuple[str, ...]:
        """Return the populations that have a release, in lower case."""
        with self._as_errors():
            if not self.folder.is_dir():
                return ()
            return tuple(sorted(each.name for each in self.folder.iterdir() if each.is_dir()))

    def entries(self, population: str) -> tuple[Entry, ...]:
        """Return the entries of a `population`, in their order.

        Raises `DataError` if an entry is lost or damaged, because the total would be too small.
        """
        folder = self._folder_of(population)
        with self._as_errors():
            files = folder.iterdir() if folder.is_dir() else ()
            listed = [int(file.stem) for file in files if _ENTRY_FILE.fullmatch(file.name)]
            entries: list[Entry] = []
            while True:  # by name: a listing may lack entries that are added meanwhile
                file = folder / f"{len(entries) + 1:06}.json"
                try:
                    content = file.read_bytes()
                except FileNotFoundError:
                    if len(entries) < max(listed, default=0):
                        raise DataError(
                            f"{file}: this entry is lost, later ones are there; restore it from a "
                            "copy: the total needs it"
                        ) from None
                    return tuple(entries)
                entries.append(entry_from(file, content, population, len(entries) + 1))

    def entry_of(self, population: str, release: str, published: Path) -> Entry:
        """Return the entry of a `release` of a `population`, which is in the folder `published`.

        Raises `DeniableError` if there is no such entry, because totals are too small without it.
        """
        for entry in self.entries(population):
            if entry.release == release:
                return entry
        raise DeniableError(
            f"{self.folder}: the ledger has no entry of release {release!r} of population "
            f"{population!r}, which is published in {published}. Restore the ledger from a copy, "
            "or name the ledger that has the entry"
        )

    def total(self, population: str) -> Number:
        """Return the exact epsilon of all releases of a `population`; math.inf if one is infinite.

        See `deniable.release.entries.composed_epsilon`.
        """
        return composed_epsilon(self.entries(population))

    def overlaps(self, population: str, records: RecordDigests) -> tuple[Overlap, ...]:
        """Return the overlap of `records` with each release of a `population`."""
        entries = self.entries(population)
        found = (overlap(records, each.release, each.records) for each in entries)
        return tuple(each for each in found if each.shared)

    def reserve(
        self,
        population: str,
        release: str,
        plan: str,
        records: RecordDigests,
        epsilon: Number | None,
        consent: str | None = None,
        part: Part | None = None,
    ) -> Entry:
        """Count a release before its draw; afterwards the entry is on the disk.

        A second call for the same release, plan, records and epsilon returns the same entry, counts
        nothing and needs no consent.

        Raises `DeniableError` for a release that was begun with another plan, other records or
        another epsilon. Also for a further release without consent, for a consent to another total
        or without an earlier release, and for a folder that cannot be written or is open to others.

        The names `population` and `release` have letters, digits, "_", "-" and "."; case has no
        meaning in a population. `plan` is a digest of plan and key, and `records` are digests under
        the key of the ledger. The `epsilon` is None or infinite if no finite epsilon holds. A float
        counts as it is written, .1 as 1/10; `Fraction(epsilon)` is the exact float. The `consent`
        is the text that the error of a further release states, given by the data owner. The `part`
        of the respondents that answers is public; by default all of them do.
        """
        _refuse_bad_name("release", release)
        now = datetime.now(UTC).isoformat(timespec="seconds")
        new = Entry(1, population, release, plan, counted(epsilon), records, now, part=part)
        folder = self._folder_of(population)
        with self._as_errors():
            self._make()
            private_folder(folder)
            remove_abandoned(folder)
            for _ in range(ATTEMPTS):
                entries = self.entries(population)
                begun = next((each for each in entries if each.release == release), None)
                if begun:
                    _refuse_another(begun, new)
                    sync_folder(folder)  # the process that made it may be dead
                    return begun
                self._refuse_without_consent(new, entries, consent)
                new = replace(new, number=len(entries) + 1)
                if put_once(folder / f"{new.number:06}.json", content_of(new)):
                    return new
                time.sleep(random.uniform(0, 0.02))
        raise DeniableError(f"{folder}: too many reservations at once; start again")

    def _refuse_without_consent(
        self, new: Entry, entries: tuple[Entry, ...], consent: str | None
    ) -> None:
        population = new.population
        if not entries:
            if consent is None:
                return
            raise DeniableError(
                f"{self.folder}: a consent is given, {consent!r}, but the ledger has no release of "
                f"population {population!r}; name the folder and population of those before, or "
                "leave the consent out if there are none"
            )
        needed = consent_needed(new, entries)
        if consent == needed:
            return
        before, after = composed_epsilon(entries), epsilon_text(composed_epsilon((*entries, new)))
        # The parts of a partition have no record in common.
        others = (
            each
            for each in entries
            if each.partition is None or each.partition != new.partition or each.part == new.part
        )
        shared = (overlap(new.records, each.release, each.records) for each in others)
        found = "".join(f"; {each}" for each in shared if each.shared)
        given = "" if consent is None else f", not {consent!r}"
        raise DeniableError(
            f"release {new.release!r} would be release {len(entries) + 1} of population "
            f"{population!r}. The population's total epsilon is {epsilon_text(before)} and would "
            f"be {after}, even if the release fails{found}; to have it all the same, give the "
            f"consent {needed!r}{given}"
        )

    def _folder_of(self, population: str) -> Path:
        _refuse_bad_name("population", population)
        return self.folder / population.lower()  # some file systems ignore case

    def key(self, first: bytes | None = None) -> bytes:
        """Return the key of digests; it is made once, from `first` if that is given."""
        with self._as_errors():
            known = self.populations()
            self._make()
            file = self.folder / KEY_FILE
            if not file.exists():
                if known:
                    raise DataError(
                        f"{file}: the key is lost, so records cannot be compared with those of the "
                        f"releases of {', '.join(known)}; restore it from a copy"
                    )
                put_once(file, first or os.urandom(KEY_BYTES))
            sync_folder(self.folder)  # the process that made it may be dead
            key = file.read_bytes()
        if len(key) != KEY_BYTES:
            raise DataError(
                f"{file}: damaged, {len(key)} of {KEY_BYTES} bytes; restore it from a copy"
            )
        return key

    def _make(self) -> None:
        """Make the folder if it does not exist, and refuse a folder that is open to others."""
        private_folder(self.folder)
        mode = self.folder.stat().st_mode & 0o777
        if mode & 0o077:
            raise DeniableError(
                f"{self.folder}: the ledger's folder is open to others (mode {mode:o}); close it "
                f"with chmod {PRIVATE_FOLDER:o}, or name another one"
            )

    @contextmanager
    def _as_errors(self) -> Iterator[None]:
        try:
            yield
        except OSError as error:
            raise DeniableError(
                f"{error.filename or self.folder}: {error.strerror or error}; the ledger of "
                "releases needs a folder that its owner can read and write, on a file system with "
                "hard links"
            ) from None


def consent_needed(new: Entry, entries: Sequence[Entry]) -> str:
    """Return the text of consent that a `new` release needs after the `entries` of its population.

    The text states name and number of the release and the total with its epsilon, so it is invalid
    after any other release.
    """
    total = epsilon_text(composed_epsilon((*entries, new)))
    population = new.population.lower()
    return f"release {len(entries) + 1} of {population} named {new.release}, total epsilon {total}"


def _refuse_bad_name(what: str, name: str) -> None:
    if not _NAME.fullmatch(name):
        raise DeniableError(
            f"{what} {name!r}: names in a ledger have 1 to 100 letters (a to z), digits, '_', '-' "
            "and '.', and begin with a letter or digit"
        )


def _refuse_another(begun: Entry, new: Entry) -> None:
    differences = {
        "another plan or another key": begun.plan != new.plan,
        "other records, or the same in another order": begun.records != new.records,
        f"epsilon {epsilon_text(begun.epsilon)}": begun.epsilon != new.epsilon,
        "another part of the respondents": begun.part != new.part,
    }
    other = [what for what, differs in differences.items() if differs]
    if other:
        raise DeniableError(
            f"release {new.release!r} of population {new.population!r} was begun on {begun.time} "
            f"with {' and '.join(other)}; restore what it was begun with, or give the new "
            "release a name of its own, whose epsilon adds to the total"
        )
