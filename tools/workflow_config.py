"""The config of a run as Snakemake merges it, for the tools beside it."""

from collections.abc import Mapping
from pathlib import Path
from typing import Any

from deniable.pipeline import Config, validate
from deniable.validation import read_yaml

WHOLE = Path("config/config.yaml")
LAST = Path(".snakemake/last_config")


def merged(base: Any, change: Any) -> Any:
    """Return a config with another over it: sections are merged, lists are replaced."""
    if not (isinstance(base, Mapping) and isinstance(change, Mapping)):
        return change
    return {**base, **{key: merged(base.get(key), value) for key, value in change.items()}}


def read_config(file: Path | str = WHOLE) -> Config:
    """Return the config of a run with that file, over `config/config.yaml`."""
    values = read_yaml(WHOLE)
    if Path(file) != WHOLE:
        values = merged(values, read_yaml(file))
    return validate(values)


def last_config() -> Path:
    """Return the config file of the last run by make; the full size, if there was none."""
    return Path(LAST.read_text(encoding="utf-8").strip()) if LAST.is_file() else WHOLE
