"""The command line `deniable`; docs/matrices.md has formats and keys.

Exit codes: 0 for success, 1 if an answer does not exist, 2 for an invalid file, option or command,
130 after Ctrl-C, 141 if the reader of the output has ended.
"""

import errno
import io
import os
import sys
import warnings
from collections.abc import Sequence
from contextlib import suppress
from importlib import import_module
from typing import Any, NoReturn

from deniable.cli.parser import parser
from deniable.errors import DeniableError, NoAnswerError, plain

NO_ANSWER, FAULT, INTERRUPTED, BROKEN_PIPE = 1, 2, 130, 141
FULL = (errno.ENOSPC, errno.EDQUOT, errno.EFBIG)


def run() -> NoReturn:
    """Run the command line and exit without the usual shutdown of the interpreter.

    Threads of Arrow may still read a CSV file through Python. If the interpreter shut down
    meanwhile, it could abort or hang.
    """
    code = main()
    for stream in (sys.stdout, sys.stderr):
        with suppress(OSError):
            stream.flush()
    os._exit(code)


def main(arguments: Sequence[str] | None = None) -> int:
    """Run the command line with `arguments`, by default ``sys.argv[1:]``; return the exit code."""
    options = parser().parse_args(arguments)
    # More threads do not speed up small matrices. OMP_NUM_THREADS is not set, because PyArrow reads
    # files with so many threads.
    for name in ("OPENBLAS_NUM_THREADS", "MKL_NUM_THREADS"):
        os.environ.setdefault(name, "1")
    if isinstance(sys.stdout, io.TextIOWrapper):
        sys.stdout.reconfigure(errors="backslashreplace")  # categories in any script
    problem: DeniableError
    try:
        with warnings.catch_warnings():
            warnings.showwarning = _show_warning
            try:
                import_module(f"deniable.cli.{options.module}").run(options)  # imported only now
            finally:
                sys.stdout.flush()  # before the message of an error
        return 0
    except BrokenPipeError:
        # The reader has ended. Buffered output must not fail again when Python ends.
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        return BROKEN_PIPE
    except KeyboardInterrupt:
        return INTERRUPTED
    except DeniableError as error:
        problem = error
    except MemoryError as error:
        what = str(error).partition(" for an array")[0] or "for this"
        problem = DeniableError(f"not enough memory ({what}); request less at a time")
    except OSError as error:
        where = error.filename2 or error.filename or "the output"
        remedy = "make room there" if error.errno in FULL else "check the path"
        problem = DeniableError(f"{where}: {error.strerror or error}; {remedy}")
    print(f"deniable: error: {problem}", file=sys.stderr)
    return NO_ANSWER if isinstance(problem, NoAnswerError) else FAULT


def _show_warning(message: Warning | str, category: type[Warning], *_: Any, **__: Any) -> None:
    if issubclass(category, UserWarning):
        print(f"deniable: warning: {plain(str(message))}", file=sys.stderr)
