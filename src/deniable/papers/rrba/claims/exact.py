"""Claims of [rrba], sections 1 and 4.2, that exact values decide."""

import math
from fractions import Fraction
from itertools import pairwise

import numpy as np

from deniable.papers.rrba.claims.rows import Tests
from deniable.papers.rrba.convergence import expected_tuples
from deniable.papers.rrba.examples import two_coins, two_coins_estimate
from deniable.rrba import (
    answer_epsilon,
    claimed_epsilon,
    floor_epsilon,
    keep_for_epsilon,
    keep_of_claim,
    printed_estimate,
    repeated_epsilon,
    variance_inflation,
)
from deniable.study import Outcome, counted, range_of

KEEPS = tuple(round(0.1 * step, 1) for step in range(1, 10))
CELLS = (2, 4, 8, 16)
PROPORTIONS = (0.02, 0.05, 0.1, 0.2, 0.3, 0.4)
FOLLOWED = (0.0285, 0.072, 0.116, 0.224, 0.356, 0.446, 0.524, 0.732)
EXACT = 1e-12
PRINTED_PAIRS = (
    # where, epsilon, p, what p may be off by: half a unit, or a whole one where digits are cut off
    ("Table 3", 0.25, 0.5, 0.05),
    ("Table 4", 0.35, 0.4, 0.05),
    ("Table 5", 0.5, 0.5, 0.05),
    ("Figure 6", 0.01, 0.009, 0.001),
    ("Figure 6", 0.05, 0.048, 0.001),
    ("Figure 6", 0.1, 0.095, 0.001),
    ("Figure 6", 0.15, 0.139, 0.001),
    ("Figure 6", 0.25, 0.221, 0.001),
    ("section 7.2", 0.35, 0.295, 0.001),
)


def about_the_coins() -> Tests:
    """Yield the claims of section 1 about two fair coins, and about q close to the truth."""
    truths = [Fraction(step, 20) for step in range(21)]
    yield (
        "two_coins_estimate",
        "expected reports",
        lambda: counted(
            (two_coins_estimate(two_coins(truth)) == truth for truth in truths), "exact"
        ),
    )
    # The chance of Yes from those whose truth is Yes, and of No from the others.
    correct = [two_coins(Fraction(1)), 1 - two_coins(Fraction(0))]
    yield (
        "two_coins_truthful",
        "exact",
        lambda: counted((chance == Fraction(3, 4) for chance in correct), "3/4 for both"),
    )
    epsilon = answer_epsilon([0.5, 0.5], 0.5)
    yield (
        "two_coins_epsilon",
        "exact",
        lambda: counted([abs(math.exp(epsilon) - 3) < EXACT], f"epsilon {epsilon:.4f}"),
    )
    rounds = {times: repeated_epsilon([[0.5, 0.5]] * times, 0.5) for times in (2, 3, 5, 10)}
    yield (
        "repeating_degrades",
        "exact",
        lambda: counted(
            (each > epsilon for each in rounds.values()),
            ", ".join(f"{times} rounds: {each:.3g}" for times, each in rounds.items()),
        ),
    )
    yield "joint_reconstructed", "expected reports", _reconstructed
    yield "efficient_if_close", "equal p", _efficient_at_equal_p
    yield "efficient_if_close", "equal exact epsilon", _efficient_at_equal_epsilon


def _reconstructed() -> Outcome:
    generator = np.random.default_rng(1)
    errors = []
    for cells in CELLS:
        pi, q = generator.dirichlet(np.ones(cells), (2, 25))
        for p in KEEPS:
            # Expected reports in place of counts; their sum is 1.
            found = printed_estimate(p * pi + (1 - p) * q, q, p)
            errors += np.abs(found - pi).max(axis=1).tolist()
    return counted((error < EXACT for error in errors), f"largest error {max(errors):.1g}")


def _efficient_at_equal_p() -> Outcome:
    gains = [_inflation(pi, pi, p) / _inflation(pi, 0.5, p) for pi in PROPORTIONS for p in KEEPS]
    return counted((gain < 1 for gain in gains), f"variance ratio {range_of(gains)}")


def _efficient_at_equal_epsilon() -> Outcome:
    gains = [
        # With two cells the floor 2 pi gives the p for which a table with the cell pi has epsilon.
        _inflation(pi, pi, keep_for_epsilon(2, epsilon, 2 * pi))
        / _inflation(pi, 0.5, keep_for_epsilon(2, epsilon))
        for pi in PROPORTIONS
        for epsilon in (0.25, 0.5, 1.0, 2.0, 4.0)
    ]
    return counted((gain < 1 for gain in gains), f"variance ratio {range_of(gains)}")


def _inflation(pi: float, q: float, keep: float) -> float:
    return variance_inflation([pi, 1 - pi], [q, 1 - q], keep)


def about_privacy() -> Tests:
    """Yield the claims of section 4.2."""
    yield "responses_teach_nothing", "exact", _posterior
    yield "theorem_4_1", "one answer", _theorem
    yield "independent_of_cells", "exact", _cells
    yield "independent_of_table", "exact", _tables
    yield "arbitrarily_low", "floor .1", _low
    yield "low_p_slow", "criterion precise", _slow
    yield "p_from_epsilon", "printed pairs", _pairs


def _posterior() -> Outcome:
    found = {
        (p, pi): p + (1 - p) * pi  # Bayes, with q = pi: (p + (1 - p) pi) pi / pi
        for p in (0.4, 0.5)
        for pi in (0.01, 0.05, 0.1, 0.25)
    }
    return counted(
        (after <= 2 * pi for (_, pi), after in found.items()),
        ", ".join(f"{pi:g} to {after:.3g} (p = {p:g})" for (p, pi), after in found.items()),
    )


def _theorem() -> Outcome:
    pairs = [
        (answer_epsilon(np.full(m, 1 / m), p), claimed_epsilon(p)) for m in CELLS for p in KEEPS
    ]
    return counted(
        (exact <= claimed * (1 + EXACT) for exact, claimed in pairs),
        f"exact over claimed: {range_of(exact / claimed for exact, claimed in pairs)}; p = .5: "
        + ", ".join(f"{m} cells {answer_epsilon(np.full(m, 1 / m), 0.5):.3f}" for m in CELLS)
        + " against .693",
    )


def _cells() -> Outcome:
    gaps = [
        answer_epsilon(np.full(m, 1 / m), p) - answer_epsilon([0.5, 0.5], p)
        for m in CELLS[1:]
        for p in KEEPS
    ]
    return counted((abs(gap) < EXACT for gap in gaps), f"more epsilon by {range_of(gaps)}")


def _tables() -> Outcome:
    gaps = [
        answer_epsilon([q, 1 - q], p) - answer_epsilon([0.5, 0.5], p)
        for q in (0.4, 0.2, 0.05)
        for p in KEEPS
    ]
    return counted((abs(gap) < EXACT for gap in gaps), f"more epsilon by {range_of(gaps)}")


def _low() -> Outcome:
    falls = [
        floor_epsilon(m, low, 0.1) < floor_epsilon(m, high, 0.1)
        for m in CELLS
        for low, high in pairwise(KEEPS)
    ]
    least = [floor_epsilon(m, 1e-6, 0.1) for m in CELLS]
    return counted([*falls, *(each < 1e-3 for each in least)], f"at p = 1e-6: {range_of(least)}")


def _slow() -> Outcome:
    more = [
        expected_tuples(pi, 0.25, low) > expected_tuples(pi, 0.25, high)
        for pi in FOLLOWED
        for low, high in pairwise(KEEPS)
    ]
    return counted(
        more,
        f"answers for the cell of .224: {expected_tuples(0.224, 0.25, 0.1):,.0f} at p = .1, "
        f"{expected_tuples(0.224, 0.25, 0.5):,.0f} at p = .5",
    )


def _pairs() -> Outcome:
    return counted(
        (abs(keep_of_claim(epsilon) - p) <= off for _, epsilon, p, off in PRINTED_PAIRS),
        "; ".join(
            f"{where}: epsilon {epsilon:g} with p = {p:g}, by (6) {keep_of_claim(epsilon):.3f}"
            for where, epsilon, p, off in PRINTED_PAIRS
            if abs(keep_of_claim(epsilon) - p) > off
        ),
    )
