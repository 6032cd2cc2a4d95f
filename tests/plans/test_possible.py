"""Impossible combinations and skip patterns: clusters, exact epsilon, estimates, messages."""

import copy
import json
from itertools import product
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pyarrow as pa
import pytest
import yaml
from scipy import stats
from tests.plans.patterns import AGES, COLUMNS, MARITAL, RULE, records, schema

from deniable.analysis import Released
from deniable.cli import main
from deniable.errors import DeniableError
from deniable.estimation import confidence_intervals
from deniable.plans import (
    PlanInputs,
    StrataPlan,
    compare,
    make_plan,
    make_questionnaire,
    plan_from_json,
    plan_to_json,
    randomize,
    settings_from,
)
from deniable.plans.blocks import Block, blocks_of
from deniable.records import Attribute, Domain, connected
from deniable.schema import RecordsFile, Schema, draft_schema, schema_from_dict

PAIRS = ("age", "marital"), ("smoker", "a day")
IMPOSSIBLE = {
    "age x marital": {"0-14 x married", "0-14 x divorced"},
    "smoker x a day": {"yes x (not applicable)", *(f"no x {each}" for each in range(4))},
}


def people(number: int = 600, seed: int = 1) -> pd.DataFrame:
    return records(number, seed).drop(columns="home")


def test_columns_with_impossible_combinations_share_a_channel_of_the_possible_ones() -> None:
    plan = make_plan(schema(), 3.0)
    assert plan.protocol.clusters == (("age", "marital"), ("sex",), ("smoker", "a day"))
    why = dict(zip(plan.blocks, plan.why, strict=True))
    assert why["age", "marital"].endswith("; 7 of 9 combinations are possible")
    assert why["smoker", "a day"].endswith("; 5 of 10 combinations are possible")
    joined = make_plan(schema(), 3.0, clusters=[("marital", "sex")])
    assert joined.blocks[0] == ("age", "sex", "marital")
    assert connected([("a", "b"), ("c", "d"), ("d", "a")]) == [("a", "b", "c", "d")]
    with pytest.raises(DeniableError, match="'sex' is in two clusters"):
        make_plan(schema(), 3.0, clusters=[("marital", "sex"), ("sex", "smoker")])


def test_epsilon_is_exact_over_all_pairs_of_possible_records() -> None:
    plan = make_plan(schema(), 3.0)
    domain, matrices = plan.protocol.domain, {}
    for names, channel in zip(plan.protocol.clusters, plan.protocol.channels, strict=True):
        matrices[names] = channel.matrix()
    cells = []
    for codes in np.ndindex(domain.shape):
        texts = {a.name: a.categories[c] for a, c in zip(domain, codes, strict=True)}
        married = texts["age"] == "0-14" and texts["marital"] != "single"
        if not married and (texts["smoker"] == "yes") == (texts["a day"] != "(not applicable)"):
            cells.append(dict(zip(domain.names, codes, strict=True)))
    assert len(cells) == 7 * 2 * 5

    def row(cell: dict[str, int]) -> np.ndarray:
        parts = [
            matrix[np.ravel_multi_index([cell[n] for n in names], domain.project(names).shape)]
            for names, matrix in matrices.items()
        ]
        return np.einsum("i,j,k->ijk", *parts).reshape(-1)

    rows = np.array([row(cell) for cell in cells])
    assert ((rows > 0) == (rows[0] > 0)).all()
    there = rows[:, rows[0] > 0]
    largest = np.log(there.max(axis=0) / there.min(axis=0)).max()
    assert plan.epsilon == pytest.approx(largest, rel=1e-12)
    assert plan.epsilon == pytest.approx(3.0, rel=1e-12)
    audit = plan.audit()
    assert audit["holds"].all()
    assert set(audit["shown_by"]) == {"every entry"}
    # A filter never changes alone: its epsilon is the one of the columns that change with it.
    assert plan.epsilon_by_changed_attribute()["smoker"] == pytest.approx(1.0, rel=1e-12)


def test_a_document_must_have_the_possible_combinations_of_its_schema() -> None:
    plan = make_plan(schema(), 3.0)
    document = json.loads(json.dumps(plan_to_json(plan)))
    assert plan_to_json(plan_from_json(document)) == document
    for change in ("flags", "schema", "channel"):
        forged = copy.deepcopy(document)
        channel = forged["columns"]["clusters"][0]["channel"]
        if change == "flags":
            channel["possible"] = [1, 1, 0, 1, 1, 1, 0, 1, 1]
        elif change == "schema":
            forged["schema"]["impossible"][0]["age"] = ["40+"]
        else:
            other = plan_to_json(make_plan(schema(impossible=[]), 3.0, clusters=[PAIRS[0]]))
            forged["columns"]["clusters"][0] = other["columns"]["clusters"][0]
        with pytest.raises(DeniableError, match="age x marital has other possible combinations"):
            plan_from_json(forged)


@pytest.mark.parametrize(
    ("make", "message"),
    [
        (lambda s: StrataPlan.from_schema(s, ["sex"], 2.0), "make a plan of kind columns"),
        (
            lambda s: settings_from({"kind": "columns", "p": 0.5}).plan(PlanInputs(s)),
            "other possible combinations than the schema",
        ),
        (
            lambda s: settings_from({"kind": "collected", "epsilon": 2.0, "size": 2}).plan(
                PlanInputs(s)
            ),
            "kind collected does not support",
        ),
        (
            lambda s: make_plan(
                s,
                2.0,
                mechanism="invariant",
                data=RecordsFile.open(pa.Table.from_pandas(people()), s),
                accept=["chosen_by_data"],
            ),
            "invariant matrices do not support impossible combinations",
        ),
        (
            lambda s: make_plan(
                s, 2.0, prior={"age": np.array([1.0, 0, 0]), "marital": np.eye(3)[1]}
            ),
            "the priors of age, marital allow no possible cell",
        ),
    ],
)
def test_other_plans_are_refused(make: Any, message: str) -> None:
    with pytest.raises(DeniableError, match=message):
        make(schema(form="arrow"))


def test_a_block_counts_its_possible_cells_and_their_errors() -> None:
    block = blocks_of(schema(), [], "any", {})[0]
    assert (block.size, block.part.size) == (7, 9)
    np.testing.assert_allclose(block.prior[block.possible], 1 / 7)
    compact = Block(Domain((Attribute("cell", tuple("abcdefg")),)), {}, np.full(7, 1 / 7))
    channel = make_plan(schema(), 3.0).protocol.channels[0]
    assert block.error(channel) == pytest.approx(compact.error(channel.inner), rel=1e-12)  # type: ignore[attr-defined]
    assert block.expected(["age"])[-1] == 3
    # By hand: with a = (e - 1) / (e + 6), the variance of a cell is lambda / a^2 - pi.
    a = np.expm1(1.0) / (np.e + 6)
    by_hand = ((1 - 1 / 7 * (1 - a)) ** 2 / a**2 * 1 / 7 + 6 / 7 * ((1 - a) / 7 / a) ** 2) - 1 / 7
    assert block.error(channel) == pytest.approx(by_hand, rel=1e-9)
    shares = make_plan(schema(), 3.0, split="size").mechanisms()
    sizes = np.log([7, 2, 5])
    np.testing.assert_allclose([each[1] for each in shares], 3 * sizes / sizes.sum(), rtol=1e-9)


def test_randomized_and_estimated_cells_are_never_impossible() -> None:
    plan = make_plan(schema(form="arrow"), 6.0)
    table = people()
    table["a day"] = table["a day"].replace("", None)
    out = randomize(pa.Table.from_pandas(table), plan, np.random.default_rng(2))
    assert not ((out["age"] == "0-14") & (out["marital"] != "single")).any()
    assert (out["a day"].isna() == (out["smoker"] == "no")).all()
    released = Released(out, plan)
    margins = released.margins().set_index(["column", "value"])
    no, rest = margins.loc[("smoker", "no")], margins.loc[("a day", "(not applicable)")]
    assert no["estimate"] == pytest.approx(rest["estimate"], abs=1e-9)
    consistent, two_step = released.consistent().tables, released.two_step()
    for pair, impossible in IMPOSSIBLE.items():
        for found in (released.pairs(), consistent, two_step):
            own = found[found["columns"] == pair].set_index("values")
            never, others = own.loc[sorted(impossible)], own.drop(index=[*impossible])
            columns = {"estimate", "standard_error", "ci_low", "ci_high", "consistent", "nearest"}
            for column in columns & {*own.columns}:
                assert (never[column] == 0).all(), column
            assert (others["estimate"] != 0).all()
    for column in ("consistent", "nearest"):
        found = consistent if column == "consistent" else two_step
        sums = found.groupby("columns")[column].sum()
        np.testing.assert_allclose(sums, 1, atol=1e-9)
    made = released.synthetic()
    assert not ((made["age"] == "0-14") & (made["marital"] != "single")).any()
    assert (made["a day"].isna() == (made["smoker"] == "no")).all()
    query = released.query("smoker = no, a day = 2")
    assert query.loc[0, ["estimate", "standard_error"]].tolist() == [0, 0]


def test_consistent_tables_are_the_nearest_with_zeros_in_impossible_cells() -> None:
    cvxpy = pytest.importorskip("cvxpy")
    plan = make_plan(schema(form="arrow"), 2.0)
    out = randomize(pa.Table.from_pandas(people()), plan, np.random.default_rng(3))
    tables = [("age", "marital"), ("age", "sex"), ("marital", "smoker")]
    found = Released(out, plan).consistent(tables).tables
    variables, terms, conditions = {}, [], []
    for names in tables:
        own = found[found["columns"] == " x ".join(names)]
        shape = plan.protocol.domain.project(names).shape
        impossible = own["values"].isin(IMPOSSIBLE.get(" x ".join(names), ())).to_numpy()
        weight = 1 / (own["standard_error"][~impossible] ** 2).mean()
        cells = variables[names] = cvxpy.Variable(shape, nonneg=True)
        off = cells - own["estimate"].to_numpy().reshape(shape)
        terms.append(weight * cvxpy.sum_squares(cvxpy.multiply(off, ~impossible.reshape(shape))))
        conditions += [cvxpy.sum(cells) == 1, cvxpy.multiply(cells, impossible.reshape(shape)) == 0]
    first, second, third = (variables[names] for names in tables)
    conditions += [cvxpy.sum(first, axis=1) == cvxpy.sum(second, axis=1)]
    conditions += [cvxpy.sum(first, axis=0) == cvxpy.sum(third, axis=1)]
    cvxpy.Problem(cvxpy.Minimize(sum(terms)), conditions).solve("CLARABEL")
    for names in tables:
        own = found[found["columns"] == " x ".join(names)]["consistent"].to_numpy()
        np.testing.assert_allclose(own, variables[names].value.reshape(-1), atol=1e-5)


def test_a_part_of_a_cluster_with_three_columns_keeps_its_impossible_cells() -> None:
    plan = make_plan(schema(form="arrow"), 6.0, clusters=[("age", "marital", "sex")])
    out = randomize(pa.Table.from_pandas(people()), plan, np.random.default_rng(4))
    found = Released(out, plan).table(["age", "marital"])
    never = (found["age"] == "0-14") & (found["marital"] != "single")
    assert (found.loc[never, ["estimate", "standard_error", "ci_high"]] == 0).all(axis=None)
    whole = Released(out, plan).table(["age", "marital", "sex"])
    sums = whole.groupby(["age", "marital"], sort=False)["estimate"].sum().to_numpy()
    np.testing.assert_allclose(found["estimate"], sums, atol=1e-12)


def test_estimates_are_unbiased_and_intervals_cover() -> None:
    # Counts of 4,000 releases of 600 records at epsilon 3. If the coverage is at least .94, each of
    # 12 proportions has a lower one by chance than required here with a probability below 1e-6.
    plan, true = make_plan(schema(form="arrow"), 3.0), people()
    generator, redraws = np.random.default_rng(5), 4000
    for names in PAIRS:
        table = plan.responses(randomize(pa.Table.from_pandas(true), plan)).table(names)
        cells = _counts(true, table.domain)
        drawn = table.channel.randomize_counts(np.tile(cells, (redraws, 1)), generator)
        sums = np.vstack([np.eye(table.domain.size), _margin(table.domain, names[1])])
        truth = sums @ cells / cells.sum()
        found = confidence_intervals(drawn, table.channel, target="file", functionals=sums)
        covered = found.cover(truth).sum(axis=0)
        possible = truth > 0
        assert (covered[~possible] == redraws).all()
        assert stats.binom.cdf(covered[possible], redraws, 0.94).min() > 1e-6
        off, errors = found.estimate.mean(axis=0) - truth, found.estimate.std(axis=0)
        assert np.abs(off[~possible]).max() == 0
        assert np.abs(off / np.where(possible, errors, 1) * np.sqrt(redraws)).max() < 5  # 1e-5
        np.testing.assert_allclose(
            (found.standard_error[:, possible] ** 2).mean(axis=0), errors[possible] ** 2, rtol=0.15
        )


def _counts(true: pd.DataFrame, domain: Domain) -> np.ndarray:
    codes = [
        true[each.name].replace("", "(not applicable)").map(each.code_of).to_numpy()
        for each in domain
    ]
    return np.bincount(domain.ravel(codes), minlength=domain.size)


def _margin(domain: Domain, name: str) -> np.ndarray:
    codes = domain.unravel(np.arange(domain.size))[domain.position(name)]
    return np.eye(domain[name].size)[codes].T


def test_a_record_with_an_impossible_combination_is_an_error_with_its_row() -> None:
    table = people()
    table.loc[3, ["age", "marital"]] = "0-14", "married"
    table.loc[[7, 9], ["smoker", "a day"]] = "yes", ""
    table.loc[11, ["smoker", "a day"]] = "no", "2"
    with pytest.raises(DeniableError) as error:
        RecordsFile.open(pa.Table.from_pandas(table), schema(form="arrow")).check()
    lines = str(error.value).split("\n")
    assert "record 4, age '0-14' and marital 'married' is an impossible combination" in lines[0]
    assert "record 12, smoker 'no' and a day '2' is an impossible" in lines[1]
    assert "record 8, smoker 'yes' and a day '(not applicable)' is" in lines[2]
    assert lines[2].endswith("(2 records have it)")


@pytest.mark.parametrize(
    ("column", "value", "rule"),
    [
        ({"type": "int64"}, 2, "typed"),
        ({"missing": {"values": ["", "-8"], "policy": "refuse"}}, "-8", "code"),
        ({"missing": {"policy": "category"}}, "", "asked and missing"),
    ],
)
def test_a_question_that_is_not_asked_has_no_value(column: Any, value: Any, rule: str) -> None:
    own = copy.deepcopy(COLUMNS)
    own[-1] |= column
    typed = rule == "typed"
    made = schema(form="arrow", columns=own)
    day = [2, None, 1, None] if typed else ["2", "", "1", value]
    table = pd.DataFrame({"age": "40+", "sex": "f", "marital": "single"}, index=range(4))
    table["smoker"] = ["yes", "no", "yes", "yes" if rule == "asked and missing" else "no"]
    arrow = pa.Table.from_pandas(table, preserve_index=False).append_column(
        "a day", pa.array(day, pa.int64() if typed else pa.string())
    )
    (batch,) = RecordsFile.open(arrow, made).portions()
    assert batch.codes["a day"].tolist() == [2, 4, 1, 4]
    name = "(missing)" if rule == "asked and missing" else "(not applicable)"
    assert made.domain()["a day"].categories[-1] == name
    out = randomize(arrow, make_plan(made, 20.0), np.random.default_rng(1))
    assert len(out) == 4
    if typed:
        assert (out["a day"].isna() == (out["smoker"] == "no")).all()


def test_nested_and_several_filters_are_followed() -> None:
    columns = [
        {"name": name, "kind": "categorical", "categories": ["yes", "no"]} for name in "abcd"
    ]
    columns[1] |= {"asked_if": {"a": ["yes"]}}
    columns[2] |= {"asked_if": {"a": ["yes"], "b": ["yes"]}}
    made = schema(columns=columns, impossible=[])
    plan = make_plan(made, 2.0)
    assert plan.blocks == (("a", "b", "c"), ("d",))
    labels = np.array(made.domain().project("abc").cell_labels())
    cells = {*labels[blocks_of(made, [], "any", {})[0].possible]}
    nothing = "(not applicable)"
    assert cells == {
        f"no x {nothing} x {nothing}",
        f"yes x no x {nothing}",
        "yes x yes x yes",
        "yes x yes x no",
    }
    # Without a filter in the release, its rule says nothing.
    assert make_plan(made.only(["b", "c"]), 2.0).blocks == (("b", "c"),)


BAD: dict[str, tuple[Any, str]] = {
    "one column": ([{"age": ["0-14"]}], "impossible combination 1; allowed: of at least 2 columns"),
    "unknown column": ([{"age": ["0-14"], "job": ["x"]}], "names 'job'; allowed: other randomized"),
    "unknown category": (
        [{"age": ["0-14"], "sex": ["x"]}],
        "has 'x'; allowed: categories of 'sex'",
    ),
    "no category": ([RULE, {"age": [], "sex": ["f"]}], "combination 2 has 'no category'"),
    "not a list": ([{"age": "0-14", "sex": ["f"]}], "impossible"),
    "nothing possible": (
        [{"age": AGES, "sex": ["f"]}],
        "the category 'f' of 'sex' is in no possible",
    ),
    "not rules": ({"age": ["0-14"]}, "impossible"),
}
BAD_COLUMNS: dict[str, tuple[dict[str, Any], str]] = {
    "asked of itself": ({"asked_if": {"a day": ["1"]}}, "asked_if of 'a day' names 'a day'"),
    "asked of nothing": ({"asked_if": {"job": ["1"]}}, "asked_if of 'a day' names 'job'"),
    "other answers": ({"asked_if": {"smoker": ["often"]}}, "has 'often'; allowed: categories"),
    "dropped": ({"missing": {"policy": "drop"}}, "asked_if of 'a day'; allowed: for categories"),
    "always asked": (
        {"asked_if": {"smoker": ["yes", "no"]}},
        "'(not applicable)' of 'a day' is in",
    ),
    "without a step": ({"step": None}, "asked_if of 'a day'; allowed: for categories, a grid"),
}


@pytest.mark.parametrize("name", BAD)
def test_bad_combinations_get_one_message(name: str) -> None:
    rules, text = BAD[name]
    with pytest.raises(DeniableError) as error:
        schema(impossible=rules)
    assert text in str(error.value)
    assert len(str(error.value).strip().split("\n")) <= 2


@pytest.mark.parametrize("name", BAD_COLUMNS)
def test_bad_skip_patterns_get_one_message(name: str) -> None:
    change, text = BAD_COLUMNS[name]
    with pytest.raises(DeniableError) as error:
        schema(columns=[*COLUMNS[:-1], COLUMNS[-1] | change])
    assert text in str(error.value)
    assert str(error.value).count("allowed") <= 1


def test_too_many_cells_say_what_to_do() -> None:
    columns: list[dict[str, Any]] = [
        {"name": "f", "kind": "categorical", "categories": ["yes", "no"]}
    ]
    for name in ("x", "y"):
        own = {"kind": "numeric", "bounds": [0, 60], "step": 1, "asked_if": {"f": ["yes"]}}
        columns.append({"name": name} | own)
    with pytest.raises(DeniableError, match=r"7,688 cells; .*group their categories, or leave"):
        make_plan(schema(columns=columns, impossible=[]), 2.0)


def test_numbers_without_a_step_in_a_rule_are_refused() -> None:
    free = {"name": "income", "kind": "numeric", "bounds": [0, 9]}
    with pytest.raises(DeniableError, match="names 'income'; allowed: with step or edges"):
        schema(columns=[*COLUMNS, free], impossible=[{"age": ["0-14"], "income": ["1"]}])


def test_a_whole_release_by_commands(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    file, form, plan = tmp_path / "people.csv", tmp_path / "schema.yaml", tmp_path / "plan.json"
    people(800).to_csv(file, index=False)
    form.write_text(json.dumps(schema(file={"kind": "csv", "delimiter": ","}).to_json()))
    ledger, out = tmp_path / "ledger", tmp_path / "release"
    for command in (
        ["plan", form, "--epsilon", "6", "--out", plan],
        ["plan", "--verify", plan],
        ["ledger", "init", ledger],
        ["protect", file, plan, "--out", out, "--ledger", ledger],
        ["estimate", out / "public", "--pairs"],
    ):
        assert main([*map(str, command)]) == 0, command
    printed = capsys.readouterr().out
    assert "7 of 9 combinations are possible" in printed
    assert "the plan holds" in printed
    drawn = pd.read_csv(out / "public" / "protected.csv", dtype=str, keep_default_na=False)
    assert len(drawn) == 800
    assert ((drawn["a day"] == "") == (drawn["smoker"] == "no")).all()
    line = next(each for each in printed.splitlines() if "0-14 x married" in each)
    assert [float(each) for each in line.split()[-8:] if each[0].isdigit()][:4] == [0.0] * 4


def test_a_config_and_the_comparison_use_the_schema() -> None:
    settings = settings_from(
        {"kind": "columns", "epsilon": 3, "columns": ["age", "marital", "sex"]}
    )
    plan = settings.plan(PlanInputs(schema(form="arrow")))
    assert [each for each, *_ in plan.mechanisms()] == ["age x marital", "sex"]
    table = pa.Table.from_pandas(people())
    found = compare(table, schema(form="arrow"), [3.0]).table
    best = found[found["mechanism"] == "best"]
    assert best["exact_epsilon"].max() <= 3.0


def test_the_order_of_columns_in_a_rule_does_not_matter() -> None:
    turned: Schema = schema(impossible=[dict(reversed(RULE.items()))])
    first, second = (plan_to_json(make_plan(each, 3.0)) for each in (schema(), turned))
    assert first["columns"] == second["columns"]
    every = {tuple(each) for each in product(AGES, MARITAL)}
    flags = first["columns"]["clusters"][0]["channel"]["possible"]
    assert len(every) == len(flags) == 9
    assert flags == [1, 0, 0, 1, 1, 1, 1, 1, 1]
    assert schema_from_dict(turned.to_json()).to_json() == turned.to_json()


def test_forms_of_a_questionnaire_have_whole_clusters_of_possible_cells() -> None:
    made = schema(form="arrow", unit={"records_per_unit": 3})
    plan = make_questionnaire(made, 12.0, 1)
    assert [each.epsilon for each in plan.guarantees] == pytest.approx([12.0, 4.0])
    assert plan.blocks == (("age", "marital"), ("sex",), ("smoker", "a day"))
    assert plan.audit()["holds"].all()
    table = records(6000)
    out = randomize(pa.Table.from_pandas(table), plan, np.random.default_rng(8))
    found = Released(out, plan).table(["age", "marital"])
    true = pd.crosstab(table["age"], table["marital"], normalize=True).loc[AGES, MARITAL]
    never = true.to_numpy().reshape(-1) == 0
    assert (found.loc[never, ["estimate", "standard_error", "ci_high"]] == 0).all(axis=None)
    off = (found["estimate"] - true.to_numpy().reshape(-1)) / found["standard_error"]
    assert off[~never].abs().max() < 5
    with pytest.raises(DeniableError, match="make a plan of kind columns"):
        make_questionnaire(made, 12.0, [["age", "sex"], ["marital"], [["smoker", "a day"]]])


def test_a_draft_names_units_and_skip_patterns() -> None:
    text = draft_schema(people(), "people")
    assert "records_per_unit" in text
    assert "asked_if" in text
    form = yaml.safe_load(text)
    day = next(each for each in form["columns"] if each["name"] == "a day")
    day["asked_if"] = {"smoker": ["yes"]}
    for each in form["columns"]:
        each["status"] = "declared"
    day["missing"]["policy"] = "refuse"
    made = schema_from_dict(form | {"impossible": [RULE]})
    assert make_plan(made, 3.0).blocks[0] == ("age", "marital")
    RecordsFile.open(people(), made).check()
