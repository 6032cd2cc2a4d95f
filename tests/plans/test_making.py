"""Plans from schemas: channels, shares of epsilon, what must be accepted."""

from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pytest

from deniable.channels import SubsetSelection, log_rounded_up, product_of_ratios
from deniable.errors import DeniableError
from deniable.plans import Split, make_plan, plan_from_json, plan_to_json, read_plan, write_plan
from deniable.plans.blocks import Block
from deniable.plans.choosing import choose
from deniable.records import Attribute, Domain
from deniable.schema import RecordsFile, Schema, schema_from_dict

REGION = [f"r{number}" for number in range(12)]


def schema(
    *, missing: str = "refuse", region: str | None = None, status: str = "declared"
) -> Schema:
    columns: list[dict[str, Any]] = [
        {"name": "sex", "kind": "categorical", "categories": ["F", "M"], "status": status},
        {"name": "region", "kind": "categorical", "categories": REGION},
        {"name": "age", "kind": "numeric", "bounds": [0.0, 60.0], "step": 1.0},
        {"name": "one", "kind": "categorical", "categories": ["x"]},
    ]
    columns[2]["missing"] = {"values": [""], "policy": missing}
    if region is not None:
        columns[1] |= {"type": region, "categories": [str(number) for number in range(12)]}
    return schema_from_dict(
        {
            "format": "deniable-schema",
            "version": 1,
            "population": "survey",
            "file": {"kind": "arrow"},
            "columns": columns,
        }
    )


def kinds(plan: Any) -> dict[str, str]:
    found = zip(plan.protocol.clusters, plan.why, strict=True)
    return {" x ".join(names): why.partition(":")[0] for names, why in found}


@pytest.mark.parametrize("epsilon", [0.1, 1.0, 2.0, 7.3, 200.0])
@pytest.mark.parametrize("split", ["even", "size", "optimal"])
def test_exact_epsilons_never_add_up_to_more_than_was_asked(epsilon: float, split: Split) -> None:
    plan = make_plan(schema(), epsilon, split=split, tables=[("sex", "region")])
    parities = [channel.exact_parity for channel in plan.protocol.channels]
    assert log_rounded_up(product_of_ratios(parities)) == plan.epsilon <= epsilon
    assert epsilon > 90 or plan.epsilon > epsilon * (1 - 1e-9)


def test_the_best_is_chosen_and_says_against_what() -> None:
    plan = make_plan(schema(), 3.0)
    assert kinds(plan) == {
        "sex": "generalized-rr",
        "region": "subset-selection",
        "age": "square-wave",
        "one": "generalized-rr",
    }
    assert "against" in plan.why[1]
    assert plan.why[3] == "generalized-rr: one category reveals nothing"
    assert plan.protocol.channels[3].epsilon == 0.0


def test_columns_of_other_types_and_clusters_keep_their_categories() -> None:
    typed = make_plan(schema(region="int64"), 3.0, clusters=[("age", "sex")])
    assert kinds(typed) == {
        "sex x age": "generalized-rr",
        "region": "generalized-rr",
        "one": "generalized-rr",
    }
    assert typed.protocol.report_domain == typed.schema.domain()
    assert set(kinds(make_plan(schema(), 3.0, responses="categories")).values()) == {
        "generalized-rr"
    }


def test_a_mechanism_is_taken_where_it_can_be() -> None:
    plan = make_plan(schema(), 3.0, mechanism="square-wave", mechanisms={"region": "hadamard"})
    assert kinds(plan) == {
        "sex": "generalized-rr",
        "region": "hadamard",
        "age": "square-wave",
        "one": "generalized-rr",
    }
    assert plan.why[0].endswith("square-wave is for a number by itself")


@pytest.mark.parametrize(
    ("options", "said"),
    [
        ({"mechanisms": {"sex": "laplace"}}, "sex: laplace is for a number by itself"),
        ({"mechanisms": {"sexes": "laplace"}}, "unknown column to randomize 'sexes'"),
        ({"mechanism": "magic"}, "unknown mechanism 'magic'"),
        ({"clusters": [("sex", "w")]}, "unknown column to randomize 'w'"),
        ({"tables": [("sex", "sex")]}, "names a column twice"),
        (
            {
                "clusters": [("sex", "region")],
                "mechanisms": {"sex": "best", "region": "generalized-rr"},
            },
            "two mechanisms are named for it",
        ),
        ({"responses": "some"}, "unknown responses 'some'"),
        ({"split": "fair"}, "unknown way to split epsilon 'fair'"),
        ({"epsilon": 0.0}, "epsilon is 0.0"),
        ({"epsilon": float("nan")}, "epsilon is nan"),
        ({"epsilon": "2"}, "epsilon is '2'; give one number"),
    ],
)
def test_what_cannot_be_is_refused(options: dict[str, Any], said: str) -> None:
    with pytest.raises(DeniableError, match=said):
        make_plan(schema(), **{"epsilon": 3.0} | options)


def test_numbers_that_can_be_missing_stay_numbers() -> None:
    with pytest.raises(DeniableError, match="age: laplace is for a number by itself that is never"):
        make_plan(schema(missing="category"), 3.0, mechanisms={"age": "laplace"})
    plan = make_plan(schema(missing="category"), 3.0)
    assert kinds(plan)["age"] == "square-wave"
    reported = plan.layout.columns[2]
    assert reported.texts[-1] == ""
    assert [float(each) for each in reported.texts[:-1]] == list(range(-15, 76))
    assert plan_from_json(plan_to_json(plan)).epsilon == plan.epsilon <= 3


@pytest.mark.parametrize(
    ("kind", "missing", "expected"),
    [
        ("int16", "refuse", "square-wave"),
        ("decimal128(6, 2)", "category", "square-wave"),
        ("float", "category", "square-wave"),
        ("uint8", "refuse", "generalized-rr"),  # holds no number below 0
        ("decimal128(4, 1)", "category", "square-wave"),
        ("decimal128(2, 0)", "category", "generalized-rr"),  # nor this one any with three digits
    ],
)
def test_a_number_leaves_its_bounds_where_its_type_can(
    kind: str, missing: str, expected: str
) -> None:
    typed = schema(missing=missing).model_dump()
    typed["columns"][2] |= {"type": kind, "bounds": [0.0, 80.0], "step": 2.0}
    plan = make_plan(schema_from_dict(typed), 3.0)
    assert kinds(plan)["age"] == expected
    assert str(plan.layout.columns[2].values.type) == kind
    kept = make_plan(schema_from_dict(typed), 3.0, responses="categories")
    assert kinds(kept)["age"] == "generalized-rr"


def test_drafted_columns_must_be_accepted() -> None:
    with pytest.raises(DeniableError, match=r"drafted columns: sex\. .*--accept drafted"):
        make_plan(schema(status="drafted"), 3.0)
    assert make_plan(schema(status="drafted"), 3.0, accept=["drafted"]).not_covered


def test_a_choice_by_the_data_must_be_accepted_and_is_said() -> None:
    table = pa.table(
        {"sex": ["F"] * 9 + ["M"], "region": REGION[:10], "age": ["7"] * 10, "one": ["x"] * 10}
    )
    file = RecordsFile.open(table, schema())
    with pytest.raises(DeniableError, match="--accept chosen_by_data"):
        make_plan(schema(), 3.0, data=file)
    plan = make_plan(schema(), 3.0, data=file, accept=["chosen_by_data"])
    assert plan.chosen_from == "the data, by a curator"
    with pytest.raises(DeniableError, match="give one of them"):
        make_plan(schema(), 3.0, data=file, prior={"sex": np.array([0.5, 0.5])})


def test_a_plan_is_the_same_again_from_its_file(tmp_path: Path) -> None:
    prior = {"sex": np.array([0.9, 0.1])}
    plan = make_plan(schema(), 2.0, split="size", clusters=[("sex", "one")], prior=prior)
    write_plan(tmp_path / "plan.json", plan)
    assert plan.chosen_from == "a public prior"
    assert plan_to_json(read_plan(tmp_path / "plan.json")) == plan_to_json(plan)


def test_a_design_for_a_prior_is_no_worse() -> None:
    part = Domain((Attribute("a", ("x", "y", "z", "w")),))
    skewed = Block(part, {}, np.array([0.85, 0.05, 0.05, 0.05]))
    plain = skewed.error(choose(skewed, 1.0).channel)
    found = choose(skewed, 1.0, designs=True)
    assert found.kind == "designed"
    assert found.channel.epsilon <= 1.0
    assert skewed.error(found.channel) < plain


def test_no_column_has_hundreds_of_thousands_of_reports() -> None:
    land = {"name": "land", "kind": "categorical", "categories": [f"c{u}" for u in range(24)]}
    about = {"format": "deniable-schema", "version": 1, "population": "p", "file": {"kind": "csv"}}
    schema = schema_from_dict(about | {"columns": [land]})
    (channel,) = make_plan(schema, 0.8).protocol.channels
    assert SubsetSelection.of_epsilon(24, 0.8).reports > 300_000
    assert channel.reports < 100
    asked = make_plan(schema, 0.8, mechanism="subset-selection")
    assert "has 346,104 randomized values, over 32,768" in asked.why[0]
    assert repr(asked.protocol.channels) == repr((channel,))
