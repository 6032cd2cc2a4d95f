"""Write the locks and environment.yml from pyproject.toml. Called by ``make lock``.

All three locks are parts of one resolution. A package has one version, and is in the first lock
that needs it: to run, to build or to develop the project. Versions change only if they no longer
fit. Arguments are options of uv (``--upgrade`` for the newest versions).
"""

import re
import subprocess
import sys
import tempfile
from pathlib import Path

import write_environment

ROOT = Path(__file__).resolve().parent.parent
UV = [str(ROOT / ".venv/bin/uv"), "pip", "compile", "--quiet"]
# For every Python and system at once, without comments, index options and links, because the
# installer has its own addresses.
FORM = ["--universal", "--fork-strategy", "fewest", "--generate-hashes", "--no-header"]
# pip comes with each environment, and does not replace itself.
FORM += ["--no-annotate", "--no-emit-package", "pip"]

# In the order in which they are filled: the purpose of each lock, and the extras that it resolves.
LOCKS = {
    "requirements.lock": ("All that runs", ["--extra", "all"]),
    "requirements-build.lock": (
        "What installing the project takes besides",
        ["--extra", "all", "--extra", "build"],
    ),
    "requirements-dev.lock": ("Developers' tools, besides both of the above", ["--all-extras"]),
}
HEADER = """\
# {}: pinned and hashed, for all supported Pythons and systems.
# Written by make lock (tools/write_lock.py) from pyproject.toml; do not edit.
"""


def entries(text: str) -> list[str]:
    """Return each requirement in the text of a lock, with its marker and its hashes."""
    return re.findall(r"^[a-z0-9].*\n(?:[ \t].*\n)*", text, flags=re.MULTILINE)


def pins(requirements: list[str]) -> set[str]:
    """Return the ``name==version`` of each requirement."""
    return {re.split(r"[\s;]", text, maxsplit=1)[0] for text in requirements}


def resolve(extras: list[str], settled: str, options: list[str]) -> str:
    """Return the requirements of the project with these extras, in settled versions if they fit."""
    with tempfile.TemporaryDirectory(dir=ROOT / ".venv") as folder:
        lock = Path(folder, "lock")
        lock.write_text(settled, encoding="utf-8")
        command = [*UV, *FORM, *extras, *options, "--output-file", str(lock), "pyproject.toml"]
        subprocess.run(command, cwd=ROOT, check=True)
        return lock.read_text(encoding="utf-8")


def parts(everything: str, needed: dict[str, str]) -> dict[str, list[str]]:
    """Divide one resolution: each lock gets its requirements that no earlier lock has."""
    found: dict[str, list[str]] = {}
    given: list[str] = []
    for name, text in needed.items():
        found[name] = [entry for entry in entries(text) if entry not in given]
        given += found[name]
        if apart := pins(found[name]) - pins(entries(everything)):
            raise SystemExit(f"{name}: versions not in the resolution: {', '.join(sorted(apart))}")
    return found


def main(options: list[str]) -> int:
    """Resolve all requirements, divide them, and write the locks and environment.yml."""
    files = [ROOT / name for name in LOCKS]
    before = "".join(file.read_text(encoding="utf-8") for file in files if file.exists())
    everything = resolve(["--all-extras"], before, options)
    needed = {name: resolve(extras, everything, []) for name, (_, extras) in LOCKS.items()}
    for name, requirements in parts(everything, needed).items():
        part = ROOT / f"{name}.part"
        part.write_text(HEADER.format(LOCKS[name][0]) + "".join(requirements), encoding="utf-8")
        part.replace(ROOT / name)
    return write_environment.main([])


if __name__ == "__main__":
    try:
        sys.exit(main(sys.argv[1:]))
    except subprocess.CalledProcessError as error:
        sys.exit(error.returncode)
