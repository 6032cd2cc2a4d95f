"""Tables of estimates for files, marked with their release."""

from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

import pandas as pd

from deniable.errors import DataError, DeniableError
from deniable.files import read_json

PLAN = "plan.json"
MARKS = ("mode", "data_source")


def release_of(public: Path | str) -> Mapping[str, Any]:
    """Return the block ``release`` of the plan in a `public` folder; empty without one.

    Raises `DataError` if it is not a mapping.
    """
    block = read_json(Path(public) / PLAN).get("release", {})
    if not isinstance(block, dict):
        raise DataError(f"{Path(public) / PLAN}: release: damaged; restore the folder from a copy")
    return block


def as_result(
    public: Path | str, answer: Callable[..., Any], *request: Any, part: str = "", **options: Any
) -> pd.DataFrame:
    """Return the table of estimates of an `answer`, for a file.

    The `answer` is a method of `deniable.Released`, with the arguments `*request` and `**options`.
    It returns a table, or several, one of them with the name `part`; `public` is the folder of the
    release. The result has the columns of this table, then ``mode`` and ``data_source`` of the
    release. A column ``note`` has reasons: in one row for each table that the answer names in
    ``attrs["left_out"]``; in the only row if the release has no such estimates. Raises `DataError`
    if a file of the release is damaged.
    """
    try:
        found = answer(*request, **options)
        table: pd.DataFrame = getattr(found, part) if part else found
    except DataError:
        raise
    except DeniableError as error:
        table = pd.DataFrame({"note": [str(error)]})
    if table.empty and not len(table.columns):
        table = pd.DataFrame({"note": ["the release has no columns of this kind"]})
    left_out = table.attrs.get("left_out", {})
    if isinstance(left_out, dict) and left_out:
        notes = {"columns": list(left_out), "note": list(left_out.values())}
        table = pd.concat([table, pd.DataFrame(notes)], ignore_index=True)
    release = release_of(public)
    return table.assign(**{name: release[name] for name in MARKS if name in release})
