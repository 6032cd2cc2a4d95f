"""``deniable protect``: a file of one's own, protected by a plan."""

import argparse
import sys
import time
from collections.abc import Callable

import pyarrow as pa

from deniable.cli.outputs import refuse_inputs
from deniable.errors import DeniableError
from deniable.files import read_table
from deniable.plans import ColumnsPlan, read_plan
from deniable.release import KeyPlace, Ledger, epsilon_text
from deniable.release.planned import RECORDS, protect

BETWEEN = 0.5  # seconds between lines of progress


def run(options: argparse.Namespace) -> None:
    """Protect the file of the `options`, and say what was made and what was counted.

    Raises
    ------
    DeniableError
        If plan or file have a fault, or the release cannot be made.
    """
    if options.key_folder and not options.key_folder.is_dir():
        # One that is made by mistake may lie on a disk that keeps what is removed.
        raise DeniableError(f"{options.key_folder}: no folder for the key; make it first")
    if "jemalloc" in pa.supported_memory_backends():
        pa.set_memory_pool(pa.jemalloc_memory_pool())  # the one that keeps least of what is freed
    refuse_inputs(options.out, [options.file], "release")
    plan = read_plan(options.plan)
    assert isinstance(plan, ColumnsPlan)
    ledger = options.ledger or options.out.resolve().parent / "ledger"
    protect(
        options.file,
        plan,
        options.out,
        name=options.name,
        ledger=ledger,
        consent=options.consent,
        keys=options.keys or (),
        place=KeyPlace(folder=str(options.key_folder) if options.key_folder else None),
        progress=_shown_progress(sys.stderr.isatty()),
    )
    population = plan.schema.population
    total = Ledger(ledger).total(population)
    print(f"{options.out / 'public'}: may be given away")
    print(f"{options.out / 'private'}: knows the truth; keep it to yourself")
    print(f"epsilon of the record: {epsilon_text(plan.epsilon)}, exact and rounded up")
    print(f"total epsilon of population {population}, in {ledger}: {epsilon_text(total)}")
    for said in plan.not_covered:
        print(f"not covered: {said}")
    risk = read_table(options.out / "private" / "risk.csv")
    for row in risk[risk["about"] == RECORDS].to_dict("records"):
        print(f"{row['measure']}: {row['before']:.0f}")
    for row in risk[risk["about"].isin(plan.passed)].to_dict("records"):
        print(f"column {row['about']}: {row['measure']}: {row['before']:.0f}")


def _shown_progress(in_place: bool) -> Callable[[str, int, int], None]:
    """Return what writes progress to standard error: records, rate, time left.

    On a terminal in one line; elsewhere a line every ten seconds.
    """
    begun: dict[str, float] = {}
    last = [time.monotonic()]
    between = BETWEEN if in_place else 20 * BETWEEN

    def show(what: str, done: int, of: int) -> None:
        now = time.monotonic()
        started = begun.setdefault(what, last[0])
        ended = bool(of) and done >= of
        if now - last[0] < between and not (ended and in_place):
            return
        last[0] = now
        rate = done / max(now - started, 1e-3)
        whole = f" of {of:,}" if of else ""
        left = f", {(of - done) / rate:,.0f} s left" if of and rate else ""
        told = f"{what}: {done:,}{whole} records, {rate:,.0f} a second{left}"
        end = "\r" if in_place and not ended else "\n"
        print(f"{told:<78}", end=end, file=sys.stderr, flush=True)

    return show
