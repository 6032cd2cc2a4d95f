"""``deniable design``: what is written and printed, whatever designs the channel."""

import json
import sys
from dataclasses import dataclass, field
from pathlib import Path
from types import ModuleType
from typing import Any

import numpy as np
import pytest

from deniable.channel import DenseChannel
from deniable.channel_files import read_channel
from deniable.cli import main
from deniable.errors import DeniableError

PAGE = Path(__file__).resolve().parent.parent / "docs" / "command-line.md"
MATRIX = np.array([[0.75, 0.25], [0.25, 0.75]])
KEYS = [
    "convention", "categories", "epsilon", "parity", "beta", "breach_bounds", "condition_number",
    "singular", "proportions", "matrix", "objective", "loss", "lower_bound", "optimality",
    "violations", "changed", "retention", "invariant", "records", "standard_error",
]  # fmt: skip


@dataclass(frozen=True)
class StandInDesign:
    channel: DenseChannel
    loss: float = 1.5
    lower_bound: float | None = 1.5
    optimality: str = "global"
    violations: dict[str, float] = field(default_factory=lambda: {"epsilon": 1e-12})


@dataclass(frozen=True)
class StandInSpecification:
    categories: tuple[str, ...] = ("no", "yes")
    proportions: tuple[float, ...] = (0.6, 0.4)
    requirements: Any = None
    loss: str = "trace"
    records: int | None = 100


@pytest.fixture
def stand_in(monkeypatch, tmp_path):
    """A designer that always returns one channel, in place of the optimization."""
    package = ModuleType("deniable.design")
    package.Design = StandInDesign
    package.design = lambda proportions, requirements, loss: StandInDesign(DenseChannel(MATRIX))
    specification = ModuleType("deniable.design.specification")
    specification.Specification = StandInSpecification
    specification.read_specification = lambda path: StandInSpecification()
    monkeypatch.setitem(sys.modules, "deniable.design", package)
    monkeypatch.setitem(sys.modules, "deniable.design.specification", specification)
    monkeypatch.delitem(sys.modules, "deniable.cli.design", raising=False)
    monkeypatch.chdir(tmp_path)
    yield package
    sys.modules.pop("deniable.cli.design", None)


def test_matrix_and_properties_are_written(stand_in, tmp_path, capsys):
    assert main(["design", "smoking.yaml", "--output", "new"]) == 0
    text = capsys.readouterr().out
    assert "written: new/smoking-matrix.csv\nwritten: new/smoking-properties.json\n" in text
    assert "changed records  25 %" in text
    assert sorted(file.name for file in (tmp_path / "new").iterdir()) == [
        "smoking-matrix.csv", "smoking-properties.json",
    ]  # fmt: skip
    found = read_channel(tmp_path / "new" / "smoking-matrix.csv")
    assert found.categories == ("no", "yes")
    np.testing.assert_array_equal(found.channel.entries, MATRIX)
    properties = json.loads((tmp_path / "new" / "smoking-properties.json").read_text("utf-8"))
    assert list(properties) == KEYS
    assert properties["matrix"] == MATRIX.tolist()
    assert properties["parity"] == 3
    assert properties["changed"] == pytest.approx(0.25)
    assert properties["invariant"] is False
    # Var = l (1 - l) / n / (2p - 1)^2 with l = .6 .75 + .4 .25 = .55.
    error = np.sqrt(0.55 * 0.45 / 100) / 0.5
    assert properties["standard_error"] == pytest.approx([error, error])


def test_the_page_names_every_key():
    text = PAGE.read_text(encoding="utf-8")
    for key in KEYS:
        assert f"`{key}`" in text, key


def test_by_default_they_go_to_the_current_folder(stand_in, tmp_path, capsys):
    assert main(["design", "smoking.yaml", "--json"]) == 0
    assert list(json.loads(capsys.readouterr().out)) == KEYS
    assert {file.name for file in tmp_path.iterdir()} == {
        "smoking-matrix.csv", "smoking-properties.json",
    }  # fmt: skip


def test_the_matrix_alone(stand_in, tmp_path, capsys):
    assert main(["design", "smoking.yaml", "--matrix", "m.csv"]) == 0
    assert "written: m.csv\n" in capsys.readouterr().out
    assert [file.name for file in tmp_path.iterdir()] == ["m.csv"]


def test_what_is_infeasible_writes_nothing(stand_in, tmp_path, capsys):
    def infeasible(*_, **__):
        raise DeniableError("retention and epsilon contradict each other")

    stand_in.design = infeasible
    assert main(["design", "smoking.yaml"]) == 1
    out, err = capsys.readouterr()
    assert (out, err) == ("", "deniable: error: retention and epsilon contradict each other\n")
    assert list(tmp_path.iterdir()) == []


def test_a_place_that_cannot_be_written(stand_in, tmp_path, capsys):
    (tmp_path / "taken").write_text("a file", encoding="utf-8")
    assert main(["design", "smoking.yaml", "--output", "taken"]) == 1
    err = capsys.readouterr().err
    assert err.startswith("deniable: error: taken: ")
