"""Store ledger entry, journal and log of a release, and compare releases with their ledger.

The journal has the digests of the original and protected records, the plan and the versions. It is
written once, after the draw. If several processes start at once, the ledger decides between them
before the draw: it gives one number to one process only. The log has a line of JSON for each event.
"""

import errno
import fcntl
import hashlib
import os
import platform
import pwd
import warnings
from collections.abc import Iterable, Iterator, Mapping
from contextlib import contextmanager, suppress
from dataclasses import asdict
from functools import cache
from pathlib import Path
from typing import Any

import pyarrow as pa
from pydantic import ConfigDict
from pydantic.dataclasses import dataclass

from deniable import __version__
from deniable.errors import DeniableError
from deniable.files import (
    PRIVATE_FILE,
    json_line,
    read_json,
    replace_durably,
    sync_to_disk,
    write_once,
)
from deniable.plans import Plan
from deniable.release.counting import Entry, Ledger, canonical, overlaps, utc_now
from deniable.release.keys import PRIVATE, PUBLIC, PlaceOfKey

JOURNAL_FILE = "journal.json"


def current_versions() -> dict[str, str]:
    """Return the versions of deniable, pyarrow and Python."""
    found = {"deniable": __version__, "pyarrow": pa.__version__}
    return found | {"python": platform.python_version()}


@dataclass(frozen=True, config=ConfigDict(strict=True, extra="forbid"))
class Journal:
    """The facts of a draw.

    `place` is the place of the key, and `records` the ledger's digest of the original records, in
    hexadecimal. `plan` is the JSON document of the plan, and `drawn` the digest of the protected
    records (`deniable.release.counting.digests`). The `versions` are of the software that made the
    draw.
    """

    place: PlaceOfKey
    records: str
    plan: Mapping[str, Any]
    drawn: str
    versions: Mapping[str, str]


def journal_of(folder: Path) -> Journal:
    """Return the journal of the release in a `folder`; raise `DeniableError` if damaged."""
    file = folder / PRIVATE / JOURNAL_FILE
    try:
        values = read_json(file)
        return Journal(**(values | {"place": PlaceOfKey(**values["place"])}))
    except (OSError, ValueError, LookupError, TypeError):
        raise DeniableError(
            f"{file}: missing or damaged since the draw, so the release and its key cannot be "
            "verified; restore the file from a copy"
        ) from None


def store_journal(folder: Path, journal: Journal) -> None:
    """Store the `journal` of the release in a `folder`, or compare it with the stored one.

    Raises `DeniableError` if the stored one is damaged, or of another draw.
    """
    if not (file := folder / PRIVATE / JOURNAL_FILE).exists():
        write_once(file, canonical(asdict(journal)))
    stored = journal_of(folder)
    if (stored.records, stored.drawn) != (journal.records, journal.drawn):
        versions = ", ".join(f"{name} {version}" for name, version in stored.versions.items())
        raise DeniableError(
            f"{file}: the protected records would differ from those that the same key gave before, "
            f"by {versions}; continue with these versions, or give the release a new name"
        )


ENTRY_FILE = "entry.json"
"""The ledger's entry of a release, and the settings by which it was published."""
FACTS = ("entry", "total", "head")
MAX_ENTRIES = 10**9
REMEDY = "restore the ledger from a copy, or name the ledger that has the entry"


def store_entry(
    folder: Path, ledger: Ledger, entry: Entry, settings: Mapping[str, Any] | None
) -> dict[str, Any]:
    """Store the `entry` of a release, from the `ledger`, and its `settings` in its `folder`.

    Returns the published facts: number, total and MAC.
    """
    facts = ledger.facts(ledger.entries(entry.population)[: entry.number])
    values = {"release": entry.release, "population": entry.population, **facts}
    values |= {"ledger": ledger.digest}
    values |= {"settings": dict(settings)} if settings is not None else {}
    replace_durably(folder / PRIVATE / ENTRY_FILE, canonical(values))
    return facts


def entry_of(folder: Path) -> dict[str, Any]:
    """Return the stored entry of the release in a `folder`; raise `DeniableError` if damaged."""
    file = folder / PRIVATE / ENTRY_FILE
    try:
        stored = read_json(file)
        texts = [stored[name] for name in ("release", "population", "ledger", "total", "head")]
        if not all(isinstance(each, str) for each in texts):
            raise ValueError
        if type(stored["entry"]) is not int or not 0 < stored["entry"] < MAX_ENTRIES:
            raise ValueError
    except (OSError, ValueError, LookupError, TypeError):
        raise DeniableError(
            f"{file}: missing or damaged since the ledger counted this release; restore it from a "
            "copy"
        ) from None
    return dict(stored)


def faults_of_entries(ledger: Ledger, folders: Iterable[Path]) -> dict[Path, str]:
    """Return a message for each of the `folders` with a release that the `ledger` lacks."""
    entries_of = cache(ledger.entries)
    faults: dict[Path, str] = {}
    for folder in folders:
        try:
            stored = entry_of(folder)
            release, population, number = (stored[n] for n in ("release", "population", "entry"))
            named = f"{folder}: release {release!r} of population {population!r}"
            if stored["ledger"] != ledger.digest:
                raise DeniableError(
                    f"{named} was counted in another ledger than {ledger.folder}, or before the "
                    f"key of this one was replaced; {REMEDY}"
                )
            own = entries_of(str(population))[:number]
            facts = {name: stored[name] for name in FACTS}
            if len(own) < number or own[-1].release != release or facts != ledger.facts(own):
                raise DeniableError(
                    f"{named}: the ledger {ledger.folder} does not have its entry, number "
                    f"{number}; {REMEDY}"
                )
        except DeniableError as error:
            faults[folder] = str(error)
    return faults


def refuse_uncounted(ledger: Ledger, folder: Path) -> None:
    """Raise `DeniableError` if a `ledger` lacks the entry of a release in or next to a `folder`.

    The same error is raised if the folder is in the ledger.
    """
    there = folder.resolve()
    if there.is_relative_to(ledger.folder.resolve()):
        raise DeniableError(f"{folder}: this lies in the ledger; name a folder elsewhere")
    beside = there.parent.iterdir() if there.parent.is_dir() else ()
    # A private folder that this user cannot read is of another user.
    readable = (each for each in beside if os.access(each / PRIVATE, os.R_OK | os.X_OK))
    counted = {each for each in readable if (each / PRIVATE / ENTRY_FILE).exists()}
    if (there / PUBLIC).exists():
        counted.add(there)
    for fault in faults_of_entries(ledger, sorted(counted)).values():
        raise DeniableError(fault)


def warn_of_overlaps(ledger: Ledger, new: Entry) -> None:
    """Warn if another population of the `ledger` has records of a `new` release."""
    for other in sorted({*ledger.populations()} - {new.population.lower()}):
        for found in overlaps(new.records, ledger.entries(other)):
            warnings.warn(
                f"release {new.release!r}: {found}, of population {other!r}; its epsilon is not "
                "added to this one's. Name that population if the respondents are the same",
                stacklevel=2,
            )


def refuse_another_plan(
    name: str, folder: Path, published: Mapping[str, Any], document: Mapping[str, Any]
) -> None:
    """Raise `DeniableError` if a release of a `name` in a `folder` was published by another plan.

    `published` is the published document of its plan, and `document` the one of the owner.
    """
    public = folder / PUBLIC
    try:
        stored = read_json(public / "plan.json")
        facts = stored.pop("release")["ledger"]
    except (ValueError, LookupError, TypeError, AttributeError):
        raise DeniableError(
            f"{public / 'plan.json'}: damaged or edited since it was made; restore it from a copy"
        ) from None
    if facts != {fact: entry_of(folder)[fact] for fact in FACTS}:
        raise DeniableError(
            f"{public / 'plan.json'}: another entry of the ledger than in {folder / PRIVATE}; "
            "restore both folders from a copy"
        )
    whole = canonical(journal_of(folder).plan)  # matrices may be kept back from the published one
    if (canonical(stored), whole) != (canonical(published), canonical(document)):
        raise DeniableError(
            f"{public}: release {name!r} was published by another plan; give this one a new name"
        )


LOG: str = "log.jsonl"


def plan_digest(plan: Plan) -> str:
    """Return the SHA-256 of the document of a `plan`, in hexadecimal."""
    from deniable.plans import plan_to_json  # noqa: PLC0415 - slow to import, rarely needed

    return hashlib.sha256(canonical(plan_to_json(plan))).hexdigest()


def facts_of(release: str | None, plan: Plan) -> dict[str, Any]:
    """Return the facts on a `release` by a `plan` for the log."""
    facts = {"release": release, "population": plan.schema.population, "plan": plan_digest(plan)}
    return facts | {"author": plan.author, "accepted": list(plan.accept)}


def append_event(folder: Path, event: str, **facts: Any) -> None:
    """Append an `event` with its `**facts`, plain JSON values, to the log in a private `folder`.

    The line also has time, user of the operating system, and version. One write appends it, and it
    is on the disk on return. If a full disk cut an earlier line, the new one begins on a line of
    its own. Raises `OSError` if the line cannot be written.
    """
    user = str(os.geteuid())
    with suppress(KeyError):  # a container may have no name for its user
        user = pwd.getpwuid(os.geteuid()).pw_name
    about = {"time": utc_now(), "user": user, "deniable": __version__, "event": event}
    line = json_line(about | facts).encode("utf-8", "backslashreplace") + b"\n"
    file, flags = folder / LOG, os.O_RDWR | os.O_APPEND | os.O_CREAT | os.O_NOFOLLOW
    handle = os.open(file, flags, PRIVATE_FILE)
    try:
        with suppress(OSError):  # without locks, a process that writes now can cause an empty line
            fcntl.flock(handle, fcntl.LOCK_EX)
        size = os.fstat(handle).st_size
        cut = size > 0 and os.pread(handle, 1, size - 1) != b"\n"
        line = b"\n" * cut + line
        if os.write(handle, line) < len(line):
            raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC), str(file))
        os.fsync(handle)
    finally:
        os.close(handle)
    if not size:
        sync_to_disk(folder)


@contextmanager
def refusals_logged(folder: Path, ledger: Ledger, plan: Plan, release: str) -> Iterator[None]:
    """Log an error of the block as a refusal of a `release` by a `plan`.

    The log is the one of the release in a `folder` once the `ledger` has counted it, and before
    that the one of the ledger, because a refused release has no folder.
    """
    try:
        yield
    except DeniableError as error:
        counted = (folder / PRIVATE / ENTRY_FILE).exists()
        where, about = folder / PRIVATE if counted else ledger.folder, facts_of(release, plan)
        with suppress(OSError):  # the error itself is more important
            append_event(where, "refused", **about, message=str(error)[:4000])
        raise
