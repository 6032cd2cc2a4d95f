"""Regression by corrected scores, without a model of the covariates."""

from collections.abc import Iterator, Sequence

import numpy as np
import scipy

from deniable.arrays import Floats
from deniable.channels import Target
from deniable.errors import DeniableError
from deniable.regression.formulas import Design, refusal, refuse_collinear
from deniable.regression.groups import Fit, Group, fit_of
from deniable.responses import MAX_SCORED, cells_of

MAX_STEPS = 100
PRECISION = 1e-20  # of the last step of Newton's method, squared, in units of the information
SEPARATED = 1e-8  # smallest ratio of the information to the second moments of the terms
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
    if by_cells := design.domain.size <= MAX_SCORED:
        first, second = (sum(g.sum_of_scores(design.domain, k) for g in groups) for k in (1, 2))
        total = sum(group.sums[1].sum() for group in groups)
        beta, info = _solved(design, first / total)
        info = info * total
    elif design.model == "linear" and target == "population":
        by_group = [[each @ g.sums[1] for each in _products(design, g)] for g in groups]
        moments = np.sum(by_group, axis=0)
        info = moments[:, :-1]
        refuse_collinear(info)
        beta = np.linalg.solve(info, moments[:, -1])[None]
    else:
        raise DeniableError(
            f"the table of {', '.join(design.domain.names)} has {design.domain.size:,} cells; at "
            f"most {MAX_SCORED:,} are allowed, except for a linear model of the population. Use "
            "fewer covariates or coarser grids"
        )
    scale = np.sqrt(np.diag(info))
    along, directions = np.linalg.eigh(info / np.outer(scale, scale))
    size, directions = beta.size, directions / scale[:, None]
    squares = of_sampling = np.zeros((2 * size, 2 * size))
    if by_cells:
        functions = _functions(design, beta, directions)
        of_sampling = (functions.T * second) @ functions
    for group in groups:
        if by_cells:
            values = group.expected(design.domain, functions)
        else:
            values = _values_of_pairs(design, group, beta[0], directions)
        squares = squares + (values * group.sums[2]) @ values.T
    randomized = squares - of_sampling
    if (along < CERTAIN * np.sqrt(np.maximum(np.diag(randomized)[size:], 0.0))).any():
        raise refusal("the estimated information is within its own error")
    meat = randomized if target == "file" else squares
    return fit_of(beta, info, meat[:size, :size], groups)


def _solved(design: Design, cells: Floats) -> tuple[Floats, Floats]:
    """Return the coefficients that solve the score equations of a `design`, and the information.

    The `cells` are weights of the joint cells, also negative ones. Raises `NoAnswerError` if no
    solution with a positive definite information is found.
    """
    shape = len(design.responses), len(design.terms)
    beta, moments = np.zeros(shape), design.moments(cells)
    longest = np.inf if design.model == "linear" else 1.0  # change of log odds in a step
    precision = PRECISION * max(1.0, float((design.outcomes**2).max()))
    for _ in range(MAX_STEPS):
        info = design.information(design.means(beta)[1], cells)
        if not scipy.linalg.eigvalsh(info, moments)[0] > SEPARATED:
            raise refusal("covariates separate the categories of the outcome")
        score = cells @ design.scores(beta)
        step = np.linalg.solve(info, score)
        if score @ step <= precision:
            return beta, info
        change = np.abs(design.matrix @ step.reshape(shape).T).max()
        beta = beta + step.reshape(shape) / max(1.0, change / longest)
    raise refusal(f"Newton's method does not converge in {MAX_STEPS} steps")


def _functions(design: Design, beta: Floats, directions: Floats) -> Floats:
    """Return the scores in all joint cells, and the information along the `directions`."""
    terms = np.einsum("ca,jad->cjd", design.matrix, directions.reshape(*beta.shape, -1))
    along = np.einsum("cjd,cjk,ckd->cd", terms, design.means(beta)[1], terms)
    along = np.repeat(along, len(design.outcomes), axis=0) * design.complete[:, None]
    return np.hstack([design.scores(beta), along])


def _values_of_pairs(design: Design, group: Group, beta: Floats, directions: Floats) -> Floats:
    """Return the unbiased values of `_functions` of a linear model, shape (functions, values)."""
    size = beta.size
    found = np.zeros((2 * size, group.sums.shape[1]))
    for term, values in enumerate(_products(design, group)):
        found[term] = values[size] - beta @ values[:size]
        found[size:] += directions[term][:, None] * (directions.T @ values[:size])
    return found


def _products(design: Design, group: Group) -> Iterator[Floats]:
    """Yield the unbiased products of each term with all terms and the outcome, by value."""
    columns, functions = [*design.terms.values(), design.responses], list[Floats]()
    for part, own in zip(group.parts, group.own, strict=True):
        found = np.ones((len(columns), part.cells.size))
        for name in own.names:
            code = cells_of(part.cells, own.project([name]))
            found *= [(each.get(name, 1.0) * design.present[name])[code] for each in columns]
        functions.append(found)
    for term in range(len(design.terms)):
        values = np.ones((len(columns), group.sums.shape[1]))
        for part, own_functions in zip(group.parts, functions, strict=True):
            products = own_functions * own_functions[term]
            rows = np.flatnonzero((products != 1).any(axis=1))  # others are constant
            if rows.size:
                values[rows] *= part.channel.solve(products[rows])[:, part.codes]
        yield values
