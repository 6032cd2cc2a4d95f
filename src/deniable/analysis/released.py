"""A release in one object: whatever is estimated from its public folder alone."""

from collections.abc import Sequence
from functools import cached_property
from itertools import combinations
from typing import Any

import pandas as pd

from deniable.analysis.answers import Asked, cells_as_columns, estimated, values_of
from deniable.analysis.collected import Collected
from deniable.analysis.independence import tested
from deniable.analysis.masked import Masked
from deniable.analysis.numbers import SHARES, summarized
from deniable.analysis.protected import Protected
from deniable.analysis.queries import Query, answered, parsed_query
from deniable.analysis.reading import opened
from deniable.analysis.scores import scored
from deniable.analysis.synthesis import synthetic_records
from deniable.analysis.tables import Table
from deniable.analysis.weights import adjusted, adjusted_within_strata
from deniable.channels import Target
from deniable.errors import DeniableError
from deniable.estimation import CONFIDENCE
from deniable.plans import Plan
from deniable.records import Domain
from deniable.release import AnyPlan, CollectionPlan, MaskingPlan, StratifiedPlan

Names = Sequence[str] | str
"""Columns, or one of them."""


class Released:
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
    plan : Plan, StratifiedPlan, CollectionPlan or MaskingPlan, optional
        By which reports in memory were randomized.

    Attributes
    ----------
    plan : Plan, StratifiedPlan, CollectionPlan or MaskingPlan
    domain : Domain
        The columns of which there are estimates.

    Raises
    ------
    DataError
        If it is no such folder, or a file in it is missing, damaged or not listed; or if reports
        lack a column.
    """

    def __init__(self, public: Any, plan: AnyPlan | None = None) -> None:
        self.plan, self._protected = opened(public, plan)
        columns = () if isinstance(self.plan, MaskingPlan) else self.plan.schema.randomized
        self._columns = {column.name: column for column in columns}

    @property
    def domain(self) -> Domain:
        """The columns of which there are estimates, with their categories."""
        return self._with_categories().schema.domain()

    @cached_property
    def records(self) -> int:
        """Number of protected records, or of clients that answered."""
        if not isinstance(self._protected, Protected):
            return self._protected.records
        return self._protected.count([self._table(self.domain.names[:1]).reports])[0].records

    def margins(
        self,
        names: Names | None = None,
        *,
        weight: str | None = None,
        target: Target = "population",
        confidence: float = CONFIDENCE,
    ) -> pd.DataFrame:
        """Return the distribution of each column: a row a category, or a point of its grid.

        Parameters
        ----------
        names : str or sequence of str, optional
            By default all columns.
        weight : str, optional
            Of a released column: the weights that records count by.
        target : "population" or "file"
        confidence : float, in (0, 1)

        Returns
        -------
        DataFrame
            ``column``, ``value``, ``estimate``, ``standard_error``, ``ci_low``, ``ci_high``,
            ``outside`` (of [0, 1]), ``consistent``, ``confidence``, ``target``, ``records``,
            ``consistent_by``.

        Raises
        ------
        DeniableError
            For a name that is not there, or a column that is too large; for a population of which
            as much as one record speaks.
        """
        asked = self._asked(target, confidence)
        tables = [self._table([name]) for name in self._named(names)]
        answers = self._estimated(tables, weight, asked)
        parts = []
        for table, answer in zip(tables, answers, strict=True):
            (attribute,) = table.domain
            values = pd.Series(values_of(attribute, self._columns[attribute.name]), dtype=object)
            parts.append(pd.DataFrame({"column": attribute.name, "value": values} | answer))
        return pd.concat(parts, ignore_index=True)

    def numbers(
        self,
        names: Names | None = None,
        *,
        quantiles: Sequence[float] = SHARES,
        weight: str | None = None,
        target: Target | None = None,
        confidence: float = CONFIDENCE,
    ) -> pd.DataFrame:
        """Return mean, standard deviation and quantiles of numeric columns, by default of all.

        In the unit of the column, on its grid, among values that are not missing; a row a
        statistic. See `deniable.analysis.numbers.summarized`.

        Parameters
        ----------
        names : str or sequence of str, optional
        quantiles : sequence of float, in (0, 1)
        weight, confidence
            As in `margins`.
        target : "population" or "file", optional
            By default the population; of masked numbers the file, of which alone they tell.

        Raises
        ------
        DeniableError
            If a column is not numeric, or a quantile's share is not in (0, 1).
        """
        if isinstance(self._protected, Masked):
            masked = None if names is None else self._named(names)
            asked = Asked(target or "file", confidence)
            return self._protected.numbers(masked, quantiles, weight, asked)
        asked = self._asked(target or "population", confidence)
        numeric = [name for name, column in self._columns.items() if column.kind == "numeric"]
        wanted = numeric if names is None else self._named(names)
        for name in wanted:
            if name not in numeric:
                raise DeniableError(
                    f"column {name!r} is not numeric; numeric are {', '.join(numeric) or 'none'}"
                )
        tables = [self._table([name]) for name in wanted]
        found = self._protected.count([table.reports for table in tables], weight)
        parts = [
            summarized(self._columns[name], table, counted, quantiles, asked)
            for name, table, counted in zip(wanted, tables, found, strict=True)
        ]
        return pd.concat(parts, ignore_index=True) if parts else pd.DataFrame()

    def table(
        self,
        names: Names,
        *,
        weight: str | None = None,
        target: Target = "population",
        confidence: float = CONFIDENCE,
    ) -> pd.DataFrame:
        """Return the table of some columns, whichever clusters they are of: a row a cell.

        A column for each name, then those of `margins`. At most 65,536 cells, or 1,048,576 where
        there are not more reports either.

        Parameters
        ----------
        names : str or sequence of str
        weight, target, confidence
            As in `margins`.

        Raises
        ------
        DeniableError
            As `margins`.
        """
        table = self._table(names)
        (answer,) = self._estimated([table], weight, self._asked(target, confidence))
        cells = cells_as_columns(table.domain, self._columns, list(answer))
        return pd.DataFrame(cells | answer)

    def pairs(
        self,
        names: Names | None = None,
        *,
        weight: str | None = None,
        target: Target = "population",
        confidence: float = CONFIDENCE,
    ) -> pd.DataFrame:
        """Return the tables of all pairs of columns, in one: a row a cell of a pair.

        ``columns`` and ``values`` are joined by " x "; the others are those of `margins`.

        Parameters
        ----------
        names : str or sequence of str, optional
            By default all columns.
        weight, target, confidence
            As in `margins`.

        Raises
        ------
        DeniableError
            If there is no pair, or a table that is too large.
        """
        asked = self._asked(target, confidence)
        tables = [self._table(pair) for pair in combinations(self._named(names), 2)]
        if not tables:
            raise DeniableError("pairs of one column; name at least two")
        parts = [
            pd.DataFrame(
                {
                    "columns": " x ".join(table.domain.names),
                    "values": table.domain.cell_labels(),
                }
                | answer
            )
            for table, answer in zip(tables, self._estimated(tables, weight, asked), strict=True)
        ]
        return pd.concat(parts, ignore_index=True)

    def query(
        self,
        where: Query,
        *,
        weight: str | None = None,
        target: Target = "population",
        confidence: float = CONFIDENCE,
    ) -> pd.DataFrame:
        """Return the share of records for which all of some conditions hold, in one row.

        Parameters
        ----------
        where : str or mapping
            ``"sex=F,age>=30"`` or ``{"sex": "F", "income": ["mid", "high"]}``; see
            `deniable.analysis.parsed_query`.
        weight, target, confidence
            As in `margins`.

        Raises
        ------
        DeniableError
            If it is no query, or is of columns or values that the release has not.
        """
        conditions = parsed_query(where, self._with_categories().schema)
        table, asked = self._protected.table(list(conditions)), self._asked(target, confidence)
        answer = answered(conditions, table, self._protected, weight, asked)
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

        See `deniable.analysis.weights.adjusted`.
        """
        if isinstance(self.plan, StratifiedPlan) and isinstance(self._protected, Protected):
            return adjusted_within_strata(self.plan, self._protected)
        return adjusted(*self._by_clusters("weights"))

    def synthetic(self, records: int, seed: int = 0) -> pd.DataFrame:
        """Return synthetic records that have the estimated distribution of each cluster.

        See `deniable.analysis.synthesis.synthetic_records`.

        Parameters
        ----------
        records : int, >= 1
        seed : int, >= 0
            The same one gives the same records.

        Raises
        ------
        DeniableError
            If fewer than one record are asked for.
        """
        return synthetic_records(*self._by_clusters("synthetic records"), records, seed)

    def _named(self, names: Names | None) -> tuple[str, ...]:
        if names is None:
            return self.domain.names
        return (names,) if isinstance(names, str) else tuple(names)

    def _with_categories(self) -> Plan | StratifiedPlan | CollectionPlan:
        if isinstance(self._protected, Masked):
            self._protected.table(())
        assert not isinstance(self.plan, MaskingPlan)
        return self.plan

    def _by_clusters(self, what: str) -> tuple[Plan, Protected]:
        if isinstance(self.plan, Plan) and isinstance(self._protected, Protected):
            return self.plan, self._protected
        raise DeniableError(
            f"{what} are made where each column went through one channel for all records, which "
            f"is not so by a {type(self.plan).__name__}; ask for tables or numbers"
        )

    def _asked(self, target: Target, confidence: float) -> Asked:
        if isinstance(self._protected, Collected) and target == "file":
            raise DeniableError(
                "those who are asked for a table are a random sample of all clients; ask for the "
                "target 'population'"
            )
        return Asked(target, confidence)

    def _table(self, names: Names) -> Table:
        table = self._protected.table(self._named(names))
        table.refuse_too_large()
        return table

    def _estimated(
        self, tables: Sequence[Table], weight: str | None, asked: Asked
    ) -> list[dict[str, Any]]:
        source = self._protected
        together = [table.reports for table in tables if table.countable]
        apart = [side.reports for table in tables if not table.countable for side in table.sides]
        source.count([*together, *apart], weight)  # in one pass
        return [
            estimated(table, source.count([table.reports], weight)[0], asked)
            if table.countable
            else scored(table, source, weight, asked)
            for table in tables
        ]
