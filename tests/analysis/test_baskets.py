"""Baskets through the whole chain: exact epsilon, the released distribution, item sets, rules."""

import itertools
import json
import math
from collections import Counter
from fractions import Fraction
from pathlib import Path
from typing import Literal

import numpy as np
import pandas as pd
import pytest
from scipy import stats
from tests.pram.baskets import transactions_of
from tests.schema.test_transactions import schema_of

import deniable
from deniable import Released, StrataPlan, make_plan, randomize
from deniable.channels import ProductChannel
from deniable.cli import main
from deniable.errors import DeniableError
from deniable.plans import plan_to_json, read_plan, verify_plan, write_plan
from deniable.pram import frequent_item_sets, item_set_supports, rule_confidences

FALSE_ALARMS = 1e-6  # of each test; seeds are fixed
SCHEMA = schema_of()
ITEMS = SCHEMA.domain().names


def baskets(records: int, seed: int) -> pd.DataFrame:
    """Baskets of three items, the second one mostly with the first."""
    drawn = np.random.default_rng(seed)
    has = drawn.random((records, 3)) < [0.5, 0.1, 0.3]
    has[:, 1] |= has[:, 0] & (drawn.random(records) < 0.6)
    return pd.DataFrame(np.where(has, "present", "absent"), columns=list(ITEMS))


# -- exact -----------------------------------------------------------------------------------------


def test_the_released_distribution_and_epsilon_are_those_of_an_enumeration() -> None:
    plan = make_plan(SCHEMA, 0.7, split="each")
    lie = 1 / (1 + math.exp(0.7))
    matrices = plan.matrices().astype({"probability": float})
    law = {}
    for name in ITEMS:
        own = matrices[matrices["block"] == name]
        law[name] = own["probability"].to_numpy().reshape(2, 2)
        np.testing.assert_allclose(law[name], [[1 - lie, lie], [lie, 1 - lie]], atol=1e-12)
    every = list(itertools.product((0, 1), repeat=3))
    exact = {name: [[Fraction(each) for each in row] for row in law[name]] for name in ITEMS}

    def probability(true: tuple[int, ...], found: tuple[int, ...]) -> Fraction:
        cells = zip(ITEMS, true, found, strict=True)
        return math.prod((exact[name][u][v] for name, u, v in cells), start=Fraction(1))

    largest = Fraction(0)
    for true, other in itertools.permutations(every, 2):  # all pairs of neighbouring baskets
        ratios = [probability(true, found) / probability(other, found) for found in every]
        assert math.log(max(ratios)) <= plan.epsilon + 1e-12
        largest = max(largest, *ratios)
    assert math.log(largest) == pytest.approx(3 * 0.7, abs=1e-12)
    assert 3 * 0.7 - 1e-12 <= plan.epsilon <= plan.target
    # A file of two baskets: the distribution of both released rows, over all 64 results.
    two = ((1, 1, 0), (0, 0, 1))
    table = pd.DataFrame(two, columns=list(ITEMS)).replace({0: "absent", 1: "present"})
    counts, draws = Counter[tuple[tuple[int, ...], ...]](), 6000
    many = pd.concat([table] * draws, ignore_index=True)
    found = (randomize(many, plan, np.random.default_rng(1)) == "present").astype(int).to_numpy()
    for pair in found.reshape(draws, 2, 3):
        counts[tuple(map(tuple, pair.tolist()))] += 1
    results = list(itertools.product(every, repeat=2))
    expected = [float(math.prod(map(probability, two, each))) for each in results]
    assert sum(expected) == pytest.approx(1, abs=1e-12)
    observed = [counts[each] for each in results]
    assert stats.chisquare(observed, np.array(expected) * draws).pvalue > FALSE_ALARMS


@pytest.mark.parametrize("split", ["even", "each"])
def test_the_epsilon_of_a_basket_is_verified_from_the_plan_alone(
    tmp_path: Path, split: Literal["even", "each"]
) -> None:
    plan = make_plan(SCHEMA, 1.5, split=split)
    assert plan.epsilon == pytest.approx(4.5 if split == "each" else 1.5, abs=1e-12)
    of_items = [*plan.epsilon_by_changed_attribute().values()]
    assert of_items == pytest.approx([1.5 if split == "each" else 0.5] * 3, abs=1e-12)
    write_plan(tmp_path / "plan.json", plan)
    assert verify_plan(tmp_path / "plan.json")["holds"].all()
    assert plan_to_json(read_plan(tmp_path / "plan.json")) == plan_to_json(plan)


# -- estimates -------------------------------------------------------------------------------------


def test_estimates_are_those_of_the_functions_in_memory() -> None:
    plan = make_plan(SCHEMA, 6.0)
    protected = randomize(baskets(800, 1), plan, np.random.default_rng(2))
    released = Released(protected, plan)
    channel = ProductChannel(tuple(plan.protocol.channel_of((name,)) for name in ITEMS))
    known = transactions_of(channel, (protected == "present").to_numpy(), ITEMS)
    sets, rule = [("tea",), ("rye", "oat milk")], [(("tea",), ("oat milk",))]
    for found, expected in (
        (released.supports(sets), item_set_supports(known, sets)),
        (released.rules(rule, target="file"), rule_confidences(known, rule, target="file")),
        (released.item_sets(0.2), frequent_item_sets(known, 0.2)),
    ):
        pd.testing.assert_frame_equal(found, expected)
    by_query = released.query("rye=present,oat milk=present")
    assert released.supports(sets)["support"][1] == pytest.approx(by_query["estimate"][0])


def test_intervals_of_supports_and_rules_cover() -> None:
    """Of 60 files, each protected once: single intervals at 95 %, binomial limits."""
    plan, runs, hits = make_plan(SCHEMA, 6.0), 60, Counter[str]()
    both = 0.5 * (1 - 0.4 * 0.9)
    for seed in range(runs):
        protected = randomize(baskets(400, seed), plan, np.random.default_rng(1000 + seed))
        released = Released(protected, plan)
        found = released.supports([("tea", "oat milk")]).iloc[0]
        hits["support"] += found["ci_low_population"] <= both <= found["ci_high_population"]
        found = released.rules([(("tea",), ("oat milk",))]).iloc[0]
        hits["rule"] += found["ci_low"] <= both / 0.5 <= found["ci_high"]
    for name in ("support", "rule"):
        assert stats.binomtest(hits[name], runs, 0.95).pvalue > FALSE_ALARMS, (name, hits)


def test_columns_that_are_no_items_are_named() -> None:
    columns = [
        {"name": name, "kind": "categorical", "categories": list(categories)}
        for name, categories in (("a", "ny"), ("b", "ny"), ("c", "xyz"), ("d", "ny"))
    ]
    about = {"format": "deniable-schema", "population": "shop", "file": {"kind": "arrow"}}
    schema = deniable.schema_from_dict(about | {"columns": columns})
    drawn = np.random.default_rng(1)
    frame = pd.DataFrame({c["name"]: drawn.choice(c["categories"], 300) for c in columns})

    def released(plan: deniable.Plan) -> Released:
        return Released(randomize(frame, plan, np.random.default_rng(1)), plan)

    joined = released(make_plan(schema, 6.0, clusters=[["a", "b"]]))
    found = joined.item_sets(0.2)
    assert set(found["items"]) == {"d"}
    assert set(found.attrs["left_out"]) == {"a", "b", "c"}
    with pytest.raises(DeniableError, match="'a' is not an item: it has no channel of its own"):
        joined.supports([["a", "d"]])
    with pytest.raises(DeniableError, match="'c' is not an item: it has 3 categories, not two"):
        joined.supports([["c"]])
    with pytest.raises(DeniableError, match="'e' is not an item: there is no such column"):
        joined.rules([(["d"], ["e"])])
    for rule in ("d => e", ("d", "e"), [["d"]]):
        with pytest.raises(
            DeniableError, match=r"give two lists of items, as \(\['a'\], \['b'\]\)"
        ):
            joined.rules([rule])  # type: ignore[list-item]
    for sets in ("d", ["d"]):
        with pytest.raises(DeniableError, match=r"give lists of items, as \[\['a', 'b'\]"):
            joined.supports(sets)
    with pytest.raises(DeniableError, match=r"the release has no items: .*no channel of its own"):
        released(StrataPlan.from_schema(schema, ["c"], 3.0)).item_sets(0.2)
    with pytest.raises(DeniableError, match="no columns that are randomized record by record"):
        released(deniable.CollectedPlan.from_schema(schema, 3.0)).item_sets(0.2)


def test_too_many_values_are_refused_beforehand(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("deniable.analysis.item_sets.MAX_BITS", 899)
    plan = make_plan(SCHEMA, 6.0)
    released = Released(randomize(baskets(300, 1), plan, np.random.default_rng(1)), plan)
    with pytest.raises(DeniableError, match="3 items of 300 records are 900 bits, over 899"):
        released.item_sets(0.2)
    assert len(released.supports([ITEMS[:2]])) == 1


# -- the command line ------------------------------------------------------------------------------


@pytest.mark.parametrize("rows", [1 << 18, 30])
def test_a_file_of_baskets_from_schema_to_estimates(
    tmp_path: Path,
    capsys: pytest.CaptureFixture[str],
    monkeypatch: pytest.MonkeyPatch,
    rows: int,
) -> None:
    for module in ("schema.formats.sources", "release.records", "release.drawing"):
        monkeypatch.setattr(
            f"deniable.{module}.rows_of", lambda columns, most=rows: min(rows, most)
        )
    monkeypatch.setattr(
        "deniable.schema.formats.transactions.rows_of", lambda columns, most=rows: rows
    )
    monkeypatch.chdir(tmp_path)
    has = (baskets(200, 1) == "present").to_numpy()
    Path("baskets.txt").write_text(
        "".join(",".join(np.array(ITEMS)[row]) + "\n" for row in has), encoding="utf-8"
    )
    assert main(["schema", "baskets.txt", "--transactions", "--population", "shop"]) == 0
    text = capsys.readouterr().out
    Path("baskets.yaml").write_text(text.replace("status: drafted", "status: declared"))
    commands = ["plan baskets.yaml --epsilon 3 --split each --out plan.json", "ledger init ledger"]
    for line in (*commands, "protect baskets.txt plan.json --out out --ledger ledger"):
        assert main(line.split()) == 0
    assert "total epsilon of population shop, in ledger: 9" in capsys.readouterr().out
    public = Path("out/public")
    assert {each.name for each in public.iterdir()} == {
        *("protected.parquet", "plan.json", "matrices.csv", "README.txt", "SHA256SUMS"),
    }
    assert len(pd.read_parquet(public / "protected.parquet")) == 200
    # The same command continues, and finds the release as it left it.
    assert main(["protect", "baskets.txt", "plan.json", "--out", "out", "--ledger", "ledger"]) == 0
    capsys.readouterr()
    asked = ["--itemsets", "--min-support", "0.3", "--largest", "2", "--support", "tea,oat milk"]
    asked += ["--rule", "tea => oat milk", "--target", "both", "--format", "json"]
    assert main(["estimate", str(public), *asked]) == 0
    answers = json.loads(capsys.readouterr().out)["answers"]
    targets, within = ("population", "file"), "(0.95 confidence)"
    assert set(answers) == {
        *(f"item sets of the {target} (error rate 0.05)" for target in targets),
        *(f"rules of the {target} {within}" for target in targets),
        f"supports {within}",
    }
    supports = Released(public).supports([("tea", "oat milk")])
    assert answers[f"supports {within}"]["rows"] == supports.to_dict("records")
