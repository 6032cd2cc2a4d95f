"""Tests of independence that are adjusted for randomization."""

from dataclasses import asdict, dataclass
from math import prod
from typing import Any

import numpy as np
import pandas as pd
import scipy

from deniable.analysis.answers import Names, Tables
from deniable.analysis.many_tables import ManyTableEstimates, listed
from deniable.arrays import ROUNDING, Codes, Counts, Floats
from deniable.channels import Channel
from deniable.contingency import (
    Independence,
    RandomizedRelease,
    TableToTest,
    adjusted_for_number,
    channel_test,
    independence_of_tables,
    monte_carlo_test,
    weighted_channel_test,
)
from deniable.errors import DeniableError
from deniable.responses import Responses, Table, sums_of_scores

MAX_TESTED = 512
"""Largest number of cells, and of randomized values, of a table that is tested by its counts. Monte
Carlo tables of 1,024 cells take most of a minute."""
MONTE_CARLO, ENOUGH = 499, 50
MAX_ORDERED = 1 << 33  # products of scores in all random orders: some seconds


@dataclass(frozen=True)
class _Found:
    statistic: float
    degrees_of_freedom: int
    p_value: float
    p_value_by: str
    records: int


class IndependenceTests(ManyTableEstimates):
    """Tests of independence by the randomized values, which need no estimate."""

    def independence(
        self, names: Names, *, weight: str | None = None, seed: int = 0
    ) -> pd.DataFrame:
        """Return the test, adjusted for randomization, that columns are independent of each other.

        More than two columns, `names`, are tested all together. The test is Rao's score test of the
        randomized values; see `deniable.contingency.channel_test`. If its rule of validity fails,
        the p-value is from Monte Carlo tables of the fitted null hypothesis, by the `seed`, from 0.
        With a column of weights, `weight`, it is the generalized score test; see
        `deniable.contingency.weighted_channel_test`. Columns with too many randomized values are
        tested by scores of single records. Raises `DeniableError` if the table cannot be tested, or
        the rule fails for weighted records.
        """
        table = self.responses.table(self._named(names))
        about = {"columns": table.label, "null": "independent of each other"}
        found = asdict(_tested(table, self.responses, weight, seed))
        return pd.DataFrame([about | found | {"target": "population"}])

    def independence_of_pairs(
        self, tables: Tables | None = None, *, weight: str | None = None, seed: int = 0
    ) -> pd.DataFrame:
        """Return tests of independence of many tables, with p-values adjusted for their number.

        The `tables`, each with the names of its columns, are by default all collected tables of a
        collection, else all pairs of columns of at most 400 cells, and at most 50,000 cells in all.
        `weight` and `seed` are as in `independence`. There is one row per table: ``columns``,
        ``records``, ``statistic``, ``degrees_of_freedom``, ``p_value``, ``valid`` (whether the
        p-value follows from the limiting distribution), ``p_value_by``, and the p-values and
        decisions of `deniable.contingency.adjusted_for_number`. ``attrs["left_out"]`` has the
        tables left out, with the reasons. Raises `DeniableError` if no table can be tested, or the
        requested ones have more cells.
        """
        chosen, left_out = self._chosen(tables)
        rows, together = dict[Table, dict[str, Any]](), list[Table]()
        for table in chosen:
            try:
                _refuse_untestable(table, weight)
                if weight is None and _few(table):
                    together.append(table)
                else:
                    row = _tested(table, self.responses, weight, seed)
                    valid = row.p_value_by.startswith(("chi", "F"))
                    rows[table] = {"records": row.records} | asdict(row) | {"valid": valid}
            except DeniableError as error:
                left_out[table.label] = str(error)
        if together:
            counted = self.responses.count([table.reports for table in together])
            counts = [
                TableToTest(table.cells.shape, table.channel, own.tally)
                for table, own in zip(together, counted, strict=True)
            ]
            found = independence_of_tables(counts, np.random.default_rng(seed))
            for table, values in zip(together, found.to_numpy(object), strict=True):
                rows[table] = dict(zip(found.columns, values, strict=True))
        in_order = [{"columns": each.label} | rows[each] for each in chosen if each in rows]
        return adjusted_for_number(_tests(in_order, left_out))

    def mcindep(self, tables: Tables | None = None, *, seed: int = 0) -> pd.DataFrame:
        """Test each of `tables` by the algorithm of MCIndep, with the noise of its channel.

        See [rrba], 7.3. The columns are as in `deniable.contingency.monte_carlo_test`, with the
        rule of five as published. The level is .05. ``attrs["left_out"]`` has the tables left out,
        with the reasons. The `seed` is for the sampled tables, and `tables` are as in
        `independence_of_pairs`.
        """
        chosen, left_out = self._chosen(tables)
        rows = list[dict[str, Any]]()
        for table in chosen:
            try:
                _refuse_untestable(table, "")
                (counted,) = self.responses.count([table.reports])
                release = RandomizedRelease(table.channel)
                noisy, null = release.estimated(counted.tally), table.cells.shape
                model, generator = Independence(null), np.random.default_rng(seed)
                found = asdict(monte_carlo_test(noisy, counted.records, release, model, generator))
                about = {"columns": table.label, "records": counted.records}
                rows.append(about | {name: values[0] for name, values in found.items()})
            except DeniableError as error:
                left_out[table.label] = str(error)
        return _tests(rows, left_out)


def _tests(rows: list[dict[str, Any]], left_out: dict[str, str]) -> pd.DataFrame:
    if not rows:
        raise DeniableError(f"no table can be tested: {listed(left_out)}")
    tests = pd.DataFrame(rows)
    tests.attrs["left_out"] = left_out
    return tests


def _tested(table: Table, protected: Responses, weight: str | None, seed: int) -> _Found:
    _refuse_untestable(table, weight)
    if not _few(table):
        return _by_scores(table, protected, seed)
    (counted,) = protected.count([table.reports], weight)
    null = Independence(table.cells.shape)
    if counted.weighted is not None:
        found, by = weighted_channel_test(counted.weighted, table.channel, null), "F, by weights"
        if not found.valid:
            raise DeniableError(
                f"independence of {', '.join(table.domain.names)}: too few records by weights, "
                f"which count for {counted.counts.sum():,.0f}, for this table and its channel; "
                "name fewer columns, or test without weights"
            )
    else:
        limits: dict[str, Any] = {"tables": MONTE_CARLO, "enough": ENOUGH}
        generator = np.random.default_rng(seed)
        found = channel_test(counted.counts, table.channel, null, generator=generator, **limits)
        drawn = int(found.monte_carlo_tables)
        by = f"{drawn} Monte Carlo tables" if drawn else "chi-squared"
    numbers = float(found.statistic), found.degrees_of_freedom, float(found.p_value)
    return _Found(*numbers, by, counted.records)


def _few(table: Table) -> bool:
    return max(table.cells.size, table.reports.size) <= MAX_TESTED


def _by_scores(table: Table, protected: Responses, seed: int) -> _Found:
    """Return the test by scores of single records.

    The scores of each column are made uncorrelated, of mean 0 and variance 1. The statistic is the
    number of records times the sum of the squared means of all products of scores of at least two
    columns. For two columns with square channels this is Pearson's statistic of the randomized
    values. If columns are independent, so are their randomized values, and all orders of a column
    are equally likely. So the p-value is the proportion of random orders with a statistic as large,
    counted as `channel_test` counts tables. For many records chi-squared gives the p-value.
    """
    reports = [side.reports for side in table.sides]
    pairs = zip(table.sides, protected.count(reports), strict=True)
    matrices = [_uncorrelated(side.channel, counted.counts) for side, counted in pairs]
    (first, *others), _ = protected.codes(reports)
    records, sizes = first.size, [len(matrix) for matrix in matrices]

    def statistic_of(*codes: Codes) -> float:
        means = sums_of_scores(matrices, codes) / records
        return float((means**2).sum() - 1) * records  # 1 is the product of no scores

    statistic = statistic_of(first, *others)
    freedom = prod(sizes) - sum(sizes) + len(sizes) - 1
    if records * prod(sizes) * MONTE_CARLO > MAX_ORDERED:
        p_value = float(scipy.special.chdtrc(freedom, statistic)) if freedom else 1.0
        return _Found(statistic, freedom, p_value, "chi-squared", records)
    generator, as_large, number = np.random.default_rng(seed), 0, 0
    while number < MONTE_CARLO and as_large < ENOUGH:
        number += 1
        again = statistic_of(first, *map(generator.permutation, others))
        as_large += again >= statistic - ROUNDING * (1 + statistic)
    p_value = as_large / number if as_large >= ENOUGH else (1 + as_large) / (1 + number)
    return _Found(statistic, freedom, p_value, f"{number} random orders", records)


def _uncorrelated(channel: Channel, counts: Counts | Floats) -> Floats:
    """Return 1, and uncorrelated scores of mean 0 and variance 1, shape (1 + rank, reports).

    The scores are of the randomized values of a `channel`, with these `counts`.
    """
    matrix = channel.fitted_to(counts, "least").solve(np.eye(channel.size))
    shares = counts / counts.sum()
    around = matrix - (matrix @ shares)[:, None]
    variances, directions = np.linalg.eigh((around * shares) @ around.T)
    kept = variances > ROUNDING * variances.max(initial=0.0)
    own = (directions[:, kept] / np.sqrt(variances[kept])).T @ around
    return np.concatenate([np.ones((1, counts.size)), own])


def _refuse_untestable(table: Table, weight: str | None) -> None:
    """Raise `DeniableError` unless the `table` can be tested, with the column `weight` if given."""
    names = ", ".join(table.domain.names)
    if len(table.domain) < 2:
        raise DeniableError(f"independence of {names} alone; name at least two columns")
    if not table.whole:
        others = [name for name in table.cells.names if name not in table.domain.names]
        raise DeniableError(
            f"{names}: randomized together with {', '.join(others)}, by one channel; name these "
            "columns too"
        )
    if _few(table):
        return
    if weight is None and len(table.domain) == len(table.sides):
        return table.refuse_too_large()
    of = "by weights" if weight is not None else "of columns of one cluster"
    raise DeniableError(
        f"the table of {names} has {table.cells.size:,} cells and {table.reports.size:,} reports; "
        f"a test {of} takes at most {MAX_TESTED:,}. Name fewer columns"
    )
