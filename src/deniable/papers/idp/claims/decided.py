"""What [idp] claims in words, and the verdicts of this run: a row a sentence.

A sentence about both data sets is decided from both at once. One that says two things, such as that
results are similar and fall with k, has a row for each; one that lists epsilons has one.
"""

from functools import partial
from itertools import product

import pandas as pd

from deniable.papers.idp.claims import forests, protection, sse
from deniable.papers.idp.claims.evidence import Readings, Tables, readings
from deniable.papers.idp.claims.protection import Audited
from deniable.papers.idp.sse import expected_table
from deniable.study import (
    Claims,
    Evidence,
    Given,
    Outcome,
    below,
    by_sentence,
    decide_claims,
    ratios_of,
    source_of,
)

FIGURES = {"census": ("idp_fig3", "idp_fig5"), "wine": ("idp_fig4", "idp_fig6")}
TIMES = {10: ((0.01, 0.1), (0.1, 1.0)), 100: ((0.01, 1.0),)}
"""Epsilons with so many times as much."""
CONCLUSIONS = Claims()
_of_conclusions = partial(CONCLUSIONS.claim, section="5")


@_of_conclusions(
    "For a given epsilon iDP-CBLS beats plain DP data by several orders of magnitude.",
    "idp_cbls at most a hundredth of dp, each epsilon, factor, k",
)
def _beats_dp_by_orders_of_magnitude(tables: Tables) -> Outcome:
    return sse.below_by_orders_of_magnitude(tables, ["dp"])


@_of_conclusions(
    "The utility of iDP-CBLS rivals that of DP data with 10 to 100 times the epsilon.",
    "at 10 and at 100 times; plain noise: mean SSE of idp_cbls below that of dp, each factor, k; "
    "true DP: F of idp_cbls, best k, not .05 below the best of dp_synthetic, dp_naive_bayes, "
    "dp_rule, each factor",
)
def _rivals_dp_at_more_epsilon(tables: Tables) -> Readings:
    every = [pair for pairs in TIMES.values() for pair in pairs]
    true_dp = partial(forests.above_true_dp, tables, every, -forests.SIMILAR_F)
    return readings({"plain noise": partial(_rivals_plain_noise, tables), "true DP": true_dp})


def _rivals_plain_noise(tables: Tables) -> Outcome:
    of = {
        times: [
            (tables.sse_of("idp_cbls", low, c, k), tables.sse_of("dp", high, c))
            for (low, high), c, k in product(epsilons, tables.factors, tables.k)
        ]
        for times, epsilons in TIMES.items()
    }
    said = (f"idp_cbls over dp at {times} epsilon: {ratios_of(of[times])}" for times in of)
    return below([pair for pairs in of.values() for pair in pairs], "; ".join(said))


@_of_conclusions(
    "At larger epsilon iDP-CBLS is significantly better in machine learning than standard DP, even "
    "with a much larger epsilon.",
    "epsilon 1: F of idp_cbls, best k, more than .05 above the best of dp_synthetic, "
    "dp_naive_bayes, dp_rule at no more than the same epsilon, each factor",
)
def _better_than_true_dp_at_larger_epsilon(tables: Tables) -> Outcome:
    return forests.above_true_dp(tables, [(1.0, 1.0)], forests.SIMILAR_F)


CLAIMS = (
    *protection.GROUPS,
    *forests.SMALL_EPSILONS,
    *protection.EPSILON,
    *sse.CLAIMS,
    *forests.FORESTS,
    *CONCLUSIONS,
)
"""In the order of the text."""


def claims(tables: dict[str, Tables], audit: pd.DataFrame) -> pd.DataFrame:
    """Hold every claim against the tables of this run: a row a sentence.

    Parameters
    ----------
    tables : dict of Tables
        By data set, "census" and "wine".
    audit : DataFrame
        idp_audit, of both.

    Returns
    -------
    DataFrame
        As of `deniable.study.by_sentence`. What tables lack cells for is undecided, and says why.
    """
    evidence = {
        name: [Evidence((), own.source, own, name.capitalize())] for name, own in tables.items()
    }
    evidence[""] = [each for own in evidence.values() for each in own]
    evidence["audit"] = [
        Evidence((), source_of(own), Audited(own), str(name).capitalize())
        for name, own in audit.groupby("dataset", sort=False)
    ]
    return by_sentence(decide_claims(CLAIMS, evidence, "reading"))


def decide(given: Given) -> dict[str, pd.DataFrame]:
    """Decide what the text claims in words; hold simulated errors against the expected ones."""
    expected = pd.concat(
        expected_table(name, given.data[name], given.tables[errors])
        for name, (errors, _) in FIGURES.items()
    )
    tables = {
        name: Tables(
            given.data[name], expected[expected["dataset"] == name], given.tables[measures]
        )
        for name, (_, measures) in FIGURES.items()
    }
    return {
        "idp_claims": claims(tables, given.tables["idp_audit"]),
        "idp_expected_sse": expected,
    }
