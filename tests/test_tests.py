"""Every test asserts something: one that only an exception fails passes for many a wrong reason."""

import ast
from collections.abc import Iterator
from pathlib import Path

import pytest

TESTS = Path(__file__).resolve().parent
Function = ast.FunctionDef | ast.AsyncFunctionDef
ASSERTING = {"raises", "warns", "fail"}
"""Of pytest, besides what begins with assert_, as NumPy's and pandas' do."""


class Module:
    """A file of tests: its functions, and whom they may mean by a name."""

    def __init__(self, text: str) -> None:
        tree = ast.parse(text)
        self.functions = [node for node in tree.body if isinstance(node, Function)]
        classes = [node for node in ast.walk(tree) if isinstance(node, ast.ClassDef)]
        self.methods = [
            node for each in classes for node in each.body if isinstance(node, Function)
        ]
        self.imported = {
            alias.asname or alias.name
            for node in ast.walk(tree)
            if isinstance(node, ast.ImportFrom)
            and not str(node.module).startswith(("deniable", "reproduction"))
            for alias in node.names
        }

    @property
    def own(self) -> set[str]:
        return {function.name for function in self.functions}


def called(function: Function) -> Iterator[tuple[str, bool]]:
    """Yield the names that a function calls, and whether as a method or of a module."""
    for node in ast.walk(function):
        if isinstance(node, ast.Call) and isinstance(node.func, ast.Attribute):
            yield node.func.attr, True
        elif isinstance(node, ast.Call) and isinstance(node.func, ast.Name):
            yield node.func.id, False


def silent_tests(modules: dict[str, Module]) -> list[str]:
    """Return the tests that assert nothing, neither themselves nor in what they call of tests."""
    asserting: set[tuple[str, str]] = set()

    def asserts(name: str, module: Module, function: Function) -> bool:
        if any(isinstance(node, ast.Assert) for node in ast.walk(function)):
            return True
        helpers = {each for place, each in asserting if place in (name, "") and each in module.own}
        foreign = {each for _, each in asserting} & module.imported
        methods = {each for place, each in asserting if not place}
        return any(
            each in ASSERTING
            or each.startswith("assert_")
            or each in (methods if of_object else helpers | foreign)
            for each, of_object in called(function)
        )

    while True:
        found = {
            (place, function.name)
            for name, module in modules.items()
            for place, functions in ((name, module.functions), ("", module.methods))
            for function in functions
            if asserts(name, module, function)
        }
        if found == asserting:
            break
        asserting = found
    return [
        f"{name}: {function.name}"
        for name, module in modules.items()
        for place, functions in ((name, module.functions), ("", module.methods))
        for function in functions
        if function.name.startswith("test_") and (place, function.name) not in asserting
    ]


def test_every_test_asserts_something() -> None:
    files = {str(file.relative_to(TESTS)): file for file in sorted(TESTS.rglob("*.py"))}
    assert len(files) > 100
    read = {name: Module(file.read_text(encoding="utf-8")) for name, file in files.items()}
    assert silent_tests(read) == []


HELPERS = "def check(x):\n    assert x\n\nclass Run:\n    def made(self):\n        check(1)\n"


@pytest.mark.parametrize(
    ("code", "silent"),
    [
        ("def test_a():\n    f()", True),
        ("def test_a():\n    assert f()", False),
        ("def test_a():\n    with pytest.raises(OSError):\n        f()", False),
        ("def test_a():\n    np.testing.assert_allclose(f(), 1)", False),
        ("def f():\n    assert 1\n\ndef test_a():\n    f()", False),
        ("def f():\n    g()\n\ndef g():\n    assert 1\n\ndef test_a():\n    f()", False),
        ("def check():\n    f()\n\ndef test_a():\n    check()", True),  # not the one elsewhere
        ("from tests.other import check\n\ndef test_a():\n    check(2)", False),
        ("from deniable.other import check\n\ndef test_a():\n    check(2)", True),
        ("def test_a(project):\n    project.made()", False),
    ],
)
def test_what_asserts_nothing_is_found(code: str, silent: bool) -> None:
    found = silent_tests({"a.py": Module(code), "other.py": Module(HELPERS)})
    assert found == (["a.py: test_a"] if silent else [])
