"""Tests of independence from the answers of a collection."""

import hashlib
from collections.abc import Mapping
from typing import Any

import numpy as np
import pandas as pd

from deniable.contingency import (
    MONTE_CARLO_TABLES,
    TableToTest,
    adjusted_for_number,
    independence_of_tables,
)
from deniable.release import CollectionRelease, marked_as
from deniable.release.collection.design import design_from_json
from deniable.rrba import SEPARATOR, CollectionDesign, answers_by_table
from deniable.sampling import generator_for


def independence_tests(
    design: CollectionDesign,
    collection: pd.DataFrame,
    generator: np.random.Generator,
    monte_carlo_tables: int = MONTE_CARLO_TABLES,
) -> pd.DataFrame:
    """Test for each table of a `collection` by a `design` whether its attributes are independent.

    See `deniable.contingency.independence_of_tables` for the `generator`, `monte_carlo_tables` and
    columns. Here they are called ``answers`` (records) and ``method`` (p_value_by).
    """
    tables = [
        TableToTest(design.domain.project(each).shape, own.channel, own.reports.sum(axis=0))
        for each, own in answers_by_table(design, collection).items()
    ]
    found = adjusted_for_number(independence_of_tables(tables, generator, monte_carlo_tables))
    found = found.rename(columns={"records": "answers", "p_value_by": "method"})
    found["method"] = found["method"].str.replace(
        r"(\d+) Monte Carlo tables", r"Monte Carlo, \1 tables", regex=True
    )
    found.insert(0, "attributes", [SEPARATOR.join(each) for each in design.tables])
    return found


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
