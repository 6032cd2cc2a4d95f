"""A digest follows the code that a script imports, and nothing else."""

import ast
import shutil
import string
from pathlib import Path

import pytest

from deniable.pipeline import code_digest as provenance

ROOT = Path(__file__).resolve().parents[2]
SCRIPTS = sorted((ROOT / "workflow" / "scripts").glob("*.py"))


@pytest.fixture
def copied(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A copy of library and scripts, which the digests are then taken of."""
    ignore = shutil.ignore_patterns("__pycache__")
    shutil.copytree(ROOT / "src" / "deniable", tmp_path / "src" / "deniable", ignore=ignore)
    shutil.copytree(ROOT / "workflow" / "scripts", tmp_path / "scripts", ignore=ignore)
    monkeypatch.setattr(provenance, "PACKAGE", tmp_path / "src" / "deniable")
    return tmp_path


def digest(copied: Path, script: str) -> str:
    provenance._imports.cache_clear()  # what a new process starts with
    return provenance.code_digest(copied / "scripts" / script)


def change(file: Path) -> None:
    assert file.is_file()
    file.write_text(file.read_text(encoding="utf-8") + "\n# changed\n", encoding="utf-8")


@pytest.mark.parametrize(
    ("script", "module"),
    [
        ("draw.py", "papers/multirr/figures/tables.py"),
        ("draw.py", "files.py"),
        ("simulate.py", "papers/multirr/cluster_queries.py"),
        ("simulate.py", "estimation/metrics.py"),
        ("simulate.py", "estimation/simplex.py"),
        ("simulate.py", "channels/keep_or_replace.py"),  # three imports away
        ("simulate.py", "channels/__init__.py"),
        ("protect_release.py", "sampling/sources.py"),
        ("report.py", "report/render.py"),
    ],
)
def test_a_changed_module_behind_a_script_changes_its_digest(
    copied: Path, script: str, module: str
) -> None:
    before = digest(copied, script)
    change(copied / "src" / "deniable" / module)
    assert digest(copied, script) != before


@pytest.mark.parametrize(
    ("script", "module"),
    [
        ("draw.py", "release/categorical/design.py"),
        ("draw.py", "report/render.py"),
        ("simulate.py", "papers/multirr/figures/tables.py"),
        ("simulate.py", "release/categorical/design.py"),
        ("simulate.py", "privacy/audit.py"),
        ("prepare_data.py", "study/engine.py"),
        ("protect_release.py", "papers/multirr/cluster_queries.py"),
        ("report.py", "datasets/surrogates.py"),
    ],
)
def test_a_changed_module_that_is_not_behind_a_script_does_not(
    copied: Path, script: str, module: str
) -> None:
    before = digest(copied, script)
    change(copied / "src" / "deniable" / module)
    assert digest(copied, script) == before


def test_a_digest_covers_the_script_and_what_scripts_share(copied: Path) -> None:
    before = digest(copied, "draw.py")
    change(copied / "scripts" / "job.py")
    shared = digest(copied, "draw.py")
    change(copied / "scripts" / "draw.py")
    assert len({before, shared, digest(copied, "draw.py")}) == 3


def test_a_digest_does_not_depend_on_the_place(copied: Path, tmp_path: Path) -> None:
    for script in ("simulate.py", "report.py", "draw.py"):
        there = digest(copied, script)
        with pytest.MonkeyPatch.context() as patch:
            patch.setattr(provenance, "PACKAGE", ROOT / "src" / "deniable")
            provenance._imports.cache_clear()
            assert provenance.code_digest(ROOT / "workflow" / "scripts" / script) == there


@pytest.mark.parametrize("script", SCRIPTS, ids=lambda path: path.stem)
def test_every_script_has_library_code_behind_it(script: Path) -> None:
    closure = {path.name for path in provenance._closure(script)}
    assert closure
    if script.name != "job.py":
        assert "job.py" in closure


def test_run_facts_name_versions_and_no_machine() -> None:
    facts = provenance.run_facts()
    assert set(provenance.REPORTED_PACKAGES) < set(facts)
    for name, value in facts.items():
        # A version, or a digest in hexadecimal digits.
        assert value[0] in string.hexdigits, name
        assert "/" not in value
        assert len(value) < 20


def imports_by_syntax(file: Path) -> set[Path]:
    """Return the files that a file imports, by its syntax tree: slow, and never wrong."""
    nodes = list(ast.walk(ast.parse(file.read_text("utf-8"))))
    names = {alias.name for node in nodes if isinstance(node, ast.Import) for alias in node.names}
    for node in nodes:
        if isinstance(node, ast.ImportFrom) and node.module:
            names |= {node.module, *(f"{node.module}.{alias.name}" for alias in node.names)}
    return {path for name in names for path in provenance.module_files(name, file.parent)}


def test_imports_are_found_as_the_syntax_has_them() -> None:
    files = [*(ROOT / "src").rglob("*.py"), *(ROOT / "workflow" / "scripts").glob("*.py")]
    assert len(files) > 250
    for file in files:
        assert set(provenance._imports(file)) == imports_by_syntax(file), file


def test_imports_of_every_form_are_found(tmp_path: Path) -> None:
    file = tmp_path / "script.py"
    file.write_text(
        "import deniable.files, deniable.errors as errors  # both\n"
        "from deniable import (\n    errors,  # a (first) one\n    files as p,\n)\n"
        "def later():\n    from deniable.records.domain import Domain\n"
        "if True:\n\timport  deniable.papers.catalog\n"
        "'''\n>>> from deniable.randomized_response.protocols import never\n'''\n"
    )
    found = {path.relative_to(provenance.PACKAGE).as_posix() for path in provenance._imports(file)}
    named = (
        "files",
        "errors",
        "records/domain",
        "papers/catalog",
        "papers/__init__",
        "records/__init__",
    )
    assert found == {"__init__.py", *(f"{name}.py" for name in named)}
