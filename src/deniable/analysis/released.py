"""All estimates of a release from its public folder alone."""

from collections.abc import Sequence
from os import PathLike
from pathlib import Path
from typing import Any, Unpack

import numpy as np
import pandas as pd

from deniable.analysis.answers import (
    TARGETS,
    EstimateOptions,
    Names,
    Options,
    Tables,
    Targets,
    cells_as_columns,
    tables_of,
    values_of,
)
from deniable.analysis.estimator import ColumnValues, Estimator
from deniable.analysis.guesses import named_guesses
from deniable.analysis.independence import tested, tested_by_mcindep, tested_tables
from deniable.analysis.item_sets import ItemSetEstimates
from deniable.analysis.many_tables import (
    ChosenTables,
    ConsistentEstimates,
    consistent_estimates,
    two_step_estimates,
)
from deniable.analysis.microdata import Basis, adjusted, synthetic_records
from deniable.analysis.numbers import QUARTILES, summarized
from deniable.analysis.queries import Query, answered
from deniable.analysis.results import plan_in
from deniable.analysis.shrinkage import shrunk
from deniable.arrays import Floats
from deniable.channels import Inverse
from deniable.errors import DataError, DeniableError
from deniable.estimation import CONFIDENCE
from deniable.plans import Plan, refuse_no_plan
from deniable.records import Domain
from deniable.responses import Responses, Table, protected_file
from deniable.schema import Schema


class Released(ItemSetEstimates):
    """Estimates from the public folder of a release, or from protected records in memory.

    All kinds of plans have the same methods, and all tables of estimates have the same columns. If
    a kind of plan does not allow the estimates of a method, an error states the reason.

    Estimates are unbiased or nearly so, and may lie outside [0, 1]. There is also a ``consistent``
    distribution, and ``consistent_by`` names its method. Intervals (``ci_low``, ``ci_high``) have a
    ``confidence``, each on its own, for a ``target``. It is the "population" from which the records
    were drawn one by one, or the "file", these records themselves. Records count as one each, or by
    the released column `weight`, without records of weight 0. Estimates use no privacy budget. A
    `GuessWarning` and ``attrs["worse_than_guess"]`` name tables with larger errors than a guess.

    Parameters
    ----------
    public : path or table
        The folder, with ``plan.json``, the protected file and ``SHA256SUMS``; or, with a plan,
        protected records in memory, as `deniable.randomize` returns them.
    plan : Plan, optional
        The plan by which records in memory were randomized; also an attribute, as `responses`, the
        protected records.

    Raises
    ------
    DataError
        If the folder is not a public folder, or a file in it is missing, damaged or not listed; or
        if the records lack a column.
    """

    def __init__(self, public: Any, plan: Plan | None = None) -> None:
        if plan is None:
            if not isinstance(public, str | PathLike):
                raise DataError("records in memory need their plan: Released(records, plan)")
            self.plan = plan_in(Path(public))
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

    def margins(
        self, names: Names | None = None, *, by_stratum: bool = False, **options: Unpack[Options]
    ) -> pd.DataFrame:
        """Return the distribution of each column: one row per category, or point of its grid.

        Parameters
        ----------
        names : str or sequence of str, optional
            By default all columns.
        by_stratum : bool
            Whether rows of each stratum follow, with its name in a column ``stratum``, else empty.
        **options
            ``weight``: name of a released column of weights by which records count.
            ``target``: "population" (the default), "file" or "both", with two rows per category.
            ``confidence``: in (0, 1), by default .95.
            ``inverse``: for channels with more randomized values than categories, "least" (the
            default) is the left inverse of least variance, and "own" the channel's. On average over
            redraws the first has the smaller error; the second is exactly unbiased. See
            `deniable.channels.Inverse`.

        Returns
        -------
        DataFrame
            ``column``, ``value``, ``estimate``, ``standard_error``, ``ci_low``, ``ci_high``,
            ``outside`` (of [0, 1]), ``consistent``, ``confidence``, ``target``, ``records``,
            ``reported`` (the proportion among the randomized values; empty if these are not
            categories), ``consistent_by``, ``likelihood_gap`` (upper bound on the log-likelihood
            that ``consistent`` lacks, in nats). For invariant matrices, which leave ``reported``
            unbiased, also ``reported_standard_error``, ``reported_ci_low``, ``reported_ci_high``.
            ``estimate`` is empty if such a matrix is singular.

        Raises
        ------
        DeniableError
            If a name is unknown, a column is too large, or one record is to represent a population.
        """
        tables = [self._table([name]) for name in self._named(names)]
        known, wanted = self._estimator(**options)
        parts, errors = [], []
        for table, columns in known.answers(tables, wanted, by_stratum=by_stratum):
            errors.append(_errors(table, columns))
            (attribute,) = table.domain
            values = pd.Series(values_of(attribute, self._columns[attribute.name]), dtype=object)
            parts.append(pd.DataFrame({"column": attribute.name, "value": values} | columns))
        return named_guesses(pd.concat(parts, ignore_index=True), errors)

    def numbers(
        self,
        names: Names | None = None,
        *,
        quantiles: Sequence[float] = QUARTILES,
        **options: Unpack[Options],
    ) -> pd.DataFrame:
        """Return mean, standard deviation and quantiles of columns of numbers, by default of all.

        There is one row per statistic, in the unit of the column, on its grid, among values that
        are not missing. See `deniable.analysis.numbers.summarized`. The levels of the `quantiles`
        are in (0, 1). `names` and `**options` are as in `margins`, but masked numbers only have the
        target "file". Raises `DeniableError` if a column is not released as numbers, or a level is
        not in (0, 1).
        """
        named = None if names is None else self._named(names)
        masked = self.responses.numbers(named, quantiles, **options)
        numeric = [name for name, column in self._columns.items() if column.on_grid]
        chosen = numeric if named is None else list(named)
        if masked is not None:
            own = set(masked["column"])
            if not (chosen := [name for name in chosen if name not in own]):
                return masked
        for name in chosen:
            if name not in numeric:
                raise DeniableError(
                    f"column {name!r} is not released as numbers; columns of numbers: "
                    f"{', '.join(numeric) or 'none'}"
                )
        known, wanted = self._estimator(**options)
        tables = [self._table([name]) for name in chosen]
        known.count(tables)
        parts = [] if masked is None else [masked]
        parts += [
            summarized(self._columns[name], table, known, quantiles, each)
            for each in wanted
            for name, table in zip(chosen, tables, strict=True)
        ]
        return pd.concat(parts, ignore_index=True) if parts else pd.DataFrame()

    def table(
        self, names: Names, *, by_stratum: bool = False, **options: Unpack[Options]
    ) -> pd.DataFrame:
        """Return the table of some columns, of any clusters: one row per cell.

        There is one column per name, then the columns of `margins`. A table has at most 65,536
        cells, or 1,048,576 if it also has at most so many randomized values. The parameters
        `names`, `by_stratum` and `**options`, and errors, are as in `margins`.
        """
        known, wanted = self._estimator(**options)
        answers = [*known.answers([self._table(names)], wanted, by_stratum=by_stratum)]
        parts = [
            pd.DataFrame(cells_as_columns(table.domain, self._columns, list(columns)) | columns)
            for table, columns in answers
        ]
        found = pd.concat(parts, ignore_index=True)
        return named_guesses(found, (_errors(*each) for each in answers))

    def pairs(
        self,
        names: Names | Tables | None = None,
        *,
        by_stratum: bool = False,
        **options: Unpack[Options],
    ) -> pd.DataFrame:
        """Return the tables of pairs of columns, in one table: one row per cell of a pair.

        ``columns`` and ``values`` are joined by " x "; ``one_cluster`` is true if the columns were
        randomized together; ``shrunk`` is the estimate pulled towards independence
        (`deniable.analysis.shrinkage.shrunk`), empty for tables that are too large to be counted.
        The other columns, errors, `by_stratum` and `**options` are as in `margins`.

        The `names` are columns (all their pairs are estimated), or tables of two columns or more.
        By default these are all pairs of at most 400 cells, and at most 50,000 cells in all;
        ``attrs["left_out"]`` has the others, with the reasons.
        """
        if names is None:
            chosen = ChosenTables.of(self.responses, self.domain, None, pairs_alone=True)
        else:
            chosen = ChosenTables(tuple(map(self._table, tables_of(names))), {})
        known, wanted = self._estimator(**options)
        parts, errors, pulled = [], [], dict[tuple[str, str], Any]()
        for table, columns in known.answers(chosen.tables, wanted, by_stratum=by_stratum):
            errors.append(_errors(table, columns))
            key = table.label, columns.get("stratum", "")
            if key not in pulled:
                there = table.countable and not table.kept_back and len(table.domain) == 2
                pulled[key] = shrunk(table, known, wanted[0].inverse, key[1]) if there else np.nan
            about = {
                "columns": table.label,
                "values": table.domain.cell_labels(),
                "one_cluster": table.one_cluster,
            }
            parts.append(pd.DataFrame(about | columns | {"shrunk": pulled[key]}))
        found = pd.concat(parts, ignore_index=True)
        found.attrs["left_out"] = chosen.left_out
        return named_guesses(found, errors)

    def query(self, where: Query, **options: Unpack[Options]) -> pd.DataFrame:
        """Return the proportion of records that satisfy all of some conditions, in one row.

        The conditions `where` are ``"sex=F,age>=30"`` or ``{"sex": "F", "income": ["mid",
        "high"]}``; see `deniable.analysis.parsed_query`. The `**options` are as in `margins`.
        """
        return answered(where, self._schema(), *self._estimator(**options))

    def independence(
        self, names: Names, *, weight: str | None = None, seed: int = 0
    ) -> pd.DataFrame:
        """Return the test, adjusted for randomization, that columns are independent of each other.

        More than two columns, `names`, are tested all together. The `weight` is as in `margins`.
        The `seed`, from 0, is for Monte Carlo tables, if the p-value needs these. See
        `deniable.analysis.independence.tested`.
        """
        return tested(self.responses.table(self._named(names)), self.responses, weight, seed)

    def independence_of_pairs(
        self, tables: Tables | None = None, *, weight: str | None = None, seed: int = 0
    ) -> pd.DataFrame:
        """Return tests of independence of many tables, with p-values adjusted for their number.

        See `deniable.analysis.independence.tested_tables`. The `tables`, each with the names of its
        columns, are by default all collected tables of a collection, else all pairs of columns of
        at most 400 cells, and at most 50,000 cells in all. `weight` and `seed` are as in
        `independence`. Raises `DeniableError` if no table can be tested, or the requested ones have
        more cells.
        """
        chosen = ChosenTables.of(self.responses, self.domain, tables)
        return tested_tables(chosen, self.responses, weight, seed)

    def mcindep(self, tables: Tables | None = None, *, seed: int = 0) -> pd.DataFrame:
        """Return MCIndep tests; see `deniable.analysis.independence.tested_by_mcindep`.

        The parameters `tables` and `seed` are as in `independence_of_pairs`.
        """
        chosen = ChosenTables.of(self.responses, self.domain, tables)
        return tested_by_mcindep(chosen, self.responses, seed)

    def consistent(
        self, tables: Tables | None = None, *, weight: str | None = None
    ) -> ConsistentEstimates:
        """Return the closest tables that agree on all shared marginal distributions.

        See `deniable.analysis.many_tables.consistent_estimates`; `tables` and `weight` are as in
        `independence_of_pairs`.
        """
        chosen = ChosenTables.of(self.responses, self.domain, tables)
        return consistent_estimates(chosen, self.responses, self._columns, weight)

    def two_step(self, tables: Tables | None = None, *, weight: str | None = None) -> pd.DataFrame:
        """Return the nearest non-negative tables, and independence fitted to these.

        See `deniable.analysis.many_tables.two_step_estimates`; `tables` and `weight` are as in
        `independence_of_pairs`.
        """
        chosen = ChosenTables.of(self.responses, self.domain, tables)
        return two_step_estimates(chosen, self.responses, weight)

    def adjusted_weights(self) -> pd.DataFrame:
        """Return weights by RR-Adjustment; see `deniable.analysis.microdata.adjusted`."""
        self._refuse_without_records("weights")
        return adjusted(self.responses)

    def synthetic(
        self, records: int | None = None, seed: int = 0, *, basis: Basis = "clusters"
    ) -> pd.DataFrame:
        """Return synthetic records that have the estimated distribution of each cluster.

        See `deniable.analysis.microdata.synthetic_records`. `records`, at least 1, is their
        number, by default the number of protected records. The `seed`, from 0, decides the draws.
        With the `basis` "clusters", the estimated cells of all clusters are matched at random. With
        "weights", the protected records are repeated by their adjusted weights.
        """
        self._refuse_without_records("synthetic records")
        number = self.records if records is None else records
        return synthetic_records(self._schema(), self.responses, number, seed, basis)

    def _estimator(
        self,
        weight: str | None = None,
        target: Targets = "population",
        confidence: float = CONFIDENCE,
        inverse: Inverse = "least",
    ) -> tuple[Estimator, list[EstimateOptions]]:
        targets = TARGETS if target == "both" else (target,)
        wanted = [EstimateOptions(each, confidence, inverse) for each in targets]
        return Estimator(self.responses, weight), wanted

    def _named(self, names: Names | None) -> tuple[str, ...]:
        if names is None:
            return self.domain.names
        return (names,) if isinstance(names, str) else tuple(names)

    def _schema(self) -> Schema:
        self.responses.refuse_no_categories()
        return self.plan.schema_of_tables

    def _refuse_without_records(self, what: str) -> None:
        if not self.responses.has_randomized_records:
            raise DeniableError(
                f"a {type(self.plan).__name__} leaves no randomized records of all columns, "
                f"so there are no {what}"
            )

    def _table(self, names: Names) -> Table:
        return self.responses.estimable_table(self._named(names))


def _errors(table: Table, columns: ColumnValues) -> tuple[str, Floats]:
    """Return the name of a `table`, in its stratum, and its standard errors in `columns`."""
    stratum = columns.get("stratum", "")
    return table.label + (f" in {stratum}" if stratum else ""), columns["standard_error"]
