"""What `import deniable` offers, and what it costs."""

import importlib.util
import inspect
import pydoc
import re
import subprocess
import sys
import textwrap
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from importlib import import_module
from pathlib import Path
from typing import Any

import pytest

import deniable
from deniable.validation import Strict

ROOT = Path(__file__).resolve().parents[1]
NAMES = dir(deniable)
SLOW = ("numpy", "pandas", "scipy", "pyarrow", "numba", "cvxpy", "sklearn", "pydantic")


@pytest.mark.parametrize("name", NAMES)
def test_every_name_is_there_and_says_what_it_is(name: str) -> None:
    assert inspect.getdoc(getattr(deniable, name)), name


def test_the_first_text_lists_all_of_them_and_nothing_else() -> None:
    listed = re.findall(r"`([\w.]+)`", deniable.__doc__ or "")
    names = {name for name in listed if "." not in name}
    folders = {name.removeprefix("deniable.") for name in listed} - names
    assert names <= set(NAMES) <= names | folders
    for name in folders - {"design.design"}:  # a function
        assert importlib.util.find_spec(f"deniable.{name}"), name
    assert callable(deniable.design.design)


def test_help_is_a_page_and_not_a_manual() -> None:
    shown = pydoc.render_doc(deniable)
    assert "maximum_likelihood" in shown
    assert len(shown.splitlines()) < 120


def test_names_that_are_not_there_are_said_to_be_missing() -> None:
    with pytest.raises(AttributeError, match="no_such_name"):
        deniable.no_such_name  # noqa: B018


def test_import_loads_nothing_that_is_slow() -> None:
    code = "import sys, deniable; dir(deniable); print(*sys.modules)"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert set(done.stdout.split()) & set(SLOW) == set()


def test_the_readmes_example_does_what_it_says(capsys: pytest.CaptureFixture[str]) -> None:
    readme = (ROOT / "README.md").read_text(encoding="utf-8")
    (code,) = re.findall(r"```python\n(.*?)```", readme.partition("## As a library")[2], re.DOTALL)
    scope: dict[str, object] = {}
    exec(code, scope)
    channel = scope["channel"]
    assert isinstance(channel, deniable.KeepOrReplace)
    assert str(channel.epsilon).startswith("1.6094")
    assert channel.estimate([300, 250, 250, 200]).round(12).tolist() == [0.35, 0.25, 0.25, 0.15]


# A parameter is documented by an entry under "Parameters" (of a class also under "Attributes"), in
# backticks, by a comment or a text beside the field of a dataclass, or, if it is an option of a
# config, on the pages that list these. A class has the texts of its bases as well.
OPTIONS = "".join(
    (ROOT / page).read_text(encoding="utf-8") for page in ("docs/options.md", "config/README.md")
)
MODULES = [
    ".".join(file.relative_to(folder).with_suffix("").parts)
    for folder, package in ((ROOT / "src", "deniable"), (ROOT / "workflow", "reproduction"))
    for file in sorted((folder / package).rglob("*.py"))
    if not file.stem.startswith("__")
]


def functions_of(name: str, found: Any) -> Iterator[tuple[str, Any, Callable[..., Any]]]:
    """Yield a function, or a class's own methods and what makes it, each with what documents it."""
    if inspect.isfunction(found):
        yield name, found, found
    if inspect.isclass(found):
        if not getattr(found, "_is_protocol", False):  # nobody makes a protocol
            yield name, found, found
        for method, held in vars(found).items():
            function = getattr(held, "__func__", held)
            if not method.startswith("_") and inspect.isfunction(function):
                yield f"{name}.{method}", getattr(found, method), function


def fields_with_texts(documented: type) -> set[str]:
    """Return the fields of a class and of its bases that a comment or a text describes."""
    found = set()
    for each in documented.__mro__:
        if each.__module__.startswith(("deniable", "reproduction", __name__)):
            try:
                source = textwrap.dedent(inspect.getsource(each))
            except OSError:  # a class made by a function
                continue
            found |= set(re.findall(r"^    (\w+): .*  # ", source, re.MULTILINE))
            found |= set(re.findall(r'^    (\w+): .*\n    """', source, re.MULTILINE))
    return found


def undocumented(documented: Any, function: Callable[..., Any]) -> list[str]:
    try:
        parameters = list(inspect.signature(function).parameters)
    except (TypeError, ValueError):  # of a class that is made elsewhere
        return []
    bases = documented.__mro__ if inspect.isclass(documented) else [documented]
    text = "\n".join(inspect.getdoc(each) or "" for each in bases)
    if inspect.isclass(documented) and issubclass(documented, Strict):
        text += OPTIONS  # those of a config have a page
    beside = fields_with_texts(documented) if inspect.isclass(documented) else set()
    heading = "(?:Parameters|Attributes)" if inspect.isclass(documented) else "Parameters"
    entries = "".join(re.split(rf"^{heading}\n---", text, flags=re.MULTILINE)[1:])
    return [
        name
        for name in parameters
        if name not in {"self", "cls", *beside}
        and not re.search(rf"`\*{{0,2}}{name}`", text)
        and not re.search(rf"^(\S+, )*\*{{0,2}}{name}(, \S+)*( :|$)", entries, re.MULTILINE)
    ]


def test_every_public_function_documents_what_it_takes() -> None:
    left = {}
    for name in MODULES:
        module = import_module(name)
        own = [each for each in vars(module) if not each.startswith("_")]
        for public in own:
            if getattr(getattr(module, public), "__module__", None) == name:
                for known, documented, each in functions_of(public, getattr(module, public)):
                    if missing := undocumented(documented, each):
                        left[f"{name}: {known}"] = missing
    assert left == {}


def test_what_is_undocumented_is_found() -> None:
    def bare(first: int, second: int) -> None:
        """Return the `first`."""

    def listed(first: int, second: int, *others: int) -> None:
        """Do it.

        Parameters
        ----------
        first, second : int
        *others : int
        """

    assert undocumented(bare, bare) == ["second"]
    assert undocumented(listed, listed) == []

    @dataclass
    class Fields:
        """Fields."""

        first: int  # described here
        second: int
        """Described here."""
        third: int

    assert undocumented(Fields, Fields) == ["third"]
