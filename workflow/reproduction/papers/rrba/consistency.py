"""Disagreement of views before and after they are made consistent ([rrba], 4.3).

A trial assigns each record of a file to one view, and collects each table of the view by RRBA.
Tables of different views disagree on the marginal distributions that they share. They are corrected
in three ways: each table alone (the nearest distribution, step one of section 6), or all together
by the l2 and the l1 program of `deniable.contingency.consistency`, which also reconstructs
unobserved tables. The results are compared with the proportions of the file.
"""

import math
from collections.abc import Iterator, Mapping, Sequence
from contextlib import suppress
from itertools import combinations, product
from typing import Any, Literal

import numpy as np
import pandas as pd

from deniable import contingency
from deniable.arrays import Floats
from deniable.errors import DeniableError
from deniable.records import Microdata
from deniable.rrba import POOLED, Combination, View, collect, make_views, split_blocks
from deniable.sampling import generator_for

from reproduction.papers.rrba.catalog import CONSISTENCY
from reproduction.study import groups_of, mean_summary

CellVisibility = Literal["observed", "in several", "in none"]
PROBABILITIES = (0.3, 0.5, 0.7)
OTHER_SIZE: Mapping[int, tuple[CellVisibility, int]] = {2: ("in none", 3), 3: ("in several", 2)}
"""For views of k attributes, the kind of the reconstructed tables ("in none" or "in several" views)
and their size."""
METHODS: tuple[Literal["nearest", "l2", "l1"], ...] = ("nearest", "l2", "l1")
BLOCK_SIZE = 25  # clients between two updates of the tables of a view
REPLICATES = 10
COLUMNS = (*CONSISTENCY.keys, *CONSISTENCY.by_chance, "change", "ci_low", "ci_high", "replicates")


def consistency_table(
    files: Mapping[str, Microdata], probabilities: Sequence[float], seed: int
) -> pd.DataFrame:
    """Return the disagreement of views, and distances from the original tables, before and after.

    `files` by name should have few attributes, because the programs have a variable for each
    effect. `probabilities` are the p. There are `REPLICATES` trials, drawn with the `seed`.

    There is one row of `COLUMNS` for each setting, kind of tables and method:

    - ``tables``: "observed", in the views; "in several", smaller tables in several views (before:
      the marginal table of the first one); "in none", larger tables, without values before;
    - ``method``: "nearest" corrects each table alone, "l2" and "l1" are the programs;
    - ``closed_form``: proportion of trials in which the closed form of l2, averages of marginals,
      has no cell of the observed tables below 0;
    - ``printed_feasible``: proportion of trials in which the published program, which requires
      equality with all views, has a solution;
    - ``disagreement``: largest difference between marginals of observed tables, mean over trials;
    - ``negative``: proportion of cells below 0;
    - ``distance``: l2 distance from the proportions of the file, mean over tables and trials;
    - ``change``: distance after minus before, with its 95 % interval over trials.
    """
    rows = []
    for (file, data), p, views_of in product(files.items(), probabilities, OTHER_SIZE):
        cell = {"file": file, "p": p, "views_of": views_of}
        stream = generator_for(seed, {"study": "rrba_consistency", **cell})
        views = make_views(data.domain.names, views_of)
        other, size = OTHER_SIZE[views_of]
        wanted = list(combinations(data.domain.names, size))
        every = [*(c for view in views for c in view), *wanted]
        truth = {names: data.counts(names) / len(data) for names in every}
        runs = (collected(data, views, p, stream) for _ in range(REPLICATES))
        trials = pd.DataFrame(row for noisy in runs for row in _trial(noisy, wanted, other, truth))
        about = cell | {"records": len(data), "views": len(views), "replicates": REPLICATES}
        for of, part in groups_of(trials, "tables", "method", "number"):
            row = {**about, **of, **part.drop(columns=list(of)).mean()}
            change = part["distance_after"] - part["distance_before"]
            if change.notna().all():
                found = mean_summary(change)
                row |= {"change": found.value, "ci_low": found.low, "ci_high": found.high}
            rows.append(row)
    return pd.DataFrame(rows, columns=list(COLUMNS))


def collected(
    data: Microdata, views: Sequence[View], keep: float, generator: np.random.Generator
) -> list[contingency.NoisyTable]:
    """Return unbiased estimates of the tables of all `views` of `data`, each from other clients.

    The `generator` assigns each record to one view. Its clients answer in blocks of `BLOCK_SIZE`
    with the retention probability `keep`. The precision of a table is its number of clients.
    """
    found = []
    parts = np.array_split(generator.permutation(len(data)), len(views))
    for view, part in zip(views, parts, strict=True):
        own = Microdata(data.domain, tuple(column[part] for column in data.columns))
        for combination in view:
            counts = own.counts(combination)
            blocks = split_blocks(counts.reshape(-1), BLOCK_SIZE, generator)[None]
            estimate = collect(blocks, keep, generator, POOLED).estimate().reshape(counts.shape)
            found.append(contingency.NoisyTable(combination, estimate, float(len(own))))
    return found


def _trial(
    noisy: Sequence[contingency.NoisyTable],
    wanted: Sequence[Combination],
    other: CellVisibility,
    truth: Mapping[Combination, Floats],
) -> Iterator[dict[str, Any]]:
    before = {table.attributes: table.proportions for table in noisy}
    holding = {c: [t for t in noisy if set(c) <= set(t.attributes)] for c in wanted}
    margins = {
        names: contingency.marginal(found[0].attributes, found[0].proportions, names)
        for names, found in holding.items()
        if found
    }
    layout = contingency.Layout.of(noisy, [])
    about: dict[str, Any] = {
        "closed_form": float(np.all(layout.cells(layout.average_effects(noisy)) >= 0)),
        "printed_feasible": 0.0,
        "disagreement_before": contingency.largest_disagreement(noisy),
    }
    if about["disagreement_before"] <= contingency.AGREEMENT:
        with suppress(DeniableError):
            contingency.reconstruct_printed(wanted[0], noisy)
            about["printed_feasible"] = 1.0
    for method in METHODS:
        if method == "nearest":
            after = {
                names: contingency.nearest_tables(table.reshape(-1), 1.0).reshape(table.shape)
                for names, table in (before | margins).items()
            }
        else:
            after = contingency.consistent_tables(noisy, wanted, norm=method)
        about["disagreement_after"] = contingency.largest_disagreement(
            [contingency.NoisyTable(names, after[names]) for names in before]
        )
        for kind, known, chosen in (("observed", before, [*before]), (other, margins, wanted)):
            if all(names in after for names in chosen):
                about |= {"tables": kind, "method": method, "number": len(chosen)}
                then = {names: after[names] for names in chosen}
                yield about | _measured(known, truth, "before") | _measured(then, truth, "after")


def _measured(
    tables: Mapping[Combination, Floats], truth: Mapping[Combination, Floats], when: str
) -> dict[str, float]:
    if not tables:
        return dict.fromkeys((f"distance_{when}", f"negative_{when}"), math.nan)
    distances = [np.sqrt(np.sum((table - truth[of]) ** 2)) for of, table in tables.items()]
    cells = np.concatenate([table.reshape(-1) for table in tables.values()])
    found = {"distance": np.mean(distances), "negative": np.mean(cells < 0)}
    return {f"{name}_{when}": float(value) for name, value in found.items()}
