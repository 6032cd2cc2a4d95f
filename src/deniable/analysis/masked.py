"""Numbers that were masked by noise: what can be estimated of them, and what cannot."""

import json
from collections.abc import Iterable, Iterator, Sequence
from typing import Any

import numpy as np
import pandas as pd

from deniable.analysis.answers import Asked
from deniable.errors import DataError, DeniableError
from deniable.estimation import CONFIDENCE
from deniable.idp import SHARE, estimate_numbers
from deniable.records import Domain
from deniable.release import MaskingPlan
from deniable.release.numeric import HISTOGRAMS
from deniable.responses import Counted, Portion, Responses, Table


class Masked(Responses):
    """The masked numbers of records.

    Parameters
    ----------
    reports : DataFrame
        By `deniable.randomize`.
    plan : MaskingPlan

    Raises
    ------
    DataError
        If a column is missing, or a value is no number or outside of its bounds.
    """

    def __init__(self, reports: Any, plan: MaskingPlan) -> None:
        self._plan, self._data = plan, plan.read(reports)
        if plan.method == "histograms" and HISTOGRAMS not in self._data.marks:
            raise DataError(
                "the noisy counts that records were drawn from are not with them any more; keep "
                f"attrs[{HISTOGRAMS!r}] of what deniable.randomize returned"
            )

    @property
    def records(self) -> int:
        """Number of records."""
        return len(self._data)

    def numbers(
        self,
        names: Sequence[str] | None,
        quantiles: Sequence[float],
        weight: str | None,
        asked: Asked,
    ) -> pd.DataFrame:
        """Return what `deniable.Released.numbers` does, with two columns more.

        ``released`` is the statistic of the masked numbers themselves; where the estimate is empty,
        ``note`` says why. See `deniable.release.numeric`.

        Parameters
        ----------
        names : sequence of str, optional
        quantiles : sequence of float, in (0, 1)
        weight : None
            Masked numbers have no weights.
        asked : Asked
            For the file, at 95 %.

        Raises
        ------
        DeniableError
            If a column is not there, or something else is asked for.
        """
        for name in names or ():
            self._data.position(name)
        if weight is not None:
            raise DeniableError(
                f"masked numbers have no column of weights {weight!r}; leave it out"
            )
        for share in quantiles:
            if not 0 < share < 1:
                raise DeniableError(f"the quantile of {share} is asked for; shares are in (0, 1)")
        if (asked.target, asked.confidence) != ("file", CONFIDENCE):
            raise DeniableError(
                f"masked numbers have intervals for these very records, at {CONFIDENCE:g}: ask for "
                f"the target 'file', not {asked.target!r} at {asked.confidence:g}"
            )
        text = self._data.marks.get(HISTOGRAMS)
        counts = None if text is None else np.array(json.loads(text), dtype=np.int64)
        found = estimate_numbers(self._plan.mechanism, self._data, counts, tuple(quantiles))
        found = found[found["statistic"] != SHARE]
        if names is not None:
            found = found[found["attribute"].isin(list(names))]
        kept = {
            "attribute": "column",
            "statistic": "statistic",
            "estimate": "estimate",
            "standard_error_file": "standard_error",
            "ci_low_file": "ci_low",
            "ci_high_file": "ci_high",
            "released": "released",
            "note": "note",
        }
        answer = found[list(kept)].rename(columns=kept).reset_index(drop=True)
        about = {"confidence": asked.confidence, "target": asked.target, "records": self.records}
        for place, (name, value) in enumerate(about.items(), start=6):
            answer.insert(place, name, value)
        return answer

    def table(self, names: Sequence[str]) -> Table:
        """Raise `DeniableError`: masked numbers, whatever their `names`, are of no categories."""
        raise DeniableError(
            "masked numbers are of no categories, so there are no tables and no shares of them; "
            "ask for numbers, or plan numeric columns, with bounds and a step, by "
            "deniable.make_plan"
        )

    def count(self, tables: Sequence[Domain], weight: str | None = None) -> list[Counted]:
        """Raise `DeniableError`, as `table`: no `tables` to count, by a `weight` or not."""
        self.table([name for table in tables for name in table.names])
        return []

    def portions(self, names: Iterable[str], weight: str | None = None) -> Iterator[Portion]:
        """Raise `DeniableError`, as `table`: there are no reports of `names`, nor a `weight`."""
        self.table(list(names))
        return iter(())
