"""What is current is read off the records beside results; times of files say nothing."""

import os
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from deniable.files import read_json, write_json, write_text

from reproduction.pipeline import freshness
from reproduction.pipeline.freshness import STALE, Asked, set_aside, stale, summary
from reproduction.pipeline.provenance import WITHHELD, Making, provenance_path, recorded

ORIGIN, OTHER = "results/data/raw/people.csv", "resources/surrogates/people.json"
DATA, CHUNK = "results/data/people.parquet", "results/studies/chunk-0-of-1.csv"
TABLE, FIGURES = "results/tables/t.csv", ("results/figures/t.svg", "results/figures/t.png")
DRAWN = "results/releases/real/private/receipt.json"
STUDY = {"study": {"grids": [{"p": [0.3]}], "replicates": 9}}

SIMULATE = Asked((CHUNK,), (DATA,), {**STUDY, "seed": 7, "code": "s"})
JOBS = {
    "prepare": Asked((DATA,), (ORIGIN,), {"kind": "surrogate", "seed": 7, "code": "p"}),
    "simulate": SIMULATE,
    "collect": Asked((TABLE,), (CHUNK,), {"code": "c"}),
    "draw": Asked(FIGURES, (TABLE,), {"code": "d"}),
    "protect": Asked((DRAWN,), (DATA,), {"release": {"p": 0.3}, "seed": None, "code": None}),
}
AFTER_DATA = {DATA, CHUNK, TABLE, *FIGURES}
AFTER_CHUNK = {CHUNK, TABLE, *FIGURES}


def make(name: str, text: str = "") -> None:
    job = JOBS[name]
    making = Making(name, job.inputs, job.outputs, job.params, {"seed": 7}, Path("script.py"))
    with recorded(making):
        for output in job.outputs:
            write_text(output, text or f"{name}\n")


@pytest.fixture(autouse=True)
def made(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Make all there is to make, and set all times against the order of making."""
    monkeypatch.chdir(tmp_path)
    write_text("script.py", "import deniable.errors\n")
    write_text(ORIGIN, "a\n1\n")
    for name in JOBS:
        make(name)
    for number, file in enumerate(sorted(Path().rglob("*.*"))):
        os.utime(file, (number, number))


def found(**changed: Any) -> dict[str, list[str]]:
    """Return what is stale where jobs are asked something else."""
    return stale((JOBS | changed).values())


def asked(name: str, **params: Any) -> dict[str, Asked]:
    return {name: replace(JOBS[name], params={**JOBS[name].params, **params})}


def test_what_was_made_as_it_would_be_now_is_current() -> None:
    assert found() == {}


def test_another_setting_is_named_with_both_values_and_what_rests_on_it_is_stale() -> None:
    other = {"grids": [{"p": [0.7]}], "replicates": 9}
    reasons = found(**asked("simulate", study=other))
    assert set(reasons) == AFTER_CHUNK
    assert reasons[CHUNK] == ["study.grids[0].p[0]: made with 0.3, now 0.7"]
    assert reasons[TABLE] == [f"rests on {CHUNK}"]
    told = summary(reasons).splitlines()
    assert told[1:] == [f"  {CHUNK}: {reasons[CHUNK][0]}", "  and 3 more"]


def test_settings_that_came_or_went_are_named_and_of_many_a_few() -> None:
    first = found(**asked("simulate", study={"replicates": 9, "block": 4}))[CHUNK]
    assert first == [
        "study.grids[0].p[0]: made with 0.3, now 'nothing'",
        "study.block: made with 'nothing', now 4",
    ]
    many = found(**asked("simulate", study={"grids": [{"p": [0.3, 1, 2, 3, 4, 5]}]}))[CHUNK]
    assert many[-1] == "and 3 more settings"
    # To a digest they differ, to a reader they do not.
    assert found(**asked("simulate", study={"grids": [{"p": [0.3]}], "replicates": 9.0}))[CHUNK]


def test_another_seed_other_code_and_other_data_are_noticed() -> None:
    assert found(**asked("simulate", seed=8))[CHUNK] == ["seed: made with 7, now 8"]
    assert found(**asked("collect", code="x"))[TABLE] == ["made by other code (c, now x)"]
    assert set(found(**asked("prepare", kind="original"))) == AFTER_DATA


def test_inputs_that_came_went_or_changed_are_named() -> None:
    write_text("other.csv", "1\n")
    came = found(simulate=replace(SIMULATE, inputs=(DATA, "other.csv")))
    assert came[CHUNK] == ["now made from other.csv too"]
    went = found(simulate=replace(SIMULATE, inputs=()))
    assert went[CHUNK] == [f"not made from {DATA} now"]
    write_text(ORIGIN, "a\n2\n")
    os.utime(ORIGIN, (0, 0))
    changed = found()
    assert set(changed) == AFTER_DATA
    assert changed[DATA] == [f"made from another state of {ORIGIN}"]


def test_who_reads_an_edited_result_is_stale_but_not_that_itself() -> None:
    write_text(CHUNK, "edited\n")
    assert set(found()) == {TABLE, *FIGURES}


@pytest.mark.parametrize("newer", [True, False])
def test_a_large_result_is_read_again_only_if_it_is_newer_than_its_record(
    monkeypatch: pytest.MonkeyPatch, newer: bool
) -> None:
    monkeypatch.setattr(freshness, "SMALL", 3)
    write_text(CHUNK, "edited\n")
    os.utime(CHUNK, (10**9, 10**9) if newer else (0, 0))
    assert set(found()) == ({TABLE, *FIGURES} if newer else set())


def test_a_result_made_again_with_other_content_makes_its_readers_stale() -> None:
    make("simulate", "other\n")
    assert set(found()) == {TABLE, *FIGURES}
    make("simulate")
    assert found() == {}


def test_one_output_without_a_record_or_with_a_damaged_one_is_made_again_with_the_others() -> None:
    provenance_path(FIGURES[0]).unlink()
    assert set(found()) == set(FIGURES)
    make("draw")
    write_text(provenance_path(FIGURES[1]), "{")
    assert set(found()) == set(FIGURES)


def test_what_is_missing_is_not_stale_but_what_stands_behind_it_counts() -> None:
    for file in (CHUNK, provenance_path(CHUNK)):
        Path(file).unlink()
    assert found() == {}
    assert set(found(**asked("prepare", seed=8))) == {DATA, TABLE, *FIGURES}


@pytest.mark.parametrize("also", [[], [CHUNK]])
def test_other_data_are_noticed_where_what_was_prepared_is_missing(also: list[str]) -> None:
    write_text(OTHER, "{}")
    for file in [DATA, *also]:
        Path(file).unlink()
        provenance_path(file).unlink()
    assert found() == {}
    elsewhere = found(prepare=replace(JOBS["prepare"], inputs=(OTHER,)))
    assert set(elsewhere) == AFTER_CHUNK - set(also)
    first = TABLE if also else CHUNK
    assert elsewhere[first] == [f"made from other data ({ORIGIN}; now {OTHER})"]
    write_text(ORIGIN, "a\n2\n")
    assert set(found()) == AFTER_CHUNK - set(also)


def test_what_is_drawn_once_is_current_whatever_happens() -> None:
    write_text(ORIGIN, "a\n2\n")
    other = asked("prepare", kind="original") | asked("protect", release={"p": 0.7})
    assert DRAWN not in found(**other)
    # Also if the rule has become another's, or the record is gone.
    assert DRAWN not in found(**asked("protect", code="x", seed=3))
    provenance_path(DRAWN).unlink()
    assert DRAWN not in found()


def test_what_a_release_withholds_is_no_reason() -> None:
    record = read_json(provenance_path(TABLE))
    write_json(provenance_path(TABLE), record | {"inputs": {CHUNK: WITHHELD}})
    assert found() == {}


def test_a_record_without_settings_tells_that_they_differ() -> None:
    record = read_json(provenance_path(CHUNK))
    assert record.pop("asked") == STUDY
    write_json(provenance_path(CHUNK), record)
    assert found() == {}
    assert found(**asked("simulate", study={}))[CHUNK] == ["made with other settings"]


def test_stale_results_are_set_aside_but_neither_records_nor_releases() -> None:
    files = (DATA, DRAWN, CHUNK, *FIGURES)
    for turn in ("first", "second"):
        write_text(CHUNK, turn)
        set_aside(files)
        assert Path(DATA).exists()
        assert Path(DRAWN).exists()
        for file in (CHUNK, *FIGURES):
            aside = Path(STALE) / Path(file).relative_to("results")
            assert provenance_path(aside).exists()
            assert not Path(file).exists()
            assert not provenance_path(file).exists()
        assert (Path(STALE) / "studies/chunk-0-of-1.csv").read_text() == turn
        make("simulate")
        make("draw")


def test_folders_are_set_aside_whole() -> None:
    for page in ("old.html", "new.html"):
        write_text(f"results/report/{page}", page)
        set_aside(["results/report"])
    assert [each.name for each in Path(STALE, "report").iterdir()] == ["new.html"]
