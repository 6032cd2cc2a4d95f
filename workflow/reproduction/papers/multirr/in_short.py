"""Verdicts on [multirr] for the first page of the report."""

from collections.abc import Iterator

import pandas as pd

from deniable.display import Tables, at_most, joined
from deniable.randomized_response import ATTRIBUTE_IN_CLUSTER, WAIVED

from reproduction import study
from reproduction.papers.multirr.catalog import PRINTED_TABLES

MECHANISMS = {
    "rr_independent": "RR-Independent",
    "rr_clusters joint": "joint",
    "rr_clusters kronecker": "kronecker",
}
AUDITED = ("multirr_audit", "multirr_waiver")
EPSILONS = ("claimed_epsilon", "exact_epsilon")
AT = {"p": "p = {:g}", "t_v": "T_v = {:.0f}"}


def in_short(tables: Tables) -> study.Verdicts:
    """Return verdicts on equal risk, the waiver and stated ε, and counts, from `tables`."""
    verdicts = (_equal_risk, _waiver, _stated) if {*AUDITED} <= {*tables} else ()
    return study.Verdicts([verdict(tables) for verdict in verdicts], [*_numbers(tables)])


def _equal_risk(tables: Tables) -> study.PrivacyVerdict:
    audited = tables["multirr_audit"]
    cases = study.where(audited, unit=ATTRIBUTE_IN_CLUSTER)
    cases = cases.assign(attribute=cases["of"].str.partition(" in ")[0])
    records = study.where(audited, unit="record", mechanism=tuple(MECHANISMS)[1:])
    counts, worst, equal = [], [], []
    for of, part in study.groups_of(cases, "mechanism"):
        name, more = MECHANISMS[of["mechanism"]], len(part) - int(part["holds"].sum())
        counts.append(f"{more} of {len(part)} cases under {name}")
        equal += [] if more else [name]
        worst += [f" Under {name}, {_by_matrix(part, AT)}."] if more else []
    at = {"matrix": "matrix {}"} | AT
    return study.PrivacyVerdict(
        "fails" if worst else "holds",
        "“Equal risk” of an attribute in a cluster",
        f"{'True' if records['holds'].all() else 'Not always true'} for whole records. If an "
        "intruder knows all other attributes of a person, the ε of one attribute is larger than "
        f"its ε alone in {joined(counts)} (attributes in clusters, "
        f"{_values('p', cases['p'])}, {_values('T_v', cases['t_v'])}, matrix "
        f"{joined(cases['matrix'].unique())}).{''.join(worst)}",
        "risk",
        study.worst_of(cases, *EPSILONS, "attribute", at),
        f"Randomize clusters by {joined(equal)}, with a matrix for each attribute. Otherwise state "
        "the ε of the cluster for each attribute in it."
        if worst and equal
        else "",
    )


def _by_matrix(cases: pd.DataFrame, at: dict[str, str]) -> str:
    by = {of["matrix"]: part for of, part in study.groups_of(cases, "matrix")}
    found = {name: study.extremes(part, *EPSILONS, "attribute", at) for name, part in by.items()}
    return "; ".join(f"matrix {name}: {said}" for name, said in found.items() if said)


def _values(name: str, column: pd.Series) -> str:
    return f"{name} = {joined(f'{value:g}' for value in sorted(column.unique()))}"


def _waiver(tables: Tables) -> study.PrivacyVerdict:
    """Compare the ε of several releases with the waiver of sequential composition (4.3)."""
    table, audited = tables["multirr_waiver"], tables["multirr_audit"]
    binary = study.worst_first(table, *EPSILONS)
    files = audited[audited["of"].str.endswith(WAIVED.rpartition(", ")[2])]
    pairs = files["mechanism"].str.removeprefix("assessment pairs_")
    files = files.assign(attribute=files["of"].str.partition(", ")[0], pairs=pairs)
    kept, releases = int(table["holds"].sum()), int(table["releases"].max())
    at = {"pairs": "{} pairs", "p": AT["p"]}
    with_matrix = {"matrix": "matrix {}"} | at
    sums = table.assign(attribute="a binary attribute", pairs="secure sums of")
    units = study.groups_of(files, "unit")
    said = [f" For each {of['unit']} of a file, {_by_matrix(part, at)}." for of, part in units]
    instead = "Add up the ε of all releases."
    if "multirr_risk" in tables:
        risk = tables["multirr_risk"]
        equal = risk.loc[risk["assessment"] != "none", "equal_risk_with_assessment"]
        instead += (
            " If dependences are assessed as in the paper, risk is then equal in "
            f"{int(equal.sum())} of {len(equal)} settings."
        )
    true = kept == len(table) and files["holds"].all()
    return study.PrivacyVerdict(
        "holds" if true else "fails",
        "“As if released only once” (4.3)",
        f"Of d attributes, 4.3 releases each one d − 1 times.{''.join(said)} Secure sums of "
        f"{releases} releases of one binary attribute keep the ε of one in {kept} of {len(table)} "
        f"cases, from {table['parties'].min()} to {table['parties'].max():,} parties. Their ε is "
        f"at most {at_most(binary['times'].max())} times the ε of one release (matrix "
        f"{joined(table['matrix'].unique())}, {_values('p', table['p'])}).",
        "waiver",
        study.worst_of(pd.concat([files, sums]), *EPSILONS, "attribute", with_matrix),
        instead,
    )


def _stated(tables: Tables) -> study.PrivacyVerdict:
    audited = tables["multirr_audit"]
    own = audited[audited["mechanism"].isin(MECHANISMS) & (audited["unit"] != ATTRIBUTE_IN_CLUSTER)]
    counts = [
        f"{MECHANISMS[of['mechanism']]} {part['holds'].sum()} of {len(part)}"
        for of, part in study.groups_of(own, "mechanism")
    ]
    return study.PrivacyVerdict(
        "holds" if own["holds"].all() else "fails",
        "The stated ε of whole records",
        "Cases where the exact ε of a record, a cluster or an attribute alone is at most the "
        f"stated ε: {', '.join(counts)}.",
        "audit",
    )


def _numbers(tables: Tables) -> Iterator[study.AgreementCount]:
    for name, (_, title) in PRINTED_TABLES.items():
        for of, part in study.groups_of(tables[name], "mechanism") if name in tables else ():
            yield study.agreement_of(f"{title.partition(':')[0]}, {of['mechanism']}", part, name)
    if "multirr_example1" in tables:
        yield study.agreement_of("Example 1, steps", tables["multirr_example1"], "adjustment")
