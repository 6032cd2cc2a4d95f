"""Masked numbers beside randomized columns: epsilon, draws, documents, estimates, refusals."""

import math
from fractions import Fraction
from functools import partial
from itertools import product
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pyarrow as pa
import pytest
from scipy import stats
from tests.idp.numeric_files import METHODS, WITH_EPSILON
from tests.plans.masked_plans import ACCEPT
from tests.release.small_releases import ledger_in

import deniable
from deniable.errors import DataError, DeniableError
from deniable.plans import (
    MaskedPlan,
    MixedPlan,
    PlanInputs,
    make_questionnaire,
    plan_from_json,
    plan_to_json,
    read_plan,
    settings_from,
    verify_plan,
    write_plan,
)
from deniable.release import Ledger, protect, protect_test
from deniable.sampling import KeyedDraws
from deniable.schema import Part, RecordsFile, Schema, schema_from_dict

COLUMNS: list[dict[str, Any]] = [
    {"name": "sex", "kind": "categorical", "categories": ["F", "M"]},
    {"name": "income", "kind": "numeric", "bounds": [0, 4], "type": "double"},
    {"name": "town", "kind": "categorical", "categories": ["a", "b", "c"]},
    {"name": "hours", "kind": "numeric", "bounds": [0, 80], "type": "double"},
    {"name": "age", "kind": "numeric", "bounds": [0, 3], "step": 1, "type": "int64"},
    {"name": "w", "kind": "weight", "type": "double"},
]
ABOUT = {"format": "deniable-schema", "population": "all", "file": {"kind": "arrow"}}
SCHEMA = schema_from_dict(ABOUT | {"columns": COLUMNS})
KEY = KeyedDraws(bytes(range(32)), b"a plan")
NUMBERS = {"kind": "masked", "method": "dp", "epsilon": 1.0, "columns": ["income", "hours"]}
CATEGORIES = {"kind": "columns", "epsilon": 2.0}
FALSE_ALARMS = 1e-6  # of a test as a whole; seeds are fixed


def survey(records: int = 400) -> pd.DataFrame:
    drawn = np.random.default_rng(1)
    return pd.DataFrame(
        {
            "sex": drawn.choice(["F", "M"], records, p=[0.7, 0.3]),
            "income": drawn.uniform(0, 4, records).round(1),
            "town": drawn.choice(["a", "b", "c"], records, p=[0.5, 0.3, 0.2]),
            "hours": drawn.uniform(0, 80, records).round(),
            "age": drawn.integers(0, 4, records),
            "w": drawn.integers(1, 5, records).astype(float),
        }
    )


def mixed(
    numbers: dict[str, Any] | None = None,
    categories: dict[str, Any] | None = None,
    accept: Any = (),
    schema: Schema = SCHEMA,
    data: RecordsFile | None = None,
) -> MixedPlan:
    values = {"kind": "mixed", "numbers": NUMBERS | (numbers or {})}
    settings = settings_from(values | {"categories": CATEGORIES | (categories or {})})
    plan = settings.plan(PlanInputs(schema, data, accept=tuple(accept)))
    assert isinstance(plan, MixedPlan)
    return plan


def batches(plan: MixedPlan, frame: pd.DataFrame, rows: int = 150) -> list[Any]:
    file = RecordsFile.open(frame, plan.schema_of_originals, passed=plan.passed)
    return list(file.portions(rows))


@pytest.mark.parametrize("method", METHODS)
def test_a_plan_is_made_read_back_and_verified(method: str, tmp_path: Path) -> None:
    accept = ACCEPT.get(method, [])
    plan = mixed({"method": method, "class_column": "sex"} | METHODS[method], accept=accept)
    finite = method in WITH_EPSILON
    assert plan.target == 3.0
    assert (2.999 < plan.epsilon <= 3.0) if finite else plan.epsilon == math.inf
    assert [each.epsilon for each in plan.guarantees][:2] == [plan.epsilon, plan.numbers.epsilon]
    assert plan.guarantees[-1].epsilon == plan.categories.epsilon
    assert "central" in str(plan.guarantees[1])
    assert "local" in str(plan.guarantees[-1])
    assert list(plan.risks) == accept
    assert plan.passed == ("sex",)
    write_plan(tmp_path / "plan.json", plan)
    assert plan_to_json(read_plan(tmp_path / "plan.json")) == plan_to_json(plan)
    audit = verify_plan(tmp_path / "plan.json")
    assert (audit["holds"] | audit["of"].isin(plan.refuted)).all()
    total = audit[audit["unit"] == "record"].iloc[0]
    assert total["exact_epsilon"] == pytest.approx(plan.epsilon, abs=1e-12)
    for name in accept:
        with pytest.raises(DeniableError, match=name):
            mixed({"method": method} | METHODS[method], accept=[x for x in accept if x != name])


def test_another_statement_in_the_document_is_refused() -> None:
    def edited(edit: Any) -> Any:
        values = plan_to_json(mixed())
        edit(values)
        return plan_from_json(values)

    with pytest.raises(DataError, match="follow from its two parts"):
        edited(lambda values: values["epsilon"].update(target=2.0))
    with pytest.raises(DataError, match=r"mixed\.categories\.epsilon"):
        edited(lambda values: values["mixed"]["categories"].update(epsilon=1.0))
    with pytest.raises(DataError, match="follow from its two parts"):
        edited(lambda values: values["mixed"]["numbers"].update(target=0.5))


def test_epsilon_of_all_pairs_of_records_equals_an_enumeration() -> None:
    """All records of the class F, and all released values, in fractions of the stated matrices.

    A number is released with the density of Laplace noise, so two values x and y have the largest
    log ratio |x - y| / b.
    """
    plan = mixed({"class_column": "sex"}, {"joint": [["town", "age"]]})
    (channel,) = plan.channels().values()
    matrix = [[Fraction(float(p)) for p in row] for row in channel.matrix()]
    scales = [Fraction(b) for b in plan.numbers.mechanism.scales.tolist()]
    records = list(product(range(len(matrix)), (0, 1, 4), (0, 40, 80)))
    largest = 0.0
    for (u, *x), (v, *y) in product(records, records):
        ratio = max(p / q for p, q in zip(matrix[u], matrix[v], strict=True))
        distance = sum(Fraction(abs(a - b)) / c for a, b, c in zip(x, y, scales, strict=True))
        largest = max(largest, math.log(ratio) + float(distance))
    assert largest == pytest.approx(plan.epsilon, abs=1e-12)
    assert largest <= plan.epsilon + 1e-12


@pytest.mark.parametrize("method", METHODS)
def test_both_parts_are_drawn_as_by_themselves(method: str) -> None:
    """So the exact tests of the parts hold for the mixed file, whatever its batches."""
    accept = [*ACCEPT.get(method, []), "weights_released"]
    plan = mixed({"method": method, "class_column": "sex"} | METHODS[method], accept=accept)
    frame = survey()
    (table,) = plan.randomize(batches(plan, frame), KEY)
    (again,) = plan.randomize(batches(plan, frame, rows=400), KEY)
    assert table.equals(again)
    assert table.column_names == ["sex", "income", "town", "hours", "age", "w"]
    (numbers,) = plan.numbers.randomize(batches(plan, frame), KEY)
    categories = pa.concat_tables(plan.categories.randomize(batches(plan, frame), KEY))
    for part in (numbers, categories.combine_chunks()):
        for name in part.column_names:
            assert table[name].to_pylist() == part[name].to_pylist()
    assert table["sex"].to_pylist() == frame["sex"].tolist()


def test_a_part_of_the_respondents_and_clusters() -> None:
    part = {"of": 2, "take": 1, "seed": "text"}
    plan = mixed(categories={"joint": [["town", "sex"]], "mechanism": "subset-selection",
                             "order": "as_in_file", "part": part})  # fmt: skip
    assert plan.part == plan.numbers.part == plan.categories.part == Part(2, 1, "text")
    (table,) = plan.randomize(batches(plan, survey()), KEY)
    assert len(table) == 200
    assert table.column_names[0] in ("sex", "sex x town")
    assert plan.order == "as_in_file"


def test_sections_have_default_kinds() -> None:
    one, other = {"method": "dp", "epsilon": 1.0}, {"epsilon": 2.0}
    full = {"numbers": {"kind": "masked"} | one, "categories": {"kind": "columns"} | other}
    short = settings_from({"kind": "mixed", "numbers": one, "categories": other})
    assert short == settings_from({"kind": "mixed"} | full)


def test_strata_and_invariant_matrices_are_possible() -> None:
    plan = mixed(categories={"kind": "strata", "strata": ["sex"], "columns": ["sex", "town"]})
    (table,) = plan.randomize(batches(plan, survey()), KEY)
    assert table["sex"].to_pylist() == survey()["sex"].tolist()
    assert "stays in a stratum" in plan.guarantees[-1].unit
    data = RecordsFile.open(survey().drop(columns="w"), no_weight := schema_from_dict(
        ABOUT | {"columns": COLUMNS[:-1]}))  # fmt: skip
    values = {"kind": "columns", "matrix": {"kind": "two_step", "epsilon": 2.0}}
    settings = settings_from({"kind": "mixed", "numbers": NUMBERS, "categories": values})
    assert settings.reads_records
    plan = settings.plan(PlanInputs(no_weight, data, accept=("chosen_by_data",)))  # type: ignore[assignment]
    assert plan.chosen_from == "the data, by a curator"
    with pytest.raises(DeniableError, match="chosen_by_data"):
        settings.plan(PlanInputs(no_weight, data))


@pytest.mark.parametrize(
    ("numbers", "categories", "words"),
    [
        ({"order": "as_in_file"}, {}, "order of the numbers; allowed: in the section categories"),
        ({"part": {"take": 1, "seed": "a"}}, {}, "part of the numbers; allowed: in the section"),
        ({"class_column": "town"}, {"columns": ["town"]}, "'town'"),
        ({}, {"columns": ["income"]}, "'income'"),
        ({"columns": ["town"]}, {}, "'town' is categorical"),
        ({}, {"epsilon": 0}, r"categories\.epsilon: 0"),
        ({}, {"kind": "masked"}, "categories"),
        ({"columns": ["income", "hours", "age"], "class_column": "sex"},
         {"columns": ["age"]}, "'age'"),
    ],
)  # fmt: skip
def test_plans_that_are_refused(numbers: Any, categories: Any, words: str) -> None:
    with pytest.raises(DeniableError, match=words):
        mixed(numbers, categories)


def test_estimates_use_the_public_folder_alone(tmp_path: Path) -> None:
    accept = ("weights_released",)
    plan = mixed({"method": "histograms", "bins": 8, "class_column": "sex"}, accept=accept)
    protect_test(survey(), plan, tmp_path, 1)
    readme = " ".join((tmp_path / "public" / "README.txt").read_text().split())
    assert readme.index("RISK, weights_released") < readme.index("Epsilon of the masked numbers")
    assert "this is central" in readme
    assert "this is the local epsilon" in readme
    released = deniable.Released(tmp_path / "public")
    assert released.domain.names == ("town", "age")
    assert set(released.margins(weight="w")["column"]) == {"town", "age"}
    assert list(released.numbers()["column"].unique()) == ["income", "hours", "age"]
    assert list(released.numbers(["age", "hours"])["column"].unique()) == ["hours", "age"]
    assert list(released.numbers("age")["column"].unique()) == ["age"]
    assert released.independence(["town", "age"])["p_value"].item() > 1e-6
    assert released.adjusted_weights()["weight"].sum() == pytest.approx(1)
    assert list(released.synthetic(10)) == ["town", "age"]
    assert 0 < released.query("town=a").iloc[0]["consistent"] < 1
    for names, words in ((["income", "town"], "masked numbers, so there is no table"),
                         (["sex", "town"], "sex")):  # fmt: skip
        with pytest.raises(DeniableError, match=words):
            released.table(names)
    risk = pd.read_csv(tmp_path / "private" / "risk.csv")
    assert "w" in set(risk["about"])


def test_categories_of_a_questionnaire_are_estimated_through_its_forms() -> None:
    forms = make_questionnaire(SCHEMA.only(["sex", "town"]), 20.0, 1)
    numbers = settings_from(NUMBERS).plan(PlanInputs(SCHEMA))
    assert isinstance(numbers, MaskedPlan)
    plan = MixedPlan.of(numbers, forms)
    released = deniable.Released(deniable.randomize(survey(4000), plan, KEY), plan)
    found = released.margins().set_index("value")
    for value, true in {"F": 0.7, "a": 0.5}.items():  # 6 standard errors: false alarms below 1e-8
        error = 6 * found.loc[value, "standard_error"]
        assert found.loc[value, "estimate"] == pytest.approx(true, abs=error)
    assert list(released.numbers()["column"].unique()) == ["income", "hours"]
    with pytest.raises(DeniableError, match="no randomized records of all columns"):
        released.synthetic(10, basis="weights")


def test_a_test_release_is_compared_with_the_original_records() -> None:
    plan = mixed({"class_column": "sex"}, {"order": "as_in_file"})
    held = batches(plan, survey())
    responses = plan.responses(next(iter(plan.randomize(held, KEY))))
    generator = np.random.default_rng(1)
    compared = plan.compare_with_original(responses, plan.original_records(held), {}, generator)
    assert {"mean", "mean SSE"} <= set(compared["statistic"].dropna())
    assert "coverage" in set(compared["check"].dropna())


def test_intervals_cover_in_many_protections() -> None:
    """Of 60 protections, at least as many cover as a binomial of .93 does but for FALSE_ALARMS."""
    plan, frame = mixed({"class_column": "sex"}), survey()
    held = batches(plan, frame)
    true = {"income": frame["income"].mean(), "a": (frame["town"] == "a").mean()}
    covered = dict.fromkeys(true, 0)
    for seed in range(60):
        (table,) = plan.randomize(held, np.random.default_rng(seed))
        released = deniable.Released(table, plan)
        rows = {
            "income": released.numbers("income").iloc[0],
            "a": released.margins("town", target="file").iloc[0],
        }
        for name, row in rows.items():
            covered[name] += row["ci_low"] <= true[name] <= row["ci_high"]
    least = stats.binom.ppf(FALSE_ALARMS / 2, 60, 0.93)
    assert min(covered.values()) >= least, covered


@pytest.mark.parametrize("method", ["dp_um", "idp_ls", "idp_cbls"])
def test_large_clusters_are_refused_before_the_ledger_counts(method: str, tmp_path: Path) -> None:
    ledger = ledger_in(tmp_path / "ledger")
    changes: dict[str, Any] = {"method": method, "k": 101}
    whole = mixed(changes, accept=ACCEPT[method])
    half = mixed(changes, {"part": {"take": 1, "seed": "x"}}, accept=ACCEPT[method])
    for plan, n in ((whole, 200), (half, 400), (whole.numbers, 200)):
        makers: list[Any] = [protect, partial(protect_test, seed=1)]
        for make in makers:
            own: Any = {"ledger": ledger} if make is protect else {}
            with pytest.raises(DeniableError, match=r"k is 101, and 200 records .* at most 100"):
                make(survey(n), plan, tmp_path / "release", **own)
    assert not Ledger(ledger).entries("all")
    assert not (tmp_path / "release").exists()


def test_records_that_memory_cannot_hold_are_refused_before_they_are_read(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    frame = survey()
    frame.to_csv(tmp_path / "survey.csv", index=False)
    untyped = [{k: v for k, v in each.items() if k != "type"} for each in COLUMNS]
    form = {"file": {"kind": "csv", "delimiter": ",", "encoding": "utf-8"}, "columns": untyped}
    in_csv = mixed(schema=schema_from_dict(ABOUT | form))
    monkeypatch.setattr("deniable.release.records.free_memory", lambda: 230_000_000)
    for source, plan in ((frame, mixed()), (tmp_path / "survey.csv", in_csv)):
        with pytest.raises(DeniableError, match="400 records need 230 MB of memory"):
            protect_test(source, plan, tmp_path / "release", 1)
    assert not (tmp_path / "release").exists()
    protect_test(frame, deniable.make_plan(SCHEMA.only(["sex"]), 1.0), tmp_path / "b", 1)
