"""``deniable ledger``, ``approve``, ``verify`` and ``withdraw``: the process of an agency."""

import argparse

from deniable import release  # its modules are loaded where they are used
from deniable.cli.answers import aligned
from deniable.cli.outputs import refuse_overwriting
from deniable.errors import DeniableError, NoAnswerError, plain

HEADER = ("population", "number", "release", "epsilon", "part", "time", "total")


def run(options: argparse.Namespace) -> None:
    """Run the command of the `options`."""
    commands = {"ledger": _ledger, "approve": _approve, "verify": _verify, "withdraw": _withdraw}
    commands[options.command](options)


def _ledger(options: argparse.Namespace) -> None:
    """Make a ledger, or print its releases, each with the total up to it."""
    if options.action == "init":
        ledger = release.Ledger.init(options.folder, options.two_persons)
        print(f"{ledger.folder}: a new ledger; keep it confidential, and back it up")
        return
    ledger = release.named_ledger(options.ledger)
    rows, alone = list[tuple[str, ...]](), list[str]()
    for population in ledger.populations():
        entries = ledger.entries(population)
        for each in entries:
            part = f"{each.part.take} of {each.part.of}" if each.part else "-"
            numbers = str(each.number), each.release, release.epsilon_text(each.epsilon)
            total = release.epsilon_text(release.composed_epsilon(entries[: each.number]))
            rows.append((population, *numbers, part, each.time, total))
        alone += [release.folders_alone(ledger, population)]
    right = [name in ("number", "epsilon", "total") for name in HEADER]
    print("\n".join([*aligned(HEADER, rows, right), *filter(None, alone)]))


def _approve(options: argparse.Namespace) -> None:
    refuse_overwriting(options.out, [options.plan], "approval")
    made = release.approve_plan(options.plan, options.name, options.out)
    print(f"{options.out}: {made['approved_by']} approves the plan of {made['author']}")
    print(f"digest of the plan: {made['plan']}")
    print("names are stated and not authenticated; sign this file if your organization needs that")


def _verify(options: argparse.Namespace) -> None:
    """Print the checks; raise `DeniableError` if one fails, `NoAnswerError` if withdrawn."""
    found = release.verify_release(options.public)
    columns = found["check"], found["holds"].map({True: "yes", False: "NO"}), found["about"]
    rows = [[plain(str(cell)) for cell in row] for row in zip(*columns, strict=True)]
    shown = aligned(("check", "holds", "result"), rows)
    not_shown = [f"  {each}" for each in release.NOT_SHOWN]
    print("\n".join([*shown, "", "no public folder shows", *not_shown]))
    if not found["holds"].all():
        names = ", ".join(found.loc[~found["holds"], "check"])
        raise DeniableError(f"{options.public}: failed: {names}. Do not use this folder")
    if note := release.withdrawal_of(options.public):
        raise NoAnswerError(f"{options.public}: {note}")


def _withdraw(options: argparse.Namespace) -> None:
    note = release.withdraw_release(options.public, options.reason)
    print(f"{note}: publish this note too, wherever the release was published")
    print("the ledger still counts the release, and a corrected one adds its epsilon")
