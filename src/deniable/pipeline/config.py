"""The config as typed models: every fault found at once, a line each, before anything starts."""

import re
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Annotated, Any, Literal, Self, get_args

import yaml
from pydantic import BaseModel, Field, TypeAdapter, ValidationError, model_validator
from pydantic_core import ErrorDetails

from deniable.errors import ConfigError
from deniable.pipeline.studies import AnalysesConfig, AnyStudy, StudiesConfig
from deniable.release import MATRIX_MODELS, RELEASE_MODELS, AnyRelease, Release
from deniable.study import Strict
from deniable.validation import repeated_keys


class DataConfig(Strict):
    """Where data come from."""

    source: Literal["auto", "mirror", "public", "surrogate"] = "auto"
    mirror: Annotated[str, Field(min_length=1)] | None = None


class Config(Strict):
    """Everything that a run can be told."""

    seed: Annotated[int, Field(ge=0, le=2**63 - 1)]
    data: DataConfig = DataConfig()
    studies: StudiesConfig
    analyses: AnalysesConfig
    releases: list[Release] = Field(default_factory=list)

    @model_validator(mode="after")
    def _names_differ(self) -> Self:
        names = [release.name for release in self.releases]
        for position, name in enumerate(names):
            # Folders of such names are one folder on file systems that ignore case.
            if name.lower() in [earlier.lower() for earlier in names[:position]]:
                raise ValueError(
                    f"two releases are named {name!r}; allowed: names that differ in more than case"
                )
        return self

    def release(self, name: str) -> AnyRelease:
        """Return the release of that name."""
        return next(release for release in self.releases if release.name == name)

    def study(self, name: str) -> AnyStudy:
        """Return the study of that name."""
        study: AnyStudy = getattr(self.studies, name)
        return study


def release_from(values: Mapping[str, Any]) -> AnyRelease:
    """Rebuild a release from its plain values."""
    release: AnyRelease = TypeAdapter(Release).validate_python(dict(values))
    return release


def refuse_repeated_keys(path: Path | str) -> None:
    """Refuse a config file that gives an option twice: YAML would silently take the last.

    Raises
    ------
    ConfigError
        With a line for each option that is repeated, and where.
    """
    try:
        lines = [f"{path}: {line}" for line in repeated_keys(Path(path).read_text("utf-8"))]
    except (OSError, ValueError, yaml.YAMLError):
        return  # whoever reads the file for its values says what is wrong with it
    if lines:
        raise ConfigError(message(lines))


def validate(values: Mapping[str, Any]) -> Config:
    """Turn the values of the config files into a `Config`.

    Raises
    ------
    ConfigError
        With one line for each fault: path, value, what is allowed.
    """
    try:
        return Config.model_validate(dict(values))
    except ValidationError as error:
        lines = [_line(fault) for fault in error.errors()]
    raise ConfigError(message(lines))


def message(lines: Sequence[str]) -> str:
    """Return the message for the faults of a config, a line each."""
    faults = "a fault" if len(lines) == 1 else f"{len(lines)} faults"
    return f"the config has {faults} (config/README.md describes every option):\n" + "\n".join(
        f"  {line}" for line in lines
    )


def _line(fault: ErrorDetails) -> str:
    path = _path(fault["loc"])
    value = fault["input"]
    context = fault.get("ctx", {})
    match fault["type"]:
        case "extra_forbidden":
            return f"{path}: unknown option; allowed here: {_options(fault['loc'])}"
        case "missing":
            return f"{path}: missing; it must be given"
        case "union_tag_not_found" | "union_tag_invalid":
            option = str(context["discriminator"]).strip("'")
            tag = repr(context["tag"]) if "tag" in context else "missing"
            return f"{path}.{option}: {tag}; allowed: {', '.join(_UNIONS[option])}"
        case "value_error":
            return f"{path}: {context.get('error')}"
        case "string_pattern_mismatch":
            return (
                f"{path}: {value!r}; allowed: letters, digits, '_' and '-', "
                "beginning with a letter or digit"
            )
    return f"{path}: {_shown(value)}; allowed: {_allowed(fault)}{_hint(fault)}"


_UNIONS: Mapping[str, Mapping[str, type[BaseModel]]] = {
    "mechanism": RELEASE_MODELS,
    "kind": MATRIX_MODELS,
}
_TYPES = {
    "int_type": "a whole number",
    "int_from_float": "a whole number",
    "int_parsing_size": "a whole number of at most 63 bits",
    "float_type": "a number",
    "finite_number": "a finite number",
    "string_type": "text",
    "string_too_short": "text that is not empty",
    "bool_type": "true or false",
    "list_type": "a list, such as [a, b]",
    "model_type": "a section with options of its own",
    "model_attributes_type": "a section with options of its own",
    "dict_type": "a section with options of its own",
}
_BOUNDS = {
    "greater_than": ("gt", "above"),
    "greater_than_equal": ("ge", "at least"),
    "less_than": ("lt", "below"),
    "less_than_equal": ("le", "at most"),
}


def _allowed(fault: ErrorDetails) -> str:
    kind, context = fault["type"], fault.get("ctx", {})
    if kind in _BOUNDS:
        key, words = _BOUNDS[kind]
        return f"{words} {context[key]}"
    if kind == "too_short":
        least = context["min_length"]
        return f"a list with at least {'one entry' if least == 1 else f'{least} entries'}"
    if kind == "literal_error":
        return str(context["expected"]).replace("'", "").replace(" or ", ", ")
    return _TYPES.get(kind, fault["msg"])


def _hint(fault: ErrorDetails) -> str:
    value = fault["input"]
    if isinstance(value, str) and fault["type"] in ("float_type", "int_type"):
        if re.fullmatch(r"[+-]?\d+[eE][+-]?\d+", value):
            return " (YAML reads 1e-3 as text; write 1.0e-3)"
        return " (without quotes; --config gives numbers only one by one, not in lists)"
    return ""


def _shown(value: Any) -> str:
    text = repr(value)
    return text if len(text) <= 60 else f"{text[:57]}..."


def _path(location: Sequence[int | str]) -> str:
    path = ""
    for position, part in enumerate(location):
        if isinstance(part, int):
            path += f"[{part}]"
        elif _model_of_tag(location[:position], part) is None:
            path += f".{part}" if path else str(part)
    return path or "config"


def _model_of_tag(before: Sequence[int | str], part: int | str) -> type[BaseModel] | None:
    """Return the model that a part of a fault's location names, where pydantic puts a union's tag.

    Of a release at position 2, of its matrix at position 4; elsewhere a part is an option's name.
    """
    if len(before) == 2 and before[0] == "releases":
        return RELEASE_MODELS.get(str(part))
    if len(before) == 4 and (before[0], before[2:]) == ("releases", ("pram", "matrix")):
        return MATRIX_MODELS.get(str(part))
    return None


def _options(location: Sequence[int | str]) -> str:
    model: type[BaseModel] = Config
    for position, part in enumerate(location[:-1]):
        if tagged := _model_of_tag(location[:position], part):
            model = tagged
        elif part in model.model_fields:
            model = next(_models_in(model.model_fields[str(part)].annotation), model)
    return ", ".join(model.model_fields)


def _models_in(annotation: Any) -> Iterator[type[BaseModel]]:
    """Yield the models that a field's type is made of."""
    if isinstance(annotation, type) and issubclass(annotation, BaseModel):
        yield annotation
    for part in get_args(annotation):
        yield from _models_in(part)
