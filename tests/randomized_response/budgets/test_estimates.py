"""What reports say: against the channels' own estimates, exact enumeration, and simulation."""

from fractions import Fraction
from itertools import combinations, product

import numpy as np
import pytest
from scipy import stats
from tests.randomized_response.budgets.test_plan import (
    ALARM,
    DOMAIN,
    PLANS,
    domain_of,
)

from deniable.channels import DenseChannel, KeepOrReplace, ProductChannel
from deniable.errors import DataError, DeniableError, SingularChannelError
from deniable.randomized_response.budgets import (
    Group,
    Question,
    QuestionPlan,
    Reports,
    compare_budgets,
    estimate_table,
    planned_variances,
    sample_attribute,
    share_pairs,
    split_clusters,
    split_record,
)
from deniable.records import Attribute, Domain

TARGETS = pytest.mark.parametrize("target", ["file", "population"])
TABLES = [("a0",), ("a1",), ("a0", "a1"), ("a2", "a0"), ("a1", "a2")]


def dependent_records(persons: int, generator: np.random.Generator) -> np.ndarray:
    cells = generator.choice(12, persons, p=np.arange(1, 13) / 78)
    return np.stack(np.unravel_index(cells, (2, 3, 2)), axis=1)


@TARGETS
def test_a_split_record_is_estimated_as_a_product_of_channels(target):
    plan = split_record(DOMAIN, 3.0, "size")
    reports = plan.randomize(dependent_records(700, np.random.default_rng(1)), _generator(2))
    channels = [question.channel for question in plan.groups[0].questions]
    for names in (("a2", "a0"), ("a1",), ("a0", "a1", "a2")):
        positions = [int(name[1]) for name in names]
        channel = ProductChannel(tuple(channels[position] for position in positions))
        told = np.ravel_multi_index(
            [reports.answers[0][position] for position in positions], channel.shape
        )
        counts = np.bincount(told, minlength=channel.size)
        found = estimate_table(plan, reports, names, target)
        np.testing.assert_allclose(found.proportions.reshape(-1), channel.estimate(counts))
        np.testing.assert_allclose(
            found.standard_errors.reshape(-1), channel.standard_errors(counts, target), rtol=1e-9
        )
        assert found.persons == 700
        assert found.proportions.shape == channel.shape


@TARGETS
def test_margins_of_a_cluster_are_sums_of_its_cells(target):
    plan = split_clusters(DOMAIN, (("a2", "a1"), ("a0",)), 3.0)
    reports = plan.randomize(dependent_records(700, np.random.default_rng(3)), _generator(4))
    joint, alone = (question.channel for question in plan.groups[0].questions)
    first, second = reports.answers[0]
    counts = np.bincount(first, minlength=6)
    sums = np.kron(np.ones((1, 2)), np.eye(3))
    found = estimate_table(plan, reports, ["a1"], target)
    np.testing.assert_allclose(found.proportions, sums @ joint.estimate(counts), atol=1e-12)
    np.testing.assert_allclose(
        found.standard_errors, joint.standard_errors(counts, target, sums), rtol=1e-9
    )
    whole = estimate_table(plan, reports, ["a1", "a2"], target)
    np.testing.assert_allclose(whole.proportions.T.reshape(-1), joint.estimate(counts), atol=1e-12)
    both = np.kron(np.kron(np.ones((1, 2)), np.eye(3)), np.eye(2))
    product_channel = ProductChannel((joint, alone))
    table = np.bincount(first * 2 + second, minlength=12)
    across = estimate_table(plan, reports, ["a1", "a0"], target)
    np.testing.assert_allclose(
        across.proportions.reshape(-1), both @ product_channel.estimate(table), atol=1e-12
    )
    np.testing.assert_allclose(
        across.standard_errors.reshape(-1),
        product_channel.standard_errors(table, target, both),
        rtol=1e-9,
    )


def test_disjoint_groups_of_a_file_in_all_their_ways():
    # Five records in groups of two and three, each asked by a channel of its own: ten ways to be
    # drawn, times what may be reported. The estimate's mean is the truth, and the mean of the
    # estimated variance its variance, exactly.
    channels = (KeepOrReplace.uniform(2, 0.5), DenseChannel(np.array([[0.75, 0.25], [0.5, 0.5]])))
    domain = domain_of(2)
    groups = tuple(
        Group(weight, (Question(("a0",), channel, (2,)),))
        for weight, channel in zip((2, 3), channels, strict=True)
    )
    plan, truth = QuestionPlan(domain, groups), (0, 0, 1, 0, 1)
    chances, values, variances = [], [], []
    for first in combinations(range(5), 2):
        asked = np.array([0 if person in first else 1 for person in range(5)])
        for told in product(range(2), repeat=5):
            chance = Fraction(1, 10)
            for person, answer in enumerate(told):
                chance *= channels[asked[person]].exact_column(answer)[truth[person]]
            answers = tuple((np.array(told)[asked == number],) for number in range(2))
            found = estimate_table(plan, Reports(asked, answers), ["a0"], "file")
            chances.append(float(chance))
            values.append(found.proportions[0])
            variances.append(found.standard_errors[0] ** 2)
    p, v = np.array(chances), np.array(values)
    assert p.sum() == pytest.approx(1, abs=1e-12)
    assert p @ v == pytest.approx(3 / 5, abs=1e-12)
    assert np.all(np.isfinite(variances))
    assert p @ np.array(variances) == pytest.approx(p @ (v - 3 / 5) ** 2, rel=1e-12)


def _generator(seed: int) -> np.random.Generator:
    return np.random.default_rng([seed, 20261124])


@TARGETS
@pytest.mark.parametrize("plan", PLANS.values(), ids=PLANS.keys())
def test_estimates_are_unbiased_and_their_errors_right(plan, target):
    """By simulation: z of the mean, and of the mean estimated variance against the spread.

    A coarse grid is told the truth only if records are even within ranges; the plan that has one
    asks for a1 as a whole in another group, so that only its pair with a2 is biased.
    """
    runs, persons, generator = 150, 600, _generator(5)
    fixed = dependent_records(persons, generator)
    tables = [names for names in TABLES if _is_told(plan, names)]
    found = {names: [] for names in tables}
    for _ in range(runs):
        records = fixed if target == "file" else dependent_records(persons, generator)
        reports = plan.randomize(records, generator)
        for names in tables:
            told = estimate_table(plan, reports, names, target)
            found[names].append([told.proportions.reshape(-1), told.standard_errors.reshape(-1)])
    for names, each in found.items():
        values, errors = np.array(each).transpose(1, 0, 2)
        truth = _truth(fixed if target == "file" else None, names)
        if not (plan is PLANS["mixed"] and set(names) == {"a1", "a2"}):
            z = (values.mean(axis=0) - truth) / (values.std(axis=0, ddof=1) / np.sqrt(runs))
            assert np.abs(z).max() < stats.t.isf(ALARM / 2 / len(truth), runs - 1), names
        # The spread's own error is some sqrt(2 / runs) of the variance.
        ratio = values.var(axis=0, ddof=1) / np.mean(errors**2, axis=0)
        assert np.all(np.abs(ratio - 1) < 7 * np.sqrt(2 / runs)), (names, ratio)


def _is_told(plan: QuestionPlan, names: tuple[str, ...]) -> bool:
    return any(
        set(names) <= {name for question in group.questions for name in question.names}
        for group in plan.groups
    )


def _truth(records: np.ndarray | None, names: tuple[str, ...]) -> np.ndarray:
    table = (np.arange(1, 13) / 78).reshape(2, 3, 2)
    if records is not None:
        table = np.zeros((2, 3, 2))
        np.add.at(table, tuple(records.T), 1 / len(records))
    axes = [int(name[1]) for name in names]
    left_out = tuple(axis for axis in range(3) if axis not in axes)
    margin = table.sum(axis=left_out)
    return margin.transpose(np.argsort(np.argsort(axes))).reshape(-1)


@pytest.mark.parametrize("plan", PLANS.values(), ids=PLANS.keys())
def test_planned_variances_are_the_errors_at_uniform_truth(plan):
    runs, persons, generator = 150, 2000, _generator(6)
    tables = [names for names in TABLES if _is_told(plan, names)]
    squares = {names: [] for names in tables}
    for _ in range(runs):
        records = np.stack([generator.integers(s, size=persons) for s in DOMAIN.shape], axis=1)
        reports = plan.randomize(records, generator)
        for names in tables:
            found = estimate_table(plan, reports, names).proportions
            squares[names].append(np.mean((found - 1 / found.size) ** 2))
    for names, errors in squares.items():
        planned = planned_variances(plan, names, persons)
        z = (np.mean(errors) - planned.mean()) / (np.std(errors, ddof=1) / np.sqrt(runs))
        # Groups of random sizes are a little worse than of the expected ones: 1 / m in all.
        assert abs(z) < stats.norm.isf(ALARM / 2) + 0.5, (names, z)


def test_a_coarse_grid_is_even_within_its_ranges():
    domain = domain_of(4, 5)
    plan = QuestionPlan(
        domain, (Group(1, (Question(("a0", "a1"), KeepOrReplace(1.0, np.zeros(4)), (2, 2)),)),)
    )
    records = np.array([[0, 0], [1, 4], [3, 2], [3, 3]])
    found = estimate_table(plan, plan.randomize(records, _generator(7)), ["a1", "a0"])
    # Ranges of a1 are 0 to 2 and 3 to 4: cells of a quarter each, over 3 x 2 and 2 x 2 categories.
    expected = np.kron([[1 / 24, 1 / 24], [1 / 16, 1 / 16]], np.ones((1, 2)))
    np.testing.assert_allclose(found.proportions, np.repeat(expected, [3, 2], axis=0), atol=1e-15)
    margin = estimate_table(plan, plan.randomize(records, _generator(7)), ["a0"])
    np.testing.assert_allclose(margin.proportions, np.full(4, 0.25), atol=1e-15)


def test_variances_through_a_coarse_grid_are_those_of_its_scores():
    # Of one cell each, 8 records whose reports have exactly the proportions of their rows.
    channel = KeepOrReplace.uniform(4, 0.5)
    question = Question(("a0", "a1"), channel, (2, 2))
    plan = QuestionPlan(domain_of(4, 4), (Group(1, (question,)),))
    counts = np.array([2, 0, 5, 1])
    told = [np.repeat(range(4), np.where(np.arange(4) == u, 5, 1)) for u in range(4)]
    answers = np.concatenate([np.tile(told[u], n) for u, n in enumerate(counts.tolist())])
    reports = Reports(np.zeros(len(answers), dtype=int), ((answers,),))
    # a0 falls into halves of two: each of its categories has half of the scores of two cells.
    scores = np.linalg.inv(channel.matrix()) @ np.kron(np.eye(2), np.ones((2, 1))) / 2
    given = channel.matrix() @ scores**2 - (channel.matrix() @ scores) ** 2
    expected = np.sqrt(np.repeat(counts / counts.sum() @ given, 2) / len(answers))
    found = estimate_table(plan, reports, ["a0"], "file")
    np.testing.assert_allclose(found.standard_errors, expected, rtol=1e-9)


def test_only_full_grids_are_used_where_there_are_any():
    domain = Domain((*domain_of(4, 2).attributes, Attribute("b", ("x", "y"))))
    plan = QuestionPlan(
        domain,
        (
            Group(1, (Question(("a0", "a1"), KeepOrReplace.of_epsilon(4, 1.0), (2, 2)),)),
            Group(1, (Question(("a0", "b"), KeepOrReplace.of_epsilon(8, 1.0), (4, 2)),)),
        ),
    )
    reports = plan.randomize(np.zeros((400, 3), dtype=int), _generator(8))
    assert estimate_table(plan, reports, ["a0"]).persons == reports.persons(1)
    assert estimate_table(plan, reports, ["a1"]).persons == reports.persons(0)


def test_intervals_hold_the_estimate_give_or_take_normal_errors():
    plan = sample_attribute(DOMAIN, 2.0)
    reports = plan.randomize(dependent_records(500, _generator(9)), _generator(10))
    found = estimate_table(plan, reports, ["a1"])
    low, high = found.intervals(0.95)
    np.testing.assert_allclose((low + high) / 2, found.proportions)
    np.testing.assert_allclose(high - low, 2 * 1.959963984540054 * found.standard_errors)
    with pytest.raises(DeniableError):
        found.intervals(1.5)


def test_what_cannot_be_estimated_is_said():
    plan = sample_attribute(DOMAIN, 1.0)
    reports = plan.randomize(dependent_records(50, _generator(11)), _generator(12))
    with pytest.raises(DeniableError, match="a0 and a1 together"):
        estimate_table(plan, reports, ["a0", "a1"])
    with pytest.raises(DeniableError, match="a0 and a1 together"):
        planned_variances(plan, ["a0", "a1"], 100)
    with pytest.raises(DataError, match="no attribute 'b'"):
        estimate_table(plan, reports, ["b"])
    with pytest.raises(DeniableError):
        estimate_table(plan, reports, ["a0", "a0"])
    with pytest.raises(DeniableError, match="target"):
        estimate_table(plan, reports, ["a0"], "sample")
    with pytest.raises(DeniableError, match="2 persons"):
        estimate_table(plan, plan.randomize(np.zeros((1, 3), int), _generator(0)), ["a0"])
    with pytest.raises(DeniableError, match="at least 1"):
        planned_variances(plan, ["a0"], 0)
    dull = QuestionPlan(
        domain_of(2, 2),
        (Group(1, (Question(("a0", "a1"), KeepOrReplace.uniform(4, 0.0), (2, 2)),)),),
    )
    told = dull.randomize(np.zeros((9, 2), int), _generator(1))
    for names in (["a0"], ["a0", "a1"]):
        with pytest.raises(SingularChannelError):
            estimate_table(dull, told, names)


def test_an_attribute_of_one_category_is_known():
    plan = share_pairs(domain_of(1, 2, 3), 1.0)
    reports = plan.randomize(np.zeros((300, 3), int), _generator(13))
    found = estimate_table(plan, reports, ["a0"])
    assert found.proportions == pytest.approx([1.0], abs=1e-12)
    assert found.standard_errors == pytest.approx([0.0], abs=1e-7)


def test_the_comparison_is_worked_by_hand():
    sizes, epsilon, persons = (2, 4, 8), 1.5, 10_000
    found = compare_budgets(domain_of(*sizes), epsilon, persons).set_index("way")

    def variance(size: int, own: float) -> float:
        return (1 / size) * (1 - 1 / size) * (1 + size / np.expm1(own)) ** 2 / persons

    assert found.loc["split, even", "margins"] == pytest.approx(
        np.mean([variance(size, 0.5) for size in sizes])
    )
    logs = np.log(sizes) / np.log(sizes).sum() * epsilon
    assert found.loc["split, size", "margins"] == pytest.approx(
        np.mean([variance(size, own) for size, own in zip(sizes, logs, strict=True)])
    )
    assert found.loc["one attribute a person", "margins"] == pytest.approx(
        3 * np.mean([variance(size, epsilon) for size in sizes])
    )
    cells = np.array([8, 16, 32])
    alone = np.array([variance(int(size), epsilon) for size in cells])
    shares = np.sqrt(alone) / np.sqrt(alone).sum()
    assert found.loc["one pair a person", "pairs"] == pytest.approx(np.mean(alone / shares))
    assert np.isnan(found.loc["one attribute a person", "pairs"])
    assert found["pairs"].notna().sum() == 5
    assert np.all((found["epsilon"] <= epsilon) & (found["epsilon"] > epsilon - 1e-9))
    assert found.loc["split, least variance", "margins"] == found["margins"][:3].min()
    assert found.loc["split, even", "attribute_epsilon"] == pytest.approx(0.5)
