"""The config of a run as Snakemake merges it, for the other tools."""

import sys
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from deniable.errors import DeniableError
from deniable.validation import read_yaml

from reproduction.pipeline import Config, RunPlan, validate

ROOT = Path(__file__).resolve().parents[1]
WHOLE = Path("config/config.yaml")
LAST = Path(".snakemake/last_config")


def merged(base: Any, change: Any) -> Any:
    """Return a config with another over it: sections are merged, lists are replaced."""
    if not (isinstance(base, Mapping) and isinstance(change, Mapping)):
        return change
    return {**base, **{key: merged(base.get(key), value) for key, value in change.items()}}


def read_values(file: Path | str = WHOLE, section: str | None = None) -> dict[str, Any]:
    """Return the options of a run with a config file, over `config/config.yaml`.

    If the workflow is a module of another one, the options are only a section of its config.
    """
    values = read_yaml(file)
    if section is not None and isinstance(values, Mapping):
        values = values.get(section)
    if not isinstance(values, Mapping):
        raise DeniableError(f"{file}: no options; docs/options.md describes them")
    alone = section is not None or Path(file) == WHOLE
    found: dict[str, Any] = dict(values) if alone else merged(read_yaml(WHOLE), values)
    return found


def read_config(file: Path | str = WHOLE) -> Config:
    """Return the config of a run with a config file, over `config/config.yaml`."""
    return validate(read_values(file))


def read_plan(file: Path | str = WHOLE, section: str | None = None) -> RunPlan:
    """Return the plan of a run with a config file."""
    root = Path() if Path.cwd() == ROOT else ROOT
    return RunPlan.recall(read_values(file, section), root)


def last_config() -> Path:
    """Return the config file of the last run by make; without a run, the one of full size."""
    return Path(LAST.read_text(encoding="utf-8").strip()) if LAST.is_file() else WHOLE


def main(files: Sequence[str]) -> int:
    """Print the errors of config files, before Snakemake reads them; return the exit code."""
    try:
        for file in files:
            read_config(file)
    except DeniableError as error:
        print(error, file=sys.stderr)
        return 2
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
