"""Check all numbered results of [pram], in `resources/claims/pram.csv`, on small cases.

With three categories and four records, all tables of counts can be listed with their probabilities.
Then expectations are sums instead of simulations. Privacy results are tested on grids of priors and
sets.
"""

import itertools
import math
from collections.abc import Callable, Iterable, Iterator, Sequence
from fractions import Fraction
from functools import partial
from pathlib import Path

import numpy as np
import numpy.typing as npt
import pandas as pd

from deniable import privacy
from deniable.arrays import Floats
from deniable.channels import (
    Channel,
    DenseChannel,
    KeepOrReplace,
    ProductChannel,
    conditional_covariance,
    covariance_bound,
    resampling,
    sampling_covariance,
    two_step,
)
from deniable.pram import Transactions, item_set_supports

Table = tuple[int, ...]  # of counts
Distribution = dict[Table, float]  # the probability of each table
Row = tuple[str, int, float, str]
"""The number of a result, the number of cases (tables, matrices, priors with sets), the largest gap
to the result (relative if it has a size), and numbers."""
ROUNDING = 1e-12
RECORDS = 4
PROPORTIONS = np.array([0.5, 0.3, 0.2])
CHANNEL = DenseChannel(np.array([[0.7, 0.2, 0.1], [0.1, 0.8, 0.1], [0.2, 0.3, 0.5]]))
BREACHES = [(Fraction(1, 10), Fraction(1, 2)), (Fraction(1, 20), Fraction(1, 5))]
RANDOMIZED_RESPONSE = KeepOrReplace.uniform(3, keep=0.6)


def numbered_results(said: Path | str) -> pd.DataFrame:
    """Check all results; the verdict is "holds" if the gap is a rounding error, else "fails".

    The file `said` has the section, a paraphrase and the test in words of each result.
    """
    rows = [row for check in CHECKS for row in check()]
    found = pd.DataFrame(rows, columns=["result", "cases", "gap", "figure"])
    stated = pd.read_csv(said, dtype=str).rename(columns={"claim": "result", "printed": "says"})
    table = stated.merge(found, validate="1:1")
    return table.assign(verdict=np.where(table["gap"] <= ROUNDING, "holds", "fails"))


def tables_of(records: int, categories: int) -> Iterator[Table]:
    """Yield all tables of counts over a number of `categories` with the total `records`."""
    every = itertools.product(range(records + 1), repeat=categories)
    return (table for table in every if sum(table) == records)


def multinomial(records: int, proportions: Sequence[float] | Floats) -> Distribution:
    """Return the probability of every table of `records` drawn with the `proportions`."""
    return {
        counts: math.prod(
            [float(p) ** n for p, n in zip(proportions, counts, strict=True)],
            start=math.factorial(records) / math.prod(map(math.factorial, counts)),
        )
        for counts in tables_of(records, len(proportions))
    }


def mixture(parts: Iterable[tuple[float, Distribution]]) -> Distribution:
    """Return the mixture of distributions, given as `parts` with their probabilities."""
    found: Distribution = {}
    for p, part in parts:
        for table, q in part.items():
            found[table] = found.get(table, 0.0) + p * q
    return found


def reports_given(counts: Sequence[int], matrix: Floats) -> Distribution:
    """Return the probability of every table of randomized values, given the original `counts`.

    The row of a category in `matrix`, shape (categories, randomized values), has the distribution
    of its records.
    """
    found: Distribution = {(0,) * np.shape(matrix)[1]: 1.0}
    for count, row in zip(counts, matrix, strict=True):
        spread = multinomial(count, row)
        found = mixture(
            (p, {tuple(map(sum, zip(before, more, strict=True))): q for more, q in spread.items()})
            for before, p in found.items()
        )
    return found


def moments(distribution: Distribution, value: Callable[[Table], Floats]) -> tuple[Floats, Floats]:
    """Return mean and covariance matrix of `value`, a vector for each table of a `distribution`."""
    weights = np.array(list(distribution.values()))
    vectors = np.array([value(table) for table in distribution])
    mean = weights @ vectors
    centred = vectors - mean
    return mean, (centred * weights[:, None]).T @ centred


def _estimation() -> Iterator[Row]:
    """Check section 1 with the distribution of tables of randomized values, from all tables."""
    true = multinomial(RECORDS, PROPORTIONS)
    reports = mixture((p, reports_given(table, CHANNEL.matrix())) for table, p in true.items())
    cases = len(reports)
    law = multinomial(RECORDS, CHANNEL.reported(PROPORTIONS))
    gap = max(abs(reports[table] - p) for table, p in law.items())
    yield "(1.1)", cases, gap, "distribution of S: Mult(n, P'π), table by table"

    mean, covariance = moments(reports, CHANNEL.estimate)
    yield "(1.2)", cases, _farthest(mean, PROPORTIONS), f"mean {_vector(mean)}"
    formula = CHANNEL.covariance(PROPORTIONS, RECORDS)
    yield "(1.3)", cases, _farthest(covariance, formula), f"trace {np.trace(covariance):.6g}"

    mean, _ = moments(reports, lambda table: CHANNEL.estimated_covariance(table).reshape(-1))
    figure = f"with n for n − 1 it would be {(RECORDS - 1) / RECORDS:g} of the true one"
    yield "(1.3) plug-in", cases, _farthest(mean, formula.reshape(-1)), figure


def _two_step(proportions: Floats) -> Channel:
    return two_step(RANDOMIZED_RESPONSE, proportions)


def _between(theta: float, proportions: Floats) -> Channel:
    return DenseChannel(theta * np.eye(3) + (1 - theta) * resampling(proportions).matrix())


def _shares(method: Callable[[Floats], Channel]) -> tuple[Floats, Floats, Floats, float]:
    """Enumerate original and randomized tables, with a new matrix by `method` for each original.

    Returns the mean and the covariance of S / n, the mean of (2.4), and the gap of (2.4).
    """
    within, gap, parts = np.zeros((3, 3)), 0.0, []
    for true, p in multinomial(RECORDS, PROPORTIONS).items():
        channel = method(np.array(true) / RECORDS)
        reports = reports_given(true, channel.matrix())
        parts.append((p, reports))
        _, spread = moments(reports, _proportions)
        formula = conditional_covariance(np.array(true), channel)
        gap = max(gap, _farthest(spread, formula))
        within += p * formula
    return *moments(mixture(parts), _proportions), within, gap


def _proportions(table: Table) -> Floats:
    return np.asarray(np.array(table) / RECORDS)


def _post_randomization() -> Iterator[Row]:
    """Check section 2, post-randomization, with a matrix computed from each original table."""
    tables = [_proportions(table) for table in tables_of(RECORDS, 3)]
    gaps = [_farthest(by(pi).reported(pi), pi) for pi in tables for by in (_two_step, resampling)]
    yield "(2.1)", len(gaps), max(gaps), "two-step and resampling matrices, zero counts too"

    sums = [
        sum(n * row for n, row in zip(pi, _two_step(pi).matrix(), strict=True)) for pi in tables
    ]
    yield "(2.2)", len(sums), _farthest(sums, tables), "columns of the text's P, our rows"

    mean, covariance, within, gap = _shares(_two_step)
    yield "(2.3)", len(tables), _farthest(mean, PROPORTIONS), f"mean {_vector(mean)}"
    yield "(2.4)", len(tables), gap, "every true table of four records"
    formula = sampling_covariance(PROPORTIONS, RECORDS) + within
    wrong = float(np.trace(_two_step(PROPORTIONS).covariance(PROPORTIONS, RECORDS)))
    figure = f"trace {np.trace(formula):.4g}; (1.3), as if the matrix were fixed, says {wrong:.4g}"
    yield "(2.5)", len(tables), _farthest(covariance, formula), figure

    bound = covariance_bound(PROPORTIONS, RECORDS)
    between = (partial(_between, theta) for theta in (0.25, 0.5, 0.75))
    methods: list[Callable[[Floats], Channel]] = [_two_step, resampling, *between]
    found = [_shares(method)[1] for method in methods]
    lowest = min(np.linalg.eigvalsh(bound - each)[0] for each in found)
    yield "(2.6)", len(found), max(0.0, -float(lowest)), "no eigenvalue of bound − V below 0"
    figure = "attained by drawing every report from the true shares"
    yield "(2.6) tight", 1, _farthest(found[1], bound), figure

    generator, gaps = np.random.default_rng(27), []
    for _ in range(20):
        weights = generator.uniform(1, 9, size=12)
        codes = generator.integers(0, 3, size=12)
        shares = np.bincount(codes, weights, minlength=3) / weights.sum()
        expected = (weights[:, None] * _two_step(shares).matrix()[codes]).sum(axis=0)
        gaps.append(_farthest(expected / weights.sum(), shares))
    figure = "expected weighted proportions of responses, random weights"
    yield "(2.7)", len(gaps), max(gaps), figure


TENTHS = [table for table in tables_of(10, 3) if min(table) > 0]
EXTREME = [(1, 1, 98), (98, 1, 1), (1, 98, 1), (1, 49, 50), (49, 1, 50)]
PRIORS = [tuple(Fraction(n, sum(table)) for n in table) for table in [*TENTHS, *EXTREME]]
"""A grid of positive priors over three categories."""
SIDES: tuple[privacy.Side, ...] = ("largest", "smallest")
WIDE = (Fraction(1, 4), Fraction(1, 2))  # breached on the grid
LOWS = (Fraction(1, 90), Fraction(1, 10), Fraction(1, 8))
SETS = [members for size in (1, 2) for members in itertools.combinations(range(3), size)]


def _breached(
    channel: Channel, prior: Sequence[Fraction], low: Fraction, high: Fraction
) -> tuple[bool, bool]:
    """Return whether some set has an upward breach, and whether some set has a downward one."""
    found = [privacy.find_breaches(channel, prior, members, low, high) for members in SETS]
    return any(each.upward for each in found), any(each.downward for each in found)


def _beliefs_and_breaches() -> Iterator[Row]:
    """Check section 3 on beliefs and breaches, up to (3.5), on grids of priors and sets."""
    exact = np.array([[Fraction(str(p)) for p in row] for row in CHANNEL.matrix().tolist()])
    joints = [np.array(prior)[:, None] * exact for prior in PRIORS]
    bayes = np.array([(joint / joint.sum(axis=0)).T for joint in joints], dtype=float)
    gap = _farthest([CHANNEL.posterior(np.array(prior, dtype=float)) for prior in PRIORS], bayes)
    yield "(3.1)", bayes[..., 0].size, gap, "Bayes' rule in fractions"

    find = partial(privacy.find_breaches, CHANNEL)
    pairs = [
        (
            find(prior, members, low, high).upward,
            find(prior, {0, 1, 2} - {*members}, 1 - high, 1 - low).downward,
        )
        for prior, members, (low, high) in itertools.product(PRIORS, SETS, [*BREACHES, WIDE])
    ]
    figure = f"breaches: {sum(bool(upward) for upward, _ in pairs)}"
    yield "(3.3) duality", len(pairs), float(sum(a != b for a, b in pairs)), figure

    ratios = [a / b for column in exact.T for a, b in itertools.permutations(column, 2)]
    gammas = [*ratios, *(ratio * Fraction(999, 1000) for ratio in ratios)]
    wrong = sum((max(ratios) <= each) != (CHANNEL.parity <= each) for each in gammas)
    yield "(3.4)", len(gammas), float(wrong), f"η = {CHANNEL.parity:g}"

    broken = [
        direction
        for low, high in BREACHES
        for channel in [privacy.channel_of_parity(3, privacy.largest_parity(low, high))]
        for prior in PRIORS
        for direction in _breached(channel, prior, low, high)
    ]
    breaches = sum(broken)
    yield "(3.5)", len(broken), float(breaches), f"breaches at the bound of (3.5): {breaches}"

    every = [
        privacy.witness(channel, *ends)
        for low, high in BREACHES
        for channel in [privacy.channel_of_parity(3, privacy.largest_parity(low, high) * 1.01)]
        for ends in ((low, high), (1 - high, 1 - low))  # upward, and downward of complements
    ]
    shown = "none"
    if first := every[0]:
        shown = f"{float(first.prior_probability):.4g} → {float(first.posterior):.4g}"
    limits = "-to-".join(f"{float(each):g}" for each in BREACHES[0])
    figure = f"1 % beyond the bound, for {limits}: {shown}"
    yield "(3.5) necessary", len(every), float(every.count(None)), figure


def _parities() -> Iterator[Row]:
    """Check section 3 on parity and β-factor privacy, from (3.6) to (3.14)."""
    unreachable = DenseChannel(np.array([[0.5, 0.5, 0.0], [0.25, 0.75, 0.0], [0.5, 0.5, 0.0]]))
    telling = DenseChannel(np.array([[0.5, 0.5, 0.0], [0.25, 0.5, 0.25], [0.5, 0.25, 0.25]]))
    gap = abs(unreachable.parity - 2.0) if math.isinf(telling.parity) else math.inf
    figure = f"0/0 = 1: parity {unreachable.parity:g}; a/0: parity {telling.parity:g}"
    yield "(3.6)", 2, gap, figure

    parities, sizes = [1.5, 2.0, 5.0, 19.0], [2, 3, 16]
    cells = list(itertools.product(sizes, parities))
    gap = max(abs(privacy.channel_of_parity(k, e).parity / e - 1) for k, e in cells)
    yield "(3.6) matrix", len(cells), gap, f"parities {parities} over {sizes} categories"

    eta = CHANNEL.parity
    factors = [[own.ratio for own in privacy.extreme_factors(CHANNEL, each)] for each in PRIORS]
    gaps = []
    for prior, extremes in zip(PRIORS, factors, strict=True):
        of = np.array(prior, dtype=float)
        after = CHANNEL.posterior(of)
        ratios = [after[:, members].sum(axis=1) / of[[*members]].sum() for members in SETS]
        gaps.append(_farthest([np.max(ratios), np.min(ratios)], extremes))
    yield "(3.7)", len(gaps), max(gaps), "Bayes' rule"

    excess = (max(most / eta, 1 / (eta * least)) - 1 for most, least in factors)
    figure = f"every ratio within [1/η, η], η = {eta:g}"
    yield "(3.11)", len(factors), max(0.0, *excess), figure

    masses = [Fraction(9, 10), Fraction(99, 100), Fraction(9999, 10000), 1 - Fraction(1, 10**14)]
    for number, side in zip(("(3.12)", "(3.13)"), SIDES, strict=True):
        ratios = [privacy.prior_approaching_parity(CHANNEL, mass, side).ratio for mass in masses]
        goal = Fraction(eta) if side == "largest" else 1 / Fraction(eta)
        shown = ", ".join(f"{float(ratio):.5g}" for ratio in ratios[:-1])
        figure = f"prior .9, .99, .9999: {shown}; limit {float(goal):.5g}"
        yield number, len(masses), abs(float(ratios[-1] / goal - 1)), figure

    high, low = eta * (1 + ROUNDING), (1 - ROUNDING) / eta
    broken = sum(most > high or least < low for most, least in factors)
    yield "(3.14) if", len(factors), float(broken), f"β = η = {eta:g}: no breach"
    ends = [(prior, low, low * Fraction(eta)) for prior in PRIORS for low in LOWS]
    breaches = sum(_breached(CHANNEL, *each)[0] for each in ends)
    yield "(3.14) ratio", len(ends), breaches, f"breaches: {breaches}"

    betas = (1.0, 2.0, eta * (1 - 1e-9))
    most, least = (privacy.prior_approaching_parity(CHANNEL, masses[-1], of).ratio for of in SIDES)
    kept = [factor <= beta for factor, beta in itertools.product((most, 1 / least), betas)]
    figure = "a prior that breaches, for every β below η"
    yield "(3.14) only if", len(kept), float(sum(kept)), figure


def _item_sets() -> Iterator[Row]:
    """Check section 4: supports from only the items of a set, and from all cells."""
    generator = np.random.default_rng(4)
    items, records = range(10), 2000
    channel = ProductChannel((KeepOrReplace.uniform(2, keep=0.6),) * len(items))
    columns = tuple((generator.random(records) < 0.3).astype(np.uint8) for _ in items)
    names = tuple(f"item {number}" for number in items)
    sets = [pair for size in (1, 2, 3) for pair in itertools.combinations(items, size)]
    found = item_set_supports(Transactions(channel, columns, names), sets)
    table = np.bincount(np.ravel_multi_index(columns, channel.shape), minlength=channel.size)
    full = channel.estimate(table).reshape(channel.shape)
    other = [full[tuple(1 if i in each else slice(None) for i in items)].sum() for each in sets]
    cells = f"{channel.size:,} cells"
    figure = f"all {len(sets)} sets of up to three items, from {cells} and without them"
    yield "4", len(sets), _farthest(found["support"], other), figure


CHECKS = (_estimation, _post_randomization, _beliefs_and_breaches, _parities, _item_sets)
"""The checks, in the order of the text."""


def _farthest(found: npt.ArrayLike, expected: npt.ArrayLike) -> float:
    return float(np.max(np.abs(np.asarray(found) - np.asarray(expected))))


def _vector(values: Floats) -> str:
    return "(" + ", ".join(f"{value:.6g}" for value in values) + ")"
