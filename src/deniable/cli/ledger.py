"""``deniable ledger``: make a ledger, or list its releases with the total epsilon."""

import argparse

from deniable.cli.answers import aligned
from deniable.release import (
    Entry,
    Ledger,
    composed_epsilon,
    epsilon_text,
    folders_alone,
    named_ledger,
)

HEADER = ("population", "number", "release", "epsilon", "part", "time", "total")


def run(options: argparse.Namespace) -> None:
    """Make the ledger of the `options`, or print its releases, each with the total up to it."""
    if options.action == "init":
        ledger = Ledger.init(options.folder, options.two_persons)
        print(f"{ledger.folder}: a new ledger; keep it confidential, and back it up")
        return
    ledger = named_ledger(options.ledger)
    rows = list[tuple[str, ...]]()
    for population in ledger.populations():
        entries = ledger.entries(population)
        rows += [_row(entries[: each.number]) for each in entries]
    right = [name in ("number", "epsilon", "total") for name in HEADER]
    print("\n".join(aligned(HEADER, rows, right)))
    for population in ledger.populations():
        if told := folders_alone(ledger, population):
            print(told)


def _row(entries: tuple[Entry, ...]) -> tuple[str, ...]:
    last = entries[-1]
    part = f"{last.part.take} of {last.part.of}" if last.part else "-"
    numbers = str(last.number), last.release, epsilon_text(last.epsilon)
    total = epsilon_text(composed_epsilon(entries))
    return (last.population.lower(), *numbers, part, last.time, total)
