"""What is there without extras, and that whatever needs one says so."""

import ast
import re
import subprocess
import sys
import tomllib
from importlib.metadata import packages_distributions
from pathlib import Path

import pytest

from deniable.errors import EXTRAS, MissingExtraError, from_extras

ROOT = Path(__file__).resolve().parents[1]
PACKAGES = {
    "deniable": ROOT / "src" / "deniable",
    "reproduction": ROOT / "workflow" / "reproduction",
}
BLOCKED = f"""
import sys
sys.path.append("workflow")

class Absent:
    def find_spec(self, name, path=None, target=None):
        if name.partition(".")[0] in {set(EXTRAS)!r}:
            raise ModuleNotFoundError(f"No module named {{name!r}}", name=name)

sys.meta_path.insert(0, Absent())
"""
# Whose names need an extra, all or some: linear programs, downloads, pages and figures.
WITH_EXTRAS = {
    *("deniable.design", "deniable.design.programs", "deniable.datasets", "deniable.display"),
    *(
        "deniable.contingency",
        "deniable.plans",
        "deniable.plans.comparison",
        "reproduction.pipeline",
        "reproduction.report",
    ),
}


def without_extras(code: str, *arguments: str) -> subprocess.CompletedProcess[str]:
    command = [sys.executable, "-c", BLOCKED + code, *arguments]
    return subprocess.run(command, capture_output=True, text=True, check=False, cwd=ROOT)


def test_every_name_of_the_package_is_there_without_extras() -> None:
    done = without_extras("import deniable\nfor name in dir(deniable): getattr(deniable, name)")
    assert (done.returncode, done.stderr) == (0, "")


def test_other_names_are_there_too_or_tell_the_extra() -> None:
    folders = [
        file.parent.relative_to(package.parent)
        for package in PACKAGES.values()
        for file in package.glob("*/**/__init__.pyi")
    ]
    assert len(folders) > 20
    code = """
from importlib import import_module
from deniable.errors import MissingExtraError
for place in sys.argv[1:]:
    folder = import_module(place)
    for name in dir(folder):
        try:
            getattr(folder, name)
        except MissingExtraError as error:
            print(place, error, sep=": ")
"""
    done = without_extras(code, *(".".join(folder.parts) for folder in folders))
    assert (done.returncode, done.stderr) == (0, "")
    told = [line.partition(": ") for line in done.stdout.splitlines()]
    assert {place for place, _, _ in told} == WITH_EXTRAS
    form = r"this needs (\w+), which is not installed: pip install 'deniable\[(\w+)\]'"
    packages = [re.fullmatch(form, message) for _, _, message in told]
    assert all(found and EXTRAS[found[1]] == found[2] for found in packages)


def test_a_command_that_needs_an_extra_names_it(tmp_path: Path) -> None:
    file = tmp_path / "specification.yaml"
    file.write_text("categories: {a: 0.5, b: 0.5}\nepsilon: 1\n", encoding="utf-8")
    code = "from deniable.cli import main\nsys.exit(main(sys.argv[1:]))"
    done = without_extras(code, "design", str(file))
    assert done.returncode == 2
    assert done.stderr == (
        "deniable: error: this needs highspy, which is not installed: "
        "pip install 'deniable[design]'\n"
    )


def test_a_file_of_ones_own_needs_no_extra(tmp_path: Path) -> None:
    """All five commands; what an extra adds is named, before any work is done for it."""
    (tmp_path / "s.csv").write_text("sex,age\n" + "F,1\nM,2\nM,3\n" * 40, encoding="utf-8")
    code = """
import os, contextlib, pathlib
from deniable.cli import main
os.chdir(sys.argv[1])
with open("s.yaml", "w") as file, contextlib.redirect_stdout(file):
    assert main(["schema", "s.csv"]) == 0
text = pathlib.Path("s.yaml").read_text().replace("status: drafted", "status: declared")
pathlib.Path("s.yaml").write_text(text)
asked = ["--epsilon", "2"]
for command in (
    ["compare", "s.csv", "s.yaml", *asked],
    ["plan", "s.yaml", *asked, "--out", "p.json"],
    ["ledger", "init", "l"],
    ["protect", "s.csv", "p.json", "--out", "r", "--ledger", "l", "--population", "people"],
    ["estimate", "r/public", "--table", "sex,age", "--test", "independence"],
):
    assert main(command) == 0, command
for command in (
    ["compare", "s.csv", "s.yaml", *asked, "--out", "pictures"],
    ["estimate", "r/public", "--format", "html"],
    ["explore", "s.yaml", "--records", "120", "--out", "explore.html"],
):
    assert main(command) == 2, command
print(os.path.exists("pictures"))
"""
    done = without_extras(code, str(tmp_path))
    assert done.returncode == 0, done.stderr
    assert "designed is not compared: this needs highspy" in done.stdout
    assert done.stdout.endswith("False\n")
    assert done.stderr.count("deniable[report]") == 3


def test_a_digest_tells_what_is_not_installed() -> None:
    code = """
from importlib import metadata
there = metadata.version
def version(name):
    if name in ("cvxpy", "highspy", "matplotlib", "snakemake"):
        raise metadata.PackageNotFoundError(name)
    return there(name)
metadata.version = version
from reproduction.pipeline.code_digest import code_digests, run_facts, versions
print(versions()["cvxpy"], run_facts()["snakemake"], versions()["numpy"] == there("numpy"))
print("scripts/plot.py" in code_digests("workflow/scripts/plot.py"))
"""
    done = without_extras(code)
    assert (done.stdout, done.stderr) == ("not installed not installed True\nTrue\n", "")


def test_what_is_no_extra_is_not_explained_away() -> None:
    with pytest.raises(ModuleNotFoundError, match="no_such_module"), from_extras():
        import no_such_module  # noqa: F401, PLC0415
    with pytest.raises(MissingExtraError, match=r"deniable\[numeric\]"), from_extras():
        raise ModuleNotFoundError("No module named 'sklearn.tree'", name="sklearn.tree")


def named(project: dict, extra: str) -> set[str]:
    """Names of what an extra has; without one, of what every installation has."""
    listed = project["optional-dependencies"][extra] if extra else project["dependencies"]
    return {re.match(r"[\w-]+", text)[0] for text in listed}


def test_each_package_is_of_the_extra_that_pyproject_says() -> None:
    project = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["project"]
    extras = project["optional-dependencies"]
    assert set(EXTRAS.values()) == set(extras) - {"all", "build", "dev", "docs"}
    owners = packages_distributions()
    for package, extra in EXTRAS.items():
        (owner,) = {name.lower() for name in owners[package]}
        owner = "jinja2" if owner == "markupsafe" else owner  # which it comes with
        has = [name for name in (*EXTRAS.values(), "") if owner in named(project, name)]
        assert set(has) == {extra}, package


def names_of(node: ast.stmt) -> set[str]:
    if isinstance(node, ast.Import):
        return {alias.name.partition(".")[0] for alias in node.names}
    module = node.module if isinstance(node, ast.ImportFrom) else None
    return {module.partition(".")[0]} if module else set()


def test_every_import_from_an_extra_tells_which() -> None:
    """Studies and figures of the papers too: catalogs load them (`reproduction.study.resolve`)."""
    bare, seen = [], set()
    files = [file for package in PACKAGES.values() for file in sorted(package.rglob("*.py"))]
    for file in files:
        tree = ast.parse(file.read_text(encoding="utf-8"))
        blocks = [node for node in ast.walk(tree) if isinstance(node, ast.With)]
        guarded = {
            statement
            for block in blocks
            if ast.unparse(block.items[0].context_expr) == "from_extras()"
            for statement in block.body
        }
        of_a_paper = PACKAGES["reproduction"] / "papers" in file.parents
        for node in ast.walk(tree):
            if isinstance(node, ast.Import | ast.ImportFrom) and (found := names_of(node)):
                seen |= found & set(EXTRAS)
                if found & set(EXTRAS) and node not in guarded and not of_a_paper:
                    bare.append(f"{file.name}: {ast.unparse(node)}")
    assert bare == []
    assert seen == set(EXTRAS) - {"psutil", "snakemake"}  # which the workflow imports
