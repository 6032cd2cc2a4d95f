"""Simulated tests of independence against plain loops, and what they assume."""

import math
from dataclasses import dataclass
from fractions import Fraction
from typing import Any

import numpy as np
import pytest
from scipy import stats

from deniable.arrays import Floats
from deniable.channels import KeepOrReplace
from deniable.contingency.monte_carlo import (
    LaplaceRelease,
    RandomizedRelease,
    asymptotic_test,
    critical_rank,
    monte_carlo_test,
    test_against_true_statistic as true_statistic_test,
)
from deniable.contingency.two_step import Independence, two_step_estimate
from deniable.errors import DeniableError

MODEL = Independence((2, 2))
EVEN = np.full(4, 0.25)


def test_epsilons_are_exact() -> None:
    # [rrba]'s p = .5 on 4, 8 and 16 even cells; Laplace at sensitivity 2.
    for cells, ratio in ((4, 5), (8, 9), (16, 17)):
        release = RandomizedRelease(KeepOrReplace.uniform(cells, 0.5))
        assert release.epsilon == pytest.approx(math.log(ratio), rel=1e-12)
    assert LaplaceRelease(8.0).epsilon == 0.25


def test_laplace_noise_has_the_privacy_that_it_claims() -> None:
    # Densities of neighbouring tables, one record moved from one cell to another, differ by at
    # most exp(epsilon), and where both cells are off on the outside by exactly that.
    release = LaplaceRelease(3.0)
    one, other = np.array([10.0, 7.0]), np.array([9.0, 8.0])
    grid = np.stack(np.meshgrid(*[np.linspace(0, 20, 81)] * 2), axis=-1)
    logs = [stats.laplace.logpdf(grid, table, 3.0).sum(-1) for table in (one, other)]
    assert np.abs(logs[0] - logs[1]).max() == pytest.approx(release.epsilon, rel=1e-12)


def test_a_rank_for_each_number_of_tables() -> None:
    assert critical_rank(99, 0.05) == 95
    assert critical_rank(999, 0.05) == 950
    assert critical_rank(20, 0.05) == 20
    with pytest.raises(DeniableError, match="draw more than 20"):
        critical_rank(18, 0.05)
    with pytest.raises(DeniableError, match="between 0 and 1"):
        critical_rank(18, 1.0)


@pytest.mark.parametrize("small_cells", ["ignore", "fitted", "table"])
@pytest.mark.parametrize("kind", ["laplace", "randomized"])
def test_decisions_are_those_of_a_plain_loop(kind: str, small_cells: str) -> None:
    release = (
        LaplaceRelease(8.0)
        if kind == "laplace"
        else RandomizedRelease(KeepOrReplace.uniform(4, 0.5))
    )
    rng = np.random.default_rng(1)
    noisy = release.release(rng.multinomial(220, [0.35, 0.15, 0.2, 0.3], 30), rng)
    found = monte_carlo_test(
        noisy,
        220,
        release,
        MODEL,
        np.random.default_rng(2),
        tables=99,
        small_cells=small_cells,  # type: ignore[arg-type]
    )

    # The same stream, looped over: tables that the rule accepts at once draw nothing.
    again = np.random.default_rng(2)
    nearest, fitted = two_step_estimate(noisy, 220, MODEL)
    looked_at = {"table": nearest, "fitted": fitted}
    small = np.zeros(30, dtype=bool)
    if small_cells != "ignore":
        small = (looked_at[small_cells] < 5 - 1e-8).any(axis=1)
    open_tests = np.flatnonzero(~small)
    null = fitted[open_tests] / 220
    drawn = release.sample(null, np.full(len(open_tests), 220.0), 99, again)
    for test, tables in zip(open_tests, drawn, strict=True):
        statistics = []
        for table in tables:
            own_nearest, own_fitted = two_step_estimate(table, 220, MODEL)
            statistics.append(((table - own_fitted) ** 2 / own_fitted).sum())
            cells = {"table": own_nearest, "fitted": own_fitted}.get(small_cells)
            small[test] |= cells is not None and bool((cells < 5 - 1e-8).any())
        own = ((noisy[test] - fitted[test]) ** 2 / fitted[test]).sum()
        threshold = sorted(statistics)[94]
        assert found.statistic[test] == pytest.approx(own)
        assert found.threshold[test] == pytest.approx(threshold)
        assert found.rejected[test] == (own > threshold and not small[test])
    np.testing.assert_array_equal(found.too_small, small)


class Queued:
    """Draws for each test, known by its proportions, the next ones of its own tables."""

    epsilon = math.inf

    def __init__(self, tables: Floats) -> None:
        self.tables, self.places = tables, dict[bytes, tuple[int, int]]()

    def release(self, tables: Any, generator: np.random.Generator) -> Floats:
        raise NotImplementedError

    def sample(self, proportions: Floats, records: Floats, tables: int, generator: Any) -> Floats:
        drawn = []
        for each in proportions:
            test, done = self.places.get(each.tobytes(), (len(self.places), 0))
            self.places[each.tobytes()] = test, done + tables
            drawn.append(self.tables[test, done : done + tables])
        return np.array(drawn)


@pytest.mark.parametrize("small_cells", ["ignore", "fitted"])
@pytest.mark.parametrize("tables", [20, 99, 199])
def test_tables_that_end_before_the_last_decide_the_same(tables: int, small_cells: str) -> None:
    rng = np.random.default_rng(6)
    noisy = rng.multinomial(220, [0.3, 0.2, 0.2, 0.3], 200).astype(float)
    # One table of each pair of margins, by which the queue knows a test.
    margins = np.stack([noisy[:, :2].sum(axis=1), noisy[:, ::2].sum(axis=1)], axis=1)
    noisy = noisy[np.unique(margins, axis=0, return_index=True)[1]]
    drawn = rng.multinomial(220, [0.29, 0.21, 0.21, 0.29], (len(noisy), tables)).astype(float)
    options: Any = {"tables": tables, "small_cells": small_cells}
    whole, ended = (
        monte_carlo_test(noisy, 220, Queued(drawn), MODEL, rng, **options, to_the_end=end)
        for end in (True, False)
    )
    assert 0.1 < whole.rejected.mean() < 0.6
    np.testing.assert_array_equal(ended.rejected, whole.rejected)
    early = np.isnan(ended.threshold)
    assert early.sum() > len(noisy) / 4 or tables == 20
    np.testing.assert_array_equal(ended.threshold[~early], whole.threshold[~early])


def test_sampling_reports_at_once_is_sampling_and_randomizing() -> None:
    # False alarm 1e-6 each.
    release = RandomizedRelease(KeepOrReplace(0.4, 0.6 * np.array([0.1, 0.2, 0.3, 0.4])))
    rng = np.random.default_rng(3)
    truth = np.array([0.4, 0.3, 0.2, 0.1])
    at_once = release.sample(truth[None], np.array([300.0]), 4000, rng)[0]
    in_steps = release.release(rng.multinomial(300, truth, 4000), rng)
    np.testing.assert_allclose(at_once.sum(axis=1), 300)
    for first, second in zip(at_once.T, in_steps.T, strict=True):
        assert stats.ks_2samp(first, second).pvalue > 1e-6


@pytest.mark.parametrize("kind", ["laplace", "randomized"])
def test_simulated_critical_values_keep_the_size(kind: str) -> None:
    # 2,000 trials: 4.9 standard errors of .05.
    release = (
        LaplaceRelease(8.0)
        if kind == "laplace"
        else RandomizedRelease(KeepOrReplace.uniform(4, 0.5))
    )
    rng = np.random.default_rng(4)
    noisy = release.release(rng.multinomial(1000, EVEN, 2000), rng)
    found = monte_carlo_test(noisy, 1000, release, MODEL, rng, small_cells="ignore")
    assert found.rejected.mean() == pytest.approx(0.05, abs=4.9 * (0.05 * 0.95 / 2000) ** 0.5)


def test_borrowed_critical_values_do_not() -> None:
    rng = np.random.default_rng(5)
    noisy = LaplaceRelease(8.0).release(rng.multinomial(172, EVEN, 1000), rng)
    assert asymptotic_test(noisy, 172, MODEL).mean() > 0.25
    # Without noise they do.
    tables = rng.multinomial(172, EVEN, 4000)
    assert asymptotic_test(tables, 172, MODEL).mean() == pytest.approx(0.05, abs=0.017)


def test_the_limit_of_the_true_table_by_hand() -> None:
    # X^2 of a 2 x 2 table with even margins and cells 25 + d, 25 - d: 4 d^2 / 25.
    tables = np.array([[25.0 + d, 25 - d, 25 - d, 25 + d] for d in (0, 5, -6, 10)])
    found = true_statistic_test(tables[:, None], tables, 100, MODEL)
    larger = [[abs(a) > abs(b) for b in (0, 5, -6, 10)] for a in (0, 5, -6, 10)]
    assert found.tolist() == larger


def test_the_limit_of_the_true_table_has_no_level() -> None:
    # Of the three degrees of freedom of the noise nearly any adds to a small statistic.
    rng = np.random.default_rng(7)
    true = rng.multinomial(172, EVEN, 500)
    noisy = LaplaceRelease(8.0).release(true, rng)
    assert true_statistic_test(noisy, true, 172, MODEL).mean() > 0.6
    assert not true_statistic_test(true, true, 172, MODEL).any()


def test_the_rule_of_five_as_printed_turns_the_test_off() -> None:
    rng = np.random.default_rng(6)
    release = RandomizedRelease(KeepOrReplace.uniform(4, 0.5))
    noisy = release.release(rng.multinomial(100, [0.45, 0.05, 0.05, 0.45], 50), rng)
    on = monte_carlo_test(noisy, 100, release, MODEL, rng, tables=999)
    off = monte_carlo_test(noisy, 100, release, MODEL, rng, tables=999, small_cells="ignore")
    assert on.too_small.all()
    assert not on.rejected.any()
    assert off.rejected.mean() > 0.8


@dataclass(frozen=True)
class Given:
    """A release that draws nothing: the sampled tables are given ones, one for each test."""

    noisy: np.ndarray
    epsilon: float = 1.0

    def release(self, tables: Any, generator: np.random.Generator) -> np.ndarray:
        raise NotImplementedError

    def sample(self, proportions: Any, records: Any, tables: int, generator: Any) -> np.ndarray:
        shape = (len(proportions), tables, self.noisy.shape[-1])
        return np.broadcast_to(self.noisy[..., None, :], shape)


@pytest.mark.parametrize(("n", "p"), [(172, Fraction(1, 2)), (100, Fraction(2, 5))])
def test_rounding_does_not_decide_the_rule_of_five(n: int, p: Fraction) -> None:
    # Estimated counts (o - n (1 - p) / 4) / p in fractions, of all reports near the limit.
    rng = np.random.default_rng(1)
    channel = RandomizedRelease(KeepOrReplace.uniform(4, float(p)))
    fake = n * (1 - p) / 4
    five = int(5 * p + fake)
    least = rng.integers(five - 1, five + 2, 300)
    first = rng.integers(five + 2, n // 3, 300)
    second = rng.integers(five + 2, n // 3, 300)
    reports = np.column_stack([first, least, second, n - first - least - second])
    exact = [min((int(o) - fake) / p for o in row) for row in reports]
    assert exact.count(Fraction(5)) > 50
    noisy = channel.estimated(reports)
    found = monte_carlo_test(noisy, n, Given(np.full(4, n / 4)), MODEL, rng, tables=20)
    assert found.too_small.tolist() == [count < 5 for count in exact]


def test_rounding_does_not_tell_equal_statistics_apart() -> None:
    # The sampled tables are the noisy one with its cells in another order: no statistic exceeds.
    noisy = np.random.default_rng(2).uniform(20, 90, (200, 4))
    noisy *= 220 / noisy.sum(axis=1, keepdims=True)
    mirrored = Given(noisy[:, ::-1])
    rng = np.random.default_rng(1)
    found = monte_carlo_test(noisy, 220, mirrored, MODEL, rng, small_cells="ignore")
    assert (found.statistic > found.threshold).any()
    assert not found.rejected.any()
    even = Given(np.full(4, 55.0))
    assert monte_carlo_test(noisy, 220, even, MODEL, rng, small_cells="ignore").rejected.all()


@pytest.mark.parametrize(
    ("per_cell", "least", "most"),
    # Records per cell, and bounds of the size in per cent. [rrba] has about 43 in its Table 3.
    [(43, 5.5, 10.0), (10_000, 4.25, 5.75)],
)
@pytest.mark.parametrize("attributes", [2, 3, 4])
def test_critical_values_of_a_quadratic_form_hold_in_large_tables_alone(
    attributes: int, per_cell: int, least: float, most: float
) -> None:
    """[rrba], 7.3.1, for even tables: there each weight of the form is 1 + variance / expected."""
    model = Independence((2,) * attributes)
    cells, tables, release = 2**attributes, 20_000, LaplaceRelease(8.0)
    rng = np.random.default_rng(20_261_127)
    true = rng.multinomial(per_cell * cells, np.full(cells, 1 / cells), tables)
    degrees = cells - 1 - attributes
    critical = stats.chi2.isf(0.05, degrees) * (1 + 2 * release.scale**2 / per_cell)
    noisy = release.release(true, rng)
    level = float(stats.chi2.sf(critical, degrees))
    rejected = asymptotic_test(noisy, per_cell * cells, model, level=level)
    # 20,000 tables tell a size of 5 % from 5.75 % and 5.5 from 6.2 (four standard errors).
    assert least < 100 * rejected.mean() < most


@pytest.mark.parametrize(
    ("call", "message"),
    [
        (lambda: LaplaceRelease(0.0), "must be positive"),
        (
            lambda: monte_carlo_test(
                [[1.0, 2, 3, 4]],
                10,
                LaplaceRelease(1.0),
                MODEL,
                np.random.default_rng(1),
                small_cells="some",  # type: ignore[arg-type]
            ),
            "unknown rule for small cells 'some'",
        ),
    ],
)
def test_refusals(call: object, message: str) -> None:
    with pytest.raises(DeniableError, match=message):
        call()  # type: ignore[operator]
