"""Split questionnaires: exact epsilon, draws, estimates, expected errors, and refusals."""

import json
import math
from collections import Counter
from collections.abc import Callable, Sequence
from dataclasses import replace
from fractions import Fraction
from functools import cache, reduce
from itertools import product
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pyarrow as pa
import pytest
from scipy import stats

from deniable import Released, make_plan, make_questionnaire, randomize
from deniable.arrays import Floats
from deniable.channels import KeepOrReplace, SubsetSelection
from deniable.cli import main
from deniable.errors import DataError, DeniableError
from deniable.plans import (
    PlanInputs,
    expected_errors,
    plan_from_json,
    plan_to_json,
    randomized,
    records_for_error,
    settings_from,
)
from deniable.plans.questionnaire import QuestionnairePlan
from deniable.privacy import Requirement
from deniable.randomized_response import Protocol
from deniable.release import protect_test
from deniable.responses import NOT_ASKED, Forms
from deniable.sampling import KeyedDraws
from deniable.schema import Part, Schema, schema_from_dict

FALSE_ALARMS = 1e-6  # of a test as a whole; seeds are fixed
SIZES = {"a": 2, "b": 3, "c": 2}
DRAWS = KeyedDraws(bytes(range(32)), b"plan")
FORMS = [["a", ["b", "c"]], ["b"], ["a", "c"]]


def schema(sizes: dict[str, int] = SIZES, kind: str = "arrow", **more: dict[str, Any]) -> Schema:
    columns = [
        {"name": name, "kind": "categorical", "categories": [f"{name}{k}" for k in range(size)]}
        for name, size in sizes.items()
    ]
    columns += [{"name": name} | own for name, own in more.items()]
    about = {"format": "deniable-schema", "population": "survey", "file": {"kind": kind}}
    return schema_from_dict(about | {"columns": columns})


def sixteen() -> Schema:
    return schema({f"c{number}": 2 for number in range(16)})


PLANS: dict[str, Callable[[], QuestionnairePlan]] = {
    "one": lambda: make_questionnaire(schema(), 1.5),
    "two": lambda: make_questionnaire(schema(), 1.5, 2),
    "two, by size": lambda: make_questionnaire(schema(), 1.5, 2, split="size"),
    "two, optimal": lambda: make_questionnaire(schema(), 1.5, 2, split="optimal"),
    "a cluster": lambda: make_questionnaire(schema(), 1.5, clusters=[("a", "b")]),
    "pairs": lambda: make_questionnaire(schema(), 1.5, "pairs"),
    "forms": lambda: make_questionnaire(schema(), 1.5, FORMS),
    "other values": lambda: make_questionnaire(
        schema({"a": 4, "b": 3, "c": 2}), 0.5, mechanisms={"a": "subset-selection"}
    ),
}


@cache
def plan_of(kind: str) -> QuestionnairePlan:
    return PLANS[kind]()


def mixture(plan: QuestionnairePlan, record: tuple[int, ...]) -> dict[Any, Fraction]:
    """Return the exact probability of each result of a record, of all columns, by the definition.

    A record is given by its codes. A result is the values of all columns in the protected file.
    """
    names, found = plan.protocol.domain.names, Counter[Any]()
    for protocol in plan.protocol.protocols:
        parts: list[list[tuple[dict[str, str], Fraction]]] = []
        for cluster, channel in zip(protocol.clusters, protocol.channels, strict=True):
            domain = protocol.domain.project(cluster)
            cell = int(domain.ravel([np.array([record[names.index(n)]]) for n in cluster])[0])
            reports = protocol.reported_as(cluster)
            row = [Fraction(each) for each in channel.matrix()[cell].tolist()]
            values = zip(*reports.unravel(np.arange(reports.size)), strict=True)
            texts = [
                {a.name: a.categories[code] for a, code in zip(reports, codes, strict=True)}
                for codes in values
            ]
            total = sum(row)
            parts.append([(text, p / total) for text, p in zip(texts, row, strict=True)])
        for each in product(*parts):
            own = {name: text for texts, _ in each for name, text in texts.items()}
            result = tuple(own.get(name, NOT_ASKED) for name in names)
            chance = math.prod((p for _, p in each), start=Fraction(1))
            found[result] += chance / len(plan.protocol.forms)
    return dict(found)


@pytest.mark.parametrize("kind", PLANS)
def test_epsilons_are_those_of_the_whole_mixture(kind: str) -> None:
    plan = plan_of(kind)
    shape = plan.protocol.domain.shape
    chances = {record: mixture(plan, record) for record in product(*map(range, shape))}
    assert all(sum(each.values()) == 1 for each in chances.values())

    def largest(changed: int | None) -> float:
        return max(
            math.log(own[result] / other[result])
            for (u, own), (v, other) in product(chances.items(), repeat=2)
            if changed is None or all(u[i] == v[i] for i in range(len(u)) if i != changed)
            for result in own
        )

    assert plan.epsilon == pytest.approx(largest(None), abs=1e-12)
    assert 1.4999 < plan.epsilon <= 1.5 or kind == "other values"
    by_column = plan.epsilon_by_changed_attribute()
    for position, name in enumerate(plan.protocol.domain.names):
        assert by_column[name] == pytest.approx(largest(position), abs=1e-12)
    audited = plan.audit()
    assert audited["holds"].all()
    record = audited.set_index("unit").loc["record"]
    assert record["exact_epsilon"] == pytest.approx(largest(None), abs=1e-12)


def test_an_asked_column_has_more_than_its_part_of_a_divided_budget() -> None:
    plan = make_questionnaire(sixteen(), 2.0)
    assert plan.epsilon == 2.0
    assert set(plan.epsilon_by_changed_attribute().values()) == {2.0}
    assert max(make_plan(sixteen(), 2.0).epsilon_by_changed_attribute().values()) <= 0.125
    assert "drawn without looking at its values" in plan.guarantees[0].conditions[0]
    assert {why.rpartition("; ")[2] for _, _, why in plan.mechanisms()} == {"in 1 of 16 forms"}


def test_a_wrong_epsilon_is_found_by_the_audit() -> None:
    plan = plan_of("two")
    strong = make_questionnaire(schema(), 6.0, 2)
    audited = replace(strong, target=9.0).audit()
    assert audited["holds"].all()
    values = plan_to_json(plan)
    values["questionnaire"]["blocks"] = plan_to_json(strong)["questionnaire"]["blocks"]
    with pytest.raises(DataError, match=r"above the requested 1\.5"):
        plan_from_json(values)


# -- draws -----------------------------------------------------------------------------------------


def frame(records: int, sizes: dict[str, int] = SIZES, seed: int = 1) -> pd.DataFrame:
    drawn = np.random.default_rng(seed)
    return pd.DataFrame(
        {
            name: np.array([f"{name}{k}" for k in range(size)])[drawn.integers(0, size, records)]
            for name, size in sizes.items()
        }
    )


@pytest.mark.parametrize("kind", PLANS)
def test_results_have_the_probabilities_of_the_mixture(kind: str) -> None:
    plan, records = plan_of(kind), 40_000
    names = plan.protocol.domain.names
    for record in ((0, 0, 0), (1, 2, 1)):
        texts = (
            plan.schema[n].attribute().categories[k] for n, k in zip(names, record, strict=True)
        )
        same = pd.DataFrame({n: [t] * records for n, t in zip(names, texts, strict=True)})
        drawn = Counter(randomize(same, plan, DRAWS).itertuples(index=False, name=None))
        expected = mixture(plan, record)
        assert set(drawn) <= set(expected)
        found = [drawn[result] for result in expected]
        means = [float(p) * records for p in expected.values()]
        # 2 tests of 8 plans, each at a 16th of the error rate.
        assert stats.chisquare(found, means).pvalue > FALSE_ALARMS / 16


def test_forms_depend_on_the_key_alone() -> None:
    plan, one, other = plan_of("forms"), frame(2000), frame(2000, seed=2)
    asked = [randomize(each, plan, DRAWS) != NOT_ASKED for each in (one, other)]
    pd.testing.assert_frame_equal(*asked)
    again = randomize(one, plan, KeyedDraws(bytes(32), b"plan")) != NOT_ASKED
    assert not again.equals(asked[0])
    assert set(map(tuple, asked[0].to_numpy().tolist())) == set(
        map(tuple, plan.protocol.asks.tolist())
    )


@pytest.mark.parametrize("kind", ["one", "two, by size", "pairs", "other values"])
def test_any_division_into_batches_gives_the_same_values(kind: str) -> None:
    plan = plan_of(kind)
    records = frame(600, {each.name: each.size for each in plan.protocol.domain})
    (batch,) = pa.Table.from_pandas(records, preserve_index=False).to_batches()
    whole = randomized(batch, range(600), plan, DRAWS).to_pandas()
    pd.testing.assert_frame_equal(whole, randomize(records, plan, DRAWS))
    order = np.random.default_rng(3).permutation(600)
    for own in np.split(order, [0, 1, 7, 150, 400]):
        found = randomized(batch.take(pa.array(own)), own, plan, DRAWS).to_pandas()
        pd.testing.assert_frame_equal(found, whole.iloc[own].reset_index(drop=True))


# -- estimates -------------------------------------------------------------------------------------

WIDE = {"a": 2, "b": 3, "c": 4, "d": 2}
PRIOR = {"a": [0.7, 0.3], "b": [0.5, 0.3, 0.2], "c": [0.4, 0.3, 0.2, 0.1], "d": [0.6, 0.4]}


def population(records: int, generator: np.random.Generator) -> pd.DataFrame:
    return pd.DataFrame(
        {
            n: generator.choice([f"{n}{k}" for k in range(len(p))], records, p=p)
            for n, p in PRIOR.items()
        }
    )


DESIGNS = [(1, "even"), (2, "even"), (2, "size"), ("pairs", "even")]
ARRAYS = {name: np.array(own) for name, own in PRIOR.items()}


def proportions(names: Sequence[str]) -> Floats:
    """Return the distribution of the cells of a table of independent columns."""
    return reduce(np.kron, [ARRAYS[name] for name in names])


@pytest.mark.parametrize(("ask", "split"), DESIGNS)
def test_estimates_are_unbiased_with_the_errors_stated_in_advance(ask: Any, split: Any) -> None:
    plan = make_questionnaire(schema(WIDE), 2.0, ask, split=split)
    records, replicates, generator = 1500, 200, np.random.default_rng(7)
    tables = [(name,) for name in WIDE] + [("a", "b")] * (ask != 1)
    stated = expected_errors(plan, records, tables[4:], prior=ARRAYS)["points"].to_numpy() / 196
    errors: list[list[Floats]] = [[] for _ in tables]
    for _ in range(replicates):
        drawn = randomize(population(records, generator), plan, generator)
        responses = plan.responses(drawn)
        found = [responses.table(names) for names in tables]
        counts = responses.count([each.reports for each in found])
        for own, names, table, counted in zip(errors, tables, found, counts, strict=True):
            own.append(table.summed(table.channel.estimate(counted.tally)) - proportions(names))
    squares = np.array([np.square(own).mean() for own in errors])
    # The relative standard error of all roots together is below 1.3 %: 4 of these are about 5 %.
    assert np.sqrt((squares / stated**2).mean()) == pytest.approx(1, abs=0.05)
    for own in errors:
        # Normal tests of the first cell, 19 in all.
        first = np.array(own)[:, 0]
        reach = stats.norm.isf(FALSE_ALARMS / 38) * first.std() / math.sqrt(replicates)
        assert abs(first.mean()) < reach


@pytest.mark.slow
@pytest.mark.parametrize(("ask", "split"), DESIGNS)
def test_intervals_cover_population_and_file(ask: Any, split: Any) -> None:
    plan = make_questionnaire(schema(WIDE), 2.0, ask, split=split)
    generator, covered = np.random.default_rng(8), list[Any]()
    tables = [(name,) for name in WIDE] + [("a", "b")] * (ask != 1)
    for _ in range(100):
        original = population(1500, generator)
        released = Released(randomize(original, plan, generator), plan)
        codes = {name: original[name].str[1:].astype(int) for name in WIDE}
        for names in tables:
            sizes = [WIDE[name] for name in names]
            cells = np.ravel_multi_index([codes[name] for name in names], sizes)
            in_file = np.bincount(cells, minlength=math.prod(sizes)) / 1500
            found = released.table(names, target="both")
            of = found["target"].map({"population": 0, "file": 1})
            true = np.concatenate([proportions(names), in_file])[of.argsort().argsort()]
            inside = (found["ci_low"] <= true + 1e-12) & (true <= found["ci_high"] + 1e-12)
            covered.append(inside.groupby(of).mean().to_numpy())
    # 400 or more tables, which depend on each other in fours: 4.9 standard errors are below .035.
    assert np.mean(covered, axis=0) == pytest.approx([0.95, 0.95], abs=0.035)


def test_the_formula_gives_the_figures_of_the_issue() -> None:
    """The variance of a proportion of .3 in the population gives 14.3 and 4.5 points.

    With one of 16 columns at epsilon 2, 750 records answer: 1.96 sqrt((e^2 / (e^2 - 1)^2 + .21) /
    750). At a proportion of one half it is 4.7. A cell of a pair of 8 columns with the proportion
    .25, of 428.6 records, has 6.7 points exactly. The approximation f (1 - f) + (k - 2 + e^2) /
    (e^2 - 1)^2 gives 6.1, and its product for two columns at epsilon 1 / 4 gives 28.9.
    """
    divided, asked = make_plan(sixteen(), 2.0), make_questionnaire(sixteen(), 2.0)
    prior = {f"c{number}": np.array([0.7, 0.3]) for number in range(16)}
    points = [expected_errors(p, 12_000, prior=prior)["points"] for p in (divided, asked)]
    assert points[0].round(1).eq(14.3).all()
    assert points[1].round(1).eq(4.5).all()
    e = math.exp(2)
    exact = 196 * math.sqrt((e / (e - 1) ** 2 + 0.21) / 750)
    assert points[1].to_numpy() == pytest.approx(exact, rel=1e-4)
    even = expected_errors(asked, 12_000)
    assert even["points"].round(1).eq(4.7).all()
    assert even["records"].eq(750).all()
    eight = schema({f"c{number}": 2 for number in range(8)})
    for plan, error in (
        (make_plan(eight, 2.0), 29.4),
        (make_questionnaire(eight, 2.0, "pairs"), 6.7),
    ):
        assert expected_errors(plan, 12_000, [("c0", "c1")])["points"].iloc[-1].round(1) == error

    def approximate(size: int, epsilon: float, proportion: float) -> float:
        parity = math.exp(epsilon)
        return (size - 2 + parity) / (parity - 1) ** 2 + proportion * (1 - proportion)

    assert round(196 * math.sqrt(approximate(4, 2, 0.25) / (12_000 / 28)), 1) == 6.1
    assert round(196 * math.sqrt(approximate(2, 0.25, 0.5) ** 2 / 12_000), 1) == 28.9


def test_columns_of_several_forms_are_pooled() -> None:
    plan, records = plan_of("pairs"), frame(3000)
    released = Released(randomize(records, plan, DRAWS), plan)
    assert released.records == 3000
    in_pairs = {pair: released.table(pair)["records"].iloc[0] for pair in (("a", "b"), ("a", "c"))}
    margin = released.margins(["a"])
    assert set(margin["records"]) == {sum(in_pairs.values())}
    assert plan.table_of(["a"]).asked == pytest.approx(2 / 3)
    # The channels of a differ, since the clusters have 6 and 4 cells.
    assert plan.table_of(["a"]).reports.size == 4
    sizes = dict.fromkeys("abc", 2)
    even = make_questionnaire(schema(sizes), 1.5, "pairs")
    assert even.table_of(["a"]).reports.size == 2  # equal channels are one
    released = Released(randomize(frame(3000, sizes), even, DRAWS), even)
    for name in "abc":
        margin = released.margins([name])
        assert 1800 < margin["records"].iloc[0] < 2200
        assert margin["consistent"].to_numpy() == pytest.approx(margin["estimate"].to_numpy())


def test_analyses_use_the_tables_of_forms() -> None:
    generator = np.random.default_rng(5)
    a = generator.choice(["a0", "a1"], 20_000)
    c = np.where(generator.random(20_000) < 0.8, np.char.replace(a, "a", "c"), "c0")
    records = frame(20_000).assign(a=a, c=c)
    released = Released(randomize(records, plan_of("two"), DRAWS), plan_of("two"))
    tests = released.independence_of_pairs().set_index("columns")
    assert tests.loc["a x c", "p_value"] < 1e-6
    assert tests.loc["a x b", "p_value"] > 1e-3
    pairs = released.pairs().set_index("columns")
    assert set(pairs.index) == {"a x b", "a x c", "b x c"}
    consistent = released.consistent().tables
    assert consistent.groupby("columns")["consistent"].sum().to_numpy() == pytest.approx(1)
    assert len(released.two_step()) == 16
    assert released.query("a=a1,c=c1")["estimate"].item() == pytest.approx(0.4, abs=0.06)
    some = Released(randomize(records, plan_of("forms"), DRAWS), plan_of("forms"))
    assert set(some.pairs().attrs["left_out"]) == set()
    one = Released(randomize(records, plan_of("one"), DRAWS), plan_of("one"))
    with pytest.raises(DeniableError, match="no record has a form with a and b together; name"):
        one.table(["a", "b"])
    with pytest.raises(DeniableError, match="no default table can be analysed"):
        one.pairs()


@pytest.mark.parametrize("kind", ["csv", "parquet"])
def test_numbers_and_missing_values_are_texts_beside_not_asked(kind: str, tmp_path: Path) -> None:
    missing = {"missing": {"policy": "category", "values": ["-"] if kind == "csv" else []}}
    more = {
        "age": {"kind": "numeric", "bounds": [20, 24], "step": 1} | missing,
        "who": {"kind": "identifier"},
    }
    if kind == "parquet":
        more["age"]["type"], more["who"]["type"] = "int64", "int64"
    own = schema({"a": 2}, kind, **more)
    plan = make_questionnaire(own, 4.0, accept=["identifiers_released"])
    drawn = np.random.default_rng(6)
    records = frame(2000, {"a": 2}).assign(age=drawn.integers(20, 25, 2000), who=range(2000))
    records["age"] = records["age"].mask(drawn.random(2000) < 0.2).astype("Int64")
    file = tmp_path / f"records.{kind}"
    if kind == "csv":
        records.to_csv(file, index=False, na_rep="-")
    else:
        records.to_parquet(file)
    protect_test(file, plan, tmp_path / "made", 1)
    released = Released(tmp_path / "made" / "public")
    margins = released.margins(["age"], target="file").set_index("value")
    assert margins.loc["(missing)", "estimate"] == pytest.approx(0.2, abs=0.06)
    assert 900 < margins["records"].iloc[0] < 1100
    mean = released.numbers(["age"]).set_index("statistic").loc["mean", "estimate"]
    assert mean == pytest.approx(22, abs=0.3)
    public = tmp_path / "made" / "public" / f"protected.{kind}"
    table = pd.read_csv(public, dtype=str) if kind == "csv" else pd.read_parquet(public)
    assert list(table) == ["a", "age", "who"]
    known = {NOT_ASKED, "20", "21", "22", "23", "24", "-"} if kind == "csv" else None
    assert known is None or set(table["age"]) == known
    assert (table["a"].eq(NOT_ASKED) ^ table["age"].eq(NOT_ASKED)).all()
    readme = (tmp_path / "made" / "public" / "README.txt").read_text()
    assert "drawn without looking at its values" in " ".join(readme.split())


def test_channels_and_matrices_are_named_once() -> None:
    assert list(plan_of("two").channels()) == ["a", "b", "c"]
    table = plan_of("pairs").matrices()
    assert set(table["stratum"]) == {""}
    assert len(table) == 36 + 16 + 36
    by_size = plan_of("two, by size")
    assert set(by_size.channels()) == {
        f"{n} in form {f + 1}" for f, own in enumerate(("ab", "ac", "bc")) for n in own
    }
    assert set(by_size.matrices()["stratum"]) == {"form 1", "form 2", "form 3"}
    with pytest.raises(DeniableError, match="only a part of the records has values of a"):
        records_for_error(by_size, 0.05)


def test_a_part_of_the_respondents_answers() -> None:
    plan = replace(plan_of("two"), part=Part(2, 1, "panel"))
    assert Released(randomize(frame(900), plan, DRAWS), plan).records == 450


# -- document, settings and command line -----------------------------------------------------------


@pytest.mark.parametrize("kind", PLANS)
def test_the_document_gives_the_same_plan(kind: str) -> None:
    plan = plan_of(kind)
    again = plan_from_json(json.loads(json.dumps(plan_to_json(plan))))
    assert isinstance(again, QuestionnairePlan)
    assert plan_to_json(again) == plan_to_json(plan)
    records = frame(200, {each.name: each.size for each in plan.protocol.domain})
    pd.testing.assert_frame_equal(*(randomize(records, each, DRAWS) for each in (plan, again)))
    values = plan_to_json(plan)
    values["questionnaire"]["forms"][0] = [99]
    with pytest.raises(DataError, match="a block that does not exist"):
        plan_from_json(values)


@pytest.mark.parametrize(
    ("options", "arguments"),
    [
        ({"epsilon": 2.0}, (2.0,)),
        ({"epsilon": 2.0, "ask": "pairs"}, (2.0, "pairs")),
        ({"beta": 3.0, "ask": 2}, (Requirement(3.0), 2)),
        ({"epsilon": 2.0, "ask": FORMS}, (2.0, FORMS)),
    ],
)
def test_settings_make_the_plan_of_the_function(options: Any, arguments: Any) -> None:
    settings = settings_from({"kind": "questionnaire"} | options)
    plan = settings.plan(PlanInputs(schema()))
    assert plan_to_json(plan) == plan_to_json(make_questionnaire(schema(), *arguments))
    some = settings_from({"kind": "questionnaire", "epsilon": 1, "columns": ["a", "b"]})
    assert some.plan(PlanInputs(schema())).schema.domain().names == ("a", "b")


def called(capsys: pytest.CaptureFixture[str], *words: str) -> tuple[int, str]:
    code = main(list(words))
    out, err = capsys.readouterr()
    return code, out + err


def test_the_command_line_plans_verifies_and_estimates(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    file, own = tmp_path / "records.csv", str(tmp_path / "schema.yaml")
    frame(300).to_csv(file, index=False)
    Path(own).write_text(json.dumps(schema(kind="csv").to_json()))
    plan, made = str(tmp_path / "plan.json"), str(tmp_path / "made")
    code, text = called(capsys, "plan", own, "--epsilon", "2", "--ask", "1", "--out", plan)
    assert (code, "in 1 of 3 forms" in text) == (0, True)
    assert called(capsys, "plan", "--verify", plan)[0] == 0
    assert called(capsys, "protect", str(file), plan, "--out", made, "--test", "1")[0] == 0
    compared = pd.read_csv(f"{made}/private/comparison.csv")
    found = compared[compared["check"] == "coverage"]
    assert found["original"].between(0.2, 0.6).all()
    assert found["covered"].astype(bool).any()
    assert found["coverage"].isna().all()  # redraws do not draw forms
    code, text = called(capsys, "estimate", f"{made}/test", "--margins")
    assert (code, "300 protected records" in text) == (0, True)
    code, text = called(capsys, "estimate", f"{made}/test", "--table", "a,b")
    assert code == 2
    assert "no record has a form with a and b together" in text
    for word in ("two", "3"):
        try:
            code, text = called(capsys, "plan", own, "--epsilon", "2", "--ask", word, "--out", plan)
        except SystemExit as error:
            code, text = int(str(error.code)), capsys.readouterr().err
        assert code == 2
        assert "ask" in text


# -- refusals --------------------------------------------------------------------------------------


def wide_forms() -> Forms:
    """Return forms with a cluster that has sets of two cells as randomized values."""
    domain = schema().domain()
    wide = SubsetSelection.of_epsilon(6, 0.5)
    blocks = (
        Protocol(domain.project(["a", "b"]), (("a", "b"),), (wide,)),
        Protocol(domain.project(["c"]), (("c",),), (KeepOrReplace.of_epsilon(2, 0.5),)),
    )
    return Forms(domain, blocks, ((0,), (1,)))


REFUSED: dict[str, tuple[Callable[[], object], str]] = {
    "no column": (lambda: make_questionnaire(schema(), 1.0, 0), "give a number from 1 to 2"),
    "all columns": (lambda: make_questionnaire(schema(), 1.0, 3), "of kind columns asks all"),
    "another word": (lambda: make_questionnaire(schema(), 1.0, "all"), "or pairs"),  # type: ignore
    "too many forms": (lambda: make_questionnaire(sixteen(), 1.0, 8), "12,870 forms; allowed"),
    "no forms": (lambda: make_questionnaire(schema(), 1.0, []), "give columns to each"),
    "an empty form": (lambda: make_questionnaire(schema(), 1.0, [["a"], []]), "give columns to"),
    "an unknown column": (
        lambda: make_questionnaire(schema(), 1.0, [["z"]]),
        "column to randomize",
    ),
    "a column twice": (
        lambda: make_questionnaire(schema(), 1.0, [["a", ["a", "b"]]]),
        "a column twice",
    ),
    "two equal forms": (
        lambda: make_questionnaire(schema(), 1.0, [["a", "b"], [["a", "b"]], ["c"]]),
        "two forms have the same columns",
    ),
    "a column without a form": (
        lambda: make_questionnaire(schema(), 1.0, [["a"], ["b"]]),
        "column 'c' is in no form",
    ),
    "forms and clusters": (
        lambda: make_questionnaire(schema(), 1.0, FORMS, clusters=[("a", "b")]),
        "without other clusters",
    ),
    "each": (lambda: make_questionnaire(schema(), 1.0, split="each"), "split within a form"),
    "invariant": (lambda: make_questionnaire(schema(), 1.0, mechanism="invariant"), "all records"),
    "another mechanism": (lambda: make_questionnaire(schema(), 1.0, mechanism="x"), "mechanism"),
    "epsilon": (lambda: make_questionnaire(schema(), 0.0), "epsilon"),
    "a category": (
        lambda: make_questionnaire(
            schema(d={"kind": "categorical", "categories": ["x", NOT_ASKED]}), 1.0
        ),
        "rename the category",
    ),
    "a weight": (
        lambda: make_questionnaire(
            schema(w={"kind": "weight", "type": "double"}), 1.0, accept=["weights_released"]
        ),
        "a released weight",
    ),
    "a cluster of other values": (
        lambda: QuestionnairePlan(schema(), 9.0, wide_forms(), ("x", "x")),
        "give a square channel",
    ),
}


@pytest.mark.parametrize(("call", "words"), REFUSED.values(), ids=REFUSED)
def test_impossible_plans_are_refused_in_one_message(
    call: Callable[[], object], words: str
) -> None:
    with pytest.raises(DeniableError, match=words):
        call()


QUESTIONS: dict[str, tuple[Callable[[Released], object], str]] = {
    "weights": (lambda r: r.adjusted_weights(), "leaves no randomized records of all columns"),
    "repeated records": (
        lambda r: r.synthetic(5, basis="weights"),
        "leaves no randomized records of all columns",
    ),
    "item sets": (lambda r: r.item_sets(0.1), "no record of a questionnaire has all columns"),
    "survey weights": (lambda r: r.margins(weight="w"), "no column of weights 'w'"),
    "all columns": (lambda r: r.table(list("abc")), "no record has a form with a and b and c"),
    "no column": (lambda r: r.table([]), "name at least one"),
}


@pytest.mark.parametrize(("question", "words"), QUESTIONS.values(), ids=QUESTIONS)
def test_other_questions_are_refused_in_one_message(
    question: Callable[[Released], object], words: str
) -> None:
    released = Released(randomize(frame(500), plan_of("two"), DRAWS), plan_of("two"))
    with pytest.raises(DeniableError, match=words):
        question(released)


def test_files_of_other_releases_are_refused() -> None:
    plan = plan_of("one")
    drawn = randomize(frame(500), plan, DRAWS).astype(object)
    both = drawn.replace({"a": {NOT_ASKED: "a0"}})
    with pytest.raises(DataError, match="columns or values that no form has"):
        Released(both, plan).margins()
    with pytest.raises(DataError, match="plan's channel never returns"):
        Released(drawn.replace({"a": {"a0": "x"}}), plan).margins()


def test_quasi_identifiers_are_refused(tmp_path: Path) -> None:
    frame(100).to_feather(tmp_path / "r.arrow")
    with pytest.raises(DeniableError, match="leave --quasi-identifiers out"):
        protect_test(
            tmp_path / "r.arrow", plan_of("one"), tmp_path / "m", 1, quasi_identifiers=["a"]
        )
