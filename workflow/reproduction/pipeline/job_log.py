"""The log of a job: warnings, what went wrong in words, and a head that only its end removes."""

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
at once (--cores), and start again: what is finished is kept.
"""
"""At the head of a log until its job ends: what is killed outright can leave no other line."""


@contextmanager
def logged(file: Path, rule: str) -> Iterator[Callable[[str], None]]:
    """Run a job of a `rule` with warnings in the log `file`; errors of users become one message.

    Yields a function that adds a line to the log and shows it on the screen.

    Raises
    ------
    SystemExit
        For such an error, whose message is in the log and on the screen. Others pass, and their
        traceback is in the log.
    """

    def note(text: str) -> None:
        # Nothing is lost with a full disk but the log.
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
