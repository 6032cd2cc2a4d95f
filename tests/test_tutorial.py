"""docs/tutorial.md: the commands and the Python of the page give the outputs on the page."""

import contextlib
import io
import os
import re
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

PAGE = Path(__file__).resolve().parents[1] / "docs" / "tutorial.md"
BLOCK = re.compile(r"^```(\w+)\n(.*?)^```$", re.MULTILINE | re.DOTALL)
COMMANDS = {"deniable", "sed"}


def steps(page: str) -> Iterator[tuple[str, str, str]]:
    """Yield language, text and shown output of each block that is carried out, in order."""
    blocks = BLOCK.findall(page)
    for (language, text), (after, output) in zip(blocks, [*blocks[1:], ("", "")], strict=True):
        if language != "text":
            yield language, text, output if after == "text" else ""


def carry_out(language: str, text: str) -> str:
    """Carry out a block in the current folder, and return all that a terminal would show."""
    if language == "python":
        with contextlib.redirect_stdout(io.StringIO()) as shown:
            exec(text, {})
        return shown.getvalue()
    if language == "csv":
        Path("claim.csv").write_text(text, encoding="utf-8")
        return ""
    assert language == "sh"
    assert {line.split()[0] for line in text.splitlines()} <= COMMANDS
    # Unbuffered, so that output and messages have the order that they have in a terminal.
    variables = os.environ | {
        "PATH": f"{Path.cwd()}{os.pathsep}{os.environ['PATH']}",
        "PYTHONUNBUFFERED": "1",
    }
    done = subprocess.run(
        ["sh", "-e", "-c", text],
        env=variables,
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        encoding="utf-8",
        check=False,
    )
    assert done.returncode == 0, f"{text}{done.stdout}"
    return done.stdout


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Change to a folder with the command `deniable`."""
    monkeypatch.chdir(tmp_path)
    command = tmp_path / "deniable"
    command.write_text(f'#!/bin/sh\nexec "{sys.executable}" -m deniable "$@"\n', encoding="utf-8")
    command.chmod(0o755)
    return tmp_path


@pytest.mark.usefixtures("folder")
def test_every_output_is_the_one_on_the_page() -> None:
    carried_out = list(steps(PAGE.read_text(encoding="utf-8")))
    assert len(carried_out) > 8
    for language, text, shown in carried_out:
        assert carry_out(language, text) == shown, text


@pytest.mark.usefixtures("folder")
def test_another_output_and_a_missing_one_are_found() -> None:
    page = "```python\nprint(1)\n```\n\nGives:\n\n```text\n2\n```\n\n```python\nprint(3)\n```\n"
    (first, second) = steps(page)
    assert first == ("python", "print(1)\n", "2\n")
    assert (carry_out(*first[:2]), carry_out(*second[:2]), second[2]) == ("1\n", "3\n", "")
