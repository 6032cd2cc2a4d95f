"""Lists of columns have one spelling in all commands."""

import argparse
import shlex
from pathlib import Path

import pandas as pd
import pytest
from hypothesis import given, strategies as st

from deniable.cli import main
from deniable.cli.parser import columns_of, columns_text

ABOUT = "format: deniable-schema\npopulation: survey\nfile: {kind: csv}\n"
COLUMN = "{name: '%s', kind: categorical, categories: [F, M]}"


@given(st.lists(st.text(min_size=1, max_size=5), min_size=1, max_size=3))
def test_any_names_can_be_written_and_read(names: list[str]) -> None:
    assert columns_of(columns_text(names)) == tuple(names)


def test_quotes_are_for_names_with_commas() -> None:
    assert columns_of(" sex , age group") == ("sex", "age group")
    text = '"odd, name",5" pipe,"a ""b""", " x "'
    assert columns_of(text) == ("odd, name", '5" pipe', 'a "b"', " x ")


@pytest.mark.parametrize("text", ["", ",", "a,", ",a", "a,,b", '"a', '"a"b', '""', " "])
def test_other_texts_are_refused_with_an_example(text: str) -> None:
    with pytest.raises(argparse.ArgumentTypeError, match="not a list of columns; write sex,inc"):
        columns_of(text)


def test_all_commands_read_the_same_list(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.chdir(tmp_path)
    names = ["odd, name", 'the "other"']
    Path("survey.yaml").write_text(f"{ABOUT}columns: [{', '.join(COLUMN % n for n in names)}]")
    pd.DataFrame(dict.fromkeys(names, ["F", "M"] * 100)).to_csv("survey.csv", index=False)
    table = ["--table", '"odd, name",the "other"']
    assert main(["compare", "survey.csv", "survey.yaml", "--epsilon", "2", *table]) == 0
    said = capsys.readouterr().out
    command = shlex.split(next(line for line in said.splitlines() if "  deniable plan" in line))
    assert command[command.index("--table") :][:2] == table
    assert main(command[1:]) == 0
    protect = ["protect", "survey.csv", "plan.json", "--out", "trial", "--test", "1"]
    assert main([*protect, "--quasi-identifiers", table[1]]) == 0
    assert main(["estimate", "trial/test", *table]) == 0
    assert 'table of odd, name x the "other"' in capsys.readouterr().out
