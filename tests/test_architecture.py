"""The shape of the house: which room may know which, and what is not kept in it."""

import ast
import re
import subprocess
from collections.abc import Iterator
from pathlib import Path

import pytest

from deniable.papers.columns import names_of_tables

ROOT = Path(__file__).resolve().parents[1]
PACKAGE = ROOT / "src" / "deniable"
SCRIPTS = sorted((ROOT / "workflow" / "scripts").glob("*.py"))

# Ground first: a folder, or a module beside them, imports only from lines above its own.
LAYERS = (
    ("errors", "validation"),
    ("files", "sampling"),
    ("records", "display"),
    ("channels", "datasets"),
    ("estimation", "privacy", "design.problem"),
    ("contingency", "idp", "randomized_response", "rrba", "study", "design.solvers"),
    ("idp.audit", "design"),
    ("pram",),
    ("release",),
    ("release.categorical", "release.numeric", "release.collection",
     "papers.multirr", "papers.pram", "papers.idp", "papers.rrba"),
    ("papers",),
    ("pipeline",),
    ("report",),
    ("cli", "__main__"),
)  # fmt: skip
# Versions and the package's own folder, for `provenance`.
HALL = ""
SMALL = 300_000
BASELINE = ROOT / "tests" / "baseline"
KEPT = names_of_tables()


def room_of(file: Path) -> str:
    parts = file.relative_to(PACKAGE).with_suffix("").parts
    return ".".join(part for part in parts if part != "__init__")


MODULES = {room_of(file): file for file in sorted(PACKAGE.rglob("*.py"))}


def imports(file: Path) -> Iterator[str]:
    """Yield the full names of all modules that a file imports, wherever it does so."""
    for node in ast.walk(ast.parse(file.read_text(encoding="utf-8"))):
        if isinstance(node, ast.Import):
            yield from (alias.name for alias in node.names)
        elif isinstance(node, ast.ImportFrom):
            assert node.level == 0, f"{file}: a relative import, which code_digest does not follow"
            assert node.module
            yield node.module
            yield from (f"{node.module}.{alias.name}" for alias in node.names)


def rooms_known_to(room: str) -> set[str]:
    names = {
        name.removeprefix("deniable").lstrip(".")
        for name in imports(MODULES[room])
        if name.split(".")[0] == "deniable"
    }
    known = {name for name in names if name in MODULES}
    # `from deniable import simplex` names the hall only on the way.
    return known - {room} - ({HALL} if len(known) > 1 else set())


def test_every_room_is_on_the_list_once() -> None:
    assert sorted(ROOMS) == sorted(set(MODULES) - {HALL})


@pytest.mark.parametrize("room", ROOMS)
def test_a_room_imports_only_from_rooms_above_it(room: str) -> None:
    below = set(ROOMS[ROOMS.index(room) :])
    assert rooms_known_to(room) & below == set()


def test_the_hall_imports_nothing() -> None:
    assert rooms_known_to(HALL) == set()


def test_no_room_leads_back_to_itself() -> None:
    # Follows from the order; said on its own for whoever changes the order.
    left = {room: rooms_known_to(room) for room in MODULES}
    while free := [room for room, known in left.items() if not known & set(left)]:
        for room in free:
            del left[room]
    assert left == {}


@pytest.mark.parametrize("room", MODULES)
def test_the_library_knows_no_snakemake(room: str) -> None:
    assert "snakemake" not in {name.split(".")[0] for name in imports(MODULES[room])}


@pytest.mark.parametrize("script", SCRIPTS, ids=lambda path: path.stem)
def test_a_script_is_short_and_holds_no_logic(script: Path) -> None:
    text = script.read_text(encoding="utf-8")
    tree = ast.parse(text)
    assert len(text.splitlines()) < 60
    assert ast.get_docstring(tree)
    if script.name != "job.py":
        kinds = (ast.FunctionDef, ast.AsyncFunctionDef, ast.ClassDef, ast.Lambda)
        assert not any(isinstance(node, kinds) for node in ast.walk(tree))
        assert "with job(snakemake):" in text


def test_every_script_belongs_to_a_rule() -> None:
    rules = "".join(f.read_text("utf-8") for f in (ROOT / "workflow" / "rules").glob("*.smk"))
    named = set(re.findall(r'"\.\./scripts/(\w+\.py)"', rules))
    assert named == {script.name for script in SCRIPTS} - {"job.py"}
    # The digest of each rule is that of its own script.
    assert set(re.findall(r'plan\.code\("(\w+\.py)"\)', rules)) == named


def test_the_snakefile_is_a_table_of_contents() -> None:
    text = (ROOT / "Snakefile").read_text(encoding="utf-8")
    assert len(text.splitlines()) < 60
    assert "def " not in text
    assert re.findall(r"^rule (\w+):", text, re.MULTILINE) == ["all"]


# -- what is kept in the repository ----------------------------------------------------------------


@pytest.fixture(scope="module")
def tracked() -> list[Path]:
    done = subprocess.run(
        ["git", "ls-files", "-z"], cwd=ROOT, capture_output=True, text=True, check=False
    )
    files = [ROOT / name for name in done.stdout.split("\0") if name]
    if not files:
        pytest.skip("no git checkout")
    return [file for file in files if file.is_file()]


def text_of(file: Path) -> str:
    try:
        return file.read_text(encoding="utf-8")
    except UnicodeDecodeError:
        return ""


def test_no_file_names_a_folder_of_a_machine(tracked: list[Path]) -> None:
    # Written in pieces, so that this file passes too.
    places = re.compile("|".join(rf"(?<![\w.$)}}-])/{name}/" for name in ("work", "root", "home")))
    assert [str(file) for file in tracked if places.search(text_of(file))] == []


def test_no_file_names_a_package_registry(tracked: list[Path]) -> None:
    hosts = ["pypi" + ".org", "python" + "hosted", "conda." + "anaconda", "registry." + "npmjs"]
    found = [
        (str(file), host) for file in tracked for host in hosts if host in text_of(file).lower()
    ]
    assert found == []


def test_addresses_of_data_stand_in_the_manifest_alone(tracked: list[Path]) -> None:
    for file in tracked:
        inside = file.relative_to(ROOT).parts[0] in ("src", "workflow", "config", "profiles")
        if inside or file.name in ("Snakefile", "Makefile", "pyproject.toml"):
            addresses = re.findall(r"https?://[\w.-]*\w", text_of(file))
            assert addresses == [], file


def test_no_data_set_is_committed(tracked: list[Path]) -> None:
    for file in tracked:
        assert file.stat().st_size < SMALL, f"{file} has {file.stat().st_size:,} bytes"
        assert file.suffix not in (".data", ".parquet", ".rda", ".xlsx", ".zip", ".gz"), file
        # The numbers that a run must reproduce are results, a table each.
        if file.suffix == ".csv" and not (BASELINE in file.parents and file.stem in KEPT):
            assert len(text_of(file).splitlines()) < 500, file


def test_surrogates_hold_parameters_and_no_records(tracked: list[Path]) -> None:
    for file in tracked:
        if file.parent.name == "surrogates" and file.suffix == ".json":
            assert file.stat().st_size < 100_000
