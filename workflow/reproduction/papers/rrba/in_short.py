"""What the report's first page says of [rrba]."""

from collections.abc import Iterator
from typing import Any

from deniable.display import Tables, short

from reproduction.papers.rrba.names import METHODS, PRINTED_TABLES
from reproduction.papers.rrba.sections import overview
from reproduction.study import Agreement, PrivacyVerdict, Verdicts, agreement_of


def in_short(tables: Tables) -> Verdicts:
    """Return what becomes of Theorem 4.1 in `tables`, and how many printed numbers agree."""
    return Verdicts(privacy=[*_theorem(tables)], numbers=[*_numbers(tables)])


def _theorem(tables: Tables) -> Iterator[PrivacyVerdict]:
    if "rrba_epsilon" not in tables:
        return
    found = overview(tables)
    tally = found["tally"]
    ratios = tally["single_ratios"]
    if not ratios:
        return
    true = tally["single_hold"] == tally["single"]
    views = [view for view in found["views"] if view["uniform"]]
    view: dict[str, Any] | None = max(views, key=lambda each: each["answers"], default=None)
    of_view = (
        f" All {view['answers']} answers of a client about {found['names'][view['dataset']]} "
        f"spend {short(float(view['uniform']['exact']))} at that p, tables uniform."
        if view
        else ""
    )
    yield PrivacyVerdict(
        "holds" if true else "fails",
        f"Theorem 4.1 of RRBA is {'true' if true else 'false'}",
        f"It claims ε = ln 1 / (1 − p), {short(float(found['claimed']))} at p = {found['p']:g}. "
        f"One answer keeps to that in {tally['single_hold']} of {tally['single']} settings; it "
        f"spends {_spent(tally)} times as much.{of_view}",
        "rrba_overview",
        "" if true else _instead(found["adapting"]),
        ratios[1],
    )


def _spent(tally: dict[str, Any]) -> str:
    """Return how many times its claim an answer spends: of uniform tables, and of all."""
    low, high = map(short, tally["single_ratios"])
    if not tally["uniform_ratios"]:
        return f"{low} to {high}"
    least, most = map(short, tally["uniform_ratios"])
    return f"{least} to {most} (tables uniform) or up to {high} (small cells)"


def _instead(adapting: dict[str, Any] | None) -> str:
    """Return what to state, and what to use where it is the more accurate, too."""
    stated = "State the exact ε of all answers of a client"
    if adapting is None or adapting["lower"]:
        return f"{stated}, under a floor for cells."
    low, high = adapting["range"]
    return (
        "Keep the table uniform, which is generalized randomized response: at equal exact ε RRBA's "
        f"tables are {short(low)} to {short(high)} times as far from the truth in all "
        f"{adapting['of']} settings. {stated}."
    )


def _numbers(tables: Tables) -> Iterator[Agreement]:
    for name, title in PRINTED_TABLES.items():
        if name in tables:
            own = tables[name][tables[name]["main"] & tables[name]["published"].notna()]
            for method in (each for each in METHODS if each in set(own["method"])):
                part = own[own["method"] == method]
                yield agreement_of(f"{title}, {METHODS[method]}", part, "rrba_tables")
    if "rrba_table3" in tables:
        # Its n and effect, which the text leaves open, are fitted to the printed rates.
        yield Agreement("Table 3", None, 0, "rrba_tests", "fitted, no verdict")
    if "rrba_examples" in tables:
        yield agreement_of("worked cases", tables["rrba_examples"], "rrba_consistency")
