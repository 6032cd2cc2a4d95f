"""The original records of a release: a file that is read twice, in batches."""

import codecs
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pyarrow as pa

from deniable.errors import DeniableError
from deniable.files import free_memory
from deniable.plans import Plan
from deniable.release.counting import Fingerprint, RecordDigests, Sketch
from deniable.release.writing import encoded_text
from deniable.schema import RecordBatch, RecordsFile

MEMORY = 230_000_000
"""Measured bytes that a release needs in addition to the ones of its plan (`Plan.memory`)."""
Progress = Callable[[str, int, int], None]
"""Receives a step, the number of records done, and the number of all (0: not yet known)."""


def silent(what: str, done: int, of: int) -> None:
    """Ignore the step `what` and the number of records `done` `of` all."""


class OriginalRecords:
    """The records of a `source`, a path or a table, that a `plan` randomizes.

    For the function `progress` see `Progress`. The `fingerprint` and the number of records are
    known after `read`. Raises `DataError` if the file has other columns or types than the schema of
    the plan.
    """

    def __init__(self, source: Any, plan: Plan, progress: Progress = silent) -> None:
        self.file = RecordsFile.open(source, plan.schema_of_originals, passed=plan.passed)
        self.progress, self._schema = progress, plan.schema
        self.fingerprint: list[bytes] = []
        self._records, self._plan = 0, plan
        self._refuse_too_many(self.file.expected)
        # A file is read in the encoding of its release; records in memory may have other texts.
        file, in_memory = plan.schema.file.protected, not isinstance(source, str | Path)
        encoding = codecs.lookup(file.encoding or "utf-8").name if file.kind == "csv" else "utf-8"
        self._encoding = encoding if in_memory and encoding != "utf-8" else None

    def __len__(self) -> int:
        return self._records

    def read(self, ledger_key: bytes | None = None) -> RecordDigests | None:
        """Validate all values in a first pass; return digests under the `ledger_key`, if given.

        Raises `DataError` with a line for each of the first invalid values.
        """
        fingerprint = Fingerprint(self._schema)
        sketch = None
        if ledger_key is not None:
            identifiers = [c.name for c in self._schema.columns if c.kind in ("identifier", "unit")]
            sketch = Sketch(ledger_key, identifiers)
        self._records = 0
        seen = None if sketch is None else sketch.add
        for batch in self._batches("reading", self.file.expected, seen):
            fingerprint.add(batch)
            self._refuse_inexpressible(batch)
            self._records += len(batch)
            self._refuse_too_many(self._records)
        self.fingerprint = list(fingerprint.parts())
        return sketch.with_fingerprint(fingerprint) if sketch is not None else None

    def _refuse_too_many(self, records: int) -> None:
        needed = self._plan.memory(records)
        if needed and needed + MEMORY > (free := free_memory()):
            raise DeniableError(
                f"{records:,} records need {(needed + MEMORY) // 10**6:,} MB of memory, because a "
                f"plan of kind {self._plan.kind} holds all numbers at once, and {free // 10**6:,} "
                "MB are free; mask fewer columns, or use a machine with more memory"
            )

    def _refuse_inexpressible(self, batch: RecordBatch) -> None:
        """Raise `DataError`, before epsilon is counted, if a text cannot be encoded."""
        if self._encoding is None:
            return
        encoder = codecs.getincrementalencoder(self._encoding)()
        for values in batch.passed.values():
            texts = values.cast(pa.string()).fill_null("").to_pylist()
            encoded_text("\n".join(texts), encoder, self._encoding)

    def batches(self) -> Iterator[RecordBatch]:
        """Yield the records in a second pass.

        Raises `DeniableError` at the end, if the records differ from the first pass.
        """
        again = Fingerprint(self._schema)
        for batch in self._batches("randomizing", self._records):
            again.add(batch)
            yield batch
        if list(again.parts()) != self.fingerprint:
            raise DeniableError(
                "the file changed while it was read: the randomized values are discarded; leave "
                "the file as it is, and start again"
            )

    def _batches(
        self, what: str, of: int, seen: Callable[[pa.RecordBatch], None] | None = None
    ) -> Iterator[RecordBatch]:
        done = 0
        for batch in self.file.portions(seen=seen):
            yield batch
            done += len(batch)
            self.progress(what, done, of)
