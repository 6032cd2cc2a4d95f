"""The audit finds what is wrong, passes what is right, and agrees with brute force."""

import math
from collections.abc import Sequence
from decimal import Decimal, localcontext
from fractions import Fraction

import numpy as np
import pytest

from deniable.channels.exact import log_rounded_up
from deniable.errors import DeniableError
from deniable.privacy.audit import (
    Finding,
    audit_sampler,
    column_epsilon,
    constant_matrix,
    exact_epsilon,
)
from deniable.randomized_response.protocols import cluster_channel


def weights(*rows: Sequence[int]) -> np.ndarray:
    return np.array(rows, dtype=object)


# -- exact epsilon ---------------------------------------------------------------------------------


def test_epsilon_by_hand() -> None:
    # Columns (3, 1) and (1, 3): worst ratio 3. Columns (2, 1), (1, 1), (1, 2): 2.
    assert exact_epsilon(weights([3, 1], [1, 3])) == log_rounded_up(Fraction(3))
    assert exact_epsilon(weights([2, 1, 1], [1, 1, 2])) == log_rounded_up(Fraction(2))
    assert exact_epsilon(weights([1, 1], [1, 1])) == 0.0


def test_a_zero_beside_a_positive_probability_is_infinite() -> None:
    assert exact_epsilon(weights([4, 0], [3, 1])) == math.inf


def test_a_report_that_nobody_can_give_says_nothing() -> None:
    assert exact_epsilon(weights([3, 1, 0], [1, 3, 0])) == log_rounded_up(Fraction(3))


def test_only_true_values_of_one_class_are_told_apart() -> None:
    matrix = weights([4, 1, 1], [1, 4, 1], [2, 2, 2])
    assert exact_epsilon(matrix, [[0, 2]]) == log_rounded_up(Fraction(2))
    assert exact_epsilon(matrix, [[0], [1], [2]]) == 0.0
    assert exact_epsilon(weights([4, 0], [3, 1], [4, 0]), [[0, 2], [1]]) == 0.0


@pytest.mark.parametrize("rows", [([1, 2], [2, 2]), ([3, -1], [1, 1])])
def test_weights_that_are_no_distributions_are_refused(rows: Sequence[Sequence[int]]) -> None:
    with pytest.raises(DeniableError, match="negative weights or rows of unequal sum"):
        exact_epsilon(weights(*rows))


def test_epsilon_is_rounded_up() -> None:
    for odds in (Fraction(3), Fraction(7, 3), Fraction(10**9 + 1, 10**9)):
        epsilon = exact_epsilon(constant_matrix(3, odds))
        with localcontext(prec=50):
            true = (Decimal(odds.numerator) / odds.denominator).ln()
            assert Decimal(math.nextafter(epsilon, 0)) < true <= Decimal(epsilon)


# -- claims ----------------------------------------------------------------------------------------


def test_a_finding_allows_only_for_the_rounding_of_the_claim() -> None:
    assert Finding(1.0, 1.0 + 5e-13, 1.0 + 5e-10).holds
    assert not Finding(1.0, 1.0 + 1e-11, 1.0).holds
    assert not Finding(1.0, 1.0, 1.0 + 1e-8).holds
    assert not Finding(1.0, math.inf, 1.0).holds
    assert not Finding(1.0, 1.0, math.inf).holds
    assert Finding(math.inf, math.inf, math.inf).holds


def test_column_epsilon_by_hand() -> None:
    assert column_epsilon(np.eye(2)) == math.inf
    assert column_epsilon([[0.5, 0.5, 0], [0.5, 0.5, 0], [0.5, 0.5, 0]]) == 0
    assert column_epsilon([[0.75, 0.25], [0.25, 0.75]]) == pytest.approx(np.log(3), rel=1e-14)
    assert column_epsilon([[0.75, 0.25], [0.25, 0.75]]) >= np.log(3)
    rows = [[0.5, 0.5], [0.25, 0.75], [0.5, 0.5], [0.5, 0.5]]
    padded = np.hstack([np.array(rows) / 2, np.full((4, 2), 0.25)])
    assert column_epsilon(padded, [[0, 2], [1], [3]]) == 0
    assert column_epsilon(padded, [[0, 1], [2, 3]]) == pytest.approx(np.log(2), rel=1e-14)


# -- samplers --------------------------------------------------------------------------------------

MATRIX = np.array([[0.7, 0.3, 0.0], [0.1, 0.8, 0.1], [0.0, 0.25, 0.75]])


def sampler_of(matrix: np.ndarray, seed: int):
    generator = np.random.default_rng(seed)

    def randomize(codes: np.ndarray) -> np.ndarray:
        cumulative = matrix.cumsum(axis=1)[codes]
        return (generator.random(codes.size)[:, None] >= cumulative[:, :-1]).sum(axis=1)

    return randomize


def test_a_right_sampler_passes_at_the_stated_rate() -> None:
    values = [audit_sampler(sampler_of(MATRIX, s), MATRIX, 500).p_value for s in range(400)]
    # P-values of a right sampler are uniform; this fails by chance once in 10,000.
    assert np.mean(values) == pytest.approx(0.5, abs=3.9 * np.sqrt(1 / 12 / 400))
    assert all(audit_sampler(sampler_of(MATRIX, s), MATRIX, 50).impossible == 0 for s in range(20))


def test_a_biased_sampler_is_caught() -> None:
    biased = MATRIX + np.array([[0.02, -0.02, 0], [0, 0, 0], [0, 0, 0]])
    test = audit_sampler(sampler_of(biased, 1), MATRIX, 50_000)
    assert test.p_value < 1e-10
    assert test.impossible == 0
    assert test.draws == 150_000


def test_rare_reports_that_all_go_to_one_category_are_caught() -> None:
    # 84 cells, each other cell expected 3 times a row: too rare for a test cell by cell.
    channel = cluster_channel((7, 6, 2), 0.7, "keep", "joint")

    def randomize(codes: np.ndarray) -> np.ndarray:
        reports = channel.randomize(codes, np.random.default_rng(4))
        return np.where(reports == codes, reports, 0)

    wrong = audit_sampler(randomize, channel.matrix(), 4760)
    assert wrong.rare_p_value < 1e-10
    assert wrong.p_value < 1e-10
    right = audit_sampler(
        lambda codes: channel.randomize(codes, np.random.default_rng(4)), channel.matrix(), 4760
    )
    assert right.rare_p_value > 1e-4  # fails by chance once in 10,000 seeds
    assert right.p_value > 1e-4


def test_an_impossible_report_is_caught_however_rare() -> None:
    def randomize(codes: np.ndarray) -> np.ndarray:
        reports = sampler_of(MATRIX, 2)(codes)
        reports[0] = 2  # the first record's true category is 0
        return reports

    test = audit_sampler(randomize, MATRIX, 1000)
    assert test.impossible == 1


def test_degrees_of_freedom_by_hand() -> None:
    # Possible reports less one in each row: 1 + 2 + 1.
    assert audit_sampler(sampler_of(MATRIX, 3), MATRIX, 1000).degrees_of_freedom == 4
    identity = audit_sampler(lambda codes: codes, np.eye(3), 100)
    assert (identity.degrees_of_freedom, identity.p_value, identity.impossible) == (0, 1.0, 0)


def test_rare_reports_are_pooled() -> None:
    row = np.array([0.9, 0.097, 0.001, 0.001, 0.001])
    matrix = np.tile(row, (5, 1))
    values = [audit_sampler(sampler_of(matrix, s), matrix, 300).p_value for s in range(300)]
    assert np.mean(np.array(values) < 0.05) < 0.12


WIDE = np.array([[0.5, 0.3, 0.15, 0.05, 0.0], [0.1, 0.4, 0.2, 0.2, 0.1]])


@pytest.mark.parametrize("matrix", [WIDE, WIDE.T / WIDE.sum(axis=0)[:, None]])
def test_samplers_with_other_reports_than_categories(matrix) -> None:
    test = audit_sampler(sampler_of(matrix, 5), matrix, 20_000)
    possible = np.count_nonzero(matrix, axis=1)
    assert test.degrees_of_freedom == (possible - 1).sum()
    assert test.draws == 20_000 * len(matrix)
    assert test.p_value > 1e-4  # fails by chance once in 10,000 seeds
    assert test.impossible == 0
    moved = np.roll(matrix, 1, axis=1)
    assert audit_sampler(sampler_of(moved, 5), matrix, 20_000).p_value < 1e-10


def test_rare_reports_beyond_the_categories_are_caught() -> None:
    # Reports 2 to 301 are expected 3 times a row; all go to report 301.
    matrix = np.full((2, 302), 0.001)
    matrix[:, :2] = 0.35

    def randomize(codes: np.ndarray) -> np.ndarray:
        drawn = sampler_of(matrix, 6)(codes)
        return np.where(drawn > 1, 301, drawn)

    assert audit_sampler(randomize, matrix, 3000).rare_p_value < 1e-10
    assert audit_sampler(sampler_of(matrix, 6), matrix, 3000).rare_p_value > 1e-4


@pytest.mark.parametrize("report", [-1, 5])
def test_a_report_that_the_matrix_has_not_is_named(report: int) -> None:
    with pytest.raises(DeniableError, match=rf"the value {report}, but its matrix has 0 \.\. 4"):
        audit_sampler(lambda codes: np.full_like(codes, report), WIDE, 10)


def test_epsilon_of_other_reports_than_categories() -> None:
    # Columns (3, 1), (1, 2), (2, 3): 3. And with the reports as the categories: rows of sum 12.
    assert exact_epsilon(weights([3, 1, 2], [1, 2, 3])) == log_rounded_up(Fraction(3))
    few = weights([9, 3], [4, 8], [6, 6])
    assert exact_epsilon(few) == log_rounded_up(Fraction(8, 3))
    assert exact_epsilon(few, [[0, 2], [1]]) == log_rounded_up(Fraction(2))
    assert column_epsilon(np.array(few, float) / 12) == pytest.approx(np.log(8 / 3), rel=1e-14)
