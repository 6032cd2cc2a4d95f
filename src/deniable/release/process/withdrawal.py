"""Withdraw a release by a note in its public folder."""

from pathlib import Path

from deniable.errors import DeniableError, shown
from deniable.files import read_json, remove_leftovers, write_text
from deniable.plans import read_plan
from deniable.release.counted import ENTRY_FILE, append_event, entry_of, facts_of, utc_now
from deniable.release.keys import PRIVATE
from deniable.release.receipts import WITHDRAWN

MAX_REASON = 2000  # characters
NOTE = """\
WITHDRAWN on {time}: {reason}

Do not use release {name}, nor estimates from it. Its epsilon stays counted, because copies of it
may exist. A corrected release adds its own epsilon.

This note is not in SHA256SUMS, which lists the files of the release as they were published.
"""


def withdraw_release(public: Path | str, reason: str) -> Path:
    """Write the note ``WITHDRAWN.txt`` with a `reason` into a `public` folder; return its path.

    The log of the release has the event, if its private folder is beside the public one. A second
    call with the same reason completes an interrupted first one. Raises `DeniableError` if the
    folder is not one of a production release, or was withdrawn for another reason.
    """
    folder = Path(public)
    plan = read_plan(folder / "plan.json")
    block = read_json(folder / "plan.json").get("release", {})
    if not isinstance(block, dict) or block.get("mode") not in ("production", "clients"):
        raise DeniableError(f"{folder}: not the public folder of a published release; name one")
    if not (reason.strip() and reason.isprintable() and len(reason) <= MAX_REASON):
        raise DeniableError(
            f"the reason {shown(reason)}: give a text of 1 to {MAX_REASON:,} characters on one line"
        )
    note, private = folder / WITHDRAWN, folder.resolve().parent / PRIVATE
    remove_leftovers(note)
    if not note.exists():
        text = NOTE.format(time=utc_now(), reason=reason, name=block.get("name"))
        write_text(note, text)
    elif not note.read_text("utf-8").partition("\n")[0].endswith(f": {reason}"):
        raise DeniableError(f"{note}: the release is withdrawn already; leave the note as it is")
    if (private / ENTRY_FILE).exists():
        about = {"release": block.get("name"), **facts_of(plan), "reason": reason}
        append_event(private, "withdrawn", **about, entry=entry_of(private.parent)["entry"])
    return note
