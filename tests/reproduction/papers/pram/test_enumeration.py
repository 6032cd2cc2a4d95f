"""Enumerated tables of counts agree with values by hand."""

import math

import numpy as np
import pytest

from reproduction.papers.pram.numbered_results import (
    moments,
    multinomial,
    reports_given,
    tables_of,
)


@pytest.mark.parametrize(("records", "categories"), [(0, 2), (1, 1), (4, 3), (5, 4)])
def test_every_table_comes_once(records: int, categories: int) -> None:
    tables = list(tables_of(records, categories))
    assert len(tables) == len(set(tables)) == math.comb(records + categories - 1, categories - 1)
    assert {sum(table) for table in tables} == {records}


def test_the_multinomial_by_hand() -> None:
    law = multinomial(2, [0.5, 0.3, 0.2])
    assert law[(1, 1, 0)] == pytest.approx(2 * 0.5 * 0.3, rel=1e-15)
    assert law[(0, 0, 2)] == pytest.approx(0.04, rel=1e-15)
    assert sum(law.values()) == pytest.approx(1, rel=1e-14)


def test_a_category_that_cannot_occur() -> None:
    assert multinomial(2, [1.0, 0.0]) == {(0, 2): 0.0, (1, 1): 0.0, (2, 0): 1.0}


def test_reports_by_hand() -> None:
    # One record of each category, through (3/4, 1/4) and (1/2, 1/2).
    law = reports_given((1, 1), np.array([[0.75, 0.25], [0.5, 0.5]]))
    assert law == {(2, 0): 0.375, (1, 1): 0.75 * 0.5 + 0.25 * 0.5, (0, 2): 0.125}


def test_reports_of_other_kinds_by_hand() -> None:
    # One record of each of two categories, three reports: (1, 1, 2)/4 and (2, 2, 0)/4.
    law = reports_given((1, 1), np.array([[0.25, 0.25, 0.5], [0.5, 0.5, 0]]))
    expected = {(2, 0, 0): 2, (0, 2, 0): 2, (1, 1, 0): 4, (1, 0, 1): 4, (0, 1, 1): 4}
    assert {table: p * 16 for table, p in law.items() if p} == expected
    # Three categories, two reports.
    law = reports_given((1, 0, 2), np.array([[0.25, 0.75], [1, 0], [0.5, 0.5]]))
    assert {table: p * 16 for table, p in law.items()} == {
        (3, 0): 1,
        (2, 1): 5,
        (1, 2): 7,
        (0, 3): 3,
    }


def test_moments_are_those_of_the_binomial() -> None:
    law = multinomial(3, [0.25, 0.75])
    mean, covariance = moments(law, lambda table: np.array(table) / 1.0)
    assert mean == pytest.approx([0.75, 2.25])
    assert covariance == pytest.approx(3 * 0.25 * 0.75 * np.array([[1, -1], [-1, 1]]))
