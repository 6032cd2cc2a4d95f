"""Estimates of tables with their intervals, from counts of randomized values."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from deniable.analysis.answers import (
    MIN_RECORDS,
    EstimateOptions,
    columns_of,
    intervals_of,
    refuse_one_record,
)
from deniable.arrays import Floats
from deniable.channels import Channel, roots_of_variances
from deniable.errors import DataError, DeniableError
from deniable.estimation import (
    Distribution,
    bounded_proportions,
    consistent,
    euclidean_projection,
    likelihood_is_fast,
    own_proportions,
    student,
)
from deniable.records import Domain
from deniable.responses import Counted, Responses, Table, TableStratum, cells_of, sums_of_scores

REPORTED = "the randomized values, with intervals by the bound (2.6) of [pram] or its weighted form"
"""The method of estimates if the data owner keeps the matrices back."""
ColumnValues = dict[str, Any]  # the columns of a table of estimates, by name


class Estimator:
    """Estimates of tables from one `source`, by the released column `weight` if given."""

    def __init__(self, source: Responses, weight: str | None = None) -> None:
        self.source, self.weight = source, weight
        self._known: dict[tuple[str, ...], Distribution] = {}

    def answers(
        self,
        tables: Sequence[Table],
        options: Sequence[EstimateOptions],
        *,
        by_stratum: bool = False,
    ) -> Iterator[tuple[Table, ColumnValues]]:
        """Yield each of `tables` with the columns of its estimates, for each of `options`.

        With `by_stratum`, there is a column ``stratum``, and estimates of each stratum follow.
        """
        self.count(tables)
        first = {"stratum": ""} if by_stratum else {}
        for table in tables:
            for each in options:
                yield table, first | self.columns(table, each)
                for stratum in table.strata if by_stratum else ():
                    own = self.counted(table).part(stratum.at)
                    if stratum.name and own.records:
                        columns = _columns_within(table, stratum, own, each)
                        yield table, {"stratum": stratum.name} | columns

    def count(self, tables: Sequence[Table]) -> None:
        """Count the randomized values of all `tables` in one pass over the records."""
        parts = (
            (table, _of_cluster(table)) if table.countable else table.sides for table in tables
        )
        self.source.count([each.reports for own in parts for each in own], self.weight)

    def counted(self, table: Table) -> Counted:
        """Return the counts of the randomized values of a `table`; see `refuse_impossible`."""
        counted = self.source.count([table.reports], self.weight)[0]
        refuse_impossible(table, counted)
        return counted

    def consistent(self, table: Table) -> Distribution:
        """Return the consistent distribution of a `table`, over its cells in their order.

        Tables of a part of a cluster are sums over the whole cluster, so they agree.
        """
        source = _of_cluster(table)
        found = self._distribution(source)
        return replace(found, proportions=source.summed(found.proportions))

    def columns(
        self, table: Table, options: EstimateOptions, functionals: Floats | None = None
    ) -> ColumnValues:
        """Return the columns of the estimates of a `table` by `options`, one value per cell.

        With `functionals`, shape (functionals, cells), there is one value per sum of cells.
        """
        if not table.countable:
            return self._scored(table, options)
        counted = self.counted(table)
        if table.kept_back:
            sums = table.functionals if functionals is None else functionals
            return _by_bound(table, counted, sums, options)
        own = _Part(table, table.channel, counted, options)
        if functionals is None:
            return own.columns(None, own.limits_of_cells(), self.consistent(table))
        return own.columns(functionals, own.limits(functionals), self._distribution(table))

    def by_scores(
        self, table: Table, sets: Sequence[Floats], options: EstimateOptions
    ) -> tuple[list[Floats], int]:
        """Return estimates, standard errors and limits by `options`, and the number of records.

        They are from scores of single records, for a `table` with too many randomized values to
        count. The *score* of a randomized value of one side is its row of an inverse of the
        channel. It is unbiased for the indicators of the original cells. Sides are randomized
        independently, so the product of their scores is unbiased for the indicator of a cell.

        For each side of the table, `sets` is an array of shape (sets, cells), 1 in the cells of a
        set, else 0. Arrays have one value per combination of sets, one set of each side; the last
        side changes first. Intervals are by Student's t, or for the file by the normal
        distribution, from the linearization of the weighted mean
        (`deniable.estimation.survey_weights`). Errors are as in `refuse_one_record`.
        """
        counted = self.source.count([side.reports for side in table.sides], self.weight)
        scores = [
            side.channel.fitted_to(each.counts, options.inverse).solve(own)
            for side, each, own in zip(table.sides, counted, sets, strict=True)
        ]
        refuse_one_record(counted[0], options)
        squared_scores = [each**2 for each in scores]
        total, squares, first, once, twice = 0.0, 0.0, *(np.zeros(()) for _ in range(3))
        for batch in self.source.batches(table.reports.names, self.weight):
            codes = [batch.joint(side.reports) for side in table.sides]
            w = np.ones(codes[0].size) if batch.weights is None else batch.weights
            total, squares = total + w.sum(), squares + (w**2).sum()
            first = first + sums_of_scores(scores, codes, w)
            once = once + sums_of_scores(scores, codes, w**2)
            twice = twice + sums_of_scores(squared_scores, codes, w**2)
        records, share = counted[0].records, first / total
        if options.target == "population":
            variance = (twice - 2 * share * once + share**2 * squares) * records / (records - 1)
            freedom = records - 1.0
        else:
            variance, freedom = twice - once, np.inf
        error = roots_of_variances(variance, 1e-12 * twice) / total
        reach = student(np.array(freedom), options.confidence) * error
        return [each.ravel() for each in (share, error, share - reach, share + reach)], records

    def _scored(self, table: Table, options: EstimateOptions) -> ColumnValues:
        """Return the columns of all cells by scores; consistent is the nearest distribution."""
        pairs = zip(table.parts, table.sides, strict=True)
        sets = [np.eye(part.size)[:, cells_of(side.cells, part)] for part, side in pairs]
        limits, records = self.by_scores(table, sets, options)
        cells = Domain(tuple(attribute for part in table.parts for attribute in part))
        order = np.argsort(cells_of(cells, table.domain))
        parts = [each[order] for each in (*limits, euclidean_projection(limits[0]))]
        return columns_of(parts, records, options) | {"consistent_by": "projection"}

    def unbiased(self, table: Table, options: EstimateOptions) -> tuple[Floats, Floats]:
        """Return the estimates of the cells of a `table` by `options`, and standard errors.

        For a singular invariant matrix these are the proportions of the randomized values.
        """
        if not table.countable or table.kept_back:
            columns = self.columns(table, options)
            return columns["estimate"], columns["standard_error"]
        own = _Part(table, table.channel, self.counted(table), options)
        estimate, errors, *_ = own.limits_of_cells()
        kept = table.invariant and table.weight == own.counted.weight
        if kept and table.one_cluster and np.isnan(estimate).all():
            estimate = table.functionals @ own.counted.proportions
            errors = own.own_proportions(table.functionals)["reported_standard_error"]
        return estimate, errors

    def _distribution(self, table: Table) -> Distribution:
        if (key := table.reports.names) not in self._known:
            self._known[key] = _distribution(table, self.counted(table))
        return self._known[key]


def _of_cluster(table: Table) -> Table:
    """Return the table of the whole cluster if its distribution takes at most some seconds."""
    whole = table.whole_cluster
    if whole is not None and whole.countable and likelihood_is_fast(whole.channel):
        return whole
    return table


def _distribution(table: Table, counted: Counted) -> Distribution:
    """Return the consistent distribution of the cells of a `table`.

    Each stratum has its own likelihood. So the result is the mean of the distributions of the
    strata, weighted by the proportions of the strata.
    """
    if table.kept_back:
        return Distribution(counted.proportions, REPORTED, np.nan)
    if not table.strata:
        return consistent(counted.counts, table.channel)
    shares, found, ways, gap = counted.proportions, np.zeros(table.cells.size), [], 0.0
    for stratum in table.strata:
        if (own := counted.part(stratum.at)).records:
            within = consistent(own.counts, stratum.channel)
            found[stratum.at] = shares[stratum.at].sum() * within.proportions
            ways.append(within.method)
            gap += within.gap
    return Distribution(found, " or ".join(dict.fromkeys(ways)), gap)


def refuse_impossible(table: Table, counted: Counted) -> None:
    """Raise `DataError` if a `counted` record of a `table` has a value its stratum cannot have."""
    left = counted.tally.copy()
    if not table.strata:
        cells = table.channel.possible_cells if len(table.sides) == 1 else None
        left[slice(None) if cells is None else cells] = 0
    for stratum in table.strata:
        left[stratum.at][stratum.possible] = 0
    if left.any():
        cell = table.cells.cell_labels()[int(left.argmax())]
        raise DataError(
            f"{int(left.sum()):,} records have {' x '.join(table.cells.names)} = {cell!r} or "
            "another value that the plan's matrices never return; plan and file are of different "
            "releases"
        )


@dataclass(frozen=True, eq=False)
class _Part:
    """Counted records of a table, all or those of a stratum, with the channel of their values."""

    table: Table
    channel: Channel
    counted: Counted
    options: EstimateOptions

    def columns(
        self, functionals: Floats | None, limits: Sequence[Floats], found: Distribution
    ) -> ColumnValues:
        """Return the columns of cells, or of sums of cells, with `limits`, by a distribution."""
        table, shares, sums = self.table, self.counted.proportions, functionals
        # Without `functionals`, the distribution is the one of the table's own cells.
        proportions = found.proportions if sums is None else sums @ found.proportions
        columns = columns_of([*limits, proportions], self.counted.records, self.options)
        if table.returns_categories:
            columns["reported"] = table.summed(shares) if sums is None else sums @ shares
        if table.invariant:
            columns |= self.own_proportions(table.functionals if sums is None else sums)
        return columns | {"consistent_by": found.method, "likelihood_gap": found.gap}

    def limits(self, functionals: Floats | None) -> list[Floats]:
        """Return estimates, standard errors and limits; all are NaN if the matrix is singular."""
        if self.channel.singular:
            size = self.channel.size if functionals is None else len(functionals)
            return [np.full(size, np.nan)] * 4
        found = intervals_of(self.channel, self.counted, functionals, self.options)
        return [found.estimate, found.standard_error, found.low, found.high]

    def limits_of_cells(self) -> list[Floats]:
        if not self.table.whole:
            return self.limits(self.table.functionals)
        return [part[self.table.order] for part in self.limits(None)]

    def own_proportions(self, functionals: Floats) -> dict[str, Floats]:
        """Return standard errors and limits of proportions of randomized values, unbiased here.

        They follow from the normal distribution: [pram], (2.4) and (2.5), with weights see
        `deniable.estimation.own_proportions`. They are NaN for pairs of clusters and for
        other weights than the plan's, because the matrices are not invariant for such proportions.
        """
        counted, weighted = self.counted, self.counted.weighted
        values = functionals @ counted.proportions
        errors = np.full(len(values), np.nan)
        if counted.weight == self.table.weight and self.table.one_cluster:
            own = counted.tally if weighted is None else weighted
            _, errors = own_proportions(own, self.channel, functionals, self.options.target)
        reach = student(np.array(np.inf), self.options.confidence) * errors
        return {
            "reported_standard_error": errors,
            "reported_ci_low": values - reach,
            "reported_ci_high": values + reach,
        }


def _columns_within(
    table: Table, stratum: TableStratum, counted: Counted, options: EstimateOptions
) -> ColumnValues:
    functionals = table.functionals[:, stratum.at]
    if table.kept_back:
        return _by_bound(table, counted, functionals, options)
    part = _Part(table, stratum.channel, counted, options)
    if options.target == "population" and counted.counts.sum() < MIN_RECORDS:
        # One record cannot show how records of the population differ.
        estimate, *_ = replace(part, options=replace(options, target="file")).limits(functionals)
        limits = [estimate, *[np.full(len(functionals), np.nan)] * 3]
    else:
        limits = part.limits(functionals)
    return part.columns(functionals, limits, consistent(counted.counts, stratum.channel))


def _by_bound(
    table: Table, counted: Counted, functionals: Floats, options: EstimateOptions
) -> ColumnValues:
    """Return the columns of proportions of randomized values, if matrices are kept back.

    See `deniable.estimation.bounded_proportions`. Raises `DeniableError` for other weights than
    the plan's, because the matrices are not invariant for such proportions.
    """
    if counted.weight != table.weight:
        w = table.weight
        remedy = f"give --weight {w}, in Python weight={w!r}" if w else "it has none; give none"
        raise DeniableError(f"matrices are kept back: estimate by the plan's weights; {remedy}")
    own = counted.tally if counted.weighted is None else counted.weighted
    how = options.target, options.confidence
    values, errors, low, high = bounded_proportions(own, functionals, *how)
    columns = columns_of([values, errors, low, high, values], counted.records, options)
    return columns | {"reported": values, "consistent_by": REPORTED}
