"""Approve plans by a second person. Names are stated and not authenticated."""

import unicodedata
from dataclasses import asdict
from pathlib import Path
from typing import Literal

from pydantic import ConfigDict, ValidationError
from pydantic.dataclasses import dataclass

from deniable.errors import DataError, DeniableError, refuse_no_name, shown
from deniable.files import write_json, write_once
from deniable.plans import Plan, read_plan
from deniable.release.counted import plan_digest, utc_now
from deniable.release.counting import canonical
from deniable.texts import read_given_json

APPROVAL_FILE = "approval.json"
"""The approval of a production release, in its private folder."""
TO_APPROVE = "deniable approve PLAN.json --name NAME --out APPROVAL.json"
FORMAT: Literal["deniable-approval"] = "deniable-approval"


@dataclass(frozen=True, config=ConfigDict(strict=True, extra="forbid"))
class Approval:
    """The approval of a plan by its `author` and the other person, `approved_by`.

    The `time` is in UTC, and `plan` is the SHA-256 of the document of the plan. `format` and
    `version` are the ones of the file.
    """

    author: str
    approved_by: str
    time: str
    plan: str
    format: Literal["deniable-approval"]
    version: Literal[1]

    def store(self, private: Path) -> None:
        """Store this in the `private` folder of a release, unless an approval is stored there."""
        write_once(private / APPROVAL_FILE, canonical(asdict(self)))

    def refuse_for(self, plan: Plan, where: str) -> None:
        """Raise `DeniableError` if this does not approve a `plan`; `where` begins the message."""
        _refuse_no_second_person(plan, self.approved_by, where)
        if self.author != plan.author or self.plan != plan_digest(plan):
            raise DeniableError(
                f"{where}: this approves another plan, by {shown(self.author)}. Let a second "
                f"person approve this plan, with the population in its schema: {TO_APPROVE}"
            )


def approve_plan(path: Path | str, name: str, out: Path | str) -> Approval:
    """Approve the plan at a `path` in the `name` of a second person, and write the file `out`.

    Returns the approval. Raises `DeniableError` if the plan names no author, or the same person.
    """
    plan = read_plan(path)
    _refuse_no_second_person(plan, name, str(path))
    approval = Approval(str(plan.author), name, utc_now(), plan_digest(plan), FORMAT, 1)
    write_json(out, asdict(approval))
    return approval


def read_approval(path: Path | str) -> Approval:
    """Read the approval at a `path`; raise `DataError` if it is not an approval."""
    values = read_given_json(path)
    try:
        return Approval(**values)
    except (TypeError, ValidationError):
        raise DataError(f"{path}: not an approval, or damaged; make one by: {TO_APPROVE}") from None


def approval_of(plan: Plan, path: Path | str | None) -> Approval:
    """Return the approval of a `plan` at a `path`.

    Raises `DeniableError` if the path is None, or the file approves another plan.
    """
    if path is None:
        raise DeniableError(
            "the ledger requires an approval of each plan by a second person, and none is given: "
            f"{TO_APPROVE}, then protect with --approval APPROVAL.json (approval in Python and in "
            "a config)"
        )
    approval = read_approval(path)
    approval.refuse_for(plan, str(path))
    return approval


def _refuse_no_second_person(plan: Plan, name: str, where: str) -> None:
    refuse_no_name(name)
    if plan.author is None:
        raise DeniableError(
            f"{where}: the plan names no author; make it with --author NAME (author in a config)"
        )
    if _compared(name) == _compared(plan.author):
        raise DeniableError(
            f"{where}: {shown(name)} is the author of the plan; let a second person approve it"
        )


def _compared(name: str) -> str:
    return " ".join(unicodedata.normalize("NFKC", name).casefold().split())
