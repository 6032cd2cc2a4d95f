"""YAML text that people write: what a reader of its values alone would not see."""

from collections.abc import Iterator
from typing import Any

import yaml

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
