"""The API reference: one page per folder of the library, with the names that it exports."""

import ast
import inspect
from collections.abc import Iterator
from importlib import import_module
from pathlib import Path
from types import ModuleType
from typing import Any, NamedTuple

from sphinx.pycode import ModuleAnalyzer

import deniable

PACKAGE = Path(deniable.__file__).parent
TOP = "deniable"


class Name(NamedTuple):
    """One name that a folder exports."""

    folder: str  # deniable.channels
    name: str
    module: str  # in which it is defined: deniable.channels.base

    @property
    def found(self) -> Any:
        """The object with this name."""
        return getattr(import_module(self.folder), self.name)

    @property
    def same(self) -> tuple[str, int]:
        """A key that is equal for the same object in several folders."""
        return self.name, id(self.found)


def names_of(stub: Path) -> Iterator[Name]:
    """Yield the names that a stub exports, except modules."""
    folder = _place(stub)
    for node in ast.parse(stub.read_text(encoding="utf-8")).body:
        if isinstance(node, ast.ImportFrom) and node.module:
            for alias in node.names:
                name = Name(folder, alias.name, f"{folder}.{node.module}")
                if not isinstance(name.found, ModuleType):
                    yield name


def folders() -> dict[str, list[Name]]:
    """Return the names of each folder by its own name: first the package, then its folders."""
    stubs = sorted(PACKAGE.rglob("__init__.pyi"), key=lambda stub: stub.parent.parts)
    return {_place(stub): [*names_of(stub)] for stub in stubs}


def _place(stub: Path) -> str:
    return ".".join((TOP, *stub.parent.relative_to(PACKAGE).parts))


def write_reference(folder: Path) -> None:
    """Write one page per folder, and one with links to them, as reStructuredText."""
    folder.mkdir(parents=True)
    handed_on = folders()
    # A name that several folders export is described by the folder nearest to the top, except the
    # package itself.
    at: dict[tuple[str, int], str] = {}
    for place in sorted(handed_on, key=lambda place: (place == TOP, place.count("."), place)):
        for name in handed_on[place]:
            at.setdefault(name.same, place)
    users = {name.same for name in handed_on[TOP]}
    for place, names in handed_on.items():
        names.sort(key=lambda name: name.same not in users)  # names of the package come first
        text = [_title(place, "="), f".. automodule:: {place}\n\n.. currentmodule:: {place}\n"]
        text += [_told(name) for name in names if at[name.same] == place]
        elsewhere = [name for name in names if at[name.same] != place]
        text += [_title("From other folders", "-")] * bool(elsewhere)
        text += [_link(name, at[name.same]) for name in elsewhere]
        (folder / f"{place}.rst").write_text("\n".join(text) + "\n", encoding="utf-8")
    pages = [_title("Python", "="), ".. toctree::\n   :maxdepth: 1\n"]
    pages += [f"   {place}" for place in handed_on]
    (folder / "index.rst").write_text("\n".join(pages) + "\n", encoding="utf-8")


def _title(text: str, line: str) -> str:
    return f"{text}\n{line * len(text)}\n"


def _told(name: Name) -> str:
    found = name.found
    if str(getattr(found, "__module__", "")).startswith(TOP):
        if inspect.isclass(found):
            return f".. autoclass:: {name.name}\n   :members:\n   :show-inheritance:\n"
        if callable(found):
            return f".. autofunction:: {name.name}\n"
    # The docstring of a constant or an array type is only in the source.
    documented = ModuleAnalyzer.for_module(name.module).find_attr_docs()
    lines = documented.get(("", name.name), [])
    return "\n".join([f".. py:data:: {name.name}\n", *(f"   {line}" for line in lines)])


def _link(name: Name, place: str) -> str:
    about = (inspect.getdoc(name.found) or "").partition("\n")[0]
    return f"- :py:obj:`{name.name} <{place}.{name.name}>`: {about}"
