"""Digests of syntax trees of Python files, without docstrings, comments and positions."""

import ast
import hashlib
import json
import platform
from collections.abc import Sequence
from contextlib import suppress
from pathlib import Path
from typing import Any, NamedTuple

from deniable.files import write_text

CACHE = Path(".snakemake/syntax_trees.json")
"""Digest and imports of each file by its SHA-256. Parsing 400 files takes more than a second."""
_DOCUMENTED = (ast.Module, ast.ClassDef, ast.FunctionDef, ast.AsyncFunctionDef)


class Tree(NamedTuple):
    """A syntax tree: its `digest`, and the full names of its `imports`."""

    digest: str
    imports: list[str]


def syntax_tree(source: bytes) -> Tree:
    """Return digest and imports of Python code, its `source`."""
    tree, imports = ast.parse(source), list[str]()
    for node in ast.walk(tree):
        if isinstance(node, ast.Import):
            imports += [alias.name for alias in node.names]
        elif isinstance(node, ast.ImportFrom):
            imports += [f"{node.module}.{alias.name}" for alias in node.names]
        elif isinstance(node, _DOCUMENTED) and ast.get_docstring(node, clean=False) is not None:
            del node.body[0]
    return Tree(digest_of(ast.dump(tree)), imports)


def syntax_trees(files: Sequence[Path]) -> dict[Path, Tree]:
    """Return digest and imports of all `files`, and store them for the next start."""
    known: dict[str, Any] = {}
    with suppress(OSError, ValueError):
        known = json.loads(CACHE.read_text(encoding="utf-8"))
    sources = {file: file.read_bytes() for file in files}
    keys = {file: digest_of(platform.python_version().encode() + sources[file]) for file in files}
    new = {key: syntax_tree(sources[file]) for file, key in keys.items() if key not in known}
    if new:
        known = {key: known[key] for key in keys.values() if key in known} | new
        with suppress(OSError):  # the next start parses again
            write_text(CACHE, json.dumps(known))
    return {file: Tree(*known[key]) for file, key in keys.items()}


def digest_of(content: str | bytes) -> str:
    """Return the first 16 digits of the SHA-256 of a `content`."""
    text = content.encode() if isinstance(content, str) else content
    return hashlib.sha256(text).hexdigest()[:16]
