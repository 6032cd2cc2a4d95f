"""Formulas of regressions, with terms and outcome as functions of original values."""

from collections.abc import Mapping
from dataclasses import dataclass
from functools import cached_property, reduce
from itertools import chain, product
from typing import Any, Literal, get_args

import numpy as np
import scipy

from deniable.arrays import Flags, Floats
from deniable.errors import DeniableError, NoAnswerError, refuse_unknown, shown
from deniable.records import Domain
from deniable.schema import Column

Model = Literal["linear", "logistic", "multinomial"]
COLLINEAR = 1e-10  # smallest eigenvalue of second moments, in units of their diagonal
Functions = dict[str, Floats]  # by name, a number for each category of a column


@dataclass(frozen=True, eq=False)
class Design:
    """The columns of a regression as functions of original values."""

    domain: Domain  # the covariates, then the outcome
    model: Model  # see `of`
    terms: dict[str, Functions]  # by coefficient: the product of functions of columns
    responses: Functions  # by equation: of the outcome
    present: dict[str, Flags]  # by column, False for the category of missing values
    references: tuple[str, ...]  # the categories that others are compared with

    @classmethod
    def of(cls, formula: str, columns: Mapping[str, Column], model: Model | None) -> "Design":
        """Return the design of a `formula` on `columns`, given by their names.

        A formula is ``income ~ age + sex + age:sex``. Points of a grid are numbers. Other
        covariates have a coefficient for each category after the first. The `model` "linear" is for
        the mean of a number, or of two categories as 0 and 1; "logistic" for the log odds of the
        second of two categories; "multinomial" for the log odds of each category against the first.
        It is by default linear on a grid, and else as the number of categories requires. Records
        with a missing value do not count. Raises `DeniableError` if a column does not allow this.
        """
        outcome, terms = _parsed(formula, columns)
        kind, responses = _outcome(columns[outcome], model)
        covariates = {name: columns[name] for name in chain(*terms)}
        functions = {
            name: {name: _numbers(column)} if column.on_grid else _indicators(column)
            for name, column in covariates.items()
        }
        products: dict[str, Functions] = {"(intercept)": {}}
        for term in terms:
            for labels in product(*(functions[name] for name in term)):
                own = zip(term, labels, strict=True)
                products[":".join(labels)] = {name: functions[name][label] for name, label in own}
        functions[outcome] = responses
        domain = Domain(tuple(columns[name].attribute() for name in functions))
        present = {name: _present(columns[name]) for name in functions}
        compared = [each for each in domain if each.name not in functions[each.name]]
        references = tuple(f"{each.name}={each.categories[0]}" for each in compared)
        return cls(domain, kind, products, responses, present, references)

    @cached_property
    def complete(self) -> Flags:
        """Flags of the joint cells without a missing value, shape (cells,)."""
        return np.asarray(reduce(np.kron, self.present.values()))

    @cached_property
    def matrix(self) -> Floats:
        """The terms in each joint cell of the covariates, shape (cells of covariates, terms)."""
        none: dict[str, Any] = {each.name: np.ones(each.size) for each in self.domain.attributes}
        none[self.domain.names[-1]] = np.ones(1)
        return np.column_stack(
            [reduce(np.kron, (none | own).values()) for own in self.terms.values()]
        )

    @cached_property
    def outcomes(self) -> Floats:
        """The responses of each category of the outcome, shape (categories, equations)."""
        return np.column_stack([*self.responses.values()])

    def means(self, coefficients: Floats) -> tuple[Floats, Floats]:
        """Return means and covariances of the responses in each joint cell of the covariates.

        The shapes are (equations, terms) of `coefficients`, (cells of covariates, equations) of
        means, and (..., equations) of covariances, which are 1 in a linear model.
        """
        predicted = self.matrix @ coefficients.T
        if self.model == "linear":
            return predicted, np.ones((len(predicted), 1, 1))
        with_reference = np.column_stack([np.zeros(len(predicted)), predicted])
        shares = scipy.special.softmax(with_reference, axis=1)[:, 1:]
        return shares, shares[:, :, None] * (np.eye(shares.shape[1]) - shares[:, None])

    def scores(self, coefficients: Floats) -> Floats:
        """Return the scores of `coefficients` in all joint cells, shape (cells, coefficients)."""
        residuals = self.outcomes - self.means(coefficients)[0][:, None]
        scores = residuals[..., None] * self.matrix[:, None, None]
        return scores.reshape(self.domain.size, -1) * self.complete[:, None]

    def information(self, covariances: Floats, cells: Floats) -> Floats:
        """Return the information on the coefficients, shape (coefficients,) * 2.

        The `covariances` are as in `means`, and `cells` are weights of the joint cells.
        """
        X, weights = self.matrix, (cells * self.complete).reshape(len(covariances), -1).sum(axis=1)
        found = np.einsum("c,ca,cjk,cb->jakb", weights, X, covariances, X, optimize=True)
        return np.asarray(found).reshape(found.shape[0] * X.shape[1], -1)

    def moments(self, cells: Floats) -> Floats:
        """Return the second moments of the terms, for all coefficients, shape as above.

        The `cells` are as in `information`, and errors are as in `refuse_collinear`.
        """
        moments = self.information(np.ones((len(self.matrix), 1, 1)), cells)
        refuse_collinear(moments)
        return np.asarray(np.kron(np.eye(len(self.responses)), moments))


def _parsed(formula: str, columns: Mapping[str, Column]) -> tuple[str, list[list[str]]]:
    """Return the outcome of a `formula`, and its terms, each the names of some of `columns`."""
    outcome, _, right = (part.strip() for part in formula.partition("~"))
    texts = [text.strip() for text in right.split("+") if text.strip() != "1"]
    terms = [[text] if text in columns else text.split(":") for text in texts]
    terms = [[name.strip() for name in term] for term in terms]
    for name in (outcome, *chain(*terms)):
        if name not in columns:
            raise DeniableError(
                f"{shown(formula)}: the release has no estimates of a column {name!r}, only of "
                f"{', '.join(columns)}; write a formula as income ~ age + sex + age:sex"
            )
        if _present(columns[name]).sum() < 2:
            raise DeniableError(f"column {name!r} has one category, so it is constant; omit it")
    if outcome in chain(*terms) or any(len(set(term)) < len(term) for term in terms):
        raise DeniableError(
            f"{shown(formula)}: a column is outcome and covariate, or twice in a term; name it once"
        )
    return outcome, terms


def _outcome(column: Column, model: Model | None) -> tuple[Model, Functions]:
    indicators = _indicators(column)
    binary = len(indicators) == 1
    kind = model or ("linear" if column.on_grid else "logistic" if binary else "multinomial")
    refuse_unknown("model", kind, get_args(Model))
    if kind == "logistic" and not binary:
        raise DeniableError(f"outcome {column.name!r} has over two categories; use multinomial")
    if kind != "linear":
        return kind, indicators
    (*_, last) = indicators.values()
    return kind, {column.name: last if binary and not column.on_grid else _numbers(column)}


def _present(column: Column) -> Flags:
    return np.array([each != column.absent for each in column.attribute().categories])


def _indicators(column: Column) -> Functions:
    names = [f"{column.name}={each}" for each in column.attribute().categories]
    present = int(_present(column).sum())  # missing values are the last category
    return dict(zip(names[1:present], np.eye(len(names))[1:], strict=False))


def _numbers(column: Column) -> Floats:
    texts = column.attribute().categories
    try:
        return np.array([0.0 if text == column.absent else float(text) for text in texts])
    except ValueError:
        raise DeniableError(
            f"outcome {column.name!r} has categories that are not numbers; use multinomial"
        ) from None


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
