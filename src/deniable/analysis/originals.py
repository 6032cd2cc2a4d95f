"""Compare the estimates of a test release of an own file with the original records."""

from collections.abc import Mapping
from pathlib import Path
from typing import Any

import pandas as pd

from deniable.analysis.released import Released
from deniable.analysis.results import PLAN, as_result, release_of
from deniable.plans import read_plan
from deniable.release import PRIVATE
from deniable.responses import protected_file
from deniable.sampling import generator_for
from deniable.schema import RecordsFile


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
    weights = as_result(public, released.adjusted_weights)
    basis = "weights" if "weight" in weights and not weights.attrs["left_out"] else "clusters"
    return {
        "margins": as_result(public, released.margins, **how),
        "pairs": as_result(public, released.pairs, **how),
        "weights": weights,
        "synthetic": as_result(public, released.synthetic, basis=basis),
    }
