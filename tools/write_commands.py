"""Write docs/command-line.md from the help of the command, or check that it is up to date.

write_commands.py [--check]
"""

import io
import os
import re
import sys
from collections.abc import Iterator, Sequence
from contextlib import redirect_stdout, suppress
from functools import cache
from pathlib import Path
from unittest import mock

from deniable.cli import main as command_line
from generated import write_or_check

PAGE = Path(__file__).resolve().parents[1] / "docs" / "command-line.md"
Words = tuple[str, ...]
ARGUMENTS = ("positional arguments:", "options:", "commands:")
"""Headings of blocks with arguments or commands."""
NOTE = re.compile(r"[a-z][a-z ]+:")
ARGUMENT = re.compile(r"^  (\S.*?)(?:  +|\n +)(\S.*)$", re.MULTILINE)
PART = re.compile(r"^    (\S+)(?:  +|\n +)(\S.*)$", re.MULTILINE)
"""A row of a block: an argument, or a command below its parent, and its meaning."""
START = """# Command line

On this page you can look up the commands of `deniable` and their options.
`tools/write_commands.py` writes it from the help of the commands. [Your own file](own-data.md)
uses them step by step. [Transition matrices](matrices.md) explains `channel` and `design`. The same
commands run by `python -m deniable`. `deniable --version` prints the version.

"""


def page() -> str:
    """Return the page: an overview, and a section for each command and its parts."""
    whole = help_of(())
    found = list(_commands((), whole))
    lines = ["| command | result |", "|---|---|"]
    lines += [
        f"| [`deniable {' '.join(words)}`](#deniable-{'-'.join(words)}) | {about} |"
        for words, about in found
    ]
    sections = [part for words, _ in found for part in _section(words)]
    return START + "\n".join([*lines, "", *_notes(whole), *sections])


@cache
def help_of(words: Words) -> list[str]:
    """Return the blocks of the help of a command: usage, description, arguments, notes."""
    printed = io.StringIO()
    no_wrapping = mock.patch.dict(os.environ, {"COLUMNS": "1000"})
    with no_wrapping, redirect_stdout(printed), suppress(SystemExit):
        command_line([*words, "--help"])
    return printed.getvalue().strip("\n").split("\n\n")


def _commands(words: Words, blocks: Sequence[str]) -> Iterator[tuple[Words, str]]:
    """Yield the words of each command without further parts, and its summary."""
    for block in blocks:
        heading, _, body = block.partition("\n")
        if heading in ARGUMENTS:
            for name, about in PART.findall(body):
                below = (*words, name)
                yield from list(_commands(below, help_of(below))) or [(below, about)]


def _section(words: Words) -> Iterator[str]:
    yield f"## deniable {' '.join(words)}\n"
    _usage, description, *blocks = help_of(words)
    yield " ".join(description.split()) + "\n"
    rows = [
        "| `{}` | {} |".format(name.replace("|", "\\|"), meaning.replace("|", "\\|"))
        for block in blocks
        if block.partition("\n")[0] in ARGUMENTS
        for name, meaning in ARGUMENT.findall(block)
        if "--help" not in name
    ]
    if rows:
        yield "\n".join(["| argument | meaning |", "|---|---|", *rows]) + "\n"
    yield from _notes(blocks)


def _notes(blocks: Sequence[str]) -> Iterator[str]:
    """Yield the notes and examples below the help, notes as paragraphs and examples as code."""
    for block in blocks:
        heading, _, body = block.partition("\n")
        lines = [line.strip() for line in body.splitlines()]
        if heading == "files:":
            yield "\n".join(["```text", *lines, "```\n"])
        elif heading == "examples:":
            yield "\n".join(["```sh", *lines, "```\n"])
        elif heading not in ARGUMENTS and NOTE.fullmatch(heading):
            yield f"**{heading.rstrip(':').capitalize()}.** {' '.join(lines)}\n"


def main(arguments: list[str]) -> int:
    """Write the page; with ``--check`` return 1 if it is outdated, and write nothing."""
    text = page().rstrip("\n") + "\n"
    return write_or_check(PAGE, text, arguments, "tools/write_commands.py")


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
