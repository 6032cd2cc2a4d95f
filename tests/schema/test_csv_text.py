"""CSV read in blocks, ahead of whoever takes them."""

import time
from pathlib import Path
from typing import Any

import pytest

from deniable.errors import DataError
from deniable.schema import draft_schema
from deniable.schema.formats import csv_text


def test_no_thread_reads_on_after_a_fault(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A process that ends while one does so is aborted, or never ends."""
    running: list[int] = []
    read = csv_text.Utf8Stream.read

    def slow(self: Any, size: int = -1) -> bytes:
        running.append(size)
        time.sleep(0.05)
        try:
            return read(self, size)
        finally:
            running.pop()

    monkeypatch.setattr(csv_text, "BLOCK_BYTES", 1 << 16)
    monkeypatch.setattr(csv_text.Utf8Stream, "read", slow)
    file = tmp_path / "survey.csv"
    file.write_text(f"a,b\n{'x' * (1 << 18)},1\n")
    with pytest.raises(DataError, match="a record has over"):
        draft_schema(file)
    assert running == []
