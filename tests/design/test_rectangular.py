"""Channels with more reports than categories: the best of all."""

import math
from itertools import combinations

import cvxpy
import numpy as np
import pytest
from hypothesis import Phase, given, settings, strategies as st
from tests.design.design_cases import MARGINS, epsilon_is_at_most, exact_rows
from tests.slow_variants import slow

from deniable.channels import DenseChannel
from deniable.design import Cost, Requirements, design, report_names
from deniable.design.programs.losses import loss_of
from deniable.design.programs.relaxation import certified
from deniable.design.rectangular import _fewest, _in_order
from deniable.errors import ConfigError

GLOBAL = 1e-6
LOSSES = ("trace", "worst_cell")


def loss_by_definition(P, pi, loss, target):
    """Of the estimate of least variance: the inverse of the information of one report."""
    J = (P / (pi @ P)) @ P.T
    cells = np.diagonal(np.linalg.inv(J)) - (pi**2 if target == "population" else pi)
    return float(cells.sum() if loss == "trace" else cells.max())


def check(found, pi, epsilon):
    """What holds of every design with any number of reports."""
    P = found.channel.matrix()
    assert np.abs(P.sum(axis=1) - 1).max() <= 4e-16 * P.shape[1]
    assert P.min() > 0
    assert epsilon_is_at_most(P, epsilon)
    assert found.channel.epsilon == DenseChannel(P).epsilon <= epsilon
    assert set(found.violations) == {"rows", "epsilon"}
    assert found.violations["epsilon"] == 0
    assert found.violations["rows"] == pytest.approx(np.abs(P.sum(axis=1) - 1).max())
    again = loss_by_definition(P, pi, found.loss_name, found.target)
    assert found.loss == pytest.approx(again, rel=1e-8)
    cells = np.diagonal(found.channel.covariance(pi, 1, found.target))
    assert found.loss == pytest.approx(
        cells.sum() if found.loss_name == "trace" else cells.max(), rel=1e-8
    )
    close = found.loss - found.lower_bound <= GLOBAL * found.loss
    assert (found.optimality == "global") == close
    assert found.lower_bound <= found.loss
    assert P.shape[1] <= len(pi) * (len(pi) + 1) // 2
    assert len(set(found.report_names)) == P.shape[1]
    shapes = np.round((P / P.sum(axis=0)).T, 9)
    assert len(np.unique(shapes, axis=0)) == P.shape[1]  # equal ones are one


# -- protocols as matrices, from their definitions -------------------------------------------------


def subset_selection(size, epsilon, count):
    """A set of so many categories: those that hold the true one exp(epsilon) times as likely."""
    sets = np.zeros((size, math.comb(size, count)))
    for v, chosen in enumerate(combinations(range(size), count)):
        sets[list(chosen), v] = 1
    P = np.where(sets == 1, math.exp(epsilon), 1.0)
    return P / P.sum(axis=1, keepdims=True)


def hadamard(size, epsilon):
    """Columns of a Hadamard matrix: category u likes those where row u + 1 has 1."""
    order = 2 ** math.ceil(math.log2(size + 1))
    signs = np.ones((1, 1))
    while len(signs) < order:
        signs = np.block([[signs, signs], [signs, -signs]])
    P = np.where(signs[1 : size + 1] > 0, math.exp(epsilon), 1.0)
    return P / P.sum(axis=1, keepdims=True)


def protocols(size, epsilon):
    yield from (subset_selection(size, epsilon, count) for count in range(1, size))
    yield hadamard(size, epsilon)


# -- the best of all -------------------------------------------------------------------------------


def least_by_cvxpy(pi, epsilon, loss, target):
    """The convex program over the amounts of all staircases, as one would write it down."""
    size, ratio = len(pi), math.exp(epsilon)
    codes = np.arange(1, 2**size - 1)
    s = np.where((codes[:, None] >> np.arange(size)) & 1, ratio, 1.0)
    amounts = cvxpy.Variable(len(s), nonneg=True)
    J = s.T @ cvxpy.diag(cvxpy.multiply(amounts, 1 / (s @ pi))) @ s
    J = (J + J.T) / 2
    cells = cvxpy.hstack([cvxpy.matrix_frac(unit, J) for unit in np.eye(size)])
    variances = cells - (pi**2 if target == "population" else pi)
    objective = cvxpy.sum(variances) if loss == "trace" else cvxpy.max(variances)
    problem = cvxpy.Problem(cvxpy.Minimize(objective), [s.T @ amounts == 1])
    problem.solve(solver=cvxpy.CLARABEL)
    return float(problem.value)


@pytest.mark.parametrize(
    ("pi", "epsilon"),
    [
        ([0.5, 0.3, 0.2], 1.0),
        slow([0.5, 0.3, 0.2], 0.2),
        ([0.55, 0.2, 0.15, 0.1], 0.5),
        slow([0.25] * 4, 1.0),
        ([0.4, 0.3, 0.15, 0.1, 0.05], 2.0),
        slow([0.7, 0.1, 0.1, 0.06, 0.04], 3.0),
    ],
)
@pytest.mark.parametrize("loss", LOSSES)
@pytest.mark.parametrize("target", ["population", "file"])
def test_an_independent_solver_finds_none_better(pi, epsilon, loss, target):
    pi = np.array(pi)
    found = design(pi, Requirements(epsilon=epsilon), loss, target=target, reports="any")
    check(found, pi, epsilon)
    assert found.optimality == "global"
    assert found.loss == pytest.approx(least_by_cvxpy(pi, epsilon, loss, target), rel=2e-6)


@pytest.mark.parametrize(
    ("attribute", "epsilon", "loss", "figure", "square"),
    [
        # Without the variance of sampling.
        ("marital-status", 1.0, "trace", 17.39, 20.50),
        ("workclass", 2.0, "worst_cell", 0.451, 0.524),
    ],
)
def test_figures_of_adult(attribute, epsilon, loss, figure, square):
    pi = MARGINS[attribute]
    found = design(pi, Requirements(epsilon=epsilon), loss, target="file", reports="any")
    check(found, pi, epsilon)
    assert found.optimality == "global"
    assert found.loss <= figure
    assert found.loss < 0.9 * square
    assert len(pi) < found.channel.reports <= 30


SMALL = st.lists(st.integers(1, 100), min_size=2, max_size=6)
FEW = settings(
    max_examples=12,
    deadline=None,
    derandomize=True,
    database=None,
    phases=[Phase.explicit, Phase.generate],
)


@given(SMALL, st.floats(0.05, 6.0), st.sampled_from(LOSSES))
@FEW
def test_never_worse_than_square_channels_and_protocols(counts, epsilon, loss):
    pi = np.array(counts) / sum(counts)
    asked = Requirements(epsilon=epsilon)
    found = design(pi, asked, loss, reports="any")
    check(found, pi, epsilon)
    assert found.optimality == "global"
    square = design(pi, asked, loss)
    assert found.loss <= square.loss
    assert found.lower_bound <= square.loss
    for P in protocols(len(pi), epsilon):
        assert found.loss <= loss_by_definition(P, pi, loss, found.target) * (1 + 1e-9)


@pytest.mark.parametrize("loss", LOSSES)
@pytest.mark.parametrize("size", [8, slow(12)])
@pytest.mark.parametrize("epsilon", [1.0, slow(0.3), slow(4.0)])
def test_many_categories(size, epsilon, loss):
    for weights in (np.ones(size), np.arange(1.0, size + 1) ** -1.5):
        pi = weights / weights.sum()
        found = design(pi, Requirements(epsilon=epsilon), loss, reports="any")
        check(found, pi, epsilon)
        assert found.optimality == "global"
        for P in protocols(size, epsilon):
            assert found.loss <= loss_by_definition(P, pi, loss, found.target) * (1 + 1e-9)


def test_equal_proportions_have_the_loss_of_the_best_subset_selection():
    # By symmetry and convexity: the mean over all renamings of categories is no worse.
    for size, epsilon in ((5, 0.5), (6, 2.0)):
        pi = np.full(size, 1 / size)
        for loss in LOSSES:
            found = design(pi, Requirements(epsilon=epsilon), loss, reports="any")
            candidates = (subset_selection(size, epsilon, count) for count in range(1, size))
            best = min(loss_by_definition(P, pi, loss, found.target) for P in candidates)
            assert found.loss == pytest.approx(best, rel=1e-7)


def test_a_block_design_is_the_best_with_as_few_reports():
    # Seven categories in threes, the Fano plane: no other is better, with any number of reports.
    found = design(np.full(7, 1 / 7), Requirements(epsilon=0.5), reports="any")
    assert found.optimality == "global"
    assert found.channel.square
    assert found.report_names == tuple("0123456")


@pytest.mark.slow
def test_beyond_16_categories_two_block_designs_stand_side_by_side():
    # With one of them alone the search ends at 724.
    pi = np.sort(np.random.default_rng(0).dirichlet(np.ones(24)))[::-1]
    assert design(pi, Requirements(epsilon=0.5)).loss <= 400


def test_a_category_that_nobody_has():
    pi = np.array([0.6, 0.4, 0.0])
    found = design(pi, Requirements(epsilon=1.0), reports="any")
    check(found, pi, 1.0)
    assert found.optimality == "global"


def test_without_a_bound_on_epsilon_true_reports_are_best():
    found = design([0.5, 0.3, 0.2], Requirements(), reports="any")
    np.testing.assert_allclose(np.sort(found.channel.matrix()), np.sort(np.eye(3)), atol=1e-12)
    assert found.optimality == "global"


# -- what is refused -------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("requirement", "named"),
    [
        ({"retention": 0.1}, "retention"),
        ({"retention": {0: 0.1}}, "retention"),
        ({"change": 0.1}, "change"),
        ({"invariant": True}, "invariant"),
        ({"forbidden": [(0, 1)]}, "forbidden"),
        ({"allowed": {0: [1]}}, "allowed"),
        ({"cost": Cost(power=1, at_most=2.0)}, "cost"),
    ],
)
def test_what_speaks_of_reports_as_of_categories(requirement, named):
    asked = Requirements(epsilon=1.0, **requirement)
    with pytest.raises(ConfigError, match=named) as caught:
        design([0.5, 0.3, 0.2], asked, reports="any", estimator="inverse")
    assert "'square'" in str(caught.value)


@pytest.mark.parametrize("loss", ["changed", "distance"])
def test_losses_that_speak_of_categories(loss):
    with pytest.raises(ConfigError, match=loss):
        design([0.5, 0.5], Requirements(epsilon=1.0, cost=Cost(power=1)), loss, reports="any")


def test_costs_without_a_limit_are_no_requirement():
    asked = Requirements(epsilon=1.0, cost=Cost(power=1))
    assert design([0.5, 0.3, 0.2], asked, reports="any").optimality == "global"


@pytest.mark.parametrize("reports", [2, 4, 0, -1, True, "many", 3.5, None])
def test_other_options_of_reports(reports):
    with pytest.raises(ConfigError, match="reports is"):
        design([0.5, 0.3, 0.2], Requirements(epsilon=1.0), reports=reports)


def test_too_many_categories():
    with pytest.raises(ConfigError, match=r"up to 16: .*best_protocol"):
        design(np.full(17, 1 / 17), Requirements(epsilon=1.0), reports="any")


# -- its parts -------------------------------------------------------------------------------------


@given(st.integers(0, 10**6), st.floats(0.1, 4.0), st.sampled_from(LOSSES))
@FEW
def test_the_certificate_is_below_every_channel(seed, epsilon, loss):
    generator = np.random.default_rng(seed)
    pi = generator.dirichlet(np.ones(4))
    function = loss_of(loss, pi)
    channels = list(protocols(4, epsilon))
    values = [loss_by_definition(P, pi, loss, "population") for P in channels]
    for P in channels:
        bound = certified(function, math.exp(epsilon), P)
        assert bound <= min(values) * (1 + 1e-9)


def test_few_columns_tell_what_many_do():
    pi = np.array([0.4, 0.3, 0.2, 0.1])
    for seed in range(20):
        generator = np.random.default_rng(seed)
        many = np.where(generator.random((4, 60)) < 0.5, 3.0, 1.0) * 10 ** -generator.uniform(
            0, 9, 60
        )
        few = _fewest(many, pi)
        assert few.shape[1] <= 10
        np.testing.assert_allclose(few.sum(axis=1), many.sum(axis=1), rtol=1e-12)
        J, told = ((P / (pi @ P)) @ P.T for P in (many, few))
        np.testing.assert_allclose(told, J, rtol=1e-12)


def test_reports_that_are_proportional_are_one():
    P = np.array([[0.1, 0.3, 0.2, 0.4], [0.2, 0.2, 0.4, 0.2]])
    np.testing.assert_allclose(_in_order(P), [[0.3, 0.4, 0.3], [0.2, 0.2, 0.6]])


def test_names_of_reports():
    P = np.array([[3, 3, 1, 3, 2], [3, 1, 1, 3, 2], [1, 1, 3, 1, 2]]) / 12
    assert report_names(P[:, :3], ["x", "y", "z"]) == ("x", "y", "z")
    assert report_names(P, ["x", "y", "z"]) == ("x|y", "x", "z", "x|y (2)", "x|y|z")


def test_the_exact_epsilon_is_that_of_fractions():
    pi = MARGINS["race"]
    found = design(pi, Requirements(epsilon=0.7), reports="any")
    columns = zip(*exact_rows(found.channel.matrix()), strict=True)
    ratio = max(max(column) / min(column) for column in columns)
    assert found.channel.exact_parity == ratio
    assert 0.7 - 1e-12 <= math.log(ratio) <= 0.7
