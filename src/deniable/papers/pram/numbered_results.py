"""Every numbered result of [pram], held against enumeration of small cases.

With three categories and four records everything can be listed: all tables of counts, with their
probabilities. Expectations are then sums, not simulations, and a result either holds to rounding or
it does not. Privacy results are held against grids of priors and all sets of categories.
"""

import itertools
import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from fractions import Fraction

import numpy as np
import numpy.typing as npt
import pandas as pd

from deniable.arrays import Floats
from deniable.channels import Channel, DenseChannel, KeepOrReplace, ProductChannel, invariant
from deniable.pram import Transactions, item_set_supports
from deniable.privacy import (
    Distribution,
    amplification,
    as_counts,
    extreme_factors,
    moments,
    multinomial,
    permits_breach,
    reports_given,
    tables_of,
)
from deniable.study import Given

ROUNDING = 1e-12
RECORDS = 4
PROPORTIONS = np.array([0.5, 0.3, 0.2])
CHANNEL = DenseChannel(np.array([[0.7, 0.2, 0.1], [0.1, 0.8, 0.1], [0.2, 0.3, 0.5]]))
RANDOMIZED_RESPONSE = KeepOrReplace.uniform(3, keep=0.6)


@dataclass(frozen=True)
class Check:
    """What the enumeration found of a result.

    Attributes
    ----------
    cases : int
        Cases that were looked at: tables, matrices, or priors with sets.
    gap : float
        The largest distance from what the result says, relative to its size where it has one.
    figure : str
        What a reader wants to see.
    """

    cases: int
    gap: float
    figure: str


@dataclass(frozen=True)
class Result:
    """A numbered result, in other words, and how it is checked."""

    number: str
    says: str
    test: str
    check: Callable[[], Check]


def numbered_results() -> pd.DataFrame:
    """Check every result.

    Returns
    -------
    DataFrame
        ``result``, ``section``, ``says``, ``test``, ``cases``, ``gap``, ``figure``, ``verdict``
        ("holds" if the gap is rounding, else "fails").
    """
    rows = []
    for result in RESULTS:
        found = result.check()
        rows.append(
            {
                "result": result.number,
                "section": result.number.strip("()").split(".")[0],
                "says": result.says,
                "test": result.test,
                "cases": found.cases,
                "gap": found.gap,
                "figure": found.figure,
                "verdict": "holds" if found.gap <= ROUNDING else "fails",
            }
        )
    return pd.DataFrame(rows)


# -- section 1: estimation -------------------------------------------------------------------------


def _reports() -> Distribution:
    """Return the distribution of the table of reports, by way of every true table."""
    found: Distribution = {}
    for true, p in multinomial(RECORDS, PROPORTIONS).items():
        for table, q in reports_given(true, CHANNEL.matrix()).items():
            found[table] = found.get(table, 0.0) + p * q
    return found


def _law_of_reports() -> Check:
    reports = _reports()
    law = multinomial(RECORDS, CHANNEL.reported(PROPORTIONS))
    gap = max(abs(reports[table] - p) for table, p in law.items())
    return Check(len(law), gap, "distribution of S: Mult(n, P'π), table by table")


def _estimate_is_unbiased() -> Check:
    reports = _reports()
    mean, _ = moments(reports, {table: CHANNEL.estimate(table) for table in reports})
    return Check(len(reports), _farthest(mean, PROPORTIONS), f"mean {_vector(mean)}")


def _variance_of_the_estimate() -> Check:
    reports = _reports()
    _, true = moments(reports, {table: CHANNEL.estimate(table) for table in reports})
    formula = CHANNEL.covariance(PROPORTIONS, RECORDS)
    return Check(len(reports), _farthest(true, formula), f"trace {np.trace(true):.6g}")


def _plug_in_is_unbiased() -> Check:
    reports = _reports()
    flat = {table: CHANNEL.estimated_covariance(table).reshape(-1) for table in reports}
    mean, _ = moments(reports, flat)
    formula = CHANNEL.covariance(PROPORTIONS, RECORDS).reshape(-1)
    figure = f"with n for n − 1 it would be {(RECORDS - 1) / RECORDS:g} of the truth"
    return Check(len(reports), _farthest(mean, formula), figure)


# -- section 2: post-randomization -----------------------------------------------------------------


def _two_step(counts: tuple[int, ...]) -> DenseChannel:
    shares = as_counts(counts) / sum(counts)
    return invariant.two_step(RANDOMIZED_RESPONSE, shares)


def _resampling(counts: tuple[int, ...]) -> Channel:
    return invariant.resampling(as_counts(counts) / sum(counts))


def _invariance() -> Check:
    gaps = []
    for counts in tables_of(RECORDS, 3):
        shares = as_counts(counts) / RECORDS
        for method in (_two_step, _resampling):
            gaps.append(_farthest(method(counts).reported(shares), shares))
    return Check(len(gaps), max(gaps), "two-step and resampling matrices, zero counts too")


@dataclass(frozen=True)
class _Shares:
    """The moments of S / n under an invariant method, by enumeration."""

    mean: Floats
    covariance: Floats
    conditional: Floats
    within: Floats
    cases: int


def _shares(method: Callable[[tuple[int, ...]], Channel]) -> _Shares:
    """Enumerate true tables and reports; the matrix is made from each true table anew."""
    law = multinomial(RECORDS, PROPORTIONS)
    everything: Distribution = {}
    within, conditional, formula = np.zeros((3, 3)), [], []
    for true, p in law.items():
        channel = method(true)
        reports = reports_given(true, channel.matrix())
        _, spread = moments(reports, {table: as_counts(table) / RECORDS for table in reports})
        conditional.append(spread)
        formula.append(invariant.conditional_covariance(channel, as_counts(true)))
        within += p * formula[-1]
        for table, q in reports.items():
            everything[table] = everything.get(table, 0.0) + p * q
    mean, covariance = moments(everything, {t: as_counts(t) / RECORDS for t in everything})
    gap = np.array([_farthest(a, b) for a, b in zip(conditional, formula, strict=True)])
    return _Shares(mean, covariance, gap, within, len(law))


def _shares_are_unbiased() -> Check:
    found = _shares(_two_step)
    return Check(found.cases, _farthest(found.mean, PROPORTIONS), f"mean {_vector(found.mean)}")


def _conditional_variance() -> Check:
    found = _shares(_two_step)
    return Check(found.cases, float(found.conditional.max()), "every true table of four records")


def _variance_of_shares() -> Check:
    found = _shares(_two_step)
    formula = _sampling() + found.within
    at_truth = invariant.two_step(RANDOMIZED_RESPONSE, PROPORTIONS)
    wrong = float(np.trace(at_truth.covariance(PROPORTIONS, RECORDS)))
    figure = f"trace {np.trace(formula):.4g}; (1.3), as if the matrix were fixed, says {wrong:.4g}"
    return Check(found.cases, _farthest(found.covariance, formula), figure)


def _bound_holds() -> Check:
    bound = invariant.covariance_bound(PROPORTIONS, RECORDS)
    methods = [_two_step, _resampling, *(_between(theta) for theta in (0.25, 0.5, 0.75))]
    lowest = min(np.linalg.eigvalsh(bound - _shares(m).covariance)[0] for m in methods)
    return Check(len(methods), max(0.0, -float(lowest)), "no eigenvalue of bound − V below 0")


def _between(theta: float) -> Callable[[tuple[int, ...]], Channel]:
    def mixed(counts: tuple[int, ...]) -> Channel:
        matrix = theta * np.eye(3) + (1 - theta) * _resampling(counts).matrix()
        return DenseChannel(matrix)

    return mixed


def _bound_is_attained() -> Check:
    bound = invariant.covariance_bound(PROPORTIONS, RECORDS)
    gap = _farthest(_shares(_resampling).covariance, bound)
    return Check(1, gap, "attained by drawing every report from the true shares")


def _weighted_invariance() -> Check:
    generator = np.random.default_rng(27)
    gaps = []
    for _ in range(20):
        weights = generator.uniform(1, 9, size=12)
        codes = generator.integers(0, 3, size=12)
        shares = np.bincount(codes, weights, minlength=3) / weights.sum()
        matrix = invariant.two_step(RANDOMIZED_RESPONSE, shares).matrix()
        expected = (weights[:, None] * matrix[codes]).sum(axis=0) / weights.sum()
        gaps.append(_farthest(expected, shares))
    return Check(len(gaps), max(gaps), "expected weighted shares of the reports, random weights")


def _sampling() -> Floats:
    return (np.diag(PROPORTIONS) - np.outer(PROPORTIONS, PROPORTIONS)) / RECORDS


# -- section 3: privacy ----------------------------------------------------------------------------


def _priors(channel: Channel) -> list[tuple[Fraction, ...]]:
    """Return a grid of priors over three categories, none of them zero."""
    tenths = [t for t in tables_of(10, channel.size) if min(t) > 0]
    extreme = [(1, 1, 98), (98, 1, 1), (1, 98, 1), (1, 49, 50), (49, 1, 50)]
    return [tuple(Fraction(n, sum(t)) for n in t) for t in [*tenths, *extreme]]


def _posterior() -> Check:
    gaps = []
    exact = [[Fraction(str(p)) for p in row] for row in CHANNEL.matrix().tolist()]
    for prior in _priors(CHANNEL):
        found = CHANNEL.posterior([float(p) for p in prior])
        for v in range(CHANNEL.size):
            joint = [p * row[v] for p, row in zip(prior, exact, strict=True)]
            bayes = np.array([float(each / sum(joint)) for each in joint])
            gaps.append(_farthest(found[v], bayes))
    return Check(len(gaps), max(gaps), "Bayes' rule in fractions")


def _no_breach_up_to_the_bound() -> Check:
    permitted = cases = 0
    for low, high in BREACHES:
        channel = amplification.channel_of_parity(3, amplification.largest_parity(low, high))
        for prior in _priors(channel):
            for direction in ("upward", "downward"):
                limits = (low, high)
                permitted += permits_breach(channel, prior, *limits, direction=direction) is True
                cases += 1
    return Check(cases, float(permitted), f"breaches at the bound of (3.5): {permitted}")


def _breach_beyond_the_bound() -> Check:
    missing, ratios = 0, []
    for low, high in BREACHES:
        bound = amplification.largest_parity(low, high)
        channel = amplification.channel_of_parity(3, bound * 1.01)
        for direction in ("upward", "downward"):
            found = amplification.witness(channel, low, high, direction)
            missing += found is None
            if found and direction == "upward":
                ratios.append(
                    f"{float(found.prior_probability):.4g} → {float(found.posterior):.4g}"
                )
    figure = f"1 % beyond the bound, for {_limits(BREACHES[0])}: {ratios[0] if ratios else 'none'}"
    return Check(2 * len(BREACHES), float(missing), figure)


def _parity_conventions() -> Check:
    unreachable = DenseChannel(np.array([[0.5, 0.5, 0.0], [0.25, 0.75, 0.0], [0.5, 0.5, 0.0]]))
    telling = DenseChannel(np.array([[0.5, 0.5, 0.0], [0.25, 0.5, 0.25], [0.5, 0.25, 0.25]]))
    finite = abs(unreachable.parity - 2.0)
    return Check(
        2,
        finite if math.isinf(telling.parity) else math.inf,
        f"0/0 = 1: parity {unreachable.parity:g}; a/0: parity {telling.parity:g}",
    )


def _matrix_of_parity() -> Check:
    parities = [1.5, 2.0, 5.0, 19.0]
    sizes = [2, 3, 16]
    cells = list(itertools.product(sizes, parities))
    gap = max(abs(amplification.channel_of_parity(k, e).parity / e - 1) for k, e in cells)
    return Check(len(cells), gap, f"parities {parities} over {sizes} categories")


def _ratios_are_bounded() -> Check:
    eta = CHANNEL.parity
    excess, cases = 0.0, 0
    for prior in _priors(CHANNEL):
        found = extreme_factors(CHANNEL, prior)
        excess = max(excess, found.largest / eta - 1, 1 / (eta * found.smallest) - 1)
        cases += 1
    return Check(cases, max(excess, 0.0), f"every ratio within [1/η, η], η = {eta:g}")


def _approach(side: amplification.Side) -> Check:
    eta = Fraction(CHANNEL.parity)
    masses = [Fraction(9, 10), Fraction(99, 100), Fraction(9999, 10000), 1 - Fraction(1, 10**14)]
    found = [amplification.approaching_prior(CHANNEL, mass, side).ratio for mass in masses]
    goal = eta if side == "largest" else 1 / eta
    shown = ", ".join(f"{float(ratio):.5g}" for ratio in found[:-1])
    return Check(
        len(masses),
        abs(float(found[-1] / goal - 1)),
        f"prior .9, .99, .9999: {shown}; limit {float(goal):.5g}",
    )


def _factor_guaranteed() -> Check:
    beta = CHANNEL.parity
    broken = sum(
        found.largest > beta * (1 + ROUNDING) or found.smallest < (1 - ROUNDING) / beta
        for found in (extreme_factors(CHANNEL, prior) for prior in _priors(CHANNEL))
    )
    return Check(len(_priors(CHANNEL)), float(broken), f"β = η = {beta:g}: no breach")


def _factor_broken() -> Check:
    betas = [1.0, 2.0, CHANNEL.parity * (1 - 1e-9)]
    sides: tuple[amplification.Side, ...] = ("largest", "smallest")
    missing = sum(
        amplification.breaching_prior(CHANNEL, beta, side) is None
        for beta, side in itertools.product(betas, sides)
    )
    return Check(len(betas) * 2, float(missing), "a prior that breaches, for every β below η")


# -- section 4: item sets --------------------------------------------------------------------------


def _item_sets() -> Check:
    generator = np.random.default_rng(4)
    items, records = 10, 2000
    channel = ProductChannel((KeepOrReplace.uniform(2, keep=0.6),) * items)
    columns = tuple((generator.random(records) < 0.3).astype(np.uint8) for _ in range(items))
    names = tuple(f"item {number}" for number in range(items))
    sets = [pair for size in (1, 2, 3) for pair in itertools.combinations(range(items), size)]
    found = item_set_supports(Transactions(channel, columns, names), sets)
    table = np.bincount(np.ravel_multi_index(columns, channel.shape), minlength=channel.size)
    full = channel.estimate(table).reshape(channel.shape)
    other = [_support(full, chosen) for chosen in sets]
    return Check(
        len(sets),
        _farthest(found["support"].to_numpy(), np.array(other)),
        f"all {len(sets)} sets of up to three items, from {channel.size:,} cells and without them",
    )


def _support(joint: Floats, items: Sequence[int]) -> float:
    return float(joint[tuple(1 if i in items else slice(None) for i in range(joint.ndim))].sum())


# -- the list --------------------------------------------------------------------------------------

BREACHES = [(Fraction(1, 10), Fraction(1, 2)), (Fraction(1, 20), Fraction(1, 5))]
ENUMERATED = f"all tables of {RECORDS} records in 3 categories, each with its probability"
RESULTS = (
    Result("(1.1)", "counts of reports are multinomial(n, P'π)", ENUMERATED, _law_of_reports),
    Result("(1.2)", "the inverse makes an unbiased estimate", ENUMERATED, _estimate_is_unbiased),
    Result("(1.3)", "its covariance", ENUMERATED, _variance_of_the_estimate),
    Result(
        "(1.3) plug-in",
        "estimated from the reports, without bias if divided by n − 1",
        ENUMERATED,
        _plug_in_is_unbiased,
    ),
    Result("(2.1)", "matrices that leave the file's shares as they are", ENUMERATED, _invariance),
    Result("(2.3)", "shares of reports are unbiased", ENUMERATED, _shares_are_unbiased),
    Result("(2.4)", "their covariance given the file", ENUMERATED, _conditional_variance),
    Result("(2.5)", "their covariance over samples", ENUMERATED, _variance_of_shares),
    Result(
        "(2.6)",
        "no invariant PRAM exceeds (2 − 1/n) times the sampling covariance",
        "smallest eigenvalue of the difference, five ways to make the matrix",
        _bound_holds,
    ),
    Result("(2.6) tight", "one attains it", ENUMERATED, _bound_is_attained),
    Result(
        "(2.7)",
        "the same for survey weights",
        "20 samples with random weights",
        _weighted_invariance,
    ),
    Result("(3.1)", "what a report says of the truth", "a grid of priors", _posterior),
    Result(
        "(3.5)",
        "no breach if the parity is within the bound",
        "a grid of priors, all sets, both directions",
        _no_breach_up_to_the_bound,
    ),
    Result(
        "(3.5) necessary",
        "beyond it there is a prior with a breach (not in the text)",
        "the prior, set and report, in fractions",
        _breach_beyond_the_bound,
    ),
    Result("(3.6)", "parity with 0/0 = 1 and a/0 infinite", "two matrices", _parity_conventions),
    Result(
        "(3.6) matrix", "η/(η + k − 1) on the diagonal has parity η", "k and η", _matrix_of_parity
    ),
    Result(
        "(3.11)",
        "posterior over prior within [1/η, η]",
        "a grid of priors, all sets",
        _ratios_are_bounded,
    ),
    Result(
        "(3.12)",
        "the upper limit is approached",
        "priors in fractions",
        lambda: _approach("largest"),
    ),
    Result("(3.13)", "so is the lower one", "priors in fractions", lambda: _approach("smallest")),
    Result(
        "(3.14) if",
        "η ≤ β guarantees β-factor privacy",
        "a grid of priors, all sets",
        _factor_guaranteed,
    ),
    Result("(3.14) only if", "η > β does not", "a prior for each β, in fractions", _factor_broken),
    Result("4", "chosen item sets without the cells of all items", "10 items", _item_sets),
)


def _farthest(found: npt.ArrayLike, expected: npt.ArrayLike) -> float:
    return float(np.max(np.abs(np.asarray(found) - np.asarray(expected))))


def _vector(values: Floats) -> str:
    return "(" + ", ".join(f"{value:.6g}" for value in values) + ")"


def _limits(pair: tuple[Fraction, Fraction]) -> str:
    return f"{float(pair[0]):g}-to-{float(pair[1]):g}"


def checked(_: Given) -> dict[str, pd.DataFrame]:
    """Hold every numbered result against small cases."""
    return {"pram_results": numbered_results()}
