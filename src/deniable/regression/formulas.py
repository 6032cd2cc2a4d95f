"""Formulas of regressions, with terms and outcome as functions of original values."""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from functools import cached_property
from itertools import chain, product
from typing import Any, Literal, get_args

import numpy as np

from deniable.arrays import Flags, Floats
from deniable.errors import DeniableError, refuse_unknown, shown
from deniable.records import Domain
from deniable.schema import Column

Model = Literal["linear", "logistic", "multinomial"]
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
        covariates = {name: _covariate(columns[name]) for name in chain(*terms)}
        products: dict[str, Functions] = {"(intercept)": {}}
        for term in terms:
            for parts in product(*(covariates[name].items() for name in term)):
                functions = zip(term, (values for _, values in parts), strict=True)
                products[":".join(label for label, _ in parts)] = dict(functions)
        kind, responses = _outcome(columns[outcome], model)
        attributes = {name: columns[name].attribute() for name in (*covariates, outcome)}
        functions_of = covariates | {outcome: responses}
        return cls(
            Domain(tuple(attributes.values())),
            kind,
            products,
            responses,
            {name: _present(columns[name]) for name in attributes},
            tuple(
                f"{name}={attribute.categories[0]}"
                for name, attribute in attributes.items()
                if name not in functions_of[name]
            ),
        )

    @cached_property
    def complete(self) -> Flags:
        """Flags of the joint cells without a missing value, shape (cells,)."""
        return _in_cells(self.present[name] for name in self.domain.names) > 0

    @cached_property
    def matrix(self) -> Floats:
        """The terms in each joint cell of the covariates, shape (cells of covariates, terms)."""
        none = {each.name: np.ones(each.size) for each in self.domain.attributes[:-1]}
        return np.column_stack([_in_cells((none | own).values()) for own in self.terms.values()])

    @cached_property
    def outcomes(self) -> Floats:
        """The responses of each category of the outcome, shape (categories, equations)."""
        return np.column_stack([*self.responses.values()])


def _in_cells(functions: Iterable[Any]) -> Floats:
    values: Any = np.ones(1)
    for each in functions:
        values = np.kron(values, each)
    return np.asarray(values)


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


def _covariate(column: Column) -> Functions:
    return {column.name: _numbers(column)} if column.on_grid else _indicators(column)


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
    categories, present = column.attribute().categories, int(_present(column).sum())
    return {  # missing values are the last category
        f"{column.name}={categories[code]}": np.eye(len(categories))[code]
        for code in range(1, present)
    }


def _numbers(column: Column) -> Floats:
    texts = column.attribute().categories
    try:
        return np.array([0.0 if text == column.absent else float(text) for text in texts])
    except ValueError:
        raise DeniableError(
            f"outcome {column.name!r} has categories that are not numbers; use multinomial"
        ) from None
