"""A config is valid, or says all that is wrong with it before anything starts."""

import json
import math
import shutil
from collections.abc import Callable
from functools import cache
from pathlib import Path
from typing import Any, ClassVar

import pytest
import yaml
from tests.slow_variants import slow

from deniable.datasets.manifest import (
    AnyDataset,
    NumericDataset,
    categorical,
    load_manifest,
    numeric,
)
from deniable.errors import ConfigError
from deniable.randomized_response import rr_channel
from deniable.records.domain import Attribute, Domain
from deniable.release import release_from
from deniable.release.settings import CollectionRelease, IndependentRelease

from reproduction.pipeline import checks as config_checks
from reproduction.pipeline.checks import check_domains
from reproduction.pipeline.config import Config, refuse_repeated_keys, validate
from reproduction.pipeline.plan import Plan, drawn_domains, drawn_records

ROOT = Path(__file__).resolve().parents[3]
SCHEMA = ROOT / "workflow" / "schemas" / "config.schema.json"
TABLES = "studies.multirr_tables"
GRID = f"{TABLES}.grids[0]"
PRAM = "releases[4].matrix"
ANSWERS = "releases[1].dependences"


def placed(values: dict[str, Any], path: str, value: Any) -> dict[str, Any]:
    """Put a value at a path such as ``a.b[0].c``; `...` takes the option out."""
    at: Any = values
    parts: list[str | int] = []
    for part in path.split("."):
        name, *numbers = part.replace("]", "").split("[")
        parts += [name, *map(int, numbers)]
    for part in parts[:-1]:
        at = at[part]
    if value is ...:
        del at[parts[-1]]
    else:
        at[parts[-1]] = value
    return values


def faults(values: dict[str, Any]) -> list[str]:
    """Return the lines of the message that a config's faults give, without the heading."""
    with pytest.raises(ConfigError) as caught:
        settle(values)
    heading, *lines = str(caught.value).splitlines()
    count = "a fault" if len(lines) == 1 else f"{len(lines)} faults"
    assert heading == f"the config has {count} (config/README.md describes every option):"
    assert all(line.startswith("  ") for line in lines)
    return [line[2:] for line in lines]


@cache
def committed_manifest() -> dict[str, AnyDataset]:
    return load_manifest(ROOT / "resources" / "datasets.yaml")


def settle(values: dict[str, Any]) -> Config:
    """Check a config as `Plan.prepare` does before it looks for data."""
    config = validate(values)
    datasets = committed_manifest()
    check_domains(
        config,
        {name: dataset.domain for name, dataset in categorical(datasets).items()},
        {name: dataset.records for name, dataset in datasets.items()} | drawn_records(),
        numeric(datasets),
        drawn_domains(config, ROOT / "resources" / "networks"),
    )
    return config


IDP, HISTOGRAMS = "releases[13]", "releases[8]"  # of Census
WRONG = [
    # what is put where, and what the one line must say of it
    ("seed", -1, "seed: -1; allowed: at least 0"),
    ("seed", True, "seed: True; allowed: a whole number"),
    ("seed", 2**63, f"seed: {2**63}; allowed: at most {2**63 - 1}"),
    ("seed", 10**40, f"allowed: at most {2**63 - 1}"),
    ("seed", 1.5, "seed: 1.5; allowed: a whole number"),
    ("seed", "20211121", "seed: '20211121'; allowed: a whole number (without quotes"),
    ("seed", "1e3", "seed: '1e3'; allowed: a whole number (YAML reads 1e-3 as text"),
    ("seed", None, "seed: None; allowed: a whole number"),
    ("sead", 1, "sead: unknown option; allowed here: seed, data, studies, analyses, ledger"),
    ("data", None, "data: None; allowed: a section with options of its own"),
    ("data.source", "net", "data.source: 'net'; allowed: auto, mirror, public, surrogate"),
    ("data.mirror", "", "data.mirror: ''; allowed: text that is not empty"),
    ("data.mirrors", "x", "data.mirrors: unknown option; allowed here: source, mirror"),
    ("studies", [1], "studies: [1]; allowed: a section with options of its own"),
    ("studies", None, "studies: None; allowed: a section with options of its own"),
    ("studies.other", {}, "studies.other: unknown option; allowed here: multirr_tables, multirr_s"),
    (f"{TABLES}.replicate", 5, f"{TABLES}.replicate: unknown option; allowed here: replicates, b"),
    (f"{TABLES}.replicates", 0, f"{TABLES}.replicates: 0; allowed: at least 6"),
    (f"{TABLES}.replicates", ..., f"{TABLES}.replicates: missing; it must be given"),
    (f"{TABLES}.chunks", 501, f"{TABLES}.chunks: 501; allowed: at most 500"),
    (f"{TABLES}.coverage", 0, f"{TABLES}.coverage: 0; allowed: above 0"),
    (f"{TABLES}.coverage", "1e-1", f"{TABLES}.coverage: '1e-1'; allowed: a number (YAML reads"),
    (f"{TABLES}.ordinal", "education", f"{TABLES}.ordinal: 'education'; allowed: a list, such as"),
    (f"{TABLES}.ordinal", ["sex", "sex"], f"{TABLES}.ordinal[1]: 'sex' is named twice"),
    (f"{TABLES}.ordinal", ["age"], f"{TABLES}.ordinal[0]: 'age' is no attribute of the data; all"),
    (f"{TABLES}.grids", [], f"{TABLES}.grids: []; allowed: a list with at least one entry"),
    (f"{TABLES}.grids", None, f"{TABLES}.grids: None; allowed: a list, such as [a, b]"),
    (f"{TABLES}.grids", [None], f"{GRID}: None; allowed: a section with options of its own"),
    (f"{GRID}.p", [], f"{GRID}.p: []; allowed: a list with at least one entry"),
    (f"{GRID}.p", 0.5, f"{GRID}.p: 0.5; allowed: a list, such as [a, b]"),
    (f"{GRID}.p", ["0.5"], f"{GRID}.p[0]: '0.5'; allowed: a number (without quotes"),
    (f"{GRID}.p", ["1e-3"], f"{GRID}.p[0]: '1e-3'; allowed: a number (YAML reads 1e-3 as text"),
    (f"{GRID}.p", [0], f"{GRID}.p[0]: 0; allowed: above 0"),
    (f"{GRID}.p", [0.5, 1.0], f"{GRID}.p[1]: 1.0; allowed: below 1"),
    (f"{GRID}.p", [math.nan], f"{GRID}.p[0]: nan; allowed: below 1"),
    (f"{GRID}.p", [math.inf], f"{GRID}.p[0]: inf; allowed: below 1"),
    (f"{GRID}.p", [True], f"{GRID}.p[0]: True; allowed: a number"),
    (f"{GRID}.p", [0.1, 0.1], f"{TABLES}: the grids hold the cell dataset adult, matrix printed"),
    (f"{GRID}.t_d", [1.5], f"{GRID}.t_d[0]: 1.5; allowed: at most 1"),
    (f"{GRID}.t_v", [50.5], f"{GRID}.t_v[0]: 50.5; allowed: a whole number"),
    (f"{GRID}.matrix", ["kept"], f"{GRID}.matrix[0]: 'kept'; allowed: printed, keep, diagonal"),
    (f"{GRID}.mechanism", ["both"], f"{GRID}.mechanism[0]: 'both'; allowed: joint, kronecker"),
    ("releases[0].synthetic", "both", "synthetic: 'both'; allowed: clusters, adjustment"),
    ("studies.multirr_fig3.projections", ["em"], "projections[0]: 'em'; allowed: clip, simplex"),
    ("studies.multirr_fig2.estimators", ["x"], "estimators[0]: 'x'; allowed: randomized"),
    ("studies.multirr_pairs.coverages", [0.0], "coverages[0]: 0.0; allowed: above 0"),
    ("analyses.idp_noises.intervals", 1000, "intervals: 1000; allowed: at most the 100 replicates"),
    ("analyses.multirr_secure_sum.parties", 2, "_secure_sum.parties: 2; allowed: at least 3"),
    ("studies.multirr_assessment.t_v", [], "t_v: []; allowed: a list with at least one entry"),
    ("studies.multirr_attributes.grids[0].attributes", [9], "attributes[0]: 9; allowed: at most 5"),
    (f"{GRID}.extra", 1, f"{GRID}.extra: unknown option; allowed here: dataset, matrix, mechan"),
    ("releases", None, "releases: None; allowed: a list, such as [a, b]"),
    ("releases", {"a": 1}, "releases: {'a': 1}; allowed: a list, such as [a, b]"),
    ("releases[0]", None, "releases[0]: None; allowed: a section with options of its own"),
    ("releases[0].name", "../up", "releases[0].name: '../up'; allowed: letters, digits, '_' and"),
    ("releases[0].name", "a/b", "releases[0].name: 'a/b'; allowed: letters, digits, '_' and '-'"),
    ("releases[0].name", "", "releases[0].name: ''; allowed: letters, digits, '_' and '-'"),
    ("releases[0].name", "a\n", "releases[0].name: 'a\\n'; allowed: letters, digits, '_' and '-'"),
    ("releases[0].name", 7, "releases[0].name: 7; allowed: text"),
    ("releases[0].name", "adult_rr_joint", "config: two releases are named 'adult_rr_joint'; all"),
    ("releases[0].name", "Adult_RR_Joint", "allowed: names that differ in more than case"),
    ("releases[0].data", "census", "releases[0].data: 'census' is a numeric data set, but rr_inde"),
    ("releases[0].data", "mine", "releases[0].data: 'mine' is no data set of the manifest; allow"),
    ("releases[0].data", "", "releases[0].data: ''; allowed: text that is not empty"),
    ("releases[0].mechanism", "prim", "releases[0].mechanism: 'prim'; allowed: rr_independent, rr"),
    ("releases[0].mechanism", ..., "releases[0].mechanism: missing; allowed: rr_independent, rr_c"),
    ("releases[0].rehearsal", "yes", "releases[0].rehearsal: 'yes'; allowed: true or false"),
    ("releases[0].rehearsal", ..., "releases[0].rehearsal: missing; it must be given"),
    ("releases[0].t_v", 50, "releases[0].t_v: unknown option; allowed here: name, data, attribut"),
    ("releases[0].rr_joint", 1, "releases[0].rr_joint: unknown option; allowed here: name, data,"),
    ("rr_joint", 1, "rr_joint: unknown option; allowed here: seed, data, studies, analyses, ledge"),
    ("releases[0].attributes", [], "releases[0].attributes: []; allowed: a list with at least one"),
    ("releases[0].attributes", ["age"], "releases[0].attributes[0]: 'age' is no attribute of the"),
    ("releases[0].attributes", ["sex", "race", "sex"], "releases[0].attributes[2]: 'sex' is named"),
    ("releases[1].t_d", ..., "releases[1].t_d: missing; it must be given"),
    ("releases[1].dependences", ..., "releases[1].dependences: missing; it must be given"),
    (f"{ANSWERS}.by", "secure_sum", f"{ANSWERS}.by: 'secure_sum'; allowed: true_records, attr"),
    (f"{ANSWERS}.respondents", "some", f"{ANSWERS}.respondents: 'some'; allowed: all, half"),
    (f"{ANSWERS}.respondents", ..., f"{ANSWERS}.respondents: missing; it must be given"),
    ("releases[1].attributes", ["sex"], f"{ANSWERS}: 'sex' is the only attribute, so that there"),
    # Section 4.3 would have the epsilons of the pairs count once; nothing can be told so.
    (f"{ANSWERS}.waiver", True, f"{ANSWERS}.waiver: unknown option; allowed here: by, p, resp"),
    ("releases[1].ordinal", ["age"], "releases[1].ordinal[0]: 'age' is no attribute of the data"),
    (
        "releases[3].attributes",
        ["education", "occupation", "workclass", "sex"],
        "releases[3].attributes: "
        "RR-Joint over education, occupation, workclass, sex has 4,320 cells for 32,561 rec",
    ),
    (PRAM, "keep", f"{PRAM}: 'keep'; allowed: a section with options of its own"),
    (PRAM, {}, f"{PRAM}.kind: missing; allowed: epsilon, retention, two_step, designed, file"),
    (f"{PRAM}.kind", "best", f"{PRAM}.kind: 'best'; allowed: epsilon, retention, two_step, design"),
    (f"{PRAM}.epsilon", ..., f"{PRAM}.epsilon: missing; it must be given"),
    (f"{PRAM}.epsilon", 0, f"{PRAM}.epsilon: 0; allowed: above 0"),
    (f"{PRAM}.epsilon", 31.0, f"{PRAM}.epsilon: 31.0; allowed: at most 30"),
    (f"{PRAM}.retention", 0.5, f"{PRAM}.retention: unknown option; allowed here: kind, epsilon"),
    ("releases[4].p", 0.5, "releases[4].p: unknown option; allowed here: name, data, attributes,"),
    (PRAM, {"kind": "two_step"}, f"{PRAM}: neither of epsilon and retention given; allowed: one"),
    (
        PRAM,
        {"kind": "two_step", "epsilon": 1.0, "retention": 0.5},
        f"{PRAM}: both of epsilon and retention given; allowed: one of them",
    ),
    (PRAM, {"kind": "designed", "epsilon": 1.0, "loss": "x"}, f"{PRAM}.loss: 'x'; allowed: "),
    (
        PRAM,
        {"kind": "retention", "retention": 0.2},
        f"{PRAM}.retention: with 0.2 race cannot be estimated (singular matrix); allowed: another",
    ),
    (PRAM, {"kind": "file", "files": {"sex": ""}}, f"{PRAM}.files.sex: ''; allowed: text th"),
    ("releases[4].strata", ["sex", "age"], "releases[4].strata[1]: 'age' is no attribute"),
    ("releases[4].strata", ["relationship"], "releases[4].strata[0]: 'relationship' is no "),
    ("releases[4].strata", ["sex", "sex"], "releases[4].strata[1]: 'sex' is named twice; allowed"),
    (
        "releases[4].strata",
        ["workclass", "education", "marital-status", "race", "sex", "income"],
        "releases[4].strata: all attributes of the release; allowed: to leave one to be randomized",
    ),
    (
        "releases[4].joint",
        [["sex"]],
        "releases[4].joint[0]: ['sex']; allowed: a list with at least 2 entries",
    ),
    ("releases[4].joint", ["sex"], "releases[4].joint[0]: 'sex'; allowed: a list, such as"),
    ("releases[4].joint", [["sex", "age"]], "releases[4].joint[0][1]: 'age' is no attrib"),
    ("releases[4].joint", [["sex", "race", "sex"]], "releases[4].joint[0][2]: 'sex' is named"),
    (
        "releases[4].joint",
        [["sex", "race"], ["income", "race"]],
        "releases[4].joint[1][1]: 'race' is in joint[0] already; allowed: in one block",
    ),
    (
        "releases[5].joint",
        [["relationship", "sex"]],
        "releases[5].joint[0][1]: 'sex' is a stratum attribute, released as it is; allowed: in st",
    ),
    (
        "releases[4].joint",
        [["education", "workclass", "marital-status"]],
        "releases[4].joint[0]: education x workclass x marital-status has 1,008 cells for 32,561 "
        "records; allowed: at most 300 cells, and at least 10 records a cell",
    ),
    (f"{IDP}.data", "adult", f"{IDP}.data: 'adult' is a categorical data set, but idp takes a"),
    (f"{IDP}.method", "idp", f"{IDP}.method: 'idp'; allowed: dp, dp_um, idp_ls, idp_cbls"),
    (
        f"{IDP}.method",
        "dp",
        f"{IDP}: accept: 'no_epsilon_for_records' is no finding of it; allowed",
    ),
    (
        f"{IDP}.method",
        "dp_um",
        f"{IDP}: accept: 'true_values_released' is no finding of it; allowed",
    ),
    (f"{IDP}.k", ..., f"{IDP}: k is missing; allowed with method 'idp_cbls': k, the size of clust"),
    (f"{IDP}.k", 2, f"{IDP}.k: 2; allowed: at least 3"),
    (f"{IDP}.k", 541, f"{IDP}.k: 541; allowed: at most 540, so that the 1080 records form two clu"),
    (f"{IDP}.epsilon", 0, f"{IDP}.epsilon: 0; allowed: above 0"),
    (f"{IDP}.domain_factor", 0.5, f"{IDP}.domain_factor: 0.5; allowed: at least 1"),
    (f"{IDP}.attributes", ["age"], f"{IDP}.attributes[0]: 'age' is no attribute of the data; all"),
    (f"{IDP}.synthetic", "clusters", f"{IDP}.synthetic: unknown option; allowed here: name, data"),
    (f"{HISTOGRAMS}.bins", 1, f"{HISTOGRAMS}.bins: 1; allowed: at least 2"),
    (f"{HISTOGRAMS}.rehearsal", ..., f"{HISTOGRAMS}.rehearsal: missing; it must be given"),
]


@pytest.mark.parametrize(("path", "value", "line"), WRONG, ids=[f"{w[0]}={w[1]}" for w in WRONG])
def test_one_fault_gives_one_line_with_path_value_and_what_is_allowed(
    config_values: dict[str, Any], path: str, value: Any, line: str
) -> None:
    (said,) = faults(placed(config_values, path, value))
    assert line in said
    assert said.endswith("must be given") or "allowed" in said or "Name fewer" in said


def test_every_fault_is_reported(config_values: dict[str, Any]) -> None:
    placed(config_values, "seed", -1)
    placed(config_values, "extra", 1)
    placed(config_values, f"{GRID}.p", [0, "0.5", 2])
    placed(config_values, "releases[0].mechanism", "prim")
    placed(config_values, "releases[1].t_v", 0)
    paths = [line.split(":")[0] for line in faults(config_values)]
    grid = [f"{GRID}.p[0]", f"{GRID}.p[1]", f"{GRID}.p[2]"]
    assert sorted(paths) == sorted(
        ["seed", "extra", *grid, "releases[0].mechanism", "releases[1].t_v"]
    )


def test_every_disagreement_with_the_data_is_reported(config_values: dict[str, Any]) -> None:
    placed(config_values, f"{TABLES}.ordinal", ["age"])
    placed(config_values, "studies.multirr_sensitivity.ordinal", ["sex", "height"])
    placed(config_values, "releases[0].attributes", ["age", "sex", "sex"])
    placed(config_values, "releases[3].attributes", ["occupation", "education", "workclass", "sex"])
    assert [line.split(":")[0] for line in faults(config_values)] == [
        f"{TABLES}.ordinal[0]",
        "studies.multirr_sensitivity.ordinal[1]",
        "releases[0].attributes[0]",
        "releases[0].attributes[2]",
        "releases[3].attributes",
    ]


@pytest.mark.parametrize(
    ("release", "matrix", "p"),
    [
        # p |A| = 1 - p: the printed matrix of an attribute with two categories is constant.
        ({"mechanism": "rr_independent"}, "printed", 1 / 3),
        ({"mechanism": "rr_independent"}, "diagonal", 0.5),
        ({"mechanism": "rr_joint", "attributes": ["sex"]}, "diagonal", 0.5),
        ({"mechanism": "rr_joint", "attributes": ["sex", "income"]}, "printed", 1 / 3),
        (
            {"mechanism": "rr_clusters", "cluster_mechanism": "kronecker", "t_v": 50, "t_d": 0.1}
            | {"dependences": {"by": "true_records"}},
            "diagonal",
            0.5,
        ),
    ],
)
def test_a_release_that_could_not_be_estimated_from_is_refused(
    config_values: dict[str, Any], release: dict[str, Any], matrix: str, p: float
) -> None:
    common = {"name": "r", "data": "adult", "rehearsal": True, "matrix": matrix, "p": p}
    config_values["releases"] = [common | release]
    for line in faults(config_values):
        assert line.startswith("releases[0].p: with matrix")
        assert "singular matrix" in line
        assert "allowed: another p or matrix" in line


def test_a_joint_cluster_may_hold_an_attribute_that_alone_would_be_singular(
    config_values: dict[str, Any],
) -> None:
    placed(config_values, "releases[3].p", 0.5)
    placed(config_values, "releases[3].matrix", "diagonal")
    release = settle(config_values).releases[3]
    assert (release.mechanism, release.p, release.matrix) == ("rr_joint", 0.5, "diagonal")
    assert rr_channel(2, 0.5, "diagonal").singular


def test_attributes_of_a_release_are_those_of_its_data_set(config_values: dict[str, Any]) -> None:
    common = {"mechanism": "rr_independent", "rehearsal": True, "matrix": "keep", "p": 0.5}
    both = {"attributes": ["age", "occupation"]}
    config_values["releases"] = [
        common | both | {"name": data, "data": data} for data in ("adult", "adult_numeric")
    ]
    first, second = faults(config_values)
    assert first.startswith("releases[0].attributes[0]: 'age' is no attribute")
    assert second.startswith("releases[1].attributes[1]: 'occupation' is no attribute")
    for release, attribute in zip(config_values["releases"], ("occupation", "age"), strict=True):
        release["attributes"] = [attribute]
    settle(config_values)


def test_a_release_takes_data_of_its_kind(config_values: dict[str, Any]) -> None:
    datasets = load_manifest(ROOT / "resources" / "datasets.yaml")
    numbers = numeric(datasets)
    given = numbers["wine"].model_dump(by_alias=True, exclude_unset=True)
    for each in given["numeric_attributes"]:
        if each["name"] != "pH":
            del each["bounds"]
    unbounded = NumericDataset.model_validate(given, context="mine")

    class Numbers(IndependentRelease):
        data_kind: ClassVar = "numeric"
        needs_bounds: ClassVar = True

    def faults_of(kind: type[IndependentRelease], data: str, names: list[str] | None) -> list[str]:
        given = {"mechanism": "rr_independent", "matrix": "keep", "p": 0.5, "rehearsal": True}
        release = kind(name="r", data="adult", **given).model_copy(
            update={"data": data, "attributes": names}
        )
        config = validate(config_values).model_copy(update={"releases": [release]})
        domains = {name: dataset.domain for name, dataset in categorical(datasets).items()}
        records = {name: dataset.records for name, dataset in datasets.items()}
        try:
            check_domains(config, domains, records, numbers | {"mine": unbounded})
        except ConfigError as error:
            return [line.strip() for line in str(error).splitlines()[1:]]
        return []

    assert faults_of(IndependentRelease, "census", None) == [
        "releases[0].data: 'census' is a numeric data set, but rr_independent takes a categorical "
        "one; allowed: adult, adult_numeric, adult_age"
    ]
    assert faults_of(Numbers, "adult", None) == [
        "releases[0].data: 'adult' is a categorical data set, but rr_independent takes a numeric "
        "one; allowed: census, wine, mine"
    ]
    assert faults_of(Numbers, "sensus", None) == [
        "releases[0].data: 'sensus' is no data set of the manifest; allowed: census, wine, mine"
    ]
    assert faults_of(Numbers, "census", ["AGI", "sex"]) == [
        "releases[0].attributes[1]: 'sex' is no attribute of the data; allowed: AFNLWGT, AGI, "
        "EMCONTRB, FEDTAX, STATETAX, TAXINC, POTHVAL, INTVAL, FICA"
    ]
    assert faults_of(Numbers, "mine", ["pH", "density"]) == [
        "releases[0].attributes: 'density' has no bounds, which rr_independent needs; allowed: "
        "attributes with bounds: [lower, upper] under 'mine' in resources/datasets.yaml, stated "
        "from public knowledge"
    ]
    assert faults_of(Numbers, "wine", None) == faults_of(IndependentRelease, "adult", None) == []


def test_collections_are_held_against_their_data(config_values: dict[str, Any]) -> None:
    def faults_of(**changes: Any) -> list[str]:
        given = {"name": "c", "data": "networks/alarm", "mechanism": "rrba", "p": 0.5}
        asked = {"rehearsal": True} | given | changes
        values = config_values | {"releases": [{k: v for k, v in asked.items() if v is not ...}]}
        try:
            Plan.prepare(values, ROOT)
        except ConfigError as error:
            return [line.strip() for line in str(error).splitlines()[1:]]
        return []

    assert faults_of() == faults_of(data="adult", size=3) == faults_of(p=..., epsilon=1.0) == []
    assert faults_of(update="pooled", floor=0.1) == faults_of(data="networks/child_8000") == []
    (line,) = faults_of(data="networks/alarms")
    assert line.startswith("releases[0].data: 'networks/alarms' is no data set of the manifest")
    assert faults_of(data="census") == [
        "releases[0].data: 'census' is a numeric data set, but rrba takes a categorical one; "
        "allowed: adult, adult_numeric, adult_age"
    ]
    assert faults_of(epsilon=1.0) == [
        "releases[0]: both of p and epsilon given; allowed: p, the probability of a true answer, "
        "or the epsilon of an answer about one table"
    ]
    assert faults_of(p=...)[0].startswith("releases[0]: neither of p and epsilon given")
    assert faults_of(update="pooled") == [
        "releases[0]: floor is missing; allowed with update 'pooled': a floor, which bounds epsilon"
    ]
    assert faults_of(floor=0.1) == ["releases[0]: floor: 0.1; allowed with update 'uniform': none"]
    assert faults_of(floor=0.0, update="pooled") == ["releases[0].floor: 0.0; allowed: above 0.0"]
    assert faults_of(size=1) == ["releases[0].size: 1; allowed: at least 2"]
    assert faults_of(size=3) == [
        "releases[0].size: 7,770 tables of 3 attributes have 176,632 cells; allowed: at most "
        "50,000; name fewer attributes"
    ]
    assert faults_of(data="networks/survey", size=7) == [
        "releases[0].size: 7; allowed: at most 6, the attributes"
    ]
    assert faults_of(block=1) == [
        "releases[0].block: 1 makes 10,000 blocks, which report 1,447,027 cells; allowed: larger "
        "blocks, of at most 1,000,000 cells"
    ]
    (line,) = faults_of(attributes=["HR", "PULSE"])
    assert line.startswith("releases[0].attributes[1]: 'PULSE' is no attribute of the data")
    # Only collections may ask what was drawn from a network.
    other = {"mechanism": "rr_independent", "matrix": "keep"}
    assert faults_of(**other)[0].startswith("releases[0].data: 'networks/alarm' is no data set")


def test_a_collection_needs_as_many_clients_as_questions() -> None:
    domain = Domain(tuple(Attribute(name, ("0", "1")) for name in "abcdef"))
    release = CollectionRelease(
        name="c", data="x", mechanism="rrba", p=0.5, answers="table", rehearsal=True
    )
    found = list(config_checks._uncollectable("releases[0]", release, domain, 14))
    assert found == [
        "releases[0].answers: 14 clients for 15 tables; allowed: at least one client each; name "
        "fewer attributes"
    ]
    assert not list(config_checks._uncollectable("releases[0]", release, domain, 15))
    assert config_checks.cells_of_tables(domain, 3) == 20 * 8


def test_ordinal_attributes_of_a_release_must_be_among_its_own(
    config_values: dict[str, Any],
) -> None:
    placed(config_values, "releases[1].attributes", ["sex", "income"])
    placed(config_values, "releases[1].ordinal", ["education"])
    assert faults(config_values) == [
        "releases[1].ordinal[0]: 'education' is no attribute of the data; allowed: sex, income"
    ]


def test_designed_matrices_are_for_few_cells(config_values: dict[str, Any]) -> None:
    placed(config_values, "releases[4].joint", [["education", "race"]])
    placed(config_values, PRAM, {"kind": "designed", "epsilon": 1.0})
    assert faults(config_values) == [
        f"{PRAM}.kind: education x race has 80 cells, too many for a matrix designed for changed; "
        "allowed: at most 40, or another kind or loss"
    ]
    placed(config_values, "releases[4].joint", [["race", "marital-status"]])
    settle(config_values)
    placed(config_values, f"{PRAM}.loss", "trace")
    (line,) = faults(config_values)
    assert "race x marital-status has 35 cells, too many for a matrix designed for trace" in line


def test_every_fault_of_a_block_is_reported(config_values: dict[str, Any]) -> None:
    placed(config_values, "releases[4].strata", ["race"])
    placed(config_values, "releases[4].joint", [["sex", "race"], ["sex", "age"]])
    assert [line.split(": ")[0] for line in faults(config_values)] == [
        f"releases[4].joint{at}" for at in ("[0][1]", "[1][1]", "[1][0]")
    ]


def test_a_users_own_matrices_are_looked_at_before_anything_starts(
    config_values: dict[str, Any], tmp_path: Path
) -> None:
    own = tmp_path / "race.csv"
    own.write_text("race,White\nWhite,1\n", encoding="utf-8")
    flat = tmp_path / "income.csv"
    flat.write_text("income,<=50K,>50K\n<=50K,1/2,1/2\n>50K,1/2,1/2\n", encoding="utf-8")
    files = {"sex": str(tmp_path / "none.csv"), "race": str(own), "colour": "x.csv"}
    files["income"] = str(flat)
    placed(config_values, "releases[4].attributes", ["sex", "race", "income", "education"])
    placed(config_values, PRAM, {"kind": "file", "files": files})
    unknown, absent, other, singular, missing = faults(config_values)
    assert unknown == (
        f"{PRAM}.files.colour: no block of the release; allowed: sex, race, income, education"
    )
    assert absent.startswith(f"{PRAM}.files.sex: {tmp_path / 'none.csv'}: No such file")
    assert other.startswith(f"{PRAM}.files.race: {own}: the matrix is not over race: it has no 'A")
    assert singular.startswith(f"{PRAM}.files.income: {flat} has a singular matrix")
    assert missing == f"{PRAM}.files: no file for education; a matrix must be given for each block"


def test_the_same_cell_in_two_grids_is_refused(config_values: dict[str, Any]) -> None:
    grids = config_values["studies"]["multirr_tables"]["grids"]
    grids.append({**grids[0], "p": [0.7], "t_v": [299, 300]})
    (line,) = faults(config_values)
    assert "p 0.7, t_d 0.1, t_v 300 twice; allowed: once" in line


def test_whole_numbers_are_taken_for_shares(config_values: dict[str, Any]) -> None:
    config = settle(placed(config_values, f"{GRID}.t_d", [0, 1]))
    assert config.studies.multirr_tables.grids[0].t_d == [0.0, 1.0]


def test_long_values_are_cut_short(config_values: dict[str, Any]) -> None:
    (line,) = faults(placed(config_values, "seed", "x" * 5000))
    assert len(line) < 200


def test_a_release_survives_its_plain_values(config_values: dict[str, Any]) -> None:
    for release in settle(config_values).releases:
        # What is made of the protected file afterwards is no part of what was drawn.
        assert release_from(release.model_dump()).model_dump() == release.model_dump()


# -- the committed files ---------------------------------------------------------------------------


def merged(base: Any, change: Any) -> Any:
    """Merge as Snakemake does: sections by option, everything else replaced."""
    if not isinstance(base, dict) or not isinstance(change, dict):
        return change
    return {**base, **{key: merged(base.get(key), value) for key, value in change.items()}}


def leaves(values: dict[str, Any], path: str = "") -> dict[str, Any]:
    """Return every option that is no section, by its path."""
    found = {}
    for key, value in values.items():
        at = f"{path}.{key}" if path else key
        found.update(leaves(value, at) if isinstance(value, dict) else {at: value})
    return found


def test_a_method_that_forms_no_clusters_has_no_k(config_values: dict[str, Any]) -> None:
    values = placed(placed(config_values, f"{IDP}.method", "dp"), f"{IDP}.accept", [])
    (said,) = faults(values)
    assert f"{IDP}: k: 10; allowed with method 'dp': no k, for it forms no clusters" in said


def test_the_committed_config_is_valid(config_values: dict[str, Any]) -> None:
    config = settle(config_values)
    assert [release.name for release in config.releases] == [
        release["name"] for release in config_values["releases"]
    ]


def test_quick_changes_sizes_and_nothing_else(config_values: dict[str, Any]) -> None:
    quick = yaml.safe_load((ROOT / "config" / "quick.yaml").read_text(encoding="utf-8"))
    full, small = leaves(config_values), leaves(merged(config_values, quick))
    changed = {path for path in small if small[path] != full.get(path)}
    sizes = {"replicates", "chunks", "block", "k", "census_k", "wine_k", "releases", "runs"}
    sizes |= {"subsets", "most_replicates", "epsilons", "fault_trials", "more"}
    sizes |= {"intervals", "resamples"}
    assert changed
    # Some grids have fewer values, and are else the same.
    fewer = {path for path in changed if path.endswith(".grids")}
    fewer_of = {"idp_fig5": {"k", "epsilon"}, "idp_fig6": {"k", "epsilon"}}
    fewer_of |= {"rrba_fig5": {"probability"}, "rrba_fig6": {"probability"}}
    fewer_of |= {"multirr_epsilon": {"epsilon"}}
    assert fewer == {f"studies.{study}.grids" for study in fewer_of}
    for path in fewer:
        for whole, part in zip(full[path], small[path], strict=True):
            assert set(whole) == set(part)
            assert all(set(part[axis]) <= set(whole[axis]) for axis in whole)
            others = set(whole) - fewer_of[path.split(".")[1]]
            assert {axis: whole[axis] for axis in others} == {axis: part[axis] for axis in others}
    assert {path.split(".")[-1] for path in changed - fewer} <= sizes
    assert set(full) == set(small)
    settle(merged(config_values, quick))


def test_the_committed_schema_is_current() -> None:
    # To write it again, from the root of the project:
    #   python -c "import json; from reproduction.pipeline.config import Config;
    #              print(json.dumps(Config.model_json_schema(), indent=2))" \
    #       > workflow/schemas/config.schema.json
    assert json.loads(SCHEMA.read_text(encoding="utf-8")) == Config.model_json_schema()


# -- as a user meets it ----------------------------------------------------------------------------


@pytest.fixture(scope="module")
def project(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A copy of what a dry run reads."""
    folder = tmp_path_factory.mktemp("project")
    for part in ("workflow", "config", "resources", "docs", "profiles", "src"):
        shutil.copytree(ROOT / part, folder / part)
    shutil.copy(ROOT / "Snakefile", folder)
    return folder


def left_in(project: Path) -> list[str]:
    return [path.as_posix() for path in (project / "results").rglob("*") if path.is_file()]


@pytest.mark.workflow
@pytest.mark.parametrize(
    ("arguments", "text", "said"),
    [
        (
            ["--configfile", "bad.yaml"],
            "seed: -1\nextra: 1\n",
            ["the config has 2 faults", "seed: -1; allowed: at least 0", "extra: unknown option"],
        ),
        slow(
            ["--configfile", "bad.yaml"],
            "releases:\n- {name: r, data: adult, mechanism: rr_joint, matrix: keep, p: 0.5, "
            "rehearsal: true}\n",
            [
                "the config has a fault",
                "releases[0].attributes: RR-Joint over workclass, education",
            ],
        ),
        slow(["--config", "seed=abc"], None, ["seed: 'abc'; allowed: a whole number"]),
        slow(
            ["--config", "data={source: net}"],
            None,
            ["data.source: 'net'; allowed: auto, mirror, public, surrogate"],
        ),
    ],
    ids=["faults", "too large", "--config", "--config of a section"],
)
def test_a_dry_run_refuses_a_bad_config_once_and_leaves_nothing(
    project: Path,
    snakemake: Callable[..., Any],
    arguments: list[str],
    text: str | None,
    said: list[str],
) -> None:
    if text is not None:
        (project / "bad.yaml").write_text(text, encoding="utf-8")
    done = snakemake(project, "-n", *arguments)
    output = done.stdout + done.stderr
    assert done.returncode != 0
    assert "Traceback" not in output
    assert [output.count(line) for line in said] == [1] * len(said), output
    assert left_in(project) == []


@pytest.mark.workflow
@pytest.mark.parametrize(
    ("file", "said"),
    [("no.yaml", "Config file is not valid JSON or YAML"), slow("absent.yaml", "absent.yaml")],
)
def test_snakemake_refuses_a_config_file_that_is_none(
    project: Path, snakemake: Callable[..., Any], file: str, said: str
) -> None:
    # Snakemake reads the file before the Snakefile: the words are its own.
    (project / "no.yaml").write_text("seed: [1\n  x: {\n", encoding="utf-8")
    done = snakemake(project, "-n", "--configfile", file)
    assert done.returncode != 0
    assert said in done.stdout + done.stderr
    assert left_in(project) == []


@pytest.mark.workflow
def test_the_command_line_takes_numbers(project: Path, snakemake: Callable[..., Any]) -> None:
    arguments = ["--config", "seed=7", "data={source: surrogate}", "--quiet"]
    done = snakemake(project, "-n", *arguments)
    assert done.returncode == 0, done.stdout + done.stderr
    shutil.rmtree(project / "results")


def test_an_option_given_twice_is_refused(tmp_path: Path) -> None:
    file = tmp_path / "twice.yaml"
    file.write_text("seed: 1\nreleases:\n  - p: 0.5\n    p: 0.7\nseed: 2\n", encoding="utf-8")
    with pytest.raises(ConfigError) as caught:
        refuse_repeated_keys(file)
    said = str(caught.value)
    assert f"{file}: line 4: p is given a second time; allowed: once" in said
    assert f"{file}: line 5: seed is given a second time" in said
    for name in ("config.yaml", "quick.yaml"):
        refuse_repeated_keys(ROOT / "config" / name)
    file.write_text("a: [", encoding="utf-8")
    refuse_repeated_keys(file)  # Snakemake says what is wrong with it
