"""The command line: answers worked by hand, JSON that is JSON, and errors as people expect them."""

import json
import math
import os
import re
import subprocess
import sys
import time
from fractions import Fraction
from pathlib import Path

import numpy as np
import pytest

from deniable import __version__
from deniable.channels import DenseChannel, KeepOrReplace
from deniable.channels.files import write_channel
from deniable.cli import main
from deniable.plans import MECHANISMS

ROOT = Path(__file__).resolve().parents[2]
F = Fraction
MATRIX = "true,never,former,daily\nnever,0.8,0.1,0.1\nformer,0.15,0.7,0.15\ndaily,.1,.1,.8\n"
PRIOR = "category,probability\nformer,0.3\nnever,1/2\ndaily,0.2\n"
COUNTS = "category,count\nnever,512\nformer,288\ndaily,200\n"
CHANNEL = DenseChannel(np.array([[0.8, 0.1, 0.1], [0.15, 0.7, 0.15], [0.1, 0.1, 0.8]]))
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
    "breach",
    "prior",
    "reported",
    "invariant",
    "largest_change",
    "posterior",
    "largest_factor",
    "smallest_factor",
    "records",
    "target",
    "inverse",
    "confidence",
    "estimate",
    "standard_error",
    "covariance",
    "interval_low",
    "interval_high",
    "maximum_likelihood",
]


@pytest.fixture
def files(tmp_path, monkeypatch):
    """A folder with the three files, which is the current one."""
    monkeypatch.chdir(tmp_path)
    for name, text in (("matrix", MATRIX), ("prior", PRIOR), ("counts", COUNTS)):
        (tmp_path / f"{name}.csv").write_text(text, encoding="utf-8")
    return tmp_path


def strict(text: str):
    """Parse JSON as a parser does that takes no NaN and no Infinity."""

    def refuse(constant: str) -> None:
        raise AssertionError(f"{constant} is no JSON")

    return json.loads(text, parse_constant=refuse)


@pytest.fixture
def answer(files, capsys):
    def ask(*arguments: str):
        assert main(["channel", "matrix.csv", *arguments, "--json"]) == 0
        return strict(capsys.readouterr().out)

    return ask


def run(*arguments: str, **options) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        [sys.executable, "-m", "deniable", *arguments],
        capture_output=True,
        text=True,
        check=False,
        timeout=60,
        **options,
    )


# -- answers ---------------------------------------------------------------------------------------


def test_the_keys_are_always_the_same(answer):
    assert list(answer()) == KEYS
    assert list(answer("--prior", "prior.csv", "--counts", "counts.csv")) == KEYS


def test_privacy(answer):
    found = answer()
    assert found["categories"] == ["never", "former", "daily"]
    # The columns have the ratios 8, 7 and 8.
    assert found["parity"] == found["beta"] == pytest.approx(8, rel=1e-15)
    assert found["epsilon"] == pytest.approx(math.log(8), rel=1e-15)
    bounds = {row["prior"]: row for row in found["breach_bounds"]}
    assert list(bounds) == [0.01, 0.05, 0.1, 0.25, 0.5]
    assert bounds[0.1]["largest_posterior"] == pytest.approx(8 / 17, rel=1e-14)
    assert bounds[0.1]["smallest_posterior"] == pytest.approx(0.1 / 7.3, rel=1e-14)
    assert found["condition_number"] == pytest.approx(np.linalg.cond(CHANNEL.entries))
    assert found["singular"] is False
    assert found["reports"] == found["categories"]
    for key in KEYS[9:]:
        assert found[key] is None


def test_under_a_prior(answer):
    found = answer("--prior", "prior.csv")
    assert found["prior"] == [0.5, 0.3, 0.2]
    # Reports: .5 .8 + .3 .15 + .2 .1 = .465, then .28 and .255.
    assert found["reported"] == pytest.approx([0.465, 0.28, 0.255], rel=1e-14)
    assert found["invariant"] is False
    assert found["largest_change"] == pytest.approx(0.055, rel=1e-12)
    joint, reported = np.array([[400, 45, 20], [50, 210, 20], [50, 45, 160]]), [465, 280, 255]
    np.testing.assert_allclose(found["posterior"], (joint.T / reported).T, rtol=1e-13)
    largest, smallest = found["largest_factor"], found["smallest_factor"]
    assert (largest["category"], largest["report"]) == ("daily", "daily")
    assert largest["ratio"] == pytest.approx(160 / 255 / 0.2)
    assert (smallest["category"], smallest["report"]) == ("daily", "never")
    assert smallest["ratio"] == pytest.approx(20 / 465 / 0.2)


def test_an_invariant_channel_is_seen(answer, files):
    (files / "prior.csv").write_text(
        "category,probability\nnever,3/8\nformer,2/8\ndaily,3/8\n", encoding="utf-8"
    )  # .375 .8 + .25 .15 + .375 .1 = .375
    found = answer("--prior", "prior.csv")
    assert found["invariant"] is True
    assert found["reported"] == pytest.approx(found["prior"], abs=1e-15)


def exact_answers():
    """The estimate and its covariance, in fractions: inverse by hand."""
    # det = .8 (.56 - .015) - .1 (.12 - .015) + .1 (.015 - .07) = .42; adjugate over .42.
    adjugate = [[545, -70, -55], [-105, 630, -105], [-55, -70, 545]]
    inverse = [[F(entry, 420) for entry in row] for row in adjugate]
    shares = [F(512, 1000), F(288, 1000), F(200, 1000)]
    estimate = [sum(shares[v] * inverse[v][u] for v in range(3)) for u in range(3)]

    def covariance(u, w):
        product = sum(shares[v] * inverse[v][u] * inverse[v][w] for v in range(3))
        return (product - estimate[u] * estimate[w]) / 999

    return estimate, [[covariance(u, w) for w in range(3)] for u in range(3)]


def test_the_estimate_in_fractions(answer):
    estimate, covariance = exact_answers()
    assert sum(estimate) == 1
    found = answer("--counts", "counts.csv")
    assert found["records"] == 1000
    assert (found["target"], found["confidence"]) == ("population", 0.95)
    assert found["inverse"] is None  # a square matrix has one only
    np.testing.assert_allclose(found["estimate"], [float(x) for x in estimate], atol=1e-14)
    expected = [[float(x) for x in row] for row in covariance]
    np.testing.assert_allclose(found["covariance"], expected, rtol=1e-12, atol=1e-16)
    errors = [math.sqrt(row[u]) for u, row in enumerate(expected)]
    np.testing.assert_allclose(found["standard_error"], errors, rtol=1e-12)
    # Inside the simplex the unbiased estimate is that of maximum likelihood.
    assert found["maximum_likelihood"] == found["estimate"]
    for low, value, high in zip(
        found["interval_low"], found["estimate"], found["interval_high"], strict=True
    ):
        assert low < value < high
        assert high - low == pytest.approx(2 * 1.96 * max(errors), rel=0.3)


def test_target_and_confidence(answer):
    wide = answer("--counts", "counts.csv", "--confidence", "0.99")
    narrow = answer("--counts", "counts.csv", "--target", "file")
    assert (wide["confidence"], narrow["target"]) == (0.99, "file")
    expected = CHANNEL.standard_errors([512, 288, 200], "file")
    np.testing.assert_allclose(narrow["standard_error"], expected, rtol=1e-12)
    assert (np.array(wide["interval_low"]) < narrow["interval_low"]).all()


def test_an_estimate_outside_the_simplex_stays_unbiased(answer, files):
    (files / "counts.csv").write_text(
        "category,count\nnever,900\nformer,50\ndaily,50\n", encoding="utf-8"
    )
    found = answer("--counts", "counts.csv")
    assert min(found["estimate"]) < 0
    assert sum(found["estimate"]) == pytest.approx(1)
    assert min(found["maximum_likelihood"]) >= 0
    assert sum(found["maximum_likelihood"]) == pytest.approx(1)


def test_breaches(answer):
    # Parity 8; from .1 to .4 needs one up to 6, from .1 to .5 one up to 9.
    found = answer("--breach", "0.1", "0.5")["breach"]
    assert found["guaranteed"] is True
    assert found["witness"] is None
    found = answer("--breach", "0.1", "0.4", "--prior", "prior.csv")["breach"]
    assert found["guaranteed"] is False
    assert found["largest_parity"] == pytest.approx(6, rel=1e-14)
    witness = found["witness"]
    report = witness["report"]
    members = [
        u for u, name in enumerate(("never", "former", "daily")) if name in witness["members"]
    ]
    posterior = CHANNEL.posterior(witness["prior"])[["never", "former", "daily"].index(report)]
    assert witness["prior_probability"] < 0.1
    assert posterior[members].sum() == pytest.approx(witness["posterior"])
    assert witness["posterior"] > 0.4
    assert found["worst_under_prior"] is None  # no category has a prior below .1
    worst = answer("--breach", "0.25", "0.4", "--prior", "prior.csv")["breach"]["worst_under_prior"]
    assert worst["members"] == ["daily"]
    assert worst["posterior"] == pytest.approx(160 / 255)


def test_infinite_and_undefined_numbers_are_json(files, capsys):
    (files / "matrix.csv").write_text(",a,b\na,1,0\nb,0,1\n", encoding="utf-8")
    (files / "prior.csv").write_text("category,probability\na,1\nb,0\n", encoding="utf-8")
    assert main(["channel", "matrix.csv", "--prior", "prior.csv", "--json"]) == 0
    found = strict(capsys.readouterr().out)
    for key in ("epsilon", "parity", "beta"):
        assert found[key] == "Infinity"
        assert float(found[key]) == math.inf
    assert found["breach_bounds"][0]["largest_posterior"] == 1
    assert found["posterior"] == [[1, 0], [None, None]]  # nobody reports b


def test_text(files, capsys):
    assert main(["channel", "matrix.csv", "--prior", "prior.csv", "--counts", "counts.csv"]) == 0
    text = capsys.readouterr().out
    assert re.search(r"epsilon +2.07944 ", text)
    assert re.search(r"\n  daily +0.255 +0.196078 +0.176471 +0.627451\n", text)
    assert re.search(r"\n  never +0.56619 +0.0237389 ", text)
    assert "one row per true category" in text
    assert max(map(len, text.splitlines())) <= 100


def test_many_categories_are_not_printed_as_matrices(tmp_path, capsys):
    names = [f"c{u}" for u in range(30)]
    write_channel(tmp_path / "m.csv", KeepOrReplace.uniform(30, 0.5), names)
    (tmp_path / "c.csv").write_text(
        "category,count\n" + "".join(f"{name},100\n" for name in names), encoding="utf-8"
    )
    arguments = ["channel", str(tmp_path / "m.csv"), "--counts", str(tmp_path / "c.csv")]
    assert main(arguments) == 0
    text = capsys.readouterr().out
    assert "Covariance of the estimate: 30 rows, see --json" in text
    assert "\n  c29 " in text
    assert main([*arguments, "--json"]) == 0
    assert len(strict(capsys.readouterr().out)["covariance"]) == 30


def test_one_category(tmp_path, capsys):
    path = tmp_path / "m.csv"
    path.write_text(",only\nonly,1\n", encoding="utf-8")
    assert main(["channel", str(path)]) == 0
    assert "m.csv: 1 category\n" in capsys.readouterr().out


# -- reports of their own --------------------------------------------------------------------------

# Rows (4, 2, 1, 1), (1, 4, 2, 1), (1, 1, 2, 4) of eighths: columns of ratio 4, 4, 2, 4.
WIDE = "true category / report,w,x,y,z\na,.5,.25,.125,.125\nb,1/8,1/2,1/4,1/8\nc,1/8,1/8,1/4,1/2\n"
ROWS = [[F(4), F(2), F(1), F(1)], [F(1), F(4), F(2), F(1)], [F(1), F(1), F(2), F(4)]]
REPORTS = "report,count\nw,40\nx,30\ny,20\nz,30\n"
FEW = "report,low,high\na,.5,.5\nb,.25,.75\nc,.125,.875\n"


@pytest.fixture
def wide(files):
    (files / "matrix.csv").write_text(WIDE, encoding="utf-8")
    (files / "counts.csv").write_text(REPORTS, encoding="utf-8")
    (files / "prior.csv").write_text(
        "category,probability\na,1/2\nb,1/4\nc,1/4\n", encoding="utf-8"
    )
    return files


def test_privacy_and_posteriors_of_reports_of_their_own(wide, answer):
    found = answer("--prior", "prior.csv", "--breach", "0.3", "0.5")
    assert list(found) == KEYS
    assert found["categories"] == ["a", "b", "c"]
    assert found["reports"] == ["w", "x", "y", "z"]
    assert (found["parity"], found["beta"]) == (4, 4)
    assert found["epsilon"] == pytest.approx(math.log(4), rel=1e-15)
    # Joint with the reports, in 32nds: a (8, 4, 2, 2), b (1, 4, 2, 1), c (1, 1, 2, 4).
    assert found["reported"] == [10 / 32, 9 / 32, 6 / 32, 7 / 32]
    joint = np.array([[8, 4, 2, 2], [1, 4, 2, 1], [1, 1, 2, 4]])
    np.testing.assert_allclose(found["posterior"], (joint / joint.sum(axis=0)).T, rtol=1e-14)
    # c after z: 4/7 for 1/4. b or c after w: 1/10 for 1/4.
    assert found["largest_factor"] == {
        "ratio": pytest.approx(16 / 7),
        "category": "c",
        "report": "z",
    }
    assert found["smallest_factor"]["ratio"] == pytest.approx(0.4)
    assert found["smallest_factor"]["report"] == "w"
    # Reports are no categories: there is nothing to leave as it is.
    assert found["invariant"] is found["largest_change"] is None
    assert found["breach"]["witness"]["report"] in found["reports"]
    worst = found["breach"]["worst_under_prior"]
    assert (worst["members"], worst["report"]) == (["c"], "z")
    assert worst["posterior"] == pytest.approx(4 / 7)


def test_the_estimate_from_reports_of_their_own(wide, answer):
    found = answer("--counts", "counts.csv")
    channel = DenseChannel(np.array(ROWS, dtype=float) / 8)
    counts = [40, 30, 20, 30]
    assert (found["records"], found["inverse"]) == (120, "least")
    assert sum(found["estimate"]) == pytest.approx(1)
    np.testing.assert_allclose(found["estimate"], channel.estimate(counts), rtol=1e-12)
    np.testing.assert_allclose(
        found["standard_error"], np.sqrt(np.diag(found["covariance"])), rtol=1e-10
    )
    low, high = np.array(found["interval_low"]), np.array(found["interval_high"])
    assert (low < found["estimate"]).all()
    assert (high > found["estimate"]).all()
    np.testing.assert_allclose(high - low, 3.92 * np.array(found["standard_error"]), rtol=0.1)
    # The score of the likelihood vanishes at its maximum, which is within: all slopes are alike.
    likely = np.array(found["maximum_likelihood"])
    assert likely.sum() == pytest.approx(1)
    assert likely.min() > 0
    slopes = channel.matrix() @ (counts / channel.reported(likely))
    np.testing.assert_allclose(slopes, 120, rtol=1e-3)
    # Reports in the proportions of (1/2, 1/4, 1/4) are estimated as these, by any left inverse.
    (wide / "counts.csv").write_text("category,count\nw,10\nx,9\ny,6\nz,7\n", encoding="utf-8")
    exact = answer("--counts", "counts.csv")
    for key in ("estimate", "maximum_likelihood"):
        np.testing.assert_allclose(exact[key], [0.5, 0.25, 0.25], atol=2e-3)
    np.testing.assert_allclose(exact["estimate"], [0.5, 0.25, 0.25], atol=1e-13)


def test_reports_of_their_own_as_text(wide, capsys):
    assert main(["channel", "matrix.csv", "--prior", "prior.csv", "--counts", "counts.csv"]) == 0
    text = capsys.readouterr().out
    assert "matrix.csv: 3 categories, 4 randomized values\n" in text
    assert re.search(r"\n  z +0.21875 +0.285714 +0.142857 +0.571429\n", text)
    assert "more randomized values than categories" in text
    assert "Estimates are unbiased:" not in text
    assert "invariant" not in text
    assert max(map(len, text.splitlines())) <= 100


def test_fewer_reports_than_categories_have_privacy_but_no_estimate(files, capsys):
    (files / "matrix.csv").write_text(FEW, encoding="utf-8")
    (files / "counts.csv").write_text("report,count\nlow,3\nhigh,9\n", encoding="utf-8")
    (files / "prior.csv").write_text(
        "category,probability\na,1/3\nb,1/3\nc,1/3\n", encoding="utf-8"
    )
    assert main(["channel", "matrix.csv", "--prior", "prior.csv", "--json"]) == 0
    found = strict(capsys.readouterr().out)
    assert (found["parity"], found["singular"]) == (4, True)
    assert found["condition_number"] == "Infinity"
    np.testing.assert_allclose(found["posterior"][1], [4 / 17, 6 / 17, 7 / 17], rtol=1e-14)
    for form in ([], ["--json"]):
        assert main(["channel", "matrix.csv", "--counts", "counts.csv", *form]) == 1
        out, err = capsys.readouterr()
        assert err == (
            "deniable: error: matrix.csv: 2 randomized values cannot distinguish 3 categories, so "
            "counts.csv allows no estimate; give at least as many randomized values as "
            "categories\n"
        )
        assert "1.38629" in out


def test_counts_of_categories_are_no_counts_of_reports(wide, capsys):
    (wide / "counts.csv").write_text("category,count\na,10\nb,9\nc,6\n", encoding="utf-8")
    assert main(["channel", "matrix.csv", "--counts", "counts.csv"]) == 2
    assert "'a', 'b', 'c' among the rows, but not in" in capsys.readouterr().err


# -- errors ----------------------------------------------------------------------------------------


def test_a_singular_channel_has_privacy_but_no_estimate(files, capsys):
    (files / "matrix.csv").write_text(",a,b\na,.5,.5\nb,1/2,.5\n", encoding="utf-8")
    (files / "counts.csv").write_text("category,count\na,10\nb,20\n", encoding="utf-8")
    assert main(["channel", "matrix.csv", "--json"]) == 0
    assert strict(capsys.readouterr().out)["singular"] is True
    for form in ([], ["--json"]):
        assert main(["channel", "matrix.csv", "--counts", "counts.csv", *form]) == 1
        out, err = capsys.readouterr()
        assert err.startswith("deniable: error: matrix.csv: the matrix is singular")
        assert "counts.csv allows no estimate" in err
        if form:
            found = strict(out)
            assert found["epsilon"] == 0
            assert found["estimate"] is found["covariance"] is found["standard_error"] is None
        else:
            assert re.search(r"epsilon +0 ", out)


def test_counts_that_allow_no_estimate_name_their_file(files, capsys):
    (files / "counts.csv").write_text(
        "category,count\nnever,1\nformer,0\ndaily,0\n", encoding="utf-8"
    )
    assert main(["channel", "matrix.csv", "--counts", "counts.csv"]) == 1
    assert capsys.readouterr().err.startswith(
        "deniable: error: counts.csv: the variance in the population cannot be"
    )
    assert main(["channel", "matrix.csv", "--counts", "counts.csv", "--target", "file"]) == 0


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["none.csv"], "none.csv: No such file"),
        (["prior.csv"], "prior.csv: "),
        (["matrix.csv", "--prior", "counts.csv"], "counts.csv: the column 'probability'"),
        (["matrix.csv", "--counts", "prior.csv"], "prior.csv: the column 'count'"),
    ],
)
def test_bad_content_is_one_line_and_exit_code_2(files, capsys, arguments, message):
    assert main(["channel", *arguments]) == 2
    out, err = capsys.readouterr()
    assert out == ""
    assert err.startswith(f"deniable: error: {message}")
    assert err.count("\n") == 1


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ([], "required: COMMAND"),
        (["chanel"], "invalid choice: 'chanel'"),
        (["channel"], "required: MATRIX.csv"),
        (["channel", "m.csv", "--no"], "unrecognized arguments: --no"),
        (["channel", "m.csv", "--confidence", "95"], "'95' is not a number between 0 and 1"),
        (["channel", "m.csv", "--breach", ".5", ".1"], "RHO_1 must be smaller than RHO_2"),
        (["channel", "m.csv", "--breach", "x", ".1"], "'x' is not a number"),
        (["channel", "m.csv", "--target", "sample"], "invalid choice: 'sample'"),
        (["design"], "required: SPEC.yaml"),
        (["design", "s.yaml", "--output", "d", "--matrix", "m"], "not allowed with"),
    ],
)
def test_wrong_usage_is_exit_code_2(capsys, arguments, message):
    with pytest.raises(SystemExit) as caught:
        main(arguments)
    assert caught.value.code == 2
    out, err = capsys.readouterr()
    assert out == ""
    assert message in err
    assert err.startswith("usage: deniable")


@pytest.mark.parametrize("command", [[], ["channel"], ["design"]])
def test_help(capsys, command):
    with pytest.raises(SystemExit) as caught:
        main([*command, "--help"])
    assert caught.value.code == 0
    text = capsys.readouterr().out
    assert "examples:\n  deniable " in text


def test_version(capsys):
    with pytest.raises(SystemExit) as caught:
        main(["--version"])
    assert caught.value.code == 0
    assert capsys.readouterr().out == f"deniable {__version__}\n"


# -- the page of the documentation -----------------------------------------------------------------

PAGE = ROOT / "docs" / "matrices.md"
NUMBER = re.compile(r"-?\d+(?:\.\d+)?(?:e-?\d+)?")


def examples(folder: Path) -> list[tuple[str, str]]:
    """Run the page's commands on the page's files: what it shows, and what they print."""
    text = PAGE.read_text(encoding="utf-8")
    for name, body in re.findall(
        r"^`([\w.-]+)`:\n\n```\w+\n(.*?)```", text, re.MULTILINE | re.DOTALL
    ):
        (folder / name).write_text(body, encoding="utf-8")
    found = []
    for shown in re.findall(r"```console\n(.*?)```", text, re.DOTALL):
        printed = ""
        for line in shown.splitlines():
            if line.startswith("$ deniable "):
                done = run(*line.split()[2:], cwd=folder)
                printed += f"{line}\n{done.stdout}{done.stderr}"
        found.append((shown, printed))
    return found


def test_the_page_shows_what_is_printed(tmp_path):
    found = examples(tmp_path)
    assert len(found) >= 5
    for shown, printed in found:
        # Digits beyond the fifth, and so the widths of columns, may depend on the processor.
        assert NUMBER.sub("#", shown).split() == NUMBER.sub("#", printed).split()
        expected = [float(number) for number in NUMBER.findall(shown)]
        values = [float(number) for number in NUMBER.findall(printed)]
        np.testing.assert_allclose(values, expected, rtol=1e-5, atol=1e-12)


def test_the_page_names_every_key(answer):
    text = PAGE.read_text(encoding="utf-8")
    for key in answer():
        assert f"`{key}`" in text, key


def test_help_names_every_mechanism(capsys):
    with pytest.raises(SystemExit):
        main(["plan", "--help"])
    text = capsys.readouterr().out
    for kind in MECHANISMS:
        assert re.search(rf"(?<![\w-]){kind}(?![\w-])", text), kind


# -- as a process ----------------------------------------------------------------------------------


def test_the_process_ends_with_the_exit_code(files):
    assert run("channel", "matrix.csv").returncode == 0
    failed = run("channel", "none.csv")
    assert failed.returncode == 2
    assert failed.stderr == "deniable: error: none.csv: No such file or directory; check the path\n"
    assert run("channel").returncode == 2


def test_an_error_is_printed_after_the_answers(files):
    (files / "matrix.csv").write_text(",a,b\na,.5,.5\nb,1/2,.5\n", encoding="utf-8")
    (files / "counts.csv").write_text("category,count\na,10\nb,20\n", encoding="utf-8")
    done = subprocess.run(
        [sys.executable, "-m", "deniable", "channel", "matrix.csv", "--counts", "counts.csv"],
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        env=os.environ | {"PYTHONUNBUFFERED": ""},  # as for most users
        check=False,
        timeout=60,
    )
    assert done.returncode == 1
    assert done.stdout.startswith(b"matrix.csv: 2 categories")
    assert done.stdout.splitlines()[-1].startswith(b"deniable: error: matrix.csv: the matrix is")


def test_a_reader_who_leaves_is_no_error(files):
    read, write = os.pipe()
    os.close(read)
    try:
        done = subprocess.run(
            [sys.executable, "-m", "deniable", "channel", "matrix.csv", "--json"],
            stdout=write,
            stderr=subprocess.PIPE,
            check=False,
            timeout=60,
        )
    finally:
        os.close(write)
    assert done.stderr == b""
    assert done.returncode == 141


def test_categories_print_on_any_console(files):
    (files / "matrix.csv").write_text(",jå,nei\njå,1,0\nnei,0,1\n", encoding="utf-8")
    (files / "counts.csv").write_text("category,count\njå,10\nnei,20\n", encoding="utf-8")
    for form in ([], ["--json"]):
        ascii_only = os.environ | {"PYTHONIOENCODING": "ascii", "PYTHONUTF8": "0"}
        done = run("channel", "matrix.csv", "--counts", "counts.csv", *form, env=ascii_only)
        assert (done.returncode, done.stderr) == (0, "")


def test_help_imports_nothing_large():
    code = (
        "import sys, deniable.cli\n"
        "try: deniable.cli.main(['--help'])\n"
        "except SystemExit: pass\n"
        "large = {'numpy', 'pandas', 'scipy', 'numba', 'cvxpy'} & set(sys.modules)\n"
        "sys.exit(f'imported {large}' if large else 0)"
    )
    begun = time.perf_counter()
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=False)
    assert (done.returncode, done.stderr) == (0, "")
    assert time.perf_counter() - begun < 3  # as a rule a tenth of a second


if __name__ == "__main__":  # writes the page's outputs anew
    import tempfile

    with tempfile.TemporaryDirectory() as name:
        page = PAGE.read_text(encoding="utf-8")
        for shown, printed in examples(Path(name)):
            page = page.replace(f"```console\n{shown}```", f"```console\n{printed}```")
        PAGE.write_text(page, encoding="utf-8")
