"""``deniable plan`` and ``deniable compare``: what they print, write and refuse."""

import json
import math
import re
import shlex
import subprocess
import sys
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest
from scipy import stats

from deniable.cli import main
from deniable.plans import ColumnsPlan, expected_errors, read_plan, records_for_error
from deniable.schema import Part

SCHEMA = """\
format: deniable-schema
version: 1
population: survey
file: {kind: csv, delimiter: ",", encoding: utf-8}
columns:
  - {name: sex, kind: categorical, categories: [F, M]}
  - {name: grade, kind: categorical, ordered: true, categories: [low, mid, high]}
"""


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.chdir(tmp_path)
    Path("survey.yaml").write_text(SCHEMA)
    rows = ["F,low", "M,mid", "F,high", "M,low"] * 50
    Path("survey.csv").write_text("\n".join(["sex,grade", *rows, ""]))
    Path("sex.csv").write_text("category,probability\nF,0.9\nM,0.1\n")
    return tmp_path


def test_a_plan_is_made_said_and_verified(folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    made = "plan survey.yaml --epsilon 2 --out plan.json --prior sex=sex.csv --table sex,grade"
    options = ["--mechanism", "grade=hadamard", "--split", "optimal", "--order", "as_in_file"]
    assert main([*made.split(), *options]) == 0
    said = capsys.readouterr().out
    assert "grade: hadamard: as requested" in said
    assert (
        "epsilon of the whole record of one respondent: 2, exact and rounded up; requested: 2"
        in said
    )
    assert "chosen from: a public prior" in said
    plan = json.loads(Path("plan.json").read_text())
    assert (plan["order"], plan["epsilon"]["target"]) == ("as_in_file", 2.0)
    assert main(["plan", "--verify", "plan.json"]) == 0
    assert "the plan holds" in capsys.readouterr().out


def test_the_shuffled_file_is_said_next_to_the_local_epsilon(
    folder: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    made = "plan survey.yaml --epsilon 4 --out plan.json --records 10000"
    assert main(made.split()) == 0
    said = capsys.readouterr().out
    assert "record of one respondent: 4, exact" in said
    assert (
        "shuffled file of 10,000 records, for somebody who has the public folder alone: epsilon "
        "0.601, delta 1e-06"
    ) in said
    assert main([*made.split(), "--part", "1/4:panel"]) == 0
    assert "shuffled file of 2,500 records" in capsys.readouterr().out
    assert main([*made.split(), "--order", "as_in_file"]) == 0
    said = capsys.readouterr().out
    assert "no statement of the shuffled file: the rows have no random order" in said


def test_matrices_are_written_in_long_form(
    folder: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    made = "plan survey.yaml --epsilon 2 --out plan.json --mechanism generalized-rr"
    assert main([*made.split(), "--matrices", "made.csv"]) == 0
    assert main(["plan", "--verify", "plan.json", "--matrices", "verified.csv"]) == 0
    assert Path("made.csv").read_bytes() == Path("verified.csv").read_bytes()
    table = pd.read_csv("made.csv", dtype=str, keep_default_na=False)
    assert list(table) == ["stratum", "block", "true", "reported", "probability"]
    assert len(table) == 2**2 + 3**2
    keys = ["block", "true"]
    sums = table.assign(p=table["probability"].astype(float)).groupby(keys)["p"].sum()
    np.testing.assert_allclose(sums, 1)
    plan = read_plan("plan.json")
    assert isinstance(plan, ColumnsPlan)
    first = table.query("block == 'sex' and true == 'F' and reported == 'F'")["probability"]
    assert float(first.item()) == plan.protocols[()].channels[0].matrix()[0, 0]
    assert main(["plan", "--verify", "plan.json", "--matrices", "survey.csv"]) == 2
    assert "not a table of matrices" in capsys.readouterr().err


@pytest.mark.parametrize(
    ("settings", "said"),
    [
        ("{kind: strata, strata: [sex], epsilon: 1.5}", "who stays in a stratum of sex: 1.5"),
        ("{kind: columns, p: 0.5, joint: [[sex, grade]]}", "sex x grade"),
    ],
)
def test_a_plan_of_any_kind_is_made_from_settings(
    folder: Path, capsys: pytest.CaptureFixture[str], settings: str, said: str
) -> None:
    Path("plan.yaml").write_text(settings)
    assert main(["plan", "survey.yaml", "--settings", "plan.yaml", "--out", "plan.json"]) == 0
    assert said in capsys.readouterr().out
    assert main(["plan", "--verify", "plan.json"]) == 0


@pytest.mark.usefixtures("folder")
def test_a_plan_that_is_split_evenly_starts_without_much_of_scipy() -> None:
    code = (
        "import sys; from deniable.cli import main\n"
        "assert main('plan survey.yaml --epsilon 2 --out plan.json'.split()) == 0\n"
        "assert not {'scipy.interpolate', 'scipy.optimize'} & {*sys.modules}\n"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=False)
    assert (done.returncode, done.stderr) == (0, "")


def test_it_says_what_becomes_of_the_other_columns(
    folder: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    more = "  - {name: id, kind: identifier}\n  - {name: w, kind: weight}\n"
    Path("survey.yaml").write_text(f"{SCHEMA}{more}  - {{name: note, kind: left_out}}\n")
    made = "plan survey.yaml --epsilon 2 --out plan.json --accept weights_released"
    assert main(made.split()) == 0
    said = capsys.readouterr().out
    assert "released unchanged: w\n" in said
    assert "left out: id, note\n" in said


def test_a_plan_that_states_too_little_is_told_by_the_exit_code(
    folder: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    main(["plan", "survey.yaml", "--epsilon", "2", "--out", "plan.json"])
    plan = json.loads(Path("plan.json").read_text())
    plan["epsilon"]["record"] = 1.0
    Path("plan.json").write_text(json.dumps(plan))
    assert main(["plan", "--verify", "plan.json"]) == 2
    told = capsys.readouterr()
    assert "epsilon.record is 1.0, but 2.0 follows from the plan" in told.err


@pytest.mark.parametrize(
    ("options", "said"),
    [
        ("survey.yaml --epsilon 2", "a plan needs SCHEMA.yaml, --epsilon and --out"),
        ("survey.yaml --epsilon 0 --out p.json", "epsilon is 0.0"),
        ("survey.yaml --epsilon 2 --out p.json --mechanism sex=magic", "'magic'"),
        ("survey.yaml --epsilon 2 --out p.json --mechanism hadamard --mechanism laplace", "one"),
        ("survey.yaml --epsilon 2 --out p.json --mechanism hadamard --mechanism best", "one"),
        ("survey.yaml --epsilon 2 --out p.json --cluster sex,x", "'x'"),
        ("survey.yaml --epsilon 2 --out p.json --prior sex.csv", "COLUMN=FILE.csv"),
        ("survey.yaml --epsilon 2 --out p.json --data survey.csv", "--accept chosen_by_data"),
        ("survey.yaml --epsilon 2 --out p.json --accept all", "'all' is not a risk"),
        ("none.yaml --epsilon 2 --out p.json", "none.yaml"),
        ("survey.yaml --out p.json", "or --settings"),
        ("survey.yaml --epsilon 2 --settings survey.yaml --out p.json", "or --settings"),
        (
            "survey.yaml --settings survey.yaml --out p.json",
            "this is a file of format",
        ),
        ("--verify none.json", "none.json"),
        ("survey.yaml --within 2 --out p.json", "give --records N"),
        ("survey.yaml --within 2 --epsilon 1 --records 99 --out p.json", "or --within in place"),
        ("survey.yaml --within 0 --records 99 --out p.json", "± 0 points; give a number above 0"),
        ("survey.yaml --within nan --records 99 --out p.json", "± nan points; give a number"),
        ("survey.yaml --within 1 --records 99 --out p.json", "impossible with 99 records: sex"),
        ("survey.yaml --within 2 --records 0 --out p.json", "records: 0; errors need 2 or more"),
        ("survey.yaml --within 9 --records 99 --table x --out p.json", "'x'"),
        ("survey.yaml --epsilon 1 --records 1 --out p.json", "records: 1; errors need 2 or more"),
        ("survey.yaml --epsilon 1 --records 9 --table sex,sex --out p.json", "sex"),
        ("--verify none.json --records 9", "does not use the option records"),
    ],
)
def test_faults_are_one_message_and_write_nothing(
    folder: Path, capsys: pytest.CaptureFixture[str], options: str, said: str
) -> None:
    assert main(["plan", *options.split()]) == 2
    assert said in capsys.readouterr().err
    assert not Path("p.json").exists()


def test_expected_points_are_printed_with_a_note_on_guesses(
    folder: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    made = "plan survey.yaml --out plan.json --records 2000 --table sex,grade"
    assert main([*made.split(), "--epsilon", "2"]) == 0
    told = capsys.readouterr()
    found = expected_errors(read_plan(Path("plan.json")), 2000, [("sex", "grade")])
    for name, points, guess in zip(found["columns"], found["points"], found["guess"], strict=True):
        assert re.search(rf"  {name} +2,000 +{points:.1f} +{guess:.1f}\n", told.out)
    assert told.err == ""
    Path("plan.json").unlink()
    assert main([*made.split(), "--epsilon", "0.1"]) == 0
    told = capsys.readouterr()
    assert told.err.startswith("deniable: note: sex (± ")
    assert "sex x grade (± " in told.err
    assert "a guess without any data has smaller errors than these estimates" in told.err
    assert "leave columns out" in told.err


def test_the_least_epsilon_within_some_points(
    folder: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    made = "plan survey.yaml --out plan.json --records 4000 --within 5"
    assert main(made.split()) == 0
    plan = read_plan(Path("plan.json"))
    assert f"requested: {plan.target:g}\n" in capsys.readouterr().out
    assert expected_errors(plan, 4000)["points"].max() <= 5
    Path("settings.yaml").write_text("{kind: columns, within: {points: 5, records: 4000}}")
    by_settings = "plan survey.yaml --settings settings.yaml --out again.json --records 4000"
    assert main(by_settings.split()) == 0
    assert "expected ± points" in capsys.readouterr().out
    assert Path("again.json").read_bytes() == Path("plan.json").read_bytes()
    assert main([*made.replace("plan.json", "asked.json").split(), "--ask", "1"]) == 0
    assert expected_errors(read_plan(Path("asked.json")), 4000)["records"].tolist() == [2000, 2000]
    assert main([*made.replace("plan.json", "half.json").split(), "--part", "1/2:a"]) == 0
    half = read_plan(Path("half.json"))
    assert half.target > plan.target
    assert expected_errors(half, 4000)["points"].max() <= 5


def test_a_comparison_is_printed_and_written(
    folder: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    told = "compare survey.csv survey.yaml --epsilon 0.5 2 --table sex,grade --out compared"
    assert main(told.split()) == 0
    said = capsys.readouterr().out
    assert "200 records" in said
    assert "epsilon 2: " in said
    assert "data owner only" in said
    for line, epsilon in zip(re.findall("  deniable (plan .*)", said), (0.5, 2), strict=True):
        assert main(shlex.split(line)) == 0
        told_again = capsys.readouterr().out
        assert f"requested: {epsilon}" in told_again
        Path("plan.json").unlink()
    written = sorted(path.name for path in Path("compared").iterdir())
    assert written == ["compare.csv", "compare.png", "compare.svg"]
    assert main([*told.split()[:-4], "--public"]) == 0
    assert "only the number of records" in capsys.readouterr().out


def test_what_no_epsilon_covers_is_no_part_of_the_prior(
    folder: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    with_weights = SCHEMA + "  - {name: w, kind: weight}\n"
    Path("survey.yaml").write_text(with_weights)
    asked = ["plan", "survey.yaml", "--epsilon", "1", "--out", "plan.json"]
    assert main(asked) == 0
    assert "can rise to 2.7 % at most\n" in capsys.readouterr().out
    assert main([*asked, "--accept", "weights_released"]) == 0
    said = capsys.readouterr().out
    assert "can rise to 2.7 % at most, except for the disclosures that are not covered\n" in said
    assert "not covered: " in said


HALVES = "plan survey.yaml --epsilon 8 --out plan.json --mechanism generalized-rr"


def test_clusters_from_the_randomized_answers_of_a_half(
    folder: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    Path("survey.csv").write_text("sex,grade\n" + "F,low\nM,high\n" * 200)
    assert main([*HALVES.split(), "--part", "1/2:text"]) == 0
    assert read_plan("plan.json").part == Part(2, 1, "text")
    assert main(["protect", "survey.csv", "plan.json", "--out", "half", "--test", "1"]) == 0
    found = [*HALVES.split(), "--part", "2/2:text", "--clusters-from", "half/test"]
    capsys.readouterr()
    assert main([*found, "6", "0.3"]) == 0
    assert capsys.readouterr().err == ""
    plan = read_plan("plan.json")
    assert (plan.chosen_from, plan.risks, plan.part) == (
        "randomized answers",
        {},
        Part(2, 2, "text"),
    )
    assert [name for name, *_ in plan.mechanisms()] == ["sex x grade"]
    assert main([*found, "5", "0.3"]) == 0  # 6 joint cells are too many
    assert len(read_plan("plan.json").mechanisms()) == 2
    Path("p.yaml").write_text(
        "{kind: columns, p: 0.9, clusters: {from: half/test, t_v: 6, t_d: 0.3}}"
    )
    assert main(["plan", "survey.yaml", "--settings", "p.yaml", "--out", "plan.json"]) == 0
    assert [name for name, *_ in read_plan("plan.json").mechanisms()] == ["sex x grade"]
    shared = "half/test is of part 1/2:text; for respondents in both releases, the epsilons add up"
    assert capsys.readouterr().err.count(shared) == 1
    made = [*HALVES.split(), "--clusters-from", "half/test", "6", "0.3"]
    for part in ([], ["--part", "1/2:text"], ["--part", "2/2:other"], ["--part", "3/3:text"]):
        assert main([*made, *part]) == 0
        assert capsys.readouterr().err.count(shared) == 1
    Path("other.yaml").write_text(SCHEMA.replace("population: survey", "population: others"))
    for options, words in (
        ("--clusters-from half/test 5000 0.3", "clusters.t_v: 5000; allowed: at most 1000"),
        ("--clusters-from half/test six 0.3", "give T_v, a whole number of cells"),
        ("--clusters-from half 6 0.3", "no plan.json"),
        ("--clusters-from half/test 6 0.3 --cluster sex,grade", "leave out --cluster"),
        ("--part 1:2", "give TAKE/OF:SEED"),
        ("--part 3/2:text", "part 3 of 2"),
        (
            "--part 1/2:t --data survey.csv --accept chosen_by_data",
            "state both in a file for --settings",
        ),
    ):
        assert main([*HALVES.replace("plan.json", "no.json").split(), *options.split()]) == 2
        assert words in capsys.readouterr().err
    other = [each.replace("survey.yaml", "other.yaml") for each in found]
    assert main([*other, "6", "0.3"]) == 2
    assert "'others', but the schema states 'survey'" in capsys.readouterr().err
    age = "  - {name: age, kind: numeric, edges: [0, 9, 99]}\n"
    Path("other.yaml").write_text(SCHEMA + age)
    assert main([*other, "6", "0.3"]) == 2
    error = capsys.readouterr().err
    assert "clusters from 'half/test': there is no attribute 'age'; there are 'sex'" in error
    assert "leave out columns that it lacks, or name clusters by --cluster or joint" in error
    assert not Path("no.json").exists()


def test_the_number_of_records_for_an_error_is_printed(
    folder: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert main([*HALVES.split(), "--for-error", "0.05", "--table", "sex,grade"]) == 0
    assert "confidence 0.95" in capsys.readouterr().out
    table = records_for_error(read_plan("plan.json"), 0.05, [["sex", "grade"]])
    assert table["columns"].tolist() == ["sex", "grade", "sex x grade"]
    assert table["values"].tolist() == [2, 3, 6]
    rows: list[Any] = table.to_dict("records")
    for r, row in zip((2, 3, 6), rows, strict=True):
        critical = stats.chi2.isf(0.05 / r, 1)
        assert row["absolute"] == math.ceil(critical / 4 / 0.05**2)
        assert row["relative"] == math.ceil(critical * (r - 1) / 0.05**2)
        assert row["estimate_absolute"] == math.ceil(row["absolute"] * row["propagation"] ** 2)
    # exp(4) on the diagonal: (parity + r - 1) / (parity - 1)
    factors = [(math.exp(4) + r - 1) / (math.exp(4) - 1) for r in (2, 3)]
    assert table["propagation"].tolist() == pytest.approx([*factors, math.prod(factors)])
    subsets = [*HALVES.replace("8", "1").replace("generalized-rr", "hadamard").split()]
    assert main([*subsets, "--for-error", "0.05"]) == 0
    assert "–" in capsys.readouterr().out
    Path("p.yaml").write_text("{kind: collected, epsilon: 1}")
    made = "plan survey.yaml --settings p.yaml --out no.json --for-error"
    assert main([*made.split(), "0.05"]) == 2
    assert "a plan of kind collected has no channels" in capsys.readouterr().err
    for error in ("0", "1", "2", "nan"):
        assert main([*HALVES.replace("plan.json", "no.json").split(), "--for-error", error]) == 2
        assert "must be in (0, 1), not" in capsys.readouterr().err
    assert not Path("no.json").exists()


@pytest.mark.parametrize(
    "settings",
    [
        "{kind: columns, epsilon: 3}",
        "{kind: columns, p: 0.7, joint: [[sex, grade]]}",
        "{kind: columns, epsilon: 3, joint: [[sex, grade]], mechanism: generalized-rr}",
        "{kind: strata, strata: [sex], epsilon: 3}",
    ],
)
def test_every_kind_of_randomized_records_has_adjusted_weights(
    settings: str, folder: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    Path("p.yaml").write_text(settings)
    assert main(["plan", "survey.yaml", "--settings", "p.yaml", "--out", "plan.json"]) == 0
    assert main(["protect", "survey.csv", "plan.json", "--out", "r", "--test", "1"]) == 0
    assert main(["estimate", "r/test", "--adjusted-weights", "--out", "w.csv"]) == 0
    weights = pd.read_csv("w.csv")["weight"]
    assert len(weights) == 200
    assert weights.sum() == pytest.approx(1)


def test_a_singular_invariant_matrix_is_said(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """A matrix that keeps the frequencies may be singular; others are refused."""
    column = "{name: job, kind: categorical, categories: [a, b, c]}"
    about = "format: deniable-schema\npopulation: all\nfile: {kind: csv, delimiter: ','}\n"
    (tmp_path / "s.yaml").write_text(f"{about}columns:\n  - {column}\n")
    (tmp_path / "s.csv").write_text("job\n" + "a\n" * 50 + "b\n" * 30 + "c\n" * 20)
    given = ["plan", f"{tmp_path}/s.yaml", "--data", f"{tmp_path}/s.csv", "--settings"]
    given += [f"{tmp_path}/p.yaml", "--accept", "chosen_by_data", "--out", f"{tmp_path}/p.json"]
    for more, code in (("", 0), (", invariant: false", 2)):
        matrix = f"{{kind: designed, epsilon: 0.1, loss: changed{more}}}"
        (tmp_path / "p.yaml").write_text(f"{{kind: columns, matrix: {matrix}}}")
        (tmp_path / "p.json").unlink(missing_ok=True)
        assert main(given) == code
        shown = capsys.readouterr()
        assert "job: singular: no table" in shown.out or "job: the matrix is singular" in shown.err
        if code == 0:
            release = f"{tmp_path}/release"
            given_too = [f"{tmp_path}/s.csv", f"{tmp_path}/p.json", "--out", release, "--test", "1"]
            assert main(["protect", *given_too]) == 0
            assert main(["estimate", f"{release}/test"]) == 0
            assert "3 of 3 estimates are empty: their matrices are sing" in capsys.readouterr().out
    assert not (tmp_path / "p.json").exists()
