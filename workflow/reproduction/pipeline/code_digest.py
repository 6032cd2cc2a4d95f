"""What a result came from: the code that a script runs, and the versions it ran with."""

import hashlib
import platform
import re
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import fields, is_dataclass
from functools import cache
from importlib import metadata
from itertools import chain
from pathlib import Path
from typing import Any

import deniable

PACKAGES = {"deniable": Path(deniable.__file__).parent, "reproduction": Path(__file__).parents[1]}
COMPUTING_PACKAGES = (
    *("clarabel", "cvxpy", "highspy", "matplotlib", "numba", "numpy", "pandas", "pyarrow"),
    *("rdata", "scikit-learn", "scipy"),
)
REPORTED_PACKAGES = ("numpy", "scipy", "pandas", "pyarrow", "matplotlib", "snakemake", "pydantic")
RECORDED_PACKAGES = (*COMPUTING_PACKAGES, "pydantic", "snakemake")


def code_digest(script: Path | str, *entries: Any) -> str:
    """Return a digest of a script, of the modules behind it and of the packages that compute.

    These are all modules of `PACKAGES` that the script, or code that an entry names, imports,
    directly or not. Of catalogs only the entries count.

    Parameters
    ----------
    script : path
    *entries : dataclasses of `reproduction.study.catalog`, or collections of them
        What the script is told to do.

    Snakemake sees a changed script, but not a changed module behind it; a rule with this digest
    among its parameters runs again when the code it depends on has changed, and only then.
    """
    modules = [place.partition(":")[0] for place in _places(entries)]
    starts = [Path(script), *map(_file_of_entry, modules)]
    files = {label: content for start in starts for label, content in _behind(start)}
    parts = [_versions(), repr(entries), *chain(*sorted(files.items()))]
    return hashlib.sha256("\0".join(parts).encode()).hexdigest()[:16]


@cache
def _versions() -> str:
    packages = " ".join(f"{name}=={at}" for name, at in _installed(COMPUTING_PACKAGES).items())
    return f"python {platform.python_version()} {packages}"


def _installed(packages: Iterable[str]) -> dict[str, str]:
    """Return the version of each package; "not installed" of an extra that is not there."""
    found = {}
    for name in packages:
        try:
            found[name] = metadata.version(name)
        except metadata.PackageNotFoundError:
            found[name] = "not installed"
    return found


def _places(entry: Any) -> Iterator[str]:
    """Yield the code that an entry of a catalog names, "module:name"."""
    if isinstance(entry, str):
        if _PLACE.fullmatch(entry):
            yield entry
    elif is_dataclass(entry):
        yield from _places([getattr(entry, each.name) for each in fields(entry)])
    elif isinstance(entry, Mapping):
        yield from _places(list(entry.values()))
    elif isinstance(entry, Iterable):
        for part in entry:
            yield from _places(part)


def _file_of_entry(module: str) -> Path:
    """Return the file of a `module` that an entry names below one of the packages."""
    files = [folder.joinpath(*module.split(".")).with_suffix(".py") for folder in PACKAGES.values()]
    return next(file for file in files if file.is_file())


def library_digest() -> str:
    """Return a digest of all modules of both packages, to tell one state of them from another."""
    files = chain(*(sorted(folder.rglob("*.py")) for folder in PACKAGES.values()))
    parts = chain(*((_label(file), _content(file)) for file in files))
    return hashlib.sha256("\0".join(parts).encode()).hexdigest()[:16]


@cache
def _behind(start: Path) -> list[tuple[str, str]]:
    """Return name and digest of a file and of all that it imports, directly or not."""
    return [(_label(file), _content(file)) for file in {start, *_closure(start)}]


@cache
def _content(file: Path) -> str:
    return hashlib.sha256(file.read_bytes()).hexdigest()


def _label(file: Path) -> str:
    """Return a name for a file that is the same wherever the packages are kept."""
    folders = (folder.parent for folder in PACKAGES.values() if folder in file.parents)
    return next((file.relative_to(folder).as_posix() for folder in folders), file.name)


def _closure(start: Path) -> set[Path]:
    found: set[Path] = set()
    pending = [start]
    while pending:
        for imported in _imports(pending.pop()) - found:
            found.add(imported)
            pending.append(imported)
    return found


@cache
def _imports(file: Path) -> frozenset[Path]:
    return frozenset(
        path
        for name in _imported_names(file.read_text(encoding="utf-8"))
        for path in module_files(name)
        if not _is_catalog(path)
    )


def _is_catalog(file: Path) -> bool:
    return PACKAGES["reproduction"] / "papers" in file.parents and file.stem == "catalog"


# By the text, not by its syntax tree: every start of Snakemake reads some two hundred files. A line
# of a docstring that looks like one is taken for one; more in a digest does no harm.
_IMPORT = re.compile(
    r"^[ \t]*(?:from[ \t]+([\w.]+)[ \t]+import[ \t]*(\([^)]*\)|[^\n]*)|import[ \t]+([^\n]*))",
    re.MULTILINE,
)
_PLACE = re.compile(r"[a-z_][\w.]*:[A-Za-z_][\w.]*")
_COMMENT = re.compile(r"#[^\n]*")
_HANDED_ON = re.compile(r"^from \.([\w.]+) import (\([^)]*\)|[^\n]*)", re.MULTILINE)


def _imported_names(code: str) -> Iterator[str]:
    """Yield the modules that code imports, and what it imports from them."""
    for module, taken, modules in _IMPORT.findall(_COMMENT.sub("", code)):
        names = (taken or modules).strip("() \t").split(",")
        imported = [name.split()[0] for name in names if name.strip()]
        if module:
            yield module
        yield from (f"{module}.{name}" if module else name for name in imported)


def module_files(name: str) -> Iterator[Path]:
    """Yield the files behind a `name` that is imported: modules, folders, what a folder exports."""
    parts = name.split(".")
    if parts[0] not in PACKAGES:
        return
    base = PACKAGES[parts[0]].joinpath(*parts[1:])
    handed_on = _handed_on(base.parent).get(base.name, ()) if parts[1:] else ()
    for candidate in (base.with_suffix(".py"), base / "__init__.py", *handed_on):
        if candidate.is_file():
            yield candidate


@cache
def _handed_on(folder: Path) -> dict[str, tuple[Path, ...]]:
    """Return the files behind the names that a folder hands on, from its stub and those below."""
    stub = folder / "__init__.pyi"
    if not stub.is_file():
        return {}
    places = [
        (name.split()[0], folder.joinpath(*module.split(".")))
        for module, names in _HANDED_ON.findall(stub.read_text(encoding="utf-8"))
        for name in names.strip("() \t\n").split(",")
        if name.strip()
    ]
    return {
        name: (place / "__init__.py", *_handed_on(place).get(name, ()))
        if place.is_dir()
        else (place.with_suffix(".py"),)
        for name, place in places
    }


def run_facts() -> dict[str, str]:
    """Return the versions that a result depends on, none of which names a machine."""
    facts = {"deniable": deniable.__version__, "library code": library_digest()}
    return facts | {"python": platform.python_version()} | _installed(REPORTED_PACKAGES)


def versions() -> dict[str, str]:
    """Return the versions of library, Python and packages, as they are recorded of a result."""
    own = {"deniable": deniable.__version__, "python": platform.python_version()}
    return own | _installed(RECORDED_PACKAGES)
