"""Write a file that is made from the code, or check that it is up to date."""

import sys
from collections.abc import Sequence
from pathlib import Path


def write_or_check(file: Path, text: str, arguments: Sequence[str], command: str) -> int:
    """Write a whole `file` with this `text`, and return an exit code.

    With ``--check`` among the `arguments` nothing is written. If the file has another text, an
    error names the `command` that writes it, and the exit code is 1.
    """
    if "--check" in arguments:
        if file.exists() and file.read_text(encoding="utf-8") == text:
            return 0
        print(f"{file.name} is not up to date: run {command}", file=sys.stderr)
        return 1
    part = file.with_name(f"{file.name}.part")
    part.write_text(text, encoding="utf-8")
    part.replace(file)
    return 0
