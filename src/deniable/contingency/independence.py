"""Test independence, adjusted for the channel.

**The test.** If a population has the cell proportions pi, its randomized values have the
proportions P' pi. The null model (`deniable.contingency.two_step`) is fitted to the values by
maximum likelihood through the channel, and their counts are compared with the expected ones,

    X^2 = sum over v of (N_v - n lambda_v)^2 / (n lambda_v),   lambda = P' pi(fitted).

The values are multinomial ([pram], (1.1)) and the null is a smooth family of lambdas. So X^2 is
Rao's score statistic. Its limit is chi-squared, with the degrees of freedom of the test of
original values. Nothing is inverted, clipped or projected. If the table is projected first ([rrba],
7.3), the statistic has another distribution, which must be simulated. [local_chi_squared] has
earlier chi-squared tests under local differential privacy.

**More randomized values than cells.** Then some deviations of the counts cannot come from any
original table. The sum above would also test the channel, with more degrees of freedom and less
power. Rao's statistic depends on original tables alone. Let s = P (N - n lambda) / lambda be the
score of the cells and J = P diag(lambda)^-1 P' their information in one record. Then

    X^2 = s' J^-1 s / n,

is the part of the deviation that some table explains. (The score is orthogonal to the fitted table,
and J maps this table to the vector of ones. So no constraint of the cells to the sum 1 is needed.)
For as many randomized values as cells it equals the sum above. Its degrees of freedom are the same.

**The rule of validity** (`VALIDITY_RULE`). The limit needs large expected counts, much information
on the marginals that the null leaves free, and marginals far from zero. Expected counts are large
if no record has a large weight. A record with the value v moves the score by x = P[:, v] /
lambda_v, and has the weight x' J^-1 x. For as many values as cells this is 1 / lambda_v, and n over
the largest weight is the least expected count. With more values, many are similar, and n over the
largest weight is the count that the value represents. If the rule fails, the result states it.
Tables drawn from the fitted null and fitted again then give a Monte Carlo p-value.

**Several keep-or-replace channels** with the same retention probability occur in [rrba], one per
block. Pass the sum of their counts and the channel with the average replacement, weighted by
counts. The expectation is then exact, also if later channels depended on earlier values. The
variance of the replacements between blocks is added, so the test is conservative.

**Weights** that depend on the answers distort a table. Every test that counts each record once then
rejects a true null of the population. Here the model is fitted to the weighted counts (a
pseudo-likelihood, through the channel), and the omitted parameters are compared with zero. With u_v
the efficient score of a randomized value v for these parameters, at the fit,

    s = sum of w u,   V = sum of w^2 u u',   X^2 = s' V^-1 s

over the records (the generalized score test; Boos, 1992, The American Statistician 46, 327-333). V
is the variance for records drawn one by one with replacement, under any relation of weights and
answers. It includes the randomization. Because V is estimated, X^2 (m - q) / (m q) is compared with
the F distribution with q and m - q degrees of freedom, like Hotelling's statistic. q is the number
of omitted parameters and m the effective number of records (Kish, 1965).

The weighted test rejects .042 to .059 of true nulls at .05 and .002 to .012 at .01; tests without
weights reject .19 to .57 at .05. These are eight cases of 1,000 to 3,000 samples under the rule of
validity: 150 to 1,500 records, tables of 2 by 2 to 3 by 4, weights related to both attributes.
"""

from collections.abc import Iterator
from dataclasses import dataclass, replace

import numpy as np
import numpy.typing as npt
import scipy

from deniable.arrays import ROUNDING, Counts, Flags, Floats, Positions, at_least, quotients
from deniable.channels import Channel
from deniable.contingency import likelihood
from deniable.contingency.two_step import Independence, effect_columns, subsets
from deniable.errors import DeniableError, named_types
from deniable.estimation import WeightedCounts

LEAST_EXPECTED = 5.0
LEAST_RECORDS = 30.0
LEAST_DISTANCE = 3.0
VALIDITY_RULE = (
    f"each expected count of randomized values is at least {LEAST_EXPECTED:g} (with more values "
    "than cells, records over the largest weight of a value); values are as informative on even "
    f"marginals as at least {LEAST_RECORDS:g} original answers; and each proportion in a marginal "
    f"that the null leaves free is fitted at least {LEAST_DISTANCE:g} standard errors above zero"
)
MONTE_CARLO_TABLES = 999
TABLES_AT_ONCE = 20_000


@dataclass(frozen=True, eq=False)
class ChannelTest:
    """Results of a test for a batch of tables; arrays of its shape.

    Attributes
    ----------
    statistic, p_value
        Rao's score statistic, X^2. The p-value is NaN if the rule of validity fails and no Monte
        Carlo tables were drawn.
    degrees_of_freedom : int
        Degrees of freedom of the limiting chi-squared distribution.
    valid : array of bool
        Whether `VALIDITY_RULE` holds and the p-value is from the chi-squared distribution.
    expected_counts, effective_records, distance_from_zero
        The quantities of the rule.
    monte_carlo_tables : array of int64
        Number of tables behind each p-value; 0 if it is from the chi-squared distribution.
    """

    statistic: Floats
    p_value: Floats
    degrees_of_freedom: int
    valid: Flags
    expected_counts: Floats
    effective_records: Floats
    distance_from_zero: Floats
    monte_carlo_tables: Counts


@named_types
def channel_test(
    reports: npt.ArrayLike,
    channel: Channel,
    model: Independence,
    *,
    generator: np.random.Generator | None = None,
    tables: int = MONTE_CARLO_TABLES,
    enough: int | None = None,
) -> ChannelTest:
    """Test independence from randomized values, adjusted for their channel.

    A `DeniableError` is raised if the model leaves nothing to test, the channel is singular or does
    not fit the model, or the counts are invalid.

    Parameters
    ----------
    reports : non-negative counts, shape (..., reports)
        Counts of randomized values, not estimates. For a product channel they are the cells of
        `Channel.report_shape`.
    channel : Channel over the joint cells, not singular
    model : Independence
        The null.
    generator : numpy.random.Generator, optional
        Draws Monte Carlo tables if the rule of validity fails. Without it p-values are NaN.
    tables : int, >= 1
        Monte Carlo tables for each p-value.
    enough : int, >= 1, optional
        Tables for a p-value end once this many statistics reach the observed one.

    Examples
    --------
    >>> from deniable.channels import KeepOrReplace
    >>> channel = KeepOrReplace.uniform(4, keep=0.5)
    >>> model = Independence((2, 2))
    >>> found = channel_test([360, 240, 200, 200], channel, model)
    >>> round(float(found.p_value), 4), bool(found.valid)
    (0.0228, True)
    """
    if model.degrees_of_freedom < 1:
        raise DeniableError("the model fits every table; give two attributes with two categories")
    if tables < 1:
        raise DeniableError(f"{tables} Monte Carlo tables give no p-value; draw at least 1")
    if enough is not None and enough < 1:
        raise DeniableError(f"enough is {enough}; it must be at least 1")
    counts = np.asarray(reports, dtype=float)
    fit = likelihood.fit_through_channel(counts, channel, model)
    statistic = score_statistic(counts, fit, channel)
    records = counts.sum(axis=-1)
    expected = _least_expected(records, fit, channel)
    # With even marginals this depends on the channel alone, so the rule does not select tables.
    of_one = likelihood.fit_at(np.full(model.cells, 1 / model.cells), np.ones(()), channel, model)
    effective = np.asarray(records * of_one.effective_records(model))
    distance = fit.distance_from_zero(model)
    valid = fit.converged & at_least(expected, LEAST_EXPECTED)
    valid &= at_least(effective, LEAST_RECORDS) & at_least(distance, LEAST_DISTANCE)
    p_value = np.array(scipy.special.chdtrc(model.degrees_of_freedom, statistic))
    p_value[~valid] = np.nan
    drawn = np.zeros(valid.shape, dtype=np.int64)
    if generator is not None and not np.all(valid):
        sparse = statistic[~valid], records[~valid], fit.reported[~valid]
        p_value[~valid], drawn[~valid] = _monte_carlo_p_values(
            *sparse, channel, model, tables, enough, generator
        )
    return ChannelTest(
        statistic, p_value, model.degrees_of_freedom, valid, expected, effective, distance, drawn
    )


def weighted_channel_test(
    counts: WeightedCounts, channel: Channel, model: Independence
) -> ChannelTest:
    """Test independence from randomized records with weights, adjusted for their channel.

    `channel_test` of `WeightedCounts.effective` checks the rule of validity, and its errors apply.
    If the rule fails, statistic and p-value are NaN. No Monte Carlo tables are drawn. The `counts`
    are of one sample from one stratum, with positive weights. `channel` and `model` are as in
    `channel_test`.

    Examples
    --------
    >>> from deniable.channels import KeepOrReplace
    >>> codes, weights = np.repeat(np.arange(4), 50), np.repeat([3.0, 1.0, 1.0, 3.0], 50)
    >>> counts = WeightedCounts.of_records(codes, weights, 4)
    >>> channel = KeepOrReplace.uniform(4, 0.5)
    >>> found = weighted_channel_test(counts, channel, Independence((2, 2)))
    >>> float(found.statistic.round(2)), float(found.p_value) < 1e-6
    (40.0, True)
    """
    effective = counts.effective
    known = channel_test(effective, channel, model)
    if not known.valid:
        nothing = np.array(np.nan)
        return replace(known, statistic=nothing, p_value=nothing)
    fit = likelihood.fit_through_channel(effective, channel, model)
    spread = [size**-0.5 for size in model.shape]
    design = effect_columns(model.shape, subsets(range(len(model.shape))), spread)
    slopes = channel.reported(likelihood.slopes_at(fit.proportions[None], design)[0]).T
    roots = np.sqrt(fit.reported)[:, None]
    apart = np.divide(slopes, roots, out=np.zeros_like(slopes), where=roots > 0)
    # The columns of the model are the first ones of the design with all interactions.
    own = np.arange(design.shape[1]) < model.design.shape[1]
    basis = np.linalg.qr(apart[:, own])[0]
    beyond = apart[:, ~own] - basis @ (basis.T @ apart[:, ~own])
    scores = np.divide(beyond, roots, out=np.zeros_like(beyond), where=roots > 0)
    score = counts.weights[0] @ scores
    variance = (scores.T * counts.squares[0]) @ scores
    statistic = score @ np.linalg.solve(variance, score)
    q, m = model.degrees_of_freedom, effective.sum()
    p_value = scipy.special.fdtrc(q, m - q, statistic * (m - q) / (m * q))
    return replace(known, statistic=np.array(statistic), p_value=np.array(p_value))


def score_statistic(reports: npt.ArrayLike, fit: likelihood.ModelFit, channel: Channel) -> Floats:
    """Return X^2 of `reports` under a `fit` through the `channel`, shape (...)."""
    counts = np.asarray(reports, dtype=float)
    expected = counts.sum(axis=-1, keepdims=True) * fit.reported
    if channel.square:
        return chi_squared(counts, expected)
    flat = quotients(counts - expected, np.sqrt(expected)).reshape(-1, 1, channel.reports)
    found = np.empty(len(flat))
    for those, basis in _told(fit, channel):
        found[those] = np.sum((flat[those] @ basis) ** 2, axis=(1, 2))
    return found.reshape(counts.shape[:-1])


def _least_expected(records: Floats, fit: likelihood.ModelFit, channel: Channel) -> Floats:
    """Return `records` over the largest weight of a value, shape (...); see the module."""
    if channel.square:
        return np.asarray((records[..., None] * fit.reported).min(axis=-1))
    reported = fit.reported.reshape(-1, channel.reports)
    found = np.empty(len(reported))
    for those, basis in _told(fit, channel):
        weight = np.sum(basis**2, axis=2)  # times the proportion of the value
        found[those] = quotients(reported[those], weight, np.inf).min(axis=1)
    return np.asarray(records * found.reshape(records.shape))


def _told(fit: likelihood.ModelFit, channel: Channel) -> Iterator[tuple[slice, Floats]]:
    """Yield slices of tables, and orthonormal columns that span L^-1/2 P', L = diag(lambda).

    A change of the original table moves counts, in standard errors, within this span.
    """
    across = channel.matrix().T
    reported = fit.reported.reshape(-1, channel.reports)
    scale = quotients(1.0, np.sqrt(reported))
    for those in likelihood.portions(len(reported), across.size):
        yield those, np.linalg.qr(scale[those, :, None] * across)[0]


def chi_squared(counts: Floats, expected: Floats) -> Floats:
    """Return the sum over cells of (`counts` - `expected`)^2 / `expected`, shape (...)."""
    # A value that did not occur and has the fitted probability 0 adds nothing.
    return np.asarray(quotients((counts - expected) ** 2, expected).sum(axis=-1))


def _monte_carlo_p_values(
    statistic: Floats,
    records: Floats,
    reported: Floats,
    channel: Channel,
    model: Independence,
    tables: int,
    enough: int | None,
    generator: np.random.Generator,
) -> tuple[Floats, Counts]:
    """Return Monte Carlo p-values, and the number of tables behind each.

    Tables are drawn from the proportions `reported` under the null, and fitted again. The p-value
    is the proportion of statistics at least as large as the observed one, with that one included:
    (1 + number as large) / (1 + tables). With `enough`, h, it is h / l if the l-th table is the
    h-th one that reaches the observed statistic. Later tables are ignored (Besag and Clifford,
    1991, Biometrika 78, 301-304). Under the null, Pr(p-value <= x) is at most x.
    """
    drawn = np.full(statistic.size, tables)
    as_large = np.zeros(statistic.size, dtype=np.int64)
    limit = tables + 1 if enough is None else enough
    at_once = TABLES_AT_ONCE * channel.size // channel.reports
    for chosen, those in rounds(np.arange(statistic.size), tables, limit, as_large, at_once):
        number = those.stop - those.start
        sampled = draw_tables(reported[chosen], records[chosen], number, generator)
        again = score_statistic(
            sampled, likelihood.fit_through_channel(sampled, channel, model), channel
        )
        # Equal tables may differ in the last digits of their statistics.
        larger = at_least(again + ROUNDING, statistic[chosen][:, None])
        numbers = as_large[chosen][:, None] + np.cumsum(larger, axis=1)
        as_large[chosen] = numbers[:, -1]
        last = those.start + 1 + np.argmax(numbers >= limit, axis=1)
        drawn[chosen] = np.where(numbers[:, -1] >= limit, last, tables)
    return np.where(as_large >= limit, limit / drawn, (1 + as_large) / (1 + tables)), drawn


def draw_tables(
    proportions: Floats, records: Floats, tables: int, generator: np.random.Generator
) -> Counts:
    """Draw `tables` for each number of `records`, shape (number, tables, cells or values).

    The `proportions` have the shape (number, cells or values); `generator` draws.
    """
    numbers = np.asarray(records).astype(np.int64)[:, None]
    return generator.multinomial(numbers, proportions[:, None, :], (len(numbers), tables))


def rounds(
    tests: Positions, tables: int, limit: int, as_large: Counts, most: int = TABLES_AT_ONCE
) -> Iterator[tuple[Positions, slice]]:
    """Yield `tests` and slices of `tables` to draw for them, until each test has enough.

    A test has enough once all its tables are drawn, or `limit` of them have a statistic at least as
    large as its own. The caller counts these in `as_large`, by test. The first round draws twice
    the limit, each later one as many as before, at most `most` at once.
    """
    done, step = 0, min(2 * limit, tables)
    while step and tests.size:
        at_once = max(most // step, 1)
        for start in range(0, tests.size, at_once):
            yield tests[start : start + at_once], slice(done, done + step)
        done += step
        tests = tests[as_large[tests] < limit]
        step = min(done, tables - done)
