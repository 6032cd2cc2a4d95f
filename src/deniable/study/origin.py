"""Where a number comes from: the code that makes a table or a figure."""

import ast
from collections.abc import Iterable
from dataclasses import dataclass
from functools import cache
from pathlib import Path

PACKAGE = Path(__file__).parents[1]


@dataclass(frozen=True)
class Origin:
    """The code that makes a table or a figure.

    Attributes
    ----------
    function : str
        "module:name" within the library, for example "papers.multirr.example_1:example_1".
    rule : str
        The rule of the workflow that calls it.
    """

    function: str
    rule: str

    @property
    def name(self) -> str:
        """The function's name."""
        return self.function.partition(":")[2]

    @property
    def file(self) -> str:
        """The function's file, as seen from the project's root."""
        module = self.function.partition(":")[0]
        return f"src/{PACKAGE.name}/{module.replace('.', '/')}.py"

    @property
    def line(self) -> int:
        """The line on which the function starts.

        It is looked up in the source, so that the page needs to import nothing that computes.
        """
        module, _, name = self.function.partition(":")
        lines = _lines(module)
        # A method that a class inherits: the class says from whom.
        return lines[name] if name in lines else lines[name.partition(".")[0]]


@cache
def _lines(module: str) -> dict[str, int]:
    """Return the first line of every function, method and class of a module, by its full name."""
    file = PACKAGE.joinpath(*module.split(".")).with_suffix(".py")
    lines: dict[str, int] = {}

    def visit(body: Iterable[ast.stmt], prefix: str) -> None:
        for node in body:
            if isinstance(node, ast.FunctionDef | ast.ClassDef):
                lines[prefix + node.name] = node.lineno
                visit(node.body, f"{prefix}{node.name}.")

    visit(ast.parse(file.read_text(encoding="utf-8")).body, "")
    return lines
