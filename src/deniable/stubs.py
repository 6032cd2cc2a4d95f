"""A folder hands on the names in its stub, each imported when it is first asked for (PEP 562)."""

import ast
import sys
from collections.abc import Callable
from importlib import import_module
from pathlib import Path
from typing import Any

Attributes = tuple[Callable[[str], Any], Callable[[], list[str]], list[str]]


def handed_on(package: str, file: str) -> Attributes:
    """Return ``__getattr__``, ``__dir__`` and ``__all__`` of a `package`; `file` is its module.

    The stub beside it is all that states the names, for type checkers and at run time alike:
    ``from .module import name as name`` for what modules have, ``from . import folder as folder``
    for folders. No name is that of a module beside it: importing that would put it in its place.
    """
    stub = ast.parse(Path(file).with_suffix(".pyi").read_text(encoding="utf-8"))
    lines = [line for line in stub.body if isinstance(line, ast.ImportFrom)]
    origins = {alias.name: line.module for line in lines for alias in line.names}

    def attribute(name: str) -> Any:
        if name not in origins:
            raise AttributeError(f"module {package!r} has no attribute {name!r}")
        origin = origins[name]
        if origin is None:
            return import_module(f"{package}.{name}")
        found = getattr(import_module(f"{package}.{origin}"), name)
        setattr(sys.modules[package], name, found)  # it is not asked for here again
        return found

    return attribute, lambda: sorted(origins), sorted(origins)
