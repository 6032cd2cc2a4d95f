"""Write docs/command-line.md from the help of the command, or check that it is up to date.

write_commands.py [--check]
"""

import argparse
import sys
from collections.abc import Iterator
from pathlib import Path

from deniable.cli.parser import parser
from deniable.files import written_whole

PAGE = Path(__file__).resolve().parents[1] / "docs" / "command-line.md"
START = """# Command line

On this page you can look up the commands of `deniable` and their options.
`tools/write_commands.py` writes it from the help of the commands. [Your own file](own-data.md)
uses them step by step. [Transition matrices](matrices.md) explains `channel` and `design`.

"""


def page() -> str:
    """Return the page: an overview, and a section for each command and its parts."""
    whole = parser()
    found = list(_commands(whole))
    lines = ["| command | result |", "|---|---|"]
    lines += [f"| [`{each.prog}`](#{_anchor(each.prog)}) | {about} |" for each, about in found]
    sections = [part for each, _ in found for part in _section(each)]
    return START + "\n".join([*lines, "", *_epilog(whole), *sections])


def _commands(above: argparse.ArgumentParser) -> Iterator[tuple[argparse.ArgumentParser, str]]:
    """Yield the parsers of single commands, each with a summary."""
    for action in above._actions:
        if isinstance(action, argparse._SubParsersAction):
            summaries = {each.dest: each.help or "" for each in action._choices_actions}
            for name, inner in action.choices.items():
                below = list(_commands(inner))
                yield from below or [(inner, summaries[name])]


def _anchor(prog: str) -> str:
    return prog.replace(" ", "-")


def _section(command: argparse.ArgumentParser) -> Iterator[str]:
    yield f"## {command.prog}\n"
    yield " ".join((command.description or "").split()) + "\n"
    rows = [row for action in command._actions if (row := _row(command, action))]
    if rows:
        yield "\n".join(["| argument | meaning |", "|---|---|", *rows]) + "\n"
    yield from _epilog(command)


def _row(command: argparse.ArgumentParser, action: argparse.Action) -> str:
    """Return the row of an option; nothing for ``--help``."""
    if not action.help or "--help" in action.option_strings:
        return ""
    formatter = command._get_formatter()
    invocation = formatter._format_action_invocation(action).replace("|", "\\|")
    meaning = formatter._expand_help(action).replace("|", "\\|")
    return f"| `{invocation}` | {meaning} |"


def _epilog(command: argparse.ArgumentParser) -> Iterator[str]:
    """Yield the notes and examples below the help, notes as paragraphs and examples as code."""
    for part in (command.epilog or "").split("\n\n"):
        heading, _, body = part.partition("\n")
        if heading == "files:":
            yield "```text\n" + "\n".join(each.strip() for each in body.splitlines()) + "\n```\n"
        elif heading == "examples:":
            lines = "\n".join(line.removeprefix("  ") for line in body.splitlines())
            yield f"```sh\n{lines}\n```\n"
        elif part.strip():
            yield f"**{heading.rstrip(':').capitalize()}.** {' '.join(body.split())}\n"


def main(arguments: list[str]) -> int:
    """Write the page; with ``--check`` return 1 if it is outdated, and write nothing."""
    text = page().rstrip("\n") + "\n"
    if "--check" in arguments:
        return int(PAGE.read_text(encoding="utf-8") != text)
    with written_whole(PAGE) as temporary:
        temporary.write_text(text, encoding="utf-8")
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
