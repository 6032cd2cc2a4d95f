"""Tests of independence from a collection's answers, which know the channel and how many they are.

Each table is tested with `deniable.contingency.independence.channel_test`, from the reports
themselves. Where its rule of validity fails the p-value comes from Monte Carlo tables. There are as
many tests as tables: p-values adjusted for that stand beside, by Holm's method, which bounds the
probability of any false rejection whatever the tests' dependence, and by Benjamini and Hochberg's,
which bounds the expected share of false ones among the rejections if tests are independent or
positively dependent.

Monte Carlo tables end once `ENOUGH` have a statistic as large as the observed one (Besag and
Clifford, 1991): a p-value above .05 can decide nothing, and is known to a seventh of itself by
then. The method that stands beside a p-value says how many tables it rests on.

So few Monte Carlo tables cannot give a p-value that is small after such an adjustment. A test whose
p-value is the least that they can give is therefore made again with enough of them: with so many
that a single rejection after Holm's adjustment is possible. The size stays: whatever is rejected at
a level above that least was rejected before, and at a level below it the second p-value alone
decides.
"""

import hashlib
import math
from collections.abc import Mapping
from typing import Any

import numpy as np
import pandas as pd

from deniable.arrays import at_least
from deniable.contingency import (
    MONTE_CARLO_TABLES,
    LogLinearModel,
    benjamini_hochberg,
    channel_test,
    holm,
)
from deniable.release import CollectionRelease, marked_as
from deniable.release.collection.design import design_from_json
from deniable.rrba import SEPARATOR, CollectionDesign, Combination, TableAnswers, answers_by_table
from deniable.sampling import generator_for

LEVEL = 0.05
ENOUGH = 50
"""So many Monte Carlo tables as large as the observed one end a test: 50 of 999 are 5 %."""
CHI_SQUARED, MONTE_CARLO, NOTHING = "chi-squared", "Monte Carlo", "nothing to test"
RESULTS = ("answers", "statistic", "degrees_of_freedom", "p_value", "valid", "method")

_Shape = tuple[int, ...]
_Group = tuple[_Shape, float, bytes]


def independence_tests(
    design: CollectionDesign,
    collection: pd.DataFrame,
    generator: np.random.Generator,
    monte_carlo_tables: int = MONTE_CARLO_TABLES,
) -> pd.DataFrame:
    """Test for each table of a `collection` by a `design` whether its attributes are independent.

    The collection is that of `collect_answers`. The `generator` is for Monte Carlo tables. What it
    draws protects nobody: it may be seeded. More are drawn for p-values that are the least possible
    with `monte_carlo_tables`.

    The columns are ``attributes``, ``answers``, ``statistic``, ``degrees_of_freedom``, ``p_value``,
    ``valid`` (whether the rule of validity holds), ``method``, ``p_value_holm``,
    ``p_value_benjamini_hochberg`` and ``rejected``, ``rejected_holm``,
    ``rejected_benjamini_hochberg`` at level .05.
    """
    answers = answers_by_table(design, collection)
    groups: dict[_Group, list[Combination]] = {}
    for each, about in answers.items():
        shape = design.domain.project(each).shape
        groups.setdefault((shape, about.keep, about.average_fake.tobytes()), []).append(each)
    rows: dict[Combination, dict[str, object]] = {}
    for (shape, *_), alike in groups.items():
        own = [answers[each] for each in alike]
        rows |= zip(alike, _tested(shape, own, generator, monte_carlo_tables), strict=True)
    more = math.ceil(len(rows) / LEVEL)
    for (shape, *_), alike in groups.items():
        again = [each for each in alike if _is_least(rows[each], monte_carlo_tables)]
        if again and more > monte_carlo_tables:
            own = [answers[each] for each in again]
            rows |= zip(again, _tested(shape, own, generator, more), strict=True)
    table = pd.DataFrame([rows[each] for each in design.tables])
    table.insert(0, "attributes", [SEPARATOR.join(each) for each in design.tables])
    p_values = table["p_value"].to_numpy()
    table["p_value_holm"] = holm(p_values)
    table["p_value_benjamini_hochberg"] = benjamini_hochberg(p_values)
    for suffix in ("", "_holm", "_benjamini_hochberg"):
        table[f"rejected{suffix}"] = at_least(LEVEL, table[f"p_value{suffix}"])
    return table


def examined(release: CollectionRelease, made: Mapping[str, Any]) -> dict[str, pd.DataFrame]:
    """Return tests of ``independence`` from ``views`` and ``collection`` that a `release` `made`.

    Monte Carlo tables are drawn from what is estimated and protect nobody: their generator follows
    from the collection, so that whoever has it finds the same.
    """
    design, collection = design_from_json(made["views"]), made["collection"]
    reports = hashlib.sha256(collection["reports"].to_numpy("<u8").tobytes()).hexdigest()
    generator = generator_for(0, {"release": release.name, "independence": reports})
    tests = independence_tests(design, collection, generator)
    return {"independence": marked_as(tests, collection)}


def _tested(
    shape: _Shape,
    answers: list[TableAnswers],
    generator: np.random.Generator,
    monte_carlo_tables: int,
) -> list[dict[str, object]]:
    """Return a row for each of several tables of one shape that have the same channel."""
    model = LogLinearModel.independence(shape)
    numbers = [each.number for each in answers]
    if model.degrees_of_freedom < 1:
        nothing = (0.0, 0, math.nan, False, NOTHING)
        return [dict(zip(RESULTS, (number, *nothing), strict=True)) for number in numbers]
    channel = answers[0].channel
    reports = np.array([each.reports.sum(axis=0) for each in answers])
    found = channel_test(
        reports, channel, model, generator=generator, tables=monte_carlo_tables, enough=ENOUGH
    )
    methods = [
        f"{MONTE_CARLO}, {tables} tables" if tables else CHI_SQUARED
        for tables in found.monte_carlo_tables.tolist()
    ]
    freedom = [model.degrees_of_freedom] * len(numbers)
    decided = (found.p_value.tolist(), found.valid.tolist(), methods)
    rows = zip(numbers, found.statistic.tolist(), freedom, *decided, strict=True)
    return [dict(zip(RESULTS, row, strict=True)) for row in rows]


def _is_least(row: Mapping[str, Any], monte_carlo_tables: int) -> bool:
    least = 1 / (1 + monte_carlo_tables)
    return str(row["method"]).startswith(MONTE_CARLO) and bool(at_least(least, row["p_value"]))
