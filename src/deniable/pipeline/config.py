"""The config as typed models: every fault found at once, a line each, before anything starts."""

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Annotated, Any, Literal, Self

import yaml
from pydantic import Field, TypeAdapter, ValidationError, model_validator

from deniable import validation
from deniable.errors import ConfigError
from deniable.pipeline.studies import AnalysesConfig, AnyStudy, StudiesConfig
from deniable.release import AnyRelease, Release
from deniable.study import Strict

WORDS = {"quoted": "without quotes; --config gives numbers only one by one, not in lists"}


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
        lines = [
            f"{path}: {line}" for line in validation.repeated_keys(Path(path).read_text("utf-8"))
        ]
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
        lines = validation.fault_lines(error, Config, "config", WORDS)
    raise ConfigError(message(lines))


def message(lines: Sequence[str]) -> str:
    """Return the message for the faults of a config, a line each."""
    return validation.message("the config", lines, "config/README.md describes every option")
