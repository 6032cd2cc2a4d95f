"""A config is valid, or says all that is wrong with it before anything starts."""

import json
import math
import shutil
from collections.abc import Callable
from functools import cache
from pathlib import Path
from typing import Any

import pytest
import yaml
from tests.slow_variants import slow

from deniable.datasets.manifest import (
    AnyDataset,
    load_manifest,
)
from deniable.errors import ConfigError
from deniable.release import ReleaseSettings

from reproduction.pipeline.checks import check_config
from reproduction.pipeline.config import Config, refuse_repeated_keys, validate

ROOT = Path(__file__).resolve().parents[3]
SCHEMA = ROOT / "workflow" / "schemas" / "config.schema.json"
TABLES = "studies.multirr_tables"
GRID = f"{TABLES}.grids[0]"
PLAN = "releases[0].plan"
ASKED = {"kind": "questionnaire", "epsilon": 1.0}


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
    count = "an error" if len(lines) == 1 else f"{len(lines)} errors"
    assert heading == f"the config has {count} (docs/options.md describes every option):"
    assert all(line.startswith("  ") for line in lines)
    return [line[2:] for line in lines]


@cache
def committed_manifest() -> dict[str, AnyDataset]:
    return load_manifest(ROOT / "resources" / "datasets.yaml")


def settle(values: dict[str, Any]) -> Config:
    """Check a config as `Plan.prepare` does before it looks at releases."""
    config = validate(values)
    check_config(config, committed_manifest(), ROOT / "resources" / "networks")
    return config


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
    (f"{TABLES}.ordinal", ["age"], f"{TABLES}.ordinal[0]: 'age' is not a column of the data; all"),
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
    (
        f"{GRID}.p",
        [0.1, 0.1],
        f"{TABLES}: the grids have the setting dataset adult, matrix printed",
    ),
    (f"{GRID}.t_d", [1.5], f"{GRID}.t_d[0]: 1.5; allowed: at most 1"),
    (f"{GRID}.t_v", [50.5], f"{GRID}.t_v[0]: 50.5; allowed: a whole number"),
    (f"{GRID}.matrix", ["kept"], f"{GRID}.matrix[0]: 'kept'; allowed: printed, keep, diagonal"),
    (f"{GRID}.mechanism", ["both"], f"{GRID}.mechanism[0]: 'both'; allowed: joint, kronecker"),
    ("studies.multirr_fig3.projections", ["em"], "projections[0]: 'em'; allowed: clip, simplex"),
    ("studies.multirr_fig2.estimators", ["x"], "estimators[0]: 'x'; allowed: randomized"),
    ("studies.multirr_pairs.coverages", [0.0], "coverages[0]: 0.0; allowed: above 0"),
    ("analyses.idp_noises.intervals", 1000, "intervals: 1000; allowed: at most the 50 replicates"),
    ("analyses.multirr_secure_sum.parties", 2, "_secure_sum.parties: 2; allowed: at least 3"),
    (
        "analyses.multirr_secure_sum.linkage_parties",
        40_000,
        "linkage_parties: 40000; allowed: at most the 32561 records that parties are drawn from",
    ),
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
    ("releases[0].data", "mine", "releases[0].data: 'mine' is not a data set of the manifest; all"),
    ("releases[0].data", "", "releases[0].data: ''; allowed: text that is not empty"),
    ("releases[0].data", ..., "releases[0]: neither of data and file given; allowed: one of them"),
    ("releases[0].mode", "rehearsal", "releases[0].mode: 'rehearsal'; allowed: test, production"),
    ("releases[0].mode", ..., "releases[0].mode: missing; it must be given"),
    ("releases[0].mode", "production", "releases[0]: population is missing; allowed: a name for"),
    ("releases[0].keys", ["sex"], "releases[0].keys: unknown option"),
    ("releases[0].other", 1, "releases[0].other: unknown option; allowed here: name, data, file, "),
    ("other", 1, "other: unknown option; allowed here: seed, data, studies, analyses, ledger"),
    ("releases[0].tables", [["sex"]], "releases[0].tables[0]: ['sex']; allowed: a list with at"),
    ("releases[0].tables", [["sex", "age"]], "releases[0].tables[0][1]: 'age' is not a column of"),
    ("releases[0].quasi_identifiers", ["age"], "releases[0].quasi_identifiers[0]: 'age' is not a"),
    (f"{PLAN}.kind", "rows", f"{PLAN}: a plan of kind 'rows'; allowed: columns, strata, masked"),
    (f"{PLAN}.kind", ..., f"{PLAN}: a plan of kind 'missing'; allowed: columns, strata"),
    (PLAN, "none.json", "releases[0].plan: 'none.json' does not exist; allowed: the path of a"),
    (f"{PLAN}.columns", ["age"], f"{PLAN}.columns[0]: 'age' is not a column of the data; allowed"),
    (f"{PLAN}.columns", ["sex", "race", "sex"], f"{PLAN}.columns[2]: 'sex' is named twice; allow"),
    (f"{PLAN}.joint", [["sex", "age"]], f"{PLAN}.joint[0][1]: 'age' is not a column of the data"),
    (PLAN, ASKED | {"ask": [["sex", ["age"]]]}, f"{PLAN}.ask[0][1]: 'age' is not a column of the"),
    (PLAN, ASKED | {"ask": 0}, f"{PLAN}: ask: 0; allowed: at least 1, or pairs, or a list"),
    (PLAN, ASKED | {"beta": 3}, f"{PLAN}: "),
    (f"{PLAN}.p", 1.5, f"{PLAN}: "),
    (f"{PLAN}.epsilon", 1.0, f"{PLAN}: "),
]
FILE = {"path": "people.csv", "schema": "people.yaml"}


@pytest.mark.parametrize(("path", "value", "line"), WRONG, ids=[f"{w[0]}={w[1]}" for w in WRONG])
def test_one_fault_gives_one_line_with_path_value_and_what_is_allowed(
    config_values: dict[str, Any], path: str, value: Any, line: str
) -> None:
    (said,) = faults(placed(config_values, path, value))
    assert line in said
    assert said.endswith("must be given") or "allowed" in said


def test_every_fault_is_reported(config_values: dict[str, Any]) -> None:
    placed(config_values, "seed", -1)
    placed(config_values, "extra", 1)
    placed(config_values, f"{GRID}.p", [0, "0.5", 2])
    placed(config_values, "releases[0].mode", "rehearsal")
    placed(config_values, "releases[1].plan.kind", "rows")
    paths = [line.split(":")[0] for line in faults(config_values)]
    grid = [f"{GRID}.p[0]", f"{GRID}.p[1]", f"{GRID}.p[2]"]
    assert sorted(paths) == sorted(["seed", "extra", *grid, "releases[0].mode", "releases[1].plan"])


def test_every_disagreement_with_the_data_is_reported(config_values: dict[str, Any]) -> None:
    placed(config_values, f"{TABLES}.ordinal", ["age"])
    placed(config_values, "studies.multirr_sensitivity.ordinal", ["sex", "height"])
    placed(config_values, f"{PLAN}.columns", ["age", "sex", "sex"])
    placed(config_values, "releases[1].plan.joint", [["sex", "height"]])
    assert [line.split(":")[0] for line in faults(config_values)] == [
        f"{TABLES}.ordinal[0]",
        "studies.multirr_sensitivity.ordinal[1]",
        f"{PLAN}.columns[0]",
        f"{PLAN}.columns[2]",
        "releases[1].plan.joint[0][1]",
    ]


def test_columns_of_a_release_are_those_of_its_data_set(config_values: dict[str, Any]) -> None:
    plan = {"kind": "columns", "columns": ["age", "occupation"], "epsilon": 1.0}
    config_values["releases"] = [
        {"name": data, "data": data, "mode": "test", "plan": plan}
        for data in ("adult", "adult_numeric")
    ]
    first, second = faults(config_values)
    assert first.startswith(f"{PLAN}.columns[0]: 'age' is not a column")
    assert second.startswith("releases[1].plan.columns[1]: 'occupation' is not a column")
    for release, column in zip(config_values["releases"], ("occupation", "age"), strict=True):
        release["plan"] = plan | {"columns": [column]}
    settle(config_values)


def test_files_of_your_own_must_exist(
    config_values: dict[str, Any], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    matrix = {"kind": "file", "files": {"sex": "sex.csv"}}
    own = {"name": "own", "mode": "test", "file": FILE}
    config_values["releases"] = [own | {"plan": {"kind": "columns", "matrix": matrix}}]
    assert [line.split(" does not exist")[0] for line in faults(config_values)] == [
        "releases[0].plan: 'sex.csv'",
        "releases[0].file.path: 'people.csv'",
        "releases[0].file.schema: 'people.yaml'",
    ]
    for name in ("sex.csv", "people.csv", "people.yaml"):
        (tmp_path / name).touch()
    settle(config_values)


def test_releases_that_a_plan_is_made_from_are_in_the_config(config_values: dict[str, Any]) -> None:
    clusters = {"from": "adult_best", "t_v": 24, "t_d": 0.1}
    release = {"name": "r", "data": "adult", "mode": "test"}
    release["plan"] = {"kind": "columns", "p": 0.5, "clusters": clusters}
    config_values["releases"] = [release]
    assert faults(config_values) == [
        f"{PLAN}.clusters.from: 'adult_best' is not an earlier release; allowed: records"
    ]


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
        again = ReleaseSettings.model_validate(release.model_dump(by_alias=True))
        assert again == release
        assert again.stated() == release.stated()


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
    sizes |= {"intervals", "resamples", "designs"}
    assert changed
    # Some grids have fewer values, and are else the same.
    fewer = {path for path in changed if path.endswith(".grids")}
    fewer_of = {"idp_fig5": {"k", "epsilon"}, "idp_fig6": {"k", "epsilon"}}
    fewer_of |= {"rrba_fig5": {"probability"}, "rrba_fig6": {"probability"}}
    fewer_of |= {"multirr_epsilon": {"epsilon"}, "multirr_joint": {"dataset", "value"}}
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
            ["the config has 2 errors", "seed: -1; allowed: at least 0", "extra: unknown option"],
        ),
        slow(
            ["--configfile", "bad.yaml"],
            "releases:\n- {name: r, data: adult, mode: test, plan: {kind: columns, epsilon: 1, "
            "columns: [sex, age]}}\n",
            ["the config has an error", "releases[0].plan.columns[1]: 'age' is not a column"],
        ),
        slow(["--config", "seed=abc"], None, ["seed: 'abc'; allowed: a whole number"]),
        slow(
            ["--config", "data={source: net}"],
            None,
            ["data.source: 'net'; allowed: auto, mirror, public, surrogate"],
        ),
    ],
    ids=["faults", "column", "--config", "--config of a section"],
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
