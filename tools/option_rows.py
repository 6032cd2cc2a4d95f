"""Describe the options of models of a config: name, values, default and meaning.

The meaning is the text below a field, or below the type of this field in the same module. If the
text ends with "The default is X.", X is the default. Values follow from pydantic's JSON schema.
"""

import ast
import inspect
import re
import sys
from collections.abc import Iterable, Iterator, Mapping
from functools import cache
from itertools import pairwise
from pathlib import Path
from types import MappingProxyType
from typing import Any, NamedTuple, get_args

from pydantic import BaseModel

Model = type[BaseModel]
NONE: Mapping[str, str] = MappingProxyType({})


class Row(NamedTuple):
    """An option, in the words of a page."""

    option: str
    values: str
    default: str
    meaning: str


def rows(model: Model, anchors: Mapping[str, str]) -> list[Row]:
    """Return the options of a `model`, its `kind` first.

    `anchors` are the headings of other models, by the names of these.
    """
    schema, found = model.model_json_schema()["properties"], []
    fields = sorted(model.model_fields.items(), key=lambda each: each[0] != "kind")
    for name, field in fields:
        text, _, default = meaning(model, name).partition(" The default is ")
        if not default:
            given = field.get_default(call_default_factory=True)
            default = "required" if field.is_required() else _shown(given)
        option = field.alias or name
        words = values(schema[option], anchors)
        found.append(Row(f"`{option}`", words, default.removesuffix("."), linked(text)))
    return found


def meaning(model: Model, name: str) -> str:
    """Return the text of the field `name` of a `model`, of a base, or of the type of the field."""
    for each in model.__mro__[: model.__mro__.index(BaseModel)]:
        module = _tree(inspect.getsourcefile(sys.modules[each.__module__]) or "")
        for node in module.body:
            if isinstance(node, ast.ClassDef) and node.name == each.__name__.partition("[")[0]:
                found = [_texts(node.body).get(name)]
                found += [_texts(module.body).get(used) for used in _names(node, name)]
                if text := next(filter(None, found), ""):
                    return text
    return ""


@cache
def _tree(file: str) -> ast.Module:
    return ast.parse(Path(file).read_text(encoding="utf-8"))


def _texts(body: Iterable[ast.stmt]) -> dict[str, str]:
    """Return the texts below fields or types, by the names of these."""
    found = {}
    for above, below in pairwise(body):
        target = above.targets[0] if isinstance(above, ast.Assign) else getattr(above, "target", 0)
        if isinstance(target, ast.Name) and isinstance(below, ast.Expr):
            found[target.id] = " ".join(str(ast.literal_eval(below.value)).split())
    return found


def _names(model: ast.ClassDef, name: str) -> Iterator[str]:
    """Yield the names in the annotation of the field `name`."""
    for node in model.body:
        if isinstance(node, ast.AnnAssign) and ast.unparse(node.target) == name:
            yield from (each.id for each in ast.walk(node.annotation) if isinstance(each, ast.Name))


def values(schema: Mapping[str, Any], anchors: Mapping[str, str] = NONE) -> str:
    """Return the words for the values that a JSON `schema` allows; `anchors` as in `rows`.

    >>> values({"type": "array", "items": {"exclusiveMinimum": 0, "maximum": 1, "type": "number"}})
    'list of (0, 1]'
    """
    if "$ref" in schema:
        anchor = anchors.get(schema["$ref"].rpartition("/")[2])
        return f"[section](#{anchor})" if anchor else "section"
    if fixed := schema.get("enum") or [schema[each] for each in ("const",) if each in schema]:
        return ", ".join(f"`{each}`" for each in fixed)
    if choices := schema.get("anyOf", schema.get("oneOf")):
        others = [each for each in choices if each.get("type") != "null"]
        return " or ".join(dict.fromkeys(values(each, anchors) for each in others))
    match schema.get("type"):
        case "array":
            least, most = schema.get("minItems", 0), schema.get("maxItems")
            number = f"{least} " if least == most else f"at least {least} " if least > 1 else ""
            entries = values(schema["items"], anchors)
            plural = re.sub(r"^(\[?)(text|name|section|list)\b", r"\1\2s", entries)
            number = f"{number.strip()}: " if number and plural == entries else number
            return f"list of {number}{plural}"
        case "object":
            inner = schema.get("additionalProperties")
            return f"section of {values(inner, anchors)}" if isinstance(inner, dict) else "section"
        case "integer" | "number" as kind:
            return _range(schema, kind)
        case "string":
            longest = f", at most {schema['maxLength']} characters" if "maxLength" in schema else ""
            return f"{'name' if 'pattern' in schema else 'text'}{longest}"
        case "boolean":
            return "`true`, `false`"
    return "values"


def _range(schema: Mapping[str, Any], kind: str) -> str:
    keys = ("minimum", "exclusiveMinimum", "exclusiveMaximum", "maximum")
    least, above, below, most = (_shown(schema[key]) if key in schema else "" for key in keys)
    low, high = above or least, below or most
    if low and high:
        interval = f"{'(' if above else '['}{low}, {high}{')' if below else ']'}"
        return f"{low} to {high}" if kind == "integer" else interval
    if low:
        return f"above {low}" if above else f"{low} or more"
    return "whole number" if kind == "integer" else "number"


def _shown(value: Any) -> str:
    """Return a default or a bound in the words of the page."""
    if isinstance(value, BaseModel):
        return "its defaults"
    if value is None or value in ([], {}):
        return "none"
    if isinstance(value, bool | str | list):
        return f"`{str(value).lower() if isinstance(value, bool) else value}`".replace("'", "")
    return "2^63 − 1" if value == 2**63 - 1 else f"{value:,}" if value >= 10_000 else f"{value:g}"


def linked(text: str) -> str:
    """Return a `text` with links in place of the paths of pages, for a page in ``docs``.

    >>> linked("See docs/pram.md#survey-weights.")
    'See [survey weights](pram.md#survey-weights).'
    """

    def link(found: re.Match[str]) -> str:
        folder, name, anchor = found.groups("")
        target = f"{name}.md" if folder == "docs" else f"../{folder}/{name}.md"
        return f"[{(anchor[1:] or name).replace('-', ' ')}]({target}{anchor})"

    return re.sub(r"\b(docs|config)/([\w-]+)\.md(#[\w-]+)?", link, text.replace("``", "`"))


def models_in(annotation: Any) -> list[Model]:
    """Return the models that a value of an `annotation` is, or has as entries."""
    if isinstance(annotation, type) and issubclass(annotation, BaseModel):
        return [annotation]
    return [model for each in get_args(annotation) for model in models_in(each)]
