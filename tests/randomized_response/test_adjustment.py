"""RR-Adjustment against Algorithm 2 in fractions, against tables, and where it has no solution."""

import itertools
import re
import warnings
from fractions import Fraction
from typing import Any

import numpy as np
import numpy.typing as npt
import pytest
from hypothesis import given, settings, strategies as st
from tests.slow_variants import all_but_first

from deniable.errors import DataError, DeniableError
from deniable.randomized_response.adjustment import (
    Adjustment,
    adjust,
    weighted_pairs,
)
from deniable.records.domain import Attribute, Domain

SEEDED = settings(deadline=None, max_examples=150, derandomize=True)
SMALLEST = 5e-324  # a tolerance that only an exact fit meets

Columns = list[npt.NDArray[np.integer]]
Targets = list[list[Fraction]]


def algorithm_2(columns: Columns, targets: Targets, sweeps: int) -> list[Fraction]:
    """Algorithm 2, line by line ([multirr], section 5)."""
    n = len(columns[0])
    w = [Fraction(1, n)] * n  # line 4
    for _ in range(sweeps):  # line 5
        for y, pi in zip(columns, targets, strict=True):  # line 6
            s = [Fraction(0)] * len(pi)
            for k in range(len(pi)):  # lines 11 to 13
                s[k] = sum((w[i] for i in range(n) if y[i] == k), Fraction(0))
            for i in range(n):  # lines 14 to 17
                v = y[i]
                if s[v]:  # else the weights are 0 already
                    w[i] = w[i] * pi[v] / s[v]
    return w


def floats(targets: Targets) -> list[list[float]]:
    return [[float(share) for share in target] for target in targets]


def quietly(columns: Columns, targets: Any, **options: Any) -> Adjustment:
    """Adjust, whatever is to be warned of."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", RuntimeWarning)
        return adjust(columns, targets, **options)


def margins(columns: Columns, weights: npt.ArrayLike, targets: Any) -> list[npt.NDArray[Any]]:
    return [
        np.bincount(column, weights=weights, minlength=len(target))
        for column, target in zip(columns, targets, strict=True)
    ]


@st.composite
def problems(draw: st.DrawFn, zeros: bool) -> tuple[Columns, Targets]:
    """Records and targets; without zeros, just the categories that are reported have targets."""
    records = draw(st.integers(1, 11))
    columns, targets = [], []
    for _ in range(draw(st.integers(1, 3))):
        size = draw(st.integers(1, 4))
        codes = draw(st.lists(st.integers(0, size - 1), min_size=records, max_size=records))
        least = 0 if zeros else 1
        parts = draw(st.lists(st.integers(least, 5), min_size=size, max_size=size))
        if not zeros:
            parts = [part if k in codes else 0 for k, part in enumerate(parts)]
        if not any(parts):
            parts[draw(st.integers(0, size - 1))] = 1
        columns.append(np.array(codes))
        targets.append([Fraction(part, sum(parts)) for part in parts])
    return columns, targets


# -- against the algorithm as it is printed --------------------------------------------------------


@SEEDED
@given(problems(zeros=False), st.integers(1, 4))
def test_weights_are_those_of_algorithm_2(problem: tuple[Columns, Targets], sweeps: int) -> None:
    columns, targets = problem
    found = quietly(columns, floats(targets), tolerance=SMALLEST, most_sweeps=sweeps)
    exact = algorithm_2(columns, targets, sweeps)
    # It stops earlier only where nothing moves any more.
    np.testing.assert_allclose(found.weights, [float(w) for w in exact], rtol=1e-12)
    assert found.unreachable == ()
    assert found.sweeps <= sweeps


@SEEDED
@given(problems(zeros=True))
def test_weights_are_a_distribution_and_what_is_said_of_them_is_so(
    problem: tuple[Columns, Targets],
) -> None:
    columns, targets = problem
    reachable, left_out = without_unreachable(columns, targets)
    if reachable is None:
        with pytest.raises(DeniableError, match="no record can meet the targets"):
            adjust(columns, floats(targets))
        return
    found = quietly(columns, floats(targets), most_sweeps=60)
    assert found.weights.min() >= 0
    assert found.weights.sum() == pytest.approx(1, abs=1e-12)
    assert [(attribute, category) for attribute, category, _ in found.unreachable] == left_out
    for attribute, category, target in found.unreachable:
        assert target == pytest.approx(float(targets[attribute][category]))
    gaps = [
        np.abs(margin - np.array(target, dtype=float)).max()
        for margin, target in zip(margins(columns, found.weights, targets), reachable, strict=True)
    ]
    assert max(gaps) == pytest.approx(found.gap, abs=1e-12)
    for column, target in zip(columns, targets, strict=True):
        zero = np.array([share == 0 for share in target])
        assert np.all(found.weights[zero[column]] == 0)


def without_unreachable(
    columns: Columns, targets: Targets
) -> tuple[Targets | None, list[tuple[int, int]]]:
    """Leave out, again and again, targets that no record can serve; None if nothing remains."""
    current = [list(target) for target in targets]
    left_out: list[tuple[int, int]] = []
    while True:
        live = [
            i
            for i in range(len(columns[0]))
            if all(target[y[i]] for y, target in zip(columns, current, strict=True))
        ]
        found = [
            (j, k)
            for j, target in enumerate(current)
            for k, share in enumerate(target)
            if share and not any(columns[j][i] == k for i in live)
        ]
        if not found:
            break
        left_out += found
        for j, k in found:
            current[j][k] = Fraction(0)
    if not all(any(target) for target in current):
        return None, left_out
    return [[share / sum(target) for share in target] for target in current], left_out


@pytest.mark.parametrize("records", [*range(1, 10), 1001, 1002, 1003, 1004])
def test_no_record_is_forgotten_whatever_their_number(records: int) -> None:
    # Records go through the sweeps in fours.
    generator = np.random.default_rng(records)
    columns = [generator.integers(0, 3, records), generator.integers(0, 2, records)]
    targets = [
        [Fraction(k + 1) if k in column else Fraction(0) for k in range(size)]
        for column, size in zip(columns, (3, 2), strict=True)
    ]
    targets = [[share / sum(target) for share in target] for target in targets]
    found = quietly(columns, floats(targets), tolerance=SMALLEST, most_sweeps=2)
    exact = [float(w) for w in algorithm_2(columns, targets, 2)]
    np.testing.assert_allclose(found.weights, exact, rtol=1e-12)


@pytest.mark.parametrize("code_type", [np.uint8, np.int8, np.int64, np.uint16])
def test_codes_of_any_integer_type_give_the_same(code_type: Any) -> None:
    generator = np.random.default_rng(3)
    columns = [generator.integers(0, 3, 50), generator.integers(0, 4, 50)]
    targets = [[0.5, 0.3, 0.2], [0.1, 0.2, 0.3, 0.4]]
    expected = adjust(columns, targets)
    found = adjust([column.astype(code_type) for column in columns], targets)
    np.testing.assert_array_equal(found.weights, expected.weights)


# -- Example 1 -------------------------------------------------------------------------------------

EXAMPLE = [np.repeat([0, 1, 1], [4, 2, 4]), np.repeat([0, 0, 1], [4, 2, 4])]
HALVES = [[Fraction(1, 2)] * 2] * 2


def test_the_first_step_of_example_1_is_exact() -> None:
    # One attribute adjusted is one sweep over that attribute alone.
    found = adjust(EXAMPLE[:1], floats(HALVES[:1]))
    np.testing.assert_allclose(found.weights, np.repeat([1 / 8, 1 / 12], [4, 6]), rtol=1e-15)
    after = np.bincount(EXAMPLE[1], weights=found.weights)
    np.testing.assert_allclose(after, [2 / 3, 1 / 3], rtol=1e-15)


@pytest.mark.parametrize("sweeps", [1, 2, 5, 100])
def test_the_limit_of_example_1_is_approached_and_not_reached(sweeps: int) -> None:
    with pytest.warns(RuntimeWarning, match=f"stopped after {sweeps} sweeps, .* away from"):
        found = adjust(EXAMPLE, floats(HALVES), most_sweeps=sweeps)
    share = found.weights[4:6].sum()
    assert share == pytest.approx(1 / (4 * (sweeps + 1)), rel=1e-12)
    assert found.gap == pytest.approx(share, rel=1e-12)
    assert found.sweeps == sweeps


def test_at_the_default_tolerance_example_1_ends_with_a_warning() -> None:
    with pytest.warns(RuntimeWarning, match=r"after 1000 sweeps, 0\.00025 away") as caught:
        found = adjust(EXAMPLE, floats(HALVES))
    assert caught[0].filename == __file__
    np.testing.assert_allclose(found.weights[:4], 1 / 8, atol=1e-4)


# -- against tables --------------------------------------------------------------------------------


def records_of(table: npt.NDArray[np.integer]) -> Columns:
    """Return records with the counts of a table, in a random order."""
    cells = np.repeat(np.arange(table.size), table.reshape(-1))
    cells = np.random.default_rng(1).permutation(cells)
    return list(np.unravel_index(cells, table.shape))


def table_of(columns: Columns, weights: npt.ArrayLike, shape: tuple[int, ...]) -> Any:
    cells = np.ravel_multi_index(columns, shape)
    return np.bincount(cells, weights=weights, minlength=np.prod(shape)).reshape(shape)


def fitted(table: npt.NDArray[Any], targets: list[npt.NDArray[Any]], sweeps: int = 500) -> Any:
    """Iterative proportional fitting of a table to its one-way margins."""
    fit = table / table.sum()
    for _ in range(sweeps):
        for axis, target in enumerate(targets):
            others = tuple(a for a in range(fit.ndim) if a != axis)
            factor = target / fit.sum(axis=others)
            fit = fit * np.expand_dims(factor, others)
    return fit


@pytest.mark.parametrize("shape", [(2, 3), (3, 4, 2), (5, 2, 3, 2)])
def test_a_full_table_is_fitted_as_tables_are(shape: tuple[int, ...]) -> None:
    generator = np.random.default_rng(20211121)
    table = generator.integers(1, 9, shape)
    targets = [generator.dirichlet(np.ones(size)) for size in shape]
    columns = records_of(table)
    found = adjust(columns, targets, tolerance=1e-13)
    np.testing.assert_allclose(
        table_of(columns, found.weights, shape), fitted(table, targets), atol=1e-12
    )


def test_independent_reports_are_weighted_to_the_product_of_the_targets() -> None:
    table = np.einsum("i,j,k->ijk", [1, 2, 1], [1, 3], [2, 1])
    targets = [np.array([0.2, 0.3, 0.5]), np.array([0.9, 0.1]), np.array([0.25, 0.75])]
    columns = records_of(table)
    found = adjust(columns, targets)
    product = np.einsum("i,j,k->ijk", *targets)
    np.testing.assert_allclose(table_of(columns, found.weights, table.shape), product, atol=1e-12)
    # The margins of a product do not disturb each other: what was met stays met.
    assert found.sweeps <= 2


@pytest.mark.parametrize("shape", [(4,), (3, 4), (2, 3, 4)])
def test_margins_that_are_met_already_leave_the_weights_alone(shape: tuple[int, ...]) -> None:
    columns = records_of(np.random.default_rng(5).integers(1, 9, shape))
    n = len(columns[0])
    targets = [np.bincount(column) / n for column in columns]
    found = adjust(columns, targets, tolerance=1e-12)
    assert found.sweeps == 1
    np.testing.assert_allclose(found.weights, 1 / n, rtol=1e-12)


def test_the_order_of_records_and_of_categories_changes_nothing() -> None:
    generator = np.random.default_rng(8)
    columns = [generator.integers(0, size, 200) for size in (3, 4, 2)]
    targets = [generator.dirichlet(np.ones(size)) for size in (3, 4, 2)]
    expected = adjust(columns, targets, tolerance=1e-13).weights
    order = generator.permutation(200)
    shuffled = adjust([column[order] for column in columns], targets, tolerance=1e-13)
    np.testing.assert_allclose(shuffled.weights, expected[order], rtol=1e-9)
    swap = np.array([2, 0, 1])
    renamed = adjust(
        [swap[columns[0]], *columns[1:]],
        [np.array(targets[0])[np.argsort(swap)], *targets[1:]],
        tolerance=1e-13,
    )
    np.testing.assert_allclose(renamed.weights, expected, rtol=1e-9)


# -- clusters --------------------------------------------------------------------------------------


@pytest.mark.parametrize("sizes", all_but_first([(300, 5), (7, 300, 300), (256, 2), (257, 2)]))
def test_cells_of_clusters_are_adjusted_as_attributes_are(sizes: tuple[int, ...]) -> None:
    generator = np.random.default_rng(sum(sizes))
    columns = [generator.integers(0, size, 20_003) for size in sizes]
    assert max(column.max() for column in columns) == max(sizes) - 1
    targets = [generator.dirichlet(np.full(size, 5.0)) for size in sizes]
    found = adjust(columns, targets, tolerance=1e-9)
    for margin, target in zip(margins(columns, found.weights, targets), targets, strict=True):
        np.testing.assert_allclose(margin, target, atol=1e-9)
    assert found.gap <= 1e-9


@pytest.mark.parametrize("tolerance", [1e-3, 1e-6, 1e-12])
def test_margins_are_met_to_the_tolerance(tolerance: float) -> None:
    generator = np.random.default_rng(2)
    columns = [generator.integers(0, size, 997) for size in (4, 3, 2, 5)]
    columns[1] = np.where(generator.random(997) < 0.7, columns[0] % 3, columns[1])
    targets = [generator.dirichlet(np.ones(size)) for size in (4, 3, 2, 5)]
    found = adjust(columns, targets, tolerance=tolerance)
    for margin, target in zip(margins(columns, found.weights, targets), targets, strict=True):
        assert np.abs(margin - target).max() <= tolerance * (1 + 1e-9)
    assert found.gap <= tolerance


def test_the_weighted_tables_of_pairs_are_those_of_their_records() -> None:
    generator = np.random.default_rng(6)
    shape = (3, 20, 15)  # 300 cells: more than the codes' type holds
    columns = [generator.integers(0, size, 101).astype(np.uint8) for size in shape]
    weights = generator.dirichlet(np.ones(101))
    found = weighted_pairs(columns, weights, shape)
    for pair, table in zip(itertools.combinations(range(3), 2), found, strict=True):
        of_pair = [columns[each] for each in pair]
        expected = table_of(of_pair, weights, tuple(shape[each] for each in pair))
        np.testing.assert_allclose(table, expected, rtol=1e-12)
    with pytest.raises(DataError, match=r"attribute 1: the code 19 is outside"):
        weighted_pairs(columns, weights, (3, 19, 15))


# -- targets that cannot be met --------------------------------------------------------------------

COLOUR = Domain((Attribute("colour", ("blue", "red", "green")),))
PAIR = Domain((Attribute("sex", ("F", "M")), Attribute("owner", ("no", "yes"))))


def test_a_target_without_records_is_named_left_out_and_the_rest_rescaled() -> None:
    columns = [np.array([0, 0, 1, 1, 1]), np.array([0, 1, 3, 3, 0])]
    targets = [[0.3, 0.5, 0.2], [0.25] * 4]
    with pytest.warns(RuntimeWarning, match="no randomized record") as caught:
        found = adjust(columns, targets, domains=[COLOUR, PAIR])
    said = sorted(str(each.message) for each in caught)
    assert said[0].startswith("colour, category 'green': the estimate is 0.2, but no randomized")
    assert said[1].startswith("sex x owner, category 'M x no': the estimate is 0.25, but no")
    assert all("its target is left out and the others are rescaled" in each for each in said)
    assert found.unreachable == ((0, 2, 0.2), (1, 2, 0.25))
    colour, pair = margins(columns, found.weights, targets)
    np.testing.assert_allclose(colour, [0.375, 0.625, 0], atol=1e-6)
    np.testing.assert_allclose(pair, [1 / 3, 1 / 3, 0, 1 / 3], atol=1e-6)


def test_without_domains_columns_and_categories_are_numbered() -> None:
    with pytest.warns(RuntimeWarning, match="column 0, category 2: the estimate is 0.2"):
        adjust([np.array([0, 1])], [[0.3, 0.5, 0.2]])


def test_records_with_a_zero_target_elsewhere_serve_no_other_target() -> None:
    # Category 1 of the second attribute is reported only with category 0 of the first, which is
    # estimated at 0; category 1 of the third only with that.
    columns = [np.array([0, 0, 1, 1, 2]), np.array([1, 1, 0, 0, 2]), np.array([1, 1, 0, 0, 0])]
    targets = [[0.0, 0.6, 0.4], [0.5, 0.2, 0.3], [0.7, 0.3]]
    with pytest.warns(RuntimeWarning, match="no randomized record with a positive"):
        found = quietly_but_for_gaps(columns, targets)
    assert found.unreachable == ((1, 1, 0.2), (2, 1, 0.3))
    np.testing.assert_array_equal(found.weights[:2], 0.0)
    np.testing.assert_allclose(found.weights[2:].sum(), 1.0)


def quietly_but_for_gaps(columns: Columns, targets: Any) -> Adjustment:
    # These targets also contradict each other, which is another message.
    with warnings.catch_warnings():
        warnings.filterwarnings("ignore", "RR-Adjustment stopped", RuntimeWarning)
        return adjust(columns, targets, most_sweeps=20)


def test_zero_targets_give_zero_weights() -> None:
    generator = np.random.default_rng(4)
    columns = [generator.integers(0, 4, 401), generator.integers(0, 3, 401)]
    found = adjust(columns, [[0.5, 0.0, 0.5, 0.0], [0.2, 0.8, 0.0]])
    gone = (columns[0] % 2 == 1) | (columns[1] == 2)
    assert np.all(found.weights[gone] == 0)
    assert np.all(found.weights[~gone] > 0)
    assert found.unreachable == ()


def test_nothing_that_could_be_met_is_an_error() -> None:
    columns = [np.array([0, 1, 0]), np.array([1, 0, 1])]
    with pytest.raises(DeniableError, match=r"every record has, in some attribute, a category"):
        adjust(columns, [[1.0, 0.0], [1.0, 0.0]])


def test_targets_that_contradict_each_other_end_with_the_gap_that_is_left() -> None:
    columns = [np.array([0, 0, 1, 1])] * 2
    with pytest.warns(RuntimeWarning, match=r"after 7 sweeps, 0\.8 away"):
        found = adjust(columns, [[0.9, 0.1], [0.1, 0.9]], most_sweeps=7)
    assert found.gap == pytest.approx(0.8)
    # The last attribute's margin is met.
    np.testing.assert_allclose(np.bincount(columns[1], weights=found.weights), [0.1, 0.9])


def test_targets_at_the_edge_of_floating_point_are_no_trouble() -> None:
    columns = [np.array([0, 0, 1, 1]), np.array([0, 1, 0, 1])]
    found = quietly(columns, [[1.0, 1e-300], [0.5, 0.5]])
    assert np.all(np.isfinite(found.weights))
    np.testing.assert_allclose(found.weights, [0.5, 0.5, 0, 0], atol=1e-200)


def test_targets_as_a_file_holds_them_are_rescaled() -> None:
    # Nine digits: their sum is not quite 1, and no weights of sum 1 could meet them more closely.
    found = adjust([np.array([0, 0, 1, 2])], [[0.333333333] * 3], tolerance=1e-13)
    np.testing.assert_allclose(found.weights, [1 / 6, 1 / 6, 1 / 3, 1 / 3], rtol=1e-12)


# -- what is refused -------------------------------------------------------------------------------

CODES = np.array([0, 1, 1])


@pytest.mark.parametrize(
    ("columns", "targets", "options", "said"),
    [
        ([], [], {}, "0 columns of codes, but 0 targets; give one for each"),
        ([CODES], [[0.5, 0.5]] * 2, {}, "1 columns of codes, but 2 targets; give one for each"),
        ([CODES[:0]], [[0.5, 0.5]], {}, "there are no records to weight"),
        ([CODES, CODES[:2]], [[0.5, 0.5]] * 2, {}, "column 1 has 2 records, the first 3"),
        ([CODES, np.zeros((3, 2), int)], [[0.5, 0.5]] * 2, {}, "column 1 is of shape (3, 2), its"),
        ([CODES], [[0.5, 0.6]], {}, "the targets of column 0 are not a distribution (not negative"),
        ([CODES], [[1.5, -0.5]], {}, "project the estimate first"),
        ([CODES], [[0.5, np.nan]], {}, "the targets of column 0 are not a distribution"),
        ([CODES], [[np.inf, 0.5]], {}, "the targets of column 0 are not a distribution"),
        ([CODES], [[[0.5, 0.5]]], {}, "its targets of shape (1, 2); give one code per record"),
        ([CODES], [[]], {}, "the targets of column 0 are not a distribution"),
        ([CODES], [[1.0]], {}, "column 0: the code 1 is outside 0 .. 0"),
        ([CODES - 1], [[0.5, 0.5]], {}, "column 0: the code -1 is outside 0 .. 1"),
        ([CODES / 1], [[0.5, 0.5]], {}, "column 0: codes must be integers, not float64"),
        ([CODES], [[0.5, 0.5]], {"tolerance": 0.0}, "tolerance must be above 0"),
        ([CODES], [[0.5, 0.5]], {"tolerance": np.nan}, "tolerance must be above 0"),
        ([CODES], [[0.5, 0.5]], {"most_sweeps": 0}, "most_sweeps at least 1, not 1e-06 and 0"),
        ([CODES], [[0.5, 0.5]], {"domains": [COLOUR]}, "domains of [3] cells, but targets for [2]"),
        ([CODES], [[0.5, 0.5]], {"domains": []}, "domains of [] cells, but targets for [2]"),
    ],
)
def test_what_does_not_fit_is_refused(
    columns: Columns, targets: Any, options: dict[str, Any], said: str
) -> None:
    with pytest.raises(DeniableError, match=re.escape(said)):
        adjust(columns, targets, **options)


def test_what_is_given_is_left_alone() -> None:
    columns, targets = [CODES.copy()], [np.array([0.3, 0.5, 0.2])]
    quietly(columns, targets)
    np.testing.assert_array_equal(columns[0], CODES)
    np.testing.assert_array_equal(targets[0], [0.3, 0.5, 0.2])


def test_targets_that_contradict_each_other_are_named() -> None:
    # Nobody is in (0, 1), so the first attribute's share of 0 is at most the second's share of 0.
    columns = [np.array([0, 1, 1]), np.array([0, 0, 1])]
    domains = [
        Domain((Attribute(name, (f"{name}0", f"{name}1")),)) for name in ("smokes", "drinks")
    ]
    with pytest.warns(
        RuntimeWarning, match=r"target of (smokes|drinks), category '(smokes|drinks)[01]'"
    ):
        found = adjust(columns, [[0.7, 0.3], [0.4, 0.6]], most_sweeps=50, domains=domains)
    assert found.gap > 0.1
    assert found.weights.sum() == pytest.approx(1)
