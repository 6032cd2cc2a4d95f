"""Tests of independence, and of other log-linear models, for randomized records with weights.

Weights that go with the answers bend a table, and with it every test that counts records as one
each: a true null of the population is then rejected. Here the model is fitted by the weights (a
pseudo-likelihood, through the channel), and what it leaves out is held against zero. With u_v the
efficient score of a report v for the parameters beyond the model's, at the fit,

    s = sum of w u,   V = sum of w^2 u u',   X^2 = s' V^-1 s

over the records (the generalized score test; Boos, 1992, The American Statistician 46, 327-333).
V is that of records drawn one by one with replacement, whatever weights and answers have to do with
each other; randomization is in it. For its being estimated, X^2 (m - q) / (m q) is referred to the
F distribution with q and m - q degrees of freedom, as Hotelling's, q being the parameters beyond
the model's and m the records that would do with equal weights (Kish, 1965).

Of true nulls of the population it rejects .042 to .059 at .05 and .002 to .012 at .01, without
weights .19 to .57 are rejected at .05: eight cases of 1,000 to 3,000 samples in which the rule of
validity held, of 150 to 1,500 records, tables of 2 by 2 to 3 by 4, weights that go with both
attributes and have a coefficient of variation of .3 to 1.3 within a cell.
"""

from dataclasses import replace

import numpy as np
import scipy

from deniable.channels import Channel
from deniable.contingency.independence import ChannelTest, channel_test
from deniable.contingency.likelihood import fit_through_channel, slopes_at
from deniable.contingency.log_linear import LogLinearModel
from deniable.estimation import WeightedCounts


def weighted_channel_test(
    counts: WeightedCounts, channel: Channel, model: LogLinearModel
) -> ChannelTest:
    """Test a log-linear model from randomized records with weights, knowing their channel.

    Parameters
    ----------
    counts : WeightedCounts
        One sample, of one stratum, of positive weights.
    channel : Channel over the joint cells, not singular
    model : LogLinearModel
        The null, as `LogLinearModel.independence(shape)`.

    Returns
    -------
    ChannelTest
        Its rule of validity is that of `channel_test` for `WeightedCounts.effective`; where it
        fails, statistic and p-value are NaN, and no Monte Carlo tables stand in.

    Raises
    ------
    DeniableError
        As `channel_test`.

    Examples
    --------
    >>> from deniable.channels import KeepOrReplace
    >>> codes, weights = np.repeat(np.arange(4), 50), np.repeat([3.0, 1.0, 1.0, 3.0], 50)
    >>> counts = WeightedCounts.of_records(codes, weights, 4)
    >>> found = weighted_channel_test(
    ...     counts, KeepOrReplace.uniform(4, 0.5), LogLinearModel.independence((2, 2))
    ... )
    >>> float(found.statistic.round(2)), float(found.p_value) < 1e-6
    (40.0, True)
    """
    effective = counts.effective
    known = channel_test(effective, channel, model)
    if not known.valid:
        nothing = np.array(np.nan)
        return replace(known, statistic=nothing, p_value=nothing)
    fit = fit_through_channel(effective, channel, model)
    design = LogLinearModel(model.shape, (tuple(range(len(model.shape))),)).design
    slopes = channel.reported(slopes_at(fit.proportions[None], design)[0]).T
    roots = np.sqrt(fit.reported)[:, None]
    apart = np.divide(slopes, roots, out=np.zeros_like(slopes), where=roots > 0)
    # Both designs have orthonormal columns, the model's among those of all tables.
    own = np.abs(model.design.T @ design).max(axis=0, initial=0.0) > 0.5
    basis = np.linalg.qr(apart[:, own])[0]
    beyond = apart[:, ~own] - basis @ (basis.T @ apart[:, ~own])
    scores = np.divide(beyond, roots, out=np.zeros_like(beyond), where=roots > 0)
    score = counts.weights[0] @ scores
    variance = (scores.T * counts.squares[0]) @ scores
    statistic = score @ np.linalg.solve(variance, score)
    q, m = model.degrees_of_freedom, effective.sum()
    p_value = scipy.special.fdtrc(q, m - q, statistic * (m - q) / (m * q))
    return replace(known, statistic=np.array(statistic), p_value=np.array(p_value))
