"""A digest follows the code that a script imports, and nothing else."""

import ast
import shutil
import string
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from deniable.release import LANES

from reproduction.papers import ANALYSES, FIGURES, PAGES, STUDIES, TABLES
from reproduction.pipeline import code_digest as provenance

ROOT = Path(__file__).resolve().parents[3]
SCRIPTS = sorted((ROOT / "workflow" / "scripts").glob("*.py"))
PACKAGES = provenance.PACKAGES


CHANGED: dict[Path, str] = {}


@pytest.fixture(scope="module")
def copy(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("copy")
    ignore = shutil.ignore_patterns("__pycache__")
    for name, place in PACKAGES.items():
        shutil.copytree(place, folder / name, ignore=ignore)
    shutil.copytree(ROOT / "workflow" / "scripts", folder / "scripts", ignore=ignore)
    return folder


@pytest.fixture
def copied(copy: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Path]:
    """A copy of both packages and the scripts, which the digests are then taken of."""
    monkeypatch.setattr(provenance, "PACKAGES", {name: copy / name for name in PACKAGES})
    yield copy
    for file, text in CHANGED.items():
        file.write_text(text, encoding="utf-8")
    CHANGED.clear()
    forget()


def forget() -> None:
    """Have the next digest be one of a new process, which has read nothing yet."""
    for kept in ("_imports", "_handed_on", "_behind", "_content"):
        getattr(provenance, kept).cache_clear()


def digest(copied: Path, script: str, *entries: Any) -> str:
    forget()
    return provenance.code_digest(copied / "scripts" / script, *entries)


def digests_of_jobs(copied: Path) -> dict[str, str]:
    """The digests of all that the catalogs say, as the rules ask for them."""
    jobs: dict[str, tuple[str, Any]] = {"report": ("report.py", PAGES)}
    jobs |= {f"simulate {name}": ("simulate.py", study) for name, study in STUDIES.items()}
    jobs |= {
        f"collect {name}": ("collect.py", (table, STUDIES[table.study].comparison))
        for name, table in TABLES.items()
    }
    jobs |= {f"analyse {name}": ("analyse.py", each) for name, each in ANALYSES.items()}
    jobs |= {f"draw {name}": ("draw.py", figure) for name, figure in FIGURES.items()}
    forget()
    scripts = copied / "scripts"
    return {
        name: provenance.code_digest(scripts / script, entry)
        for name, (script, entry) in jobs.items()
    }


def change(file: Path) -> None:
    text = file.read_text(encoding="utf-8")
    CHANGED.setdefault(file, text)
    file.write_text(f"{text}\n# changed\n", encoding="utf-8")


TABLE_1 = FIGURES["multirr_table1"]
CLUSTERS = STUDIES["multirr_tables"]
DRAW = LANES["categorical"].draw


@pytest.mark.parametrize(
    ("script", "entry", "module"),
    [
        ("draw.py", TABLE_1, "reproduction/papers/multirr/figures/tables.py"),
        ("draw.py", TABLE_1, "deniable/files.py"),
        ("simulate.py", CLUSTERS, "reproduction/papers/multirr/queries/clusters.py"),
        ("simulate.py", CLUSTERS, "deniable/estimation/metrics.py"),
        ("simulate.py", CLUSTERS, "deniable/estimation/simplex.py"),
        ("simulate.py", CLUSTERS, "deniable/channels/keep_or_replace.py"),  # three imports away
        ("simulate.py", CLUSTERS, "deniable/channels/__init__.py"),
        ("make_release.py", DRAW, "deniable/sampling/keyed.py"),
        ("report.py", PAGES, "reproduction/report/render.py"),
        ("report.py", PAGES, "reproduction/papers/pram/sections.py"),
        ("report.py", PAGES, "reproduction/papers/rrba/in_short.py"),
    ],
)
def test_a_changed_module_behind_a_script_changes_its_digest(
    copied: Path, script: str, entry: Any, module: str
) -> None:
    before = digest(copied, script, entry)
    change(copied / module)
    assert digest(copied, script, entry) != before


@pytest.mark.parametrize(
    ("script", "entry", "module"),
    [
        ("draw.py", TABLE_1, "deniable/release/categorical/design.py"),
        ("draw.py", TABLE_1, "reproduction/report/render.py"),
        ("draw.py", TABLE_1, "reproduction/papers/pram/figures.py"),
        ("simulate.py", CLUSTERS, "reproduction/papers/multirr/figures/tables.py"),
        ("simulate.py", CLUSTERS, "deniable/release/categorical/design.py"),
        ("simulate.py", CLUSTERS, "deniable/privacy/audit.py"),
        ("prepare_data.py", (), "reproduction/study/engine.py"),
        ("make_release.py", DRAW, "reproduction/papers/multirr/queries/clusters.py"),
        ("report.py", PAGES, "deniable/datasets/surrogates.py"),
    ],
)
def test_a_changed_module_that_is_not_behind_a_script_does_not(
    copied: Path, script: str, entry: Any, module: str
) -> None:
    before = digest(copied, script, entry)
    change(copied / module)
    assert digest(copied, script, entry) == before


def test_a_digest_follows_the_lane_of_a_release(copied: Path) -> None:
    before = {lane: digest(copied, "make_release.py", LANES[lane].draw) for lane in LANES}
    change(copied / "deniable" / "release" / "numeric" / "design.py")
    after = {lane: digest(copied, "make_release.py", LANES[lane].draw) for lane in LANES}
    assert {lane for lane in LANES if before[lane] != after[lane]} == {"numeric"}


def test_a_digest_covers_the_script_and_what_scripts_share(copied: Path) -> None:
    before = digest(copied, "draw.py")
    change(copied / "reproduction" / "pipeline" / "jobs.py")
    shared = digest(copied, "draw.py")
    change(copied / "scripts" / "draw.py")
    assert len({before, shared, digest(copied, "draw.py")}) == 3


def test_a_digest_does_not_depend_on_the_place(copied: Path) -> None:
    for script in ("simulate.py", "report.py", "draw.py"):
        there = digest(copied, script)
        with pytest.MonkeyPatch.context() as patch:
            patch.setattr(provenance, "PACKAGES", PACKAGES)
            forget()
            assert provenance.code_digest(ROOT / "workflow" / "scripts" / script) == there


@pytest.mark.parametrize("script", SCRIPTS, ids=lambda path: path.stem)
def test_every_script_has_the_code_that_all_share_behind_it(script: Path) -> None:
    assert "jobs.py" in {path.name for path in provenance._closure(script)}


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
    files = {path for name in names for path in provenance.module_files(name)}
    return {path for path in files if not provenance._is_catalog(path)}


def test_imports_are_found_as_the_syntax_has_them() -> None:
    files = [file for name in ("src", "workflow") for file in (ROOT / name).rglob("*.py")]
    assert len(files) > 150
    for file in files:
        assert set(provenance._imports(file)) == imports_by_syntax(file), file


def test_imports_of_every_form_are_found(tmp_path: Path) -> None:
    file = tmp_path / "script.py"
    file.write_text(
        "import deniable.files, deniable.errors as errors  # both\n"
        "from deniable import (\n    errors,  # a (first) one\n    files as p,\n)\n"
        "def later():\n    from deniable.records.domain import Domain\n"
        "if True:\n\timport  reproduction.study.grid\n"
        "'''\n>>> from deniable.randomized_response.protocols import never\n'''\n"
    )
    found = {provenance._label(path) for path in provenance._imports(file)}
    named = ("errors", "files", "records/domain", "__init__")
    assert found == {f"deniable/{name}.py" for name in named} | {"reproduction/study/grid.py"}


def module_of(place: str) -> str:
    return f"reproduction/{place.partition(':')[0].replace('.', '/')}.py"


# What runs a study's simulator itself: the distances behind Tables 4 and 5, the methods by epsilon.
SIMULATE_TOO = {
    "reproduction/papers/rrba/released_tables.py": {"analyse rrba_fig7"},
    "reproduction/papers/multirr/queries/adjusted.py": {"simulate multirr_epsilon"},
}


def readers_of(simulated: set[str]) -> set[str]:
    """Return the jobs that read what studies, or tables of them, leave."""
    tables = {name for name, each in TABLES.items() if f"simulate {each.study}" in simulated}
    found = {f"collect {name}" for name in tables}
    while True:
        analyses = {name: each for name, each in ANALYSES.items() if tables & {*each.needs}}
        more = {table.id for each in analyses.values() for table in each.tables} - tables
        if not more:
            return found | {f"analyse {name}" for name in analyses}
        tables |= more


@pytest.mark.parametrize("module", sorted({module_of(e.simulator) for e in STUDIES.values()}))
def test_a_comment_in_a_study_is_the_matter_of_its_own_jobs(copied: Path, module: str) -> None:
    own = {f"simulate {n}" for n, each in STUDIES.items() if module_of(each.simulator) == module}
    before = digests_of_jobs(copied)
    change(copied / module)
    after = digests_of_jobs(copied)
    changed = {name for name, found in after.items() if found != before[name]}
    assert own <= changed
    assert changed <= own | readers_of(own) | SIMULATE_TOO.get(module, set())


def test_a_comment_in_an_analysis_is_the_matter_of_its_own_job(copied: Path) -> None:
    before = digests_of_jobs(copied)
    change(copied / "reproduction" / "papers" / "multirr" / "example_1.py")
    after = digests_of_jobs(copied)
    assert {n for n, found in after.items() if found != before[n]} == {"analyse multirr_example1"}


def test_of_a_catalog_only_the_entry_counts(copied: Path) -> None:
    before = digests_of_jobs(copied)
    for file in (copied / "reproduction" / "papers").rglob("catalog.py"):
        change(file)
    assert digests_of_jobs(copied) == before
    figure = FIGURES["multirr_fig1"]
    other = replace(figure, shows="something else")
    assert digest(copied, "draw.py", figure) != digest(copied, "draw.py", other)
