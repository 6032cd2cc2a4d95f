"""What every script of the workflow shares: its log, and one clear message when it fails."""

import sys
import traceback
import warnings
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from deniable.errors import DeniableError


@contextmanager
def job(snakemake: Any) -> Iterator[None]:
    """Send warnings to the job's log and turn errors that a user can mend into one message."""
    log_file = Path(snakemake.log[0])
    log_file.parent.mkdir(parents=True, exist_ok=True)
    with log_file.open("w", encoding="utf-8") as log:

        def show(message: Any, category: type[Warning], *_: Any) -> None:
            print(f"{category.__name__}: {message}", file=log, flush=True)

        warnings.showwarning = show  # type: ignore[assignment]
        try:
            yield
        except (DeniableError, OSError) as error:
            message = f"{type(error).__name__}: {error}"
            print(message, file=log)
            print(f"{snakemake.rule}: {message}", file=sys.stderr)
            sys.exit(1)
        except Exception:
            traceback.print_exc(file=log)
            raise
