"""Estimates of tables with their intervals, from counts of randomized values."""

from collections.abc import Iterator, Sequence
from dataclasses import replace
from typing import Any, cast

import numpy as np

from deniable.analysis.answers import MIN_RECORDS, Asked, columns_of, intervals_of
from deniable.analysis.scores import scored
from deniable.arrays import Floats
from deniable.channels import Channel, Inverse, ProductChannel
from deniable.errors import DataError
from deniable.estimation import (
    Distribution,
    consistent,
    euclidean_projection,
    likelihood_is_fast,
    own_proportions,
    student,
)
from deniable.randomized_response import shrunk_joint
from deniable.records import Domain
from deniable.responses import Counted, Responses, Stratum, Table, cells_of


class Estimator:
    """The estimates of tables from one source.

    Parameters
    ----------
    source : Responses
    weight : str or None
        The released column of weights that records count by.
    """

    def __init__(self, source: Responses, weight: str | None = None) -> None:
        self._source, self._weight = source, weight
        self._known: dict[tuple[str, ...], Distribution] = {}

    def answers(
        self, tables: Sequence[Table], asked: Sequence[Asked], *, by_stratum: bool = False
    ) -> Iterator[tuple[Table, list[dict[str, Any]]]]:
        """Yield each of `tables` with the columns of its estimates, as each of `asked` has them.

        With a column ``stratum`` if strata are estimated as well (`by_stratum`).
        """
        self.count(tables)
        for table in tables:
            answers: list[dict[str, Any]] = []
            for options in asked:
                own = {"": self.columns(table, options)}
                if by_stratum:
                    own |= self.columns_by_stratum(table, options)
                    own = {name: {"stratum": name} | each for name, each in own.items()}
                answers += own.values()
            yield table, answers

    def count(self, tables: Sequence[Table]) -> None:
        """Count the randomized values of all `tables` in one pass over the records."""
        found: list[Domain] = []
        for table in tables:
            if table.countable:
                found += [table.reports, _of_cluster(table).reports]
            else:
                found += [side.reports for side in table.sides]
        self._source.count(found, self._weight)

    def counted(self, table: Table) -> Counted:
        """Return the counts of the randomized values of a `table`."""
        return self._source.count([table.reports], self._weight)[0]

    def consistent(self, table: Table) -> Distribution:
        """Return the consistent distribution of a `table`, over its cells in their order.

        Tables of a part of a cluster are summed from the cluster, so that all of these agree.
        """
        source = _of_cluster(table)
        found = self._distribution(source)
        return replace(found, proportions=source.summed(found.proportions))

    def columns(
        self, table: Table, asked: Asked, functionals: Floats | None = None
    ) -> dict[str, Any]:
        """Return the columns of the estimates of a `table`, one value for each of its cells.

        Intervals are as `asked`. With `functionals`, of shape (functionals, cells), one for each
        of these sums of cells.
        """
        if not table.countable:
            return scored(table, self._source, self._weight, asked)
        counted = self.counted(table)
        if table.strata:
            refuse_impossible(table, counted)
        own = functionals
        if own is None and not table.whole:
            own = table.functionals
        parts = _limits(table.channel, counted, own, asked)
        if own is None:
            parts, found = [part[table.order] for part in parts], self.consistent(table)
        elif functionals is None:
            found = self.consistent(table)
        else:
            found = self._distribution(table)
            found = replace(found, proportions=functionals @ found.proportions)
        columns = columns_of([*parts, found.proportions], counted.records, asked)
        sums = table.functionals if own is None else own
        if table.returns_categories:
            columns["reported"] = sums @ counted.proportions
        if table.invariant:
            columns |= _own_proportions(table, table.channel, counted, sums, asked)
        return columns | {"consistent_by": found.method, "likelihood_gap": found.gap}

    def unbiased(self, table: Table, asked: Asked) -> tuple[Floats, Floats]:
        """Return the estimates of the cells of a `table`, and their standard errors, as `asked`.

        Through a singular invariant matrix these are the proportions of the randomized values.
        """
        if not table.countable:
            columns = scored(table, self._source, self._weight, asked)
            return columns["estimate"], columns["standard_error"]
        counted = self.counted(table)
        if table.strata:
            refuse_impossible(table, counted)
        functionals = None if table.whole else table.functionals
        estimate, errors, *_ = _limits(table.channel, counted, functionals, asked)
        if table.whole:
            estimate, errors = estimate[table.order], errors[table.order]
        if table.invariant and table.one_cluster and np.isnan(estimate).all():
            estimate = table.functionals @ counted.proportions
            own = _own_proportions(table, table.channel, counted, table.functionals, asked)
            errors = own["reported_standard_error"]
        return estimate, errors

    def columns_by_stratum(self, table: Table, asked: Asked) -> dict[str, dict[str, Any]]:
        """Return by the name of each stratum of the `table` with records its `columns`.

        Intervals are as `asked`.
        """
        found: dict[str, dict[str, Any]] = {}
        if not table.strata:
            return found
        counted = self.counted(table)
        for stratum in table.strata:
            own = counted.part(stratum.at)
            if stratum.name and own.records:
                found[stratum.name] = _columns_within(table, stratum, own, asked)
        return found

    def _distribution(self, table: Table) -> Distribution:
        key = table.reports.names
        if key not in self._known:
            self._known[key] = distribution(table, self.counted(table))
        return self._known[key]


def _of_cluster(table: Table) -> Table:
    """Return the table by the whole cluster, where its distribution takes seconds at most."""
    whole = table.whole_cluster
    if whole is not None and whole.countable and likelihood_is_fast(whole.channel):
        return whole
    return table


def distribution(table: Table, counted: Counted) -> Distribution:
    """Return the consistent distribution of the cells of a `table`, `counted`.

    Strata have likelihoods of their own, so that theirs are mixed by their proportions.
    """
    if not table.strata:
        return consistent(table.channel, counted.counts)
    refuse_impossible(table, counted)
    shares, found, ways, gap = counted.proportions, np.zeros(table.cells.size), [], 0.0
    for stratum in table.strata:
        own = counted.part(stratum.at)
        if own.records:
            within = consistent(stratum.channel, own.counts)
            found[stratum.at] = shares[stratum.at].sum() * within.proportions
            ways.append(within.method)
            gap += within.gap
    return Distribution(found, " or ".join(dict.fromkeys(ways)), gap)


def refuse_impossible(table: Table, counted: Counted) -> None:
    """Raise `DataError` if a `table` is `counted` where its plan has no channel, or no chance."""
    left = counted.tally.copy()
    for stratum in table.strata:
        left[stratum.at][stratum.possible] = 0
    if left.any():
        cell = table.cells.cell_labels()[int(left.argmax())]
        raise DataError(
            f"{int(left.sum()):,} records have {' x '.join(table.cells.names)} = {cell!r} or "
            "another value that the plan's matrices never return; plan and file are of different "
            "releases"
        )


def _columns_within(
    table: Table, stratum: Stratum, counted: Counted, asked: Asked
) -> dict[str, Any]:
    functionals = table.functionals[:, stratum.at]
    few = asked.target == "population" and counted.counts.sum() < MIN_RECORDS
    own = replace(asked, target="file") if few else asked
    parts = _limits(stratum.channel, counted, functionals, own)
    if few:  # one record says nothing of how records of the population differ
        parts = [parts[0], *[np.full(len(functionals), np.nan)] * 3]
    found = consistent(stratum.channel, counted.counts)
    likely = functionals @ found.proportions
    columns = columns_of([*parts, likely], counted.records, asked)
    columns["reported"] = functionals @ counted.proportions
    if table.invariant:
        columns |= _own_proportions(table, stratum.channel, counted, functionals, asked)
    return columns | {"consistent_by": found.method, "likelihood_gap": found.gap}


def _limits(
    channel: Channel, counted: Counted, functionals: Floats | None, asked: Asked
) -> list[Floats]:
    """Return estimates, standard errors and limits; NaN through a singular matrix."""
    unknown = np.full(channel.size if functionals is None else len(functionals), np.nan)
    if channel.singular:
        return [unknown] * 4
    found = intervals_of(channel, counted, functionals, asked)
    return [found.estimate, found.standard_error, found.low, found.high]


def _own_proportions(
    table: Table, channel: Channel, counted: Counted, functionals: Floats, asked: Asked
) -> dict[str, Floats]:
    """Return standard errors and limits of proportions of randomized values, unbiased here.

    By the normal distribution ([pram], (2.4) and (2.5)). Empty for pairs of clusters and for
    weighted records: the matrices are not invariant for those proportions.
    """
    values = functionals @ counted.proportions
    errors = np.full(len(values), np.nan)
    if counted.weighted is None and table.one_cluster:
        errors = own_proportions(channel, counted.tally, functionals).standard_errors(asked.target)
    reach = student(np.array(np.inf), asked.confidence) * errors
    return {
        "reported_standard_error": errors,
        "reported_ci_low": values - reach,
        "reported_ci_high": values + reach,
    }


def shrunk(table: Table, known: Estimator, inverse: Inverse, stratum: str = "") -> Floats:
    """Return the distribution of a `table` of two columns that is pulled towards independence.

    The unbiased estimate moves towards the product of its marginal distributions, by the estimated
    proportion of noise in the distance between both; then it is projected onto the distributions.
    Strata are shrunk one by one and mixed by their proportions.

    Parameters
    ----------
    table : Table
    known : Estimator
        Of the randomized values. Weighted records count as in `Counted.counts`.
    inverse : "least" or "own"
    stratum : str
        The name of one stratum; by default all records.

    Returns
    -------
    array, shape (cells of the table,)
        NaN where a matrix is singular.
    """
    counted, blocks = known.counted(table), table.blocks or tuple(s.cells for s in table.sides)
    parts = [(table.channel, counted, table.functionals)]
    if table.strata:
        parts = [
            (each.channel, counted.part(each.at), table.functionals[:, each.at])
            for each in table.strata
            if stratum in ("", each.name)
        ]
    mixed, total = np.zeros(table.domain.size), sum(own.counts.sum() for _, own, _ in parts)
    for channel, own, functionals in parts:
        if channel.singular:
            return np.full(table.domain.size, np.nan)
        if own.records:
            fitted = channel.fitted_to(own.counts, inverse)
            if len(blocks) == 2:
                joint, noise = _of_two_blocks(table.domain, blocks, fitted, own)
            else:
                joint, noise = _of_one_block(table.domain, functionals, fitted, own)
            pulled = shrunk_joint(joint, noise).estimate
            share = own.counts.sum() / total
            mixed += share * euclidean_projection(pulled.reshape(-1))
    return mixed


def _of_one_block(
    domain: Domain, functionals: Floats, channel: Channel, counted: Counted
) -> tuple[Floats, float]:
    """Return the unbiased joint proportions, and the variance of what they lack of independence.

    Let t and u be the marginal distributions. To leading order, joint minus product is the mean
    over records of h = s - t v' - w u' + t u': here s, w and v are the scores of a record for the
    pair and for either attribute, with the indicators of the original values as expectations.
    """
    shares, records = counted.proportions, float(counted.counts.sum())
    s = channel.solve(functionals).reshape(*domain.shape, -1)
    joint, w, v = s @ shares, s.sum(axis=1), s.sum(axis=0)
    t, u = joint.sum(axis=1), joint.sum(axis=0)
    h = s - t[:, None, None] * v - u[:, None] * w[:, None] + np.outer(t, u)[..., None]
    spread = float((h**2).sum(axis=(0, 1)) @ shares)
    return joint, _noise(spread, joint, records)


def _of_two_blocks(
    domain: Domain, blocks: tuple[Domain, ...], channel: Channel, counted: Counted
) -> tuple[Floats, float]:
    """Return what `_of_one_block` does for blocks that were randomized independently.

    Then h is the product of (score of the first attribute - t) and (score of the second - u).
    """
    factors = cast(ProductChannel, channel).factors
    shares = counted.proportions.reshape([factor.reports for factor in factors])
    scores = []
    for attribute in domain:
        at = next(number for number, block in enumerate(blocks) if attribute.name in block.names)
        cells = cells_of(blocks[at], blocks[at].project([attribute.name]))
        scores.append(factors[at].solve(np.eye(attribute.size)[:, cells]))
        if at == 1 and len(scores) == 1:
            shares = shares.T
    joint = scores[0] @ shares @ scores[1].T
    margins = joint.sum(axis=1), joint.sum(axis=0)
    one, other = (
        ((own - margin[:, None]) ** 2).sum(axis=0)
        for own, margin in zip(scores, margins, strict=True)
    )
    return joint, _noise(float(one @ shares @ other), joint, float(counted.counts.sum()))


def _noise(spread: float, joint: Floats, records: float) -> float:
    """Return the estimated variance that randomization alone adds, at least 0."""
    margins = joint.sum(axis=1), joint.sum(axis=0)
    one, other = (1 - 2 * margin + np.sum(margin**2) for margin in margins)
    return max(spread - float(one @ joint @ other), 0.0) / records
