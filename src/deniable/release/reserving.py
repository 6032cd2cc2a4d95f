"""Counting a release in the ledger before it is drawn."""

import hashlib
import warnings
from pathlib import Path

from deniable.errors import DeniableError
from deniable.release.entries import Entry, canonical, counted_epsilon
from deniable.release.keys import Records, ReleaseKey
from deniable.release.ledger import Ledger
from deniable.release.settings import AnyRelease


def reserve(
    ledger: Ledger,
    release: AnyRelease,
    key: ReleaseKey,
    records: Records,
    epsilon: float,
) -> Entry:
    """Count a `release` in a `ledger`, by the population that its settings name; return its entry.

    That has the `epsilon` of a record, as counted, and digests of the true `records`, all of them.
    The entry holds it to its settings and to its `key`, so that a draw by a new key under the same
    name is refused even where all of its folder is lost.

    Raises
    ------
    DeniableError
        As `Ledger.reserve` says.
    """
    digests = ledger.digests(records)
    for other in ledger.populations():
        if other != str(release.population).lower():
            for found in ledger.overlaps(other, digests):
                warnings.warn(
                    f"release {release.name!r}: {found}, of population {other!r}, whose epsilon "
                    "is not added to this one's; name that population if these are its people",
                    stacklevel=2,
                )
    # A digest under the key: it tells nothing of it.
    plan = canonical([release.stated(), key.digest("ledger", iter([]))])
    return ledger.reserve(
        str(release.population),
        release.name,
        hashlib.sha256(plan).hexdigest(),
        digests,
        counted_epsilon(epsilon),
        release.consent,
    )


def refuse_uncounted(ledger: Ledger, release: AnyRelease, published: Path) -> Entry:
    """Return the entry of a `release` in its `ledger`; the release is in a folder `published`.

    Raises
    ------
    DeniableError
        If the ledger has no such entry, as after a loss, so that its totals are too small.
    """
    for entry in ledger.entries(str(release.population)):
        if entry.release == release.name:
            return entry
    raise DeniableError(
        f"{ledger.folder}: the ledger has no entry of release {release.name!r} of population "
        f"{release.population!r}, which is published in {published}. Restore the ledger from a "
        "copy, or name the ledger that has the entry"
    )


def hold_to_entry(ledger: Ledger, release: AnyRelease, records: Records, published: Path) -> None:
    """Compare the `records` of a `release` that is `published` with its entry in the `ledger`.

    Raises
    ------
    DeniableError
        If the ledger has no entry of the release, or one of other records.
    """
    entry = refuse_uncounted(ledger, release, published)
    if entry.records != ledger.digests(records):
        raise DeniableError(
            f"release {release.name!r} was published from other records; give that of these "
            "a new name, whose epsilon adds to the total"
        )
