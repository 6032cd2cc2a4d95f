"""The chain of a population's entries: a numbered file for each one, and a head.

The whole file of an entry is on the disk under a temporary name before a hard link gives it the
next number. The link fails if another process has taken that number; then all entries are read
again. This step is atomic on network file systems too, where locks may not work. A killed process
leaves neither a lock nor a part of an entry, only a temporary file that counts nothing.

The head has number and MAC of the last entry and is replaced after each one, so an entry that is
lost at the end is noticed. A process that was killed between both leaves an earlier head. The next
process moves it on before it adds an entry.
"""

import re
from pathlib import Path

from deniable.errors import DataError
from deniable.files import private_folder, put_once, read_json, remove_abandoned, replace_durably
from deniable.release.entries import Entry, canonical, content_of, entry_from, mac_of

HEAD_FILE = "head.json"
_ENTRY_FILE = re.compile(r"[0-9]{6,}\.json")


def read_chain(folder: Path, population: str, key: bytes) -> tuple[Entry, ...]:
    """Return the entries of a `population` in its `folder`, in their order.

    Raises `DataError` if an entry is lost, damaged, edited, or has no MAC under the `key`, and
    `OSError` if a file cannot be read.
    """
    head = _head(folder)  # before the entries, to which others may be added meanwhile
    files = folder.iterdir() if folder.is_dir() else ()
    listed = [int(file.stem) for file in files if _ENTRY_FILE.fullmatch(file.name)]
    entries, macs = list[Entry](), [""]
    while True:  # by name: a listing may lack entries that are added meanwhile
        file = folder / _name(len(macs))
        try:
            content = file.read_bytes()
        except FileNotFoundError:
            break
        entry = entry_from(file, content, key, population, len(macs))
        if entry.before != macs[-1]:
            raise DataError(
                f"{file}: this entry does not follow the one before it; restore the ledger from a "
                "copy that has all entries"
            )
        entries.append(entry)
        macs.append(mac_of(entry, key))
    number, mac = head or (0, "")
    if len(entries) < max(number, *listed, 0):
        raise DataError(
            f"{file}: this entry is lost, later ones were there; restore it from a copy: the "
            "total needs it"
        )
    if head is None and len(entries) > 1:  # the second entry is not made before this head
        raise DataError(f"{folder / HEAD_FILE}: lost; restore the ledger from a copy")
    if macs[number] != mac:
        raise DataError(
            f"{folder / HEAD_FILE}: not of these entries; restore the ledger from a copy"
        )
    return tuple(entries)


def add_entry(folder: Path, entry: Entry, key: bytes) -> bool:
    """Add an `entry` to the chain in a `folder`; return whether its number was still free.

    After True the entry is on the disk, and so is the head.
    """
    private_folder(folder)
    remove_abandoned(folder)
    move_head(folder, entry.population, key)
    if not put_once(folder / _name(entry.number), content_of(entry, key)):
        return False
    move_head(folder, entry.population, key)
    return True


def move_head(folder: Path, population: str, key: bytes) -> None:
    """Move the head in a `folder` on to the last entry of its `population`.

    Another process may have moved it further meanwhile, so it is compared again afterwards.
    """
    while entries := read_chain(folder, population, key):
        head = _head(folder)
        if head is not None and head[0] >= len(entries):
            return
        values = {"number": len(entries), "mac": mac_of(entries[-1], key)}
        replace_durably(folder / HEAD_FILE, canonical(values))


def _name(number: int) -> str:
    return f"{number:06}.json"


def _head(folder: Path) -> tuple[int, str] | None:
    """Return number and MAC of an entry, as the head in a `folder` has them."""
    file = folder / HEAD_FILE
    try:
        values = read_json(file)
        number, mac = values["number"], values["mac"]
    except FileNotFoundError:
        return None
    except (ValueError, LookupError, TypeError):
        number, mac = 0, None
    if not isinstance(number, int) or number < 1 or not isinstance(mac, str):
        raise DataError(f"{file}: damaged; restore the ledger from a copy")
    return number, mac
