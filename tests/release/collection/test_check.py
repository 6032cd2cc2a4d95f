"""What a collection states of its privacy, held against the tables that clients were sent."""

import io
import math
from typing import Any

import numpy as np
import pandas as pd
import pytest

from deniable.randomized_response.audit import audit_multirr
from deniable.records.categorical import Microdata
from deniable.records.domain import Attribute, Domain
from deniable.release import key_of_seed, release_from
from deniable.release.collection.check import audit_collection
from deniable.release.collection.design import (
    describe,
    design_to_json,
    in_full,
    release_design,
)
from deniable.release.settings import CollectionRelease
from deniable.rrba.collection import collect_answers

DOMAIN = Domain(
    (
        Attribute("a", ("0", "1")),
        Attribute("b", ("x", "y", "z")),
        Attribute("c", ("no", "yes")),
        Attribute("d", ("1", "2", "3", "4")),
    )
)


def files(**changes: Any) -> tuple[dict[str, Any], dict[str, Any], pd.DataFrame]:
    """Return release.json, views.json and collection.csv as they are read."""
    given = {"name": "small", "data": "made", "mechanism": "rrba", "p": 0.5, "rehearsal": True}
    asked = release_from(given | {"block": 150} | changes)
    assert isinstance(asked, CollectionRelease)
    drawn = np.random.default_rng(3)
    columns = tuple(drawn.integers(0, attribute.size, 600) for attribute in DOMAIN)
    data = Microdata(DOMAIN, columns, {"data_source": "original"})
    design = release_design(asked, DOMAIN)
    collection, _ = collect_answers(design, data, key_of_seed(1).draws("plan"))
    text = in_full(collection, ["p", "fake", "epsilon"]).to_csv(index=False)
    return (
        describe(asked, design, data),
        design_to_json(design, 600),
        pd.read_csv(io.StringIO(text)),
    )


def test_uniform_tables_are_as_private_as_is_stated() -> None:
    audited = audit_collection(*files())
    assert audited["holds"].all()
    answers = audited[audited["unit"] == "answer"]
    assert answers["of"].tolist() == [f"tables of {cells} cells" for cells in (4, 6, 8, 12)]
    # ln(1 + p m / (1 - p)) at p = 1/2.
    for exact, cells in zip(answers["exact_epsilon"], (4, 6, 8, 12), strict=True):
        assert exact == pytest.approx(math.log(1 + cells), abs=1e-12)
    (record,) = audited[audited["unit"] == "record"].to_dict("records")
    # The views ask for a c and b d (5 times 13), a b and c d (7 times 9), a d and b c (9 times 7).
    dearest = math.log(5 * 13)
    assert record["exact_epsilon"] == pytest.approx(dearest, abs=1e-12)
    assert record["claimed_epsilon"] == pytest.approx(dearest, abs=1e-12)


@pytest.mark.parametrize("answers", ["view", "table"])
def test_tables_that_follow_the_estimates_stay_within_what_the_floor_guarantees(
    answers: str,
) -> None:
    audited = audit_collection(*files(update="pooled", floor=0.2, answers=answers))
    assert audited["holds"].all()
    assert (audited["shipped_epsilon"] - audited["exact_epsilon"]).abs().max() < 1e-9
    # The first block's tables are uniform and cost less; later ones are at most at their floor.
    uniform = audit_collection(*files(answers=answers))
    assert (audited["exact_epsilon"] > uniform["exact_epsilon"]).all()


@pytest.mark.parametrize(("column", "factor"), [("p", 1.2), ("fake", 0.2)])
def test_answers_through_another_channel_are_found_out(column: str, factor: float) -> None:
    described, views, collection = files()
    there = collection["block"] == 2
    if column == "p":
        collection.loc[there, "p"] *= factor
    else:
        first = there & (collection["categories"].str.startswith("0 x"))
        collection.loc[first, "fake"] *= factor
        totals = collection.groupby(["block", "attributes"])["fake"].transform("sum")
        collection["fake"] /= totals
    audited = audit_collection(described, views, collection)
    assert not audited[audited["unit"] == "record"]["holds"].any()
    assert not audited[audited["unit"] == "answer"]["holds"].all()


def test_claims_below_the_truth_do_not_hold() -> None:
    described, views, collection = files()
    for question in views["questions"]:
        for table in question["tables"]:
            table["epsilon"] = table["claimed_epsilon"]  # Theorem 4.1
    described["privacy"]["epsilon"] = 2 * math.log(2)
    assert not audit_collection(described, views, collection)["holds"].any()


def test_the_columns_are_those_of_the_audit() -> None:
    dependences = pd.DataFrame({"attribute_1": ["a"], "attribute_2": ["c"], "dependence": [0.5]})
    table = audit_multirr(DOMAIN.project(("a", "c")), dependences, [0.5], [50], [0.1])
    assert list(audit_collection(*files()).columns) == list(table.columns)
