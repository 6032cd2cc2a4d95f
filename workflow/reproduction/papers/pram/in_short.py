"""Verdicts on [pram] for the first page of the report."""

import pandas as pd

from deniable.display import Tables, at_least, at_most, joined

from reproduction.papers.pram.sections import RIVALS
from reproduction.study import PrivacyVerdict, Verdicts, groups_of, where, worst_of

INVARIANT = {"invariant_two_step": "two steps", "invariant_lazy": "keep or redraw"}
NEVER_WORSE = 1e-6  # relative
PRIVACY = "3"  # the section of the census report on privacy


def in_short(tables: Tables) -> Verdicts:
    """Return verdicts on invariant matrices and bounds on breaches from `tables`."""
    found = []
    if {"pram_variance", "pram_whole_file"} <= set(tables):
        found.append(_invariant(tables))
    if "pram_results" in tables:
        table = tables["pram_results"]
        verdicts = table.loc[table["section"].astype(str) == PRIVACY, "verdict"]
        kept = int((verdicts == "holds").sum())
        all_hold = kept == len(verdicts)
        says = f"{kept} of {len(verdicts)} results on parity, breaches and β-factor privacy hold, "
        says += "for all sets of categories and grids of priors."
        verdict = PrivacyVerdict(
            "holds" if all_hold else "fails", "Bounds on breaches", says, "pram_results"
        )
        found.append(verdict)
    return Verdicts(privacy=found)


def _invariant(tables: Tables) -> PrivacyVerdict:
    table, whole = tables["pram_variance"], tables["pram_whole_file"]
    rival = where(table, mechanism="randomized_response").groupby("epsilon")["inflation"]
    costs = [
        f"{at_least(cost.min())} to {at_most(cost.max())} at ε = {epsilon:g}"
        for epsilon, cost in rival
    ]
    said, kept_secret = [], whole[whole["mechanism"].isin(INVARIANT)]
    for of, part in groups_of(kept_secret, "mechanism"):
        spent = part["whole_file_epsilon"]
        beyond, method = int((spent > part["epsilon"]).sum()), INVARIANT[of["mechanism"]]
        span = f"({at_least(spent.min())} to {at_most(spent.max())})"
        said.append(f"in {beyond} of {len(part)} cases with {method} {span}")
    designed = ""
    if "pram_design" in tables:
        made = tables["pram_design"]
        gains = pd.concat([made[name] / made["designed"] for name in RIVALS]).dropna()
        kept = int((gains >= 1 - NEVER_WORSE).sum())
        designed = f"; an optimized matrix is at least as good as a closed form in {kept}"
        designed += f" of {len(gains)} comparisons"
    return PrivacyVerdict(
        "our finding",
        "An invariant matrix protects a value, not the file",
        "[pram] claims no ε for it. The ε of the matrix assumes a given matrix, but the matrix is "
        "computed from the file. A published matrix reveals the original proportions: no finite ε. "
        f"If it is kept secret, the ε of the file exceeds the ε of the matrix {joined(said)}.",
        "pram_variance",
        worst_of(
            kept_secret, "epsilon", "whole_file_epsilon", "attribute", {"epsilon": "ε = {:g}"}
        ),
        "Use a matrix that does not depend on the file.",
        "Generalized randomized response multiplies the variance of sampling by "
        f"{joined([costs[0], costs[-1]] if costs[1:] else costs)}{designed}.",
    )
