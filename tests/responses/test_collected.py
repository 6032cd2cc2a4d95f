"""Answers of a collection, read from memory and files, and estimated by equation (4)."""

from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pyarrow as pa
import pyarrow.csv
import pyarrow.feather
import pyarrow.parquet
import pytest
from tests.plans.test_collected import SCHEMA, frame_of
from tests.rrba.collected_records import DOMAIN, estimate_tables, some_records

from deniable import CollectedPlan, Released, randomize
from deniable.errors import DataError, DeniableError
from deniable.release.making import protect_test
from deniable.schema import schema_from_dict

RECORDS = 3000
DATA = some_records(RECORDS)
PLANS: dict[str, CollectedPlan] = {
    "views": CollectedPlan.from_schema(SCHEMA, 2.0),
    "single tables": CollectedPlan.from_schema(SCHEMA, keep=0.6, answers="table"),
    "tables that move": CollectedPlan.from_schema(SCHEMA, 3.0, floor=0.3, block=200),
    "triples": CollectedPlan.from_schema(SCHEMA, keep=0.8, size=3),
}


def answers_of(plan: CollectedPlan, seed: int = 2) -> pd.DataFrame:
    return randomize(frame_of(DATA), plan, np.random.default_rng(seed))


# -- estimates: equation (4), as the tables of a collection always had them ------------------------


@pytest.mark.parametrize("name", PLANS)
def test_estimates_of_collected_tables_are_equation_4_over_all_blocks(name: str) -> None:
    plan = PLANS[name]
    answers = answers_of(plan)
    released, expected = Released(answers, plan), estimate_tables(plan.design, answers, RECORDS)
    for label, own in expected.groupby("attributes", sort=False):
        names = str(label).split(" x ")
        found = {t: released.table(names, target=t) for t in ("file", "population")}  # type: ignore[arg-type]
        for table in found.values():
            np.testing.assert_allclose(table["estimate"], own["estimate"], rtol=0, atol=5e-10)
            assert (table["records"] == own["answers"].iloc[0]).all()


@pytest.mark.parametrize("name", ["views", "single tables", "triples"])
def test_standard_errors_differ_from_the_plug_in_by_a_known_factor(name: str) -> None:
    # The unbiased plug-in divides by N - 1 and takes estimates as they are; `estimate_tables`
    # divides by N and moves estimates into [0, 1]. Elsewhere both are the same.
    plan = PLANS[name]
    answers = answers_of(plan)
    released, expected = Released(answers, plan), estimate_tables(plan.design, answers, RECORDS)
    compared = 0
    for label, own in expected.groupby("attributes", sort=False):
        number, inside = own["answers"].iloc[0], own["estimate"].between(0, 1).to_numpy()
        pi = own["estimate"].to_numpy()
        found = released.table(str(label).split(" x "))["standard_error"].to_numpy()
        plug_in = own["standard_error_population"].to_numpy()
        np.testing.assert_allclose(
            found[inside] ** 2 * (number - 1), plug_in[inside] ** 2 * number, rtol=0, atol=5e-10
        )
        # For the file, of which `number` records are a simple random sample.
        own_file = released.table(str(label).split(" x "), target="file")["standard_error"]
        known = (number - 1) / (RECORDS - 1)
        within = found**2 - known * (found**2 + pi * (1 - pi)) / number
        np.testing.assert_allclose(own_file**2, within, rtol=0, atol=5e-10)
        compared += int(inside.sum())
    assert compared > 30


def test_standard_errors_of_tables_that_move_are_slightly_too_large() -> None:
    # By the variance of the tables q between blocks, which the average of them does not have.
    plan = PLANS["tables that move"]
    answers = answers_of(plan)
    released, expected = Released(answers, plan), estimate_tables(plan.design, answers, RECORDS)
    for label, own in expected.groupby("attributes", sort=False):
        inside = own["estimate"].between(0, 1).to_numpy()
        found = released.table(str(label).split(" x "))["standard_error"].to_numpy()
        ratio = (found / own["standard_error_population"].to_numpy())[inside]
        assert ((ratio >= 1 - 1e-9) & (ratio < 1.06)).all()


@pytest.mark.parametrize("name", PLANS)
def test_marginal_distributions_combine_all_tables_of_an_attribute(name: str) -> None:
    plan = PLANS[name]
    answers = answers_of(plan)
    released = Released(answers, plan)
    expected = estimate_tables(plan.design, answers, RECORDS)
    for attribute in DOMAIN:
        found = released.margins(attribute.name, target="file")
        true = np.bincount(DATA.column(attribute.name), minlength=attribute.size) / RECORDS
        apart = (found["estimate"] - true).abs()
        assert (apart <= 5.5 * found["standard_error"] + 1e-9).all()
        # More answers than about any table alone, and so a smaller standard error.
        numbers = expected.groupby("attributes")["answers"].first()
        own = [n for label, n in numbers.items() if attribute.name in str(label).split(" x ")]
        assert (found["records"] == sum(own)).all()


def test_intervals_for_the_file_cover_at_their_rate() -> None:
    plan, true = PLANS["single tables"], DATA.counts(["a", "b"]).reshape(-1) / RECORDS
    covered = np.zeros(true.size)
    for seed in range(200):
        found = Released(answers_of(plan, seed), plan).table(["a", "b"], target="file")
        covered += found["ci_low"].le(true) & found["ci_high"].ge(true)
    # 190 of 200 expected; 172 and 199 are missed with probability 1e-6 and less.
    assert ((covered > 172) & (covered < 200)).all()


# -- reading ---------------------------------------------------------------------------------------


def test_answers_are_the_same_from_memory_and_from_files(tmp_path: Path) -> None:
    plan = PLANS["tables that move"]
    answers = answers_of(plan)
    table = pa.Table.from_pandas(answers)
    pyarrow.parquet.write_table(table, tmp_path / "answers.parquet")
    pyarrow.csv.write_csv(table, tmp_path / "answers.csv")
    pyarrow.feather.write_feather(table, str(tmp_path / "answers.arrow"), compression="lz4")
    expected = Released(answers, plan).pairs()
    for source in (table, *(tmp_path / f"answers.{kind}" for kind in ("parquet", "csv", "arrow"))):
        pd.testing.assert_frame_equal(Released(source, plan).pairs(), expected)


@pytest.mark.parametrize("kind", ["csv", "parquet", "arrow"])
def test_the_public_folder_of_a_release_is_all_that_estimates_need(
    kind: str, tmp_path: Path
) -> None:
    form = {"kind": kind} | ({"delimiter": ";"} if kind == "csv" else {})
    schema = schema_from_dict(SCHEMA.to_json() | {"file": form})
    plan = CollectedPlan.from_schema(schema, 3.0, floor=0.3, block=200)
    frame, file = frame_of(DATA), tmp_path / f"records.{kind}"
    table = pa.Table.from_pandas(frame)
    if kind == "csv":
        frame.to_csv(file, sep=";", index=False)
    elif kind == "parquet":
        pyarrow.parquet.write_table(table, file)
    else:
        pyarrow.feather.write_feather(table, str(file))
    protect_test(file, plan, tmp_path / "made", 1)
    public = tmp_path / "made" / "public"
    names = {"plan.json", "README.txt", "SHA256SUMS", f"answers.{kind}"}
    assert {path.name for path in public.iterdir()} == names
    assert "Each row is a number of answers" in (public / "README.txt").read_text()
    released = Released(public)
    assert released.records == RECORDS
    found = released.margins("a", target="file")
    true = np.bincount(DATA.column("a")) / RECORDS
    assert ((found["estimate"] - true).abs() <= 5.5 * found["standard_error"]).all()
    assert plan.audit()["holds"].all()
    # The same release again has the same answers, and the estimates of the answers themselves.
    protect_test(file, plan, tmp_path / "again", 1, name="made")
    again = tmp_path / "again" / "public" / f"answers.{kind}"
    assert again.read_bytes() == (public / f"answers.{kind}").read_bytes()
    pd.testing.assert_frame_equal(Released(again, plan).pairs(), released.pairs())


def _moved(answers: pd.DataFrame) -> pd.DataFrame:
    fake = answers["fake"].to_numpy().copy()
    fake[0], fake[1] = fake[0] / 2, fake[1] + fake[0] / 2
    return answers.assign(fake=fake)


CHANGES: dict[str, tuple[Any, str]] = {
    "negative counts": (lambda a: a.assign(reports=-1), "row 1, column 'reports' has -1"),
    "parts of answers": (lambda a: a.assign(reports=0.5), "row 1, column 'reports' has 0.5"),
    "text for numbers": (lambda a: a.assign(fake="x"), "row 1, column 'fake' has 'x'"),
    "no end of answers": (lambda a: a.assign(reports=np.inf), "row 1, column 'reports' has inf"),
    "dates": (lambda a: a.assign(p=pd.Timestamp("2020")), "row 1, column 'p' has datetime"),
    "another p": (lambda a: a.assign(p=0.25), "p is 0.25, but 0.4 in the plan"),
    "another q": (_moved, "fake is not a distribution with cells of at least"),
    "another order": (lambda a: a.iloc[::-1], "categories or their order differ from the plan"),
    "a missing row": (lambda a: a.iloc[1:], "not complete"),
    "a missing table": (lambda a: a[a["attributes"] != "a x b"], "no complete table of a x b"),
    "an unknown table": (lambda a: a.assign(attributes="a x z"), "the plan has no such table"),
    "a missing column": (lambda a: a.drop(columns="p"), "no column 'p'"),
}


@pytest.mark.parametrize(("change", "words"), CHANGES.values(), ids=CHANGES)
def test_changed_answers_are_refused(change: Any, words: str) -> None:
    plan = CollectedPlan.from_schema(SCHEMA, keep=0.4)
    with pytest.raises(DataError, match=words):
        Released(change(answers_of(plan)), plan)


def test_requests_that_a_collection_cannot_answer_are_refused() -> None:
    released = Released(answers_of(PLANS["views"]), PLANS["views"])
    with pytest.raises(DeniableError, match="no table of a, b, c was collected: tables have 2"):
        released.table(["a", "b", "c"])
    with pytest.raises(DeniableError, match="no column of weights 'w'"):
        released.table("a", weight="w")
    with pytest.raises(DeniableError, match="name at least one"):
        released.table([])
