"""Estimates that are noise are named, and never recommended."""

import json
import warnings
from pathlib import Path

import numpy as np
import pandas as pd
import pytest

from deniable import Released, make_plan, randomize
from deniable.analysis import notes_on
from deniable.cli import main
from deniable.errors import GuessWarning
from deniable.plans import ColumnsPlan
from deniable.release import protect_test
from deniable.schema import schema_from_dict

SIX = [str(code) for code in range(6)]
COLUMNS = [
    *({"name": name, "kind": "categorical", "categories": SIX} for name in "ab"),
    {"name": "c", "kind": "categorical", "categories": ["x", "y"]},
]
ABOUT = {"format": "deniable-schema", "population": "survey", "file": {"kind": "csv"}}
SCHEMA = schema_from_dict(ABOUT | {"columns": COLUMNS})
RECORDS = 4000


def frame() -> pd.DataFrame:
    drawn = np.random.default_rng(1)
    columns = {name: np.array(SIX)[drawn.integers(0, 6, RECORDS)] for name in "ab"}
    return pd.DataFrame(columns | {"c": np.array(["x", "y"])[drawn.integers(0, 2, RECORDS)]})


def released(epsilon: float) -> Released:
    plan: ColumnsPlan = make_plan(SCHEMA, epsilon, mechanism="generalized-rr")
    return Released(randomize(frame(), plan, np.random.default_rng(2)), plan)


def test_36_cells_of_noise_are_named_and_not_recommended() -> None:
    with pytest.warns(GuessWarning, match=r"^a x b \(± .* a guess ± 5.0\): a guess without any"):
        noise = released(1.5).table(["a", "b"])
    assert noise["outside"].any()
    half = (noise["ci_high"] - noise["ci_low"]) / 2
    points = noise.attrs["worse_than_guess"]["a x b"]
    assert float(points.split()[1]) == pytest.approx(100 * np.sqrt((half**2).mean()), rel=0.02)
    said = " ".join(notes_on(noise))
    assert "a guess without any data has smaller errors than these estimates" in said
    assert "estimates lie outside [0, 1]" in said
    assert "show the consistent ones" not in said


def test_good_estimates_have_no_warning_and_are_recommended() -> None:
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        good = released(25.0).table(["a", "b"])
    assert good.attrs["worse_than_guess"] == {}
    said = " ".join(notes_on(good.assign(outside=True)))
    assert "show the consistent ones" in said
    assert "guess" not in said


@pytest.mark.filterwarnings("ignore::deniable.errors.GuessWarning")
def test_all_tables_of_estimates_name_them() -> None:
    # One epsilon at which some tables are good.
    some = released(3.0)
    assert some.margins().attrs["worse_than_guess"] == {}
    assert set(some.pairs().attrs["worse_than_guess"]) == {"a x b"}
    none = released(0.15)
    assert set(none.margins().attrs["worse_than_guess"]) == {"a", "b", "c"}
    pairs = {"a x b", "a x c", "b x c"}
    consistent = none.consistent()
    for table in (none.pairs(), consistent.tables, none.two_step(), none.pairs(target="file")):
        assert set(table.attrs["worse_than_guess"]) == pairs
        assert "They and their consistent values are no results" in " ".join(notes_on(table))


@pytest.mark.parametrize("form", ["text", "html", "json"])
def test_the_command_says_the_same_once(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], form: str
) -> None:
    plan = make_plan(SCHEMA, 1.5, mechanism="generalized-rr")
    frame().to_csv(tmp_path / "survey.csv", index=False)
    protect_test(tmp_path / "survey.csv", plan, tmp_path / "release", 1)
    capsys.readouterr()
    asked = ["estimate", str(tmp_path / "release" / "public"), "--table", "a,b", "--format", form]
    assert main(asked) == 0
    told = capsys.readouterr()
    assert "a guess without" not in told.err
    assert told.out.count("a guess without any data has smaller errors than these") == 1
    assert "show the consistent ones" not in told.out
    if form == "json":
        notes = json.loads(told.out)["answers"]["table of a x b"]["notes"]
        assert any(note.startswith("a x b (± ") for note in notes)
