"""Values of YAML and JSON texts of users, within limits, so that no text can hang the program."""

import json
import math
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import Any

import yaml

from deniable.errors import LONGEST, DataError, plain, shown

LOADER: Any = getattr(yaml, "CSafeLoader", yaml.SafeLoader)  # libyaml is ten times as fast
MAX_BYTES = 4_000_000  # of YAML, which takes a second or two
MAX_LEVELS = 50
MAX_REPEATED = 10_000  # values, by aliases
LONGEST_NUMBER = 1000  # characters
NUMBERS = ("int", "float", "timestamp")


def text_of(path: Path | str, most: int | None = None) -> str:
    """Return the text of the file at `path`, in UTF-8 with or without a byte order mark.

    The file may have at most `most` bytes; None means no limit. Raises `DataError` if the file
    cannot be read, is too long, or is not text in UTF-8.
    """
    try:
        with Path(path).open("rb") as stream:
            raw = stream.read(-1 if most is None else most + 1)
    except OSError as error:
        raise DataError(f"{path}: {error.strerror or error}; check the path") from None
    except ValueError as error:  # a NUL in the path
        raise DataError(f"{path}: not a path of a file ({error}); check the path") from None
    if most is not None and len(raw) > most:
        raise DataError(f"{path}: over {most:,} bytes; allowed: fewer; is it the right file?")
    try:
        text = raw.decode("utf-8-sig")
    except UnicodeDecodeError:
        text = "\0"
    if "\0" in text:  # for example in UTF-16
        raise DataError(f"{path}: not UTF-8 text; convert the file to UTF-8") from None
    return text


class TooMuchError(yaml.MarkedYAMLError):
    """YAML that is nested or repeated too much: the `problem`, at its `problem_mark`.

    The `context`, `context_mark` and `note` of PyYAML's errors are left out.
    """


class Loader(LOADER):  # type: ignore[misc]
    """Builds plain values; errors name the line of an invalid one, such as a date in month 13.

    The `stream` is text, bytes, or an open file with either.
    """

    def construct_object(self, node: yaml.Node, deep: bool = False) -> Any:
        """Return the value of a `node`; `deep` builds all its contents at once."""
        kind = node.tag.rpartition(":")[2]
        try:
            if kind in NUMBERS and len(node.value) > LONGEST_NUMBER:
                raise ValueError(
                    f"{shown(node.value)} has {len(node.value):,} characters; allowed as a number "
                    f"or a date: {LONGEST_NUMBER}, and as text: any, in quotes"
                )
            return super().construct_object(node, deep)
        except yaml.YAMLError:
            raise
        except (ValueError, ArithmeticError, LookupError, AttributeError, TypeError) as error:
            invalid = f"{shown(node.value)} is not a valid {kind}"
            told = str(error) if isinstance(error, ValueError) else invalid
            raise yaml.constructor.ConstructorError(None, None, told, node.start_mark) from None


def repeated_keys(text: str) -> list[str]:
    """Return a line of a message for each repeated key of a mapping in a YAML `text`.

    YAML readers silently take the last. This reads the parser's events, before any value is built.
    Raises `TooMuchError` if the text is too deep, contains itself, or repeats too much, and
    `yaml.YAMLError` if it is not YAML.

    Examples
    --------
    >>> repeated_keys("{p: 0.1, q: 2, p: 0.2}")
    ['line 1: p is given a second time; allowed: once']
    """
    found: list[str] = []
    sizes: dict[str, int] = {}  # numbers of values under an anchor
    scalars: dict[str | None, Any] = {}  # text and line under an anchor
    # The open lists and mappings, the number of values before each, and the scalars in each.
    opened: list[tuple[Any, int, list[Any]]] = []
    values = repeated = 0
    for event in yaml.parse(text, Loader=LOADER):
        if isinstance(event, yaml.CollectionEndEvent):
            start, before, nodes = opened.pop()
            sizes[start.anchor] = values + repeated - before
            if isinstance(start, yaml.MappingStartEvent):
                found += _repeated(nodes[::2])
            continue
        if not isinstance(event, yaml.NodeEvent):
            continue
        mark: Any = event.start_mark
        scalar = (event.value, mark.line + 1) if isinstance(event, yaml.ScalarEvent) else None
        if opened:
            repeats = isinstance(event, yaml.AliasEvent)
            opened[-1][2].append(scalars.get(event.anchor) if repeats else scalar)
        problem = ""
        if isinstance(event, yaml.AliasEvent):
            repeated += sizes.get(event.anchor or "", 0)
            if any(start.anchor == event.anchor for start, *_ in opened):
                inside = "is inside the value that it repeats; write the value out"
                problem = f"*{event.anchor} {inside}"
            elif repeated > MAX_REPEATED:
                problem = f"*{event.anchor} repeats too much; allowed: {MAX_REPEATED:,} values"
        elif isinstance(event, yaml.CollectionStartEvent):
            opened.append((event, values + repeated, []))
            if len(opened) > MAX_LEVELS:
                problem = f"nested too deeply; allowed: {MAX_LEVELS} levels"
        elif event.anchor:
            sizes[event.anchor], scalars[event.anchor] = 1, scalar
        values += 1
        if problem:
            raise TooMuchError(problem=problem, problem_mark=mark)
    return found


def _repeated(keys: Iterable[tuple[str, int] | None]) -> Iterator[str]:
    seen: set[str] = set()
    for value, line in filter(None, keys):
        if value in seen:
            yield f"line {line}: {plain(value[:LONGEST])} is given a second time; allowed: once"
        seen.add(value)


def read_given_json(path: Path | str) -> Any:
    """Read the values of a user's JSON file at `path`, of at most 400 MB.

    Raises `DataError` if it cannot be read or is not strict JSON (NaN, a key given twice). Numbers
    have at most 1,000 digits and fit a float; there are at most 50 levels.
    """
    text = text_of(path, 100 * MAX_BYTES)

    def once(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
        if len(found := dict(pairs)) < len(pairs):
            names = [name for name, _ in pairs]
            twice = next(name for name in found if names.count(name) > 1)
            raise DataError(f"{path}: {shown(twice)} is given a second time; allowed: once")
        return found

    def whole(digits: str) -> int:
        if len(digits) > LONGEST_NUMBER:
            raise DataError(
                f"{path}: the number {digits[:12]}... has {len(digits):,} digits; allowed: "
                f"{LONGEST_NUMBER}"
            )
        return int(digits)

    def finite(digits: str) -> float:
        if not math.isfinite(value := float(digits)):
            raise DataError(f"{path}: {digits[:12]} is not a finite number; give one")
        return value

    try:
        values = json.loads(
            text,
            object_pairs_hook=once,
            parse_int=whole,
            parse_float=finite,
            parse_constant=finite,
        )
        if not isinstance(values, list | dict) or _levels(values) <= MAX_LEVELS:
            return values
    except json.JSONDecodeError as error:
        where = f"line {error.lineno}, column {error.colno}"
        raise DataError(f"{path}: {where}: not JSON ({error.msg}); correct it there") from None
    except RecursionError:
        pass
    raise DataError(f"{path}: nested too deeply; allowed: {MAX_LEVELS} levels")


def _levels(values: Any) -> int:
    """Return the number of levels of nested lists and objects."""
    parts = values.values() if isinstance(values, dict) else values
    return 1 + max((_levels(each) for each in parts if isinstance(each, list | dict)), default=0)
