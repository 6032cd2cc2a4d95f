"""Many consistent tables at once: optimal by their conditions, exact in agreement, and fast."""

from itertools import combinations

import numpy as np
import pytest
from hypothesis import given, settings, strategies as st
from scipy.optimize import linprog
from tests.contingency.test_consistency import is_consistent, joint, views

from deniable.contingency import agreement as module
from deniable.contingency.agreement import Agreement
from deniable.contingency.consistency import Layout, NoisyTable, consistent_tables
from deniable.contingency.programs import least_squares


def noisy(
    attributes: int, categories: int, noise: float, seed: int = 1, size: int = 2
) -> list[NoisyTable]:
    """Return tables of all sets of `size` attributes, each with noise of its own."""
    drawn = np.random.default_rng(seed)
    names = [f"v{number:02}" for number in range(attributes)]
    own = {name: drawn.dirichlet(np.ones(categories)) for name in names}
    tables = []
    for chosen in combinations(names, size):
        cells = own[chosen[0]]
        for name in chosen[1:]:
            cells = np.multiply.outer(cells, own[name])
        error = drawn.normal(0, noise, cells.shape)
        tables.append(NoisyTable(chosen, cells + error - error.mean(), drawn.uniform(0.5, 2)))
    return tables


def violation_of(tables: list[NoisyTable], found: dict[tuple[str, ...], np.ndarray]) -> float:
    """Return the smallest violation of the conditions of Karush, Kuhn and Tucker.

    They are sufficient: multipliers m with B' m = 0 and A' m equal to the slope of the misfit where
    a cell is not zero, and not above it where one is zero.
    """
    own = Agreement({t.attributes: t.proportions.shape for t in tables})
    sums, links, _ = own.constraints
    weights = np.concatenate([np.full(t.proportions.size, t.precision) for t in tables])
    observed = np.concatenate([t.proportions.reshape(-1) for t in tables])
    cells = np.concatenate([found[t.attributes].reshape(-1) for t in tables])
    slopes = weights * (cells - observed)
    above, free = sums.toarray().T, cells > 1e-9
    largest = np.full((len(slopes), 1), -1.0)
    rows = np.block([[above, largest], [-above[free], largest[free]]])
    limits = np.concatenate([slopes, -slopes[free]])
    shared = np.hstack([links.toarray().T, np.zeros((links.shape[1], 1))])
    goal = np.zeros(rows.shape[1])
    goal[-1] = 1.0
    found_by = linprog(goal, rows, limits, shared, np.zeros(len(shared)), bounds=(None, None))
    assert found_by.status == 0
    return float(found_by.fun)


def has_closed_form(tables: list[NoisyTable]) -> bool:
    layout = Layout.of(tables, [])
    return bool((layout.cells(layout.average_effects(tables)) >= 0).all())


@pytest.mark.parametrize(("attributes", "size"), [(6, 2), (5, 3)])
@pytest.mark.parametrize("noise", [0.02, 0.1, 0.5])
def test_tables_are_the_closest_ones(attributes: int, size: int, noise: float) -> None:
    tables = noisy(attributes, 3, noise, size=size)
    found = consistent_tables(tables)
    assert is_consistent(found)
    assert not has_closed_form(tables)
    assert violation_of(tables, found) < 1e-9


@pytest.mark.parametrize("noise", [0.01, 0.1])
def test_tables_are_those_of_the_dense_program(noise: float) -> None:
    tables = noisy(7, 3, noise)
    found = consistent_tables(tables)
    layout = Layout.of(tables, [])
    observed, weights = layout.observed(tables)
    cells = layout.cells(least_squares(layout.even, layout.basis, observed, weights))
    for names, own in layout.split(cells).items():
        np.testing.assert_allclose(found[names], own, rtol=0, atol=2e-6)


@pytest.mark.parametrize("size", [2, 3])
def test_the_closed_form_is_that_of_effects(size: int) -> None:
    tables = noisy(5, 3, 1e-4, size=size)
    found = consistent_tables(tables)
    assert has_closed_form(tables)
    layout = Layout.of(tables, [])
    expected = layout.split(layout.cells(layout.average_effects(tables)))
    for names, own in expected.items():
        np.testing.assert_allclose(found[names], own, rtol=0, atol=1e-13)


def test_the_solver_alone_is_enough(monkeypatch: pytest.MonkeyPatch) -> None:
    # Without a step of Newton's method tables agree as exactly, and are nearly as close.
    tables = noisy(6, 3, 0.1)
    exact = consistent_tables(tables)
    monkeypatch.setattr(module, "NEWTON_STEPS", 0)
    found = consistent_tables(tables)
    assert is_consistent(found)
    for names, own in exact.items():
        np.testing.assert_allclose(found[names], own, rtol=0, atol=2e-6)


@settings(deadline=None, max_examples=25, derandomize=True)
@given(st.integers(0, 10**6), st.sampled_from([0.01, 0.3, 3.0]))
def test_any_tables_agree_whatever_they_share(seed: int, noise: float) -> None:
    drawn = np.random.default_rng(seed)
    sizes = {"a": 2, "b": 3, "c": 1, "d": 4}
    pool = [names for k in (1, 2, 3) for names in combinations("dcba", k)]
    chosen = [pool[i] for i in drawn.choice(len(pool), 1 + seed % 5, replace=False)]
    tables = [
        NoisyTable(names, drawn.normal(0.1, noise, [sizes[n] for n in names]), 1 + seed % 3)
        for names in chosen
    ]
    found = consistent_tables(tables)
    assert is_consistent(found)
    assert violation_of(tables, found) < 1e-8


def test_attributes_in_another_order_are_the_same_attributes() -> None:
    tables = [t for t in views(joint(2), 2, 3, 400) if "d" not in t.attributes]
    turned = [NoisyTable(tables[0].attributes[::-1], tables[0].proportions.T, tables[0].precision)]
    one = consistent_tables(tables)
    other = consistent_tables(turned + tables[1:])
    for names in ((t.attributes) for t in tables[1:]):
        np.testing.assert_allclose(other[names], one[names], atol=1e-12)
    first = tables[0].attributes
    np.testing.assert_allclose(other[first[::-1]].T, one[first], atol=1e-12)


def test_large_tables_take_a_few_seconds_and_are_optimal() -> None:
    # 12 columns of 10 categories: 6,600 cells, of which the dense program makes 10^6 entries.
    tables = noisy(12, 10, 0.01)
    found = consistent_tables(tables)
    assert is_consistent(found)
    again = Agreement({names: cells.shape for names, cells in found.items()}).averaged(
        found, dict.fromkeys(found, 1.0)
    )
    for names, cells in again.items():
        np.testing.assert_allclose(cells, found[names], atol=1e-12)
