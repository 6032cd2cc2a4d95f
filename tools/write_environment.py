"""Write environment.yml from pyproject.toml and requirements.lock, so that the three agree.

Called by ``make lock``. With ``--check`` nothing is written; an outdated file is exit code 1.
"""

import re
import sys
import tomllib
from pathlib import Path

from generated import write_or_check

ROOT = Path(__file__).resolve().parent.parent
TARGET = ROOT / "environment.yml"

# One requirement may be several packages: pygments is the extra snakemake[reports].
CONDA_NAMES = {
    "snakemake": ["snakemake", "pygments"],
}

HEADER = """\
# What runs, with the versions of requirements.lock, for conda, mamba or micromamba.
# Written by make lock (tools/write_environment.py); do not edit.
"""


def direct_dependencies(project: dict) -> list[str]:
    """Return the names of the packages of a run, sorted, without extras and versions."""
    requirements = list(project["dependencies"])
    for extra, listed in project["optional-dependencies"].items():
        requirements += listed if extra not in ("all", "build", "dev", "docs") else []
    names = {re.split(r"[^A-Za-z0-9._-]", text, maxsplit=1)[0].lower() for text in requirements}
    return sorted(names)


def locked_versions(lock: str) -> dict[str, str]:
    """Return the version of every pinned package, by name."""
    return dict(re.findall(r"^([a-z0-9._-]+)==([^\s;\\]+)", lock, flags=re.MULTILINE))


def environment(project: dict, lock: str) -> str:
    """Return the text of environment.yml."""
    versions = locked_versions(lock)
    names = sorted(
        conda for name in direct_dependencies(project) for conda in CONDA_NAMES.get(name, [name])
    )
    missing = [name for name in names if name not in versions]
    if missing:
        raise SystemExit(f"requirements.lock lacks {', '.join(missing)}: run make lock")
    lines = [
        "name: deniable",
        "channels: [conda-forge, bioconda, nodefaults]",
        "dependencies:",
        f'  - "python {project["requires-python"]}"',
        "  - pip",
        *(f"  - {name}={versions[name]}" for name in names),
        "  - pip:",
        "      - -e .",
    ]
    return HEADER + "\n".join(lines) + "\n"


def main(arguments: list[str]) -> int:
    """Write the file, or check it."""
    project = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["project"]
    text = environment(project, (ROOT / "requirements.lock").read_text(encoding="utf-8"))
    return write_or_check(TARGET, text, arguments, "make lock")


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
