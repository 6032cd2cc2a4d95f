"""What every script of the workflow shares: checked inputs, a log, provenance, clear messages."""

import os
import sys
import traceback
import warnings
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Any

from deniable.errors import DeniableError
from deniable.pipeline import Making, recorded, remedy


@contextmanager
def job(snakemake: Any) -> Iterator[None]:
    """Run a script between the check of its inputs and the record of its outputs, and leave.

    Warnings go to the job's log; errors that a user can mend become one message.
    """
    log_file = Path(snakemake.log[0])

    def note(text: str) -> None:
        # Nothing is lost with a full disk but the log.
        with suppress(OSError), log_file.open("a", encoding="utf-8") as log:
            print(text, file=log)

    warnings.showwarning = lambda message, category, *_: note(f"{category.__name__}: {message}")
    try:
        log_file.parent.mkdir(parents=True, exist_ok=True)
        log_file.write_text("", encoding="utf-8")
        with recorded(_making(snakemake)):
            yield
    except (DeniableError, OSError) as error:
        message = f"{type(error).__name__}: {error}"
        message += remedy(error) if isinstance(error, OSError) else ""
        note(message)
        print(f"{snakemake.rule}: {message}", file=sys.stderr)
        sys.exit(1)
    except Exception:
        note(traceback.format_exc())
        raise
    sys.stdout.flush()
    os._exit(0)  # to take libraries apart would be a quarter of a job of half a second


def _making(snakemake: Any) -> Making:
    # Snakemake runs a copy: .snakemake/scripts/tmpXXXX.<script>.
    script = Path(sys.argv[0]).name.partition(".")[2]
    return Making(
        rule=snakemake.rule,
        inputs=tuple(map(str, snakemake.input)),
        outputs=tuple(map(str, snakemake.output)),
        params=dict(snakemake.params.items()),
        config=snakemake.config,
        script=Path(__file__).with_name(script),
    )
