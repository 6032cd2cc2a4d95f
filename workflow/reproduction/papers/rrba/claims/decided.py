"""What [rrba] claims in words (1, 4.2, 7.2 to 7.4), held against exact values and tables.

Claims of privacy and of expectations (1, 4.2) stand here: all but one of them are decided exactly,
without a run. Where the text leaves open what is meant, or what is equal where methods are
compared, a claim has several readings. Printed numbers are no claims: they have verdicts in their
tables. For the tests see `reproduction.study.comparisons`; they take means for medians. Methods of
one trial share their true tables: this makes tests between them conservative.
"""

import math
from collections.abc import Iterator, Mapping
from fractions import Fraction
from functools import partial
from itertools import pairwise

import numpy as np
import pandas as pd

from deniable.rrba import (
    answer_epsilon,
    claimed_epsilon,
    floor_epsilon,
    keep_for_epsilon,
    printed_estimate,
    repeated_epsilon,
    retention_from_claim,
    variance_inflation,
)

from reproduction.papers.rrba.claims import convergence, tables as of_tables
from reproduction.papers.rrba.claims.tables import Readings, at_equal_epsilon
from reproduction.papers.rrba.exact import CELLS, two_coins, two_coins_estimate
from reproduction.papers.rrba.table_results import RESAMPLED
from reproduction.study import (
    Claims,
    Evidence,
    Outcome,
    counted,
    range_of,
    source_of,
)

KEEPS = tuple(round(0.1 * step, 1) for step in range(1, 10))
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

PROMISES = Claims()
introduction = partial(PROMISES.claim, section="1", about="exact")
privacy = partial(PROMISES.claim, section="4.2", about="exact")
"""What exact values decide is about its reading, or several."""


# -- section 1 -------------------------------------------------------------------------------------


@introduction(
    "With two fair coins the true number of Yes is accurately estimated by 2 (q - .25).",
    "the estimate of the expected reports is the truth, in fractions: 21 proportions",
    about="expected reports",
    kind="equality",
)
def _two_coins_estimate(_: str) -> Outcome:
    truths = [Fraction(step, 20) for step in range(21)]
    return counted((two_coins_estimate(two_coins(truth)) == truth for truth in truths), "exact")


@introduction(
    "Respondents give, on average, a correct response 75 % of the time.",
    "the chance of a correct response is 3/4 for both true answers, in fractions",
    kind="equality",
)
def _two_coins_truthful(_: str) -> Outcome:
    # The chance of Yes from those whose truth is Yes, and of No from the others.
    correct = [two_coins(Fraction(1)), 1 - two_coins(Fraction(0))]
    return counted((chance == Fraction(3, 4) for chance in correct), "3/4 for both")


@introduction(
    "The two coins provide a privacy budget of ln 3.",
    "the exact epsilon is ln 3 (Theorem 4.1 says ln 2 of the same protocol)",
    kind="equality",
)
def _two_coins_epsilon(_: str) -> Outcome:
    epsilon = answer_epsilon([0.5, 0.5], 0.5)
    return counted([abs(math.exp(epsilon) - 3) < EXACT], f"epsilon {epsilon:.4f}")


@introduction(
    "The level of privacy degrades if the survey is repeated by the same respondent.",
    "exact epsilon of 2 to 10 rounds above that of one; what RRBA's clients do again, too",
)
def _repeating_degrades(_: str) -> Outcome:
    once = answer_epsilon([0.5, 0.5], 0.5)
    rounds = {times: repeated_epsilon([[0.5, 0.5]] * times, 0.5) for times in (2, 3, 5, 10)}
    figure = ", ".join(f"{times} rounds: {each:.3g}" for times, each in rounds.items())
    return counted((each > once for each in rounds.values()), figure)


@introduction(
    "The proportion is inferred more efficiently if q is close to the true one.",
    "variance with q = pi below that with q = 1/2, exact: pi of .02 to .4, p of .1 to .9; "
    "at equal exact epsilon: of .25 to 4",
    about="equal p, equal exact epsilon",
)
def _efficient_if_close(reading: str) -> Outcome:
    if reading == "equal p":
        keeps = [(pi, p, p) for pi in PROPORTIONS for p in KEEPS]
    else:
        # With two cells the floor 2 pi gives the p for which a table with the cell pi has epsilon.
        keeps = [
            (pi, keep_for_epsilon(2, epsilon, 2 * pi), keep_for_epsilon(2, epsilon))
            for pi in PROPORTIONS
            for epsilon in (0.25, 0.5, 1.0, 2.0, 4.0)
        ]
    gains = [_inflation(pi, pi, close) / _inflation(pi, 0.5, half) for pi, close, half in keeps]
    return counted((gain < 1 for gain in gains), f"variance ratio {range_of(gains)}")


def _inflation(pi: float, q: float, keep: float) -> float:
    return variance_inflation([pi, 1 - pi], [q, 1 - q], keep)


@introduction(
    "The true joint probability can be reconstructed from the noisy values.",
    "equation (4) takes the expected reports to the truth, for tables of 2 to 16 cells, any "
    "distribution of fake answers, p of .1 to .9",
    about="expected reports",
    kind="equality",
)
def _joint_reconstructed(_: str) -> Outcome:
    generator = np.random.default_rng(1)
    errors = []
    for cells in CELLS:
        pi, q = generator.dirichlet(np.ones(cells), (2, 25))
        for p in KEEPS:
            # Expected reports in place of counts; their sum is 1.
            found = printed_estimate(p * pi + (1 - p) * q, q, p)
            errors += np.abs(found - pi).max(axis=1).tolist()
    return counted((error < EXACT for error in errors), f"largest error {max(errors):.1g}")


@introduction(
    "Adapting the fake answers keeps the privacy strong with a high utility: a better mechanism "
    "than fixed coins.",
    "equal exact epsilon: mean distance below that under a table that stays uniform, each file, "
    "k, epsilon; l2 and Jensen-Shannon of projected tables",
    about="rrba_equal",
)
def _better_than_coins(table: pd.DataFrame) -> Readings:
    return at_equal_epsilon(table, "rrba_uniform")


# -- section 4.2 -----------------------------------------------------------------------------------


@introduction(
    "An adversary with the responses, whatever else it knows, learns nothing with confidence.",
    "exact, the client's table at the truth, p = .4 and .5: an answer with a value of probability "
    ".01 to .25 raises its odds by a factor of at most exp(epsilon) of Theorem 4.1",
    section="1, 4.2",
)
def _responses_teach_nothing(_: str) -> Outcome:
    found = {
        (p, pi): p + (1 - p) * pi  # Bayes, with q = pi: (p + (1 - p) pi) pi / pi
        for p in (0.4, 0.5)
        for pi in (0.01, 0.05, 0.1, 0.25)
    }
    odds = {(p, pi): after / (1 - after) / pi * (1 - pi) for (p, pi), after in found.items()}
    return counted(
        (factor <= math.exp(claimed_epsilon(p)) for (p, _), factor in odds.items()),
        ", ".join(f"{pi:g} to {after:.3g} (p = {p:g})" for (p, pi), after in found.items()),
    )


@privacy(
    "The protocol satisfies epsilon-differential privacy with epsilon = ln(1 / (1 - p)).",
    "exact epsilon of one answer about a uniform table at most that: p of .1 to .9, 2 to 16 cells",
    about="one answer",
)
def _theorem_4_1(_: str) -> Outcome:
    pairs = [(_uniform_epsilon(m, p), claimed_epsilon(p)) for m in CELLS for p in KEEPS]
    return counted(
        (exact <= claimed * (1 + EXACT) for exact, claimed in pairs),
        f"exact over claimed: {range_of(exact / claimed for exact, claimed in pairs)}; p = .5: "
        + ", ".join(f"{m} cells {_uniform_epsilon(m, 0.5):.3f}" for m in CELLS)
        + " against .693",
    )


@privacy(
    "The privacy level is independent of the number of cells.",
    "exact epsilon of uniform tables of 4, 8, 16 cells that of 2 cells, p of .1 to .9",
    kind="equality",
)
def _independent_of_cells(_: str) -> Outcome:
    return _no_more(
        _uniform_epsilon(m, p) - _uniform_epsilon(2, p) for m in CELLS[1:] for p in KEEPS
    )


@privacy(
    "It does not depend on q, the probability of the emitted value.",
    "exact epsilon of two cells with q = .4, .2, .05 that with q = .5, p of .1 to .9",
    kind="equality",
)
def _independent_of_table(_: str) -> Outcome:
    return _no_more(
        answer_epsilon([q, 1 - q], p) - _uniform_epsilon(2, p)
        for q in (0.4, 0.2, 0.05)
        for p in KEEPS
    )


def _uniform_epsilon(cells: int, p: float) -> float:
    return answer_epsilon(np.full(cells, 1 / cells), p)


def _no_more(gaps: Iterator[float]) -> Outcome:
    found = list(gaps)
    return counted((abs(gap) < EXACT for gap in found), f"more epsilon by {range_of(found)}")


@privacy(
    "Decreasing p makes epsilon arbitrarily low.",
    "exact epsilon under the floor .1 / m falls with p, and p = 1e-6 gives less than .001; tables "
    "of 2 to 16 cells (without a floor it can be infinite for every p)",
    about="floor .1",
    kind="order",
)
def _arbitrarily_low(_: str) -> Outcome:
    falls = [
        floor_epsilon(m, low, 0.1) < floor_epsilon(m, high, 0.1)
        for m in CELLS
        for low, high in pairwise(KEEPS)
    ]
    least = [floor_epsilon(m, 1e-6, 0.1) for m in CELLS]
    return counted([*falls, *(each < 1e-3 for each in least)], f"at p = 1e-6: {range_of(least)}")


@privacy(
    "With low p the convergence becomes slower.",
    "answers until the estimate is as precise as 500 true ones: more at each lower p, exact, cells "
    "of .0285 to .732, uniform table of 4 cells",
    about="criterion precise",
    kind="order",
)
def _low_p_slow(_: str) -> Outcome:
    # Answers under a table with the cell 1/4, in place of 500 true ones.
    answers = {(pi, p): 500 * _inflation(pi, 0.25, p) for pi in FOLLOWED for p in KEEPS}
    return counted(
        (answers[pi, low] > answers[pi, high] for pi in FOLLOWED for low, high in pairwise(KEEPS)),
        f"answers for the cell of .224: {answers[0.224, 0.1]:,.0f} at p = .1, "
        f"{answers[0.224, 0.5]:,.0f} at p = .5",
    )


@privacy(
    "The values of p are derived from epsilon by p = 1 - exp(-epsilon).",
    "the printed pair agrees within half a unit of p's last digit (cut off, in Figure 6)",
    about="printed pairs",
    kind="equality",
)
def _p_from_epsilon(_: str) -> Outcome:
    return counted(
        (abs(retention_from_claim(epsilon) - p) <= off for _, epsilon, p, off in PRINTED_PAIRS),
        "; ".join(
            f"{where}: epsilon {epsilon:g} with p = {p:g}, "
            f"by (6) {retention_from_claim(epsilon):.3f}"
            for where, epsilon, p, off in PRINTED_PAIRS
            if abs(retention_from_claim(epsilon) - p) > off
        ),
    )


CLAIMS = (*PROMISES, *convergence.CLAIMS, *of_tables.CLAIMS)
"""In the order of the text."""


def evidence_of(tables: Mapping[str, pd.DataFrame]) -> dict[str, list[Evidence]]:
    """Return what there is to look at in `tables`, by the names that the claims are about."""
    distances = pd.concat([tables["rrba_table4"], tables["rrba_table5"]])
    # The cells that are printed, each once, as the page counts them: not Survey resampled as well.
    distances = distances[~distances["file"].str.endswith(RESAMPLED)]
    equal = tables["rrba_equal"]
    evidence = {
        claim.about: [Evidence((reading,), "exact", reading) for reading in claim.about.split(", ")]
        for claim in PROMISES
    }
    evidence["distances"] = [Evidence((), source_of(distances), distances)]
    evidence["rrba_equal"] = [Evidence((), source_of(equal), equal)]
    sources = {source_of(table) for table in (distances, equal)}
    source = "surrogate" if "surrogate" in sources else source_of(distances)
    evidence["distances and equal"] = [Evidence((), source, (distances, equal))]
    evidence |= convergence.evidence_on_convergence(tables["rrba_fig5"], tables["rrba_fig6"])
    return evidence | of_tables.evidence_on_tests(tables["rrba_table3"], tables["rrba_power"])
