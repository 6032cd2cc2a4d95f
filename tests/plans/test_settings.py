"""Plans from the settings of a config: the plans of the example releases, and all refusals."""

import math
from fractions import Fraction
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest

from deniable.channels import KeepOrReplace, channel_to_json
from deniable.errors import DeniableError
from deniable.plans import (
    ColumnsPlan,
    Plan,
    PlanInputs,
    StrataPlan,
    epsilon_for,
    make_plan,
    plan_from_json,
    plan_to_json,
    settings_from,
)
from deniable.pram import pram_matrix
from deniable.randomized_response import (
    Protocol,
    cluster_attributes,
    dependences,
    rr_clusters,
    rr_independent,
)
from deniable.records import Microdata
from deniable.sampling import KeyedDraws
from deniable.schema import Part, RecordsFile, Schema, schema_from_dict

NAMES = ("job", "sex", "town", "income")
CATEGORIES = {
    "job": ["none", "part", "full"],
    "sex": ["F", "M"],
    "town": ["a", "b", "c", "d"],
    "income": ["high", "low"],
}
RECORDS = 4001


def schema() -> Schema:
    columns = [
        {"name": name, "kind": "categorical", "categories": CATEGORIES[name]} for name in NAMES
    ]
    about = {"format": "deniable-schema", "population": "people", "file": {"kind": "arrow"}}
    return schema_from_dict(about | {"columns": columns})


def frame(records: int = RECORDS) -> pd.DataFrame:
    drawn = np.random.default_rng(3)
    job = drawn.integers(0, 3, records)
    income = (drawn.random(records) < 0.1 + 0.4 * job).astype(int)
    codes = {
        "job": job,
        "sex": drawn.integers(0, 2, records),
        "town": drawn.choice(4, records, p=[0.6, 0.2, 0.15, 0.05]),
        "income": 1 - income,
    }
    return pd.DataFrame({n: np.array(CATEGORIES[n])[codes[n]] for n in NAMES})


SCHEMA, FRAME = schema(), frame()
DATA = Microdata.of_frame(FRAME, SCHEMA.domain())
BY_DATA = ("chosen_by_data",)


def records() -> RecordsFile:
    return RecordsFile.open(FRAME, SCHEMA)


def columns(**options: Any) -> ColumnsPlan:
    accept = options.pop("accept", ())
    data, released = options.pop("data", None), options.pop("released", None)
    plan = settings_from({"kind": "columns"} | options).plan(
        PlanInputs(SCHEMA, data, released or {}, accept)
    )
    assert isinstance(plan, ColumnsPlan)
    return plan


def strata(**options: Any) -> StrataPlan:
    accept, data = options.pop("accept", ()), options.pop("data", None)
    plan = settings_from({"kind": "strata"} | options).plan(PlanInputs(SCHEMA, data, accept=accept))
    assert isinstance(plan, StrataPlan)
    return plan


def same_channels(plan: Plan, again: Plan) -> bool:
    return plan_to_json(plan)[plan.kind] == plan_to_json(again)[again.kind]


def described(protocol: Protocol) -> list[Any]:
    """Return all parts of a protocol in plain values."""
    channels = [channel_to_json(channel) for channel in protocol.channels]
    return [protocol.domain, protocol.clusters, channels]


def test_rr_independent_by_p() -> None:
    plan = columns(columns=["job", "sex", "income"], p=0.25, matrix="keep")
    domain = SCHEMA.domain().project(["job", "sex", "income"])
    assert described(plan.protocol) == described(rr_independent(domain, 0.25, "keep"))
    assert plan.epsilon == rr_independent(domain, 0.25, "keep").epsilon == plan.target
    assert (plan.chosen_from, plan.not_covered) == ("no data", ())
    assert plan.schema["town"].kind == "left_out"
    assert same_channels(columns(p=0.25), columns(p=0.25, matrix="keep"))


@pytest.mark.parametrize("mechanism", ["joint", "kronecker"])
def test_rr_clusters_by_p_for_clusters_that_are_given(mechanism: Any) -> None:
    plan = columns(p=0.4, joint=[["income", "job"]], cluster_mechanism=mechanism)
    clusters = (("job", "income"), ("sex",), ("town",))
    expected = rr_clusters(SCHEMA.domain(), clusters, 0.4, "keep", mechanism)
    assert described(plan.protocol) == described(expected)


def test_rr_joint_is_refused_with_few_records() -> None:
    one = [list(NAMES)]
    assert columns(p=0.4, joint=one, data=records()).blocks == (NAMES,)
    few = RecordsFile.open(FRAME.head(400), SCHEMA)
    with pytest.raises(DeniableError, match=r"bound \(7\)"):
        columns(p=0.4, joint=one, data=few)
    kronecker = columns(p=0.4, joint=one, cluster_mechanism="kronecker", data=few)
    assert kronecker.blocks == (NAMES,)


def test_clusters_from_records_must_be_accepted() -> None:
    clusters = {"from": "records", "t_v": 6, "t_d": 0.2}
    with pytest.raises(DeniableError, match="chosen_by_data"):
        columns(p=0.4, clusters=clusters, data=records())
    plan = columns(p=0.4, clusters=clusters, data=records(), accept=BY_DATA)
    found = cluster_attributes(SCHEMA.domain(), dependences(DATA), 6, 0.2)
    assert plan.blocks == found
    assert ("job", "income") in plan.blocks
    assert plan.chosen_from == "the data, by a curator"
    assert plan.not_covered == tuple(plan.risks.values()) != ()
    assert plan.guarantees[0].conditions != ()
    with pytest.raises(DeniableError, match="the original records are missing"):
        columns(p=0.4, clusters=clusters, accept=BY_DATA)


@pytest.mark.parametrize("by", ["attributes", "attributes_inverted"])
def test_clusters_from_the_randomized_values_of_another_part(by: str) -> None:
    first = columns(p=0.7, part={"of": 2, "take": 1, "seed": "public"})
    draws = KeyedDraws(bytes(32), b"test")
    (table,) = first.randomize(records().portions(), draws)
    clusters = {"from": "first", "by": by, "t_v": 6, "t_d": 0.08}
    second = columns(
        p=0.4,
        clusters=clusters,
        part={"of": 2, "take": 2, "seed": "public"},
        released={"first": first.responses(table)},
    )
    assert second.chosen_from == "randomized answers"
    assert second.not_covered == ()
    assert second.guarantees[0].conditions == ()
    assert second.part == Part(2, 2, "public")
    assert ("job", "income") in second.blocks
    if by == "attributes":
        drawn = Microdata.of_frame(table.to_pandas(), SCHEMA.domain())
        found = cluster_attributes(SCHEMA.domain(), dependences(drawn), 6, 0.08)
        assert second.blocks == found
    with pytest.raises(DeniableError, match=r"no release of this name.*given: none"):
        columns(p=0.4, clusters=clusters)


def test_clusters_from_values_of_the_same_names_that_are_not_categories() -> None:
    """Subset selection reports one of the 6 pairs of 4 categories, in a column of the same name."""
    first = columns(epsilon=1, mechanism="subset-selection")
    (table,) = first.randomize(records().portions(), KeyedDraws(bytes(32), b"test"))
    released = {"first": first.responses(table)}
    clusters = {"from": "first", "t_v": 6, "t_d": 0.08}
    assert columns(p=0.4, clusters=clusters, released=released).chosen_from == "randomized answers"
    with pytest.raises(DeniableError, match="are not their categories; use by"):
        columns(p=0.4, clusters=clusters | {"by": "attributes"}, released=released)


def test_each_part_is_drawn_as_a_part_of_the_whole_file() -> None:
    draws = KeyedDraws(bytes(range(32)), b"test")
    whole = pd.concat(
        each.to_pandas() for each in columns(p=0.4).randomize(records().portions(), draws)
    )
    found = []
    for take in (1, 2, 3):
        part = {"of": 3, "take": take, "seed": "s"}
        batches = records().portions(1000)
        tables = columns(p=0.4, part=part).randomize(batches, draws)
        drawn = pd.concat(each.to_pandas() for each in tables).reset_index(drop=True)
        own = Part(3, take, "s").positions(RECORDS)
        assert len(drawn) == own.size
        pd.testing.assert_frame_equal(
            drawn.astype(str), whole.iloc[own].reset_index(drop=True).astype(str)
        )
        found += own.tolist()
    assert sorted(found) == list(range(RECORDS))


def test_a_target_epsilon_and_its_mechanisms() -> None:
    plan = columns(epsilon=2.0, joint=[["sex", "income"]], mechanism="subset-selection")
    expected = make_plan(SCHEMA, 2.0, clusters=[("sex", "income")], mechanism="subset-selection")
    assert same_channels(plan, expected)
    assert plan.target == 2.0 >= plan.epsilon
    by_size = columns(epsilon=2.0, split="size", responses="categories", order="as_in_file")
    assert same_channels(by_size, make_plan(SCHEMA, 2.0, split="size", responses="categories"))
    assert by_size.order == "as_in_file"
    mixed = columns(epsilon=2.0, mechanisms={"town": "hadamard"})
    assert same_channels(mixed, make_plan(SCHEMA, 2.0, mechanisms={"town": "hadamard"}))
    with pytest.raises(DeniableError, match="chosen_by_data"):
        columns(epsilon=2.0, choose_from="records", data=records())
    chosen = columns(epsilon=2.0, choose_from="records", data=records(), accept=BY_DATA)
    assert chosen.chosen_from == "the data, by a curator"
    invariant = columns(
        *(),
        epsilon=2.0,
        mechanism="invariant",
        choose_from="records",
        data=records(),
        accept=BY_DATA,
    )
    assert invariant.invariant


@pytest.mark.parametrize(
    "matrix",
    [
        {"kind": "epsilon", "epsilon": 0.6},
        {"kind": "retention", "retention": 0.55},
        {"kind": "two_step", "epsilon": 1.2},
        {"kind": "two_step", "retention": 0.6},
        {"kind": "designed", "epsilon": 1.0, "invariant": True, "loss": "changed"},
        {"kind": "designed", "epsilon": 1.0, "invariant": False, "loss": "trace"},
    ],
    ids=str,
)
def test_matrices_of_pram(matrix: dict[str, Any]) -> None:
    names = ["sex", "income"]
    by_data = matrix["kind"] in ("two_step", "designed")
    given: Any = {"data": records(), "accept": BY_DATA} if by_data else {}
    plan = columns(columns=names, matrix=matrix, **given)
    for name, channel in zip(names, plan.protocol.channels, strict=True):
        counts = DATA.counts((name,))
        expected = pram_matrix(counts / counts.sum(), **matrix)
        np.testing.assert_array_equal(channel.matrix(), expected.matrix())
    assert plan.invariant == (matrix["kind"] == "two_step" or matrix.get("invariant", False))
    assert (plan.chosen_from == "the data, by a curator") == by_data
    again = plan_from_json(plan_to_json(plan))
    assert plan_to_json(again) == plan_to_json(plan)
    assert plan.audit()["holds"].all()
    if by_data:
        with pytest.raises(DeniableError, match="original records, which are missing"):
            columns(columns=names, matrix=matrix, accept=BY_DATA)
        with pytest.raises(DeniableError, match="chosen_by_data"):
            columns(columns=names, matrix=matrix, data=records())
    if plan.invariant:
        (said,) = plan.not_covered
        assert "an intruder with all other records of the stratum" in said


def test_matrices_from_records_within_strata() -> None:
    matrix = {"kind": "two_step", "epsilon": 1.2}
    plan = strata(
        strata=["sex"], joint=[["job", "income"]], matrix=matrix, data=records(), accept=BY_DATA
    )
    assert plan.invariant
    assert plan.blocks == (("job", "income"), ("town",))
    for sex in ("F", "M"):
        rows = np.flatnonzero(FRAME["sex"] == sex)
        part = Microdata(DATA.domain, tuple(column[rows] for column in DATA.columns))
        for block, channel in zip(plan.blocks, plan.protocol.protocols[sex,].channels, strict=True):
            counts = part.counts(block).reshape(-1)
            expected = pram_matrix(counts / counts.sum(), "two_step", epsilon=1.2)
            np.testing.assert_array_equal(channel.matrix(), expected.matrix())
    assert len(plan.not_covered) == 2  # the matrices, and the stratum column
    assert plan_to_json(plan_from_json(plan_to_json(plan))) == plan_to_json(plan)


def test_strata_of_one_epsilon_or_retention() -> None:
    by_epsilon = strata(strata=["sex"], joint=[["job", "town"]], epsilon=1.5)
    expected = StrataPlan.from_schema(SCHEMA, ["sex"], 1.5, [["job", "town"]])
    assert same_channels(by_epsilon, expected)
    retained = strata(columns=["sex", "job"], strata=["sex"], retention=0.6)
    assert retained.blocks == (("job",),)
    assert retained.schema["town"].kind == "left_out"
    public = strata(strata=["sex"], matrix={"kind": "retention", "retention": 0.6})
    retaining = StrataPlan.from_schema(SCHEMA, ["sex"], retention=0.6)
    assert not same_channels(public, retaining)  # its why
    assert public.epsilon == retaining.epsilon
    part = strata(strata=["sex"], epsilon=1.0, part={"take": 1, "seed": "x"}).part
    assert part == Part(2, 1, "x")


def test_matrices_in_files(tmp_path: Path) -> None:
    file = tmp_path / "sex.csv"
    file.write_text(",F,M\nF,0.75,0.25\nM,0.25,0.75\n")
    matrix: dict[str, Any] = {"kind": "file", "files": {"sex": str(file)}}
    with pytest.raises(DeniableError, match="chosen_by_data"):
        columns(columns=["sex"], matrix=matrix)
    public = columns(columns=["sex"], matrix=matrix | {"chosen_from": "no data"})
    assert public.epsilon == pytest.approx(math.log(3), abs=1e-15)
    assert public.protocol.channels[0].exact_column(0) == [Fraction(3, 4), Fraction(1, 4)]
    with pytest.raises(DeniableError, match=r"town: no file has its matrix; give files\.town"):
        columns(columns=["sex", "town"], matrix=matrix | {"chosen_from": "no data"})
    with pytest.raises(DeniableError, match=r"in matrix\.files 'town'; use sex"):
        columns(columns=["sex"], matrix=matrix | {"files": {"sex": str(file), "town": "no.csv"}})
    within = strata(columns=["sex", "job"], strata=["job"], matrix=matrix, accept=BY_DATA)
    assert within.epsilon == public.epsilon
    file.write_text(",F,M\nF,1,0\nM,0,1\n")
    with pytest.raises(DeniableError, match="never changes a record"):
        columns(columns=["sex"], matrix=matrix, accept=BY_DATA)
    file.write_text(",F,M\nF,0.5,0.5\nM,0.5,0.5\n")
    with pytest.raises(DeniableError, match="the matrix is singular"):
        columns(columns=["sex"], matrix=matrix, accept=BY_DATA)


def test_the_epsilon_of_two_parts_is_the_larger_one() -> None:
    """The release adult_rr_clusters has this epsilon: marital status, relationship, sex, income."""
    sizes = {"marital-status": 7, "relationship": 6, "sex": 2, "income": 2}
    listed = [
        {"name": name, "kind": "categorical", "categories": [f"c{v}" for v in range(size)]}
        for name, size in sizes.items()
    ]
    about = {"format": "deniable-schema", "population": "adult", "file": {"kind": "arrow"}}
    adult = schema_from_dict(about | {"columns": listed})
    common = {"kind": "columns", "p": 0.3, "matrix": "keep"}
    first = settings_from(common | {"part": {"take": 1, "seed": "s"}}).plan(PlanInputs(adult))
    second = settings_from(
        common
        | {"joint": [["relationship", "sex"]], "cluster_mechanism": "kronecker"}
        | {"part": {"take": 2, "seed": "s"}}
    ).plan(PlanInputs(adult))
    assert max(first.epsilon, second.epsilon) == 3.897338453745225
    by_attribute = second.epsilon_by_changed_attribute()
    assert by_attribute["marital-status"] == 1.3862943611198908
    assert by_attribute["relationship"] == 1.2729656758128876
    assert by_attribute["sex"] == by_attribute["income"] == 0.6190392084062235


REFUSED: list[tuple[dict[str, Any], str]] = [
    ({"kind": "rows"}, "a plan of kind 'rows'; allowed: columns, strata, masked, mixed, collected"),
    ({}, "the kind is missing"),
    ({"kind": "columns"}, "none of epsilon, beta, breach, within, p and a mapping matrix given"),
    ({"kind": "columns", "epsilon": 1.0, "p": 0.5}, "epsilon and p of epsilon, beta"),
    (
        {"kind": "columns", "epsilon": 1.0, "matrix": "keep"},
        "of an RR matrix; allowed: with p",
    ),
    ({"kind": "columns", "p": 1.5}, "p: 1.5; allowed: below 1"),
    ({"kind": "columns", "within": {"points": 2}}, "within.records: missing"),
    ({"kind": "columns", "within": {"points": 99, "records": 9}}, "points: 99.*at most 50"),
    ({"kind": "columns", "within": {"points": 1, "records": 99}}, "impossible with 99 records"),
    (
        {"kind": "columns", "epsilon": 1.0, "within": {"points": 2, "records": 9}},
        "epsilon and within of",
    ),
    ({"kind": "columns", "epsilon": -1.0}, "epsilon: -1.0; allowed: above 0"),
    ({"kind": "columns", "beta": 1.0}, "beta: 1.0; allowed: above 1"),
    ({"kind": "columns", "breach": [0.5, 0.1]}, "RHO_1 < RHO_2"),
    ({"kind": "columns", "beta": 5.0, "split": "each"}, r"matrix: \{kind: epsilon, beta: 5"),
    ({"kind": "columns", "breach": [0.1, 0.5], "split": "each"}, r"breach: \[0\.1, 0\.5\]\}"),
    ({"kind": "strata", "strata": ["sex"], "breach": [0.5]}, "breach"),
    ({"kind": "columns", "epsilon": 1.0, "mechanism": "magic"}, "unknown mechanism 'magic'"),
    (
        {"kind": "columns", "p": 0.5, "mechanism": "best"},
        "mechanism is given; allowed with eps",
    ),
    (
        {"kind": "columns", "epsilon": 1.0, "cluster_mechanism": "joint"},
        "cluster_mechanism is given; allowed with p",
    ),
    ({"kind": "columns", "epsilon": 1.0, "colums": ["sex"]}, "colums: unknown option"),
    ({"kind": "columns", "epsilon": 1.0, "columns": ["age"]}, "unknown column 'age'"),
    ({"kind": "columns", "epsilon": 1.0, "joint": [["sex"]]}, r"joint\[0\]"),
    ({"kind": "columns", "p": 0.5, "joint": [["sex", "age"]]}, "'age'"),
    (
        {
            "kind": "columns",
            "p": 0.5,
            "joint": [["sex", "job"]],
            "clusters": {"from": "records", "t_v": 9, "t_d": 0.1},
        },
        "both joint and clusters given",
    ),
    ({"kind": "columns", "epsilon": 1.0, "part": {"take": 3, "seed": "x"}}, "part 3 of 2"),
    ({"kind": "columns", "p": 0.25, "matrix": "diagonal", "columns": ["town"]}, "singular"),
    ({"kind": "columns", "p": 0.5, "matrix": "kept"}, "matrix: 'kept'; allowed: with p printed"),
    ({"kind": "columns", "matrix": {"kind": "epsilon"}}, "none of epsilon, beta and breach"),
    ({"kind": "columns", "matrix": {"kind": "two_step"}}, "none of epsilon, beta, breach and ret"),
    ({"kind": "columns", "matrix": {"kind": "retention", "retention": 0.25}}, "town.*singular"),
    ({"kind": "strata", "epsilon": 1.0}, "strata: missing"),
    ({"kind": "strata", "strata": ["sex"]}, "none of epsilon, beta, breach, ret"),
    ({"kind": "strata", "strata": ["age"], "epsilon": 1.0}, "unknown column 'age'"),
    ({"kind": "strata", "strata": list(NAMES), "epsilon": 1.0}, "leave one to randomize"),
    (
        {"kind": "strata", "strata": list(NAMES), "matrix": {"kind": "epsilon", "epsilon": 1.0}},
        "leave one to randomize",
    ),
]


@pytest.mark.parametrize(("values", "words"), REFUSED, ids=[str(each[0]) for each in REFUSED])
def test_wrong_settings_are_refused_in_one_message(values: dict[str, Any], words: str) -> None:
    with pytest.raises(DeniableError, match=words):
        settings_from(values).plan(PlanInputs(SCHEMA))


@pytest.mark.parametrize("kind", [{"kind": "columns"}, {"kind": "strata", "strata": ["sex"]}])
def test_matrices_from_no_record_are_refused(kind: dict[str, Any]) -> None:
    part = {"of": 5, "take": 1, "seed": "text"}
    settings = settings_from(kind | {"matrix": {"kind": "two_step", "epsilon": 1.0}, "part": part})
    data = RecordsFile.open(FRAME[:2], SCHEMA)  # less than one record for each part
    with pytest.raises(DeniableError, match="there is no protocol; give one for each stratum"):
        settings.plan(PlanInputs(SCHEMA, data, accept=BY_DATA))


def test_weights_and_matrices_from_records_do_not_go_together() -> None:
    weighted = schema_from_dict(
        SCHEMA.to_json()
        | {"columns": [*SCHEMA.to_json()["columns"], {"name": "w", "kind": "weight"}]}
    )
    matrix = {"kind": "two_step", "epsilon": 1.0}
    data = RecordsFile.open(FRAME.assign(w=1.0), weighted)
    with pytest.raises(DeniableError, match="'w' is a weight"):
        settings_from({"kind": "columns", "matrix": matrix}).plan(
            PlanInputs(weighted, data, accept=BY_DATA)
        )


def test_the_least_epsilon_within_some_points() -> None:
    within = {"points": 5.0, "records": 10_000}
    found = columns(within=within, columns=["sex", "town"], split="size")
    own = SCHEMA.only(["sex", "town"])
    epsilon = epsilon_for(own, **within, split="size")
    assert found.target == epsilon
    assert same_channels(found, make_plan(own, epsilon, split="size"))


def test_settings_state_all_that_decides_the_plan() -> None:
    settings = settings_from({"kind": "columns", "p": 0.25, "matrix": "keep"})
    assert same_channels(settings.plan(PlanInputs(SCHEMA)), columns(p=0.25, matrix="keep"))
    plain = KeepOrReplace.uniform(2, 0.25)
    assert settings.plan(PlanInputs(SCHEMA)).to_json()["clusters"][1]["epsilon"] == plain.epsilon
