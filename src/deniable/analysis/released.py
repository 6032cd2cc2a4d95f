"""A release in one object: whatever is estimated from its public folder alone."""

from collections.abc import Sequence
from typing import Any, Literal

import numpy as np
import pandas as pd

from deniable.analysis.answers import (
    TARGETS,
    Asked,
    Names,
    Tables,
    cells_as_columns,
    tables_of,
    values_of,
)
from deniable.analysis.estimator import Estimator, shrunk
from deniable.analysis.independence import tested
from deniable.analysis.many_tables import ChosenTables
from deniable.analysis.microdata import Basis, adjusted, synthetic_records
from deniable.analysis.numbers import SHARES, summarized
from deniable.analysis.queries import Query, answered, parsed_query
from deniable.analysis.reading import opened
from deniable.analysis.together import AnalysesOfTables
from deniable.channels import Inverse
from deniable.errors import DeniableError
from deniable.estimation import CONFIDENCE
from deniable.plans import Plan
from deniable.records import Domain
from deniable.responses import Table

Targets = Literal["population", "file", "both"]


class Released(AnalysesOfTables):
    """What can be known from the public folder of a planned release, or from reports in memory.

    Whatever the mechanism, questions are asked in the same way and answers have the same columns;
    what makes no sense of a mechanism's reports is refused, and the message says why.

    Estimates are unbiased or nearly so, and may lie outside [0, 1]; beside them stands a
    ``consistent`` distribution, and ``consistent_by`` says how it was found. All have intervals
    (``ci_low``, ``ci_high``) of a stated ``confidence``, each on its own, for a stated ``target``:
    the "population" that the records were drawn from, one by one, or the "file", these very
    records. Records count as one each, or by the released column of weights that `weight` names;
    those of weight 0 are left out. Nothing here costs privacy.

    Parameters
    ----------
    public : path or table
        The folder, with ``plan.json``, the protected file and ``SHA256SUMS``; or, with a plan,
        reports in memory, as `deniable.randomize` makes them.
    plan : Plan, optional
        By which reports in memory were randomized.

    Attributes
    ----------
    plan : Plan
    domain : Domain
        The columns of which there are estimates.

    Raises
    ------
    DataError
        If it is no such folder, or a file in it is missing, damaged or not listed; or if reports
        lack a column.
    """

    def __init__(self, public: Any, plan: Plan | None = None) -> None:
        self.plan, self._protected = opened(public, plan)
        self._columns = {column.name: column for column in self.plan.schema.randomized}

    @property
    def domain(self) -> Domain:
        """The columns of which there are estimates, with their categories."""
        return self._with_categories().schema.domain()

    @property
    def records(self) -> int:
        """Number of protected records, or of clients that answered."""
        return self._protected.records

    def margins(
        self,
        names: Names | None = None,
        *,
        weight: str | None = None,
        target: Targets = "population",
        confidence: float = CONFIDENCE,
        inverse: Inverse = "least",
        by_stratum: bool = False,
    ) -> pd.DataFrame:
        """Return the distribution of each column: a row a category, or a point of its grid.

        Parameters
        ----------
        names : str or sequence of str, optional
            By default all columns.
        weight : str, optional
            Of a released column: the weights that records count by.
        target : "population", "file" or "both"
            With both, each category has two rows.
        confidence : float, in (0, 1)
        inverse : "least" or "own"
            Of channels with more randomized values than categories, the left inverse of least
            variance or the channel's own. On average over redraws the first has the smaller error;
            the second is exactly unbiased. See `deniable.channels.Inverse`.
        by_stratum : bool
            Whether rows for each stratum follow those of all records, in a column ``stratum``,
            which is empty for all records.

        Returns
        -------
        DataFrame
            ``column``, ``value``, ``estimate``, ``standard_error``, ``ci_low``, ``ci_high``,
            ``outside`` (of [0, 1]), ``consistent``, ``confidence``, ``target``, ``records``,
            ``reported`` (the proportion among the randomized values; empty where these are not
            categories), ``consistent_by``, ``likelihood_gap`` (upper bound on the log-likelihood
            that ``consistent`` lacks, in nats). For invariant matrices, which leave ``reported``
            unbiased, also ``reported_standard_error``, ``reported_ci_low``, ``reported_ci_high``.
            ``estimate`` is empty where such a matrix is singular.

        Raises
        ------
        DeniableError
            For a name that is not there, or a column that is too large; for a population of which
            as much as one record speaks.
        """
        tables = [self._table([name]) for name in self._named(names)]
        asked, known = self._asked(target, confidence, inverse), Estimator(self._protected, weight)
        parts = []
        for table, answers in known.answers(tables, asked, by_stratum=by_stratum):
            (attribute,) = table.domain
            values = pd.Series(values_of(attribute, self._columns[attribute.name]), dtype=object)
            about = {"column": attribute.name, "value": values}
            parts += [pd.DataFrame(about | answer) for answer in answers]
        return pd.concat(parts, ignore_index=True)

    def numbers(
        self,
        names: Names | None = None,
        *,
        quantiles: Sequence[float] = SHARES,
        weight: str | None = None,
        target: Targets | None = None,
        confidence: float = CONFIDENCE,
        inverse: Inverse = "least",
    ) -> pd.DataFrame:
        """Return mean, standard deviation and quantiles of numeric columns, by default of all.

        In the unit of the column, on its grid, among values that are not missing; a row a
        statistic. See `deniable.analysis.numbers.summarized`.

        Parameters
        ----------
        names : str or sequence of str, optional
        quantiles : sequence of float, in (0, 1)
        weight, confidence, inverse
            As in `margins`.
        target : "population", "file" or "both", optional
            By default the population; of masked numbers the file, of which alone they tell.

        Raises
        ------
        DeniableError
            If a column is not numeric, or a quantile's share is not in (0, 1).
        """
        named = None if names is None else self._named(names)
        of_masked = None if target == "both" else target  # they have one target
        masked = self._protected.numbers(named, quantiles, weight, of_masked, confidence)
        if masked is not None:
            return masked
        numeric = [name for name, column in self._columns.items() if column.kind == "numeric"]
        wanted = numeric if names is None else self._named(names)
        for name in wanted:
            if name not in numeric:
                raise DeniableError(
                    f"column {name!r} is not numeric; numeric are {', '.join(numeric) or 'none'}"
                )
        known = Estimator(self._protected, weight)
        tables = [self._table([name]) for name in wanted]
        known.count(tables)
        parts = [
            summarized(self._columns[name], table, known, quantiles, asked)
            for asked in self._asked(target or "population", confidence, inverse)
            for name, table in zip(wanted, tables, strict=True)
        ]
        return pd.concat(parts, ignore_index=True) if parts else pd.DataFrame()

    def table(
        self,
        names: Names,
        *,
        weight: str | None = None,
        target: Targets = "population",
        confidence: float = CONFIDENCE,
        inverse: Inverse = "least",
        by_stratum: bool = False,
    ) -> pd.DataFrame:
        """Return the table of some columns, whichever clusters they are of: a row a cell.

        A column for each name, then those of `margins`. At most 65,536 cells, or 1,048,576 where
        there are not more reports either.

        Parameters
        ----------
        names : str or sequence of str
        weight, target, confidence, inverse, by_stratum
            As in `margins`.

        Raises
        ------
        DeniableError
            As `margins`.
        """
        asked, known = self._asked(target, confidence, inverse), Estimator(self._protected, weight)
        parts = [
            pd.DataFrame(cells_as_columns(table.domain, self._columns, list(answer)) | answer)
            for table, answers in known.answers([self._table(names)], asked, by_stratum=by_stratum)
            for answer in answers
        ]
        return pd.concat(parts, ignore_index=True)

    def pairs(
        self,
        names: Names | Tables | None = None,
        *,
        weight: str | None = None,
        target: Targets = "population",
        confidence: float = CONFIDENCE,
        inverse: Inverse = "least",
        by_stratum: bool = False,
    ) -> pd.DataFrame:
        """Return the tables of pairs of columns, in one: a row a cell of a pair.

        ``columns`` and ``values`` are joined by " x "; ``one_cluster`` is true if the columns were
        randomized together; ``shrunk`` is the estimate pulled towards independence
        (`deniable.analysis.estimator.shrunk`), empty for tables that are too large to be counted.
        The others are those of `margins`.

        Parameters
        ----------
        names : str, sequence of str, or sequence of sequences of str, optional
            Columns, all pairs of which are estimated, or tables of two columns or more. By default
            all pairs of at most 400 cells, and at most 50,000 cells in all; ``attrs["left_out"]``
            has the others, with the reasons.
        weight, target, confidence, inverse, by_stratum
            As in `margins`.

        Raises
        ------
        DeniableError
            If there is no pair, or a table that is too large.
        """
        if names is None:
            chosen = ChosenTables.of(self._protected, self.domain, None, pairs_alone=True)
            tables, left_out = chosen.tables, chosen.left_out
        else:
            tables, left_out = tuple(map(self._table, tables_of(names))), {}
        asked, known = self._asked(target, confidence, inverse), Estimator(self._protected, weight)
        parts = []
        for table, answers in known.answers(tables, asked, by_stratum=by_stratum):
            about = {
                "columns": " x ".join(table.domain.names),
                "values": table.domain.cell_labels(),
                "one_cluster": table.one_cluster,
            }
            pulled = {}
            for answer in answers:
                stratum = answer.get("stratum", "")
                if stratum not in pulled:
                    there = table.countable and len(table.domain) == 2
                    pulled[stratum] = shrunk(table, known, inverse, stratum) if there else np.nan
                parts.append(pd.DataFrame(about | answer | {"shrunk": pulled[stratum]}))
        found = pd.concat(parts, ignore_index=True)
        found.attrs["left_out"] = left_out
        return found

    def query(
        self,
        where: Query,
        *,
        weight: str | None = None,
        target: Targets = "population",
        confidence: float = CONFIDENCE,
        inverse: Inverse = "least",
    ) -> pd.DataFrame:
        """Return the share of records for which all of some conditions hold, in one row.

        Parameters
        ----------
        where : str or mapping
            ``"sex=F,age>=30"`` or ``{"sex": "F", "income": ["mid", "high"]}``; see
            `deniable.analysis.parsed_query`.
        weight, target, confidence, inverse
            As in `margins`.

        Raises
        ------
        DeniableError
            If it is no query, or is of columns or values that the release has not.
        """
        conditions = parsed_query(where, self._with_categories().schema)
        table = self._protected.table(list(conditions))
        answers = [
            answered(conditions, table, self._protected, weight, asked)
            for asked in self._asked(target, confidence, inverse)
        ]
        answer = pd.concat(answers, ignore_index=True)
        said = where if isinstance(where, str) else ", ".join(f"{k}={v}" for k, v in where.items())
        answer.insert(0, "query", said)
        return answer

    def independence(
        self, names: Names, *, weight: str | None = None, seed: int = 0
    ) -> pd.DataFrame:
        """Return the test that columns are independent of each other, which knows their channels.

        See `deniable.analysis.independence.tested`; of more than two columns, all together.

        Parameters
        ----------
        names : sequence of str
        weight : str, optional
            As in `margins`.
        seed : int, >= 0
            Of Monte Carlo tables, where the p-value is by such.

        Raises
        ------
        DeniableError
            If it cannot be tested: one column, too large a table, or too few records by weights.
        """
        table = self._protected.table(self._named(names))
        return tested(table, self._protected, weight, seed)

    def adjusted_weights(self) -> pd.DataFrame:
        """Return a weight for each protected record that makes them add up; RR-Adjustment.

        See `deniable.analysis.microdata.adjusted`.
        """
        self._refuse_without_records("weights")
        return adjusted(self._protected)

    def synthetic(
        self, records: int | None = None, seed: int = 0, *, basis: Basis = "clusters"
    ) -> pd.DataFrame:
        """Return synthetic records that have the estimated distribution of each cluster.

        See `deniable.analysis.microdata.synthetic_records`.

        Parameters
        ----------
        records : int, >= 1, optional
            By default as many as there are protected ones.
        seed : int, >= 0
            The same one gives the same records.
        basis : "clusters" or "weights"
            The cells that are estimated for each cluster, matched at random, or the protected
            records, repeated by their adjusted weights.

        Raises
        ------
        DeniableError
            If fewer than one record are asked for.
        """
        self._refuse_without_records("synthetic records")
        number = self.records if records is None else records
        schema = self._with_categories().schema
        return synthetic_records(schema, self._protected, number, seed, basis)

    def _named(self, names: Names | None) -> tuple[str, ...]:
        if names is None:
            return self.domain.names
        return (names,) if isinstance(names, str) else tuple(names)

    def _with_categories(self) -> Plan:
        self._protected.refuse_no_categories()
        return self.plan

    def _refuse_without_records(self, what: str) -> None:
        if not self._protected.has_randomized_records:
            raise DeniableError(
                f"a {type(self.plan).__name__} leaves no randomized records, so there are no {what}"
            )

    def _asked(self, target: Targets, confidence: float, inverse: Inverse) -> list[Asked]:
        targets = TARGETS if target == "both" else (target,)
        return [Asked(each, confidence, inverse) for each in targets]

    def _table(self, names: Names) -> Table:
        table = self._protected.table(self._named(names))
        table.refuse_too_large()
        return table
