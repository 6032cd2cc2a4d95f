"""RRBA of one table: equation (4), rules, floors, and blocks drawn as counts."""

import itertools
import math
from collections import Counter
from collections.abc import Callable, Sequence
from fractions import Fraction
from typing import Any

import numpy as np
import numpy.typing as npt
import pytest
from hypothesis import given, settings, strategies as st
from scipy import special

from deniable.arrays import Counts
from deniable.channels import KeepOrReplace
from deniable.errors import DeniableError
from deniable.records.domain import Attribute, Domain
from deniable.rrba.client import Client
from deniable.rrba.collection import TableAnswers
from deniable.rrba.protocol import (
    Aggregator,
    Server,
    collect,
    multinomial_rows,
    run_rrba,
    split_blocks,
)
from deniable.rrba.tables import (
    DIVERGENCE_THRESHOLD,
    POOLED,
    PRINTED,
    PRINTED_FIRST_VERSION,
    Rule,
    TableState,
    drawn_distribution,
    floored_projection,
    printed_estimate,
    table_channel,
)
from deniable.sampling import multinomial

ERROR_RATE = 1e-6  # of each test with random draws
Z = 4.9  # the normal quantile of that error rate, two-sided
TRUTH = np.array([0.5, 0.3, 0.15, 0.05])
HALF = (0.5, 0.5)
counts_of = st.lists(st.integers(0, 50), min_size=1, max_size=7)
keeps = st.floats(0.05, 0.95)


def sampled_blocks(
    truth: npt.ArrayLike, sizes: Sequence[int], runs: int, generator: np.random.Generator
) -> Counts:
    """Draw clients for blocks of `sizes` clients, with replacement, shape (runs, blocks, cells)."""
    return multinomial(generator, np.broadcast_to(sizes, (runs, len(sizes))), np.asarray(truth))


# -- equation (4) ----------------------------------------------------------------------------------


def test_equation_4_by_hand() -> None:
    # o / n = (3/4, 1/4, 0), T uniform, p = 2/5: (o / n - 3/5 * 1/3) * 5/2.
    expected = [(o - Fraction(1, 5)) * Fraction(5, 2) for o in (Fraction(3, 4), Fraction(1, 4), 0)]
    assert expected == [Fraction(11, 8), Fraction(1, 8), Fraction(-1, 2)]
    found = printed_estimate([3, 1, 0], np.full(3, 1 / 3), 0.4)
    np.testing.assert_allclose(found, np.array(expected, dtype=float), atol=1e-12)


@settings(deadline=None, derandomize=True)
@given(counts_of, keeps, st.integers(0, 10**6))
def test_equation_4_inverts_the_channel_and_keeps_the_sum(
    counts: list[int], keep: float, seed: int
) -> None:
    table = np.random.default_rng(seed).dirichlet(np.ones(len(counts)))
    found = printed_estimate(counts, table, keep)
    assert found.sum() == pytest.approx(1.0, abs=1e-9)
    if len(counts) > 1 and sum(counts):
        channel = table_channel(table, keep)
        np.testing.assert_allclose(found, channel.estimate(counts), atol=1e-9)


def test_a_table_of_one_client_is_invalid_whatever_p() -> None:
    for keep in (0.05, 0.5, 0.95):
        after = TableState.uniform(4).updated([0, 1, 0, 0], keep, PRINTED)
        assert after.table.min() == pytest.approx(-(1 - keep) / (4 * keep))


# -- rules -----------------------------------------------------------------------------------------


@settings(deadline=None, derandomize=True)
@given(st.lists(st.floats(-5, 5), min_size=1, max_size=8), st.floats(0, 1))
def test_a_floored_projection_is_the_closest_table_on_the_floor(
    estimate: list[float], floor: float
) -> None:
    table = floored_projection(estimate, floor)
    least = floor / len(estimate)
    assert table.sum() == pytest.approx(1.0, abs=1e-9)
    assert table.min() >= least * (1 - 1e-12)
    # Optimality: entries above the floor are shifted alike, those on it by no more than that.
    shifts = np.array(estimate) - table
    above = table > least + 1e-9
    if above.any():
        assert np.ptp(shifts[above]) < 1e-9
        assert np.all(shifts[~above] <= shifts[above].max() + 1e-9)


def test_a_floored_projection_leaves_a_table_above_the_floor_as_it_is() -> None:
    np.testing.assert_allclose(floored_projection(TRUTH, 0.1), TRUTH, atol=1e-15)
    assert floored_projection(TRUTH, 1.0).tolist() == [0.25] * 4
    np.testing.assert_allclose(floored_projection([1.5, -0.5], 0.0), [1.0, 0.0], atol=1e-15)


def test_fake_answers_of_an_invalid_table_by_hand() -> None:
    # Cumulative -.2, .5, .3, 1.2 -> a cell is hit where its sum exceeds all sums before it.
    table = np.array([[-0.2, 0.7, -0.2, 0.9, -0.2], [0.1, 0.2, 0.3, 0.1, 0.3]])
    expected = [[0, 0.5, 0, 0.5, 0], [0.1, 0.2, 0.3, 0.1, 0.3]]
    np.testing.assert_allclose(drawn_distribution(table), expected, atol=1e-15)


@settings(deadline=None, derandomize=True)
@given(st.lists(st.floats(-3, 3), min_size=2, max_size=6), st.floats(0, 1, exclude_max=True))
def test_fake_answers_follow_equation_3_to_the_letter(entries: list[float], u: float) -> None:
    table = np.array([*entries, 1 - sum(entries)])
    sums = np.cumsum(table)
    sums[-1] = 1.0
    first = int(np.argmax(u < sums))
    drawn = drawn_distribution(table)
    if table.min() < 0 and np.abs(u - sums).min() > 1e-9:
        below = drawn[:first].sum()
        assert below <= u + 1e-9
        assert u < below + drawn[first] + 1e-9


@pytest.mark.parametrize("rule", [PRINTED, PRINTED_FIRST_VERSION, POOLED, Rule("none")])
def test_a_block_without_answers_changes_nothing(rule: Rule) -> None:
    before = TableState.uniform(4).updated([5, 3, 1, 1], 0.4, rule)
    after = before.updated([0, 0, 0, 0], 0.4, rule)
    np.testing.assert_array_equal(after.table, before.table)
    np.testing.assert_array_equal(after.counts, before.counts)
    np.testing.assert_array_equal(after.exposure, before.exposure)


@pytest.mark.parametrize("rule", [PRINTED, PRINTED_FIRST_VERSION, POOLED, Rule("none")])
def test_one_category(rule: Rule) -> None:
    state = TableState.uniform(1).updated([7], 0.3, rule)
    assert state.table.tolist() == pytest.approx([1.0])
    assert state.estimate(0.3).tolist() == pytest.approx([1.0])
    runs = collect(np.full((2, 3, 1), 5), 0.3, np.random.default_rng(1), rule)
    assert np.all(runs.reported == 5)


def test_ten_thousand_categories() -> None:
    generator = np.random.default_rng(1)
    truth = generator.dirichlet(np.ones(10_000))
    runs = collect(sampled_blocks(truth, (250,) * 4, 3, generator), 0.5, generator)
    assert np.all(runs.reported.sum(axis=-1) == 250)
    np.testing.assert_allclose(runs.estimate().sum(axis=-1), 1.0, atol=1e-9)
    assert runs.tables.min() >= 0.1 / 10_000 * (1 - 1e-12)


def test_estimates_before_any_answer_are_uniform() -> None:
    assert TableState.uniform(4).estimate(0.5).tolist() == [0.25] * 4
    runs = collect(np.zeros((1, 2, 4), dtype=int), 0.5, np.random.default_rng(1))
    assert np.all(printed_estimate(runs.reported, runs.tables, runs.keep) == 0.25)


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (("weekly",), "unknown basis 'weekly'"),
        (("second_version", 1.5), "the floor is 1.5"),
    ],
)
def test_unknown_rules_are_refused(arguments: tuple, message: str) -> None:
    with pytest.raises(DeniableError, match=message):
        Rule(*arguments)


def test_other_nonsense_is_refused() -> None:
    generator = np.random.default_rng(1)
    with pytest.raises(DeniableError, match="at least 1 cell"):
        TableState.uniform(0)
    with pytest.raises(DeniableError, match="axes run, block, cell"):
        collect(np.ones((2, 3)), 0.5, generator)
    with pytest.raises(DeniableError, match=r"must be in \(0, 1\)"):
        collect(np.ones((1, 1, 2), dtype=int), 1.0, generator)
    with pytest.raises(DeniableError, match="blocks of 0"):
        split_blocks([3, 3], 0, generator)


# -- what is no count ------------------------------------------------------------------------------


@pytest.mark.parametrize(
    "use",
    [
        lambda counts: printed_estimate(counts, HALF, 0.5),
        lambda counts: TableState.uniform(2).updated(counts, 0.5, POOLED),
        lambda counts: split_blocks(counts, 3, np.random.default_rng(1)),
        lambda counts: TableAnswers(0.5, np.array([counts]), np.array([HALF])),
    ],
)
def test_a_negative_count_is_refused(use: Callable[[Any], object]) -> None:
    with pytest.raises(DeniableError, match="a cell has the count -3"):
        use((-3, 1))
    use((3, 1))


@pytest.mark.parametrize("counts", [(1.0, math.nan), (1.0, math.inf), (1, 2, 3), ("3", "1"), 3])
def test_other_counts_that_are_none_are_refused(counts: Any) -> None:
    with pytest.raises(DeniableError, match="counts"):
        printed_estimate(counts, HALF, 0.5)
    with pytest.raises(DeniableError, match="counts"):
        TableState.uniform(2).updated(counts, 0.5, POOLED)


# -- what the rules do -----------------------------------------------------------------------------


@pytest.mark.parametrize("keep", [0.3, 0.7])
def test_the_first_version_multiplies_its_error(keep: float) -> None:
    # So many reports, as expected under uniform tables and a uniform truth, that two more move
    # nothing: T' - 1/2 = (1/2 - (1 - p) T) / p - 1/2 = -(1 - p) / p (T - 1/2).
    many = np.full(2, 10**15)
    state = TableState(np.array([0.6, 0.4]), many, np.full(2, 1e15))
    distances = [0.1]
    for _ in range(5):
        state = state.updated([1, 1], keep, PRINTED_FIRST_VERSION)
        distances.append(float(state.table[0]) - 0.5)
    ratios = np.array(distances[1:]) / np.array(distances[:-1])
    np.testing.assert_allclose(ratios, -(1 - keep) / keep, rtol=1e-9)


@pytest.mark.parametrize(("keep", "diverges"), [(0.3, True), (0.45, True), (0.7, False)])
def test_algorithm_1_as_printed_diverges_below_one_half(keep: float, diverges: bool) -> None:
    generator = np.random.default_rng(20240408)
    clients = sampled_blocks(TRUTH, (1,) * 400, 40, generator)
    printed = collect(clients, keep, generator, PRINTED_FIRST_VERSION)
    assert np.all(printed.tables[:, 1].min(axis=-1) < 0)  # invalid after the first client
    lost = np.abs(printed.state.table).max(axis=-1) > DIVERGENCE_THRESHOLD
    assert lost.all() if diverges else not lost.any()
    mended = collect(clients, keep, generator, POOLED)
    assert mended.tables.min() >= 0.1 / 4 * (1 - 1e-12)
    errors = np.abs(mended.estimate() - TRUTH).max(axis=-1)
    assert errors.max() < Z * math.sqrt(0.25 / 400) / keep + 0.1


def test_the_block_version_diverges_too_once_it_has_left_the_simplex() -> None:
    generator = np.random.default_rng(1)
    runs = collect(sampled_blocks(TRUTH, (250,) * 200, 40, generator), 0.25, generator, PRINTED)
    assert np.all(np.abs(runs.state.table).max(axis=-1) > DIVERGENCE_THRESHOLD)


@pytest.mark.parametrize("rule", [PRINTED, PRINTED_FIRST_VERSION])
def test_rounding_alone_does_not_lead_a_printed_table_astray(rule: Rule) -> None:
    # (3/2)^400 times a rounding error; blocks so large that tables stay near the truth for long.
    generator = np.random.default_rng(2)
    runs = collect(sampled_blocks(TRUTH, (100_000,) * 400, 20, generator), 0.4, generator, rule)
    mild = np.abs(runs.tables).max(axis=-1) < 10
    assert mild[:, 3].all()  # the first version leaves soon after
    np.testing.assert_allclose(runs.tables.sum(axis=-1)[mild], 1.0, atol=1e-12)
    np.testing.assert_allclose(runs.drawn_from.sum(axis=-1), 1.0, atol=1e-9)
    assert np.abs(runs.estimate() - TRUTH).max() < Z * 0.5 / 0.4 / math.sqrt(4e7)


@pytest.mark.parametrize("rule", [PRINTED, POOLED, Rule("none"), Rule("second_version", 0.2)])
@pytest.mark.parametrize("keep", [0.3, 0.6])
def test_pooled_estimates_are_unbiased_with_the_stated_errors(rule: Rule, keep: float) -> None:
    generator = np.random.default_rng(7)
    runs = collect(sampled_blocks(TRUTH, (50,) * 20, 4000, generator), keep, generator, rule)
    estimate = runs.estimate()
    np.testing.assert_allclose(estimate, runs.running_estimates()[:, -1], atol=1e-12)
    error = estimate.std(axis=0, ddof=1)
    assert np.all(np.abs(estimate.mean(axis=0) - TRUTH) < Z * error / math.sqrt(4000))
    stated = np.sqrt((runs.running_standard_errors()[:, -1] ** 2).mean(axis=0))
    np.testing.assert_allclose(stated, error, rtol=0.09)


def test_standard_errors_against_the_sum_over_blocks() -> None:
    generator = np.random.default_rng(3)
    runs = collect(sampled_blocks(TRUTH, (30, 50, 10), 2, generator), 0.4, generator)
    for run, reached in itertools.product(range(2), range(3)):
        pi = np.clip(runs.running_estimates()[run, reached], 0, 1)
        variance, total = 0.0, 0
        for block in range(reached + 1):
            n = runs.reported[run, block].sum()
            reported = 0.4 * pi + 0.6 * runs.tables[run, block]
            variance, total = variance + n * reported * (1 - reported), total + n
        np.testing.assert_allclose(
            runs.running_standard_errors()[run, reached],
            np.sqrt(variance) / (0.4 * total),
            atol=1e-12,
        )


# -- draws -----------------------------------------------------------------------------------------


def test_rows_of_multinomials_have_their_probabilities() -> None:
    probabilities = np.array([[0.5, 0.5, 0.0], [0.0, 0.3, 0.7], [1.0, 0.0, 0.0]])
    rows = np.repeat(np.arange(3), 3000)
    drawn = multinomial_rows(np.random.default_rng(1), np.full(9000, 4), probabilities[rows])
    assert np.all(drawn.sum(axis=1) == 4)
    totals = np.array([drawn[rows == row].sum(axis=0) for row in range(3)])
    assert np.all(totals[probabilities == 0] == 0)
    spread = np.sqrt(12_000 * probabilities * (1 - probabilities))
    assert np.all(np.abs(totals - 12_000 * probabilities) <= Z * spread)


def test_a_file_is_dealt_out_record_by_record() -> None:
    file = np.array([7, 0, 4, 1])
    generator = np.random.default_rng(1)
    dealt = np.stack([split_blocks(file, 5, generator) for _ in range(200)])
    assert np.all(dealt.sum(axis=1) == file)
    assert np.all(dealt.sum(axis=2) == [5, 5, 2])
    assert len({tuple(run.reshape(-1)) for run in dealt}) > 20


def exact_paths(truth: list[Fraction], keep: Fraction) -> dict[tuple[int, int], Fraction]:
    """Return the probability of each pair of counts of cell 0, in block 1 and in block 2.

    Blocks of 2 clients, 2 cells, the pooled rule with floor 1/2.
    """
    paths: dict[tuple[int, int], Fraction] = {}
    half = Fraction(1, 2)
    for first in range(3):
        chance = keep * truth[0] + (1 - keep) * half
        weight = math.comb(2, first) * chance**first * (1 - chance) ** (2 - first)
        estimate = (Fraction(first, 2) - (1 - keep) * half) / keep
        table = min(max(estimate, Fraction(1, 4)), Fraction(3, 4))
        chance = keep * truth[0] + (1 - keep) * table
        for second in range(3):
            then = math.comb(2, second) * chance**second * (1 - chance) ** (2 - second)
            paths[first, second] = weight * then
    assert sum(paths.values()) == 1
    return paths


def p_value(observed: Counter, exact: dict[tuple[int, int], Fraction]) -> float:
    runs = sum(observed.values())
    statistic = sum(
        (observed[path] - runs * float(q)) ** 2 / (runs * float(q)) for path, q in exact.items()
    )
    return float(special.chdtrc(len(exact) - 1, statistic))


def test_clients_and_counts_have_the_same_exact_distribution() -> None:
    """Two blocks of two clients: all nine outcomes against fractions, one by one and as counts."""
    exact = exact_paths([Fraction(3, 4), Fraction(1, 4)], Fraction(1, 2))
    rule = Rule("pooled", 0.5)
    generator = np.random.default_rng(5)
    fast = collect(sampled_blocks([0.75, 0.25], (2, 2), 40_000, generator), 0.5, generator, rule)
    pairs = map(tuple, fast.reported[:, :, 0].tolist())
    assert p_value(Counter(pairs), exact) > ERROR_RATE

    domain = Domain((Attribute("a", ("0", "1")),))
    slow: Counter = Counter()
    for _ in range(2000):
        codes = (generator.random(4) >= 0.75).astype(int).tolist()
        clients = [Client(f"c{i}", domain, [c], math.inf, generator) for i, c in enumerate(codes)]
        server = Server()
        aggregator = Aggregator(domain, [(("a",),)], 0.5, generator, rule)
        run_rrba(aggregator, server, clients, 2)
        slow[tuple(report.counts[0] for report in server._reports.get(("a",), []))] += 1
    assert p_value(slow, exact) > ERROR_RATE


def test_counts_of_given_clients_have_the_channels_moments() -> None:
    true = np.array([30, 15, 5])
    runs = collect(
        np.broadcast_to(true, (20_000, 1, 3)), 0.4, np.random.default_rng(2), Rule("none")
    )
    P = KeepOrReplace.uniform(3, keep=0.4).matrix()
    mean = true @ P
    spread = sum(n * (np.diag(row) - np.outer(row, row)) for n, row in zip(true, P, strict=True))
    found = runs.reported[:, 0]
    reach = Z * np.sqrt(np.diag(spread) / 20_000)
    assert np.all(np.abs(found.mean(axis=0) - mean) < reach)
    np.testing.assert_allclose(np.cov(found.T), spread, atol=0.06 * spread.max())


@settings(max_examples=30, deadline=None, derandomize=True)
@given(
    st.integers(1, 4),
    st.lists(st.integers(0, 8), min_size=1, max_size=5),
    st.sampled_from([PRINTED, PRINTED_FIRST_VERSION, POOLED, Rule("none")]),
    keeps,
)
def test_any_blocks_keep_counts_and_sums(
    cells: int, sizes: list[int], rule: Rule, keep: float
) -> None:
    generator = np.random.default_rng(1)
    clients = sampled_blocks(np.full(cells, 1 / cells), sizes, 3, generator)
    runs = collect(clients, keep, generator, rule)
    assert np.all(runs.reported.sum(axis=-1) == sizes)
    assert np.all(runs.reported >= 0)
    np.testing.assert_allclose(runs.estimate().sum(axis=-1), 1.0, atol=1e-9)
    np.testing.assert_allclose(runs.drawn_from.sum(axis=-1), 1.0, atol=1e-6)
