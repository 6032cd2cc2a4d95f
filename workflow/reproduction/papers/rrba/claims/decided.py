"""Claims on privacy and on expectations ([rrba], 1 and 4.2), and the tests of all claims.

All but one of the claims here are decided from exact values. A claim has several interpretations if
the text does not define its meaning, or the equal conditions of a comparison.
"""

import math
from collections.abc import Iterable, Mapping
from fractions import Fraction
from functools import partial
from itertools import pairwise, product

import numpy as np

from deniable import rrba
from deniable.display import Tables

from reproduction.papers.rrba.claims import convergence, tables as of_tables
from reproduction.papers.rrba.exact import CELLS, estimate_from_two_coins, two_coins
from reproduction.study import Claim, Evidence, Outcome, Test, counted, range_of

KEEPS = tuple(round(0.1 * step, 1) for step in range(1, 10))
PROPORTIONS = (0.02, 0.05, 0.1, 0.2, 0.3, 0.4)
FOLLOWED = (0.0285, 0.072, 0.116, 0.224, 0.356, 0.446, 0.524, 0.732)
EXACT = 1e-12
PRINTED_PAIRS = (  # place, epsilon, p
    *(("Table 3", 0.25, 0.5), ("Table 4", 0.35, 0.4), ("Table 5", 0.5, 0.5)),
    *(("Figure 6", 0.01, 0.009), ("Figure 6", 0.05, 0.048), ("Figure 6", 0.1, 0.095)),
    *(("Figure 6", 0.15, 0.139), ("Figure 6", 0.25, 0.221), ("section 7.2", 0.35, 0.295)),
)


def _two_coins_estimate(_: str) -> Outcome:
    every = [Fraction(step, 20) for step in range(21)]
    return counted((estimate_from_two_coins(two_coins(truth)) == truth for truth in every), "exact")


def _two_coins_truthful(_: str) -> Outcome:
    # The probabilities of Yes if the true answer is Yes, and of No if it is No.
    right = two_coins(Fraction(1)), 1 - two_coins(Fraction(0))
    return counted((each == Fraction(3, 4) for each in right), "3/4 for both")


def _two_coins_epsilon(_: str) -> Outcome:
    epsilon = rrba.answer_epsilon([[0.5, 0.5]], 0.5)
    return counted([abs(math.exp(epsilon) - 3) < EXACT], f"epsilon {epsilon:.4f}")


def _repeating_degrades(_: str) -> Outcome:
    once = rrba.answer_epsilon([[0.5, 0.5]], 0.5)
    rounds = {times: rrba.answer_epsilon([[0.5, 0.5]] * times, 0.5) for times in (2, 3, 5, 10)}
    figure = ", ".join(f"{times} rounds: {each:.3g}" for times, each in rounds.items())
    return counted((each > once for each in rounds.values()), figure)


def _efficient_if_close(reading: str) -> Outcome:
    if reading == "equal p":
        keeps = [(pi, p, p) for pi in PROPORTIONS for p in KEEPS]
    else:
        # With two cells, the floor 2 pi gives the p at which a table with the cell pi has this ε.
        every = product(PROPORTIONS, (0.25, 0.5, 1.0, 2.0, 4.0))
        keep = partial(rrba.keep_for_epsilon, [2])
        keeps = [(pi, keep(e, 2 * pi), keep(e)) for pi, e in every]
    gains = [_inflation(pi, pi, close) / _inflation(pi, 0.5, half) for pi, close, half in keeps]
    return counted((gain < 1 for gain in gains), f"variance ratio {range_of(gains)}")


def _inflation(pi: float, q: float, keep: float) -> float:
    return rrba.variance_inflation([pi, 1 - pi], [q, 1 - q], keep)


def _joint_reconstructed(_: str) -> Outcome:
    generator = np.random.default_rng(1)
    errors = []
    for cells in CELLS:
        pi, q = generator.dirichlet(np.ones(cells), (2, 25))
        for p in KEEPS:
            # Expected proportions of responses replace counts; their sum is 1.
            found = rrba.printed_estimate(p * pi + (1 - p) * q, q, p)
            errors += np.abs(found - pi).max(axis=1).tolist()
    return counted((error < EXACT for error in errors), f"largest error {max(errors):.1g}")


def _theorem_4_1(_: str) -> Outcome:
    """Test the ε of the theorem and its stated consequences, which have the same error."""
    tables = {f"{m} cells": [1 / m] * m for m in CELLS}
    tables |= {f"2 cells, q = {q:g}": [q, 1 - q] for q in (0.4, 0.2, 0.05)}
    found = {(at, p): rrba.answer_epsilon([q], p) for (at, q), p in product(tables.items(), KEEPS)}
    # Bayes, with q = pi: the posterior is (p + (1 - p) pi) pi / pi.
    after = {(p, pi): p + (1 - p) * pi for p in (0.4, 0.5) for pi in (0.01, 0.05, 0.1, 0.25)}
    odds = (
        math.log(new / (1 - new) / pi * (1 - pi)) / rrba.claimed_epsilon(p)
        for (p, pi), new in after.items()
    )
    ratios = [epsilon / rrba.claimed_epsilon(p) for (_, p), epsilon in found.items()]
    return counted(
        (each <= 1 + EXACT for each in (*ratios, *odds)),
        f"exact over claimed: {range_of(ratios)}; p = .5: "
        + ", ".join(f"{at} {found[at, 0.5]:.3f}" for at in tables)
        + " against .693; a value's probability rises from "
        + ", ".join(f"{pi:g} to {new:.3g} (p = {p:g})" for (p, pi), new in after.items()),
    )


def _arbitrarily_low(_: str) -> Outcome:
    curves = ([rrba.floor_epsilon([m], p, 0.1) for p in KEEPS] for m in CELLS)
    falls = [low < high for curve in curves for low, high in pairwise(curve)]
    least = [rrba.floor_epsilon([m], 1e-6, 0.1) for m in CELLS]
    return counted([*falls, *(each < 1e-3 for each in least)], f"at p = 1e-6: {range_of(least)}")


def _low_p_slow(_: str) -> Outcome:
    # Number of answers under a table with the cell 1/4 that are as precise as 500 true answers.
    answers = {(pi, p): 500 * _inflation(pi, 0.25, p) for pi in FOLLOWED for p in KEEPS}
    return counted(
        (answers[pi, low] > answers[pi, high] for pi in FOLLOWED for low, high in pairwise(KEEPS)),
        f"answers for the cell of .224: {answers[0.224, 0.1]:,.0f} at p = .1, "
        f"{answers[0.224, 0.5]:,.0f} at p = .5",
    )


def _p_from_epsilon(_: str) -> Outcome:
    decided, wrong = [], []
    for place, epsilon, p in PRINTED_PAIRS:
        derived = rrba.retention_from_claim(epsilon)
        # Half a unit of the single digit of the tables; elsewhere a unit, because digits are cut.
        decided.append(abs(derived - p) <= (0.05 if place.startswith("Table") else 0.001))
        if not decided[-1]:
            wrong.append(f"{place}: epsilon {epsilon:g} with p = {p:g}, by (6) {derived:.3f}")
    return counted(decided, "; ".join(wrong))


EXACT_TESTS = (
    *(_two_coins_estimate, _two_coins_truthful, _two_coins_epsilon, _repeating_degrades),
    *(_efficient_if_close, _joint_reconstructed, _theorem_4_1, _arbitrarily_low, _low_p_slow),
    _p_from_epsilon,
)
TESTS: Mapping[str, Test] = {
    **{each.__name__.removeprefix("_"): each for each in EXACT_TESTS},
    **convergence.TESTS,
    **of_tables.TESTS,
}


def evidence_of(claims: Iterable[Claim], tables: Tables) -> dict[str, list[Evidence]]:
    """Return the evidence in `tables` by name; exact `claims` list their interpretations."""
    evidence = {
        claim.about: [Evidence((reading,), "exact", reading) for reading in claim.about.split(", ")]
        for claim in claims
    }
    evidence |= convergence.evidence_on_convergence(tables)
    return evidence | of_tables.evidence_on_distances(tables) | of_tables.evidence_on_tests(tables)
