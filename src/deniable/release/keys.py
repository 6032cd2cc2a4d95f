"""Make the key of a release once, and refuse a lost key. All random numbers follow from it."""

import hashlib
import hmac
from collections.abc import Iterable
from contextlib import suppress
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from deniable.errors import DeniableError
from deniable.files import kept_private, private_folder, write_once
from deniable.release.counting import canonical
from deniable.release.key_places import KEY_FILE, KeyPlace
from deniable.sampling import KEY_BYTES, KeyedDraws, framed

PUBLIC: str = "public"
PRIVATE: str = "private"
"""Folders of a release: one for publication, one that reveals the original data."""
TEST: str = "test"
"""Folder of a test release of an own file, in place of the public one."""
PLAN_FILE: str = "plan.json"  # the plan of a test release, in its private folder
PROBE = ".probe"
WITH_THE_RELEASE = KeyPlace()


@dataclass(frozen=True)
class ReleaseKey:
    """The key of a release, with the secret `value`."""

    value: bytes = field(repr=False)

    def draws(self, context: Any) -> KeyedDraws:
        """Return the draws for a `context`: plan and records, as plain JSON values."""
        return KeyedDraws(self.value, hashlib.sha256(canonical(context)).digest())

    def digest(self, purpose: str, parts: Iterable[bytes]) -> str:
        """Return a digest of `parts` for a `purpose`; without the key it reveals nothing."""
        own = KeyedDraws(self.value, b"").subkey(f"digest of {purpose}", ())
        return hmac.digest(own, b"".join(framed(parts)), hashlib.sha256).hex()


def key_from_seed(*facts: Any) -> ReleaseKey:
    """Return the key of a test release from `facts`, plain JSON values; it protects nobody."""
    return ReleaseKey(hashlib.sha256(canonical(["deniable key of a seed", *facts])).digest())


def key_for(
    release: str, folder: Path, label: str, counted: bool, place: KeyPlace = WITH_THE_RELEASE
) -> ReleaseKey:
    """Return the key of a production `release` in a `folder`; make it if there is none.

    The operating system's generator makes the key once, before anything is drawn. It is stored in a
    file that only its owner can read (mode 0600), at the `place`, under the `label`. Raises
    `DeniableError` if the key is lost, and the release was `counted` or has traces of a draw. Also
    if the file system has no hard links.
    """
    private, of_release = folder / PRIVATE, place.of_release(release, label)
    file = of_release.file(private)
    begun = [*map(str, _begun(folder)), *(["its entry in the ledger"] if counted else [])]
    if begun and not file.exists():
        raise DeniableError(
            f"release {release!r}: {begun[0]} exists, but the key that the release was begun with, "
            f"{file}, does not: a new one could lead to a second draw from the same records. "
            "Restore that file, name the place of the key, or give the release a new name"
        )
    _refuse_no_hard_links(folder)
    if len(value := of_release.key(private)) != KEY_BYTES:
        raise DeniableError(
            f"{file}: damaged, {len(value)} of {KEY_BYTES} bytes; restore it from a copy, or give "
            "the release a new name"
        )
    return ReleaseKey(value)


def _refuse_no_hard_links(folder: Path) -> None:
    """Make the private folder of the release in a `folder`; leave nothing if hard links fail."""
    private = folder / PRIVATE
    made = [each for each in (private, *private.parents) if not each.exists()]
    try:
        private_folder(kept_private(private))
        write_once(private / PROBE, b"")
        (private / PROBE).unlink(missing_ok=True)
    except (DeniableError, OSError):
        for each in made:
            with suppress(OSError):
                each.rmdir()
        raise


def _begun(folder: Path) -> list[Path]:
    private = folder / PRIVATE
    found = [folder / PUBLIC] if (folder / PUBLIC).exists() else []
    if private.is_dir():
        left = (each for each in sorted(private.iterdir()) if not each.name.startswith("."))
        found += [each for each in left if each.name != KEY_FILE]
    return found
