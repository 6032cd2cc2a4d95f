"""The command that makes a ledger and lists its releases."""

import math
from fractions import Fraction
from pathlib import Path

import pytest
from tests.release.small_releases import new_entry

from deniable.cli import main
from deniable.release import Ledger, RecordDigests
from deniable.release.counting.ledger import LEDGER_VARIABLE
from deniable.schema import Part

PEOPLE = RecordDigests("aa", 3, (5, 7))


def test_a_new_ledger_has_no_release(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    folder = str(tmp_path / "ledger")
    assert main(["ledger", "init", folder]) == 0
    assert capsys.readouterr().out == (
        f"{folder}: a new ledger; keep it confidential, and back it up\n"
    )
    assert Ledger(folder).populations() == ()
    assert main(["ledger", "show", "--ledger", folder]) == 0
    assert capsys.readouterr().out.split() == (
        ["population", "number", "release", "epsilon", "part", "time", "total"]
    )


def test_releases_are_listed_with_the_total_after_each(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    ledger = Ledger.init(tmp_path / "ledger")
    ledger.reserve(new_entry("Survey", "a", "plan", PEOPLE, Fraction(1, 2), Part(2, 1, "s")))
    words = "release 2 of survey named b, total epsilon 2"
    ledger.reserve(new_entry("survey", "b", "plan", PEOPLE, 2, Part(2, 2, "s")), words)
    ledger.reserve(new_entry("key", "a", "plan", PEOPLE, math.inf))
    monkeypatch.setenv(LEDGER_VARIABLE, str(ledger.folder))
    assert main(["ledger", "show"]) == 0
    rows = [line.split() for line in capsys.readouterr().out.splitlines()[1:]]
    assert [row[:4] for row in rows] == [
        ["key", "1", "a", "infinite"],
        ["survey", "1", "a", "0.5"],
        ["survey", "2", "b", "2"],
    ]
    assert [row[4:-2] for row in rows] == [["-"], ["1", "of", "2"], ["2", "of", "2"]]
    assert [row[-1] for row in rows] == ["infinite", "0.5", "2"]
    times = [each.time for name in ("key", "survey") for each in ledger.entries(name)]
    assert [row[-2] for row in rows] == times
