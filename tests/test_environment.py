"""Locks, environment.yml and pyproject.toml say the same; what runs needs no developers' tools."""

import ast
import importlib.metadata
import re
import subprocess
import sys
import tomllib
from itertools import chain
from pathlib import Path

import pytest
import yaml

ROOT = Path(__file__).resolve().parents[1]

RUN = ("design", "numeric", "report", "survey", "workflow")
RUNTIME, BUILD, DEV = LOCKS = [f"requirements{part}.lock" for part in ("", "-build", "-dev")]
# Written out here as well as in tools/write_environment.py: a slip there is then seen here.
CONDA_NAMES = {
    "snakemake": {"snakemake": "snakemake", "pygments": "pygments"},
}


def named(requirements: list[str]) -> set[str]:
    return {re.match(r"[A-Za-z0-9._-]+", text)[0].lower() for text in requirements}


def entries(lock: str) -> list[str]:
    """One text for each requirement, its continuation lines joined."""
    text = re.sub(r"^#.*\n", "", lock, flags=re.MULTILINE).replace("\\\n", " ")
    return [line for line in text.splitlines() if line.strip()]


def pins(lock: str) -> dict[str, str]:
    found = [entry.split("==") for entry in entries(lock)]
    return {name: re.split(r"[\s;]", rest, maxsplit=1)[0] for name, rest, *_ in found}


@pytest.fixture(scope="module")
def project() -> dict:
    return tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["project"]


@pytest.fixture(scope="module")
def locks() -> dict[str, str]:
    return {name: (ROOT / name).read_text(encoding="utf-8") for name in LOCKS}


@pytest.fixture(scope="module")
def versions(locks: dict[str, str]) -> dict[str, str]:
    return pins(locks[RUNTIME])


@pytest.fixture(scope="module")
def direct(project: dict) -> set[str]:
    extras = project["optional-dependencies"]
    return named([*project["dependencies"], *chain.from_iterable(extras[name] for name in RUN)])


@pytest.fixture(scope="module")
def environment() -> dict:
    return yaml.safe_load((ROOT / "environment.yml").read_text(encoding="utf-8"))


@pytest.mark.parametrize("name", LOCKS)
@pytest.mark.parametrize("text", ["://", "--index", "--extra-index", "--find", "file:", " @ "])
def test_lock_names_no_address(locks: dict[str, str], name: str, text: str) -> None:
    assert text not in locks[name]


@pytest.mark.parametrize(("name", "least"), [(RUNTIME, 50), (BUILD, 3), (DEV, 20)])
def test_lock_pins_and_hashes_every_requirement(
    locks: dict[str, str], name: str, least: int
) -> None:
    pattern = re.compile(
        r"^[a-z0-9]([a-z0-9._-]*[a-z0-9])?==[0-9][^\s;]*(\s*;[^#]*?)?(\s+--hash=sha256:[0-9a-f]{64})+\s*$"
    )
    found = entries(locks[name])
    assert len(found) >= least
    assert [entry[:80] for entry in found if not pattern.match(entry)] == []


@pytest.mark.parametrize("name", LOCKS)
def test_lock_has_one_version_of_each_package(locks: dict[str, str], name: str) -> None:
    assert len(entries(locks[name])) == len(pins(locks[name]))


def test_locks_agree_on_what_several_of_them_have(locks: dict[str, str]) -> None:
    # Twice only where another lock needs it on further systems; the same version then.
    every = [item for name in LOCKS for item in pins(locks[name]).items()]
    assert len({name for name, _ in every}) == len(set(every))
    texts = [entry for name in LOCKS for entry in entries(locks[name])]
    assert len(texts) == len(set(texts))


def test_each_lock_has_the_direct_dependencies_that_it_is_for(
    project: dict, direct: set[str], locks: dict[str, str]
) -> None:
    extras = project["optional-dependencies"]
    assert set(extras) == {"all", *RUN, "build", "dev", "docs"}
    assert extras["all"] == [f"deniable[{','.join(RUN)}]"]
    assert direct - set(pins(locks[RUNTIME])) == set()
    assert named(extras["build"]) <= set(pins(locks[BUILD]))
    # What developers need may be something that runs or builds anyway.
    assert named([*extras["dev"], *extras["docs"]]) <= {
        name for lock in locks.values() for name in pins(lock)
    }


def test_the_library_alone_needs_eight_packages(project: dict) -> None:
    needed = "cryptography lazy-loader numpy pandas pyarrow pydantic pyyaml scipy"
    assert sorted(named(project["dependencies"])) == needed.split()


def test_what_runs_is_locked_without_tools_and_build_backend(
    project: dict, locks: dict[str, str]
) -> None:
    extras = project["optional-dependencies"]
    assert (
        named([*extras["build"], *extras["dev"], *extras["docs"]]) & set(pins(locks[RUNTIME]))
        == set()
    )
    assert named(extras["dev"]) & set(pins(locks[BUILD])) == set()


APART = ("write_networks.py", "build_docs.py", "handbook/reference.py")


def imported(file: Path) -> set[str]:
    """Top names of everything that a file imports, wherever in it."""
    found = set()
    for node in ast.walk(ast.parse(file.read_text(encoding="utf-8"))):
        if isinstance(node, ast.Import):
            found |= {alias.name.split(".")[0] for alias in node.names}
        elif isinstance(node, ast.ImportFrom) and node.level == 0 and node.module:
            found.add(node.module.split(".")[0])
    return found


def test_code_that_runs_imports_only_what_is_locked_to_run(versions: dict[str, str]) -> None:
    """The library, the workflow, and the tools that other targets than tests call."""
    files = [*ROOT.glob("src/**/*.py"), *ROOT.glob("workflow/**/*.py"), *ROOT.glob("tools/**/*.py")]
    # Called by hand, and rest on developers' tools.
    apart = {ROOT / "tools" / n for n in APART}
    files = [file for file in files if file not in apart]
    assert len(files) > 100
    names = set().union(*map(imported, files))
    owners = importlib.metadata.packages_distributions()
    foreign = {
        name: {re.sub(r"[-_.]+", "-", owner).lower() for owner in owners[name]}
        for name in names & set(owners) - {"deniable"}
    }
    assert {"numpy", "pyarrow"} <= set(foreign)
    assert {name: found for name, found in foreign.items() if not found & set(versions)} == {}


def test_conda_environment_lists_the_direct_dependencies_and_nothing_else(
    environment: dict, direct: set[str], versions: dict[str, str]
) -> None:
    conda = {}
    for name in direct:
        for listed, pinned in CONDA_NAMES.get(name, {name: name}).items():
            conda[listed] = versions[pinned]
    listed = [item for item in environment["dependencies"] if isinstance(item, str)]
    pins = [item for item in listed if item != "pip" and not item.startswith("python ")]
    assert len(listed) == len(pins) + 2
    assert len(pins) == len(conda)
    assert dict(item.split("=") for item in pins) == conda


def test_conda_environment_has_the_project_python_range(environment: dict, project: dict) -> None:
    assert f"python {project['requires-python']}" in environment["dependencies"]


def test_conda_environment_installs_by_pip_the_project_and_nothing_else(environment: dict) -> None:
    assert environment["name"] == "deniable"
    assert environment["channels"] == ["conda-forge", "bioconda", "nodefaults"]
    assert [item for item in environment["dependencies"] if isinstance(item, dict)] == [
        {"pip": ["-e ."]}
    ]


def test_conda_environment_is_what_the_generator_writes() -> None:
    command = [sys.executable, str(ROOT / "tools" / "write_environment.py"), "--check"]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    assert (done.returncode, done.stderr) == (0, "")


def test_environment_script_reads_the_python_range(project: dict) -> None:
    # tools/make_environment.sh finds the range with this pattern.
    text = (ROOT / "pyproject.toml").read_text(encoding="utf-8")
    pattern = r'^requires-python = ">=([0-9.]*),<([0-9.]*)"$'
    low, high = re.search(pattern, text, re.MULTILINE).groups()
    assert project["requires-python"] == f">={low},<{high}"


@pytest.mark.parametrize("name", ["key", "entry.json", "journal.json", "receipt.json"])
def test_clean_keeps_production_releases(tmp_path: Path, name: str) -> None:
    file = tmp_path / "results" / "releases" / "survey" / "private" / name
    file.parent.mkdir(parents=True)
    file.touch()
    command = ["make", "-f", str(ROOT / "Makefile"), "clean"]
    done = subprocess.run(command, cwd=tmp_path, capture_output=True, text=True, check=False)
    assert done.returncode != 0
    assert f"releases/survey/private/{name}" in done.stdout
    assert "move them elsewhere first" in done.stderr
    assert file.exists()
    file.rename(file.with_name("risk.csv"))  # as in a test release
    subprocess.run(command, cwd=tmp_path, capture_output=True, check=True)
    assert not (tmp_path / "results").exists()
