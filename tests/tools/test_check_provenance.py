"""What ``make check`` says of results that are not what was made."""

from pathlib import Path
from types import SimpleNamespace

import pytest

import check_provenance
from deniable.files import sha256, write_json, write_text
from deniable.release.receipts import RECEIPT, SUMS, receipt_of

from reproduction.pipeline.provenance import provenance_path, recorded

RESULTS = Path("results")
DATA, CHUNK, TABLE = "results/data/a.parquet", "results/studies/c.csv", "results/tables/t.csv"


def job(rule: str, inputs: list[str], output: Path | str) -> SimpleNamespace:
    """Return a job as Snakemake gives it to a script."""
    given = {
        "input": inputs,
        "output": [output],
        "params": {"code": {"deniable": "0"}},
        "config": {},
    }
    return SimpleNamespace(rule=rule, **given)


def make(inputs: list[str], output: str, text: str) -> None:
    with recorded(job("rule", inputs, output), Path()):
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


def release(name: str, *, test: bool | None) -> Path:
    """Leave what a release leaves; only begun if `test` is None."""
    folder = RESULTS / "releases" / name
    public, private = folder / "public", folder / "private"
    for file in ("records.json", "plan.json", "key" if test is None else "exact_cells.csv"):
        write_text(private / file, "32 bytes\n")
    if test is None:
        return folder
    write_json(public / "plan.json", {"release": {"mode": "test" if test else "production"}})
    write_text(public / "protected.csv", "one\n")
    if test:
        for made in (public, private):
            with recorded(job("protect", [DATA], made), Path()):
                pass
        return folder
    files = [public / each for each in ("protected.csv", "plan.json")]
    write_text(public / SUMS, "".join(f"{sha256(each)}  {each.name}\n" for each in files))
    receipt = folder / RECEIPT
    with recorded(job("publish", [DATA], receipt), Path()):
        write_json(receipt, receipt_of(name, public))
    return folder


def test_of_a_release_its_receipt_is_a_result_of_a_test_release_its_folders() -> None:
    real, tried = release("real", test=False), release("tried", test=True)
    begun = release("begun", test=None)
    assert faults(TABLE) == []
    found = set(check_provenance.faults_of_files(RESULTS)[1]) - {DATA, CHUNK, TABLE}
    assert found == {str(real / RECEIPT), f"{tried}/public", f"{tried}/private"}
    # Whoever were told to delete a key could not finish its release.
    assert (begun / "private" / "key").exists()


@pytest.mark.parametrize("name", ["protected.csv", "plan.json", SUMS])
def test_a_published_release_is_held_to_its_receipt(name: str) -> None:
    public = release("real", test=False) / "public"
    write_text(public / name, "{}\n")
    (fault,) = faults(TABLE)
    assert fault.startswith(f"{public / name}: missing, or edited since it was published")
    (public / name).unlink()
    (fault,) = faults(TABLE)
    assert fault.startswith(f"{public / name}: missing, or edited since it was published")


def test_what_is_published_and_in_no_receipt_is_named() -> None:
    folder = release("real", test=False)
    public = folder / "public"
    write_text(public / "channels" / "more.csv", "two\n")
    more = f"{public / 'channels' / 'more.csv'}: not published; take it away"
    assert faults(TABLE) == [more]
    (folder / RECEIPT).unlink()
    provenance_path(folder / RECEIPT).unlink()
    assert faults(TABLE) == [
        f"{public}: published, but {folder / RECEIPT} is missing; run make again"
    ]


@pytest.mark.parametrize("name", ["public/protected.csv", "private/exact_cells.csv"])
def test_a_test_release_is_held_to_the_records_of_its_folders(name: str) -> None:
    folder = release("tried", test=True)
    write_text(folder / name, "two\n")
    (fault,) = faults(TABLE)
    made = folder / Path(name).parent
    assert fault.startswith(f"{made}: damaged or edited since it was made")
    provenance_path(made).unlink()
    assert [fault.split(":")[0] for fault in faults(TABLE)] == [
        str(each) for each in sorted(made.iterdir())
    ]


def test_a_damaged_result_is_named() -> None:
    write_text(TABLE, "edited\n")
    (fault,) = faults(TABLE)
    assert fault.startswith(f"{TABLE}: damaged or edited since it was made")


def test_a_damaged_record_is_named() -> None:
    write_text(provenance_path(TABLE), "{")
    (fault,) = faults(TABLE)
    assert fault.startswith(f"{TABLE}.provenance.json: not provenance metadata")


def test_a_result_without_a_record_is_named() -> None:
    write_text(TABLE, "one\n")
    provenance_path(TABLE).unlink(missing_ok=True)
    assert faults(TABLE) == [f"{TABLE}: has no t.csv.provenance.json; delete it, run make again"]


def test_what_was_made_from_another_state_of_its_inputs_is_named() -> None:
    make([], DATA, "other records\n")
    assert faults(TABLE) == [f"{CHUNK}: made from another state of {DATA}; run make again"]
    # Results that nobody asks for any more may be older.
    assert faults(DATA) == []


def test_a_folder_is_a_result_as_a_whole() -> None:
    folder = RESULTS / "releases" / "tried" / "matrices"
    with recorded(job("rule", [], folder), Path()):
        write_text(folder / "one.csv", "1\n")
    assert faults(TABLE) == []
    write_text(folder / "two.csv", "2\n")
    (fault,) = faults(TABLE)
    assert fault.startswith(f"{folder}: damaged or edited")
