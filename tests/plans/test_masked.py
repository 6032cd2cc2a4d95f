"""Plans that mask numbers: parameters, claims, documents, randomization and comparison."""

import json
import math
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pyarrow as pa
import pytest
from pydantic import ValidationError
from tests.idp.numeric_files import BOUNDS, METHODS, WITH_EPSILON, audited, numeric_file
from tests.plans.masked_plans import (
    ACCEPT,
    plan_by,
    records_of,
    schema_of_sizes,
    table_of_sizes,
)

import deniable
from deniable.errors import BoundsWarning, DataError, DeniableError
from deniable.idp import MEAN
from deniable.plans import (
    AUDIT_COLUMNS,
    MaskedPlan,
    PlanInputs,
    plan_from_json,
    plan_to_json,
    read_plan,
    write_plan,
)
from deniable.plans.masked import MaskedSettings
from deniable.sampling import KeyedDraws
from deniable.schema import Part, RecordsFile

KEY = KeyedDraws(bytes(range(32)), b"a plan")


@pytest.fixture(params=METHODS)
def method(request: pytest.FixtureRequest) -> str:
    return str(request.param)


def drawn(plan: MaskedPlan, source: Any = KEY, seed: int = 1) -> pa.Table:
    (table,) = plan.randomize(records_of(plan, seed).portions(), source)
    return table


# -- parameters ------------------------------------------------------------------------------------


def test_domains_are_the_bounds_or_made_by_the_factor(method: str) -> None:
    domains = plan_by(method).mechanism.domains
    assert domains.lower.tolist() == [-2, 1]
    assert domains.upper.tolist() == [18, 6]
    if method != "histograms":
        plan = plan_by(method, domain_factor=1.5)
        assert plan.mechanism.domains.lower.tolist() == [0, 0]
        largest = numeric_file().values.max(axis=0)
        np.testing.assert_array_equal(plan.mechanism.domains.upper, 1.5 * largest)
        assert plan.chosen_from == "the data, by a curator"
        assert "largest_values_shown" in plan.risks


@pytest.mark.parametrize(
    ("changes", "words"),
    [
        ({"method": "idp_ls", "accept": []}, "no_epsilon_for_records"),
        ({"method": "idp_cbls", "accept": ["no_epsilon_for_records"]}, "original_values_released"),
        ({"accept": ["everything"]}, "'everything' is not a risk"),
        ({"class_column": "height"}, "class column 'height' is numeric"),
        ({"columns": ["size"]}, "'size' is categorical; numeric columns are masked"),
        ({"columns": ["weight"]}, "the schema has no column 'weight'"),
        ({"columns": []}, "no column to mask"),
        ({"epsilon": 31.0}, "epsilon: 31.0"),
        ({"order": "sorted"}, "unknown order 'sorted'"),
        ({"chosen_from": "a public prior"}, "unknown origin of domains 'a public prior'"),
        ({"upper": (1.0, 1.0)}, "a domain factor and the ends of domains are given together"),
    ],
)
def test_plans_that_are_refused(changes: dict[str, Any], words: str) -> None:
    values = {"method": "dp"} | changes
    with pytest.raises(DeniableError, match=words):
        plan_by(values.pop("method"), **values)


def test_a_domain_factor_needs_the_records() -> None:
    with pytest.raises(DeniableError, match="a domain factor needs the original records"):
        MaskedPlan.from_schema(
            schema_of_sizes(), 1.0, domain_factor=1.5, accept=["largest_values_shown"]
        )


def test_a_schema_with_other_columns_is_refused() -> None:
    with pytest.raises(DeniableError, match="'size' is neither a number without a step"):
        MaskedPlan(schema_of_sizes(), 1.0)


def test_drafted_bounds_are_a_risk() -> None:
    schema = schema_of_sizes()
    columns = [each.model_copy(update={"status": "drafted"}) for each in schema.columns]
    drafted = schema.model_copy(update={"columns": columns})
    with pytest.raises(DeniableError, match="drafted"):
        plan_by("dp", schema=drafted)
    plan = plan_by("dp", schema=drafted, accept=["drafted"])
    assert "(width, height, size)" in plan.not_covered[0]


def test_settings_make_the_plan(method: str) -> None:
    values = {"kind": "masked", "method": method, "epsilon": 1.0, "class_column": "size"}
    settings = MaskedSettings.model_validate(values | METHODS[method])
    plan = settings.plan(PlanInputs(schema_of_sizes(), accept=tuple(ACCEPT.get(method, ()))))
    assert plan_to_json(plan) == plan_to_json(plan_by(method))
    half = {"part": {"take": 1, "of": 2, "seed": "text"}}
    settings = MaskedSettings.model_validate(values | METHODS[method] | half)
    plan = settings.plan(PlanInputs(schema_of_sizes(), accept=tuple(ACCEPT.get(method, ()))))
    assert plan_to_json(plan) == plan_to_json(plan_by(method, part=Part(2, 1, "text")))
    one = MaskedSettings.model_validate(values | METHODS[method] | {"columns": ["height"]})
    assert one.plan(PlanInputs(schema_of_sizes(), accept=tuple(ACCEPT.get(method, ())))).names == (
        "height",
    )


@pytest.mark.parametrize(
    ("changes", "words"),
    [
        ({"k": 5}, "k: 5; allowed with method 'dp': no k"),
        ({"bins": 5}, "bins: 5; allowed with method 'dp': none"),
        ({"method": "dp_um"}, "k is missing"),
        ({"method": "noise"}, "method"),
        ({"columns": []}, "columns"),
        ({"attributes": ["a"]}, "attributes"),
    ],
)
def test_settings_that_are_refused(changes: dict[str, Any], words: str) -> None:
    values = {"kind": "masked", "method": "dp", "epsilon": 1.0} | changes
    with pytest.raises(ValidationError, match=words):
        MaskedSettings.model_validate(values)


# -- claims ----------------------------------------------------------------------------------------


def test_only_methods_without_clusters_have_an_epsilon(method: str) -> None:
    plan = plan_by(method)
    by_column = plan.epsilon_by_changed_attribute()
    if method in WITH_EPSILON:
        assert 1 - 1e-9 < plan.epsilon <= plan.target
        assert sum(by_column.values()) == pytest.approx(plan.epsilon)
        assert plan.not_covered == ()
        assert plan.risks == {}
        assert plan.guarantees[0].conditions == (
            "the size of each record is public",
            "the number of records is public",
        )
    else:
        assert plan.epsilon == math.inf
        assert set(by_column.values()) == {math.inf}
        assert "no finite epsilon" in plan.not_covered[0]
        assert set(plan.risks) == set(ACCEPT[method])
    assert plan.guarantees[0].epsilon == plan.epsilon
    assert plan.passed == ("size",)


def test_guarantees_beyond_the_first_are_for_centroids_or_conditional() -> None:
    (_, centroids) = plan_by("dp_um").guarantees
    assert (centroids.epsilon, centroids.unit) == (0.5, "all centroids of one column")
    (_, centroid) = plan_by("idp_ls").guarantees
    assert (centroid.epsilon, centroid.unit) == (0.5, "one centroid")
    assert "the scale of the noise is held fixed" in " ".join(centroid.conditions)
    first, fixed = plan_by("dp", domain_factor=2.0).guarantees
    assert first.epsilon == math.inf
    assert fixed.epsilon == pytest.approx(1.0)
    assert "the domains are held fixed" in " ".join(fixed.conditions)


@pytest.mark.parametrize("factor", [None, 1.5])
def test_the_audit_has_a_row_per_claim(method: str, factor: float | None) -> None:
    if factor is not None and method == "histograms":
        return
    plan = plan_by(method, **({} if factor is None else {"domain_factor": factor}))
    table = plan.audit()
    assert list(table) == list(AUDIT_COLUMNS)
    stated = table[table["unit"] == "record"].iloc[0]
    assert stated["claimed_epsilon"] == plan.epsilon
    assert stated["exact_epsilon"] <= plan.epsilon
    assert stated["holds"]
    target = table[table["unit"] == "record, target"]
    assert (target["claimed_epsilon"] == 1.0).all()
    with_epsilon = method in WITH_EPSILON and factor is None
    assert target["holds"].all() == with_epsilon
    assert np.isinf(target["exact_epsilon"]).any() != with_epsilon
    if with_epsilon:
        assert table["holds"].all()
        assert (table.loc[table["unit"] == "attribute", "of"] == list(BOUNDS)).all()


def test_the_audit_on_records_is_the_one_of_the_mechanism(method: str) -> None:
    if method == "histograms":  # its epsilon depends on no record
        return
    plan = plan_by(method)
    table = audited(plan.mechanism, plan.original_records(records_of(plan).portions()))
    found = table.loc[table["unit"] == "record", "exact_or_lower_bound"].max()
    assert (found <= 1.0) == (method in WITH_EPSILON)


# -- documents -------------------------------------------------------------------------------------


@pytest.mark.parametrize("factor", [None, 1.1])
def test_what_is_read_back_is_the_same_plan(
    method: str, factor: float | None, tmp_path: Path
) -> None:
    if factor is not None and method == "histograms":
        return
    changes: dict[str, Any] = {} if factor is None else {"domain_factor": factor}
    plan = plan_by(method, 0.7, part=Part(2, 1, "public"), order="as_in_file", **changes)
    write_plan(tmp_path / "plan.json", plan)
    again = read_plan(tmp_path / "plan.json")
    assert isinstance(again, MaskedPlan)
    assert plan_to_json(again) == plan_to_json(plan)
    np.testing.assert_array_equal(again.mechanism.domains.upper, plan.mechanism.domains.upper)
    np.testing.assert_array_equal(again.mechanism.scales, plan.mechanism.scales)
    assert again.part == plan.part
    own = json.loads((tmp_path / "plan.json").read_text())["masked"]
    numbers = [value for each in own["columns"] for value in each.values()]
    assert not any(isinstance(value, float) for value in numbers)


@pytest.mark.parametrize(
    ("edit", "words"),
    [
        (lambda own: own["columns"][0].update(upper="19"), "upper is '19'"),
        (lambda own: own["columns"][0].update(epsilon="1/3"), "epsilon is '1/3'"),
        (lambda own: own["columns"][0].update(noise_scale="1"), "noise_scale is '1'"),
        (lambda own: own["claims"][0].update(holds=False), "holds is False"),
        (lambda own: own.update(method="dp_um"), "k is missing"),
        (lambda own: own.update(definition="none"), "definition is 'none'"),
        (lambda own: own.update(more=1), "unknown field 'masked.more'"),
        (lambda own: own.pop("claims"), "'masked.claims' is missing"),
        (lambda own: own["columns"].pop(), "columns"),
        (lambda own: own.update(class_column=None), "'size' is neither a number"),
        (lambda own: own.update(domain_factor="3/2"), "origin of domains"),
        (lambda own: own.update(domain_factor="1e999999999"), "'1e999999999' is not a fraction"),
        (lambda own: own.update(domain_factor=1.5), "1.5 is not a fraction"),
    ],
)
def test_a_document_that_states_other_things_is_refused(edit: Any, words: str) -> None:
    values = plan_to_json(plan_by("dp"))
    edit(values["masked"])
    with pytest.raises(DataError, match=words):
        plan_from_json(values)


def test_a_description_depends_on_no_record_unless_a_risk_says_so() -> None:
    for method in METHODS:
        assert plan_to_json(plan_by(method)) == plan_to_json(plan_by(method))
        assert plan_by(method).chosen_from == "no data"
    assert "largest value" in " ".join(plan_by("dp", domain_factor=1.5).not_covered)


# -- randomization ---------------------------------------------------------------------------------


def test_the_same_key_gives_the_same_table_whatever_the_batches(method: str) -> None:
    plan = plan_by(method)
    first = drawn(plan)
    (again,) = plan.randomize(records_of(plan).portions(rows=7), KEY)
    assert first.equals(again)
    assert not first.equals(drawn(plan, KeyedDraws(bytes(32), b"a plan")))
    assert not first.equals(drawn(plan, np.random.default_rng(1)))
    assert drawn(plan, np.random.default_rng(1)).equals(drawn(plan, np.random.default_rng(1)))


def test_classes_stay_and_numbers_keep_to_their_domains(method: str) -> None:
    original, protected = table_of_sizes(), drawn(plan_by(method))
    assert protected.column_names == [*BOUNDS, "size"]
    assert protected["size"].to_pylist() == original["size"].to_pylist()
    for name, (lower, upper) in BOUNDS.items():
        values = protected[name].to_numpy()
        assert values.dtype == np.float64
        assert lower <= values.min() <= values.max() <= upper
        assert (values != original[name].to_numpy()).any()


def test_columns_that_are_not_named_are_left_out(method: str) -> None:
    plan = plan_by(method, columns=["height"], class_column=None)
    protected = drawn(plan)
    assert protected.column_names == ["height"]
    assert set(plan.responses(protected).numbers()["column"]) == {"height"}


def test_accepted_identifiers_are_released_unchanged() -> None:
    schema = schema_of_sizes()
    column = {"name": "id", "kind": "identifier"}
    whole = schema.model_validate(
        schema.model_dump() | {"columns": [*schema.model_dump()["columns"], column]}
    )
    table = table_of_sizes()
    table = table.append_column("id", pa.array([f"r{n}" for n in range(len(table))]))
    plan = plan_by("dp", schema=whole, accept=["identifiers_released"])
    assert plan.passed == ("size", "id")
    file = RecordsFile.open(table, plan.schema, passed=plan.passed)
    (protected,) = plan.randomize(file.portions(), KEY)
    assert protected["id"].to_pylist() == table["id"].to_pylist()


def test_a_part_of_the_respondents_is_masked(method: str) -> None:
    part = Part(3, 2, "seed")
    plan = plan_by(method, part=part)
    protected = drawn(plan)
    positions = part.positions(len(table_of_sizes()))
    assert protected["size"].to_pylist() == table_of_sizes()["size"].take(positions).to_pylist()
    assert plan.responses(protected).records == len(positions)


def test_too_few_records_for_a_cluster_are_refused() -> None:
    with pytest.raises(DeniableError, match=r"k = 1000 .* cannot be formed from 152 records"):
        drawn(plan_by("dp_um", k=1000))
    plan_by("dp_um", k=76).refuse_too_few(152)  # half the records


def test_another_value_of_one_record_leaves_the_noise_of_all_others() -> None:
    plan = plan_by("dp")
    before = drawn(plan).to_pandas()
    original = table_of_sizes().to_pandas()
    original.loc[0, "height"] = 1.0 if original.loc[0, "height"] > 3 else 6.0  # another rank
    file = RecordsFile.open(original, plan.schema, passed=plan.passed)
    (after,) = plan.randomize(file.portions(), KEY)
    pd.testing.assert_frame_equal(before.iloc[1:], after.to_pandas().iloc[1:])


def test_values_outside_the_bounds_are_clipped_with_a_warning() -> None:
    plan = plan_by("dp")
    original = table_of_sizes().to_pandas()
    original.loc[:1, "width"] = [30.0, -30.0]
    with pytest.warns(
        BoundsWarning, match="'width': 2 of 152 values .* outside the bounds -2 to 18"
    ):
        protected = deniable.randomize(original, plan, KEY)
    original.loc[:1, "width"] = [18.0, -2.0]
    pd.testing.assert_frame_equal(protected, deniable.randomize(original, plan, KEY))


def test_values_outside_domains_by_a_factor_are_counted_and_not_those_outside_bounds() -> None:
    plan = plan_by("dp", domain_factor=2.0)
    original = table_of_sizes().to_pandas()
    original.loc[0, "width"] = 2 * original["width"].max() + 1
    with pytest.warns(BoundsWarning, match="'width': 1 of 152 values .* outside the bounds 0 to"):
        deniable.randomize(original, plan, KEY)


# -- comparison ------------------------------------------------------------------------------------


def test_a_test_release_is_compared_with_the_original_records(method: str) -> None:
    plan = replace(plan_by(method, 30.0), order="as_in_file")
    original = plan.original_records(records_of(plan).portions())
    responses, generator = plan.responses(drawn(plan)), np.random.default_rng(1)
    table = plan.compare_with_original(responses, original, {}, generator)
    means = table[table["statistic"] == MEAN].set_index("attribute")
    assert means.loc["height", "true"] == pytest.approx(original.column("height").mean())
    measures = table.dropna(subset=["value"]).set_index("statistic")
    assert measures.loc["mean SSE", "value"] > 0
    assert {"F-measure", "proportion of records linked"} <= set(measures.index)
    again = plan.compare_with_original(responses, original, {}, np.random.default_rng(1))
    pd.testing.assert_frame_equal(table, again)
