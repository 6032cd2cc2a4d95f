"""Errors in files that people write, found by YAML and pydantic, with one line for each."""

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import date
from pathlib import Path
from types import NoneType, UnionType
from typing import Annotated, Any, TypeVar, Union, get_args, get_origin

import yaml
from pydantic import BaseModel, ConfigDict, Field, ValidationError
from pydantic_core import ErrorDetails

from deniable.errors import LONGEST, DataError, plain, shown
from deniable.texts import MAX_BYTES, Loader, repeated_keys, text_of

MAX_LINES = 30  # of a message
LONGEST_NAME = 200  # bytes: file systems take 255, a temporary name is longer
Name = Annotated[str, Field(pattern=r"^[A-Za-z0-9][A-Za-z0-9_-]*$", max_length=LONGEST_NAME)]
"""A name that is also the name of a folder or a file."""
Probability = Annotated[float, Field(gt=0, lt=1)]
Share = Annotated[float, Field(ge=0, le=1)]
Coverage = Annotated[float, Field(gt=0, le=1)]
# Beyond 30 no value would ever be replaced: exp(30) is 10^13.
Epsilon = Annotated[float, Field(gt=0, le=30)]
T = TypeVar("T")
Values = Annotated[list[T], Field(min_length=1)]


def read_yaml(path: Path | str) -> Any:
    """Read the values of the YAML file at `path`, of at most 4 MB and 50 levels.

    Raises `DataError` with file, line and remedy. The reasons: the file cannot be read, or is not
    YAML; it contains itself, or repeats too much, by aliases; a number has over 1,000 digits; or a
    key of a mapping is given twice.
    """
    return yaml_values(text_of(path, MAX_BYTES), str(path))


def yaml_values(text: str, where: str) -> Any:
    """Return the values of a YAML `text`, like `read_yaml`; messages begin with `where`."""
    try:
        repeated = repeated_keys(text)
        values = None if repeated else Loader(text).get_single_data()
    except yaml.YAMLError as error:
        mark = getattr(error, "problem_mark", None)
        # PyYAML counts one line more at the end of a text.
        line = f"line {min(mark.line + 1, len(text.splitlines()))}: " if mark else ""
        problem = getattr(error, "problem", None) or str(error).partition("\n")[0]
        raise DataError(f"{where}: {line}{problem}; correct the YAML there") from None
    if repeated:
        raise DataError("\n".join(f"{where}: {line}" for line in repeated[:MAX_LINES]))
    return values


def message(what: str, lines: Sequence[str], manual: str) -> str:
    """Return the message for `what` with its errors, one of the `lines` each, and the `manual`.

    Equal lines appear once, and at most 30 in all. The `manual` refers to a page.

    Examples
    --------
    >>> print(message("a.yaml: the file", ["p: 1; allowed: 2"], "README.md has more"))
    a.yaml: the file has an error (README.md has more):
      p: 1; allowed: 2
    """
    unique = list(dict.fromkeys(lines))
    count = "an error" if len(unique) == 1 else f"{len(unique)} errors"
    more = []
    if len(unique) > MAX_LINES:
        count, more = f"over {MAX_LINES} errors", ["..."]
    return "\n  ".join([f"{what} has {count} ({manual}):", *unique[:MAX_LINES], *more])


class Strict(BaseModel):
    """Options of a file, without unknown options or silent conversions of types."""

    model_config = ConfigDict(extra="forbid", strict=True, frozen=True)


SECTION = "a section with options of its own"
_OF_A_TYPE = {
    **dict.fromkeys(("int_type", "int_from_float"), "a whole number"),
    "float_type": "a number",
    "string_type": "text",
    "bool_type": "true or false",
    "list_type": "a list, such as [a, b]",
    **dict.fromkeys(("model_type", "model_attributes_type", "dict_type"), SECTION),
}
_ALLOWED = {
    **_OF_A_TYPE,
    "int_parsing_size": "a whole number of at most 63 bits",
    "finite_number": "a finite number",
    "string_too_short": "text that is not empty",
    "string_pattern_mismatch": "letters, digits, '_' and '-', beginning with a letter or digit",
    "quoted": "without quotes",
}
_BOUNDS = {
    "greater_than": ("gt", "above"),
    "greater_than_equal": ("ge", "at least"),
    "less_than": ("lt", "below"),
    "less_than_equal": ("le", "at most"),
}


def fault_lines(
    error: ValidationError,
    model: type[BaseModel],
    whole: str = "file",
    words: Mapping[str, str] | None = None,
) -> list[str]:
    """Return one line for each invalid option: its path, its value, the allowed values, a hint.

    An option with two possible types has one line too. The `error` is from validation by the
    `model`. `whole` replaces the path if all options together are invalid. `words` describe the
    allowed values in the terms of the file, by pydantic's type of error; ``quoted`` is for a number
    in quotes.

    Examples
    --------
    >>> class Options(Strict):
    ...     shares: list[float]
    >>> try:
    ...     Options.model_validate({"shares": [1, "1e-3"], "share": 2})
    ... except ValidationError as error:
    ...     for line in fault_lines(error, Options):
    ...         print(line)
    shares[1]: '1e-3'; allowed: a number (YAML reads 1e-3 as text; write 1.0e-3)
    share: unknown option; allowed here: shares
    """
    allowed = _ALLOWED | dict(words or {})
    told = error.errors()[: 2 * MAX_LINES]
    faults = [(_Place.of(fault["loc"], model, whole), fault) for fault in told]
    lines: dict[str, str] = {}
    for place, fault in faults:
        inside = (f"{place.path}.", f"{place.path}[")
        if fault["type"] in _OF_A_TYPE and any(each.path.startswith(inside) for each, _ in faults):
            continue  # the value has the other type, and the error is further inside
        line = _line(place, fault, allowed)
        if "; allowed: " in lines.get(place.path, ""):
            line = f"{lines[place.path]}, or {line.partition('; allowed: ')[2]}"
        lines[place.path] = line
    return list(lines.values())


@dataclass(frozen=True)
class _Place:
    path: str  # in the notation of messages, such as studies.first.grids[0].p
    holder: type[BaseModel]  # the section with the option
    kinds: tuple[Any, ...]  # the types that the option may have

    @classmethod
    def of(cls, location: Sequence[int | str], model: type[BaseModel], whole: str) -> "_Place":
        """Return the place of pydantic's `location`, without the tags of unions between options."""
        path, holder, kinds = "", model, (model,)
        for part in location:
            if len(kinds) > 1:
                kinds = tuple(kind for kind in kinds if _tagged(kind, part)) or kinds[:1]
            elif part == "[key]":
                continue
            elif isinstance(part, int) and get_origin(kinds[0]) is not dict:
                path += f"[{part}]"
                kinds = _kinds((get_args(kinds[0]) or (Any,))[0])
            else:
                name = plain(str(part)[:LONGEST])
                path += f".{name}" if path else name
                if get_origin(kinds[0]) is dict:
                    kinds = _kinds(get_args(kinds[0])[1])
                elif hasattr(kinds[0], "model_fields"):
                    holder = kinds[0]
                    fields = holder.model_fields.items()
                    field = next((own for name, own in fields if part in (name, own.alias)), None)
                    kinds = _kinds(field.annotation) if field else (Any,)
        return cls(path or whole, holder, kinds)


def _kinds(annotation: Any) -> tuple[Any, ...]:
    """Return the types that an annotation allows, without None."""
    origin = get_origin(annotation)
    if origin is Annotated:
        return _kinds(get_args(annotation)[0])
    if origin in (Union, UnionType):
        return tuple(kind for each in get_args(annotation) for kind in _kinds(each))
    return () if annotation is NoneType else (annotation,)


def _tagged(kind: Any, tag: int | str) -> bool:
    """Return whether pydantic's tag is for a type: a value of its discriminator, or its name."""
    fields = getattr(kind, "model_fields", {}).values()
    if any(tag in get_args(field.annotation) for field in fields):
        return True
    return str(tag).removeprefix("constrained-").startswith((get_origin(kind) or kind).__name__)


def _line(place: _Place, fault: ErrorDetails, allowed: Mapping[str, str]) -> str:
    context = fault.get("ctx", {})
    match fault["type"]:
        case "extra_forbidden":
            fields = place.holder.model_fields.items()
            options = ", ".join(field.alias or name for name, field in fields)
            return f"{place.path}: unknown option; allowed here: {options}"
        case "missing":
            return f"{place.path}: missing; it must be given"
        case "union_tag_not_found" | "union_tag_invalid":
            option = context["discriminator"].strip("'")
            tags = [get_args(kind.model_fields[option].annotation) for kind in place.kinds]
            given = shown(context["tag"]) if "tag" in context else "missing"
            return f"{place.path}.{option}: {given}; allowed: {', '.join(sum(tags, ()))}"
        case "value_error":
            return f"{place.path}: {context['error']}"
    given = (
        fault["input"].isoformat() if isinstance(fault["input"], date) else shown(fault["input"])
    )
    return f"{place.path}: {given}; allowed: {_allowed(fault, allowed)}"


def _allowed(fault: ErrorDetails, allowed: Mapping[str, str]) -> str:
    kind, value, context = fault["type"], fault["input"], fault.get("ctx", {})
    if kind in _BOUNDS:
        key, words = _BOUNDS[kind]
        return f"{words} {context[key]}"
    if kind == "literal_error":
        return str(context["expected"]).replace("'", "").replace(" or ", ", ")
    if kind == "string_too_long":
        return f"at most {context['max_length']} characters"
    if kind == "too_short" and kind not in allowed:
        least = context["min_length"]
        return f"a list with at least {'one entry' if least == 1 else f'{least} entries'}"
    words = allowed.get(kind, fault["msg"])
    if kind == "string_type" and isinstance(value, bool):
        return f"{words}, in quotes: YAML reads yes and no as true and false"
    if kind == "string_type":
        return f"{words}, in quotes if it looks like a number or a date"
    if isinstance(value, str) and kind in ("float_type", "int_type"):
        power = re.fullmatch(r"[+-]?\d+[eE][+-]?\d+", value)
        hint = "YAML reads 1e-3 as text; write 1.0e-3" if power else allowed["quoted"]
        return f"{words} ({hint})"
    return words
