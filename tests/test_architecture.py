"""The shape of the repository: which folder may import which, and what is not kept in it."""

import ast
import functools
import re
import subprocess
from collections.abc import Iterator
from pathlib import Path

import pytest

from reproduction.papers.catalog import names_of_tables

ROOT = Path(__file__).resolve().parents[1]
PACKAGES = {
    "deniable": ROOT / "src" / "deniable",
    "reproduction": ROOT / "workflow" / "reproduction",
}
SCRIPTS = sorted((ROOT / "workflow" / "scripts").glob("*.py"))

# Ground first: a folder, or a module beside them, imports only from lines above its own. The
# library lies below the reproduction.
LAYERS_OF_LIBRARY = (
    ("arrays", "errors"),
    ("texts",),
    ("validation",),
    ("files", "sampling"),
    ("records", "display"),
    ("channels", "schema"),
    ("datasets",),
    ("estimation", "privacy", "design.programs"),
    ("contingency", "idp", "randomized_response", "rrba"),
    ("idp.audit", "design"),
    ("pram",),
    ("responses",),
    ("joint", "regression"),
    ("plans",),
    ("release",),
    ("analysis",),
    ("cli", "__main__"),
)
LAYERS_OF_REPRODUCTION = (
    ("study",),
    ("papers.multirr", "papers.pram", "papers.idp", "papers.rrba"),
    ("papers",),
    ("pipeline",),
    ("report",),
)
LAYERS = (
    *(tuple(f"deniable.{name}" for name in names) for names in LAYERS_OF_LIBRARY),
    *(tuple(f"reproduction.{name}" for name in names) for names in LAYERS_OF_REPRODUCTION),
)
SMALL = 300_000
BASELINE = ROOT / "tests" / "baseline"
KEPT = names_of_tables()


def module_of(file: Path) -> str:
    folder = next(folder for folder in PACKAGES.values() if folder in file.parents)
    parts = file.relative_to(folder.parent).with_suffix("").parts
    return ".".join(part for part in parts if part != "__init__")


MODULES = {
    module_of(file): file for folder in PACKAGES.values() for file in sorted(folder.rglob("*.py"))
}


@functools.cache
def nodes_of(file: Path) -> list[ast.AST]:
    return list(ast.walk(ast.parse(file.read_text(encoding="utf-8"))))


def attributes(nodes: list[ast.AST], name: str) -> set[str]:
    """Return what code asks of a `name` as ``name.attribute``; nothing if it stands alone, too."""
    of = [node for node in nodes if isinstance(node, ast.Attribute)]
    own = [node for node in of if isinstance(node.value, ast.Name) and node.value.id == name]
    standing = [node for node in nodes if isinstance(node, ast.Name) and node.id == name]
    return {node.attr for node in own} if len(own) == len(standing) else set()


def imports(file: Path) -> Iterator[str]:
    """Yield the full names of all modules that a file imports, wherever it does so.

    Of a folder that is imported they are those of the names that it is asked for.
    """
    for node in nodes_of(file):
        if isinstance(node, ast.Import):
            yield from (alias.name for alias in node.names)
        elif isinstance(node, ast.ImportFrom):
            assert node.level == 0, f"{file}: a relative import, which code_digests does not follow"
            assert node.module
            yield node.module
            for alias in node.names:
                yield f"{node.module}.{alias.name}"
                of = attributes(nodes_of(file), alias.asname or alias.name)
                yield from (f"{node.module}.{alias.name}.{name}" for name in of)


def module_files(name: str) -> Iterator[Path]:
    """Yield the files behind a `name` that is imported: modules, folders, what a folder exports."""
    parts = name.split(".")
    if parts[0] not in PACKAGES:
        return
    base = PACKAGES[parts[0]].joinpath(*parts[1:])
    exported = exported_by(base.parent).get(base.name, ()) if parts[1:] else ()
    for candidate in (base.with_suffix(".py"), base / "__init__.py", *exported):
        if candidate.is_file():
            yield candidate


@functools.cache
def exported_by(folder: Path) -> dict[str, tuple[Path, ...]]:
    """Return the files behind the names that a folder exports, from its stub and those below."""
    stub = folder / "__init__.pyi"
    found: dict[str, tuple[Path, ...]] = {}
    for node in nodes_of(stub) if stub.is_file() else ():
        if isinstance(node, ast.ImportFrom) and node.module:
            place = folder.joinpath(*node.module.split("."))
            for name in (alias.name for alias in node.names):
                below = (place / "__init__.py", *exported_by(place).get(name, ()))
                found[name] = below if place.is_dir() else (place.with_suffix(".py"),)
    return found


def known_to(module: str) -> set[str]:
    """Return the modules whose names a module uses, also where a folder hands them on."""
    files = {file for name in imports(MODULES[module]) for file in module_files(name)}
    # A folder's own file says what it hands on; who asks it for a name knows the name's module.
    return {module_of(file) for file in files if file.name != "__init__.py"} - {module}


def layer_of(module: str) -> tuple[int, str]:
    """Return a module's layer, and the folder (or module) by which the layers name it."""
    places = {name: level for level, names in enumerate(LAYERS) for name in names}
    parts = module.split(".")
    for length in range(len(parts), 0, -1):
        if (name := ".".join(parts[:length])) in places:
            return places[name], name
    raise AssertionError(f"no layer has {module}; enter its folder in LAYERS")


def test_a_module_imports_only_from_layers_above_its_own() -> None:
    wrong = []
    for module in MODULES.keys() - PACKAGES.keys():
        level, place = layer_of(module)
        known = {each: layer_of(each) for each in known_to(module)}
        too_low = (each for each, (of, name) in known.items() if of >= level and name != place)
        wrong += [f"{module} imports {each}" for each in too_low]
    assert wrong == [], "LAYERS has the order of folders"


def test_no_module_leads_back_to_itself() -> None:
    left = {module: known_to(module) for module in MODULES}
    while free := [module for module, known in left.items() if not known & set(left)]:
        for module in free:
            del left[module]
    assert left == {}


FOLDERS = sorted({file.parent for file in MODULES.values()})
TOOLS = sorted(file for name in ("tools", "benchmarks") for file in (ROOT / name).rglob("*.py"))
RULES = [ROOT / "Snakefile", *sorted((ROOT / "workflow" / "rules").glob("*.smk"))]
# Imports that may name a module of another folder, (file, module): why. So far none has to; what
# catalogs and lanes name as strings is no import.
REACHING: dict[tuple[str, str], str] = {}


def handed_on(folder: Path) -> set[str]:
    """Return the names of a folder's stub."""
    stub = folder / "__init__.pyi"
    nodes = nodes_of(stub) if stub.is_file() else []
    return {
        alias.name for node in nodes if isinstance(node, ast.ImportFrom) for alias in node.names
    }


def asked(file: Path) -> Iterator[tuple[str, str]]:
    """Yield the imports from the library in Python or in rules: of which place which name.

    What a folder that is imported is asked for as ``folder.name`` counts as imported from there.
    """
    text = file.read_text(encoding="utf-8")
    if file.suffix != ".py":  # rules are no Python, their imports are
        text = "\n".join(re.findall(r"^(?:from|import) [^(\n]+(?:\([^)]*\))?", text, re.MULTILINE))
    nodes = list(ast.walk(ast.parse(text)))
    for node in nodes:
        if isinstance(node, ast.Import):
            named = [(alias.name, "") for alias in node.names]
        elif isinstance(node, ast.ImportFrom):
            named = []
            for alias in node.names:
                place, of = f"{node.module}.{alias.name}", set[str]()
                package, *parts = place.split(".")
                if package in PACKAGES and PACKAGES[package].joinpath(*parts).is_dir():
                    of = attributes(nodes, alias.asname or alias.name)
                named += [(place, name) for name in sorted(of)] or [(str(node.module), alias.name)]
        else:
            continue
        yield from ((place, name) for place, name in named if place.split(".")[0] in PACKAGES)


def reached(file: Path) -> Iterator[str]:
    """Yield what a file imports of folders that it is not in, other than what they hand on."""
    for place, name in asked(file):
        package, *parts = place.split(".")
        at = PACKAGES[package].joinpath(*parts)
        in_module = at.with_suffix(".py").is_file()
        folder = at.parent if in_module else at
        inner = in_module or ((at / f"{name}.py").is_file() and name not in handed_on(at))
        # Of a folder that is taken whole, digests do not see what is used.
        own = (PACKAGES[package], *file.parents)
        whole = (at / name).is_dir() and at / name not in own
        if whole or (inner and folder not in own):
            yield f"{place}.{name}".strip(".")


def test_a_folder_is_asked_only_for_the_names_that_it_hands_on() -> None:
    found = {
        (str(file.relative_to(ROOT)), name)
        for file in (*MODULES.values(), *SCRIPTS, *TOOLS, *RULES)
        if file.is_file()
        for name in reached(file)
    }
    assert found == set(REACHING), "name it in the folder's __init__.pyi, and import it from there"


@pytest.mark.parametrize(
    ("code", "found"),
    [
        ("from deniable.channels import Channel, invariance_gap", []),
        ("from deniable.display import style", []),  # a module that its folder hands on
        ("from deniable.files import write_text", []),
        ("from deniable.channels import exact", ["deniable.channels.exact"]),
        ("from deniable.display.style import save", ["deniable.display.style.save"]),
        ("import deniable.channels.exact as e", ["deniable.channels.exact"]),
        ("import deniable.channels", ["deniable.channels"]),
        ("from deniable import channels", ["deniable.channels"]),
    ],
)
@pytest.mark.parametrize("suffix", ["py", "smk"])
def test_what_reaches_into_a_folder_is_found(
    tmp_path: Path, code: str, found: list[str], suffix: str
) -> None:
    file = tmp_path / f"file.{suffix}"
    file.write_text(f"{code}\n", encoding="utf-8")
    assert list(reached(file)) == found


@pytest.mark.parametrize(
    ("code", "found"),
    [
        ("from deniable import channels\nchannels.Channel", []),
        ("from deniable import channels as c\nc.Channel", []),
        ("from deniable import channels\nchannels.exact.f", ["deniable.channels.exact"]),
        ("from deniable import channels\nf(channels)", ["deniable.channels"]),
        ("from deniable import channels\nchannels.Channel(channels)", ["deniable.channels"]),
    ],
)
def test_a_folder_is_imported_only_for_names_that_are_seen(
    tmp_path: Path, code: str, found: list[str]
) -> None:
    file = tmp_path / "file.py"
    file.write_text(f"{code}\n", encoding="utf-8")
    assert list(reached(file)) == found


def test_a_stub_names_its_own_modules_and_what_folders_below_hand_on() -> None:
    stubs = [stub for folder in PACKAGES.values() for stub in folder.rglob("__init__.pyi")]
    for stub in stubs:
        for node in nodes_of(stub):
            if isinstance(node, ast.ImportFrom) and node.module:
                assert "." not in node.module, f"{stub} names {node.module}"
                below = stub.parent / node.module
                names = {alias.name for alias in node.names}
                assert not below.is_dir() or names <= handed_on(below), stub
                # Importing a module puts it where a name that is the same should be.
                beside = {path.stem for path in stub.parent.iterdir()}
                assert names & beside == set(), stub


def test_a_folder_says_what_it_is_for_and_is_small() -> None:
    for folder in FOLDERS:
        said = ast.get_docstring(ast.parse((folder / "__init__.py").read_text("utf-8")))
        assert said, f"{folder} does not say what it is for"
        assert len(list(folder.glob("*.py"))) - 1 <= 15, f"{folder} has more than 15 modules"


def test_a_module_is_no_longer_than_400_lines() -> None:
    lines = {name: len(file.read_text("utf-8").splitlines()) for name, file in MODULES.items()}
    assert {name: length for name, length in lines.items() if length > 400} == {}


OWN_NAMES = ("self", "cls", "super()", "os")  # os._exit is public
KINDS = {"KeepOrReplace", "DenseChannel", "ProductChannel"}


def test_nobody_calls_the_private_methods_of_another_class() -> None:
    for file in (*MODULES.values(), *TOOLS, *SCRIPTS):
        own = {node.name for node in nodes_of(file) if isinstance(node, ast.ClassDef)}
        foreign = {
            f"{ast.unparse(node.value)}.{node.attr} in line {node.lineno}"
            for node in nodes_of(file)
            if isinstance(node, ast.Attribute)
            and re.match("_[^_]", node.attr)
            and ast.unparse(node.value) not in {*OWN_NAMES, *own}
        }
        assert foreign == set(), file


def test_channels_alone_ask_of_what_kind_a_channel_is() -> None:
    for module, file in MODULES.items():
        if module.startswith("deniable.channels"):
            continue
        for node in nodes_of(file):
            if isinstance(node, ast.Call) and ast.unparse(node.func) == "isinstance":
                asked = {name.id for name in ast.walk(node.args[1]) if isinstance(name, ast.Name)}
                assert not asked & KINDS, f"{module}, line {node.lineno}: ask the channel itself"


def test_the_library_imports_neither_snakemake_nor_the_reproduction() -> None:
    for module, file in MODULES.items():
        imported = {name.split(".")[0] for name in imports(file)}
        assert "snakemake" not in imported, module
        assert module.startswith("reproduction") or "reproduction" not in imported, module


@pytest.mark.parametrize("script", SCRIPTS, ids=lambda path: path.stem)
def test_a_script_is_short_and_holds_no_logic(script: Path) -> None:
    text = script.read_text(encoding="utf-8")
    tree = ast.parse(text)
    assert len(text.splitlines()) < 60
    assert ast.get_docstring(tree)
    kinds = (ast.FunctionDef, ast.AsyncFunctionDef, ast.ClassDef, ast.Lambda)
    assert not any(isinstance(node, kinds) for node in ast.walk(tree))
    assert "with job(snakemake)" in text


def test_every_script_belongs_to_a_rule() -> None:
    rules = "".join(f.read_text("utf-8") for f in (ROOT / "workflow" / "rules").glob("*.smk"))
    named = set(re.findall(r'"\.\./scripts/(\w+\.py)"', rules))
    assert named == {script.name for script in SCRIPTS}
    # The digest of each rule is that of its own script. A production release is drawn once, of any
    # code.
    digests = set(re.findall(r'(?:plan\.code|code_of)\(\s*"(\w+\.py)"', rules))
    assert digests == named - {"publish.py"}


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
        limit = 2 * SMALL if BASELINE in file.parents else SMALL
        assert file.stat().st_size < limit, f"{file} has {file.stat().st_size:,} bytes"
        assert file.suffix not in (".data", ".parquet", ".rda", ".xlsx", ".zip", ".gz"), file
        # The numbers that a run must reproduce are results, a table each.
        if file.suffix == ".csv" and not (BASELINE in file.parents and file.stem in KEPT):
            assert len(text_of(file).splitlines()) < 500, file


def test_surrogates_hold_parameters_and_no_records(tracked: list[Path]) -> None:
    for file in tracked:
        if file.parent.name == "surrogates" and file.suffix == ".json":
            assert file.stat().st_size < 100_000


# Public properties of the object that Snakemake gives to rule files.
GIVEN = {"basedir", "configfiles", "current_basedir", "is_main_process", "storage_settings"}


@pytest.mark.parametrize("file", RULES, ids=lambda path: path.stem)
def test_a_rule_file_uses_no_private_name_of_snakemake(file: Path) -> None:
    code = re.sub(r"#.*", "", file.read_text(encoding="utf-8"))
    assert set(re.findall(r"\bworkflow\.(\w+)", code)) <= GIVEN
    assert not re.findall(r"\b(?:snakemake|workflow|rules|config)(?:\.\w+)*\._\w+", code)
