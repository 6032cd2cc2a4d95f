"""One consistent joint distribution of all columns of a release, with two kinds of intervals."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from itertools import combinations
from typing import Any

import numpy as np
import pandas as pd

from deniable.analysis.answers import Names, cells_as_columns
from deniable.analysis.queries import Query, parsed_query
from deniable.arrays import Floats
from deniable.errors import DeniableError
from deniable.estimation import CONFIDENCE
from deniable.joint import JointDistribution, JointEstimate, model_limits, p_value_of_fit
from deniable.randomized_response import cramers_v
from deniable.schema import Schema

UNBIASED = ("estimate", "ci_low", "ci_high")
NOT_FIXED = (
    "The responses fix tables of few columns. Interactions of three or more clusters come from the "
    "latent classes",
    "Latent classes are a means of estimation. They are not groups of people",
)
ALIKE = (
    "The held-out likelihood does not distinguish the joint distribution from independence of all "
    "clusters, so dependences are close to 0"
)


@dataclass(frozen=True, eq=False)
class JointAnswers:
    """Answers of a release from one joint distribution, so that all of them agree.

    All proportions are at least 0, sum to 1, and have the same marginal distributions. In tables,
    ``joint`` is the proportion by the joint distribution. ``estimate``, ``ci_low`` and ``ci_high``
    are unbiased and *valid whatever the joint distribution*; they are empty if the release has no
    such estimate. ``model_low`` and ``model_high`` are *valid if the model holds*; they need
    `repetitions`. Both have 95 % confidence for the population, each on its own.

    `schema` is the one of the tables, and `found` the estimate. `own` has the methods ``table`` and
    ``query`` of the release.
    """

    schema: Schema
    found: JointEstimate
    repetitions: Sequence[JointEstimate]
    own: Mapping[str, Callable[[Any], pd.DataFrame]]

    @property
    def distribution(self) -> JointDistribution:
        """The joint distribution."""
        return self.found.distribution

    @property
    def notes(self) -> tuple[str, ...]:
        """What the responses do not fix, as sentences without a full stop."""
        independent = self.found.stacked.shares[0] == 1
        return (ALIKE, *NOT_FIXED) if independent else NOT_FIXED

    def choice(self) -> pd.DataFrame:
        """Return one row per number of classes that was tried.

        ``classes``, ``share`` in the mixture, ``gain`` over independence in held-out
        log-likelihood, and its ``standard_error``.
        """
        own = self.found.stacked
        gains = {"gain": own.gains, "standard_error": own.errors}
        return pd.DataFrame({"classes": own.classes, "share": own.shares} | gains)

    def fit(self) -> pd.DataFrame:
        """Return the test of fit in one row: ``misfit``, ``p_value``, ``repetitions``, ``rounds``.

        ``misfit`` is Pearson's statistic of held-out pairs over its degrees of freedom. The p-value
        is its rank among the repetitions, and empty without them or without complete records.
        """
        value = p_value_of_fit(self.found, self.repetitions) if self.repetitions else np.nan
        own = self.found.misfit, value, len(self.repetitions), self.found.rounds
        return pd.DataFrame([own], columns=["misfit", "p_value", "repetitions", "rounds"])

    def dependences(self) -> pd.DataFrame:
        """Return Cramér's V of each pair of columns: ``columns``, ``cramers_v``, with limits."""
        pairs = [*combinations(self.distribution.domain.names, 2)]
        if not pairs:
            return pd.DataFrame()

        def values_of(joint: JointDistribution) -> Floats:
            tables = [joint.table(p).reshape(joint.domain.project(p).shape) for p in pairs]
            return np.array([cramers_v(table) for table in tables])

        about = {"columns": [" x ".join(pair) for pair in pairs]}
        return pd.DataFrame(about | self._limited(values_of, "cramers_v"))

    def table(self, names: Names) -> pd.DataFrame:
        """Return the table of columns `names`, one row per cell, in columns as above.

        Raises `DeniableError` if a name is unknown or given twice, or the table is too large.
        """
        named = [names] if isinstance(names, str) else list(names)
        own = self._limited(lambda joint: joint.table(named), "joint")
        domain = self.distribution.domain.project(named)
        columns = {each.name: each for each in self.schema.randomized}
        cells = cells_as_columns(domain, columns, [*own, *UNBIASED])
        return pd.DataFrame(cells | own).assign(**self._unbiased("table", named))

    def query(self, where: Query) -> pd.DataFrame:
        """Return the proportion that satisfies conditions, in one row; see `Released.query`.

        The conditions `where` are of any number of columns.
        """
        flags = parsed_query(where, self.schema)
        own = self._limited(lambda joint: np.array([joint.probability(flags)]), "joint")
        return pd.DataFrame(own).assign(**self._unbiased("query", where))

    def _limited(self, quantity: Any, name: str) -> dict[str, Floats]:
        value = quantity(self.distribution)
        if not self.repetitions:
            return {name: value}
        low, high = model_limits(self.found, self.repetitions, quantity, CONFIDENCE)
        return {name: value, "model_low": low, "model_high": high}

    def _unbiased(self, question: str, request: Any) -> dict[str, Any]:
        """Return the columns of the release's own answer, empty if it has no such estimate."""
        try:
            own = self.own[question](request)
        except DeniableError:
            return dict.fromkeys(UNBIASED, np.nan)
        return {name: own[name].to_numpy() for name in UNBIASED}

    def to_json(self) -> dict[str, Any]:
        """Return the distribution, the choice of classes, the test of fit and notes, as values."""
        parts = {"choice": self.choice(), "fit": self.fit()}
        rows = {
            name: part.astype(object).where(part.notna(), None).to_dict("records")
            for name, part in parts.items()
        }
        return {**self.distribution.to_json(), **rows, "notes": list(self.notes)}
