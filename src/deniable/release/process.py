"""The process of an agency: approval by a second person, verification, withdrawal."""

import math
import re
import unicodedata
from fractions import Fraction
from pathlib import Path
from typing import Any

import pandas as pd

from deniable.errors import DataError, DeniableError, refuse_no_name, shown
from deniable.files import read_json, remove_leftovers, write_json, write_text
from deniable.plans import Plan, read_plan
from deniable.release.contents import PLAN, README, epsilon_line
from deniable.release.counted import (
    ENTRY_FILE,
    append_event,
    entry_of,
    facts_of,
    plan_digest,
)
from deniable.release.counting import counted_epsilon, epsilon_text, utc_now
from deniable.release.keys import PRIVATE
from deniable.release.receipts import WITHDRAWN, refuse_other_files, sums_of
from deniable.release.shuffled import shuffled_file, statement_of_file
from deniable.responses import protected_file
from deniable.texts import read_given_json

TO_APPROVE = "deniable approve PLAN.json --name NAME --out APPROVAL.json"
HEAD = {"format": "deniable-approval", "version": 1}
TEXTS = ("author", "approved_by", "time", "plan")
MAX_REASON = 2000  # characters
NOTE = """\
WITHDRAWN on {time}: {reason}

Do not use release {name}, nor estimates from it. Its epsilon stays counted, because copies of it
may exist. A corrected release adds its own epsilon.

This note is not in SHA256SUMS, which lists the files of the release as they were published.
"""
NOT_SHOWN = (
    "that the records were drawn from the original ones, once, and by a key that nobody has",
    "that the ledger is complete, and that no other release of the same people exists",
    "that categories, bounds and epsilon were chosen without the records, unless a risk says so",
    "who approved the plan, and that the key was removed",
)
"""Facts that no public folder can show."""


def approve_plan(path: Path | str, name: str, out: Path | str) -> dict[str, Any]:
    """Approve the plan at a `path` in the `name` of a second person, and write the file `out`.

    Returns the approval: ``author`` of the plan, ``approved_by``, ``time`` in UTC and ``plan``, the
    SHA-256 of its document. Raises `DeniableError` if the plan names no author, or the same person.
    """
    plan = read_plan(path)
    _refuse_no_second_person(plan, name, str(path))
    texts = (plan.author, name, utc_now(), plan_digest(plan))
    approval = HEAD | dict(zip(TEXTS, texts, strict=True))
    write_json(out, approval)
    return approval


def approval_of(plan: Plan, path: Path | str | None) -> dict[str, Any]:
    """Return the approval of a `plan` at a `path`.

    Raises `DeniableError` if the path is None, or the file is not an approval of this plan.
    """
    if path is None:
        raise DeniableError(
            "the ledger requires an approval of each plan by a second person, and none is given: "
            f"{TO_APPROVE}, then protect with --approval APPROVAL.json (approval in Python and in "
            "a config)"
        )
    found = read_given_json(path)
    texts = [found.get(each) for each in TEXTS] if isinstance(found, dict) else [None]
    if not all(isinstance(each, str) for each in texts) or found.keys() != {*HEAD, *TEXTS}:
        raise DataError(f"{path}: not an approval, or damaged; make one by: {TO_APPROVE}")
    if any(found[name] != value for name, value in HEAD.items()):
        raise DataError(f"{path}: not an approval of version 1; make one by: {TO_APPROVE}")
    _refuse_no_second_person(plan, found["approved_by"], str(path))
    if (found["author"], found["plan"]) != (plan.author, plan_digest(plan)):
        raise DeniableError(
            f"{path}: this approves another plan, by {shown(found['author'])}. Let a second person "
            f"approve this plan, with the population in its schema: {TO_APPROVE}"
        )
    return dict(found)


def _refuse_no_second_person(plan: Plan, name: str, where: str) -> None:
    refuse_no_name(name)
    if plan.author is None:
        raise DeniableError(
            f"{where}: the plan names no author; make it with --author NAME (author in a config)"
        )
    first, second = (
        " ".join(unicodedata.normalize("NFKC", each).casefold().split())
        for each in (plan.author, name)
    )
    if first == second:
        raise DeniableError(
            f"{where}: {shown(name)} is the author of the plan; let a second person approve it"
        )


def verify_release(public: Path | str) -> pd.DataFrame:
    """Verify the `public` folder of a release from its files alone.

    There is one row per check: ``check`` (files, plan, epsilon, records, ledger, shuffled, readme),
    ``holds`` (True or False) and ``about``, with the result or the error. `NOT_SHOWN` lists facts
    that such a folder cannot show. Raises `DataError` if the folder has no plan.
    """
    folder = Path(public)
    if not (folder / PLAN).is_file():
        raise DataError(f"{folder}: no {PLAN}, so not the public folder of a release; name one")
    try:
        plan, block = read_plan(folder / PLAN), read_json(folder / PLAN)["release"]
        mode, records, whole = block["mode"], block["records"], block.get("shuffled")
        checks: list[tuple[Any, ...]] = [
            ("plan", _plan),
            ("epsilon", _epsilon, plan),
            ("records", _records, plan, folder, records),
            ("ledger", _ledger, plan, mode, block.get("ledger")),
            ("shuffled", _shuffled, plan, mode, records, whole),
            ("readme", _readme, plan, folder, whole),
        ]
    except DeniableError as error:
        checks = [("plan", _plan, str(error))]
    except (ValueError, LookupError, TypeError, AttributeError):
        checks = [("plan", _plan, "no facts of a release")]
    rows = []
    for name, verified, *given in [("files", _files, folder), *checks]:
        try:
            rows.append((name, True, verified(*given)))
        except DeniableError as error:
            rows.append((name, False, "; ".join(str(error).splitlines())))
    return pd.DataFrame(rows, columns=["check", "holds", "about"])


def _plan(problem: str = "") -> str:
    if problem:
        raise DeniableError(problem)
    return "epsilons, guarantees and risks follow from mechanisms and schema"


def _files(folder: Path) -> str:
    refuse_other_files(folder)
    return f"{len(sums_of(folder))} files have the SHA-256 in the list, and no other file is there"


def _epsilon(plan: Plan) -> str:
    audit = plan.audit()
    audit = audit[~audit["of"].isin(plan.unverifiable)]
    failing = audit.loc[audit["holds"].astype(str) == "False", "of"]
    if len(failing) and not plan.refuted:
        raise DeniableError(
            f"{len(failing)} claims fail the audit, the first for {failing.iloc[0]}"
        )
    text = f"{len(audit) - len(failing)} claims hold, computed independently from the plan"
    if len(failing):
        text += f"; {len(failing)} do not, as the plan itself states"
    kept_back = ", ".join(plan.unverifiable)
    return text + (f"; not verifiable, because kept back: {kept_back}" if kept_back else "")


def _records(plan: Plan, folder: Path, stated: Any) -> str:
    responses = plan.responses(protected_file(folder, plan.protected_name))
    if responses.has_randomized_records:
        for _ in responses.batches([each.name for each in plan.schema_of_tables.randomized]):
            pass  # reading refuses a value that no channel of the plan returns
    if responses.records != stated:
        raise DeniableError(f"{responses.records:,} records; {PLAN} states {stated}")
    return f"{stated:,} records, with values that the mechanisms of the plan return"


def _ledger(plan: Plan, mode: str, facts: Any) -> str:
    if mode == "test":
        raise DeniableError("a test release, which protects nobody and which no ledger counts")
    if mode == "clients":
        return "no entry, because clients randomized their answers themselves"
    own = epsilon_text(counted_epsilon(plan.epsilon_in_ledger))
    try:
        number, total = facts["entry"], facts["total"]
        enough = total == own if number == 1 else _value(total) >= _value(own)
        consistent = enough and number >= 1 and re.fullmatch("[0-9a-f]{64}", facts["head"])
    except (LookupError, TypeError, ValueError, ArithmeticError):
        consistent = False
    if not consistent:
        raise DeniableError(f"the ledger's entry in {PLAN} contradicts the epsilon {own}")
    return (
        f"entry {number} of its population, total epsilon {total}, of which this release has {own}"
    )


def _value(text: str) -> Fraction | float:
    return math.inf if text == "infinite" else Fraction(text)


def _shuffled(plan: Plan, mode: str, records: int, stated: Any) -> str:
    if stated is None:
        return "no epsilon of the whole file is stated"
    try:
        smallest = stated["within"]["records"] if "within" in stated else None
        found = shuffled_file(plan, records, smallest, test=mode == "test")
    except (LookupError, TypeError, ValueError):
        found = {}
    if stated != found:
        raise DeniableError(f"{PLAN} states another epsilon of the whole file than follows")
    of = "" if smallest is None else f", for a smallest group of {smallest:,} records as stated"
    return f"epsilon and delta of the whole file, or the reasons against them, follow{of}"


def _readme(plan: Plan, folder: Path, shuffled: Any) -> str:
    try:
        text = " ".join((folder / README).read_text("utf-8").split())
        lines = [*map(epsilon_line, plan.guarantees), statement_of_file(plan, shuffled)]
    except (OSError, ValueError, LookupError, TypeError, AttributeError):
        raise DeniableError(f"{README} or the facts in {PLAN} cannot be read") from None
    for line in lines:
        if " ".join(line.split()) not in text:
            raise DeniableError(f"{README} lacks the statement: {line}")
    return "states the epsilon of each guarantee in the plan"


def withdraw_release(public: Path | str, reason: str) -> Path:
    """Write the note ``WITHDRAWN.txt`` with a `reason` into a `public` folder; return its path.

    The log of the release has the event, if its private folder is beside the public one. A second
    call with the same reason completes an interrupted first one. Raises `DeniableError` if the
    folder is not one of a production release, or was withdrawn for another reason.
    """
    folder = Path(public)
    plan = read_plan(folder / PLAN)
    block = read_json(folder / PLAN).get("release", {})
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
        about = facts_of(block.get("name"), plan) | {"reason": reason}
        append_event(private, "withdrawn", **about, entry=entry_of(private.parent)["entry"])
    return note
