"""What ``make check`` says of results that are not what was made."""

from pathlib import Path

import pytest

import check_provenance
from deniable.files import write_json, write_text
from deniable.pipeline.provenance import Making, provenance_path, recorded

RESULTS = Path("results")
DATA, CHUNK, TABLE = "results/data/a.parquet", "results/studies/c.csv", "results/tables/t.csv"


def make(inputs: list[str], output: str, text: str) -> None:
    with recorded(Making("rule", tuple(inputs), (output,), {"code": "0"}, {}, Path())):
        write_text(output, text)


@pytest.fixture(autouse=True)
def made(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Data, a chunk and a table, all as they were made, with what lies beside them."""
    monkeypatch.chdir(tmp_path)
    make([], DATA, "records\n")
    make([DATA], CHUNK, "runs\n")
    make([CHUNK], TABLE, "medians\n")
    for path in ("data/raw/a.data", "logs/rule.log", "benchmarks/rule.tsv", "tables/.hidden"):
        write_text(RESULTS / path, "no result\n")


def faults(*wanted: str) -> list[str]:
    found, files = check_provenance.faults_of_files(RESULTS)
    return found + check_provenance.faults_of_ancestry(wanted, files)


def test_sound_results_have_no_faults() -> None:
    assert faults(TABLE) == []
    assert set(check_provenance.faults_of_files(RESULTS)[1]) == {DATA, CHUNK, TABLE}
    assert check_provenance.faults_of_files(Path("nowhere")) == ([], {})


def test_keys_are_no_results() -> None:
    """Whoever were told to delete a key could not finish its release."""
    for release, rehearsal in (("begun", None), ("real", False)):
        folder = RESULTS / "releases" / release
        for name in ("key", "state.json", "plan.json"):
            write_text(folder / "private" / name, "32 bytes\n")
        if rehearsal is not None:
            write_json(folder / "channels.json", {"rehearsal": rehearsal})
    assert faults(TABLE) == []


def test_a_damaged_result_is_named() -> None:
    write_text(TABLE, "edited\n")
    (fault,) = faults(TABLE)
    assert fault.startswith(f"{TABLE}: damaged or edited since it was made")


def test_a_damaged_record_is_named() -> None:
    write_text(provenance_path(TABLE), "{")
    (fault,) = faults(TABLE)
    assert fault.startswith(f"{TABLE}.provenance.json: no record of provenance any more")


def test_a_result_without_a_record_is_named_unless_it_is_drawn_for_good() -> None:
    drawn = RESULTS / "releases" / "real" / "protected.csv"
    for path in (Path(TABLE), drawn):
        write_text(path, "one\n")
        provenance_path(path).unlink(missing_ok=True)
    write_json(drawn.with_name("channels.json"), {"rehearsal": False})
    assert faults(TABLE) == [f"{TABLE}: has no t.csv.provenance.json; delete it, run make again"]
    write_json(drawn.with_name("channels.json"), {"rehearsal": True})
    assert [fault.split(":")[0] for fault in faults(TABLE)] == [
        str(drawn.with_name("channels.json")),
        str(drawn),
        TABLE,
    ]


def test_what_was_made_from_another_state_of_its_inputs_is_named() -> None:
    make([], DATA, "other records\n")
    assert faults(TABLE) == [f"{CHUNK}: made from another state of {DATA}; run make again"]
    # Results that nobody asks for any more may be older.
    assert faults(DATA) == []


def test_a_folder_is_a_result_as_a_whole() -> None:
    folder = RESULTS / "releases" / "tried" / "matrices"
    with recorded(Making("rule", (), (str(folder),), {"code": "0"}, {}, Path())):
        write_text(folder / "one.csv", "1\n")
    assert faults(TABLE) == []
    write_text(folder / "two.csv", "2\n")
    (fault,) = faults(TABLE)
    assert fault.startswith(f"{folder}: damaged or edited")
