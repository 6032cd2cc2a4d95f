"""Compute digests of the code that a script uses: by folder, for the papers by module.

A digest covers syntax trees without docstrings, comments and positions. A changed operator changes
the digest, a changed docstring does not.
"""

import ast
import hashlib
import json
import platform
import re
from collections.abc import Iterable, Mapping
from contextlib import suppress
from functools import cache
from importlib import metadata
from itertools import chain
from pathlib import Path
from typing import Any, NamedTuple

import deniable
from deniable.files import write_text

PACKAGES = {"deniable": Path(deniable.__file__).parent, "reproduction": Path(__file__).parents[1]}
COMPUTING_PACKAGES = (
    *("clarabel", "cvxpy", "highspy", "matplotlib", "numba", "numpy", "pandas", "pyarrow"),
    *("rdata", "scikit-learn", "scipy"),
)
RECORDED_PACKAGES = (*COMPUTING_PACKAGES, "pydantic", "snakemake")
CACHE = Path(".snakemake/syntax_trees.json")
"""Digest and imports of each file, by its SHA-256: parsing 400 files takes more than a second."""
_DOCUMENTED = (ast.Module, ast.ClassDef, ast.FunctionDef, ast.AsyncFunctionDef)
PYTHON, ENTRIES = "python and packages", "entries of catalogs"
_PLACE = re.compile(r"'([a-z_][\w.]*):[A-Za-z_][\w.]*'")


class Tree(NamedTuple):
    """A syntax tree: its `digest`, and the full names of its `imports`."""

    digest: str
    imports: list[str]


def code_digests(script: Path | str, *entries: Any) -> dict[str, str]:
    """Return a digest of each part of the code that a `script` uses, for its rule's parameters.

    The parts follow from import statements. Of the papers they are modules, of other packages whole
    top-level folders. They leave out the package `reproduction.pipeline`, which computes no
    results. The `entries` are dataclasses of `reproduction.study.catalog`, or collections of them.
    The digests cover their values and all code that they name as "module:function", but not
    catalogs as a whole.
    """
    source, said = syntax_tree(Path(script).read_bytes()), repr(entries)
    parts = _reached(filter(None, map(_part, [*_PLACE.findall(said), *source.imports])))
    found = {PYTHON: _python(), f"scripts/{Path(script).name}": source.digest}
    if entries:
        found[ENTRIES] = digest_of(said)
    return found | {_label(part): _digest(part) for part in sorted(parts)}


def changed_code(recorded: Mapping[str, str]) -> list[str]:
    """Return the names of the `recorded` parts that have changed or no longer exist."""
    changed = [PYTHON] if recorded.get(PYTHON, _python()) != _python() else []
    for label, digest in recorded.items():
        if (package := label.partition("/")[0]) in PACKAGES:
            part = PACKAGES[package].parent / label
            changed += [label] if not part.exists() or _digest(part) != digest else []
    return changed


def installed(packages: Iterable[str]) -> dict[str, str]:
    """Return the version of each of the `packages`, or "not installed"."""
    found = {}
    for name in packages:
        try:
            found[name] = metadata.version(name)
        except metadata.PackageNotFoundError:
            found[name] = "not installed"
    return found


def versions() -> dict[str, str]:
    """Return the versions in the provenance metadata of a result."""
    own = {"deniable": deniable.__version__, "python": platform.python_version()}
    return own | installed(RECORDED_PACKAGES)


def run_facts() -> dict[str, str]:
    """Return the versions for the report. They do not identify a machine."""
    return versions() | {"library code": digest_of("".join(map(_digest, PACKAGES.values())))}


def _files(part: Path) -> list[Path]:
    return [part] if part in _trees() else [file for file in _trees() if part in file.parents]


@cache
def _digest(part: Path) -> str:
    return digest_of("".join(f"{_label(file)} {_trees()[file].digest} " for file in _files(part)))


@cache
def _part(name: str) -> Path | None:
    """Return the folder or module of an imported `name`, or None if digests do not cover it."""
    package, *rest = name.split(".")
    if package not in PACKAGES or rest[:1] == ["pipeline"]:
        return None
    for length in range(len(rest) if rest[:1] == ["papers"] else 1, 0, -1):
        path = PACKAGES[package].joinpath(*rest[:length])
        if path.with_suffix(".py").is_file():
            return path.with_suffix(".py")
        if path.is_dir():
            return path if rest[:length] != ["papers"] else None
    return None


def _reached(starts: Iterable[Path]) -> set[Path]:
    found, pending = set[Path](), list(starts)
    while pending:
        if (part := pending.pop()) not in found:
            found.add(part)
            pending += _imported_by(part)
    return found


@cache
def _imported_by(part: Path) -> set[Path]:
    names = chain.from_iterable(_trees()[file].imports for file in _files(part))
    return {found for name in names if (found := _part(name))}


def _label(part: Path) -> str:
    """Return a name of a part that does not depend on the location of the packages."""
    root = next(folder for folder in PACKAGES.values() if part.is_relative_to(folder))
    return part.relative_to(root.parent).as_posix()


@cache
def _python() -> str:
    return digest_of(repr((platform.python_version(), installed(COMPUTING_PACKAGES))))


def syntax_tree(source: bytes) -> Tree:
    """Return digest and imports of Python code, given as `source`."""
    tree, imports = ast.parse(source), list[str]()
    for node in ast.walk(tree):
        if isinstance(node, ast.Import):
            imports += [alias.name for alias in node.names]
        elif isinstance(node, ast.ImportFrom):
            imports += [f"{node.module}.{alias.name}" for alias in node.names]
        elif isinstance(node, _DOCUMENTED):
            node.body = [each for each in node.body if not _is_text(each)]
    return Tree(digest_of(ast.dump(tree)), imports)


def _is_text(statement: ast.stmt) -> bool:
    """Return whether a statement is a docstring, or the text below a field."""
    value = statement.value if isinstance(statement, ast.Expr) else None
    return isinstance(value, ast.Constant) and isinstance(value.value, str)


@cache
def _trees() -> dict[Path, Tree]:
    """Return digest and imports of each file, and store them for the next start."""
    files = [file for folder in PACKAGES.values() for file in sorted(folder.rglob("*.py"))]
    known: dict[str, Any] = {}
    with suppress(OSError, ValueError):
        known = json.loads(CACHE.read_text(encoding="utf-8"))
    sources = {file: file.read_bytes() for file in files}
    keys = {file: digest_of(platform.python_version().encode() + sources[file]) for file in files}
    new = {key: syntax_tree(sources[file]) for file, key in keys.items() if key not in known}
    if new:
        known = {key: known[key] for key in keys.values() if key in known} | new
        with suppress(OSError):  # then the next start parses the files again
            write_text(CACHE, json.dumps(known))
    return {file: Tree(*known[key]) for file, key in keys.items()}


def digest_of(content: str | bytes) -> str:
    """Return the first 16 hexadecimal digits of the SHA-256 of a `content`."""
    text = content.encode() if isinstance(content, str) else content
    return hashlib.sha256(text).hexdigest()[:16]
