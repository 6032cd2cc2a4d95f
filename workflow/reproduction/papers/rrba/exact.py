"""Exact numbers of [rrba] without simulation: Theorem 4.1 and the worked cases.

The theorem claims ln(1 / (1 - p)) for the protocol, for all tables and any number of answers of a
client. This is ``claimed``; ``claimed_composed`` counts it for each answer, the more lenient
interpretation. Exact ε belong to the channels of clients, in rational numbers.

The worked cases are in fractions.
"""

import math
from collections.abc import Iterator, Mapping, Sequence
from fractions import Fraction
from functools import cache
from itertools import product
from typing import Any

import numpy as np
import pandas as pd

from deniable import rrba
from deniable.contingency import nearest_table_by_program, nearest_tables
from deniable.records import Microdata

CELLS = (2, 4, 8, 16)
"""Cells in the table of an answer: the two coins, and two, three and four binary attributes."""
FLOOR = 0.1  # of the table with a small cell in Figure 4
CLAIM_TOLERANCE = 1e-12  # claims are formulas evaluated to nearest
CURVE = tuple(round(0.01 * step, 2) for step in range(1, 100))  # the p of Figure 4

EPSILON_COLUMNS = (
    *("unit", "table", "dataset", "attributes", "cells", "answers", "rounds", "p", "floor"),
    *("claimed", "claimed_composed", "exact", "holds", "holds_composed"),
)
CASE_COLUMNS = ("case", "place", "quantity", "exact", "value", "printed", "verdict")
HALF = Fraction(1, 2)
NOISY, TOTAL = (6, -2, 2, 2), 8
GAMMAS = (0.0, 0.01, 0.5, 0.99)


def epsilon_table(
    files: Mapping[str, Microdata],
    probabilities: Sequence[float],
    floors: Sequence[float],
    rounds: Sequence[int],
) -> pd.DataFrame:
    """Return claimed and exact ε of answers, views of pairs, and rounds.

    The keys of `files` are data sets, and `probabilities` are the p. The `floors`, in (0, 1],
    belong to tables from data, and `rounds` are numbers of answers of a client. Columns are
    `EPSILON_COLUMNS`:

    - ``unit``: "answer", "view", or "rounds";
    - ``table``: "uniform" (before the first block), "lowest" (with a cell at its floor), or "true"
      (the proportions of the data, projected on the floor, of the worst combination or view);
    - ``cells``: number of cells of the table, or of all tables of a view.
    """
    rows: list[dict[str, Any]] = []
    for p, cells in product(probabilities, CELLS):
        uniform = np.full(cells, 1 / cells)
        answer = {"unit": "answer", "table": "uniform", "attributes": int(math.log2(cells)), "p": p}
        answer |= {"cells": cells, "answers": 1, "rounds": 1}
        rows.append(answer | {"exact": rrba.answer_epsilon([uniform], p)})
        for floor in floors:
            exact = rrba.floor_epsilon([cells], p, floor)
            rows.append(answer | {"table": "lowest", "floor": floor, "exact": exact})
        for n in rounds:
            again = {"unit": "rounds", "answers": n, "rounds": n}
            rows.append(answer | again | {"exact": rrba.answer_epsilon([uniform] * n, p)})
    for (name, data), p in product(files.items(), probabilities):
        rows += _of_data(name, data, p, floors)
    table = pd.DataFrame(rows, columns=list(EPSILON_COLUMNS)).fillna({"dataset": ""})
    claimed = table["p"].map(rrba.claimed_epsilon)
    for suffix, bound in (("", claimed), ("_composed", claimed * table["answers"])):
        table[f"claimed{suffix}"] = bound
        table[f"holds{suffix}"] = table["exact"] <= bound * (1 + CLAIM_TOLERANCE)
    return table


def _of_data(
    name: str, data: Microdata, p: float, floors: Sequence[float]
) -> Iterator[dict[str, Any]]:
    views = rrba.make_views(data.domain.names, 2)
    truth = {c: data.counts(c).reshape(-1) / len(data) for view in views for c in view}
    epsilon_of = cache(lambda values: rrba.answer_epsilon([np.frombuffer(values)], p))
    # With the floor 1 a table is uniform.
    for table, floor in [("uniform", 1.0), *(("true", floor) for floor in floors)]:
        sent = {c: rrba.floored_projection(proportions, floor) for c, proportions in truth.items()}
        of_answer = {c: epsilon_of(q.tobytes()) for c, q in sent.items()}
        worst = max(of_answer, key=of_answer.__getitem__)
        view = max(views, key=lambda each: sum(of_answer[c] for c in each))
        about = {"table": table, "dataset": name, "attributes": len(worst), "rounds": 1, "p": p}
        about["floor"] = floor if table == "true" else math.nan
        answer = {"unit": "answer", "cells": sent[worst].size, "answers": 1}
        yield about | answer | {"exact": of_answer[worst]}
        of_view = {"unit": "view", "cells": sum(sent[c].size for c in view), "answers": len(view)}
        yield about | of_view | {"exact": rrba.answer_epsilon([sent[c] for c in view], p)}


def figure_4_table() -> pd.DataFrame:
    """Return the curve of Figure 4, ε over p by (6), and exact curves.

    The ``curve`` is "claimed", "uniform", or "lowest" (four cells, one at the floor).
    """
    rows = [("claimed", 0, math.nan, p, rrba.claimed_epsilon(p)) for p in CURVE]
    curves = [("lowest", 4, FLOOR), *(("uniform", m, math.nan) for m in CELLS)]
    for (curve, m, floor), p in product(curves, CURVE):
        least = FLOOR if curve == "lowest" else 1.0
        rows.append((curve, m, floor, p, rrba.floor_epsilon([m], p, least)))
    return pd.DataFrame(rows, columns=["curve", "cells", "floor", "p", "epsilon"])


PRINTED_TABLE_B = (2, 2, 4, 2)
"""Table 1b, region (big, small) by education (high, uni), with the sum 10. Its name in the caption
is T_AT. The 8 records of Table 1a have the counts 2, 1, 3, 2."""
PRINTED_TABLE_C = (4, 6)
"""Table 1c: the marginal of the published Table 1b. The marginal of the file is 3, 5."""


def example_records() -> Microdata:
    """Return the 8 records of Table 1a (Example 3.1)."""
    records = (
        "adult big high emp M car",
        "adult big high emp F train",
        "adult small high emp F other",
        "adult small high self F car",
        "old big uni emp F train",
        "old small uni self M other",
        "old small uni self M train",
        "old small high self M train",
    )
    return Microdata.of_frame(pd.DataFrame(map(str.split, records), columns=list("AREOST")))


def two_coins(truth: Fraction) -> Fraction:
    """Return Pr("Yes") with two fair coins (Figure 1), given Pr(true answer is "Yes"), `truth`."""
    return truth / 2 + Fraction(1, 4)


def estimate_from_two_coins(reported: Fraction) -> Fraction:
    """Return the estimate from the proportion of "Yes" in responses, `reported` (section 1)."""
    return 2 * (reported - Fraction(1, 4))


def worked_cases() -> pd.DataFrame:
    """Return the worked cases, one number per row, with `CASE_COLUMNS`.

    ``place`` is the place in the text. ``exact`` is a fraction or a formula, ``value`` is the same
    as a float, and ``printed`` is the published number, or NaN.
    """
    cases = {
        "two coins": _coins(),
        "Example 3.1": _example(),
        "views of pairs": _views(),
        "equation (4)": _equation_4(),
        "two steps": _two_step(),
    }
    rows = [(case, *row) for case, rows in cases.items() for row in rows]
    return pd.DataFrame(rows, columns=list(CASE_COLUMNS))


def _row(
    place: str,
    quantity: str,
    exact: Fraction | int | str,
    printed: float = math.nan,
    value: float | None = None,
) -> tuple[Any, ...]:
    """Return a row; if `exact` is a text, `value` is required."""
    number = float(exact) if value is None else value
    compared = "agrees" if number == printed else "differs"
    verdict = "not published" if math.isnan(printed) else compared
    return place, quantity, str(exact), number, float(printed), verdict


def _coins() -> Iterator[tuple[Any, ...]]:
    place = "section 1, Figure 1"
    for truth in (Fraction(0), Fraction(1, 5), HALF, Fraction(1)):
        reported = two_coins(truth)
        text = f"estimate where {truth} say Yes truly and {reported} are reported"
        yield _row(place, text, estimate_from_two_coins(reported))
    right = two_coins(Fraction(1))
    yield _row(place, "chance of a correct response", right, 0.75)
    yield _row(place, "exp of the exact epsilon", right / (1 - right), 3.0)
    claim = float(np.exp(rrba.claimed_epsilon(0.5)))
    yield _row("Theorem 4.1", "exp of the epsilon claimed at p = 1/2", "2", 3.0, claim)


def _example() -> Iterator[tuple[Any, ...]]:
    records = example_records()
    tables = (("Table 1b", ("R", "E"), PRINTED_TABLE_B), ("Table 1c", ("R",), PRINTED_TABLE_C))
    for place, names, printed in tables:
        categories = product(*(records.domain[name].categories for name in names))
        for cell, found, value in zip(categories, records.counts(names).flat, printed, strict=True):
            yield _row(place, f"records {', '.join(cell)}", int(found), value)
    yield _row("Table 1a", "records in all", len(records), sum(PRINTED_TABLE_B))


def _views() -> Iterator[tuple[Any, ...]]:
    for attributes in (5, 6):
        found = len(rrba.make_views([f"a{i}" for i in range(attributes)], 2))
        least = rrba.fewest_views(attributes, 2)
        of = f"views of {attributes} attributes, as"
        yield _row("section 4", f"{of} listed", f"{found}, at least {least}", 5.0, float(found))
        yield _row("section 4, Algorithm 1", f"{of} Algorithm 1 makes them", found, attributes)


def _equation_4() -> Iterator[tuple[Any, ...]]:
    """Yield expected responses of the eight clients of the example at p = 1/2, estimated by (4)."""
    counts = example_records().counts(("R", "E")).reshape(-1).tolist()
    others = HALF * Fraction(1, len(counts))
    for cell, count in enumerate(counts, 1):
        truth = Fraction(count, sum(counts))
        reported = HALF * truth + others
        text = f"cell {cell} of R x E, true {truth}, reported {reported}: estimate"
        yield _row("section 4.1", text, (reported - others) / HALF)
    yield _row("section 4.1", "a cell that nobody in the block reports: estimate", -others / HALF)


def _two_step() -> Iterator[tuple[Any, ...]]:
    """Yield step one of (7) for a table, in fractions and by the program, and step two."""
    place, named = "section 6, (7)", f"{NOISY}, total {TOTAL}"
    nearest = projected(NOISY, TOTAL)
    for step, table in (("one", nearest), ("two, independence", independent(nearest))):
        for cell, value in enumerate(table, 1):
            yield _row(place, f"{named}: cell {cell} after step {step}", value)
    closed = nearest_tables(list(NOISY), TOTAL)
    for gamma in GAMMAS:
        program = nearest_table_by_program(list(NOISY), TOTAL, gamma)
        apart = float(np.abs(program - closed).max())
        text = f"{named}: program with gamma = {gamma:g} apart from the closed form"
        # The digits of a solver differ between machines, so the table only has a bound.
        exact, number = ("below 10⁻⁶", 0.0) if apart < 1e-6 else (f"{apart:.2g}", apart)
        yield _row(place, text, exact, value=number)


def projected(noisy: Sequence[int], total: int) -> list[Fraction]:
    """Return exactly the non-negative table with a `total` that is closest to a `noisy` table.

    It adds one number to all cells and cuts them off at 0. For each n there is a number with which
    the n largest cells alone have the total. The smallest of these numbers is right.

    >>> [str(cell) for cell in projected([6, -2, 2, 2], 8)]
    ['16/3', '0', '4/3', '4/3']
    """
    ordered = sorted(noisy, reverse=True)
    shift = min(Fraction(total - sum(ordered[:n]), n) for n in range(1, len(ordered) + 1))
    return [max(cell + shift, Fraction(0)) for cell in noisy]


def independent(table: Sequence[Fraction]) -> list[Fraction]:
    """Return the expected counts of a `table` of two binary attributes under independence.

    >>> [str(cell) for cell in independent([Fraction(1), Fraction(0), Fraction(1), Fraction(2)])]
    ['1/2', '1/2', '3/2', '3/2']
    """
    a, b, c, d = table
    return [row * column / sum(table) for row in (a + b, c + d) for column in (a + c, b + d)]
