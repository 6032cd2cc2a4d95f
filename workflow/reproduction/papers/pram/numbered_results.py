"""Check every numbered result of [pram] by enumeration of small cases.

With three categories and four records, all tables of counts can be listed with their probabilities.
Expectations are sums then, not simulations. Privacy results are tested on grids of priors and sets.
"""

import itertools
import math
from collections.abc import Callable
from fractions import Fraction
from typing import Literal, NamedTuple

import numpy as np
import numpy.typing as npt
import pandas as pd

from deniable.arrays import Floats
from deniable.channels import (
    Channel,
    DenseChannel,
    KeepOrReplace,
    ProductChannel,
    conditional_covariance,
    covariance_bound,
    resampling,
    two_step,
)
from deniable.pram import Transactions, item_set_supports
from deniable.privacy import (
    Side,
    breaching_prior,
    channel_of_parity,
    extreme_factors,
    largest_parity,
    permits_breach,
    prior_approaching_parity,
    witness,
)

from reproduction.papers.pram.enumeration import (
    Distribution,
    moments,
    multinomial,
    reports_given,
    tables_of,
)

Found = tuple[int, float, str]
"""The number of cases (tables, matrices, or priors with sets), the largest gap to the result,
relative to its size where it has one, and the numbers for a reader."""
Check = Callable[[], Found]
ROUNDING = 1e-12
RECORDS = 4
PROPORTIONS = np.array([0.5, 0.3, 0.2])
CHANNEL = DenseChannel(np.array([[0.7, 0.2, 0.1], [0.1, 0.8, 0.1], [0.2, 0.3, 0.5]]))
BREACHES = [(Fraction(1, 10), Fraction(1, 2)), (Fraction(1, 20), Fraction(1, 5))]
ENUMERATED = f"all tables of {RECORDS} records in 3 categories, each with its probability"
RANDOMIZED_RESPONSE = KeepOrReplace.uniform(3, keep=0.6)


class Result(NamedTuple):
    """A result with its `number`, a paraphrase `says`, its `test` in words, and its `check`."""

    number: str
    says: str
    test: str
    check: Check


RESULTS: list[Result] = []  # in the order of the text


def _result(number: str, says: str, test: str) -> Callable[[Check], Check]:
    """Return a decorator that enters the check of a result."""

    def enter(check: Check) -> Check:
        RESULTS.append(Result(number, says, test, check))
        return check

    return enter


def numbered_results() -> pd.DataFrame:
    """Check every result; the verdict is "holds" if the gap is rounding, else "fails"."""
    names = ("result", "section", "says", "test", "cases", "gap", "figure")
    rows = [
        (each.number, each.number.strip("()").split(".")[0], each.says, each.test, *each.check())
        for each in RESULTS
    ]
    table = pd.DataFrame(rows, columns=names)
    return table.assign(verdict=np.where(table["gap"] <= ROUNDING, "holds", "fails"))


# -- section 1: estimation -------------------------------------------------------------------------


def _reports() -> Distribution:
    """Return the distribution of the table of reports, from all true tables."""
    found: Distribution = {}
    for true, p in multinomial(RECORDS, PROPORTIONS).items():
        for table, q in reports_given(true, CHANNEL.matrix()).items():
            found[table] = found.get(table, 0.0) + p * q
    return found


@_result("(1.1)", "counts of reports are multinomial(n, P'π)", ENUMERATED)
def _law_of_reports() -> Found:
    reports = _reports()
    law = multinomial(RECORDS, CHANNEL.reported(PROPORTIONS))
    gap = max(abs(reports[table] - p) for table, p in law.items())
    return len(law), gap, "distribution of S: Mult(n, P'π), table by table"


@_result("(1.2)", "the inverse makes an unbiased estimate", ENUMERATED)
def _estimate_is_unbiased() -> Found:
    reports = _reports()
    mean, _ = moments(reports, {table: CHANNEL.estimate(table) for table in reports})
    return len(reports), _farthest(mean, PROPORTIONS), f"mean {_vector(mean)}"


@_result("(1.3)", "its covariance", ENUMERATED)
def _variance_of_the_estimate() -> Found:
    reports = _reports()
    _, true = moments(reports, {table: CHANNEL.estimate(table) for table in reports})
    formula = CHANNEL.covariance(PROPORTIONS, RECORDS)
    return len(reports), _farthest(true, formula), f"trace {np.trace(true):.6g}"


@_result(
    "(1.3) plug-in", "estimated from the reports, without bias if divided by n − 1", ENUMERATED
)
def _plug_in_is_unbiased() -> Found:
    reports = _reports()
    flat = {table: CHANNEL.estimated_covariance(table).reshape(-1) for table in reports}
    mean, _ = moments(reports, flat)
    formula = CHANNEL.covariance(PROPORTIONS, RECORDS).reshape(-1)
    figure = f"with n for n − 1 it would be {(RECORDS - 1) / RECORDS:g} of the truth"
    return len(reports), _farthest(mean, formula), figure


# -- section 2: post-randomization -----------------------------------------------------------------


def _two_step(counts: tuple[int, ...]) -> DenseChannel:
    return two_step(RANDOMIZED_RESPONSE, np.array(counts) / sum(counts))


def _resampling(counts: tuple[int, ...]) -> Channel:
    return resampling(np.array(counts) / sum(counts))


@_result("(2.1)", "matrices that leave the file's shares as they are", ENUMERATED)
def _invariance() -> Found:
    cases = [(np.array(each) / RECORDS, each) for each in tables_of(RECORDS, 3)]
    methods = (_two_step, _resampling)
    gaps = [_farthest(make(each).reported(pi), pi) for pi, each in cases for make in methods]
    return len(gaps), max(gaps), "two-step and resampling matrices, zero counts too"


class _Shares(NamedTuple):
    """The moments of S / n under an invariant method, and the gap of (2.4)."""

    mean: Floats
    covariance: Floats
    gap: float
    within: Floats
    cases: int


def _shares(method: Callable[[tuple[int, ...]], Channel]) -> _Shares:
    """Enumerate true tables and reports, with a new matrix for each true table."""
    law = multinomial(RECORDS, PROPORTIONS)
    everything: Distribution = {}
    within, gap = np.zeros((3, 3)), 0.0
    for true, p in law.items():
        channel = method(true)
        reports = reports_given(true, channel.matrix())
        _, spread = moments(reports, {table: np.array(table) / RECORDS for table in reports})
        formula = conditional_covariance(channel, np.array(true))
        gap = max(gap, _farthest(spread, formula))
        within += p * formula
        for table, q in reports.items():
            everything[table] = everything.get(table, 0.0) + p * q
    mean, covariance = moments(everything, {t: np.array(t) / RECORDS for t in everything})
    return _Shares(mean, covariance, gap, within, len(law))


@_result("(2.3)", "shares of reports are unbiased", ENUMERATED)
def _shares_are_unbiased() -> Found:
    found = _shares(_two_step)
    return found.cases, _farthest(found.mean, PROPORTIONS), f"mean {_vector(found.mean)}"


@_result("(2.4)", "their covariance given the file", ENUMERATED)
def _conditional_variance() -> Found:
    found = _shares(_two_step)
    return found.cases, found.gap, "every true table of four records"


@_result("(2.5)", "their covariance over samples", ENUMERATED)
def _variance_of_shares() -> Found:
    found = _shares(_two_step)
    sampling = (np.diag(PROPORTIONS) - np.outer(PROPORTIONS, PROPORTIONS)) / RECORDS
    formula = sampling + found.within
    at_truth = two_step(RANDOMIZED_RESPONSE, PROPORTIONS)
    wrong = float(np.trace(at_truth.covariance(PROPORTIONS, RECORDS)))
    figure = f"trace {np.trace(formula):.4g}; (1.3), as if the matrix were fixed, says {wrong:.4g}"
    return found.cases, _farthest(found.covariance, formula), figure


@_result(
    "(2.6)",
    "no invariant PRAM exceeds (2 − 1/n) times the sampling covariance",
    "smallest eigenvalue of the difference, five ways to make the matrix",
)
def _bound_holds() -> Found:
    bound = covariance_bound(PROPORTIONS, RECORDS)
    methods = [_two_step, _resampling, *(_between(theta) for theta in (0.25, 0.5, 0.75))]
    lowest = min(np.linalg.eigvalsh(bound - _shares(m).covariance)[0] for m in methods)
    return len(methods), max(0.0, -float(lowest)), "no eigenvalue of bound − V below 0"


def _between(theta: float) -> Callable[[tuple[int, ...]], Channel]:
    share = theta * np.eye(3)
    return lambda counts: DenseChannel(share + (1 - theta) * _resampling(counts).matrix())


@_result("(2.6) tight", "one attains it", ENUMERATED)
def _bound_is_attained() -> Found:
    bound = covariance_bound(PROPORTIONS, RECORDS)
    gap = _farthest(_shares(_resampling).covariance, bound)
    return 1, gap, "attained by drawing every report from the true shares"


@_result("(2.7)", "the same for survey weights", "20 samples with random weights")
def _weighted_invariance() -> Found:
    generator = np.random.default_rng(27)
    gaps = []
    for _ in range(20):
        weights = generator.uniform(1, 9, size=12)
        codes = generator.integers(0, 3, size=12)
        shares = np.bincount(codes, weights, minlength=3) / weights.sum()
        matrix = two_step(RANDOMIZED_RESPONSE, shares).matrix()
        expected = (weights[:, None] * matrix[codes]).sum(axis=0) / weights.sum()
        gaps.append(_farthest(expected, shares))
    return len(gaps), max(gaps), "expected weighted shares of the reports, random weights"


# -- section 3: privacy ----------------------------------------------------------------------------


TENTHS = [table for table in tables_of(10, 3) if min(table) > 0]
EXTREME = [(1, 1, 98), (98, 1, 1), (1, 98, 1), (1, 49, 50), (49, 1, 50)]
PRIORS = [tuple(Fraction(n, sum(table)) for n in table) for table in [*TENTHS, *EXTREME]]
"""A grid of positive priors over three categories."""
DIRECTIONS: tuple[Literal["upward", "downward"], ...] = ("upward", "downward")
SIDES: tuple[Side, ...] = ("largest", "smallest")


@_result("(3.1)", "what a report says of the truth", "a grid of priors")
def _posterior() -> Found:
    gaps = []
    exact = [[Fraction(str(p)) for p in row] for row in CHANNEL.matrix().tolist()]
    for prior in PRIORS:
        found = CHANNEL.posterior([float(p) for p in prior])
        for v in range(CHANNEL.size):
            joint = [p * row[v] for p, row in zip(prior, exact, strict=True)]
            bayes = np.array([float(each / sum(joint)) for each in joint])
            gaps.append(_farthest(found[v], bayes))
    return len(gaps), max(gaps), "Bayes' rule in fractions"


@_result(
    "(3.5)",
    "no breach if the parity is within the bound",
    "a grid of priors, all sets, both directions",
)
def _no_breach_up_to_the_bound() -> Found:
    cases = [
        permits_breach(channel, prior, low, high, direction=direction) is True
        for low, high in BREACHES
        for channel in [channel_of_parity(3, largest_parity(low, high))]
        for prior, direction in itertools.product(PRIORS, DIRECTIONS)
    ]
    return len(cases), float(sum(cases)), f"breaches at the bound of (3.5): {sum(cases)}"


@_result(
    "(3.5) necessary",
    "beyond it there is a prior with a breach (not in the text)",
    "the prior, set and report, in fractions",
)
def _breach_beyond_the_bound() -> Found:
    every = [
        witness(channel_of_parity(3, largest_parity(low, high) * 1.01), low, high, direction)
        for (low, high), direction in itertools.product(BREACHES, DIRECTIONS)
    ]
    shown = "none"
    if first := every[0]:
        shown = f"{float(first.prior_probability):.4g} → {float(first.posterior):.4g}"
    limits = "-to-".join(f"{float(each):g}" for each in BREACHES[0])
    return len(every), float(every.count(None)), f"1 % beyond the bound, for {limits}: {shown}"


@_result("(3.6)", "parity with 0/0 = 1 and a/0 infinite", "two matrices")
def _parity_conventions() -> Found:
    unreachable = DenseChannel(np.array([[0.5, 0.5, 0.0], [0.25, 0.75, 0.0], [0.5, 0.5, 0.0]]))
    telling = DenseChannel(np.array([[0.5, 0.5, 0.0], [0.25, 0.5, 0.25], [0.5, 0.25, 0.25]]))
    gap = abs(unreachable.parity - 2.0) if math.isinf(telling.parity) else math.inf
    return 2, gap, f"0/0 = 1: parity {unreachable.parity:g}; a/0: parity {telling.parity:g}"


@_result("(3.6) matrix", "η/(η + k − 1) on the diagonal has parity η", "k and η")
def _matrix_of_parity() -> Found:
    parities, sizes = [1.5, 2.0, 5.0, 19.0], [2, 3, 16]
    cells = list(itertools.product(sizes, parities))
    gap = max(abs(channel_of_parity(k, e).parity / e - 1) for k, e in cells)
    return len(cells), gap, f"parities {parities} over {sizes} categories"


@_result("(3.11)", "posterior over prior within [1/η, η]", "a grid of priors, all sets")
def _ratios_are_bounded() -> Found:
    eta = CHANNEL.parity
    factors = [extreme_factors(CHANNEL, prior) for prior in PRIORS]
    excess = (max(each.largest / eta, 1 / (eta * each.smallest)) - 1 for each in factors)
    return len(factors), max(0.0, *excess), f"every ratio within [1/η, η], η = {eta:g}"


def _approach(side: Side) -> Found:
    eta = Fraction(CHANNEL.parity)
    masses = [Fraction(9, 10), Fraction(99, 100), Fraction(9999, 10000), 1 - Fraction(1, 10**14)]
    found = [prior_approaching_parity(CHANNEL, mass, side).ratio for mass in masses]
    goal = eta if side == "largest" else 1 / eta
    shown = ", ".join(f"{float(ratio):.5g}" for ratio in found[:-1])
    figure = f"prior .9, .99, .9999: {shown}; limit {float(goal):.5g}"
    return len(masses), abs(float(found[-1] / goal - 1)), figure


_result("(3.12)", "the upper limit is approached", "priors in fractions")(
    lambda: _approach("largest")
)
_result("(3.13)", "so is the lower one", "priors in fractions")(lambda: _approach("smallest"))


@_result("(3.14) if", "η ≤ β guarantees β-factor privacy", "a grid of priors, all sets")
def _factor_guaranteed() -> Found:
    beta = CHANNEL.parity
    factors = [extreme_factors(CHANNEL, prior) for prior in PRIORS]
    broken = sum(
        each.largest > beta * (1 + ROUNDING) or each.smallest < (1 - ROUNDING) / beta
        for each in factors
    )
    return len(factors), float(broken), f"β = η = {beta:g}: no breach"


@_result("(3.14) only if", "η > β does not", "a prior for each β, in fractions")
def _factor_broken() -> Found:
    betas = (1.0, 2.0, CHANNEL.parity * (1 - 1e-9))
    found = [breaching_prior(CHANNEL, *of) for of in itertools.product(betas, SIDES)]
    return len(found), float(found.count(None)), "a prior that breaches, for every β below η"


# -- section 4: item sets --------------------------------------------------------------------------


@_result("4", "chosen item sets without the cells of all items", "10 items")
def _item_sets() -> Found:
    generator = np.random.default_rng(4)
    items, records = 10, 2000
    channel = ProductChannel((KeepOrReplace.uniform(2, keep=0.6),) * items)
    columns = tuple((generator.random(records) < 0.3).astype(np.uint8) for _ in range(items))
    names = tuple(f"item {number}" for number in range(items))
    sets = [pair for size in (1, 2, 3) for pair in itertools.combinations(range(items), size)]
    found = item_set_supports(Transactions(channel, columns, names), sets)
    table = np.bincount(np.ravel_multi_index(columns, channel.shape), minlength=channel.size)
    full = channel.estimate(table).reshape(channel.shape)
    every = range(items)
    other = [full[tuple(1 if i in each else slice(None) for i in every)].sum() for each in sets]
    figure = f"all {len(sets)} sets of up to three items, from {channel.size:,} cells and without"
    return len(sets), _farthest(found["support"], other), f"{figure} them"


def _farthest(found: npt.ArrayLike, expected: npt.ArrayLike) -> float:
    return float(np.max(np.abs(np.asarray(found) - np.asarray(expected))))


def _vector(values: Floats) -> str:
    return "(" + ", ".join(f"{value:.6g}" for value in values) + ")"
