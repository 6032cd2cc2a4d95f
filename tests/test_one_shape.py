"""ColumnsPlan, randomize, estimate: the same three steps for every mechanism of the package."""

import math
from collections.abc import Callable
from dataclasses import replace
from fractions import Fraction
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pyarrow as pa
import pytest
from scipy import stats
from tests.idp.numeric_files import audited as audited_numbers

import deniable
from deniable import channels
from deniable.channels import Channel
from deniable.errors import DeniableError
from deniable.idp.audit import ALL, RECOMPUTED_SCALE
from deniable.plans import (
    AUDIT_COLUMNS,
    MECHANISMS,
    ColumnsPlan,
    plan_class,
    plan_to_json,
    read_plan,
    verify_plan,
    write_plan,
)
from deniable.pram import StratifiedProtocol, pram_matrix
from deniable.privacy import exact_epsilon
from deniable.randomized_response import Protocol
from deniable.rrba import answer_epsilon
from deniable.sampling import KeyedDraws
from deniable.schema import Part, RecordsFile

RECORDS = 6000
EPSILON = 2.0
BOUNDS = {"age": (18.0, 90.0), "income": (0.0, 1000.0)}
FALSE_ALARMS = 1e-6  # of a test as a whole; seeds are fixed
NO_EPSILON, ORIGINAL_VALUES = "no_epsilon_for_records", "original_values_released"


def survey(records: int = RECORDS) -> pd.DataFrame:
    """Two columns that depend on each other, one of strata, two of numbers."""
    drawn = np.random.default_rng(1)
    sex = drawn.choice(["F", "M"], records, p=[0.6, 0.4])
    return pd.DataFrame(
        {
            "sex": sex,
            "region": drawn.choice(["east", "north", "west"], records, p=[0.2, 0.3, 0.5]),
            "smokes": np.where(drawn.random(records) < np.where(sex == "F", 0.2, 0.5), "yes", "no"),
            "age": drawn.integers(18, 91, records),
            "income": drawn.gamma(2, 100, records).clip(0, 1000).round(2),
        }
    )


NAMES = ["sex", "region", "smokes"]
FRAME = survey()
SCHEMA = deniable.schema_from_dict(
    {
        "format": "deniable-schema",
        "version": 1,
        "population": "survey",
        "file": {"kind": "arrow"},
        "columns": [
            {"name": name, "kind": "categorical", "categories": sorted(set(FRAME[name]))}
            for name in NAMES
        ],
    }
)
DOMAIN = SCHEMA.domain()
NUMBERS = deniable.schema_from_dict(
    SCHEMA.to_json()
    | {
        "columns": [
            {"name": name, "kind": "numeric", "bounds": list(bounds), "type": str(kind)}
            for (name, bounds), kind in zip(BOUNDS.items(), ("int64", "double"), strict=True)
        ]
    }
)


def by_mechanism(kind: str) -> ColumnsPlan:
    if kind != "invariant":
        return deniable.make_plan(SCHEMA, EPSILON, mechanism=kind)  # type: ignore[arg-type]
    data = RecordsFile.open(FRAME[NAMES], SCHEMA)
    accept = ["chosen_by_data"]
    return deniable.make_plan(SCHEMA, EPSILON, mechanism=kind, data=data, accept=accept)


def masking(method: Any, *accept: str) -> Callable[[], deniable.MaskedPlan]:
    k = None if method in ("dp", "histograms") else 40
    return lambda: deniable.MaskedPlan(NUMBERS, EPSILON, method, k, accept=accept)


MAKERS: dict[str, Callable[[int, float], Channel]] = {
    **{name: maker.of_epsilon for name, maker in channels.MAKERS.items()},
    "PRAM, of epsilon": lambda size, e: pram_matrix(np.full(size, 1 / size), "epsilon", epsilon=e),
    "PRAM, designed": lambda size, e: pram_matrix(
        np.full(size, 1 / size), "designed", epsilon=e, invariant=False, loss="trace"
    ),
}


def through(maker: Callable[[int, float], Channel]) -> ColumnsPlan:
    """Return the plan of a channel for each column, made by an epsilon, of which it has a third."""
    made = tuple(maker(each.size, EPSILON / 3) for each in DOMAIN)
    return deniable.plan_from_protocol(Protocol(DOMAIN, tuple((name,) for name in NAMES), made))


RECORDS_OUT: dict[str, Callable[[], ColumnsPlan | deniable.StrataPlan]] = {
    **{f"plan, {kind}": (lambda kind=kind: by_mechanism(kind)) for kind in ("best", *MECHANISMS)},
    **{f"channel, {name}": (lambda maker=maker: through(maker)) for name, maker in MAKERS.items()},
    "RR-Independent": lambda: deniable.plan_from_protocol(
        deniable.protocol_from_epsilon(DOMAIN, EPSILON)
    ),
    "RR-Joint": lambda: deniable.plan_from_protocol(
        deniable.protocol_from_epsilon(DOMAIN, EPSILON, (tuple(NAMES),))
    ),
    "RR-Clusters": lambda: deniable.plan_from_protocol(
        deniable.protocol_from_epsilon(DOMAIN, EPSILON, (("sex", "smokes"), ("region",)))
    ),
    "strata": lambda: deniable.StrataPlan.from_schema(SCHEMA, ["region"], EPSILON),
    "strata, each its own, a block": lambda: deniable.StrataPlan.from_schema(
        SCHEMA,
        ["region"],
        {("east",): 1.0, ("north",): EPSILON, ("west",): 1.5},
        joint=[["sex", "smokes"]],
    ),
    "strata, retention": lambda: deniable.StrataPlan.from_schema(SCHEMA, ["region"], retention=0.8),
    "two stratum columns": lambda: deniable.StrataPlan.from_schema(
        SCHEMA, ["smokes", "region"], EPSILON
    ),
    "no strata": lambda: deniable.StrataPlan.from_schema(SCHEMA, [], EPSILON),
}
TABLES_OUT: dict[str, Callable[[], deniable.CollectedPlan]] = {
    "RRBA": lambda: deniable.CollectedPlan.from_schema(SCHEMA, EPSILON),
    "RRBA, tables that move": lambda: deniable.CollectedPlan.from_schema(
        SCHEMA, EPSILON, floor=0.5, block=500
    ),
    "RRBA, all columns": lambda: deniable.CollectedPlan.from_schema(SCHEMA, EPSILON, size=3),
}
NUMBERS_OUT: dict[str, Callable[[], deniable.MaskedPlan]] = {
    "dp": masking("dp"),
    "dp_um": masking("dp_um", NO_EPSILON),
    "idp_ls": masking("idp_ls", NO_EPSILON),
    "idp_cbls": masking("idp_cbls", NO_EPSILON, ORIGINAL_VALUES),
    "histograms": masking("histograms"),
}
PLANS: dict[str, Callable[[], deniable.Plan]] = {**RECORDS_OUT, **TABLES_OUT, **NUMBERS_OUT}


def taken(plan: deniable.Plan) -> pd.DataFrame:
    """Return the columns of the survey that a plan's schema has."""
    return FRAME[[each.name for each in plan.schema.columns]]


def three_steps(name: str, seed: int = 2) -> tuple[deniable.Plan, pd.DataFrame, deniable.Released]:
    plan = PLANS[name]()
    reports = deniable.randomize(taken(plan), plan, np.random.default_rng(seed))
    return plan, reports, deniable.Released(reports, plan)


@pytest.mark.parametrize("name", PLANS)
def test_every_kind_of_plan_has_the_same_interface(name: str, tmp_path: Path) -> None:
    plan = PLANS[name]()
    assert plan_class(plan.kind) is type(plan)
    assert (plan.guarantees[0].epsilon, plan.guarantees[0].unit) == (plan.epsilon, plan.unit)
    assert set(plan.risks) <= set(plan.accept)
    assert len(plan.not_covered) >= len(plan.risks)
    write_plan(tmp_path / "plan.json", plan)
    again = read_plan(tmp_path / "plan.json")
    assert plan_to_json(again) == plan_to_json(plan)
    audit = verify_plan(tmp_path / "plan.json")
    assert tuple(audit.columns[: len(AUDIT_COLUMNS)]) == AUDIT_COLUMNS
    assert audit.loc[audit["unit"] == "record", "holds"].all()
    draws = KeyedDraws(bytes(32), b"test")
    file = RecordsFile.open(taken(plan), plan.schema)
    for part, records in ((None, RECORDS), (Part(2, 1, "public"), RECORDS // 2)):
        own = replace(again, part=part)  # type: ignore[type-var]
        whole = pa.concat_tables(own.randomize(file.portions(), draws)).to_pandas()
        batched = pa.concat_tables(own.randomize(file.portions(1000), draws)).to_pandas()
        pd.testing.assert_frame_equal(whole, batched)
        assert deniable.Released(whole, own).records == records


def reach(intervals: int) -> float:
    """Return the normal quantile that so many intervals together miss at the stated rate."""
    return float(stats.norm.isf(FALSE_ALARMS / (2 * intervals)))


@pytest.mark.parametrize("name", PLANS)
def test_the_same_seed_gives_the_same_bytes_and_rows_keep_their_places(name: str) -> None:
    plan, reports, released = three_steps(name)
    again = deniable.randomize(taken(plan), plan, np.random.default_rng(2))
    assert reports.to_csv().encode() == again.to_csv().encode()
    other = deniable.randomize(taken(plan), plan, np.random.default_rng(3))
    assert not reports.equals(other)
    assert released.records == RECORDS
    assert isinstance(plan.unit, str)
    assert all(isinstance(said, str) for said in plan.not_covered)
    if isinstance(plan, deniable.CollectedPlan):
        columns = ["attributes", "block", "categories", "p", "fake", "epsilon", "reports"]
        assert list(reports) == columns
        return
    assert len(reports) == RECORDS
    if name in NUMBERS_OUT:
        assert list(reports) == list(BOUNDS)
    elif not name.startswith(("plan", "channel")):  # its channels may have other reports
        assert list(reports) == NAMES


@pytest.mark.parametrize("name", [name for name in PLANS if name not in NUMBERS_OUT])
def test_shares_lie_around_the_true_ones(name: str) -> None:
    _, _, released = three_steps(name)
    target: Any = "population" if name in TABLES_OUT else "file"
    for names in (["sex"], ["region"], ["sex", "smokes"], ["smokes", "region"]):
        found = released.table(names, target=target)
        truth = FRAME[names].value_counts(normalize=True)
        keys = [tuple(row) for row in found[names].itertuples(index=False)]
        apart = (found["estimate"] - [truth[key] for key in keys]).abs()
        # 3 + 6 cells and 2 margins at most, in 4 tables; a stratum column has no error at all.
        assert (apart <= reach(4 * 11) * found["standard_error"] + 1e-9).all()
        assert (found["estimate"] - found["ci_low"] >= -1e-9).all()
        assert found["consistent"].sum() == pytest.approx(1)
        assert (found["target"] == target).all()
    margins = released.margins(["sex", "smokes"], target=target)
    assert margins.groupby("column")["estimate"].sum().tolist() == pytest.approx([1, 1])
    query = released.query("sex=F,smokes=yes", target=target)
    cells = released.table(["sex", "smokes"], target=target)
    assert query["estimate"][0] == pytest.approx(cells["estimate"][1])
    assert len(released.pairs(target=target)) == 6 + 4 + 6


@pytest.mark.parametrize("name", ["RRBA", "RRBA, tables that move", "strata"])
def test_intervals_cover_at_their_rate(name: str) -> None:
    plan, drawn, truth = PLANS[name](), np.random.default_rng(5), FRAME["smokes"].eq("yes").mean()
    runs, covered = 200, 0
    for _ in range(runs):
        frame = FRAME[NAMES].iloc[drawn.integers(0, RECORDS, 900)].reset_index(drop=True)
        reports = deniable.randomize(frame, plan, drawn)
        found = deniable.Released(reports, plan).margins("smokes")
        covered += int(found["ci_low"][1] <= truth <= found["ci_high"][1])
    low, high = stats.binom.ppf([FALSE_ALARMS / 2, 1 - FALSE_ALARMS / 2], runs, 0.95)
    assert low <= covered <= high


@pytest.mark.parametrize("name", ["RRBA", "RRBA, all columns", "RR-Clusters"])
def test_dependence_is_found(name: str) -> None:
    _, _, released = three_steps(name)
    assert released.independence(["sex", "smokes"])["p_value"][0] < 1e-3


@pytest.mark.parametrize("name", NUMBERS_OUT)
def test_numbers_lie_around_the_true_ones_or_the_answer_says_why_it_has_none(name: str) -> None:
    _, reports, released = three_steps(name)
    found = released.numbers(quantiles=(0.5, 0.9)).set_index(["column", "statistic"])
    assert len(found) == 2 * 4
    for column, bounds in BOUNDS.items():
        assert found.loc[(column, "mean"), "released"] == pytest.approx(reports[column].mean())
        mean, half_a_bin = found.loc[(column, "mean")], np.ptp(bounds) / 40
        apart = abs(mean["estimate"] - FRAME[column].mean())
        if name.startswith("dp"):
            assert apart <= reach(2) * mean["standard_error"]
        if name == "histograms":
            assert apart <= half_a_bin + reach(2) * mean["standard_error"]
            median = found.loc[(column, "quantile 0.5")]
            assert median["ci_low"] <= FRAME[column].median() <= median["ci_high"]
    told = found["estimate"].notna() | (found["note"] != "") | found["ci_high"].notna()
    assert told.all()
    assert list(released.numbers("age")["column"].unique()) == ["age"]


def audited(channel: Channel) -> float:
    """Return the epsilon of the matrix that a channel publishes, by the audit."""
    rows = [[Fraction(x) for x in row] for row in channel.matrix().tolist()]
    proper = [[x / sum(row) for x in row] for row in rows]
    scale = math.lcm(*(x.denominator for row in proper for x in row))
    return exact_epsilon(np.array([[int(x * scale) for x in row] for row in proper], dtype=object))


@pytest.mark.parametrize("name", [name for name in PLANS if name not in NUMBERS_OUT])
def test_epsilon_is_what_the_audit_says(name: str) -> None:
    plan = PLANS[name]()
    assert not isinstance(plan, deniable.MaskedPlan)
    if isinstance(plan, deniable.CollectedPlan):
        uniform = [
            answer_epsilon(
                [np.full(plan.design.tables[c].cells, 1 / plan.design.tables[c].cells) for c in v],
                plan.design.tables[v[0]].keep,
            )
            for v in plan.design.questions
        ]
        assert EPSILON - 1e-9 < plan.epsilon <= EPSILON
        # Tables that move are never as telling as what their floor guarantees.
        assert (plan.epsilon == max(uniform)) == (plan.design.floor is None)
        assert max(uniform) <= plan.epsilon
        return
    protocols = (
        [plan.protocol] if isinstance(plan, ColumnsPlan) else plan.protocol.protocols.values()
    )
    sums = [sum(audited(channel) for channel in each.channels) for each in protocols]
    assert plan.epsilon == pytest.approx(max(sums), abs=1e-12)
    if name != "strata, retention":
        assert plan.epsilon <= EPSILON


def test_masking_says_which_epsilon_holds_and_of_what() -> None:
    for name, make in NUMBERS_OUT.items():
        plan = make()
        assert plan.target == EPSILON
        if name == "dp":
            batches = RecordsFile.open(taken(plan), plan.schema).portions()
            audit = audited_numbers(plan.mechanism, plan.original_records(batches))
            whole = audit[(audit["unit"] == "record") & (audit["attribute"] == ALL)]
            as_it_runs = whole[whole["reading"] == RECOMPUTED_SCALE]
            # Of this file, whose values do not reach all of their bounds.
            assert as_it_runs["exact_or_lower_bound"].max() <= plan.epsilon <= EPSILON
        if name in ("dp", "histograms"):
            assert EPSILON - 1e-9 < plan.epsilon <= EPSILON
            assert plan.definition == "differential privacy"
            assert plan.not_covered == ()
        else:
            assert plan.epsilon == math.inf
            assert "no finite epsilon holds" in plan.not_covered[0]
    assert "individual" in NUMBERS_OUT["idp_cbls"]().definition
    assert "individual" in NUMBERS_OUT["idp_ls"]().definition


def test_weights_within_strata_meet_the_estimates_of_each_stratum() -> None:
    _, reports, released = three_steps("strata")
    weights = released.adjusted_weights()["weight"]
    found = released.table(["region", "smokes"])
    met = weights.groupby([reports["region"], reports["smokes"]], observed=True).sum()
    own = found.set_index(["region", "smokes"])["consistent"]
    assert weights.sum() == pytest.approx(1)
    np.testing.assert_allclose(met.sort_index(), own.sort_index(), atol=2e-3)


def test_any_protocol_within_strata_is_a_plan() -> None:
    shares = FRAME["smokes"].value_counts(normalize=True).sort_index().to_numpy()
    names = ("sex", "smokes")
    inner = DOMAIN.project(names)
    channels = (
        deniable.KeepOrReplace.of_epsilon(2, 1.0),
        pram_matrix(shares, "two_step", epsilon=1.5),
    )
    own = Protocol(inner, (("sex",), ("smokes",)), channels)
    strata = DOMAIN["region"].categories
    protocol = StratifiedProtocol(DOMAIN, ("region",), {(each,): own for each in strata})
    by_data: dict[str, Any] = {"chosen_from": "the data, by a curator"}
    with pytest.raises(DeniableError, match="chosen_by_data"):
        deniable.StrataPlan(SCHEMA, 9.0, protocol, ("", ""), **by_data)
    accept = ("chosen_by_data",)
    plan = deniable.StrataPlan(SCHEMA, 9.0, protocol, ("", ""), accept=accept, **by_data)
    assert plan.epsilon == own.epsilon
    reports = deniable.randomize(FRAME[NAMES], plan, np.random.default_rng(4))
    assert (reports["region"] == FRAME["region"]).all()
    assert (reports["sex"] != FRAME["sex"]).any()
    found = deniable.Released(reports, plan).margins("smokes", target="file")
    apart = (found["estimate"] - shares).abs()
    assert (apart <= reach(2) * found["standard_error"]).all()


REFUSED: dict[str, tuple[Callable[[], object], str]] = {
    "a column that is missing": (
        lambda: deniable.randomize(FRAME[["sex", "region"]], PLANS["strata"]()),
        "'smokes'",
    ),
    "one to be masked": (
        lambda: deniable.randomize(FRAME[["age"]], PLANS["dp"]()),
        "no column 'income', which the schema has; add it",
    ),
    "an unknown category": (
        lambda: deniable.randomize(FRAME[NAMES].replace("east", "south"), PLANS["RRBA"]()),
        "record .*column 'region'.*'south'",
    ),
    "a missing value": (
        lambda: deniable.randomize(FRAME[NAMES].replace({"sex": {"F": None}}), PLANS["strata"]()),
        "record .*column 'sex'.*missing",
    ),
    "no number": (
        lambda: deniable.randomize(taken(PLANS["dp"]()).assign(income=np.nan), PLANS["dp"]()),
        "record 1, column 'income' has a missing value; give a value",
    ),
    "text for a number": (
        lambda: deniable.randomize(taken(PLANS["dp"]()).assign(age="old"), PLANS["dp"]()),
        "column 'age'",
    ),
    "a seed": (
        lambda: deniable.randomize(FRAME, PLANS["dp"](), 1),  # type: ignore[arg-type]
        r"1 is not a random source; give numpy.random.default_rng\(seed\)",
    ),
    "no plan": (
        lambda: deniable.randomize(FRAME, "plan.json"),  # type: ignore[arg-type]
        "'plan.json' is not a plan; make one",
    ),
    "no plan of reports": (
        lambda: deniable.Released(FRAME, "plan.json"),  # type: ignore[arg-type]
        "'plan.json' is not a plan; give the",
    ),
    "fewer clients than views": (
        lambda: deniable.randomize(FRAME[NAMES].head(2), PLANS["RRBA"]()),
        "2 clients for 3 questions",
    ),
    "reports of another column": (
        lambda: deniable.Released(FRAME[["age"]], PLANS["dp"]()),
        "no column 'income'",
    ),
    "records without their counts": (
        lambda: deniable.Released(FRAME, PLANS["histograms"]()),
        "keep attrs",
    ),
    "records for answers": (
        lambda: deniable.Released(FRAME, PLANS["RRBA"]()),
        "no column 'attributes', only",
    ),
    "no epsilon": (lambda: deniable.CollectedPlan.from_schema(SCHEMA, 0.0), "epsilon"),
    "no clients": (
        lambda: deniable.CollectedPlan.from_schema(SCHEMA, 1.0, block=0),
        "blocks of 0 clients",
    ),
    "no floor": (lambda: deniable.CollectedPlan.from_schema(SCHEMA, 1.0, floor=0.0), "floor"),
    "larger than the record": (
        lambda: deniable.CollectedPlan.from_schema(SCHEMA, 1.0, size=4),
        "k must be",
    ),
    "negative epsilon": (
        lambda: deniable.MaskedPlan(NUMBERS, -1.0),
        "epsilon: -1.0; allowed: above 0",
    ),
    "unknown method": (
        lambda: deniable.MaskedPlan(NUMBERS, 1.0, "idp"),  # type: ignore[arg-type]
        "unknown method 'idp'",
    ),
    "no size of clusters": (
        lambda: deniable.MaskedPlan(NUMBERS, 1.0, "dp_um", accept=(NO_EPSILON,)),
        "k is missing",
    ),
    "what is not accepted": (
        lambda: deniable.MaskedPlan(NUMBERS, 1.0, "idp_ls", 5),
        f"--accept {NO_EPSILON}",
    ),
    "no number to mask": (
        lambda: deniable.MaskedPlan.from_schema(SCHEMA, 1.0),
        "no column to mask",
    ),
    "unknown stratum column": (
        lambda: deniable.StrataPlan.from_schema(SCHEMA, ["county"], 1.0),
        "unknown column 'county'",
    ),
    "a stratum without a value": (
        lambda: deniable.StrataPlan.from_schema(SCHEMA, ["sex"], {("F",): 1.0}),
        r"the stratum \('M',\) of sex has no value",
    ),
    "a value without a stratum": (
        lambda: deniable.StrataPlan.from_schema(
            SCHEMA, ["sex"], retention={("F",): 0.9, ("M",): 0.9, ("X",): 0.9}
        ),
        r"the stratum \('X',\) of sex does not exist",
    ),
    "an epsilon below 0 in a stratum": (
        lambda: deniable.StrataPlan.from_schema(SCHEMA, ["sex"], {("F",): -1.0, ("M",): 1.0}),
        "the stratum F: .*epsilon",
    ),
    "an epsilon and a retention": (
        lambda: deniable.StrataPlan.from_schema(SCHEMA, ["sex"], 1.0, retention=0.5),
        "give an epsilon or a retention",
    ),
    "neither an epsilon nor a probability": (
        lambda: deniable.CollectedPlan.from_schema(SCHEMA),
        "give an epsilon or the probability keep",
    ),
    "an impossible retention": (
        lambda: deniable.StrataPlan.from_schema(SCHEMA, ["sex"], retention=1.5),
        "the stratum F: a retention is 1.5",
    ),
    "nothing to randomize": (
        lambda: deniable.StrataPlan.from_schema(SCHEMA, NAMES, 1.0),
        "leave one",
    ),
}


@pytest.mark.parametrize(("call", "words"), REFUSED.values(), ids=REFUSED)
def test_bad_input_is_refused_in_one_message(call: Callable[[], object], words: str) -> None:
    with pytest.raises(DeniableError, match=words):
        call()


NO_SENSE = {
    "strata": {
        "independence": "randomized together with region",
        "weighted": "no column of weights 'w'",
    },
    "RRBA": {
        "adjusted_weights": "leaves no randomized records",
        "weighted": "no column of weights 'w'",
        "large": "no table of sex, region, smokes was collected",
    },
    "idp_cbls": {
        "margins": "no categories",
        "table": "no categories",
        "pairs": "no categories",
        "query": "no categories",
        "independence": "no categories",
        "weighted": "no categories",
        "adjusted_weights": "leaves no randomized records",
        "synthetic": "no categories",
        "weighted numbers": "no column of weights 'w'",
        "population": "use the target 'file'",
        "confidence": "at 0.95",
        "unknown": "no numeric attribute 'sex'",
    },
}
QUESTIONS: dict[str, Callable[[deniable.Released], object]] = {
    "margins": lambda r: r.margins(),
    "table": lambda r: r.table(["sex", "smokes"]),
    "pairs": lambda r: r.pairs(),
    "query": lambda r: r.query("sex=F"),
    "independence": lambda r: r.independence(["sex", "smokes"]),
    "weighted": lambda r: r.table("sex", weight="w"),
    "adjusted_weights": lambda r: r.adjusted_weights(),
    "synthetic": lambda r: r.synthetic(5),
    "large": lambda r: r.table(NAMES),
    "weighted numbers": lambda r: r.numbers(weight="w"),
    "population": lambda r: r.numbers("age", target="population"),
    "confidence": lambda r: r.numbers("age", confidence=0.9),
    "unknown": lambda r: r.numbers("sex"),
}


@pytest.mark.parametrize(
    ("name", "question", "why"),
    [(name, question, why) for name, each in NO_SENSE.items() for question, why in each.items()],
)
def test_what_makes_no_sense_is_refused_and_the_message_says_why(
    name: str, question: str, why: str
) -> None:
    _, _, released = three_steps(name)
    with pytest.raises(DeniableError, match=why):
        QUESTIONS[question](released)
