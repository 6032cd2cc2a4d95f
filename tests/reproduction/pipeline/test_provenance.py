"""What is recorded beside a result holds the result to what was made, and tells of no machine."""

import hashlib
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest

from deniable.errors import DataError
from deniable.files import sha256, write_json, write_text
from deniable.release.receipts import SUMS, receipt_of

from reproduction.pipeline.code_digest import code_digests
from reproduction.pipeline.provenance import (
    content_digest,
    provenance_path,
    read_provenance,
    recorded,
    verified,
)

RAW = "results/data/raw/people.csv"
SOURCE = f"{RAW}.source.json"
DATA = "results/data/people.parquet"
OTHER = "results/data/other.parquet"
TABLE = "results/tables/counts.csv"
RELEASES = [{"name": "tried", "mode": "test"}, {"name": "real", "mode": "production"}]
SCRIPT = Path("script.py")
CODE = {"deniable/records": "0123456789abcdef"}
CONFIG = {"seed": 7, "data": {"mirror": "/somewhere"}, "releases": RELEASES}


@pytest.fixture(autouse=True)
def project(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A folder with a published file, in which paths are relative, as in Snakemake's jobs."""
    monkeypatch.chdir(tmp_path)
    write_text("script.py", "import deniable.errors\n")
    obtain("a,b\n1,2\n")
    return tmp_path


def obtain(text: str) -> None:
    """Leave a published file, and its source with a record, as the job that obtains it."""
    write_text(RAW, text)
    with recorded(making([], [SOURCE]), SCRIPT):
        write_json(SOURCE, {"kind": "published", "sha256": sha256(RAW)})


def making(inputs: list[str], outputs: list[str], **changed: Any) -> SimpleNamespace:
    """Return a job with the parameters of a usual rule."""
    params = {"code": CODE, "epsilon": 1.0, "grid": {"p": [0.5], "k": [2]}}
    usual = {"input": inputs, "output": outputs, "params": params, "config": CONFIG}
    return SimpleNamespace(rule="count", **(usual | changed))


def make(inputs: list[str], outputs: list[str], text: str = "one\n", **changed: Any) -> Any:
    """Run a job that writes `text`; return what is recorded of its first output."""
    with recorded(making(inputs, outputs, **changed), SCRIPT):
        for output in outputs:
            write_text(output, text)
    return read_provenance(outputs[0])


def test_what_is_recorded() -> None:
    make([SOURCE], [DATA], "records\n")
    record = make([DATA, SOURCE], [TABLE])
    assert record["file"] == TABLE
    assert record["sha256"] == sha256(TABLE)
    assert (record["rule"], record["parts"], record["seed"]) == ("count", CODE, 7)
    assert len(record["code"]) == 16
    assert record["inputs"] == {DATA: sha256(DATA), SOURCE: sha256(SOURCE)}
    assert record["data"] == {RAW: {"kind": "original", "sha256": sha256(RAW)}}
    assert record["unrecorded"] == []
    assert not record["made_once"]
    assert {"deniable", "python", "numpy", "snakemake"} < set(record["versions"])


def test_data_are_inherited_from_job_to_job() -> None:
    for folder in ("surrogates", "networks"):
        write_text(f"resources/{folder}/adult.json", "{}")
    write_text("resources/published/table.csv", "1\n")
    with recorded(making([], [SOURCE]), SCRIPT):
        write_json(SOURCE, {"kind": "surrogate", "sha256": None})
    make([SOURCE, "resources/surrogates/adult.json"], [DATA])
    make(["resources/networks/adult.json"], ["results/data/networks/a.parquet"])
    make([DATA, "resources/published/table.csv"], [TABLE])
    last = [TABLE, "results/data/networks/a.parquet", SOURCE]
    kinds = {path: e["kind"] for path, e in make(last, ["results/report.html"])["data"].items()}
    assert kinds == {
        "resources/networks/adult.json": "network",
        "resources/surrogates/adult.json": "surrogate",
    }


def test_records_of_a_published_file_do_not_rest_on_the_surrogate() -> None:
    write_text("resources/surrogates/people.json", "{}")
    record = make([SOURCE, "resources/surrogates/people.json"], [DATA])
    assert record["data"] == {RAW: {"kind": "original", "sha256": sha256(RAW)}}


def test_settings_and_config_are_told_apart_by_their_values_alone() -> None:
    first = make([SOURCE], [TABLE])
    order = {"grid": {"k": [2], "p": [0.5]}, "epsilon": 1.0, "code": CODE}
    elsewhere = CONFIG | {"data": {"mirror": "/elsewhere"}}
    assert make([SOURCE], [TABLE], params=order, config=elsewhere) == first
    other = make([SOURCE], [TABLE], params=order | {"epsilon": 2.0})
    assert {key for key in first if first[key] != other[key]} == {"settings", "asked"}
    other = make([SOURCE], [TABLE], config=CONFIG | {"seed": 8})
    assert {key for key in first if first[key] != other[key]} == {"config", "seed"}
    other = make([SOURCE], [TABLE], params=order | {"seed": None})
    assert (other["seed"], other["asked"]["seed"]) == (None, None)


def test_the_file_is_the_same_bytes_in_another_folder(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    make([SOURCE], [TABLE])
    first = provenance_path(TABLE).read_bytes()
    elsewhere = tmp_path / "elsewhere"
    for path in (RAW, SOURCE, f"{SOURCE}.provenance.json", "script.py"):
        write_text(elsewhere / path, Path(path).read_text())
    monkeypatch.chdir(elsewhere)
    # Whether a path is given from the project's folder or from the root makes no difference.
    make([str(elsewhere / SOURCE)], [TABLE])
    assert provenance_path(TABLE).read_bytes() == first


def test_a_file_outside_the_project_is_named_without_its_folder(tmp_path: Path) -> None:
    matrix = tmp_path.parent / "my-matrix.csv"
    matrix.write_text("1\n")
    assert make([str(matrix)], [TABLE])["inputs"] == {"my-matrix.csv": sha256(matrix)}


def test_a_damaged_input_is_refused_before_anything_is_made() -> None:
    make([SOURCE], [DATA])
    make([SOURCE], [TABLE])
    before = Path(TABLE).read_bytes(), provenance_path(TABLE).read_bytes()
    Path(DATA).write_text("two\n")
    with pytest.raises(DataError) as refused, recorded(making([DATA], [TABLE]), SCRIPT):
        raise AssertionError
    assert str(refused.value).startswith(f"{DATA}: damaged or edited since it was made (SHA-256 ")
    assert str(refused.value).endswith("delete it and start again: Snakemake recreates it")
    assert (Path(TABLE).read_bytes(), provenance_path(TABLE).read_bytes()) == before


def test_all_damaged_inputs_are_named_at_once() -> None:
    for path in (DATA, TABLE):
        make([SOURCE], [path])
        Path(path).write_text("two\n")
    with pytest.raises(DataError) as refused:
        verified([TABLE, DATA, SOURCE])
    assert [line.split(":")[0] for line in str(refused.value).splitlines()] == [DATA, TABLE]


@pytest.mark.parametrize("text", ["", "[]", "{}", '{"sha256": "0"', "\udcff"])
def test_a_damaged_record_is_named(text: str) -> None:
    make([SOURCE], [TABLE])
    provenance_path(TABLE).write_bytes(text.encode(errors="surrogateescape"))
    with pytest.raises(DataError, match=f"^{TABLE}.provenance.json: not provenance metadata"):
        verified([TABLE])


def test_what_has_no_record_is_taken_as_it_is_and_named() -> None:
    make([SOURCE], [DATA])
    provenance_path(DATA).unlink()
    Path(DATA).write_text("two\n")
    record = make([DATA], [TABLE])
    assert record["unrecorded"] == [DATA]
    assert record["data"] == {}


def fail_at_work(job: SimpleNamespace) -> None:
    with recorded(job, SCRIPT):
        # Nor is there one while the block runs.
        assert not provenance_path(TABLE).exists()
        write_text(TABLE, "half\n")
        raise ZeroDivisionError


def test_a_job_that_fails_leaves_no_record() -> None:
    make([SOURCE], [TABLE])
    with pytest.raises(ZeroDivisionError):
        fail_at_work(making([SOURCE], [TABLE]))
    assert read_provenance(TABLE) is None


def test_what_a_killed_job_left_half_written_is_removed() -> None:
    tables = Path("results/tables")
    half = (".counts.csv.abcd_123", ".counts.csv.provenance.json.0bcd_123")
    foreign = (".counts.csv.gz.abcd_123", "counts.csv.abcd_123", ".counts.csv.ABCD")
    left, others = [tables / name for name in half], [tables / name for name in foreign]
    for file in (*left, *others):
        write_text(file, "half")
    make([SOURCE], [TABLE])
    assert not any(file.exists() for file in left)
    assert all(file.exists() for file in others)


def test_an_output_that_was_not_made_has_no_record() -> None:
    with recorded(making([SOURCE], [TABLE]), SCRIPT):
        pass
    assert read_provenance(TABLE) is None


def test_a_folder_is_the_list_of_its_files() -> None:
    folder = Path("results/matrices")
    write_text(folder / "b" / "two.csv", "2\n")
    write_text(folder / "one.csv", "1\n")
    lines = f"{sha256(folder / 'b/two.csv')}  b/two.csv\n{sha256(folder / 'one.csv')}  one.csv\n"
    assert content_digest(folder) == hashlib.sha256(lines.encode()).hexdigest()
    (folder / ".snakemake_timestamp").touch()  # comes after the job
    assert content_digest(folder) == hashlib.sha256(lines.encode()).hexdigest()
    (folder / "one.csv").rename(folder / "three.csv")
    assert content_digest(folder) != hashlib.sha256(lines.encode()).hexdigest()


def test_a_rule_without_digests_of_code_gets_those_of_its_script() -> None:
    without, with_digests = ({"code": code} for code in (None, CODE))
    found = make([SOURCE], [TABLE], params=without)
    assert found["parts"] == code_digests(SCRIPT)
    assert len(found["code"]) == 16
    assert make([SOURCE], [TABLE], params=with_digests)["code"] != found["code"]


# -- releases that are made once -------------------------------------------------------------------

RECEIPT = "results/releases/real/private/receipt.json"
PUBLISHED = Path("results/releases/real/public/protected.csv")
ONCE = {"code": None, "seed": None, "steps": ["files:sha256"]}


def receive(**changed: Any) -> Any:
    """Leave the receipt of what is published, as a job does; return what is recorded of it."""
    with recorded(making([DATA], [RECEIPT], **{"params": ONCE} | changed), SCRIPT):
        write_json(RECEIPT, receipt_of("real", PUBLISHED.parent), private=True)
    return read_provenance(RECEIPT)


@pytest.fixture
def received() -> Any:
    """Publish a release of the records; return what is recorded of its receipt."""
    make([SOURCE], [DATA], "records\n")
    write_text(PUBLISHED, "protected\n")
    write_text(PUBLISHED.with_name(SUMS), f"{sha256(PUBLISHED)}  {PUBLISHED.name}\n")
    return receive()


def test_what_is_recorded_of_a_receipt_is_its_owners_alone(received: Any) -> None:
    assert received["made_once"]
    assert received["seed"] is None
    assert received["inputs"] == {DATA: sha256(DATA)}
    assert provenance_path(RECEIPT).stat().st_mode & 0o777 == 0o600
    assert sha256(PUBLISHED) in Path(RECEIPT).read_text()


@pytest.mark.usefixtures("received")
def test_no_hash_of_true_records_goes_on_from_a_receipt() -> None:
    make([RECEIPT], [TABLE])
    record = make([TABLE], ["results/report.html"])
    assert record["data"] == {RAW: {"kind": "original", "sha256": "withheld"}}
    for path in (TABLE, "results/report.html"):
        text = provenance_path(path).read_text()
        assert not any(sha256(true) in text for true in (RAW, DATA))


@pytest.mark.usefixtures("received")
def test_a_test_release_keeps_its_hashes() -> None:
    folder = "results/releases/tried/public"
    with recorded(making([DATA], [folder]), SCRIPT):
        write_text(Path(folder) / "plan.json", "{}")
    record: Any = read_provenance(folder)
    assert record["inputs"] == {DATA: sha256(DATA)}
    assert make([folder], [TABLE])["data"][RAW]["sha256"] == sha256(RAW)


@pytest.mark.usefixtures("received")
def test_a_hash_that_is_known_elsewhere_fills_in_what_is_withheld() -> None:
    for inputs in ([RECEIPT, DATA], [RECEIPT, SOURCE], [DATA, RECEIPT]):
        assert make(inputs, [TABLE])["data"][RAW]["sha256"] == sha256(RAW)


@pytest.mark.usefixtures("received")
@pytest.mark.parametrize("edited", [True, False], ids=["edited", "lost"])
@pytest.mark.parametrize("name", [PUBLISHED.name, SUMS])
def test_a_receipt_holds_what_was_published(name: str, edited: bool) -> None:
    file = PUBLISHED.with_name(name)
    if edited:
        file.write_text("two\n")
    else:
        file.unlink()
    with pytest.raises(DataError, match=f"^{file}: missing, or edited since it was published; "):
        verified([RECEIPT])


def test_a_damaged_receipt_is_to_be_restored(received: Any) -> None:
    assert received["made_once"]
    write_text(RECEIPT, "{}")
    with pytest.raises(DataError, match="drawn once: restore it from a copy"):
        verified([RECEIPT])


def test_a_receipt_that_is_made_again_keeps_the_record_of_the_draw(received: Any) -> None:
    """Whatever code and records there are by then: the release was drawn by the first ones."""
    make([SOURCE], [DATA], "other records\n")
    other = {"config": CONFIG | {"seed": 8}, "params": ONCE | {"steps": ["files:read_json"]}}
    assert receive(**other) == received
    Path(RECEIPT).unlink()
    with pytest.raises(ZeroDivisionError), recorded(making([DATA], [RECEIPT], **other), SCRIPT):
        raise ZeroDivisionError
    assert receive(**other) == received
    # Of another draw, if ever there is one, what is recorded is its own.
    PUBLISHED.with_name(SUMS).write_text("")
    assert receive(**other)["inputs"] != received["inputs"]


def test_inputs_from_two_states_of_the_data_are_refused() -> None:
    make([SOURCE], [DATA])
    obtain("a,b\n3,4\n")
    make([SOURCE], [OTHER])
    with pytest.raises(DataError, match=f"^{OTHER} and {DATA} depend on two states of {RAW}; "):
        make([DATA, OTHER], [TABLE])
    assert not Path(TABLE).exists()
