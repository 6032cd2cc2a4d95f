"""Readers of what people give, fuzzed: they end soon, with an answer or with one message.

Schemas, plans, CSV files and configs for DENIABLE_FUZZ_SECONDS each (`make test-all`: 300), which
tests of one reader share. Runs are seeded by their number: what fails once fails again.
"""

import itertools
import json
import os
import signal
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
import yaml
from hypothesis import HealthCheck, given, seed, settings, strategies as st

from deniable.channels import (
    KeepOrReplace,
    ProductChannel,
    ProjectiveGeometry,
    SubsetSelection,
    read_channel,
    read_counts,
    read_prior,
)
from deniable.datasets.manifest import load_manifest
from deniable.design import read_specification
from deniable.errors import DeniableError
from deniable.plans import ColumnsPlan, plan_from_json, plan_to_json, read_plan
from deniable.randomized_response import Protocol
from deniable.schema import RecordsFile, draft_schema, read_schema, schema_from_dict
from deniable.validation import read_yaml

from reproduction.pipeline import refuse_repeated_keys, validate

ROOT = Path(__file__).resolve().parents[1]
SECONDS = float(os.environ.get("DENIABLE_FUZZ_SECONDS", "40"))
LONGEST_WAIT = 5  # seconds, for one example
EXAMPLES = 200  # of a run
pytestmark = pytest.mark.slow


def too_long(*_: Any) -> None:
    raise AssertionError(f"no answer within {LONGEST_WAIT} seconds")


def fuzz(
    examples: st.SearchStrategy[Any], read: Callable[[Any], Any], share: float = 1 / 3
) -> None:
    """Hold a reader to many examples: an answer or one message that can be shown.

    For a `share` of the seconds that it has.
    """

    def ask(example: Any) -> None:
        signal.setitimer(signal.ITIMER_REAL, LONGEST_WAIT)
        try:
            read(example)
        except DeniableError as error:
            message = str(error)
            assert message
            assert all(line.isprintable() for line in message.splitlines())
        finally:
            signal.setitimer(signal.ITIMER_REAL, 0)

    before = signal.signal(signal.SIGALRM, too_long)
    how = settings(
        max_examples=EXAMPLES, deadline=None, database=None, suppress_health_check=list(HealthCheck)
    )
    end = time.monotonic() + share * SECONDS
    try:
        for number in itertools.count():
            seed(number)(how(given(examples)(ask)))()
            if time.monotonic() > end:
                break
    finally:
        signal.signal(signal.SIGALRM, before)


TOKENS = [
    *[
        "",
        " ",
        "\n",
        "\r",
        "\r\n",
        "\t",
        ",",
        ";",
        '"',
        '""',
        "'",
        "\0",
        "\x1b[2J",
        "\ufeff",
        "\u202e",
    ],
    *[
        "[",
        "]",
        "{",
        "}",
        ":",
        ": ",
        "- ",
        "? ",
        "&a ",
        "*a",
        "<<: *a",
        "!!int ",
        "!!set ",
        "|",
        "#",
    ],
    *["0", "-1", "1e999", "1e-999", "nan", ".inf", "1/3", "1/0", "9" * 400, "9" * 5000, "0x1f"],
    *["null", "true", "yes", "2021-13-01", "2021-12-01", "1:00:00", "é", "e\u0301", "NA", "---"],
    *["[" * 200, "{a: " * 200, "x" * 300, "report", "category", "count", "(missing)"],
]


@st.composite
def edited(draw: st.DrawFn, *texts: str) -> bytes:
    """Return a text that was edited in some places, or something else altogether."""
    raw = draw(st.sampled_from(texts)).encode()
    if not draw(st.integers(0, 19)):
        return draw(
            st.binary(max_size=200) | st.text(max_size=200).map(lambda t: t.encode("utf-16"))
        )
    for _ in range(draw(st.integers(1, 4))):
        start = draw(st.integers(0, len(raw)))
        end = min(len(raw), start + draw(st.integers(0, 12)))
        others = st.sampled_from(TOKENS).map(str.encode) | st.binary(max_size=4)
        middle = draw(others | st.just(raw[start:end] * draw(st.integers(2, 40))))
        raw = raw[:start] + middle + raw[end:]
    return raw


ODD = st.sampled_from(
    [None, True, 0, -1, 1.5, 1e308, 5e-324, 10**20, 10**400, "", "a", "\x1b[2J", "x" * 300, [], {}]
)
VALUES = st.recursive(
    ODD | st.floats() | st.integers() | st.text(max_size=5),
    lambda inner: (
        st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=3), inner, max_size=3)
    ),
    max_leaves=5,
)


@st.composite
def mutated(draw: st.DrawFn, whole: Any) -> Any:
    """Return JSON values some of which were replaced, removed, repeated or exchanged."""
    values = json.loads(json.dumps(whole))
    for _ in range(draw(st.integers(1, 3))):
        places = list(places_in(values))
        if not places:
            break
        holder, key = draw(st.sampled_from(places))
        match draw(st.integers(0, 4)):
            case 0:
                del holder[key]
            case 1 if isinstance(holder, list):
                holder.append(holder[key])
            case 2:
                other, there = draw(st.sampled_from(places))
                holder[key] = json.loads(json.dumps(other[there]))
            case _:
                holder[key] = draw(VALUES)
    return values


def places_in(values: Any) -> Any:
    """Yield each list or object with a key of it."""
    if isinstance(values, dict | list):
        for key, value in list(values.items() if isinstance(values, dict) else enumerate(values)):
            yield values, key
            yield from places_in(value)


SCHEMA: dict[str, Any] = {
    "format": "deniable-schema",
    "version": 1,
    "population": "survey",
    "file": {"kind": "csv", "delimiter": ",", "encoding": "utf-8"},
    "columns": [
        {"name": "sex", "kind": "categorical", "status": "declared", "categories": ["F", "M"]},
        {
            "name": "grade",
            "kind": "categorical",
            "ordered": True,
            "categories": ["low", "high"],
            "missing": {"values": ["", "NA"], "policy": "category"},
        },
        {"name": "age", "kind": "numeric", "bounds": [0.0, 10.0], "step": 2.0},
        {"name": "w", "kind": "weight"},
        {"name": "id", "kind": "identifier"},
        {"name": "notes", "kind": "left_out"},
    ],
}
RECORDS = 'sex,grade,age,w,id,notes\nF,low,3,1.5,7,"a, b"\nM,NA,11,2,8,\nF,high,0,0.5,9,c\n'


def a_plan() -> ColumnsPlan:
    schema = schema_from_dict(SCHEMA)
    both = ProductChannel((KeepOrReplace.of_epsilon(2, 0.5), KeepOrReplace.of_epsilon(3, 0.5)))
    protocol = Protocol(
        schema.domain(),
        (("sex", "grade"), ("age",)),
        (both, SubsetSelection.of_epsilon(6, 1.0)),
    )
    return ColumnsPlan(schema, 2.0, protocol, ("even", "even"))


def in_a_file(folder: Path, *readers: Callable[[Path], Any]) -> Callable[[bytes], None]:
    """Return what writes a file and has it read by all readers."""
    file = folder / "given"

    def read(raw: bytes) -> None:
        file.write_bytes(raw)
        problems = []
        for each in readers:
            try:
                each(file)
            except DeniableError as error:
                problems.append(error)
        if problems:
            raise problems[-1]

    return read


def test_schemas_as_text(tmp_path: Path) -> None:
    text = yaml.safe_dump(SCHEMA, sort_keys=False)
    assert schema_from_dict(yaml.safe_load(text)).domain().shape == (2, 3, 6)
    read = in_a_file(tmp_path, lambda file: read_schema(file).domain())
    fuzz(edited(text, json.dumps(SCHEMA)), read, 1 / 2)


def test_schemas_as_values() -> None:
    def read(values: Any) -> None:
        schema = schema_from_dict(values, "s.yaml")
        if schema.randomized:
            assert schema.domain().names == tuple(each.name for each in schema.randomized)
        assert schema_from_dict(schema.to_json()) == schema

    fuzz(mutated(SCHEMA), read, 1 / 2)


def test_plans_as_values() -> None:
    whole = plan_to_json(a_plan())

    def read(values: Any) -> None:
        assert plan_to_json(plan_from_json(values, "p.json")) == values

    read(whole)
    fuzz(mutated(whole), read)


def test_plans_of_other_channels() -> None:
    schema = schema_from_dict(SCHEMA)
    channel = ProjectiveGeometry.of_epsilon(6, 1.0)
    rest = ProductChannel((KeepOrReplace.of_epsilon(2, 0.5), KeepOrReplace.of_epsilon(3, 0.5)))
    protocol = Protocol(schema.domain(), (("sex", "grade"), ("age",)), (rest, channel))
    whole = plan_to_json(ColumnsPlan(schema, 2.0, protocol, ("even", "even")))
    assert plan_from_json(whole).epsilon <= 2
    first, place = whole["columns"]["clusters"]
    fuzz(
        mutated(place["channel"]),
        lambda value: plan_from_json(
            whole | {"columns": {"clusters": [first, place | {"channel": value}]}}
        ),
    )


def test_plans_as_text(tmp_path: Path) -> None:
    text = json.dumps(plan_to_json(a_plan()))
    fuzz(edited(text), in_a_file(tmp_path, read_plan))
    assert (tmp_path / "given").exists()


MATRIX = ",a,b\na,.8,.2\nb,3/10,0.7\n"
REPORTS = "true / report,x,y,z\na,.5,.25,.25\nb,1/4,1/4,1/2\n"


def test_matrices_priors_and_counts(tmp_path: Path) -> None:
    texts = (MATRIX, REPORTS, "category,probability\na,.5\nb,1/2\n", "category,count\na,5\nb,7\n")
    read = in_a_file(
        tmp_path,
        lambda file: read_prior(file, ["a", "b"]),
        lambda file: read_counts(file, ["a", "b"]),
        lambda file: read_channel(file).channel.epsilon,
    )
    fuzz(edited(*texts), read)
    assert (tmp_path / "given").exists()


def test_records_in_csv_files(tmp_path: Path) -> None:
    schema = schema_from_dict(SCHEMA)

    def records(file: Path) -> int:
        return sum(map(len, RecordsFile.open(file, schema).portions()))

    (tmp_path / "whole.csv").write_text(RECORDS, encoding="utf-8")
    assert records(tmp_path / "whole.csv") == 3
    fuzz(edited(RECORDS), in_a_file(tmp_path, records, draft_schema), 1)


CONFIG = (ROOT / "config" / "quick.yaml").read_text(encoding="utf-8")


def test_configs_as_text(tmp_path: Path) -> None:
    fuzz(edited(CONFIG), in_a_file(tmp_path, refuse_repeated_keys, read_yaml), 1 / 2)
    assert (tmp_path / "given").exists()


def test_configs_as_values() -> None:
    whole = yaml.safe_load((ROOT / "config" / "config.yaml").read_text(encoding="utf-8"))
    assert validate(whole).seed == whole["seed"]

    def read(values: Any) -> None:
        validate(values if isinstance(values, dict) else {})

    fuzz(mutated(whole), read, 1 / 2)


def test_specifications_and_manifests(tmp_path: Path) -> None:
    specification = (
        "proportions: {a: 0.5, b: 0.3, c: 0.2}\nloss: trace\nrecords: 1000\nrequirements:\n"
        "  epsilon: 1.0\n  retention: {a: 0.3}\n  forbidden: [[a, b]]\n  cost: {power: 1.0}\n"
    )
    manifest = (ROOT / "resources" / "datasets.yaml").read_text(encoding="utf-8")[:2000]
    fuzz(edited(specification, manifest), in_a_file(tmp_path, load_manifest, read_specification))
    assert (tmp_path / "given").exists()


def test_what_a_reader_lets_through_is_found() -> None:
    def no_reader(raw: bytes) -> None:
        if b"report" in raw:
            raise KeyError(raw)

    with pytest.raises(KeyError):
        fuzz(edited(MATRIX), no_reader)
    with pytest.raises(AssertionError, match="no answer within"):
        fuzz(st.just(b""), lambda _: time.sleep(2 * LONGEST_WAIT))
