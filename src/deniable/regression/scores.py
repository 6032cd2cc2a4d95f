"""Regression by corrected scores, without a model of the covariates."""

from collections.abc import Iterator, Sequence

import numpy as np

from deniable.arrays import Floats
from deniable.channels import Target
from deniable.errors import DeniableError
from deniable.regression.formulas import Design
from deniable.regression.groups import Group, Scores
from deniable.regression.models import (
    Fit,
    equations,
    fit_of,
    means,
    refusal,
    refuse_collinear,
    solved,
)
from deniable.responses import MAX_SCORED

CERTAIN = 3.0  # standard errors by which the information in each direction must be above 0


def scores_fit(design: Design, groups: Sequence[Group], target: Target) -> Fit:
    """Return the regression of a `design` by corrected scores, from the records of `groups`.

    The score of a record is replaced by its unbiased estimate from the randomized values
    ([corrected_scores]; [rr_regression] for linear models): the sum over the original cells of
    their unbiased scores times the score of the cell. Covariances are by the sandwich formula; for
    the `target` "file" without the part of sampling. Raises `DeniableError` if the table has over
    65,536 cells, except for a linear model of the population, and `NoAnswerError` if no
    reliable solution is found.
    """
    if design.domain.size > MAX_SCORED:
        if design.model == "linear" and target == "population":
            return _by_pairs(design, groups)
        raise DeniableError(
            f"the table of {', '.join(design.domain.names)} has {design.domain.size:,} cells; at "
            f"most {MAX_SCORED:,} are allowed, except for a linear model of the population. Use "
            "fewer covariates or coarser grids"
        )
    scores = Scores(groups, design.domain)
    first, second = scores.sums(1), scores.sums(2)
    total = sum(float(group.sums[1].sum()) for group in groups)
    beta, info = solved(design, first / total)
    vectors = _directions(info).reshape(*beta.shape, -1)
    along = np.einsum("ca,jad->cjd", design.matrix, vectors)
    along = np.einsum("cjd,cjk,ckd->cd", along, means(design, beta)[1], along)
    along = np.repeat(along, len(design.outcomes), axis=0) * design.complete[:, None]
    functions, size = np.hstack([equations(design, beta), along]), beta.size
    squares = np.zeros((2 * size, 2 * size))
    for group, values in scores.expected(functions):
        squares += (values * group.sums[2]) @ values.T
    randomized = squares - (functions.T * second) @ functions
    _refuse_uncertain(along.T @ first, np.diag(randomized)[size:])
    meat = randomized if target == "file" else squares
    return fit_of(beta, info * total, meat[:size, :size], groups)


def _directions(info: Floats) -> Floats:
    """Return the main directions of the information on the coefficients, as columns."""
    scale = np.sqrt(np.diag(info))
    return np.asarray(np.linalg.eigh(info / np.outer(scale, scale))[1] / scale[:, None])


def _refuse_uncertain(along: Floats, variances: Floats) -> None:
    """Raise `NoAnswerError` if the information `along` a direction may be 0 by its variance."""
    if (along < CERTAIN * np.sqrt(np.maximum(variances, 0.0))).any():
        raise refusal("the estimated information is within its own error")


def _by_pairs(design: Design, groups: Sequence[Group]) -> Fit:
    """Return the fit of a linear model by unbiased products of pairs of terms."""
    terms = len(design.terms)
    moments = np.zeros((terms, terms + 1))
    for group in groups:
        moments += [each @ group.sums[1] for each in _products(design, group)]
    info = moments[:, :terms]
    refuse_collinear(info)
    beta, directions = np.linalg.solve(info, moments[:, terms]), _directions(info)
    meat, squares = np.zeros((terms, terms)), np.zeros(terms)
    for group in groups:
        scores, along = np.empty((terms, group.sums.shape[1])), 0.0
        for term, values in enumerate(_products(design, group)):
            scores[term] = values[terms] - beta @ values[:terms]
            along = along + directions[term][:, None] * (directions.T @ values[:terms])
        meat += (scores * group.sums[2]) @ scores.T
        squares += along**2 @ group.sums[2]
    _refuse_uncertain(np.diag(directions.T @ info @ directions), squares)
    return fit_of(np.asarray(beta[None]), info, meat, groups)


def _products(design: Design, group: Group) -> Iterator[Floats]:
    """Yield the unbiased products of each term with all terms and the outcome, by value."""
    columns, functions = [*design.terms.values(), design.responses], list[Floats]()
    for part, own in zip(group.parts, group.own, strict=True):
        codes = part.cells.unravel(np.arange(part.cells.size))
        code_of = dict(zip(part.cells.names, codes, strict=True))
        found = np.ones((len(columns), part.cells.size))
        for name in own.names:
            found *= design.present[name][code_of[name]]
            for row, column in enumerate(columns):
                found[row] *= column[name][code_of[name]] if name in column else 1.0
        functions.append(found)
    for term in range(len(design.terms)):
        values = np.ones((len(columns), group.sums.shape[1]))
        for part, own_functions in zip(group.parts, functions, strict=True):
            products = own_functions * own_functions[term]
            rows = np.flatnonzero((products != 1).any(axis=1))  # others are constant
            if rows.size:
                values[rows] *= part.channel.solve(products[rows])[:, part.codes]
        yield values
