"""Guarantees of masked numbers, and the audit of all claims about them."""

import math
from dataclasses import asdict
from typing import Any

import pandas as pd

from deniable.channels import fraction_to_json, rounded_up
from deniable.idp import NumericMechanism
from deniable.idp.audit import (
    CENTROID,
    CENTROIDS,
    RECORD,
    proved_epsilon,
    recorded_epsilons,
    verdicts,
)
from deniable.plans.auditing import AUDIT_COLUMNS, audit_row
from deniable.plans.document import epsilon_to_json
from deniable.plans.risks import Guarantee, sum_of_epsilons

UNIT = "the masked numbers of one record"
UNITS = {CENTROID: "one centroid", CENTROIDS: "all centroids of one column", RECORD: UNIT}
PUBLIC_NUMBER = "the number of records is public"
FIXED_DOMAINS = "the domains are held fixed, as the original records made them"
FIXED_SCALES = "the scale of the noise is held fixed, as the original records made it"
REAL_NUMBERS = "centroids are real numbers; rounding is not counted"
RECORDED = "two files that differ in one record, from the lower to the upper end of all domains"


def guarantees(mechanism: NumericMechanism, class_column: str | None) -> tuple[Guarantee, ...]:
    """Return the guarantees of a `mechanism`; a `class_column` is public.

    The first one is for the masked numbers.
    """
    known = [f"the {class_column} of each record is public"] if class_column else []
    known.append(PUBLIC_NUMBER)
    proved = proved_epsilon(mechanism)
    found = [Guarantee(proved, UNIT, tuple(known) if math.isfinite(proved) else ())]
    for each in verdicts(mechanism):
        if not each.holds or (each.what == RECORD and mechanism.public_domains):
            continue
        conditions = [
            *known,
            *([FIXED_SCALES] if each.what == CENTROID else []),
            *([] if mechanism.public_domains else [FIXED_DOMAINS]),
            *([REAL_NUMBERS] if mechanism.k is not None else []),
        ]
        found.append(Guarantee(each.proved_epsilon or 0.0, UNITS[each.what], tuple(conditions)))
    return tuple(found)


def domains_to_json(mechanism: NumericMechanism) -> list[dict[str, Any]]:
    """Return domain, epsilon and noise scale of each column of a `mechanism`, as fractions."""
    domains = mechanism.domains
    ends = zip(domains.names, domains.lower.tolist(), domains.upper.tolist(), strict=True)
    budgets, scales = mechanism.shares.tolist(), mechanism.scales.tolist()
    known = mechanism.method not in ("idp_ls", "idp_cbls")  # their scales depend on the records
    return [
        {
            "column": name,
            "lower": fraction_to_json(low),
            "upper": fraction_to_json(high),
            "epsilon": fraction_to_json(budget),
            "noise_scale": fraction_to_json(scale) if known else None,
        }
        for (name, low, high), budget, scale in zip(ends, budgets, scales, strict=True)
    ]


def claims_to_json(mechanism: NumericMechanism) -> list[dict[str, Any]]:
    """Return all claims about a `mechanism` as JSON values, also the claims that fail."""
    proved = ((each, each.proved_epsilon) for each in verdicts(mechanism))
    return [
        asdict(each) | {"proved_epsilon": None if known is None else epsilon_to_json(known)}
        for each, known in proved
    ]


def audit_claims(mechanism: NumericMechanism) -> pd.DataFrame:
    """Return one row per claim about a `mechanism`, in the columns of `Plan.audit`."""
    rows = []
    stated = proved_epsilon(mechanism)
    exact = recorded_epsilons(mechanism) if mechanism.k is None else []
    if math.isinf(stated):
        why = "no finite epsilon stated"
        rows.append(audit_row("record", "all columns", stated, stated, stated, why))
    else:
        columns = zip(mechanism.domains.names, mechanism.exact_epsilons, exact, strict=True)
        for name, own, found in columns:
            claimed, up = rounded_up(own), rounded_up(found)
            rows.append(audit_row("attribute", name, claimed, up, float(found), RECORDED))
        total, up = float(sum(exact)), sum_of_epsilons(exact)
        rows.append(audit_row("record", "all columns", stated, up, total, RECORDED))
    for each in verdicts(mechanism):
        proved = math.nan if each.proved_epsilon is None else each.proved_epsilon
        if mechanism.k is None and each.holds:
            proved = sum_of_epsilons(exact)
        kind = "exact"
        if mechanism.k is not None and not math.isinf(proved):
            kind = "proved" if each.holds else "lower bound"
        unit = "record, target" if each.what == RECORD else UNITS[each.what]
        row = audit_row(unit, each.reading, each.claimed_epsilon, proved, proved, each.why)
        rows.append(row | {"kind": kind, "holds": each.holds})
    return pd.DataFrame(rows, columns=list(AUDIT_COLUMNS))
