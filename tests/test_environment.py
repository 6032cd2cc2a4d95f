"""The lock, environment.yml and pyproject.toml say the same."""

import re
import subprocess
import sys
import tomllib
from pathlib import Path

import pytest
import yaml

ROOT = Path(__file__).resolve().parents[1]

# Written out here as well as in tools/write_environment.py: a slip there is then seen here.
ONLY_ON_PYPI = ["axe-core-python"]
CONDA_NAMES = {
    "snakemake": {"snakemake": "snakemake", "pygments": "pygments"},
}


@pytest.fixture(scope="module")
def project() -> dict:
    return tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["project"]


@pytest.fixture(scope="module")
def lock() -> str:
    return (ROOT / "requirements.lock").read_text(encoding="utf-8")


@pytest.fixture(scope="module")
def entries(lock: str) -> list[str]:
    """One text for each requirement, its continuation lines joined."""
    text = re.sub(r"^#.*\n", "", lock, flags=re.MULTILINE).replace("\\\n", " ")
    return [line for line in text.splitlines() if line.strip()]


@pytest.fixture(scope="module")
def versions(entries: list[str]) -> dict[str, str]:
    return {entry.split("==")[0]: re.split(r"[\s;]", entry.split("==")[1])[0] for entry in entries}


@pytest.fixture(scope="module")
def direct(project: dict) -> set[str]:
    requirements = [*project["dependencies"], *project["optional-dependencies"]["dev"]]
    return {re.match(r"[A-Za-z0-9._-]+", text)[0].lower() for text in requirements}


@pytest.fixture(scope="module")
def environment() -> dict:
    return yaml.safe_load((ROOT / "environment.yml").read_text(encoding="utf-8"))


@pytest.mark.parametrize("text", ["://", "--index", "--extra-index", "--find", "file:", " @ "])
def test_lock_names_no_address(lock: str, text: str) -> None:
    assert text not in lock


def test_lock_pins_and_hashes_every_requirement(entries: list[str]) -> None:
    pattern = re.compile(
        r"^[a-z0-9]([a-z0-9._-]*[a-z0-9])?==[0-9][^\s;]*(\s*;[^#]*?)?(\s+--hash=sha256:[0-9a-f]{64})+\s*$"
    )
    assert len(entries) > 50
    assert [entry[:80] for entry in entries if not pattern.match(entry)] == []


def test_lock_has_one_version_of_each_package(entries: list[str], versions: dict[str, str]) -> None:
    assert len(entries) == len(versions)


def test_lock_has_every_direct_dependency(direct: set[str], versions: dict[str, str]) -> None:
    assert direct - set(versions) == set()


def test_conda_environment_lists_the_direct_dependencies_and_nothing_else(
    environment: dict, direct: set[str], versions: dict[str, str]
) -> None:
    conda = {}
    for name in direct - set(ONLY_ON_PYPI):
        for listed, pinned in CONDA_NAMES.get(name, {name: name}).items():
            conda[listed] = versions[pinned]
    listed = [item for item in environment["dependencies"] if isinstance(item, str)]
    pins = [item for item in listed if item != "pip" and not item.startswith("python ")]
    assert len(listed) == len(pins) + 2
    assert len(pins) == len(conda)
    assert dict(item.split("=") for item in pins) == conda


def test_conda_environment_has_the_project_python_range(environment: dict, project: dict) -> None:
    assert f"python {project['requires-python']}" in environment["dependencies"]


def test_conda_environment_installs_by_pip_the_project_and_what_is_nowhere_else(
    environment: dict, versions: dict[str, str]
) -> None:
    assert environment["name"] == "deniable"
    assert environment["channels"] == ["conda-forge", "bioconda", "nodefaults"]
    assert [item for item in environment["dependencies"] if isinstance(item, dict)] == [
        {"pip": ["-e .", *(f"{name}=={versions[name]}" for name in ONLY_ON_PYPI)]}
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
