"""Run a script of the workflow: check its inputs, keep a log, record provenance and CPU time."""

import resource
import sys
import traceback
import warnings
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Any

from deniable.errors import BoundsWarning, DeniableError
from deniable.files import write_json

from reproduction.pipeline.environment import remedy
from reproduction.pipeline.provenance import recorded

LOGS, BENCHMARKS, CPU_SUFFIX = Path("results/logs"), Path("results/benchmarks"), ".cpu.json"
NOT_ENDED = """\
This job has not ended. If it is no longer running, it was killed, or a library ended it, most
often for lack of memory. Give it more memory (ulimit -v, a cluster's limit), or let fewer jobs run
at once (--cores), and start again: finished results are kept.
"""
"""The first lines of the log of a job that is active or was killed."""


@contextmanager
def logged(file: Path, rule: str) -> Iterator[Callable[[str], None]]:
    """Run a job of a `rule` with warnings and errors in the log `file`.

    Warnings about values outside public bounds also appear on the screen. Yields a function that
    writes a line to the log and to the screen. An error that a user can fix ends the process, with
    its message in both. Other errors are raised again, with their traceback in the log.
    """

    def note(text: str) -> None:
        # On a full disk only the log is lost.
        with suppress(OSError), file.open("a", encoding="utf-8") as log:
            print(text, file=log)

    def say(text: str) -> None:
        note(text)
        print(text, file=sys.stderr, flush=True)

    def show(message: Any, category: type[Warning], *_: Any) -> None:
        if issubclass(category, BoundsWarning):
            say(f"{rule}: {message}")
        else:
            note(f"{category.__name__}: {message}")

    warnings.showwarning = show  # type: ignore[assignment]
    try:
        file.parent.mkdir(parents=True, exist_ok=True)
        file.write_text(NOT_ENDED, encoding="utf-8")
        yield say
    except Exception as error:
        advice = remedy(error)
        _end(file)
        if not advice and not isinstance(error, DeniableError | OSError):
            note(traceback.format_exc())
            raise
        message = f"{type(error).__name__}: {error}{advice}"
        note(message)
        print(f"{rule}: {message}", file=sys.stderr)
        sys.exit(1)
    _end(file)


def _end(file: Path) -> None:
    with suppress(OSError):
        text = file.read_text(encoding="utf-8")
        file.write_text(text.removeprefix(NOT_ENDED), encoding="utf-8")


@contextmanager
def job(snakemake: Any) -> Iterator[Callable[[str], None]]:
    """Check the inputs of a script, run it, and record its outputs.

    `snakemake` is the object that Snakemake passes to scripts. Yields a function that writes a line
    to the log of the job and to the screen. See `logged` for warnings and errors.
    """
    log = Path(snakemake.log[0])
    # Snakemake runs a copy: .snakemake/scripts/tmpXXXX.<script>.
    script = Path(sys.argv[0]).name.partition(".")[2]
    with (
        logged(log, snakemake.rule) as say,
        recorded(snakemake, Path(snakemake.scriptdir, script)),
    ):
        yield say
    if snakemake.bench_iteration is not None:
        # Snakemake's benchmark samples a job every half minute and misses the time after that.
        own, children = map(resource.getrusage, (resource.RUSAGE_SELF, resource.RUSAGE_CHILDREN))
        seconds = sum(each.ru_utime + each.ru_stime for each in (own, children))
        file = BENCHMARKS / log.relative_to(LOGS).with_suffix(CPU_SUFFIX)
        write_json(file, {"cpu_seconds": round(seconds, 3)})
