"""Consistent tables against the programs stated plainly, and against fractions."""

import warnings
from collections.abc import Iterator, Sequence
from fractions import Fraction
from itertools import combinations

import cvxpy as cp
import numpy as np
import pytest
from hypothesis import given, settings, strategies as st

from deniable.channels import KeepOrReplace
from deniable.contingency import programs
from deniable.contingency.agreement import marginal
from deniable.contingency.consistency import (
    Layout,
    NoisyTable,
    consistent_tables,
    largest_disagreement,
    reconstruct_printed,
)
from deniable.errors import DeniableError

SIZES = {"a": 2, "b": 3, "c": 2, "d": 2}
SEEDED = settings(deadline=None, max_examples=40, derandomize=True)


def margin_of(table: NoisyTable, attributes: Sequence[str]) -> np.ndarray:
    return marginal(table.attributes, table.proportions, attributes)


@pytest.fixture(autouse=True)
def _nothing_warns() -> Iterator[None]:
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        yield


def joint(seed: int, concentration: float = 1.0) -> NoisyTable:
    rng = np.random.default_rng(seed)
    shape = tuple(SIZES.values())
    cells = rng.dirichlet(np.full(int(np.prod(shape)), concentration))
    return NoisyTable(tuple(SIZES), cells.reshape(shape))


def views(truth: NoisyTable, k: int, seed: int, records: int, p: float = 0.5) -> list[NoisyTable]:
    """All k-way tables, each from reports of its own through a channel of its own."""
    rng = np.random.default_rng(seed)
    found = []
    for names in combinations(truth.attributes, k):
        margin = margin_of(truth, names)
        channel = KeepOrReplace.uniform(margin.size, p)
        reports = rng.multinomial(records, channel.reported(margin.reshape(-1)))
        estimate = channel.estimate(reports).reshape(margin.shape)
        found.append(NoisyTable(names, estimate, float(rng.uniform(0.5, 2))))
    return found


def plain_program(
    tables: list[NoisyTable], norm: str, wanted: tuple[tuple[str, ...], ...] = ()
) -> tuple[float, dict[tuple[str, ...], np.ndarray]]:
    """The slack form as one would write it: a variable a table, agreement as equalities."""
    sets = [*(t.attributes for t in tables), *wanted]
    variables = {
        names: cp.Variable(int(np.prod([SIZES[n] for n in names])), nonneg=True) for names in sets
    }
    constraints = [cp.sum(variable) == 1 for variable in variables.values()]
    for first, second in combinations(sets, 2):
        shared = tuple(n for n in first if n in second)
        if shared:
            constraints.append(
                summing(first, shared) @ variables[first]
                == summing(second, shared) @ variables[second]
            )
    errors = [variables[t.attributes] - t.proportions.reshape(-1) for t in tables]
    if norm == "l2":
        misfit = sum(t.precision * cp.sum_squares(e) for t, e in zip(tables, errors, strict=True))
    else:
        misfit = sum(t.precision**0.5 * cp.norm1(e) for t, e in zip(tables, errors, strict=True))
    problem = cp.Problem(cp.Minimize(misfit), constraints)
    problem.solve(solver=cp.CLARABEL, tol_gap_abs=1e-11, tol_gap_rel=1e-11, tol_feas=1e-11)
    return float(problem.value), {names: v.value for names, v in variables.items()}


def printed(margins: np.ndarray, values: np.ndarray) -> np.ndarray | None:
    """The program of [rrba], 4.3, as printed: least squares of a table with given margins."""
    table = cp.Variable(margins.shape[1])
    constraints = [table >= 0, margins @ table == values]
    problem = cp.Problem(cp.Minimize(cp.sum_squares(table)), constraints)
    problem.solve(solver=cp.CLARABEL, tol_gap_abs=1e-10, tol_gap_rel=1e-10, tol_feas=1e-10)
    return None if problem.status.startswith("infeasible") else table.value


def summing(names: tuple[str, ...], kept: tuple[str, ...]) -> np.ndarray:
    matrix = np.ones((1, 1))
    for name in names:
        matrix = np.kron(matrix, np.eye(SIZES[name]) if name in kept else np.ones((1, SIZES[name])))
    return matrix


def is_consistent(found: dict[tuple[str, ...], np.ndarray]) -> bool:
    fine = all(t.min() >= 0 and abs(t.sum() - 1) < 1e-9 for t in found.values())
    tables = [NoisyTable(names, values) for names, values in found.items()]
    return fine and largest_disagreement(tables) < 1e-9


def test_a_single_shared_margin_by_hand() -> None:
    # The margins of a are 3/5 and 2/5 with weight 1 a cell of 2, 2/5 and 3/5 with weight 2 of 3:
    # precisions 1/2 and 2/3, so 3/7 and 4/7, and the average is (9/35 + 8/35) = 17/35.
    first = NoisyTable(("a", "b"), np.array([[0.4, 0.2], [0.1, 0.3]]), 1.0)
    second = NoisyTable(("a", "c"), np.array([[0.2, 0.1, 0.1], [0.3, 0.1, 0.2]]), 2.0)
    found = consistent_tables([first, second])
    average = Fraction(17, 35)
    move = (average - Fraction(3, 5)) / 2
    exact = [
        Fraction(2, 5) + move,
        Fraction(1, 5) + move,
        Fraction(1, 10) - move,
        Fraction(3, 10) - move,
    ]
    np.testing.assert_allclose(found["a", "b"].reshape(-1), [float(x) for x in exact], atol=1e-12)
    assert found["a", "c"].sum(axis=1)[0] == pytest.approx(float(average), abs=1e-12)


def test_consistent_tables_stay_as_they_are() -> None:
    truth = joint(1)
    tables = [NoisyTable(n, margin_of(truth, n)) for n in combinations("abcd", 2)]
    found = consistent_tables(tables)
    for table in tables:
        np.testing.assert_allclose(found[table.attributes], table.proportions, atol=1e-14)


@pytest.mark.parametrize("k", [2, 3])
@pytest.mark.parametrize("records", [40, 400, 40_000])
def test_least_squares_is_the_plain_program(k: int, records: int) -> None:
    tables = views(joint(2), k, 3, records)
    found = consistent_tables(tables)
    assert is_consistent(found)
    _, plain = plain_program(tables, "l2")
    for table in tables:
        np.testing.assert_allclose(
            found[table.attributes].reshape(-1), plain[table.attributes], atol=2e-6
        )


def test_both_paths_occur() -> None:
    for tables, closed in (
        (views(joint(2, 5.0), 2, 3, 40_000), True),
        (views(joint(2), 3, 3, 40), False),
    ):
        layout = Layout.of(tables, [])
        assert (layout.cells(layout.average_effects(tables)).min() >= 0) == closed


@pytest.mark.parametrize("records", [40, 400])
def test_least_absolute_misfit_is_the_plain_programs(records: int) -> None:
    tables = views(joint(2), 2, 3, records)
    found = consistent_tables(tables, norm="l1")
    assert is_consistent(found)
    least, _ = plain_program(tables, "l1")
    misfit = sum(
        t.precision**0.5 * np.abs(found[t.attributes] - t.proportions).sum() for t in tables
    )
    assert misfit == pytest.approx(least, abs=1e-5)


def test_ties_of_the_absolute_norm_are_broken_by_the_smallest_tables() -> None:
    # Any margin of a between .4 and .6 has the same misfit; even tables are the smallest.
    first = NoisyTable(("a", "b"), np.array([[0.3, 0.3], [0.2, 0.2]]))
    second = NoisyTable(("a", "c"), np.array([[0.2, 0.2], [0.3, 0.3]]))
    found = consistent_tables([first, second], norm="l1")
    np.testing.assert_allclose(found["a", "b"], 0.25, atol=1e-6)


@pytest.mark.parametrize("norm", ["l2", "l1"])
@pytest.mark.parametrize("records", [40, 4000])
def test_wanted_tables_agree_with_the_views(norm: str, records: int) -> None:
    tables = views(joint(4), 2, 5, records)
    found = consistent_tables(tables, ["abc", ("d", "c", "b"), "abcd"], norm=norm)  # type: ignore[arg-type]
    assert is_consistent(found)
    assert found["d", "c", "b"].shape == (2, 2, 3)


def test_wanted_tables_are_the_smallest_of_those_that_fit() -> None:
    tables = views(joint(4, 5.0), 2, 5, 40_000)
    found = consistent_tables(tables, ["abc"])
    settled = [NoisyTable(t.attributes, found[t.attributes]) for t in tables]
    exact = reconstruct_printed("abc", settled)
    np.testing.assert_allclose(found["a", "b", "c"], exact, atol=1e-9)


def test_tables_without_a_common_joint_are_moved_until_they_have_one() -> None:
    # Each attribute differs from each other: possible for pairs, not for three binary ones.
    apart = np.array([[0.0, 0.5], [0.5, 0.0]])
    tables = [NoisyTable(names, apart) for names in combinations("acd", 2)]
    assert largest_disagreement(tables) == 0
    with pytest.raises(DeniableError, match="without a negative cell"):
        reconstruct_printed("acd", tables)
    found = consistent_tables(tables, ["acd"])
    assert is_consistent(found)
    # By symmetry two of three differ always: each pair with probability 2/3.
    np.testing.assert_allclose(found["a", "c"], [[1 / 6, 1 / 3], [1 / 3, 1 / 6]], atol=1e-6)


@pytest.mark.parametrize("wanted", ["ab", "ba", "abc", "bcd", "abcd"])
def test_the_printed_program_for_consistent_tables(wanted: str) -> None:
    # Inside one view (ab, abc), inside several (ab is in abc too), in none (bcd, abcd).
    truth = joint(6, 0.3)
    tables = [NoisyTable(tuple(n), margin_of(truth, n)) for n in ("ab", "bc", "cd", "ad", "abc")]
    found = reconstruct_printed(wanted, tables)
    assert found.min() >= 0
    assert found.sum() == pytest.approx(1, abs=1e-9)
    own = NoisyTable(tuple(wanted), found)
    assert largest_disagreement([*tables, own]) < 1e-8
    if set(wanted) <= set("abc"):
        np.testing.assert_allclose(found, margin_of(truth, wanted), atol=1e-12)
    rows, values = [], []
    for table in tables:
        shared = tuple(n for n in wanted if n in table.attributes)
        if shared:
            rows.append(summing(tuple(wanted), shared))
            values.append(margin_of(table, shared).reshape(-1))
    plain = printed(np.vstack(rows), np.concatenate(values))
    assert plain is not None
    np.testing.assert_allclose(found.reshape(-1), plain, atol=1e-6)


def test_the_printed_program_has_no_solution_with_noise() -> None:
    tables = views(joint(7), 2, 8, 500)
    with pytest.raises(DeniableError, match="disagree on shared marginals by up to"):
        reconstruct_printed("abc", tables)
    pairs = [t for t in tables if set(t.attributes) <= set("abc")]
    rows = np.vstack([summing(("a", "b", "c"), t.attributes) for t in pairs])
    values = np.concatenate([t.proportions.reshape(-1) for t in pairs])
    assert printed(rows, values) is None


@SEEDED
@given(st.integers(0, 10**6), st.sampled_from([30, 300, 3000]), st.sampled_from(["l2", "l1"]))
def test_any_views_become_consistent(seed: int, records: int, norm: str) -> None:
    rng = np.random.default_rng(seed)
    pool = [n for k in (1, 2, 3) for n in combinations("abcd", k)]
    chosen = [pool[i] for i in rng.choice(len(pool), 4, replace=False)]
    tables = [
        NoisyTable(
            names, rng.normal(0.1, 3 / records**0.5, [SIZES[n] for n in names]), 1 + seed % 3
        )
        for names in chosen
    ]
    known = sorted({n for names in chosen for n in names})
    found = consistent_tables(tables, [known], norm=norm)  # type: ignore[arg-type]
    assert is_consistent(found)


@pytest.mark.parametrize("wanted", [[], ["acd"]])
def test_what_a_solver_leaves_below_zero_is_shrunk_away(
    wanted: list[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    # Pairs that always differ are the limit of these tables. A solver that goes beyond it, to
    # -1/1000, is made good by moving all tables towards even ones, not cell by cell: what lies
    # between agreeing tables and even ones agrees.
    solve = programs.least_squares
    monkeypatch.setattr(programs, "least_squares", lambda *given: solve(*given) * 1.004)
    beyond = np.array([[-0.1, 0.6], [0.6, -0.1]])
    tables = [NoisyTable(names, beyond) for names in (("a", "c"), ("a", "d"))]
    found = consistent_tables(tables, wanted)
    assert is_consistent(found)
    for table in tables:
        np.testing.assert_allclose(found[table.attributes], [[0, 0.5], [0.5, 0]], atol=0.005)


def test_consistency_lowers_the_error() -> None:
    # Averages of shared margins are more precise; the mean over 40 sets of views, 5 errors apart.
    gains = []
    for seed in range(40):
        truth = joint(seed, 2.0)
        tables = [NoisyTable(t.attributes, t.proportions) for t in views(truth, 2, seed, 2000)]
        found = consistent_tables(tables)
        for table in tables:
            margin = margin_of(truth, table.attributes)
            before = ((table.proportions - margin) ** 2).sum()
            gains.append(before - ((found[table.attributes] - margin) ** 2).sum())
    assert np.mean(gains) > 5 * np.std(gains) / len(gains) ** 0.5


@pytest.mark.parametrize(
    ("call", "message"),
    [
        (lambda: consistent_tables([]), "at least one"),
        (lambda: consistent_tables([joint(1)], norm="l3"), "unknown norm 'l3'"),  # type: ignore[arg-type]
        (lambda: consistent_tables([joint(1)], ["ax"]), "no table has the attribute 'x'"),
        (lambda: NoisyTable(("a", "a"), np.ones((2, 2))), "each attribute once"),
        (lambda: NoisyTable(("a",), np.ones((2, 2))), "one axis per attribute"),
        (lambda: NoisyTable(("a",), np.array([np.nan, 1])), "not finite"),
        (lambda: NoisyTable(("a",), np.ones(2), 0.0), "must be positive"),
        (
            lambda: consistent_tables(
                [NoisyTable(("a",), np.ones(2) / 2), NoisyTable(("a",), np.ones(3) / 3)]
            ),
            "2 categories in one table and 3",
        ),
    ],
)
def test_refusals(call: object, message: str) -> None:
    with pytest.raises(DeniableError, match=message):
        call()  # type: ignore[operator]
