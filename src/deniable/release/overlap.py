"""Estimate the number of records that files share, from keyed digests of their records."""

from dataclasses import dataclass

SKETCH_SIZE = 1024


@dataclass(frozen=True)
class RecordDigests:
    """The digests of records that a ledger stores.

    Attributes
    ----------
    whole : str
        Keyed digest of all records in their order, in hexadecimal. Order counts, because a draw
        depends on the number of a record: the same records in another order have a second draw.
    records : int
        Number of records.
    sketch : tuple of int
        The smallest digests of distinct records, at most 1,024, in rising order. They are a random
        sample of the records, and the same records are in the sample of every file.
    """

    whole: str
    records: int
    sketch: tuple[int, ...]

    @property
    def limit(self) -> int:
        """The value up to which the sketch has the digests of all records."""
        return self.sketch[-1] if len(self.sketch) >= SKETCH_SIZE else 2**64


@dataclass(frozen=True)
class Overlap:
    """Number of records of a file that an earlier release contained.

    Attributes
    ----------
    release : str
        Name of the earlier release.
    shared : int
        Number of compared records that the earlier release contained.
    compared : int
        Number of distinct records that both sketches show: about 1,024 for files of one size.
    """

    release: str
    shared: int
    compared: int

    @property
    def proportion(self) -> float:
        """Estimated proportion of the file's records that the release contained."""
        return self.shared / self.compared if self.compared else 0.0

    def __str__(self) -> str:
        """Return a sentence."""
        percent = f"{100 * self.proportion:.3g}"
        return f"about {percent} % of the records were in release {self.release!r}"


def overlap(records: RecordDigests, release: str, earlier: RecordDigests) -> Overlap:
    """Compare the `records` of a file with the `earlier` ones of a `release`, under one key."""
    limit = min(records.limit, earlier.limit)
    compared = {value for value in records.sketch if value <= limit}
    return Overlap(release, len(compared.intersection(earlier.sketch)), len(compared))
