"""Write the locks and environment.yml from pyproject.toml. Called by ``make lock``.

All three locks are parts of one resolution: a package has one version, and stands where it is first
needed: to run, to build the project, to develop it. Versions stay as they are where they still fit;
arguments are uv's (``--upgrade`` for the newest).
"""

import re
import subprocess
import sys
import tempfile
from pathlib import Path

import write_environment

ROOT = Path(__file__).resolve().parent.parent
UV = [str(ROOT / ".venv/bin/uv"), "pip", "compile", "--quiet"]
# For every Python and system at once; no comments, index options or links: addresses are the
# installer's own.
FORM = ["--universal", "--fork-strategy", "fewest", "--generate-hashes", "--no-header"]
# pip comes with each environment, and does not replace itself.
FORM += ["--no-annotate", "--no-emit-package", "pip"]

# In the order in which they are filled: what each is for, and whom it is resolved for.
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
    """Each requirement with its marker and its hashes, as it stands in the text of a lock."""
    return re.findall(r"^[a-z0-9].*\n(?:[ \t].*\n)*", text, flags=re.MULTILINE)


def pins(requirements: list[str]) -> set[str]:
    """The ``name==version`` of each."""
    return {re.split(r"[\s;]", text, maxsplit=1)[0] for text in requirements}


def resolve(extras: list[str], settled: str, options: list[str]) -> str:
    """The requirements of the project with these extras, in settled versions where they fit."""
    with tempfile.TemporaryDirectory(dir=ROOT / ".venv") as folder:
        lock = Path(folder, "lock")
        lock.write_text(settled, encoding="utf-8")
        command = [*UV, *FORM, *extras, *options, "--output-file", str(lock), "pyproject.toml"]
        subprocess.run(command, cwd=ROOT, check=True)
        return lock.read_text(encoding="utf-8")


def parts(everything: str, needed: dict[str, str]) -> dict[str, list[str]]:
    """Share out one resolution: to each lock what it needs and no earlier one has."""
    found: dict[str, list[str]] = {}
    given: list[str] = []
    for name, text in needed.items():
        found[name] = [entry for entry in entries(text) if entry not in given]
        given += found[name]
        if apart := pins(found[name]) - pins(entries(everything)):
            raise SystemExit(f"{name}: versions of its own: {', '.join(sorted(apart))}")
    return found


def main(options: list[str]) -> int:
    """Resolve, share out, write."""
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
