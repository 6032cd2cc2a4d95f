"""The command ``deniable estimate``."""

import io
import json
from pathlib import Path

import numpy as np
import pandas as pd
import pyarrow as pa
import pytest
from tests.analysis.public_folders import survey_plan, survey_truth, write_public
from tests.analysis.test_many_tables import PLANS
from tests.plans.masked_plans import plan_by, schema_of_sizes, table_of_sizes
from tests.plans.test_collected import frame_of
from tests.rrba.collected_records import some_records

import deniable
from deniable.analysis import WRONG_ERRORS, Released
from deniable.cli import main
from deniable.files import sha256, write_text
from deniable.plans import Plan, StrataPlan, write_plan
from deniable.randomized_response import cramers_v
from deniable.release import protect_test


@pytest.fixture(scope="module")
def public(tmp_path_factory: pytest.TempPathFactory) -> str:
    folder = tmp_path_factory.mktemp("release") / "public"
    return str(write_public(folder, survey_plan(), *survey_truth(2000, 1)))


def test_text_has_tables_tests_and_what_to_know(
    public: str, capsys: pytest.CaptureFixture[str]
) -> None:
    asked = ["--table", "sex,income", "--test", "independence", "--query", "age>=13.75"]
    assert main(["estimate", public, *asked, "--target", "file"]) == 0
    text = capsys.readouterr().out
    assert "2,000 protected records" in text
    assert "table of sex x income" in text
    assert "chi-squared" in text
    assert "0.95 confidence, each on its own, for these very records" in text


def test_without_a_question_it_shows_margins_and_numbers(
    public: str, capsys: pytest.CaptureFixture[str]
) -> None:
    assert main(["estimate", public, "--format", "csv"]) == 0
    table = pd.read_csv(io.StringIO(capsys.readouterr().out))
    assert set(table["answer"]) == {"margins", "numbers"}


def test_json_is_strict_and_whole(public: str, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["estimate", public, "--margins", "--weight", "w", "--format", "json"]) == 0
    answers = json.loads(capsys.readouterr().out)["answers"]
    rows = answers["margins, weighted by w"]["rows"]
    assert rows[0]["column"] == "sex"
    assert 0 < rows[0]["estimate"] < 1


def test_weights_count_in_all_that_is_asked(
    public: str, capsys: pytest.CaptureFixture[str]
) -> None:
    asked = ["--margins", "--numbers", "--pairs", "--table", "sex,owner"]
    asked += ["--query", "age>=13.75", "--test", "independence"]
    assert main(["estimate", public, *asked, "--weight", "w", "--format", "json"]) == 0
    answers = json.loads(capsys.readouterr().out)["answers"]
    whats = (
        "margins",
        "numbers",
        "table of sex x owner",
        "pairs",
        "queries",
        "independence of sex, owner",
    )
    assert set(answers) == {f"{what}, weighted by w" for what in whats}
    released = Released(public)
    mean = released.numbers("age", weight="w")["estimate"][0]
    assert answers["numbers, weighted by w"]["rows"][0]["estimate"] == pytest.approx(mean)
    assert abs(mean - released.numbers("age")["estimate"][0]) > 1e-3


def test_a_page_asks_nothing_of_other_places(public: str, tmp_path: Path) -> None:
    page = tmp_path / "page.html"
    arguments = ["--query", "income<high", "--format", "html", "--out", str(page)]
    assert main(["estimate", public, *arguments]) == 0
    text = page.read_text(encoding="utf-8")
    assert "income&lt;high" in text
    assert '<th scope="col">target' not in text  # below the table, once
    assert "http" not in text


@pytest.mark.parametrize("form", ["text", "csv", "json", "html"])
def test_regressions_have_all_formats(public: str, form: str, tmp_path: Path) -> None:
    asked = ["--regress", "owner ~ sex + region", "--regress", "age ~ income", "--format", form]
    page = tmp_path / "page.txt"
    for _ in range(2):  # the second replaces the first
        assert main(["estimate", public, *asked, "--out", str(page)]) == 0
    text = page.read_text(encoding="utf-8")
    for said in ("regression age ~ income", "income=high", "region=c", "owner=yes"):
        assert said in text
    if form != "csv":
        assert "logistic model by corrected scores, compared with sex=F, region=a, owner=no" in text
        assert "of a proportion" not in text
    rows = Released(public).regression("age ~ income")["estimate"]
    if form == "json":
        found = json.loads(text)["answers"]["regression age ~ income"]["rows"]
        assert [row["estimate"] for row in found] == pytest.approx(rows)


@pytest.mark.parametrize("asked", [["--test", "mcindep"], ["--consistent"], ["--two-step"]])
def test_a_file_of_estimates_replaces_an_earlier_one(
    public: str, asked: list[str], tmp_path: Path
) -> None:
    for _ in range(2):
        out = ["--format", "csv", "--out", str(tmp_path / "tables.csv")]
        assert main(["estimate", public, *asked, *out]) == 0


def test_a_regression_that_is_refused_leaves_the_others(
    public: str, capsys: pytest.CaptureFixture[str]
) -> None:
    asked = ["--regress", "owner ~ job", "--regress", "owner ~ sex", "--method", "likelihood"]
    assert main(["estimate", public, *asked, "--model", "logistic"]) == 1
    shown = capsys.readouterr()
    assert "regression owner ~ job: 'owner ~ job': the release has no estimates" in shown.err
    assert "A logistic model by maximum likelihood" in shown.out


@pytest.mark.parametrize("ending", ["csv", "parquet"])
def test_synthetic_records_are_written(public: str, tmp_path: Path, ending: str) -> None:
    file = tmp_path / f"synthetic.{ending}"
    assert main(["estimate", public, "--synthetic", "50", "--out", str(file)]) == 0
    read = pd.read_csv if ending == "csv" else pd.read_parquet
    assert read(file).shape == (50, 5)


def test_adjusted_weights_say_what_they_leave_out(
    public: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    file = tmp_path / "weights.csv"
    assert main(["estimate", public, "--adjusted-weights", "--out", str(file)]) == 0
    assert "not adjusted: age" in capsys.readouterr().out
    assert len(pd.read_csv(file)) == 2000


@pytest.mark.parametrize(
    "asked",
    [
        *(["--table", "sex,nope"], ["--query", "sex"], ["--table", "sex,sex"]),
        ["--table", "sex", "--weight", "sex", "--test", "independence"],
    ],
)
def test_what_cannot_be_answered_is_refused_before_anything_is_written(
    public: str, tmp_path: Path, asked: list[str], capsys: pytest.CaptureFixture[str]
) -> None:
    out = tmp_path / "answer.txt"
    assert main(["estimate", public, *asked, "--out", str(out)]) == 2
    assert capsys.readouterr().err.startswith("deniable: error: ")
    assert not out.exists()


def test_one_refused_question_leaves_the_other_answers(
    public: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    asked = ["--table", "sex", "--table", "sex,nope", "--test", "independence"]
    asked += ["--query", "sex=F", "--query", "sex=X", "--query", "sex=M"]
    out = tmp_path / "answer.csv"
    assert main(["estimate", public, *asked, "--format", "csv", "--out", str(out)]) == 1
    lines = capsys.readouterr().err.splitlines()
    assert len(lines) == 4
    assert lines[0].startswith("deniable: error: independence of sex: ")
    starts = ("table of sex x nope: ", "independence of sex, nope: ", "query sex=X: ")
    assert all(line.startswith(start) for line, start in zip(lines[1:], starts, strict=True))
    table = pd.read_csv(out)
    assert list(table["answer"]) == ["table of sex"] * 2 + ["queries"] * 2
    records = tmp_path / "made.csv"
    made = ["--table", "sex", "--test", "independence", "--synthetic", "5", "--out", str(records)]
    assert main(["estimate", public, *made]) == 1
    assert len(pd.read_csv(records)) == 5
    assert "table of sex" in capsys.readouterr().out


def test_options_without_an_effect_are_refused(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    frame = pd.DataFrame({"sex": ["x", "y"] * 50, "job": ["x", "x", "y", "y"] * 25})
    public = released_by(strata_plan(), frame, tmp_path / "public")
    plan = deniable.make_plan(strata_plan().schema, 3.0)
    whole = released_by(plan, frame, tmp_path / "whole")
    for folder, asked, words in (
        (public, ["--numbers"], "no column is released as numbers"),
        (whole, ["--by-stratum"], "--by-stratum: no requested table has strata"),
        (public, ["--by-stratum", "--query", "sex=x"], "--by-stratum: no requested table"),
    ):
        assert main(["estimate", folder, *asked]) == 2
        output = capsys.readouterr()
        assert (output.out, words in output.err) == ("", True)


@pytest.mark.parametrize(
    "asked",
    [
        *(["--rule", "sex"], ["--synthetic", "5"]),
        *(["--synthetic", "0", "--out", "a.csv"], ["--confidence", "2"], ["--seed", "-1"]),
        *(["--repetitions", "2"], ["--columns", "sex"]),
        *(["--joint", "--target", "file"], ["--joint", "--confidence", "0.9"]),
    ],
)
def test_contradictory_options_are_refused(public: str, asked: list[str]) -> None:
    with pytest.raises(SystemExit) as caught:
        main(["estimate", public, *asked])
    assert caught.value.code == 2


def released_by(plan: Plan, frame: pd.DataFrame, folder: Path) -> str:
    """Return the public folder of records that were randomized by a plan, in a Parquet file."""
    folder.mkdir()
    name = f"{plan.protected_name}.parquet"
    reports = deniable.randomize(frame, plan, np.random.default_rng(1))
    reports.to_parquet(folder / name)
    for public, table in plan.public_tables(pa.Table.from_pandas(reports)).items():
        table.to_csv(folder / f"{public}.csv", index=False)
    write_plan(folder / "plan.json", plan)
    names = sorted(file.name for file in folder.iterdir())
    write_text(folder / "SHA256SUMS", "".join(f"{sha256(folder / n)}  {n}\n" for n in names))
    return str(folder)


def strata_plan() -> Plan:
    columns = [
        {"name": name, "kind": "categorical", "categories": ["x", "y"]} for name in ("sex", "job")
    ]
    about = {"format": "deniable-schema", "version": 1, "population": "survey"}
    schema = deniable.schema_from_dict(about | {"file": {"kind": "parquet"}, "columns": columns})
    return StrataPlan.from_schema(schema, ["sex"], retention=0.6)


def test_strata_and_both_targets_are_answered(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    generator = np.random.default_rng(2)
    frame = pd.DataFrame({name: generator.choice(["x", "y"], 500) for name in ("sex", "job")})
    public = released_by(strata_plan(), frame, tmp_path / "public")
    asked = ["--margins", "--pairs", "--by-stratum", "--target", "both", "--format", "csv"]
    assert main(["estimate", public, *asked]) == 0
    table = pd.read_csv(io.StringIO(capsys.readouterr().out), keep_default_na=False)
    assert set(table["target"]) == {"population", "file"}
    assert set(table["stratum"]) == {"", "x", "y"}
    assert set(table["answer"]) == {"margins", "pairs"}
    assert main(["estimate", public]) == 0
    text = capsys.readouterr().out
    assert "stays in a stratum of sex" in text
    file = tmp_path / "weights.csv"
    assert main(["estimate", public, "--adjusted-weights", "--out", str(file)]) == 0
    assert len(pd.read_csv(file)) == 500
    made = tmp_path / "synthetic.csv"
    how = ["--synthetic", "50", "--basis", "weights", "--out", str(made)]
    assert main(["estimate", public, *how]) == 0
    assert "distance" not in capsys.readouterr().out
    assert pd.read_csv(made).shape == (50, 2)


def test_masked_numbers_are_answered_by_default(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    plan = plan_by("histograms", schema=schema_of_sizes("parquet"))
    public = released_by(plan, table_of_sizes().to_pandas(), tmp_path / "public")
    assert main(["estimate", public]) == 0
    text = capsys.readouterr().out
    assert "numbers" in text
    assert "margins" not in text
    assert main(["estimate", public, "--margins"]) == 2
    assert "no categories" in capsys.readouterr().err


@pytest.mark.parametrize("name", ["independent columns", "clusters", "strata", "single tables"])
def test_analyses_of_many_tables_of_every_kind(
    name: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    plan, records = PLANS[name](), frame_of(some_records(1500))
    protect_test(records, plan, tmp_path, 1, to="test")
    public = str(tmp_path / "test")
    asked = ["--consistent", "--two-step", "--table", "a,b", "--table", "a,c"]
    assert main(["estimate", public, *asked, "--test", "mcindep", "--format", "json"]) == 0
    answers = json.loads(capsys.readouterr().out)["answers"]
    released, tables = Released(public), [("a", "b"), ("a", "c")]
    consistent = released.consistent(tables)
    expected = {
        "MCIndep": released.mcindep(tables),
        "consistent tables": consistent.tables,
        "disagreement of tables": consistent.disagreement,
        "two-step tables": released.two_step(tables),
    }
    assert {*answers} == {*expected, "table of a x b", "table of a x c"}
    for title, table in expected.items():
        pd.testing.assert_frame_equal(
            pd.DataFrame(answers[title]["rows"]), table, check_dtype=False
        )
    found = expected["MCIndep"]
    above = ~found["too_small"] & (found["statistic"] > found["threshold"])
    assert found["rejected"].tolist() == above.tolist()
    # a and b depend on each other strongly, so only the rule of five can accept independence.
    assert found["rejected"][0] == (not found["too_small"][0])
    assert found["rejected"][0] or name != "clusters"
    assert main(["estimate", public, "--test", "independence", "--format", "csv"]) == 0
    tests = pd.read_csv(io.StringIO(capsys.readouterr().out))
    assert set(tests["answer"]) == {"independence of all tables"}
    assert len(tests) == len(released.independence_of_pairs())


@pytest.mark.parametrize("asked", [["--consistent"], ["--test", "mcindep"], ["--itemsets"]])
def test_the_reason_is_the_message_where_a_kind_has_no_tables(
    tmp_path: Path, asked: list[str], capsys: pytest.CaptureFixture[str]
) -> None:
    plan = plan_by("histograms", bins=4)
    protect_test(table_of_sizes(60), plan, tmp_path, 1, to="test")
    assert main(["estimate", str(tmp_path / "test"), *asked]) == 2
    error = capsys.readouterr().err
    assert "masked numbers have no categories" in error or "no columns that are random" in error


@pytest.mark.parametrize("asked", [["--itemsets"], ["--rule", "a => b"], ["--test", "mcindep"]])
def test_weights_are_refused_where_they_are_not_used(
    public: str, asked: list[str], capsys: pytest.CaptureFixture[str]
) -> None:
    with pytest.raises(SystemExit):
        main(["estimate", public, *asked, "--weight", "w"])
    assert "argument --weight: " in capsys.readouterr().err


JOINT = ("numbers of latent classes", "test of fit on held-out pairs")


def test_one_joint_distribution_answers_tables_and_queries(
    public: str, capsys: pytest.CaptureFixture[str]
) -> None:
    asked = ["--joint", "--table", "sex,income", "--query", "sex=F,owner=no", "--seed", "1"]
    asked += ["--weight", "w", "--format", "json"]
    assert main(["estimate", public, *asked]) == 0
    answers = json.loads(capsys.readouterr().out)["answers"]
    titles = (*JOINT, "joint table of sex x income", "joint query sex=F,owner=no")
    assert [*answers] == [f"{title}, weighted by w" for title in titles]
    table, query = (pd.DataFrame(each["rows"]) for each in [*answers.values()][2:])
    found = Released(public).joint(weight="w", seed=1)
    np.testing.assert_array_equal(table["joint"], found.table(["sex", "income"])["joint"])
    assert list(table) == ["sex", "income", "joint", "estimate", "ci_low", "ci_high"]
    assert query["joint"][0] == found.query("sex=F,owner=no")["joint"][0]
    assert query["query"][0] == "sex=F,owner=no"


@pytest.mark.parametrize("form", ["text", "csv", "html"])
def test_repetitions_add_limits_and_a_test_of_fit(
    form: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    generator = np.random.default_rng(2)
    frame = pd.DataFrame({name: generator.choice(["x", "y"], 300) for name in ("sex", "job")})
    plan = deniable.make_plan(strata_plan().schema, 3.0)
    public = released_by(plan, frame, tmp_path / "public")
    asked = ["--joint", "--repetitions", "2", "--table", "sex,job", "--test", "independence"]
    assert main(["estimate", public, *asked, "--format", form]) == 0
    text = capsys.readouterr().out
    for words in ("model_low", "p_value", "joint table of sex x job", "independence of sex, job"):
        assert words in text.replace("model low", "model_low").replace("p value", "p_value")
    if form == "csv":
        table = pd.read_csv(io.StringIO(text)).set_index("answer")
        rows = table.loc["joint table of sex x job"]
        assert rows["model_low"].le(rows["joint"]).all()
        assert table.loc[JOINT[1], "p_value"] in [1 / 3, 2 / 3, 1]
    assert main(["estimate", public, "--joint", "--format", "csv"]) == 0
    pairs = pd.read_csv(io.StringIO(capsys.readouterr().out)).set_index("answer")
    assert pairs.loc["dependence of pairs", "columns"] == "sex x job"
    assert "estimate" not in pairs
    assert main(["estimate", public, "--joint", "--columns", "job", "--table", "sex"]) == 1
    assert "no attribute 'sex'" in capsys.readouterr().err


def test_a_joint_distribution_that_is_refused_leaves_other_answers(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    frame = pd.DataFrame({"sex": ["x", "y"] * 50, "job": ["x", "x", "y", "y"] * 25})
    public = released_by(strata_plan(), frame, tmp_path / "public")
    asked = ["--joint", "--repetitions", "2"]
    assert main(["estimate", public, *asked]) == 2
    assert capsys.readouterr().err.count("use the intervals that are valid") == 1
    assert main(["estimate", public, *asked, "--margins"]) == 1
    output = capsys.readouterr()
    assert "margins" in output.out
    assert JOINT[0] in output.err
    assert main(["estimate", public, "--joint", "--table", "sex,nope", "--table", "sex"]) == 1
    output = capsys.readouterr()
    assert "joint table of sex\n" in output.out
    assert "joint table of sex x nope: " in output.err


def test_synthetic_records_come_from_the_joint_distribution_and_say_so(
    public: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    file = tmp_path / "synthetic.csv"
    assert main(["estimate", public, "--synthetic", "2000", "--out", str(file)]) == 0
    first, second = capsys.readouterr().out.splitlines()
    assert first.startswith("mean distance of pairs from the joint distribution: 0.0")
    assert second == WRONG_ERRORS
    made = pd.read_csv(file)
    tables = [pd.crosstab(made[name], made["sex"]).to_numpy() for name in ("income", "region")]
    assert cramers_v(tables[0]) > 3 * cramers_v(tables[1])
