"""What people give that is no schema, plan, manifest or config: one message, and no long wait."""

import copy
import json
import time
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from deniable.channels import (
    DenseChannel,
    HadamardResponse,
    KeepOrReplace,
    ProductChannel,
    ProjectiveGeometry,
    SquareWave,
    SubsetSelection,
)
from deniable.datasets.manifest import load_manifest
from deniable.design import read_specification
from deniable.errors import ChannelError, DataError, DeniableError
from deniable.plans import ColumnsPlan, plan_from_json, plan_to_json, read_plan
from deniable.randomized_response import Protocol
from deniable.records import Attribute, Domain, Microdata, read_true_records
from deniable.schema import read_schema, schema_from_dict
from deniable.texts import read_given_json
from deniable.validation import read_yaml

from reproduction.pipeline import refuse_repeated_keys

LONGEST_WAIT = 5.0  # seconds
READERS = {
    "schema": read_schema,
    "specification": read_specification,
    "manifest": load_manifest,
    "YAML": read_yaml,
}
NO_YAML = {
    "20,000 levels": ("[" * 20_000, "nested too deeply"),
    "20,000 sections": ("{a: " * 20_000, "nested too deeply"),
    "closed levels": ("[" * 60 + "]" * 60, "nested too deeply"),
    "aliases": (
        "a: &a [x, x, x, x, x, x, x, x, x, x]\n"
        + "".join(
            f"{new}: &{new} [{', '.join([f'*{old}'] * 10)}]\n"
            for old, new in zip("abcdefg", "bcdefgh", strict=True)
        ),
        "repeats too much",
    ),
    "merges": (
        "a: &a {x: 1}\n" + "".join(f"b{u}: &b{u} {{<<: *a, y{u}: *a}}\n" for u in range(9_000)),
        "repeats too much",
    ),
    "itself": ("&a [*a]", "is inside the value that it repeats"),
    "itself, deeper": ("a: &a {b: {c: [*a]}}", "is inside the value that it repeats"),
    "its own key": ("&a {*a : 1}", "line 1"),
    "5,000 digits": ("a: " + "7" * 5000, "has 5,000 characters"),
    "5,000 digits after the point": ("a: 0." + "7" * 5000, "has 5,002 characters"),
    "month 13": ("a: 2021-13-01", "month must be in 1..12"),
    "hour 99": ("a: 2021-12-01 99:00:00", "hour must be in 0..23"),
    "no number": ("a: !!float x", "could not convert"),
    "no date": ("a: !!timestamp x", "'x' is not a valid timestamp"),
    "no mapping": ("a: !!map x", "line 1"),
    "escape": ("a: \x1b[2J", "control characters"),
    "UTF-16": ("a: 1\n".encode("utf-16"), "not UTF-8 text"),
    "Latin-1": ("a: é\n".encode("latin-1"), "not UTF-8 text"),
    "NUL": (b"a: \0\n", "not UTF-8 text"),
    "open text": ('a: "b\n', "line 1"),
    "unknown tag": ("!!python/name:os.system ''", "could not determine a constructor"),
    "twice": ('"\\e[2J": 1\n"\\e[2J": 2\n', "\\x1b[2J is given a second time"),
}


def refused(where: Path, read: Any, *arguments: Any) -> str:
    """Return the message of a refusal in time, which names where the fault is."""
    begun = time.process_time()  # others may have the cores
    with pytest.raises(DeniableError) as caught:
        read(*arguments)
    assert time.process_time() - begun < LONGEST_WAIT
    message = str(caught.value)
    assert message.startswith(f"{where}")
    assert all(line.isprintable() for line in message.splitlines())
    assert len(message) < 5000
    return message


@pytest.mark.parametrize("reader", READERS)
@pytest.mark.parametrize(("given", "words"), NO_YAML.values(), ids=NO_YAML)
def test_what_is_no_yaml_that_ends(tmp_path: Path, reader: str, given: Any, words: str) -> None:
    file = tmp_path / "given.yaml"
    file.write_bytes(given if isinstance(given, bytes) else given.encode())
    assert words in refused(file, READERS[reader], file)


def test_yaml_within_limits_is_read(tmp_path: Path) -> None:
    file = tmp_path / "given.yaml"
    file.write_text("\ufeffa: &a [1, 2]\nb: *a\nc: {<<: {d: 3}}\n", encoding="utf-8")
    assert read_yaml(file) == {"a": [1, 2], "b": [1, 2], "c": {"d": 3}}
    file.write_text("[" * 50 + "]" * 50, encoding="utf-8")
    assert str(read_yaml(file)) == "[" * 50 + "]" * 50


SCHEMA: dict[str, Any] = {
    "format": "deniable-schema",
    "version": 1,
    "population": "survey",
    "file": {"kind": "csv", "delimiter": ",", "encoding": "utf-8"},
    "columns": [
        {"name": "sex", "kind": "categorical", "categories": ["F", "M"]},
        {"name": "age", "kind": "numeric", "bounds": [0.0, 10.0], "step": 2.0},
    ],
}


def changed(values: Any, place: tuple[Any, ...], value: Any) -> Any:
    """Return JSON values with another one in a place, or without it if that is Ellipsis."""
    values = copy.deepcopy(values)
    *path, last = place
    inner = values
    for part in path:
        inner = inner[part]
    if value is ...:
        del inner[last]
    else:
        inner[last] = value
    return values


SCHEMAS = [
    (("format",), "deniable-plan", "this is a plan, but a schema is needed"),
    (("version",), 2, "version: 2"),
    (("version",), "1", "version: '1'"),
    (("population",), "a/b", "population: 'a/b'"),
    (("population",), "a\x1b[2J", "population: 'a\\x1b[2J'"),
    (("population",), "x" * 101, "at most 100 characters"),
    (("file",), "csv", "file: 'csv'"),
    (("file", "kind"), "xlsx", "file.kind: 'xlsx'"),
    (("file", "delimiter"), ";;", "file.delimiter: ';;'"),
    (("columns",), [], "columns: []"),
    (("columns",), {"sex": 1}, "columns: {'sex': 1}; allowed: a list"),
    (("columns", 0), "sex", "columns[0]: 'sex'"),
    (("columns", 0, "name"), "", "columns[0].name: ''"),
    (("columns", 0, "name"), 5, "columns[0].name: 5"),
    (("columns", 0, "name"), "age", "'age' is given 2 times"),
    (("columns", 0, "kind"), "text", "columns[0].kind: 'text'"),
    (("columns", 0, "colour"), "red", "columns[0].colour: unknown option"),
    (("columns", 0, "\x1b[2J"), 1, "columns[0].\\x1b[2J: unknown option"),
    (("columns", 0, "categories"), [], "categories of 'sex'"),
    (("columns", 0, "categories"), ["F", "F"], "category 'F' of 'sex'"),
    (("columns", 0, "categories"), ["F", 1], "columns[0].categories[1]: 1"),
    (("columns", 0, "categories"), ["F", True], "in quotes: YAML reads yes and no"),
    (("columns", 0, "categories"), ["F", None], "columns[0].categories[1]: None"),
    (("columns", 0, "categories"), ["(missing)"], "this one is for missing values"),
    (("columns", 0, "categories"), "F", "columns[0].categories: 'F'; allowed: a list"),
    (("columns", 0, "ordered"), "yes", "columns[0].ordered: 'yes'"),
    (("columns", 0, "missing"), "refuse", "columns[0].missing: 'refuse'"),
    (("columns", 0, "missing"), {"policy": "guess"}, "columns[0].missing.policy: 'guess'"),
    (("columns", 0, "step"), 1.0, "bounds, step or edges of 'sex'; allowed for categorical: none"),
    (("columns", 0, "open_above"), True, "open_below or open_above of 'sex'; allowed: with edges"),
    (("columns", 1, "bounds"), ..., "bounds, step or edges of 'age'"),
    (("columns", 1, "edges"), [0.0, 5.0, 9.0], "allowed for numeric: bounds, bounds and step, or"),
    (("columns", 1, "bounds"), [0.0], "columns[1].bounds"),
    (("columns", 1, "bounds"), [10.0, 0.0], "the lower one first"),
    (("columns", 1, "bounds"), [0.0, "10"], "columns[1].bounds[1]: '10'"),
    (("columns", 1, "bounds"), [0.0, 10**400], "columns[1].bounds[1]"),
    (("columns", 1, "bounds"), [0.0, float("inf")], "columns[1]"),
    (("columns", 1, "bounds"), [float("nan"), 1.0], "columns[1]"),
    (("columns", 1, "bounds"), [0.0, 9.0], "such that a whole number of steps"),
    (("columns", 1, "step"), 0.0, "columns[1].step: 0.0"),
    (("columns", 1, "step"), -2.0, "columns[1].step: -2.0"),
    (("columns", 1, "step"), 1e-300, "columns[1]"),
    (("columns", 1, "step"), [2], "columns[1].step: [2]"),
    (("columns", 1, "categories"), ["0"], "categories of 'age'"),
    (("columns", 1, "ordered"), True, "ordered of 'age'"),
]


@pytest.mark.parametrize(("place", "value", "words"), SCHEMAS)
def test_a_schema(tmp_path: Path, place: tuple[Any, ...], value: Any, words: str) -> None:
    given = changed(SCHEMA, place, value)
    assert words in refused(Path("s.yaml"), schema_from_dict, given, "s.yaml")
    assert schema_from_dict(SCHEMA).domain().shape == (2, 6)


@pytest.mark.parametrize("given", [None, [], "schema", 3, {}, {"format": []}])
def test_what_is_no_schema(given: Any) -> None:
    assert "not a schema" in refused(Path("s.yaml"), schema_from_dict, given, "s.yaml")


def a_plan() -> dict[str, Any]:
    schema = schema_from_dict(SCHEMA)
    channels = (KeepOrReplace.of_epsilon(2, 1.0), SubsetSelection.of_epsilon(6, 1.0))
    protocol = Protocol(schema.domain(), (("sex",), ("age",)), channels)
    stated: dict[str, Any] = plan_to_json(ColumnsPlan(schema, 2.0, protocol, ("even", "even")))
    return stated


PLAN = a_plan()
FIRST, SECOND = (("columns", "clusters", place, "channel") for place in range(2))
PLANS = [
    *[((key,), ..., "p.json") for key in PLAN if key not in ("format", "version")],
    *[((key,), None, "p.json") for key in PLAN if key != "part"],
    *[((key,), [[]], "p.json") for key in PLAN],
    (("format",), "deniable-schema", "this is a schema, and a plan is needed"),
    (("version",), 1, "a plan of version 1; this deniable reads version 2, so make the plan again"),
    (("version",), 3, "a plan of version 3"),
    (("epsilon", "target"), 1.0, "above the requested 1.0"),
    (("epsilon", "target"), "two", "two"),
    (("epsilon", "target"), 10**400, "too large"),
    (("epsilon", "record"), 1.0, "follows from the plan"),
    (("epsilon", "by_changed_attribute", "sex"), 0.5, "follows from the plan"),
    (("columns", "clusters", 0, "why"), ..., "why"),
    (("columns", "clusters"), [], "each attribute belongs to one cluster"),
    (("accept",), ["everything"], "'everything' is not a risk"),
    (("not_covered",), ["all"], "follows from the plan"),
    ((*FIRST, "kind"), "magic", "unknown kind of channel 'magic'"),
    ((*FIRST, "diagonal_weight"), "7/8", "rows sum to"),
    ((*FIRST, "diagonal_weight"), "a", "'a' is not a fraction"),
    ((*FIRST, "diagonal_weight"), 10**400, "is not a fraction in quotes"),
    ((*FIRST, "replacement", "weights"), [], "a list of numbers"),
    ((*FIRST, "replacement"), [[0.1], [0.2, 0.3]], "not a denominator"),
    ((*SECOND, "categories"), 10**15, "2 ** 63|has 6 cells"),
    ((*SECOND, "subset_size"), 10**9, "choose from 1 to 5"),
    ((*SECOND, "subset_size"), 1.5, "not a channel's description"),
    ((*SECOND, "probability"), float("nan"), "not a fraction in quotes"),
    (SECOND, {"kind": "hadamard-response", "categories": 2**50, "probability": "1/2"}, "6 cells"),
    (
        SECOND,
        {
            "kind": "subset-selection",
            "categories": 2**40,
            "subset_size": 2**30,
            "probability": "1/2",
        },
        "2 ** 63",
    ),
    (
        SECOND,
        {
            "kind": "projective-geometry",
            "categories": 6,
            "prime": 2**53 - 111,
            "probability": "1/2",
        },
        "the prime is 9",
    ),
    (SECOND, {"kind": "square-wave", "cells": 6, "half_width": -1, "inside": "1/2"}, "half_width"),
    (SECOND, {"kind": "product", "factors": 3}, "not a channel's description"),
    (SECOND, {"kind": "product", "factors": []}, "at least one channel"),
    (("columns", "clusters", 0, "attributes"), ["age"], "each attribute belongs to one cluster"),
    (("columns", "clusters", 0, "attributes"), 3, "damaged or edited"),
    (("kind",), "rows", "kind 'rows'; allowed: columns"),
    (("more",), 1, "unknown field 'more'"),
    ((*FIRST, "more"), 1, "unknown field 'columns.clusters[0].channel.more'"),
    (("part",), {"of": 2, "take": 3, "seed": "x"}, "part 3 of 2"),
    (("schema", "columns", 1, "step"), 5.0, "has 3 cells, but its channel 6"),
    (("schema", "population"), "", "p.json: schema has an error"),
]


@pytest.mark.parametrize(("place", "value", "words"), PLANS)
def test_a_plan(place: tuple[Any, ...], value: Any, words: str) -> None:
    said = refused(Path("p.json"), plan_from_json, changed(PLAN, place, value), "p.json")
    assert any(each in said for each in words.split("|"))


def test_the_plan_itself_is_none_of_these(tmp_path: Path) -> None:
    file = tmp_path / "p.json"
    file.write_text(json.dumps(PLAN), encoding="utf-8")
    assert plan_to_json(read_plan(file)) == PLAN


NO_JSON = {
    "empty": ("", "line 1, column 1"),
    "cut": (json.dumps(PLAN)[:-9], "not JSON"),
    "20,000 levels": ("[" * 20_000, "nested too deeply"),
    "60 levels": ("[" * 60 + "]" * 60, "nested too deeply"),
    "60 sections": ('{"a":' * 60 + "1" + "}" * 60, "nested too deeply"),
    "NaN": ('{"format": NaN}', "NaN is not a finite number"),
    "Infinity": ('{"a": -Infinity}', "-Infinity is not a finite number"),
    "1e999": ('{"a": 1e999}', "1e999 is not a finite number"),
    "twice": ('{"a": 1, "\\u001b[2J": 1, "\\u001b[2J": 2}', "'\\x1b[2J' is given a second time"),
    "5,000 digits": ('{"a": ' + "7" * 5000 + "}", "has 5,000 digits"),
    "UTF-16": (b"\xff\xfe{\0}\0", "not UTF-8 text"),
    "NUL": (b'{"a\0": 1}', "not UTF-8 text"),
    "newline": ('{"a\n": 1}', "line 1"),
    "comment": ("{} // all", "line 1, column 4"),
    "YAML": ("format: deniable-plan\n", "not JSON"),
}


@pytest.mark.parametrize(("given", "words"), NO_JSON.values(), ids=NO_JSON)
def test_what_is_no_json(tmp_path: Path, given: Any, words: str) -> None:
    file = tmp_path / "p.json"
    file.write_bytes(given if isinstance(given, bytes) else given.encode())
    assert words in refused(file, read_plan, file)


@pytest.mark.parametrize("given", ["[]", "3", '"plan"', "null", "{}"])
def test_json_that_is_no_plan(tmp_path: Path, given: str) -> None:
    file = tmp_path / "p.json"
    file.write_text(given, encoding="utf-8")
    assert "not a plan" in refused(file, read_plan, file)


@pytest.mark.parametrize("reader", [read_schema, read_plan, load_manifest, read_given_json])
def test_what_is_not_there(tmp_path: Path, reader: Any) -> None:
    assert "No such file" in refused(tmp_path / "none", reader, tmp_path / "none")
    assert "Is a directory" in refused(tmp_path, reader, tmp_path)
    assert "not a path of a file" in refused(Path("a"), reader, "a\0b")


@pytest.mark.parametrize("name", ["x" * 256, "é" * 101, "a/b", "../a", "", "a\nb", "\x1b[2J", 3])
def test_names_of_data_sets_that_no_file_can_have(tmp_path: Path, name: Any) -> None:
    file = tmp_path / "datasets.yaml"
    file.write_text(json.dumps({name: {}}) if name != 3 else "3: {}", encoding="utf-8")
    assert "use a text that can name a file" in refused(file, load_manifest, file)


@pytest.mark.parametrize("text", ["seed: &a [*a]\n", "[" * 20_000, NO_YAML["aliases"][0]])
def test_a_config_that_repeats_without_end(tmp_path: Path, text: str) -> None:
    file = tmp_path / "config.yaml"
    file.write_text(text, encoding="utf-8")
    said = refused(Path("the config"), refuse_repeated_keys, file)
    assert f"{file}: line " in said


def test_parquet_columns_of_lists(tmp_path: Path) -> None:
    file = tmp_path / "records.parquet"
    domain = Domain((Attribute("sex", ("F", "M")),))
    Microdata(domain, (np.array([0, 1]),)).write_parquet(file)
    metadata = pq.read_schema(file).metadata
    table = pa.table({"sex": [["F"], ["M"]]}).replace_schema_metadata(metadata)
    pq.write_table(table, file)
    assert "column 'sex' has list<" in refused(file, read_true_records, file)


# -- arguments -------------------------------------------------------------------------------------

NUMBERS: list[Any] = [0, -1, 1.5, "3", None, True, float("nan"), float("inf"), [], 10**30, 10**400]
MAKERS = {
    "uniform": (KeepOrReplace.uniform, {"size": 4, "keep": 0.5}),
    "of_epsilon": (KeepOrReplace.of_epsilon, {"size": 4, "epsilon": 0.5}),
    "from_entries": (KeepOrReplace.from_entries, {"size": 4, "diagonal": 0.4, "elsewhere": 0.2}),
    "keep or replace": (KeepOrReplace, {"diagonal_weight": 0.5, "replacement": [0.25, 0.25]}),
    "dense": (DenseChannel, {"entries": [[0.5, 0.5]]}),
    "product": (ProductChannel, {"factors": (KeepOrReplace.uniform(2, 0.5),)}),
    "hadamard": (HadamardResponse.of_epsilon, {"size": 4, "epsilon": 0.5}),
    "geometry": (ProjectiveGeometry.of_epsilon, {"size": 4, "epsilon": 0.5}),
    "subsets": (SubsetSelection.of_epsilon, {"size": 4, "epsilon": 0.5, "subset_size": 2}),
    "wave": (SquareWave.of_epsilon, {"cells": 4, "epsilon": 0.5}),
}
ALLOWED = {
    # In [0, 1], or finite: these are numbers that the parameter may be.
    "keep": {0},
    "epsilon": {1.5},
    "subset_size": {None},
}


@pytest.mark.parametrize("maker", MAKERS)
@pytest.mark.parametrize("value", NUMBERS, ids=lambda value: f"{value}"[:8])
def test_arguments_that_are_none(maker: str, value: Any) -> None:
    make, arguments = MAKERS[maker]
    make(**arguments)
    for name in arguments:
        if isinstance(value, list) or value not in ALLOWED.get(name, ()):
            with pytest.raises(ChannelError) as caught:
                make(**arguments | {name: value})
            assert len(str(caught.value)) < 300


@pytest.mark.parametrize("maker", MAKERS)
def test_a_seed_is_no_source_of_chance(maker: str) -> None:
    make, arguments = MAKERS[maker]
    channel = make(**arguments)
    with pytest.raises(DeniableError, match=r"7 is not a random source; give numpy\.random\.defau"):
        channel.randomize(np.array([0]), 7)
    with pytest.raises(DeniableError, match="7 is not a random source"):
        channel.randomize_counts(np.ones(channel.size, dtype=int), 7)


def test_messages_escape_what_cannot_be_shown() -> None:
    assert str(DataError("a\x1b[2J\x00\u202e\nb")) == "a\\x1b[2J\\x00\\u202e\nb"
