"""Tables of estimates for files, marked with their release."""

from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np
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
    public: Path | str, answer: Callable[..., pd.DataFrame], *request: Any, **options: Any
) -> pd.DataFrame:
    """Return the table of estimates of an `answer`, for a file.

    The `answer` is a method of `deniable.Released` that returns a table, with the arguments
    `*request` and `**options`; `public` is the folder of the release. The result has the columns of
    the answer, then ``mode`` and ``data_source`` of the release. A column ``note`` has reasons: in
    one row for each table that the answer names in ``attrs["left_out"]``; in the only row if the
    release has no such estimates. Raises `DataError` if a file of the release is damaged.
    """
    return _marked(public, _answered(answer, *request, **options))


def as_results(
    public: Path | str, names: Sequence[str], answer: Callable[..., Any], *request: Any
) -> list[pd.DataFrame]:
    """Return several tables of one answer for files: its attributes `names`.

    `public`, `answer` and `*request` are as in `as_result`.
    """
    found = _answered(answer, *request)
    tables = [found if isinstance(found, pd.DataFrame) else getattr(found, n) for n in names]
    return [_marked(public, table) for table in tables]


def with_full_precision(table: pd.DataFrame, columns: Sequence[str]) -> pd.DataFrame:
    """Return a `table` with the numbers in some `columns` as texts with all their digits.

    Consistent tables agree to 1e-9, and nine digits would not preserve this.
    """
    texts = {
        name: [repr(number) if np.isfinite(number) else "" for number in table[name].tolist()]
        for name in columns
        if name in table
    }
    return table.assign(**texts)


def _answered(answer: Callable[..., Any], *request: Any, **options: Any) -> Any:
    try:
        return answer(*request, **options)
    except DataError:
        raise
    except DeniableError as error:
        return pd.DataFrame({"note": [str(error)]})


def _marked(public: Path | str, table: pd.DataFrame) -> pd.DataFrame:
    if table.empty and not len(table.columns):
        table = pd.DataFrame({"note": ["the release has no columns of this kind"]})
    left_out = table.attrs.get("left_out", {})
    if isinstance(left_out, dict) and left_out:
        notes = {"columns": list(left_out), "note": list(left_out.values())}
        table = pd.concat([table, pd.DataFrame(notes)], ignore_index=True)
    release = release_of(public)
    return table.assign(**{name: release[name] for name in MARKS if name in release})
