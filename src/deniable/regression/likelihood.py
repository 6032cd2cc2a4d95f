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
TINY = 1e-100
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
    found = _Likelihood(design, groups)
    beta, info, scores, expected = found.maximum()
    _, weights, squares = np.hstack([group.sums for group in groups])
    own, rest = slice(beta.size), slice(beta.size, None)
    nuisance = np.linalg.pinv(info[rest, rest], hermitian=True) @ info[rest, own]
    left = info[own, own] - info[own, rest] @ nuisance
    efficient, total = scores[:, own] - scores[:, rest] @ nuisance, left * weights.sum()
    if not scipy.linalg.eigvalsh(total, design.moments(expected))[0] > LEAST:
        raise refusal("there is hardly any information on some coefficients")
    return fit_of(beta, total, (efficient.T * squares) @ efficient if weighted else total, groups)


class _Likelihood:
    """Likelihood of coefficients, and of a mass for each cell of covariates or missing values.

    Parameters are the coefficients, and the logarithms of masses but for a constant.
    """

    def __init__(self, design: Design, groups: Sequence[Group]) -> None:
        self.design, self.shape = design, (len(design.responses), len(design.terms))
        self.given = np.vstack([_given(design, group) for group in groups])  # (values, cells)
        weights = np.hstack([group.sums[1] for group in groups])
        self.shares = weights / weights.sum()
        covariates = np.repeat(np.arange(len(design.matrix)), len(design.outcomes))
        own = np.where(design.complete, covariates, len(covariates) + np.arange(len(covariates)))
        _, self.mass_of = np.unique(own, return_inverse=True)  # of each cell

    def fitted(self, at: Floats) -> tuple[Floats, Floats, Floats, Floats, Floats]:
        """Return coefficients and masses, and proportions: of values, of cells, expected cells."""
        size = self.shape[0] * self.shape[1]
        beta, masses = at[:size].reshape(self.shape), scipy.special.softmax(at[size:])
        shares, _ = self.design.means(beta)
        given = np.zeros((len(shares), len(self.design.outcomes)))
        given[:, : shares.shape[1] + 1] = np.column_stack([1 - shares.sum(axis=1), shares])
        cells = np.where(self.design.complete, given.reshape(-1), 1.0) * masses[self.mass_of]
        values = np.maximum(self.given @ cells, TINY)
        return beta, masses, values, cells, cells * ((self.shares / values) @ self.given)

    def loss(self, at: Floats) -> tuple[float, Floats]:
        """Return the negative log-likelihood per record, and its gradient."""
        beta, masses, values, _, expected = self.fitted(at)
        own = expected @ self.design.scores(beta)
        of_masses = np.bincount(self.mass_of, expected) - masses
        return -float(self.shares @ np.log(values)), -np.r_[own, of_masses]

    def maximum(self) -> tuple[Floats, Floats, Floats, Floats]:
        """Return coefficients, information on all parameters, scores of values, expected cells.

        A search is followed by a step of Newton's method, and repeated if that step is long.
        """
        lengths = np.sqrt((self.design.matrix**2).mean(axis=0))
        scale = np.r_[np.tile(lengths, self.shape[0]), np.ones(self.mass_of.max() + 1)]

        def scaled(at: Floats) -> tuple[float, Floats]:
            value, gradient = self.loss(at / scale)
            return value, gradient / scale

        at = np.zeros(scale.size)
        for _ in range(SEARCHES):
            at, *_ = scipy.optimize.fmin_l_bfgs_b(scaled, at, **OPTIONS)
            beta, info, scores, expected = self.information(at / scale)
            gradient = self.shares @ scores
            step = np.linalg.lstsq(info, gradient)[0]
            if abs(gradient @ step) < NEAR:
                return beta + step[: beta.size].reshape(self.shape), info, scores, expected
        raise refusal("the search for the largest likelihood does not converge")

    def information(self, at: Floats) -> tuple[Floats, Floats, Floats, Floats]:
        """Return the results of `maximum` for other parameters."""
        beta, masses, values, cells, expected = self.fitted(at)
        parts = np.hstack([self.design.scores(beta), np.eye(masses.size)[self.mass_of]])
        scores = (self.given * cells) @ parts / values[:, None]
        own = self.design.information(self.design.means(beta)[1], expected)
        complete = scipy.linalg.block_diag(own, np.diag(masses))
        lost = (parts.T * expected) @ parts - (scores.T * self.shares) @ scores
        scores[:, beta.size :] -= masses
        return beta, complete - lost, scores, expected


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
