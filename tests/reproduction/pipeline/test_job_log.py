"""The log of a job: whatever ends the job, a line says so, and how to go on."""

import errno
import os
import subprocess
import sys
import warnings
from collections.abc import Iterator
from pathlib import Path

import numpy as np
import pytest

from deniable.errors import DataError

from reproduction.pipeline.jobs import NOT_ENDED, logged

MORE = "give the job more memory (ulimit -v, a cluster's limit)"


@pytest.fixture(autouse=True)
def _warnings_as_before() -> Iterator[None]:
    before = warnings.showwarning
    yield
    warnings.showwarning = before


@pytest.fixture
def log(tmp_path: Path) -> Path:
    return tmp_path / "logs" / "rule.log"


def test_a_job_that_ends_leaves_its_warnings_alone(log: Path) -> None:
    with warnings.catch_warnings(), logged(log, "made"):
        warnings.simplefilter("always")
        assert log.read_text("utf-8") == NOT_ENDED
        warnings.warn("few records", stacklevel=1)
    assert log.read_text("utf-8") == "UserWarning: few records\n"


@pytest.mark.parametrize(
    ("error", "words"),
    [
        (DataError("column 'a' is missing"), "DataError: column 'a' is missing\n"),
        (OSError(errno.ENOSPC, "No space left on device"), "make room and start again"),
        (OSError(errno.EROFS, "Read-only file system"), "the right to write there"),
        (OSError(errno.ENOMEM, "Cannot allocate memory"), MORE),
        (MemoryError(), f"MemoryError: ; {MORE}"),
        (
            ImportError("libblas.so: failed to map segment from shared object"),
            f"(MemoryError); {MORE}",
        ),
        (RuntimeError("can't start new thread"), MORE),
    ],
)
def test_what_a_user_can_mend_is_one_message(
    log: Path, error: Exception, words: str, capsys: pytest.CaptureFixture[str]
) -> None:
    with pytest.raises(SystemExit) as caught, logged(log, "made"):
        raise error
    assert caught.value.code == 1
    text = log.read_text("utf-8")
    assert words in text
    assert text.count("\n") == 1
    assert capsys.readouterr().err == f"made: {text}"


def test_numpys_own_want_of_memory_has_its_remedy(log: Path) -> None:
    with pytest.raises(SystemExit), logged(log, "made"):
        np.empty(1 << 60, dtype=np.uint8)
    text = log.read_text("utf-8")
    assert "Unable to allocate 1.00 EiB" in text
    assert "MemoryError" in text
    assert MORE in text


def test_what_nobody_expected_leaves_its_traceback(log: Path) -> None:
    with pytest.raises(ZeroDivisionError), logged(log, "made"):
        print(1 / 0)
    text = log.read_text("utf-8")
    assert text.startswith("Traceback")
    assert "ZeroDivisionError" in text


@pytest.mark.parametrize("end", ["os._exit(1)", "os.kill(os.getpid(), 9)"])
def test_a_job_that_is_ended_outright_leaves_a_line(log: Path, end: str) -> None:
    code = (
        "import os, sys, pathlib; from reproduction.pipeline.jobs import logged\n"
        f"with logged(pathlib.Path(sys.argv[1]), 'made'): {end}"
    )
    subprocess.run([sys.executable, "-c", code, str(log)], check=False, env=dict(os.environ))
    assert log.read_text("utf-8") == NOT_ENDED
    assert "ulimit -v" in NOT_ENDED


def test_a_line_that_a_script_says_is_in_the_log_and_on_the_screen(
    log: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    with logged(log, "made") as say:
        say("adult.data: copied from the mirror")
    assert log.read_text("utf-8") == capsys.readouterr().err
    assert log.read_text("utf-8") == "adult.data: copied from the mirror\n"
