"""``deniable approve``, ``verify`` and ``withdraw``: the process of an agency."""

import argparse

from deniable.cli.answers import aligned
from deniable.cli.outputs import refuse_overwriting
from deniable.errors import DeniableError, NoAnswerError, plain
from deniable.release import (
    NOT_SHOWN,
    approve_plan,
    verify_release,
    withdraw_release,
    withdrawal_of,
)


def run(options: argparse.Namespace) -> None:
    """Run the command of the `options`."""
    {"approve": _approve, "verify": _verify, "withdraw": _withdraw}[options.command](options)


def _approve(options: argparse.Namespace) -> None:
    refuse_overwriting(options.out, [options.plan], "approval")
    made = approve_plan(options.plan, options.name, options.out)
    print(f"{options.out}: {made['approved_by']} approves the plan of {made['author']}")
    print(f"digest of the plan: {made['plan']}")
    print("names are stated and not authenticated; sign this file if your organization needs that")


def _verify(options: argparse.Namespace) -> None:
    """Print the checks; raise `DeniableError` if one fails, `NoAnswerError` if withdrawn."""
    found = verify_release(options.public)
    columns = found["check"], found["holds"].map({True: "yes", False: "NO"}), found["about"]
    rows = [[plain(str(cell)) for cell in row] for row in zip(*columns, strict=True)]
    shown = aligned(("check", "holds", "result"), rows)
    print("\n".join([*shown, "", "no public folder shows", *(f"  {each}" for each in NOT_SHOWN)]))
    if not found["holds"].all():
        names = ", ".join(found.loc[~found["holds"], "check"])
        raise DeniableError(f"{options.public}: failed: {names}. Do not use this folder")
    if note := withdrawal_of(options.public):
        raise NoAnswerError(f"{options.public}: {note}")


def _withdraw(options: argparse.Namespace) -> None:
    note = withdraw_release(options.public, options.reason)
    print(f"{note}: publish this note too, wherever the release was published")
    print("the ledger still counts the release, and a corrected one adds its epsilon")
