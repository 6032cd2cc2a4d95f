"""What the manifest of data sets may say: a rule for each key."""

import sys
from collections.abc import Callable, Mapping
from pathlib import PurePosixPath
from typing import Any

from deniable.errors import DataError


def is_text(value: Any) -> bool:
    """Return whether a value is text with something in it."""
    return isinstance(value, str) and bool(value.strip())


def _is_count(value: Any, least: int) -> bool:
    return isinstance(value, int) and not isinstance(value, bool) and value >= least


def _is_number(value: Any) -> bool:
    # Also no NaN, no infinity, and no whole number beyond all floats.
    largest = sys.float_info.max
    return type(value) in (int, float) and -largest <= value <= largest


def is_inner_path(value: Any) -> bool:
    """Return whether a value is a path that does not leave its folder."""
    path = PurePosixPath(value) if is_text(value) else PurePosixPath("/")
    return not path.is_absolute() and ".." not in path.parts and path.name != ""


Rules = Mapping[str, tuple[str, Callable[[Any], bool]]]

DATASET_RULES: Rules = {
    "title": ("a text", is_text),
    "citation": ("a text", is_text),
    "file": ("a file name without a folder", lambda v: is_inner_path(v) and "/" not in v),
    "address": (
        "an http or https address",
        lambda v: is_text(v) and v.startswith(("http://", "https://")),
    ),
    "sha256": (
        "64 hexadecimal digits in small letters, in quotes",
        lambda v: is_text(v) and len(v) == 64 and not set(v) - set("0123456789abcdef"),
    ),
    "records": ("a whole number of at least 1", lambda v: _is_count(v, 1)),
    "delimiter": (
        "one ASCII character in quotes",
        lambda v: isinstance(v, str) and len(v.encode()) == 1,
    ),
    "header": ("true or false", lambda v: isinstance(v, bool)),
    "surrogate": ("a path within the manifest's folder", is_inner_path),
    "attributes": (
        "a list of attributes, or `numeric_attributes` in its place",
        lambda v: isinstance(v, list) and bool(v),
    ),
}
ATTRIBUTE_RULES: Rules = {
    "name": ("a text (in quotes if it looks like a number)", is_text),
    "position": ("a whole number, the column from 0", lambda v: _is_count(v, 0)),
    "scale": ("nominal or ordinal", lambda v: v in ("nominal", "ordinal")),
    "categories": (
        "a list of texts, or for numbers `edges` in its place",
        lambda v: isinstance(v, list) and bool(v),
    ),
}
INTERVAL_RULES: Rules = {
    "name": ATTRIBUTE_RULES["name"],
    "position": ATTRIBUTE_RULES["position"],
    "edges": (
        "a list of finite numbers that increase (an open end is open_below or open_above)",
        lambda v: isinstance(v, list) and bool(v) and all(map(_is_number, v)),
    ),
    "open_below": ("true or false", lambda v: isinstance(v, bool)),
    "open_above": ("true or false", lambda v: isinstance(v, bool)),
}
OPTIONAL = ("scale", "open_below", "open_above", "bounds", "at_most")
OF_THE_FILE = ("address", "sha256", "records", "delimiter", "header")
NUMERIC_DATASET_RULES: Rules = {
    **{key: rule for key, rule in DATASET_RULES.items() if key != "attributes"},
    "format": ("csv or rda", lambda v: v in ("csv", "rda")),
    "numeric_attributes": (
        "a list of numeric attributes",
        lambda v: isinstance(v, list) and bool(v),
    ),
    "class": ("a mapping of the class attribute", lambda v: isinstance(v, dict)),
}
OF_A_CSV = ("delimiter", "header")
MEASUREMENT_RULES: Rules = {
    "name": ATTRIBUTE_RULES["name"],
    "position": ATTRIBUTE_RULES["position"],
    "bounds": (
        "[lower, upper], two finite numbers, the first below the second",
        lambda v: isinstance(v, list) and len(v) == 2 and all(map(_is_number, v)) and v[0] < v[1],
    ),
}
CLASS_RULES: Rules = {
    "name": ATTRIBUTE_RULES["name"],
    "position": ATTRIBUTE_RULES["position"],
    "classes": (
        "a list of two or more different texts",
        lambda v: (
            isinstance(v, list)
            and len(v) > 1
            and all(is_text(name) and name == name.strip() for name in v)
            and len(set(v)) == len(v)
        ),
    ),
    "at_most": (
        "a list of numbers that increase",
        lambda v: isinstance(v, list) and all(map(_is_number, v)) and sorted(set(v)) == v,
    ),
}


def check(
    where: str, prefix: str, given: Any, rules: Rules, optional: tuple[str, ...] = ()
) -> None:
    """Hold a mapping of the manifest against its rules.

    Parameters
    ----------
    where : str
        Manifest and data set, for messages.
    prefix : str
        Key of the mapping, empty for a whole entry.
    given : anything
        What stands there.
    rules : mapping of key to (what is expected, whether a value is that)
    optional : tuple of str
        Keys that may be left out.

    Raises
    ------
    DataError
        Naming the place, what stands there and what should.
    """
    if not isinstance(given, dict):
        place = f", key '{prefix}'" if prefix else ""
        raise DataError(f"{where}{place}: {given!r:.80} is no mapping; give {', '.join(rules)}")
    dot = f"{prefix}." if prefix else ""
    for key, (expected, _) in rules.items():
        if key not in given and key not in optional:
            raise DataError(f"{where}, key '{dot}{key}': missing; give {expected}")
    for key, value in given.items():
        if key not in rules:
            raise DataError(
                f"{where}, key '{dot}{key}': not used here; remove it, or rename it to one of "
                f"{', '.join(rules)}"
            )
        expected, holds = rules[key]
        if not holds(value):
            raise DataError(f"{where}, key '{dot}{key}': is {value!r:.80}; give {expected}")
