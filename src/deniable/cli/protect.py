"""``deniable protect``: protect a file by a plan of any kind."""

import argparse
import math
import sys
import time
from collections.abc import Callable
from typing import Any

import pyarrow as pa

from deniable.cli.outputs import refuse_inputs
from deniable.errors import DeniableError
from deniable.files import read_table, write_table
from deniable.plans import read_plan
from deniable.release import (
    PRIVATE,
    RISK_OF_RECORDS,
    TEST,
    counted_epsilon,
    epsilon_text,
    folders_alone,
    named_ledger,
    protect,
    protect_test,
)

BETWEEN = 0.5  # seconds between lines of progress


def run(options: argparse.Namespace) -> None:
    """Protect the file of the `options`, and print the result and its epsilon."""
    if options.key_folder and not options.key_folder.is_dir():
        # A folder with a misspelled name could be on a disk that keeps deleted files.
        raise DeniableError(f"{options.key_folder}: the folder for the key does not exist; make it")
    if "jemalloc" in pa.supported_memory_backends():
        pa.set_memory_pool(pa.jemalloc_memory_pool())  # returns most of the freed memory
    refuse_inputs(options.out, [options.file], "release")
    common: dict[str, Any] = {
        "name": options.name,
        "quasi_identifiers": options.quasi_identifiers or (),
        "outside_bounds": options.outside_bounds,
        "progress": _shown_progress(),
    }
    if options.test is not None:
        _make_test_release(options, common)
        return
    ledger = named_ledger(options.ledger)
    plan = read_plan(options.plan).for_population(options.population)
    protect(
        options.file,
        plan,
        options.out,
        ledger=ledger.folder,
        consent=options.consent,
        key_folder=options.key_folder,
        matched=options.matched or (),
        approval=options.approval,
        **common,
    )
    population = str(plan.schema.population)
    total = epsilon_text(ledger.total(population))
    print(f"{options.out / 'public'}: for publication")
    print(f"{options.out / 'private'}: reveals the original records; keep it confidential")
    stated = plan.guarantees[0]
    shown = f"{epsilon_text(counted_epsilon(stated.epsilon))}, exact and rounded up"
    if math.isinf(stated.epsilon):
        shown = "no finite one is proved"
    print(f"epsilon of {stated.unit}: {shown}")
    print(f"total epsilon of population {population}, in {ledger.folder}: {total}")
    if told := folders_alone(ledger, population):
        print(told)
    for reason in plan.not_covered:
        print(f"not covered: {reason}")
    if (file := options.out / "private" / "risk.csv").exists():
        risk = read_table(file)
        for row in risk[risk["about"] == RISK_OF_RECORDS].to_dict("records"):
            print(f"{row['measure']}: {row['before']:.0f}")
        for row in risk[risk["about"].isin(plan.passed)].to_dict("records"):
            print(f"column {row['about']}: {row['measure']}: {row['before']:.0f}")


def _make_test_release(options: argparse.Namespace, common: dict[str, Any]) -> None:
    from deniable.analysis import compare_test_release  # noqa: PLC0415 - loads SciPy

    given = (options.ledger, options.consent, options.key_folder, options.matched, options.approval)
    if any(given):
        names = "--ledger, --consent, --key-folder, --matched and --approval"
        options.parser.error(f"argument --test: leave out {names}")
    plan = read_plan(options.plan).for_population(options.population)
    protect_test(options.file, plan, options.out, options.test, to=TEST, **common)
    test, file = options.out / TEST, options.out / PRIVATE / "comparison.csv"
    write_table(file, compare_test_release(test, options.file, options.test), private=True)
    print(f"{test}: for tests alone; anybody with the seed {options.test} can undo it")
    print(f"{file.parent}: reveals the original records; keep it confidential")
    print(f"{file}: estimates next to the original proportions")


def _shown_progress() -> Callable[[str, int, int], None]:
    """Return a function that prints records, rate and time left."""
    begun: dict[str, float] = {}
    last = [time.monotonic()]
    in_place = sys.stderr.isatty()  # on a terminal each line replaces the last one
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
        told = f"{what}: {done:,}{whole} records, {rate:,.0f} per second{left}"
        end = "\r" if in_place and not ended else "\n"
        print(f"{told:<78}", end=end, file=sys.stderr, flush=True)

    return show
