"""Tables of estimates for files, marked with their release, and compared with the originals."""

from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

import pandas as pd

from deniable.analysis.base import PLAN
from deniable.analysis.released import Released
from deniable.errors import DataError, DeniableError
from deniable.files import read_json
from deniable.plans import read_plan
from deniable.release import PRIVATE
from deniable.responses import protected_file
from deniable.sampling import generator_for
from deniable.schema import RecordsFile

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


def compare_test_release(
    public: Path | str,
    source: Any,
    seed: int,
    estimates: Mapping[str, pd.DataFrame] | None = None,
) -> pd.DataFrame:
    """Compare the estimates of a test release with the original records, all in memory at once.

    `public` is the folder with the protected file, and `source` the original file or table. The
    `seed`, an integer from 0, is for the redraws that measure the coverage of intervals. The tables
    of `estimates` are by default computed from the release. The columns are as in
    `deniable.plans.Plan.compare_with_original`, with ``mode`` and ``data_source``. The table is
    confidential. Raises `DeniableError` if a file is damaged or does not match the plan.
    """
    released = Released(public)
    plan, responses = released.plan, released.responses
    records = RecordsFile.open(source, plan.schema, passed=plan.passed)
    if estimates is None:
        estimates = _estimates(public, released)
    if plan.unverifiable:  # the matrices for the redraws are kept back in the private folder
        plan = read_plan(Path(public).parent / PRIVATE / PLAN)
        responses = plan.responses(protected_file(Path(public), plan.protected_name))
    original = plan.original_records(records.portions())
    generator = generator_for(seed, {"release": release_of(public)["name"], "check": "redraws"})
    compared = (responses, original, estimates, generator)
    return as_result(public, plan.compare_with_original, *compared)


def _estimates(public: Path | str, released: Released) -> dict[str, pd.DataFrame]:
    plan = released.plan
    if not plan.of_records:
        return {
            "consistent": as_result(public, released.consistent, part="tables"),
            "two_step": as_result(public, released.two_step),
            "independence": as_result(public, released.independence_of_pairs),
        }
    how: dict[str, Any] = {"target": "both", "by_stratum": True, "weight": plan.weight}
    return {
        "margins": as_result(public, released.margins, **how),
        "pairs": as_result(public, released.pairs, **how),
        "weights": as_result(public, released.adjusted_weights),
        "synthetic": as_result(public, released.synthetic),
    }
