"""A file of one's own, protected by a plan: the function behind command, program and workflow."""

import re
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from deniable.errors import DeniableError, shown
from deniable.plans import ColumnsPlan, plan_to_json
from deniable.release import (
    PUBLIC,
    KeyPlace,
    Ledger,
    PlannedRelease,
    Source,
    make_release,
    refuse_uncounted,
)
from deniable.release.planned.records import OwnRecords, Progress, silent
from deniable.release.planned.risk import Risk
from deniable.sampling import KEY_BYTES, new_key
from deniable.schema import RecordsFile

LEDGER = "ledger"


def protect(
    source: Any,
    plan: ColumnsPlan,
    folder: Path | str,
    *,
    name: str | None = None,
    ledger: Path | str | None = None,
    consent: str | None = None,
    keys: Sequence[str] = (),
    place: KeyPlace | None = None,
    progress: Progress = silent,
) -> None:
    """Make the release of a file by a plan: ``public`` and ``private``, drawn once.

    What was interrupted goes on from what it has, with the same reports; what was made is verified.

    Parameters
    ----------
    source : path or table
        The file that the plan's schema describes, or the same as a pandas, Polars or Arrow table.
    plan : ColumnsPlan
    folder : path
        Of the release.
    name : str, optional
        Of the release; by default that of the folder.
    ledger : path, optional
        In which the epsilon is counted before anything is drawn; by default the folder ``ledger``
        beside that of the release.
    consent : str, optional
        The words that a further release of the same population needs.
    keys : sequence of str, optional
        Columns that an intruder is taken to know: ``private/risk.csv`` says what they tell.
    place : KeyPlace, optional
        Where the key lies until all is published.
    progress : callable, optional
        Is told what is done, of how many records, and of how many in all (0: not yet known).

    Raises
    ------
    DeniableError
        If the file is not as the schema says, or the release cannot be made
        (`deniable.release.make_release`); nothing half-written stays.
    """
    at = Path(folder)
    if at.exists() and not at.is_dir():
        raise DeniableError(f"{at}: a file is there already; name another folder for the release")
    release = planned_release(plan, name or at.resolve().name, keys, consent)
    counted = Ledger(ledger if ledger is not None else at.resolve().parent / LEDGER)
    if (at / PUBLIC).exists():  # before a ledger that is lost gets a new key
        refuse_uncounted(counted, release, at / PUBLIC)
    own = RecordsFile.open(source, plan.schema, passed=plan.passed)
    key = counted.key() if counted.folder.exists() else new_key()
    records = OwnRecords(own, plan, key, progress)
    records.parts()  # all values are as the schema says, or nothing is begun
    if counted.key(key) != key:  # another release began the ledger meanwhile
        records = OwnRecords(own, plan, counted.key(), progress)
    make_release(release, Source(records, 0), at, counted, place or KeyPlace())


def own_records(release: PlannedRelease, ledger: Ledger | None) -> OwnRecords:
    """Return the records of a release whose settings name a file.

    Parameters
    ----------
    release : PlannedRelease
    ledger : Ledger, optional
        In which it is counted; a rehearsal is in none.

    Raises
    ------
    DeniableError
        If the file is not as the schema says, or the keys are none whose risk can be told.
    """
    if release.file is None:
        raise DeniableError(f"release {release.name!r} names no file; give file.path")
    plan = release.own
    Risk(plan, release.keys)  # refuses keys that cannot be, before anything is counted
    file = RecordsFile.open(release.file.path, plan.schema, passed=plan.passed)
    return OwnRecords(file, plan, ledger.key() if ledger else bytes(KEY_BYTES))


def planned_release(
    plan: ColumnsPlan, name: str, keys: Sequence[str] = (), consent: str | None = None
) -> PlannedRelease:
    """Return a release by a `plan` as the settings that it is made from.

    It has a `name`, `keys` that an intruder is taken to know, and words of `consent` if it needs
    them.

    Raises
    ------
    DeniableError
        If the name is none that a release can have, a key is no randomized column, or the keys
        are none whose risk can be told (`Risk`).
    """
    if not re.fullmatch(r"[A-Za-z0-9][A-Za-z0-9_-]{0,199}", name):
        raise DeniableError(
            f"a release cannot be called {shown(name)}; give it a name of at most 200 letters, "
            "digits, '_' and '-'"
        )
    for position, key in enumerate(keys):
        plan.protocol.domain.position(key)
        if key in keys[:position]:
            raise DeniableError(f"the key {shown(key)} is given twice; name it once")
    Risk(plan, keys)  # refuses the others that cannot be, before anything is counted
    return PlannedRelease(
        name=name,
        mechanism="plan",
        plan=plan_to_json(plan),
        rehearsal=False,
        population=plan.schema.population,
        consent=consent,
        accept=list(plan.risks),
        order=plan.order,
        keys=list(keys),
    )
