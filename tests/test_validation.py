"""Faults of files that people write: one line an option, at the path that they know."""

from typing import Annotated, Any, Literal

import pytest
from pydantic import BaseModel, Field, ValidationError

from deniable.texts import repeated_keys
from deniable.validation import Strict, fault_lines, message


class First(Strict):
    kind: Literal["first", "1st"]
    first: float


class Second(Strict):
    kind: Literal["second"]
    names: dict[str, Annotated[int, Field(ge=0)]] = Field(default_factory=dict)


class Whole(Strict):
    parts: list[Annotated[First | Second, Field(discriminator="kind")]] = Field(
        default_factory=list
    )
    floor: float | dict[str, Annotated[float, Field(le=1)]] | None = None
    pairs: list[tuple[int, int]] | None = None


def lines(values: Any, model: type[BaseModel] = Whole, **options: Any) -> list[str]:
    with pytest.raises(ValidationError) as caught:
        model.model_validate(values)
    return fault_lines(caught.value, model, **options)


@pytest.mark.parametrize(
    ("values", "line"),
    [
        # A tag of a union is no part of the path, an option of the same name is.
        ({"parts": [{"kind": "first", "first": "x"}]}, "parts[0].first: 'x'; allowed: a number"),
        (
            {"parts": [{"kind": "first", "second": 1, "first": 1}]},
            "parts[0].second: unknown option; allowed here: kind, first",
        ),
        ({"parts": [{"kind": "third"}]}, "parts[0].kind: 'third'; allowed: first, 1st, second"),
        ({"parts": [{}]}, "parts[0].kind: missing; allowed: first, 1st, second"),
        (
            {"parts": [{"kind": "second", "names": {"a": -1}}]},
            "parts[0].names.a: -1; allowed: at least 0",
        ),
        # Of two types: both where neither fits, the one that was meant where it is at fault inside.
        ({"floor": []}, "floor: []; allowed: a number, or a section with options of its own"),
        ({"floor": {"a": 2}}, "floor.a: 2; allowed: at most 1.0"),
        ({"floor": {"a": "2"}}, "floor.a: '2'; allowed: a number (without quotes)"),
        ({"floor": {True: 0.5}}, "floor.1: True; allowed: text, in quotes: YAML reads"),
        ([], "all: []; allowed: a section with options of its own"),
        ({"floor": "x" * 99}, "floor: 'xxxxxxxx"),
    ],
)
def test_a_fault_is_told_where_people_wrote_it(values: Any, line: str) -> None:
    (said,) = lines(values, whole="all")
    assert said.startswith(line)
    assert len(said) < 200


def test_a_file_has_words_of_its_own() -> None:
    values = {"floor": {"a": "2"}, "parts": 1}
    words = {"list_type": "parts, one or more", "quoted": "no quotes"}
    assert lines(values, words=words) == [
        "parts: 1; allowed: parts, one or more",
        "floor.a: '2'; allowed: a number (no quotes)",
    ]


def test_faults_are_counted_once_each() -> None:
    assert (
        message("a.yaml: it", ["x", "y", "x"], "see b")
        == "a.yaml: it has 2 errors (see b):\n  x\n  y"
    )


def test_keys_are_looked_for_in_lists_and_sections() -> None:
    line = "line 2: b is given a second time; allowed: once"
    assert repeated_keys("a:\n- {b: 1, c: 2, b: 3}\n") == [line]
    assert repeated_keys("- &b b\n- {*b : 1, c: 2, b: 3}\n") == [line]
    assert repeated_keys("{&a b: 1, &a c: 2}") == []  # the loader refuses such anchors
