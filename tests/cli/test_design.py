"""``deniable design``: what is written and printed, and what is refused."""

import json
from pathlib import Path

import numpy as np
import pytest

from deniable.channels.files import read_channel
from deniable.cli import main

PAGE = Path(__file__).resolve().parents[2] / "docs" / "matrices.md"
KEYS = [
    "convention",
    "categories",
    "reports",
    "epsilon",
    "parity",
    "beta",
    "breach_bounds",
    "condition_number",
    "singular",
    "proportions",
    "number_of_reports",
    "matrix",
    "objective",
    "estimator",
    "target",
    "loss",
    "lower_bound",
    "optimality",
    "violations",
    "changed",
    "retention",
    "invariant",
    "records",
    "covariance",
    "standard_error",
    "notes",
]
# With two categories and parity 3 Warner's design is best: [[.75, .25], [.25, .75]].
SPECIFICATION = """\
proportions: {never: 0.6, ever: 0.4}
records: 100
requirements: {epsilon: 1.0986122886681098}
"""
INVARIANT = SPECIFICATION.replace("{epsilon", "{invariant: true, epsilon")


@pytest.fixture
def folder(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    (tmp_path / "smoking.yaml").write_text(SPECIFICATION, encoding="utf-8")
    return tmp_path


def names_in(folder: Path) -> list[str]:
    return sorted(file.name for file in folder.iterdir())


def test_matrix_and_properties_are_written(folder, capsys):
    assert main(["design", "smoking.yaml", "--output", "new"]) == 0
    text = capsys.readouterr().out
    assert "written: new/smoking-matrix.csv\nwritten: new/smoking-properties.json\n" in text
    assert "changed records  25 %" in text
    assert names_in(folder / "new") == ["smoking-matrix.csv", "smoking-properties.json"]
    found = read_channel(folder / "new" / "smoking-matrix.csv")
    assert found.categories == ("never", "ever")
    np.testing.assert_allclose(found.channel.entries, [[0.75, 0.25], [0.25, 0.75]], rtol=1e-7)
    properties = json.loads((folder / "new" / "smoking-properties.json").read_text("utf-8"))
    assert list(properties) == KEYS
    assert properties["matrix"] == found.channel.entries.tolist()
    assert properties["parity"] == pytest.approx(3, rel=1e-7)
    assert properties["epsilon"] <= 1.0986122886681098
    assert properties["changed"] == pytest.approx(0.25, rel=1e-7)
    assert properties["invariant"] is False
    assert (properties["estimator"], properties["target"]) == ("inverse", "population")
    # Var = l (1 - l) / n / (2p - 1)^2 with l = .6 .75 + .4 .25 = .55.
    variance = 0.55 * 0.45 / 100 / 0.25
    assert np.diagonal(properties["covariance"]) == pytest.approx([variance] * 2, rel=1e-6)
    assert properties["standard_error"] == pytest.approx([np.sqrt(variance)] * 2, rel=1e-6)
    assert properties["loss"] == pytest.approx(2 * 100 * variance, rel=1e-6)
    assert properties["optimality"] == "global"


def test_other_reports_than_categories_are_written(folder, capsys):
    text = """
    counts: {white: 278, black: 31, asian: 10, native: 3, other: 3}
    loss: trace
    reports: any
    requirements: {epsilon: 0.5}
    """
    (folder / "race.yaml").write_text(text, encoding="utf-8")
    assert main(["design", "race.yaml"]) == 0
    shown = capsys.readouterr().out
    assert "optimality       global" in shown
    assert "changed records" not in shown
    assert (folder / "race-matrix.csv").read_text("utf-8").startswith("true category / report,")
    found = read_channel(folder / "race-matrix.csv")
    properties = json.loads((folder / "race-properties.json").read_text("utf-8"))
    assert properties["number_of_reports"] == found.channel.reports > 5
    assert properties["reports"] == list(found.reports)
    assert properties["matrix"] == found.channel.entries.tolist()
    assert properties["changed"] is properties["retention"] is None
    # A report's name has the categories that are likely behind it.
    for name, column in zip(found.reports, found.channel.entries.T, strict=True):
        high = [found.categories[u] for u in np.flatnonzero(column > column.min() * 1.1)]
        assert name.split("|") == high
        assert name in shown
    pi = np.array([278, 31, 10, 3, 3]) / 325
    spread = np.diagonal(found.channel.covariance(pi, 325))
    assert properties["standard_error"] == pytest.approx(np.sqrt(spread).tolist(), rel=1e-9)
    assert properties["loss"] == pytest.approx(325 * spread.sum(), rel=1e-9)


def test_the_channel_command_says_the_same_of_the_written_matrix(folder, capsys):
    assert main(["design", "smoking.yaml", "--json"]) == 0
    designed = json.loads(capsys.readouterr().out)
    assert main(["channel", "smoking-matrix.csv", "--json"]) == 0
    asked = json.loads(capsys.readouterr().out)
    for key in KEYS[:9]:
        assert asked[key] == designed[key], key


def test_the_reports_own_shares_of_an_invariant_matrix(folder, capsys):
    (folder / "invariant.yaml").write_text(INVARIANT, encoding="utf-8")
    assert main(["design", "invariant.yaml", "--json"]) == 0
    found = json.loads(capsys.readouterr().out)
    assert found["invariant"] is True
    assert (found["estimator"], found["target"]) == ("reports", "file")
    # (2.4): sum over u of pi_u P[u, v] (1 - P[u, v]), over n.
    P, pi = np.array(found["matrix"]), np.array([0.6, 0.4])
    variance = pi @ (P * (1 - P)) / 100
    assert np.diagonal(found["covariance"]) == pytest.approx(variance, rel=1e-12)
    assert found["loss"] == pytest.approx(100 * variance.sum(), rel=1e-9)


def test_the_target_adds_the_variance_of_sampling(folder, capsys):
    text = INVARIANT + "target: population\n"
    (folder / "invariant.yaml").write_text(text, encoding="utf-8")
    assert main(["design", "invariant.yaml", "--json"]) == 0
    found = json.loads(capsys.readouterr().out)
    P, pi = np.array(found["matrix"]), np.array([0.6, 0.4])
    variance = (pi @ (P * (1 - P)) + pi * (1 - pi)) / 100
    assert np.diagonal(found["covariance"]) == pytest.approx(variance, rel=1e-12)


def test_without_records_there_is_no_error(folder, capsys):
    text = SPECIFICATION.replace("records: 100\n", "")
    (folder / "smoking.yaml").write_text(text, encoding="utf-8")
    assert main(["design", "smoking.yaml", "--json"]) == 0
    found = json.loads(capsys.readouterr().out)
    assert found["records"] is found["covariance"] is found["standard_error"] is None


def test_a_file_of_counts_beside_the_specification(folder, capsys):
    (folder / "answers.csv").write_text("category,count\nnever,60\never,40\n", encoding="utf-8")
    (folder / "counted.yaml").write_text(
        "counts: answers.csv\nrequirements: {epsilon: 1.0}\n", encoding="utf-8"
    )
    assert main(["design", "counted.yaml", "--json"]) == 0
    found = json.loads(capsys.readouterr().out)
    assert found["records"] == 100
    assert found["proportions"] == [0.6, 0.4]


def test_the_page_names_every_key():
    text = PAGE.read_text(encoding="utf-8")
    for key in KEYS:
        assert f"`{key}`" in text or key == "categories", key


def test_by_default_they_go_to_the_current_folder(folder, capsys):
    assert main(["design", "smoking.yaml", "--json"]) == 0
    assert list(json.loads(capsys.readouterr().out)) == KEYS
    assert names_in(folder) == ["smoking-matrix.csv", "smoking-properties.json", "smoking.yaml"]


def test_the_matrix_alone(folder, capsys):
    assert main(["design", "smoking.yaml", "--matrix", "m.csv"]) == 0
    assert "written: m.csv\n" in capsys.readouterr().out
    assert names_in(folder) == ["m.csv", "smoking.yaml"]


def test_what_is_infeasible_writes_nothing(folder, capsys):
    text = "proportions: {never: 0.6, ever: 0.4}\nrequirements: {epsilon: 1.0, retention: 0.8}\n"
    (folder / "strict.yaml").write_text(text, encoding="utf-8")
    assert main(["design", "strict.yaml"]) == 1
    out, err = capsys.readouterr()
    assert out == ""
    assert err.startswith("deniable: error: no channel meets the requirements: epsilon <= 1")
    assert "retention of 'never' and 'ever' >= 0.8 conflict" in err
    assert names_in(folder) == ["smoking.yaml", "strict.yaml"]


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("requirements: {epsilon: 1.0}\n", "neither of proportions and counts"),
        ("proportions: {a: .5, b: .4}\n", "they sum to 0.9"),
        ("proportions: {a: .5, b: .5}\nrequirement: {}\n", "requirement: unknown option"),
        ("proportions: {a: .5, b: .5}\nloss: best\n", "loss: 'best'; allowed: trace"),
        ("a: [", "line 1: did not find expected node content"),
    ],
)
def test_a_fault_in_the_specification_names_the_file(folder, capsys, text, message):
    (folder / "smoking.yaml").write_text(text, encoding="utf-8")
    assert main(["design", "smoking.yaml"]) == 2
    out, err = capsys.readouterr()
    assert out == ""
    assert err.startswith("deniable: error: smoking.yaml: ")
    assert message in err
    assert names_in(folder) == ["smoking.yaml"]


def test_a_specification_that_is_not_there(folder, capsys):
    assert main(["design", "other.yaml"]) == 2
    assert "other.yaml: No such file" in capsys.readouterr().err


def test_a_place_that_cannot_be_written(folder, capsys):
    (folder / "taken").write_text("a file", encoding="utf-8")
    assert main(["design", "smoking.yaml", "--output", "taken"]) == 2
    assert capsys.readouterr().err.startswith("deniable: error: taken: ")


def test_more_categories_than_are_printed(folder, capsys):
    shares = ", ".join(f"c{v}: 0.05" for v in range(20))
    (folder / "many.yaml").write_text(
        f"proportions: {{{shares}}}\nloss: changed\nrequirements: {{epsilon: 1.0}}\n",
        encoding="utf-8",
    )
    assert main(["design", "many.yaml"]) == 0
    assert max(map(len, capsys.readouterr().out.splitlines())) < 120
