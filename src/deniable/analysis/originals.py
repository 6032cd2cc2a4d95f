"""The estimates of a test release of an own file, compared with the original records."""

from pathlib import Path
from typing import Any

import pandas as pd

from deniable.analysis.released import Released
from deniable.analysis.results import as_result, release_of
from deniable.sampling import generator_for
from deniable.schema import RecordsFile


def compare_test_release(public: Path | str, source: Any, seed: int) -> pd.DataFrame:
    """Compare the estimates of a test release with the original records.

    All records are in memory at once. The result is confidential.

    Parameters
    ----------
    public : path
        The folder with the protected file.
    source : path or table
        The original records.
    seed : int, >= 0
        Of the redraws that measure the coverage of intervals.

    Returns
    -------
    DataFrame
        As in ``results/checks`` of the workflow: see `deniable.plans.Plan.compare_with_original`.

    Raises
    ------
    DeniableError
        If a file is damaged, or does not match the plan of the release.
    """
    released = Released(public)
    plan = released.plan
    records = RecordsFile.open(source, plan.schema, passed=plan.passed)
    original = plan.original_records(records.portions())
    key = {"release": release_of(public)["name"], "check": "redraws"}
    compared = (released.responses, original, _estimates(public, released))
    generator = generator_for(seed, key)
    return as_result(public, plan.compare_with_original, *compared, generator)


def _estimates(public: Path | str, released: Released) -> dict[str, pd.DataFrame]:
    """Return the estimates that comparisons use: of records, or of collected tables."""
    if not released.plan.of_records:
        return {
            "consistent": as_result(public, lambda: released.consistent().tables),
            "two_step": as_result(public, released.two_step),
            "independence": as_result(public, released.independence_of_pairs),
        }
    how = {"target": "both", "by_stratum": True}
    weights = as_result(public, released.adjusted_weights)
    basis = "weights" if "weight" in weights and not weights.attrs["left_out"] else "clusters"
    return {
        "margins": as_result(public, released.margins, **how),
        "pairs": as_result(public, released.pairs, **how),
        "weights": weights,
        "synthetic": as_result(public, released.synthetic, basis=basis),
    }
