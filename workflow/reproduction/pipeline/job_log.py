"""The log of a job: warnings, errors, and a head that is removed when the job ends."""

import sys
import traceback
import warnings
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Any

from deniable.errors import DeniableError

from reproduction.pipeline.environment import remedy

NOT_ENDED = """\
This job has not come to its end. If it is not at work any more, it was killed, or a library ended
it: most often memory was short. Give it more (ulimit -v, a cluster's limit), or let fewer jobs run
at once (--cores), and start again: finished results are kept.
"""
"""The head of the log of a job that is active or was killed."""


@contextmanager
def logged(file: Path, rule: str) -> Iterator[Callable[[str], None]]:
    """Run a job of a `rule` with warnings and errors in the log `file`.

    Yields a function that writes a line to the log and to the screen.

    Raises
    ------
    SystemExit
        After an error that a user can fix, with its message in the log and on the screen. Other
        errors pass, with their traceback in the log.
    """

    def note(text: str) -> None:
        # On a full disk only the log is lost.
        with suppress(OSError), file.open("a", encoding="utf-8") as log:
            print(text, file=log)

    def say(text: str) -> None:
        note(text)
        print(text, file=sys.stderr, flush=True)

    def show(message: Any, category: type[Warning], *_: Any) -> None:
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
