"""The page of commands is written from their help, and has all of it."""

import re

import pytest

import write_commands
from deniable.cli.parser import parser

COMMANDS = ("schema", "compare", "plan", "ledger", "protect", "estimate", "channel", "design")


@pytest.mark.parametrize("command", COMMANDS)
def test_it_has_every_option(command: str, capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(SystemExit):
        parser().parse_args([command, "--help"])
    options = set(re.findall(r"--[a-z]+(?:-[a-z]+)*", capsys.readouterr().out)) - {"--help"}
    text = write_commands.page()
    assert options <= set(re.findall(r"--[a-z]+(?:-[a-z]+)*", text))
    assert f"](#deniable-{command}" in text


def test_it_has_every_text_of_the_help() -> None:
    words = " ".join(write_commands.page().split())
    for text in ("lists of columns", "exit codes", "queries", "mechanisms", "budget allocation"):
        assert f"**{text.capitalize()}.**" in words
