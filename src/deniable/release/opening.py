"""Check folder, name and options of a release before its records are read."""

import re
from collections.abc import Sequence
from pathlib import Path
from typing import Any, Literal

from deniable.errors import DeniableError, shown
from deniable.plans import Plan
from deniable.release.drawing import Release
from deniable.release.keys import TEST
from deniable.release.records import OriginalRecords, Progress
from deniable.release.risk import Risk

MAX_OUTSIDE = 0.01
"""Largest proportion of a column's values outside its bounds, by default."""
NAME = re.compile(r"[A-Za-z0-9][A-Za-z0-9_-]{0,99}")


def refuse_no_proportion(outside_bounds: float) -> None:
    """Raise `DeniableError` if a limit of values outside bounds is not from 0 to 1."""
    if not 0 <= outside_bounds <= 1:
        raise DeniableError(
            f"outside_bounds is {shown(outside_bounds)}; give a proportion from 0 to 1"
        )


def opened_release(
    source: Any,
    plan: Plan,
    folder: Path | str,
    name: str | None,
    quasi_identifiers: Sequence[str],
    data_source: str,
    mode: Literal["test", "production"],
    progress: Progress,
) -> Release:
    """Return a release, after all checks that need no record.

    Raises `DeniableError` if its folder or name is not fit, or no column is a quasi-identifier that
    is named so. For the parameters see `deniable.protect`.
    """
    at = Path(folder)
    if at.exists() and not at.is_dir():
        raise DeniableError(f"{at}: a file exists there; name another folder for the release")
    name = name or at.resolve().name
    if not NAME.fullmatch(name):
        raise DeniableError(
            f"a release cannot be named {shown(name)}; give a name of at most 100 letters, digits, "
            "'_' and '-'"
        )
    if mode == "production" and (at / TEST).exists():
        raise DeniableError(
            f"{at / TEST}: a test release is stored there; name another folder for the production "
            "release, or delete this one"
        )
    Risk(plan, quasi_identifiers)  # refuses columns that cannot be quasi-identifiers
    records = OriginalRecords(source, plan, progress)
    return Release(name, plan, records, at, tuple(quasi_identifiers), data_source, mode)
