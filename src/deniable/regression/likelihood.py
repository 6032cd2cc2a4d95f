"""Regression by the likelihood through the channels, with any distribution of the covariates."""

from collections.abc import Sequence
from functools import reduce
from typing import Any

import numpy as np
import scipy

from deniable.arrays import Floats
from deniable.errors import DeniableError
from deniable.regression.formulas import Design, refusal
from deniable.regression.groups import Fit, Group, fit_of
from deniable.responses import MAX_ENTRIES, cells_of, margin_channel

MAX_CELLS = 4096
LEAST = 0.01  # information on log odds, for a standard error of 10
NEAR = 1e-8  # largest gain of the log-likelihood per record by the last step
TINY, EMPTY = 1e-100, 1e-12  # EMPTY: relative information about a cell without records
OPTIONS: Any = {"maxiter": 20_000, "maxfun": 40_000, "factr": 1.0, "pgtol": 1e-9, "m": 30}
SEARCHES = 5  # because a search can end early


def likelihood_fit(design: Design, groups: Sequence[Group], *, weighted: bool) -> Fit:
    """Return the logistic or multinomial regression of a `design` of largest likelihood.

    The data are the randomized values in `groups`. Covariates, and records with missing values,
    have any distribution over their joint cells. For one randomized outcome, the likelihood is the
    one of [rrreg]. Covariances follow from the observed information on all parameters (Louis,
    1982), and with `weighted` records by the sandwich formula. Raises `DeniableError` for a linear
    model, over 4,096 cells, or a part of a cluster without a channel of its own, and
    `NoAnswerError` if no reliable solution is found.
    """
    if design.model == "linear":
        raise DeniableError("a linear model states no likelihood; use the method scores")
    values, cells = sum(group.sums.shape[1] for group in groups), design.domain.size
    if cells > MAX_CELLS or cells * values > MAX_ENTRIES:
        raise DeniableError(
            f"the likelihood of {', '.join(design.domain.names)} needs {cells:,} cells by "
            f"{values:,} distinct randomized values; at most {MAX_CELLS:,} cells and "
            f"{MAX_ENTRIES:,} products are allowed. Use fewer columns, or the method scores"
        )
    beta, info, scores, expected = _Likelihood(design, groups).maximum()
    _, weights, squares = np.hstack([group.sums for group in groups])
    own, rest = slice(beta.size), slice(beta.size, None)
    nuisance = np.linalg.pinv(info[rest, rest], EMPTY, hermitian=True) @ info[rest, own]
    left = info[own, own] - info[own, rest] @ nuisance
    efficient, total = scores[:, own] - scores[:, rest] @ nuisance, left * weights.sum()
    if not scipy.linalg.eigvalsh(total, design.moments(expected))[0] > LEAST:
        raise refusal("there is hardly any information on some coefficients")
    return fit_of(beta, total, (efficient.T * squares) @ efficient if weighted else total, groups)


class _Likelihood:
    """Likelihood of a log-linear model of the joint cells, with the coefficients of the design.

    Other parameters are one for each cell of the covariates, and for each cell with a missing
    value. All are in units of `scale`. The terms of the coefficients, `parts`, are their scores at
    0, which differ by functions of the covariates, so that parameters correlate less.
    """

    def __init__(self, design: Design, groups: Sequence[Group]) -> None:
        covariates = np.repeat(np.arange(len(design.matrix)), len(design.outcomes))
        own = np.where(design.complete, covariates, len(covariates) + np.arange(len(covariates)))
        _, own = np.unique(own, return_inverse=True)
        self.shape = len(design.responses), len(design.terms)
        lengths = np.tile(np.sqrt((design.matrix**2).mean(axis=0)), self.shape[0])
        self.scale = np.r_[lengths, np.ones(own.max() + 1)]
        parts = [design.scores(np.zeros(self.shape)), np.eye(own.max() + 1)[own]]
        self.parts = np.hstack(parts) / self.scale
        self.given = np.vstack([_given(design, group) for group in groups])  # (values, cells)
        weights = np.hstack([group.sums[1] for group in groups])
        self.shares = weights / weights.sum()

    def fitted(self, at: Floats) -> tuple[Floats, Floats, Floats]:
        """Return the proportions of cells and of values, and the expected ones of cells."""
        cells = scipy.special.softmax(self.parts @ at)
        values = np.maximum(self.given @ cells, TINY)
        return cells, values, cells * ((self.shares / values) @ self.given)

    def loss(self, at: Floats) -> tuple[float, Floats]:
        """Return the negative log-likelihood per record, and its gradient."""
        cells, values, expected = self.fitted(at)
        return -float(self.shares @ np.log(values)), (cells - expected) @ self.parts

    def information(self, at: Floats) -> tuple[Floats, Floats, Floats]:
        """Return the information on all parameters, the scores of values, and expected cells."""
        cells, values, expected = self.fitted(at)
        mean = cells @ self.parts
        scores = (self.given * cells) @ self.parts / values[:, None] - mean
        rest = np.outer(self.shares @ scores, mean)  # 0 at the maximum
        info = (self.parts.T * (cells - expected)) @ self.parts + rest + rest.T
        return info + (scores.T * self.shares) @ scores, scores, expected

    def maximum(self) -> tuple[Floats, Floats, Floats, Floats]:
        """Return coefficients, and the results of `information`, not in units of the scale.

        A search is followed by a step of Newton's method, and repeated if that step is long.
        """
        at = np.zeros(self.scale.size)
        for _ in range(SEARCHES):
            at, *_ = scipy.optimize.fmin_l_bfgs_b(self.loss, at, **OPTIONS)
            info, scores, _ = self.information(at)
            gradient = self.shares @ scores
            step = np.linalg.lstsq(info, gradient)[0]
            if abs(gradient @ step) < NEAR:
                info, scores, expected = self.information(at + step)
                beta = ((at + step) / self.scale)[: self.shape[0] * self.shape[1]]
                info = info * np.outer(self.scale, self.scale)
                return beta.reshape(self.shape), info, scores * self.scale, expected
        raise refusal("the search for the largest likelihood does not converge")


def _given(design: Design, group: Group) -> Floats:
    """Return the probability of each randomized value in each joint cell, (values, cells)."""
    matrices = []
    for part, own in zip(group.parts, group.own, strict=True):
        channel, code = part.channel, part.codes
        if len(own) < len(part.cells):
            alone = margin_channel(channel, part.cells, own.names)
            if alone is None:
                raise DeniableError(
                    f"{', '.join(own.names)} have no channel of their own in the cluster "
                    f"{', '.join(part.cells.names)}; name all of these, or use the method scores"
                )
            channel, code = alone, cells_of(part.cells, own)[code]
        matrices.append(channel.matrix()[:, code])
    joint = reduce(scipy.linalg.khatri_rao, matrices)
    return np.asarray(joint[cells_of(design.domain, group.domain)].T)
