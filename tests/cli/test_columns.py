"""Lists of columns have one spelling in all commands."""

import argparse
import shlex
from pathlib import Path

import pandas as pd
import pytest
from hypothesis import given, strategies as st

from deniable.cli import main
from deniable.cli.columns import columns_of, columns_text

SCHEMA = """\
format: deniable-schema
version: 1
population: survey
file: {kind: csv, delimiter: ",", encoding: utf-8}
columns:
  - {name: "odd, name", kind: categorical, categories: [F, M]}
  - {name: 'the "other"', kind: categorical, categories: [low, mid, high]}
"""


@given(st.lists(st.text(min_size=1, max_size=5), min_size=1, max_size=3))
def test_any_names_can_be_written_and_read(names: list[str]) -> None:
    assert columns_of(columns_text(names)) == tuple(names)


@pytest.mark.parametrize(
    ("text", "names"),
    [
        ("sex", ("sex",)),
        (" sex , age group", ("sex", "age group")),
        ('"odd, name",5" pipe,"a ""b"""', ("odd, name", '5" pipe', 'a "b"')),
        ('" x "', (" x ",)),
    ],
)
def test_quotes_are_for_names_with_commas(text: str, names: tuple[str, ...]) -> None:
    assert columns_of(text) == names


@pytest.mark.parametrize("text", ["", ",", "a,", ",a", "a,,b", '"a', '"a"b', '""', " "])
def test_other_texts_are_refused_with_an_example(text: str) -> None:
    with pytest.raises(argparse.ArgumentTypeError, match=r"not a list of columns\. Write sex,inc"):
        columns_of(text)


def test_all_commands_read_the_same_list(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.chdir(tmp_path)
    Path("survey.yaml").write_text(SCHEMA)
    rows = {"odd, name": ["F", "M"] * 100, 'the "other"': ["low", "mid", "high", "low"] * 50}
    pd.DataFrame(rows).to_csv("survey.csv", index=False)
    columns = ["--table", '"odd, name",the "other"']
    assert main(["compare", "survey.csv", "survey.yaml", "--epsilon", "2", *columns]) == 0
    found = [line for line in capsys.readouterr().out.splitlines() if "  deniable plan" in line]
    command = shlex.split(found[0])
    assert command[command.index("--table") :][:2] == columns
    assert main(command[1:]) == 0
    protect = ["protect", "survey.csv", "plan.json", "--out", "trial", "--test", "1"]
    assert main([*protect, "--quasi-identifiers", columns[1]]) == 0
    assert main(["estimate", "trial/test", *columns]) == 0
    assert 'table of odd, name x the "other"' in capsys.readouterr().out
