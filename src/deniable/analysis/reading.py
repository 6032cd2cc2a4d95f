"""What was released, opened: a public folder, or reports in memory by any plan."""

from pathlib import Path
from typing import Any

from deniable.errors import DataError, DeniableError, shown
from deniable.plans import Plan, read_plan
from deniable.release import refuse_other_files
from deniable.responses import Responses, protected_file

PLAN, OTHER_LANE = "plan.json", "release.json"


def opened(public: Any, plan: Plan | None) -> tuple[Plan, Responses]:
    """Return the plan, and what there is to estimate from.

    Parameters
    ----------
    public : path or table
        A folder, or with a plan reports in memory.
    plan : Plan, optional
        By which reports in memory were randomized.

    Raises
    ------
    DataError
        If it is no such folder, or the reports do not fit the plan.
    DeniableError
        If the plan is none.
    """
    if plan is None:
        folder = Path(public)
        found = _plan_in(folder)
        return found, found.responses(protected_file(folder, found.protected_name))
    if isinstance(plan, Plan):
        return plan, plan.responses(public)
    raise DeniableError(f"{shown(plan)} is no plan; give the one that made the reports")


def _plan_in(folder: Path) -> Plan:
    if not (folder / PLAN).is_file():
        if (folder / OTHER_LANE).is_file():
            raise DataError(
                f"{folder}: a release by no plan; it was published with its estimates, which "
                "README.txt names. Give the folder public/ of a release by a plan"
            )
        inside = folder / "public" if (folder / "public" / PLAN).is_file() else None
        raise DataError(
            f"{folder}: no {PLAN}, so no public folder of a release; give "
            f"{inside or 'the folder public/ that deniable protect left'}"
        )
    refuse_other_files(folder)
    return read_plan(folder / PLAN)
