"""Score equations of regressions, solved by Newton's method, and refusals."""

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np
import scipy

from deniable.arrays import Floats
from deniable.errors import NoAnswerError
from deniable.regression.formulas import Design
from deniable.regression.groups import Group

MAX_STEPS = 100
PRECISION = 1e-20  # of the last step of Newton's method, squared, in units of the information
COLLINEAR = 1e-10  # smallest eigenvalue of second moments, in units of their diagonal
SEPARATED = 1e-8  # smallest ratio of the information to these second moments


class Fit(NamedTuple):
    """Estimated `coefficients`, shape (equations, terms), and their `covariance`.

    They are from this number of `records`.
    """

    coefficients: Floats
    covariance: Floats
    records: int


def solved(design: Design, cells: Floats) -> tuple[Floats, Floats]:
    """Return the coefficients that solve the score equations of a `design`, and the information.

    The `cells` are weights of the joint cells, also negative ones. Raises `NoAnswerError` if no
    solution with a positive definite information is found.
    """
    shape = len(design.responses), len(design.terms)
    beta, moments = np.zeros(shape), moments_of(design, cells)
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


def moments_of(design: Design, cells: Floats) -> Floats:
    """Return the second moments of the terms of a `design`, for all coefficients.

    The `cells` are as in `information`, and errors are as in `refuse_collinear`.
    """
    moments = design.information(np.ones((len(design.matrix), 1, 1)), cells)
    refuse_collinear(moments)
    return np.asarray(np.kron(np.eye(len(design.responses)), moments))


def refuse_collinear(moments: Floats) -> None:
    """Raise `NoAnswerError` unless the second `moments` of all terms are positive definite."""
    scale = np.sqrt(np.maximum(np.diag(moments), 0.0))
    if not (scale.all() and np.linalg.eigvalsh(moments / np.outer(scale, scale))[0] > COLLINEAR):
        raise refusal("a combination of covariates has no estimated variance")


def refusal(problem: str) -> NoAnswerError:
    """Return the error that a regression has no answer, because of a `problem`."""
    return NoAnswerError(
        f"the regression has no answer: {problem}, in the original records or by chance of the "
        "randomization. Use fewer covariates or categories, more records, or a larger epsilon"
    )


def fit_of(beta: Floats, info: Floats, meat: Floats, groups: Sequence[Group]) -> Fit:
    """Return the coefficients `beta` with their sandwich covariance, from records of `groups`.

    The `info` is the information, and `meat` is the sum of squared scores. Raises `NoAnswerError`
    if there are too few records.
    """
    records = sum(int(group.sums[0].sum()) for group in groups)
    if records <= beta.size:
        raise refusal(f"{records} records are too few for {beta.size} coefficients")
    bread = np.linalg.inv(info)
    return Fit(beta, bread @ meat @ bread, records)
