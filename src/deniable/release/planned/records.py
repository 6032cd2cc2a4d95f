"""The true records of a planned release: a file that is read twice, in portions."""

from collections.abc import Callable, Iterator, Mapping
from functools import cached_property

from deniable.errors import DeniableError
from deniable.plans import ColumnsPlan
from deniable.release.overlap import RecordDigests
from deniable.release.planned.digests import Content, LedgerDigests
from deniable.schema import Portion, RecordsFile

Progress = Callable[[str, int, int], None]
"""Is told what is done, how many records of it are done, and of how many (0: not yet known)."""


def silent(what: str, done: int, of: int) -> None:
    """Tell nobody `what` is done, and how many records of it (`done`) `of` how many."""


class OwnRecords:
    """Records of one's own, as releases take them (`deniable.release.InPortions`).

    The first pass validates all values and makes all digests; so it needs the key of the ledger
    beforehand.

    Parameters
    ----------
    file : RecordsFile
    plan : ColumnsPlan
    ledger_key : bytes
    progress : callable, optional
    """

    def __init__(
        self, file: RecordsFile, plan: ColumnsPlan, ledger_key: bytes, progress: Progress = silent
    ) -> None:
        self.file, self.plan = file, plan
        self._ledger_key, self.progress = ledger_key, progress

    @property
    def marks(self) -> Mapping[str, str]:
        """Nothing: whose records these are, the schema says."""
        return {"data_source": "own"}

    def __len__(self) -> int:
        return self._digested[1].records

    def parts(self) -> Iterator[bytes]:
        """Yield what the records say, however the file is divided."""
        return self._digested[0].parts()

    def digests(self, key: bytes) -> RecordDigests:
        """Return what a ledger keeps of them; the `key` is that of the first pass."""
        if key != self._ledger_key:
            raise ValueError("the ledger has another key than the one that records were read with")
        return self._digested[1]

    def portions(self) -> Iterator[Portion]:
        """Yield the records again, to be drawn.

        Raises `DeniableError` at the end, if they are not those of the first pass.
        """
        again = self._content()
        for portion in self._told("drawing", len(self)):
            again.add(portion.codes, portion.passed)
            yield portion
        if list(again.parts()) != list(self.parts()):
            raise DeniableError(
                "the file was changed while it was read: what was drawn is not kept; leave the "
                "file as it is, and start again"
            )

    @cached_property
    def _digested(self) -> tuple[Content, RecordDigests]:
        content = self._content()
        ledger = LedgerDigests(tuple(self.plan.protocol.domain), self._ledger_key)
        for portion in self._told("reading", self.file.expected):
            content.add(portion.codes, portion.passed)
            ledger.add(portion.codes, len(portion))
        return content, ledger.found()

    def _content(self) -> Content:
        return Content(tuple(self.plan.protocol.domain), self.plan.passed)

    def _told(self, what: str, of: int) -> Iterator[Portion]:
        done = 0
        for portion in self.file.portions():
            yield portion
            done += len(portion)
            self.progress(what, done, of)
