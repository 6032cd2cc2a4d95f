"""A digest follows the code that a script imports, and nothing else."""

import functools
import re
import shutil
import string
import time
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from reproduction.papers import ANALYSES, FIGURES, PAGES, STUDIES, TABLES
from reproduction.pipeline import code_digest as digests

ROOT = Path(__file__).resolve().parents[3]
SCRIPTS = sorted((ROOT / "workflow" / "scripts").glob("*.py"))
PACKAGES = digests.PACKAGES


CHANGED: dict[Path, str] = {}
SLOW_MACHINE = 5
"""Times the seconds of a usual machine that a test allows."""


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
    monkeypatch.chdir(copy)
    monkeypatch.setattr(digests, "PACKAGES", {name: copy / name for name in PACKAGES})
    yield copy
    for file, text in CHANGED.items():
        file.write_text(text, encoding="utf-8")
    CHANGED.clear()
    forget()


def forget() -> None:
    """Have the next digest be one of a new process, which has read nothing yet."""
    for kept in ("_trees", "_digest", "_part", "_imported_by"):
        getattr(digests, kept).cache_clear()


def digest(copied: Path, script: str, *entries: Any) -> dict[str, str]:
    forget()
    return digests.code_digests(copied / "scripts" / script, *entries)


@functools.cache
def scripts_of_analyses() -> dict[str, str]:
    """The script of each analysis, as its rule names it."""
    rules = "".join(file.read_text("utf-8") for file in (ROOT / "workflow/rules").glob("*.smk"))
    found = dict(re.findall(r"^rule (\w+):(?:\n(?!rule ).*)*?plan\.code\(\"(.*?)\"", rules, re.M))
    return {name: found[name] for name in ANALYSES}


def digests_of_jobs(copied: Path) -> dict[str, dict[str, str]]:
    """The digests of all that the catalogs say, as the rules ask for them."""
    jobs: dict[str, tuple[str, Any]] = {"report": ("report.py", PAGES)}
    jobs |= {f"simulate {name}": ("simulate.py", study) for name, study in STUDIES.items()}
    jobs |= {
        f"collect {name}": ("collect.py", (table, STUDIES[table.study].comparison))
        for name, table in TABLES.items()
    }
    jobs |= {f"analyse {name}": (script, ()) for name, script in scripts_of_analyses().items()}
    jobs |= {f"plot {name}": ("plot.py", figure) for name, figure in FIGURES.items()}
    forget()
    scripts = copied / "scripts"
    return {
        name: digests.code_digests(scripts / script, entry)
        for name, (script, entry) in jobs.items()
    }


def change(file: Path, old: str = "", new: str = "") -> None:
    """Replace a text in a file, or add a statement to it."""
    text = file.read_text(encoding="utf-8")
    assert old in text
    CHANGED.setdefault(file, text)
    changed = text.replace(old, new, 1) if old else f"{text}\nCHANGED = True\n"
    file.write_text(changed, encoding="utf-8")


TABLE_1 = FIGURES["multirr_table1"]
CLUSTERS = STUDIES["multirr_tables"]


@pytest.mark.parametrize(
    ("script", "entry", "module"),
    [
        ("plot.py", TABLE_1, "reproduction/papers/multirr/figures.py"),
        ("plot.py", TABLE_1, "deniable/files.py"),
        ("simulate.py", CLUSTERS, "reproduction/papers/multirr/queries/clusters.py"),
        ("simulate.py", CLUSTERS, "deniable/estimation/metrics.py"),
        ("simulate.py", CLUSTERS, "deniable/estimation/simplex.py"),
        ("simulate.py", CLUSTERS, "deniable/channels/keep_or_replace.py"),  # three imports away
        ("simulate.py", CLUSTERS, "deniable/channels/__init__.py"),
        ("protect.py", (), "deniable/sampling/keyed.py"),
        ("protect.py", (), "deniable/plans/columns.py"),
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
        ("plot.py", TABLE_1, "deniable/release/drawing.py"),
        ("plot.py", TABLE_1, "reproduction/report/render.py"),
        ("plot.py", TABLE_1, "reproduction/papers/pram/figures.py"),
        ("simulate.py", CLUSTERS, "reproduction/papers/multirr/figures.py"),
        ("simulate.py", CLUSTERS, "deniable/release/drawing.py"),
        ("prepare.py", (), "reproduction/study/engine.py"),
        ("protect.py", (), "reproduction/papers/multirr/queries/clusters.py"),
        ("simulate.py", CLUSTERS, "reproduction/pipeline/provenance.py"),
    ],
)
def test_a_changed_module_that_is_not_behind_a_script_does_not(
    copied: Path, script: str, entry: Any, module: str
) -> None:
    before = digest(copied, script, entry)
    change(copied / module)
    assert digest(copied, script, entry) == before


@pytest.mark.parametrize(
    ("old", "new", "same"),
    [
        ("# Systematic rounding", "# Rounding", True),
        ("def sample(", "\n\n\ndef sample(", True),
        ("Draw `records` records", "Draw records", True),
        ('"""Surrogates of', '"""Other Surrogates of', True),
        ("users = np.bincount(row", "users = -np.bincount(row", False),
        ("UNITS = 10_000", "UNITS = 1_000", False),
    ],
)
def test_a_docstring_or_comment_changes_no_digest_and_an_operator_does(
    copied: Path, old: str, new: str, same: bool
) -> None:
    before = digest(copied, "prepare.py")
    change(copied / "deniable/datasets/surrogates.py", old, new)
    assert (digest(copied, "prepare.py") == before) == same


def test_the_text_below_a_field_changes_no_digest() -> None:
    field = "class Setting:\n    p: float = 0.5\n"
    with_text = field + '    """Retention probability."""\n'
    assert digests.syntax_tree(with_text.encode()) == digests.syntax_tree(field.encode())
    other = with_text.replace("0.5", "0.6")
    assert digests.syntax_tree(other.encode()) != digests.syntax_tree(field.encode())


def test_the_parts_behind_a_digest_name_the_folder_that_changed(copied: Path) -> None:
    parts = digest(copied, "simulate.py", CLUSTERS)
    assert {"deniable/channels", "deniable/records", "deniable/files.py"} < set(parts)
    assert {"scripts/simulate.py", "reproduction/study", digests.PYTHON} < set(parts)
    assert "reproduction/papers/multirr/queries/clusters.py" in parts
    assert digests.changed_code(parts) == []
    change(copied / "deniable/channels/keep_or_replace.py")
    forget()
    assert digests.changed_code(parts) == ["deniable/channels"]
    gone = {"deniable/gone": "0" * 16, digests.PYTHON: "0" * 16}
    assert digests.changed_code(gone) == [digests.PYTHON, "deniable/gone"]


def test_files_are_parsed_once_as_long_as_they_are_the_same(
    copied: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    first, parsed, parse = digest(copied, "prepare.py"), [], digests.syntax_tree
    monkeypatch.setattr(digests, "syntax_tree", lambda text: parsed.append(1) or parse(text))
    assert digest(copied, "prepare.py") == first
    assert len(parsed) == 1  # the script
    change(copied / "deniable/datasets/copula.py")
    assert digest(copied, "prepare.py") != first
    assert len(parsed) == 1 + 2  # the script and the changed file
    digests.CACHE.write_text("{", encoding="utf-8")
    digest(copied, "prepare.py")
    assert len(parsed) > 300


def test_a_start_takes_digests_in_less_than_a_third_of_a_second(copied: Path) -> None:
    digests_of_jobs(copied)  # once, they are parsed
    started = time.process_time()
    digests_of_jobs(copied)
    assert time.process_time() - started < 0.3 * SLOW_MACHINE


def test_a_digest_covers_the_script(copied: Path) -> None:
    before = digest(copied, "plot.py")
    change(copied / "scripts" / "plot.py")
    assert digest(copied, "plot.py") != before


def test_a_digest_does_not_depend_on_the_place(copied: Path) -> None:
    for script in ("simulate.py", "report.py", "plot.py"):
        there = digest(copied, script)
        with pytest.MonkeyPatch.context() as patch:
            patch.setattr(digests, "PACKAGES", PACKAGES)
            forget()
            assert digests.code_digests(ROOT / "workflow" / "scripts" / script) == there


@pytest.mark.parametrize("script", SCRIPTS, ids=lambda path: path.stem)
def test_every_script_has_library_code_behind_it(script: Path) -> None:
    parts = digests.code_digests(script)
    assert any(part.startswith(("deniable/", "reproduction/")) for part in parts)


def test_run_facts_name_versions_and_no_machine() -> None:
    facts = digests.run_facts()
    assert set(digests.versions()) < set(facts)
    for name, value in facts.items():
        # A version, or a digest in hexadecimal digits.
        assert value[0] in string.hexdigits, name
        assert "/" not in value
        assert len(value) < 20


def test_imports_of_every_form_are_found() -> None:
    code = b"""
import deniable.files, deniable.errors as errors  # both
from deniable import (
    errors,  # a (first) one
    texts as t,
)
def later():
    from deniable.records.domain import Domain
if True:
\timport  reproduction.study.grid
from reproduction.papers.idp import names
from reproduction.papers import STUDIES
from reproduction.pipeline import job
'''
>>> from deniable.pram import never
'''
"""
    found = {part for name in digests.syntax_tree(code).imports if (part := digests._part(name))}
    library = {f"deniable/{name}" for name in ("files.py", "errors.py", "texts.py", "records")}
    papers = {"reproduction/study", "reproduction/papers/idp/names.py"}
    assert {digests._label(part) for part in found} == library | papers


def module_of(place: str) -> str:
    return place.partition(":")[0].replace(".", "/") + ".py"


# What runs a study's simulator itself: the distances behind Tables 4 and 5, the methods by epsilon.
SIMULATE_TOO = {
    "reproduction/papers/rrba/released_tables.py": {"analyse rrba_fig7"},
    "reproduction/papers/multirr/queries/adjusted.py": {"simulate multirr_epsilon"},
    "reproduction/papers/multirr/dependence_assessment.py": {"analyse multirr_secure_sum"},
}


def readers_of(simulated: set[str]) -> set[str]:
    """Return the jobs that read what studies, or tables of them, leave."""
    tables = {name for name, each in TABLES.items() if f"simulate {each.study}" in simulated}
    found = {f"collect {name}" for name in tables}
    while True:
        analyses = {name: each for name, each in ANALYSES.items() if tables & {*each.needs}}
        more = {table.id for each in analyses.values() for table in each.tables} - tables
        if not more:
            return found | {f"analyse {name}" for name in analyses} | {"report"}
        tables |= more


@pytest.mark.parametrize("module", sorted({module_of(e.simulator) for e in STUDIES.values()}))
def test_a_change_in_a_study_is_the_matter_of_its_own_jobs(copied: Path, module: str) -> None:
    own = {f"simulate {n}" for n, each in STUDIES.items() if module_of(each.simulator) == module}
    before = digests_of_jobs(copied)
    change(copied / module)
    after = digests_of_jobs(copied)
    changed = {name for name, found in after.items() if found != before[name]}
    assert own <= changed
    assert changed <= own | readers_of(own) | SIMULATE_TOO.get(module, set())


def test_a_change_in_an_analysis_is_the_matter_of_its_own_job(copied: Path) -> None:
    before = digests_of_jobs(copied)
    change(copied / "reproduction" / "papers" / "multirr" / "secure_sum.py")
    after = digests_of_jobs(copied)
    changed = {name for name, found in after.items() if found != before[name]}
    assert changed == {"analyse multirr_secure_sum", "report"}


def test_of_a_catalog_only_the_entry_counts_unless_it_is_imported(copied: Path) -> None:
    before = digests_of_jobs(copied)
    imported = {name for name, found in before.items() if any("catalog.py" in p for p in found)}
    for file in (copied / "reproduction" / "papers").rglob("catalog.py"):
        change(file)
    after = digests_of_jobs(copied)
    changed = {name for name in before if before[name] != after[name]}
    assert changed == imported | {"report"}
    assert not any(name.startswith("simulate") for name in imported)
    figure = FIGURES["multirr_fig1"]
    other = replace(figure, shows="something else")
    assert digest(copied, "plot.py", figure) != digest(copied, "plot.py", other)
