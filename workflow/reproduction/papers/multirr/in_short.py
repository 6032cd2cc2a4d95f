"""Sum up [multirr] for the report's first page."""

from collections.abc import Iterator

import pandas as pd

from deniable.display import Tables, joined, rows_of, short
from deniable.randomized_response import ATTRIBUTE_IN_CLUSTER

from reproduction.papers.multirr.catalog import PRINTED_TABLES
from reproduction.study import (
    AgreementCount,
    PrivacyVerdict,
    Verdicts,
    agreement_of,
    groups_of,
    where,
)

MECHANISMS = {
    "rr_independent": "RR-Independent",
    "rr_clusters joint": "joint",
    "rr_clusters kronecker": "kronecker",
}


def in_short(tables: Tables) -> Verdicts:
    """Return verdicts on equal risk, the waiver and stated ε in `tables`, and counts of numbers."""
    verdicts = {"multirr_risk": _equal_risk, "multirr_waiver": _waiver, "multirr_audit": _stated}
    privacy = [verdict(tables) for name, verdict in verdicts.items() if name in tables]
    return Verdicts(privacy, [*_numbers(tables)])


def _equal_risk(tables: Tables) -> PrivacyVerdict:
    """Compare the ε of one attribute with "equal risk", for the matrix as printed."""
    first = tables["multirr_risk"]["matrix"].iloc[0]
    table = where(tables["multirr_risk"], assessment="none", matrix=first).dropna(subset="t_v")
    found, equal = [], []
    for of, part in groups_of(table, "mechanism"):
        (worst,) = rows_of(part.nlargest(1, "attribute_ratio"))
        more = len(part) - int(part["equal_risk_attribute"].sum())
        equal += [] if more else [of["mechanism"]]
        found.append(
            f"under {of['mechanism']} up to {short(worst['attribute_ratio'])} times "
            f"({worst['attribute']}, p = {worst['p']:g}, T_v = {worst['t_v']:g}; more than that "
            f"ε in {more} of {len(part)} settings)"
        )
    others = joined(each for each in tables["multirr_risk"]["matrix"].unique() if each != first)
    fails = len(equal) < len(found)
    return PrivacyVerdict(
        "fails" if fails else "holds",
        f"“Equal risk” is {'false' if fails else 'true'} of an attribute",
        f"{'True' if table['equal_risk_record'].all() else 'Not always true'} of whole records. "
        "If an intruder knows all other attributes of a person, the ε of one attribute is a "
        f"multiple of the ε that it has by itself: {'; '.join(found)}. "
        f"These numbers cover matrix {first}, {_values('p', table['p'])} and "
        f"{_values('T_v', table['t_v'])}, and the attribute with the largest ε in each setting. "
        "Others can have larger ratios."
        f"{f' Not covered: matrix {others}.' if others else ''}",
        "risk",
        f"Randomize clusters by {joined(equal)}, each attribute through its own matrix; or state "
        "the ε of a cluster for each attribute in it."
        if fails and equal
        else "",
        max(1.0, float(table["attribute_ratio"].max())),
    )


def _values(name: str, column: pd.Series) -> str:
    return f"{name} = {joined(f'{value:g}' for value in sorted(column.unique()))}"


def _waiver(tables: Tables) -> PrivacyVerdict:
    """Compare the ε of several releases with section 4.3's waiver of sequential composition."""
    table = tables["multirr_waiver"]
    times = float((table["exact_epsilon"] / table["claimed_epsilon"]).max())
    kept, releases = int(table["holds"].sum()), int(table["releases"].max())
    instead = "Add up the ε of all releases."
    if "multirr_risk" in tables:
        risk = tables["multirr_risk"]
        equal = risk.loc[risk["assessment"] != "none", "equal_risk_with_assessment"]
        instead += (
            " With dependences assessed in the ways that the paper offers, risk is then equal in "
            f"{int(equal.sum())} of {len(equal)} settings."
        )
    return PrivacyVerdict(
        "holds" if kept == len(table) else "fails",
        f"“As if released only once” (4.3) is {'true' if kept == len(table) else 'false'}",
        f"Secure sums of {releases} randomized releases keep the ε of one in {kept} of "
        f"{len(table)} cases, from {table['parties'].min()} to {table['parties'].max():,} parties; "
        f"they spend up to {short(times)} times as much. These cases have one binary attribute in "
        f"{releases} pairs, matrix {joined(table['matrix'].unique())} and "
        f"{_values('p', table['p'])}. Larger files are not covered: of d attributes, 4.3 releases "
        "each one d − 1 times.",
        "waiver",
        instead,
        times,
    )


def _stated(tables: Tables) -> PrivacyVerdict:
    """Compare the exact with the stated ε of records, clusters and attributes by themselves."""
    audited = tables["multirr_audit"]
    own = audited[audited["mechanism"].isin(MECHANISMS) & (audited["unit"] != ATTRIBUTE_IN_CLUSTER)]
    counts = [
        f"{MECHANISMS[of['mechanism']]} {part['holds'].sum()} of {len(part)}"
        for of, part in groups_of(own, "mechanism")
    ]
    return PrivacyVerdict(
        "holds" if own["holds"].all() else "fails",
        f"Stated ε of whole records {'are' if own['holds'].all() else 'are not all'} kept to",
        "Not exceeded by the exact ε of a record, a cluster or an attribute by itself: "
        f"{', '.join(counts)}.",
        "audit",
    )


def _numbers(tables: Tables) -> Iterator[AgreementCount]:
    for name, (_, title) in PRINTED_TABLES.items():
        for of, part in groups_of(tables[name], "mechanism") if name in tables else ():
            yield agreement_of(f"{title.partition(':')[0]}, {of['mechanism']}", part, name)
    if "multirr_example1" in tables:
        yield agreement_of("Example 1, steps", tables["multirr_example1"], "adjustment")
