"""The plan and the protected records of a release, from which all estimates follow."""

import warnings
from os import PathLike
from pathlib import Path
from typing import Any

from deniable.analysis.answers import TARGETS, EstimateOptions, Names, Targets
from deniable.analysis.estimator import Estimator
from deniable.errors import DataError
from deniable.plans import Plan, read_plan, refuse_no_plan
from deniable.records import Domain
from deniable.release import PUBLIC, TEST, refuse_other_files, withdrawal_of
from deniable.responses import Responses, Table, protected_file
from deniable.schema import Schema

PLAN = "plan.json"


class ReleaseSource:
    """Plan and protected records of a release; `public` and `plan` are as in `Released`."""

    def __init__(self, public: Any, plan: Plan | None = None) -> None:
        if plan is None:
            if not isinstance(public, str | PathLike):
                raise DataError("records in memory need their plan: Released(records, plan)")
            self.plan = _plan_in(Path(public))
            public = protected_file(Path(public), self.plan.protected_name)
        else:
            refuse_no_plan(plan, "give the plan of the release")
            self.plan = plan
        self.responses: Responses = self.plan.responses(public)
        self._columns = {column.name: column for column in self.plan.schema_of_tables.randomized}

    @property
    def domain(self) -> Domain:
        """The columns that have estimates, with their categories."""
        return self._schema().domain()

    @property
    def records(self) -> int:
        """Number of protected records, or of clients that answered."""
        return self.responses.records

    def _estimator(
        self, weight: str | None = None, target: Targets = "population", **options: Any
    ) -> tuple[Estimator, list[EstimateOptions]]:
        targets = TARGETS if target == "both" else (target,)
        wanted = [EstimateOptions(each, **options) for each in targets]
        return Estimator(self.responses, weight), wanted

    def _named(self, names: Names | None) -> tuple[str, ...]:
        if names is None:
            return self.domain.names
        return (names,) if isinstance(names, str) else tuple(names)

    def _schema(self) -> Schema:
        self.responses.refuse_no_categories()
        return self.plan.schema_of_tables

    def _table(self, names: Names) -> Table:
        return self.responses.estimable_table(self._named(names))


def _plan_in(folder: Path) -> Plan:
    if not (folder / PLAN).is_file():
        folders = (folder / name for name in (PUBLIC, TEST))
        inside = next((each for each in folders if (each / PLAN).is_file()), None)
        raise DataError(
            f"{folder}: no {PLAN}, so not the public folder of a release; give "
            f"{inside or 'the folder public/ that deniable protect left'}"
        )
    refuse_other_files(folder)
    if note := withdrawal_of(folder):
        warnings.warn(f"{folder}: {note}. Do not use its estimates", stacklevel=3)
    return read_plan(folder / PLAN)
