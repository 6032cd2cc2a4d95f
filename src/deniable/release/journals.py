"""The journal of a release: what was drawn, from which records, by which plan and versions.

It is written once, as a whole, after the draw. Before the draw the ledger's entry decides between
processes that start at once: it has digests of records, plan and key, and one number in the ledger
goes to one process. So one file is enough, and nobody replaces it.
"""

import platform
from collections.abc import Mapping
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

import pyarrow as pa

from deniable import __version__
from deniable.errors import DeniableError
from deniable.files import read_json, write_once
from deniable.release.entries import canonical
from deniable.release.key_places import PlaceOfKey
from deniable.release.keys import PRIVATE

JOURNAL_FILE = "journal.json"


def current_versions() -> dict[str, str]:
    """Return the versions of deniable, pyarrow and Python."""
    found = {"deniable": __version__, "pyarrow": pa.__version__}
    return found | {"python": platform.python_version()}


@dataclass(frozen=True)
class Journal:
    """The facts of a draw.

    The `place` is that of the key. `records` is the ledger's digest of the original records, in
    hexadecimal, `plan` the JSON document of the plan, and `drawn` the digest of the protected
    records (`deniable.release.sums`). The draw was made by the `versions`.
    """

    place: PlaceOfKey
    records: str
    plan: Mapping[str, Any]
    drawn: str
    versions: Mapping[str, str]


def journal_of(folder: Path) -> Journal:
    """Return the journal of the release in a `folder`.

    Raises `DeniableError` if it is missing or damaged.
    """
    file = folder / PRIVATE / JOURNAL_FILE
    try:
        values = read_json(file)
        journal = Journal(**(values | {"place": PlaceOfKey(**values["place"])}))
        if not (isinstance(journal.plan, dict) and isinstance(journal.versions, dict)):
            raise ValueError
    except (OSError, ValueError, LookupError, TypeError):
        raise DeniableError(
            f"{file}: missing or damaged since the draw, so the release and its key cannot be "
            "verified; restore the file from a copy"
        ) from None
    return journal


def store_journal(folder: Path, journal: Journal) -> None:
    """Store the `journal` of the release in a `folder`, or compare it with the stored one.

    Raises `DeniableError` if the stored one is damaged, or of another draw.
    """
    file = folder / PRIVATE / JOURNAL_FILE
    if not file.exists():
        write_once(file, canonical(asdict(journal)))
    stored = journal_of(folder)
    if (stored.records, stored.drawn) != (journal.records, journal.drawn):
        versions = ", ".join(f"{name} {version}" for name, version in stored.versions.items())
        raise DeniableError(
            f"{file}: the protected records would differ from those that the same key gave before, "
            f"by {versions}; continue with these versions, or give the release a new name"
        )
