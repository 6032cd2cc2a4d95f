"""Approve plans by a second person. Names are stated and not authenticated."""

import unicodedata
from pathlib import Path
from typing import Any

from deniable.errors import DataError, DeniableError, refuse_no_name, shown
from deniable.files import write_json
from deniable.plans import Plan, read_plan
from deniable.release.counted import plan_digest, utc_now
from deniable.texts import read_given_json

TO_APPROVE = "deniable approve PLAN.json --name NAME --out APPROVAL.json"
HEAD = {"format": "deniable-approval", "version": 1}
TEXTS = ("author", "approved_by", "time", "plan")


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
