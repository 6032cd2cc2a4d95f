"""What `import deniable` offers, and what it costs."""

import importlib.util
import inspect
import pydoc
import re
import subprocess
import sys
from pathlib import Path

import pytest

import deniable

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
