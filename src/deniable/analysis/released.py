"""All estimates of a release from its public folder alone."""

from collections.abc import Callable, Iterable, Sequence
from functools import partial
from typing import Unpack

import pandas as pd

from deniable.analysis.answers import (
    Names,
    Options,
    Tables,
    cells_as_columns,
    named_guesses,
    tables_of,
    values_of,
)
from deniable.analysis.estimator import ColumnValues
from deniable.analysis.independence import IndependenceTests
from deniable.analysis.item_sets import ItemSetEstimates
from deniable.analysis.joint import JointAnswers
from deniable.analysis.microdata import RecordEstimates
from deniable.analysis.numbers import QUARTILES, summarized
from deniable.analysis.queries import Query, parsed_query, satisfying
from deniable.analysis.regressions import RegressionEstimates
from deniable.errors import DeniableError
from deniable.joint import estimate_joint, repeated
from deniable.responses import Table


class Released(ItemSetEstimates, IndependenceTests, RecordEstimates, RegressionEstimates):
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

        def by_value(table: Table, columns: ColumnValues) -> ColumnValues:
            (attribute,) = table.domain
            values = pd.Series(values_of(attribute, self._columns[attribute.name]), dtype=object)
            return {"column": attribute.name, "value": values} | columns

        known, wanted = self._estimator(**options)
        return _joined(known.answers(tables, wanted, by_stratum=by_stratum), by_value)

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

        def by_cell(table: Table, columns: ColumnValues) -> ColumnValues:
            return cells_as_columns(table.domain, self._columns, list(columns)) | columns

        known, wanted = self._estimator(**options)
        return _joined(known.answers([self._table(names)], wanted, by_stratum=by_stratum), by_cell)

    def pairs(
        self,
        names: Names | Tables | None = None,
        *,
        by_stratum: bool = False,
        **options: Unpack[Options],
    ) -> pd.DataFrame:
        """Return the tables of pairs of columns, in one table: one row per cell of a pair.

        ``columns`` and ``values`` are joined by " x "; ``one_cluster`` is true if the columns were
        randomized together. The other columns, errors, `by_stratum` and `**options` are as in
        `margins`.

        The `names` are columns (all their pairs are estimated), or tables of two columns or more.
        By default these are all pairs of at most 400 cells, and at most 50,000 cells in all;
        ``attrs["left_out"]`` has the others, with the reasons.
        """
        if names is None:
            tables, left_out = self._chosen(None, pairs_alone=True)
        else:
            tables, left_out = [*map(self._table, tables_of(names))], {}
        known, wanted = self._estimator(**options)

        def by_cell(table: Table, columns: ColumnValues) -> ColumnValues:
            about = {"columns": table.label, "values": table.domain.cell_labels()}
            return about | {"one_cluster": table.one_cluster} | columns

        found = _joined(known.answers(tables, wanted, by_stratum=by_stratum), by_cell)
        found.attrs["left_out"] = left_out
        return found

    def query(self, where: Query, **options: Unpack[Options]) -> pd.DataFrame:
        """Return the proportion of records that satisfy all of some conditions, in one row.

        The conditions `where` are ``"sex=F,age>=30"`` or ``{"sex": "F", "income": ["mid",
        "high"]}``; see `deniable.analysis.parsed_query`. The `**options` are as in `margins`. If
        the columns have too many combinations of randomized values to count them, scores of single
        records are used (`deniable.analysis.estimator.Estimator.by_scores`). The number of columns
        has no limit.
        """
        schema, (known, wanted) = self._schema(), self._estimator(**options)
        conditions = parsed_query(where, schema)
        table = self.responses.table(list(conditions))
        rows = [pd.DataFrame(satisfying(conditions, table, known, each)) for each in wanted]
        answer = pd.concat(rows, ignore_index=True)
        said = where if isinstance(where, str) else ", ".join(f"{k}={v}" for k, v in where.items())
        answer.insert(0, "query", said)
        return answer

    def joint(
        self,
        columns: Names | None = None,
        *,
        weight: str | None = None,
        seed: int = 0,
        repetitions: int = 0,
    ) -> JointAnswers:
        """Return one consistent joint distribution of all randomized columns, for any tables.

        See `deniable.joint.estimate_joint` for the method. Adult (32,561 records, 8 columns) takes
        3 to 15 seconds, and each repetition as long.

        Parameters
        ----------
        columns : str or sequence of str, optional
            Columns, with all columns of their clusters; by default all. Others may be singular.
        weight : str, optional
            Released column of weights by which records count.
        seed : int
            From 0; decides the random starts and the parts of the records that are held out.
        repetitions : int
            Repetitions of the whole estimate for intervals that are valid if the model holds, and
            for the test of fit: 0, or at least 2.

        Raises
        ------
        DeniableError
            If the release has no channels of categories, a channel is singular, or records have
            strata and repetitions are requested.
        """
        if repetitions < 0 or repetitions == 1:
            raise DeniableError(f"{repetitions} repetitions; give 0, or at least 2")
        chosen = () if columns is None else self.domain.project(self._named(columns)).names
        schema, (answers, weights) = self._schema(), self.responses.answers(weight, chosen)
        answered = {name for each in answers for name in each.cells.names}
        domain = self.domain.project([name for name in self.domain.names if name in answered])
        found = estimate_joint(answers, domain, weights, seed=seed)
        again = tuple(repeated(found, answers, repetitions, seed, weights)) if repetitions else ()
        table, query = partial(self.table, weight=weight), partial(self.query, weight=weight)
        return JointAnswers(schema, found, again, {"table": table, "query": query})


def _joined(
    answers: Iterable[tuple[Table, ColumnValues]],
    described: Callable[[Table, ColumnValues], ColumnValues],
) -> pd.DataFrame:
    """Return all `answers` in one table, with the columns `described` for each."""
    parts, errors = [], []
    for table, columns in answers:
        stratum = columns.get("stratum", "")
        label = table.label + (f" in {stratum}" if stratum else "")
        errors.append((label, columns["standard_error"]))
        parts.append(pd.DataFrame(described(table, columns)))
    return named_guesses(pd.concat(parts, ignore_index=True), errors)
