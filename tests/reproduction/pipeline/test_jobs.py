"""A script's job leaves its outputs with their records, a log and its own CPU time."""

import subprocess
import sys
import warnings
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest

from deniable.errors import BoundsWarning, DataError
from deniable.files import read_json, write_text

from reproduction.pipeline.jobs import job

OUTPUT = "results/tables/t.csv"
CPU = Path("results/benchmarks/count/t.cpu.json")
BUSY = "import time\nwhile time.process_time() < 0.3: pass"


class Named(list[str]):
    """Files or parameters as Snakemake gives them: by position and by name."""

    def __init__(self, **values: Any) -> None:
        super().__init__(values.values())
        self.__dict__.update(values)

    def items(self) -> Any:
        return self.__dict__.items()


@pytest.fixture
def snakemake(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> SimpleNamespace:
    """Give a script what Snakemake does, for a rule with a benchmark."""
    monkeypatch.chdir(tmp_path)
    write_text("scripts/count.py", "import deniable.errors\n")
    monkeypatch.setattr("sys.argv", [str(tmp_path / ".snakemake/scripts/tmp1234.count.py")])
    return SimpleNamespace(
        rule="count",
        input=Named(),
        output=Named(table=OUTPUT),
        params=Named(code={"deniable": "0"}, seed=7),
        log=["results/logs/count/t.log"],
        config={"seed": 7},
        scriptdir=str(tmp_path / "scripts"),
        bench_iteration=0,
    )


def test_a_job_records_the_cpu_time_of_its_own_and_of_what_it_started(
    snakemake: SimpleNamespace,
) -> None:
    with job(snakemake):
        subprocess.run([sys.executable, "-c", BUSY], check=True)
        write_text(OUTPUT, "1\n")
    first = read_json(CPU)["cpu_seconds"]
    assert first > 0.3
    # The script goes on after its job, and the outputs are as they would be without a benchmark.
    record = read_json(f"{OUTPUT}.provenance.json")
    assert "cpu" not in str(record)
    assert record["asked"] == {"seed": 7}


def test_a_job_without_a_benchmark_records_no_times(snakemake: SimpleNamespace) -> None:
    snakemake.bench_iteration = None
    with job(snakemake):
        write_text(OUTPUT, "1\n")
    assert Path(OUTPUT).exists()
    assert not CPU.parent.exists()


def test_a_job_that_fails_leaves_its_message_in_the_log(snakemake: SimpleNamespace) -> None:
    with pytest.raises(SystemExit), job(snakemake):
        raise DataError("the file is damaged; restore it")
    assert Path(snakemake.log[0]).read_text() == "DataError: the file is damaged; restore it\n"
    assert not CPU.exists()


def test_values_outside_bounds_are_reported_on_the_screen_and_in_the_log(
    snakemake: SimpleNamespace, capsys: pytest.CaptureFixture[str]
) -> None:
    with warnings.catch_warnings(), job(snakemake):
        warnings.warn("another matter", stacklevel=1)
        warnings.warn("3 of 100 values", BoundsWarning, stacklevel=1)
    log = "UserWarning: another matter\ncount: 3 of 100 values\n"
    assert Path(snakemake.log[0]).read_text() == log
    assert capsys.readouterr().err == "count: 3 of 100 values\n"
