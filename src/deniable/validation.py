"""YAML text that people write: what a reader of its values alone would not see."""

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import yaml

from deniable.errors import DataError

LOADER: Any = getattr(yaml, "CSafeLoader", yaml.SafeLoader)
"""libyaml's, ten times as fast, where PyYAML was built with it."""


def repeated_keys(text: str) -> Iterator[str]:
    """Yield a line of a message for each key that a mapping gives again.

    YAML readers silently take the last.

    Raises
    ------
    yaml.YAMLError
        If it is no YAML.

    Examples
    --------
    >>> list(repeated_keys("{p: 0.1, q: 2, p: 0.2}"))
    ['line 1: p is given a second time; allowed: once']
    """
    pending = [yaml.compose(text, Loader=LOADER)]
    while pending:
        node = pending.pop()
        if isinstance(node, yaml.SequenceNode):
            pending += node.value
        elif isinstance(node, yaml.MappingNode):
            seen: set[str] = set()
            for key, value in node.value:
                if isinstance(key, yaml.ScalarNode):
                    if key.value in seen:
                        line = key.start_mark.line + 1
                        yield f"line {line}: {key.value} is given a second time; allowed: once"
                    seen.add(key.value)
                pending.append(value)


def read_yaml(path: Path | str) -> Any:
    """Read the values of a YAML file.

    Raises
    ------
    DataError
        If it cannot be read, is no YAML, or gives a key of a mapping twice: file, line and remedy.
    """
    try:
        text = Path(path).read_text(encoding="utf-8")
        values, repeated = yaml.safe_load(text), list(repeated_keys(text))
    except OSError as error:
        raise DataError(f"{path}: {error.strerror or error}; check the path") from None
    except UnicodeDecodeError:
        raise DataError(f"{path}: no UTF-8 text; convert the file to UTF-8") from None
    except (yaml.YAMLError, ValueError) as error:  # ValueError: a date that is none
        mark = getattr(error, "problem_mark", None)
        line = f"line {mark.line + 1}: " if mark else ""
        problem = getattr(error, "problem", None) or str(error).partition("\n")[0]
        raise DataError(f"{path}: {line}{problem}; mend the YAML there") from None
    if repeated:
        raise DataError("\n".join(f"{path}: {line}" for line in repeated))
    return values
