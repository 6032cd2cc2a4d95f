"""Estimates from a file that was randomized by stratum, through matrices of any origin.

Two estimators of a proportion, each with the variance that an analyst can estimate from the reports
and the published matrices:

- ``unbiased_part``: the inverse of the matrix applied to the shares of reports ([pram], (1.2));
- ``own_share_part``: the reports' own share, unbiased if the matrix is invariant (2.1).

Given the true counts T and the matrix P, be P chosen from T or not, either has the expectation T/n
and a variance V that depends on T and P; an estimate of V that is unbiased given both is at hand.
So for the proportions of the population that the records were drawn from (multinomial sampling),
with estimates p of the proportions,

    Var(p) = E V + (D_pi - pi pi') / n,    estimated by    (n V + p - p^2) / (n - 1),

which is unbiased: E[p^2 | T, P] = (T/n)^2 + V. For a fixed matrix and the first estimator this is
the plug-in of (1.3); it stays right when P was computed from T, where (1.3) read as a formula of pi
and P has no meaning. For the second it is the plug-in of (2.5), which (1.3) is not.
"""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from deniable.arrays import Counts, Flags, Floats
from deniable.channels import Channel, Target, roots_of_variances
from deniable.errors import ChannelError
from deniable.estimation.likelihood import Likelihood, maximum_likelihood

ROUNDING = 1e-12


@dataclass(frozen=True, eq=False)
class Reduced:
    """A channel without the categories that no record can report.

    An invariant matrix reports no category that no record has ([pram], (2.2): its column is zero),
    and is singular for that reason alone. Such a category's true frequency is zero; the others are
    estimated through the matrix without it: `channel` is over the categories that are `possible`,
    a flag for each of shape (categories,).

    An invariant matrix is square. Of others all categories are possible, and there may be other
    reports than categories; these are estimated by the channel's own left inverse, fixed
    beforehand, through which estimates and variances are unbiased.
    """

    channel: Channel
    possible: Flags

    @classmethod
    def of(cls, channel: Channel, *, invariant: bool) -> "Reduced":
        """Return the `channel` as it is, or what is left of it if it is `invariant`."""
        if invariant:
            return cls(*channel.without_unreported())
        return cls(channel, np.ones(channel.size, dtype=bool))

    def solve(self, weights: Floats) -> Floats:
        """Return g with E g(report) = weights(true category), shape (functionals, reports).

        The `weights` are of all categories, shape (functionals, categories).
        """
        if self.possible.all():
            return self.channel.solve(weights)
        solved = np.zeros(weights.shape)
        solved[..., self.possible] = self.channel.solve(weights[..., self.possible])
        return solved

    def likelihood(self, counts: Counts, tolerance: float) -> Likelihood:
        """Return the maximum-likelihood distribution over all categories.

        Of `counts` of reports, shape (..., reports), to within `tolerance` nats of the maximum.
        Through a singular matrix many are equally likely: NaN.
        """
        self.refuse_impossible(counts)
        shape = (*counts.shape[:-1], self.possible.size)
        if self.channel.singular:
            return Likelihood(np.full(shape, np.nan), 0, np.nan)
        if self.possible.all():
            return maximum_likelihood(counts, self.channel, tolerance=tolerance)
        found = maximum_likelihood(counts[..., self.possible], self.channel, tolerance=tolerance)
        proportions = np.zeros(shape)
        proportions[..., self.possible] = found.proportions
        return Likelihood(proportions, found.iterations, found.gap)

    def refuse_impossible(self, counts: Counts) -> None:
        """Raise `ChannelError` if `counts`, shape (..., reports), have some that nobody gives."""
        if not self.possible.all() and np.any(counts[..., ~self.possible]):
            raise ChannelError(
                "there are reports of a category that the matrix never reports; it is the matrix "
                "of another file, or the file of another matrix"
            )


@dataclass(frozen=True, eq=False)
class Part:
    """Estimates of proportions in a part of a file: a stratum, or strata together.

    Parameters
    ----------
    records : int
        In the part.
    values : array, shape (..., proportions)
        The estimates.
    variance : array, shape (..., proportions)
        Estimated without bias for these very records: chance of the randomization alone. It may be
        below zero.
    rounding : array, shape (..., proportions)
        How far it may be so by rounding alone.
    """

    records: int
    values: Floats
    variance: Floats
    rounding: Floats

    def standard_errors(self, target: Target) -> Floats:
        """Return the standard errors, NaN where the variance is estimated below zero.

        The `target` is "file" or "population"; for the population, one record gives NaN.
        """
        variance, rounding = self.variance, self.rounding
        if target == "population":
            if self.records < 2:
                return np.full(self.values.shape, np.nan)
            scale = self.records / (self.records - 1)
            variance = scale * variance + self.values * (1 - self.values) / (self.records - 1)
            rounding = scale * rounding
        return roots_of_variances(variance, rounding)


def combined(parts: Sequence[Part]) -> Part:
    """Return the estimates for all strata together: sums weighted by the strata's shares.

    Each of the `parts` has the estimates of one stratum, of one shape. Strata are randomized
    independently of each other, so variances add with squared weights.
    """
    records = sum(part.records for part in parts)
    shared = [(part.records / records, part) for part in parts]
    nothing = np.zeros(())
    return Part(
        records,
        sum((share * part.values for share, part in shared), nothing),
        sum((share**2 * part.variance for share, part in shared), nothing),
        sum((share**2 * part.rounding for share, part in shared), nothing),
    )


def unbiased_part(reduced: Reduced, counts: Counts, indicators: Floats) -> Part:
    """Estimate proportions by the inverse of the matrix ([pram], (1.2)).

    Through a singular matrix there is no such estimate: values and variances are then NaN.

    Parameters
    ----------
    reduced : Reduced
        The channel of the part.
    counts : shape (..., reports)
        Every table of a batch has the same sum.
    indicators : zeros and ones, shape (proportions, categories)
        Which categories each proportion is the sum of.
    """
    counts = np.asarray(counts)
    reduced.refuse_impossible(counts)
    records = _records(counts)
    frequencies = counts / records
    if reduced.channel.singular:
        nothing = np.full((*counts.shape[:-1], len(indicators)), np.nan)
        return Part(records, nothing, nothing, np.zeros(nothing.shape))
    solved = reduced.solve(indicators)
    values = frequencies @ solved.T
    moments = frequencies @ (solved**2).T
    # The second moment of 0 or 1 is the proportion itself.
    variance = (moments - values) / records
    return Part(records, values, variance, ROUNDING * np.abs(moments) / records)


def unbiased_pair_part(
    pair: tuple[Reduced, Reduced], counts: Counts, indicators: tuple[Floats, Floats]
) -> Part:
    """Estimate the joint proportions of two blocks that went through matrices of their own.

    As `unbiased_part` through the product of both matrices, which is never formed: given the true
    categories the two reports are independent, so the product of what each says of its own block
    is unbiased for the product of the indicators.

    Parameters
    ----------
    pair : two of Reduced
        The channel of either block.
    counts : shape (reports of the first block, reports of the second)
        Of pairs of reports.
    indicators : zeros and ones, shapes (proportions, categories) of either block
        Returned are the proportions of the pairs, the second block's running fastest.
    """
    for axis, reduced in enumerate(pair):
        reduced.refuse_impossible(counts.sum(axis=1 - axis))
    records = _records(counts.reshape(-1))
    if any(reduced.channel.singular for reduced in pair):
        nothing = np.full(len(indicators[0]) * len(indicators[1]), np.nan)
        return Part(records, nothing, nothing, np.zeros(nothing.shape))
    first, second = (each.solve(own) for each, own in zip(pair, indicators, strict=True))
    values = (first @ counts @ second.T).reshape(-1) / records
    moments = (first**2 @ counts @ (second**2).T).reshape(-1) / records
    return Part(records, values, (moments - values) / records, ROUNDING * moments / records)


def own_share_part(channel: Channel, counts: Counts, indicators: Floats) -> Part:
    """Estimate proportions by the reports' own shares, as `unbiased_part` by the inverse.

    For a `channel` that is invariant for the records' true frequencies; `counts` and `indicators`
    are those of `unbiased_part`. The variance is (2.4) of [pram] with the shares of reports in
    place of T/n, whose expectation given T they are: never below zero, and without the inverse of
    the matrix.

    Raises `ChannelError` if the channel has other reports than categories: these have no shares.
    """
    if not channel.square:
        raise ChannelError(
            f"a channel over {channel.size} categories with {channel.reports} reports: reports are "
            "no categories, so their shares estimate nothing; use the inverse (unbiased_part)"
        )
    counts = np.asarray(counts)
    records = _records(counts)
    frequencies = counts / records
    chances = channel.expected(indicators)
    variance = frequencies @ (chances * (1 - chances)).T / records
    values = frequencies @ indicators.T
    return Part(records, values, np.maximum(variance, 0.0), np.zeros(variance.shape))


def _records(counts: Counts) -> int:
    totals = np.unique(counts.sum(axis=-1))
    if totals.size != 1 or totals[0] < 1:
        raise ChannelError("tables of counts must have the same sum, of at least one record")
    return int(totals[0])
