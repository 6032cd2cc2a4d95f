"""Reports in the order of the key, a part of them in memory: sorted by way of the disk.

Records are divided by the leading bits of the first of the words that order them, into as many
parts as leave about a portion in each; a part then is sorted by itself. The order is that of
`deniable.sampling.KeyedDraws.order`.
"""

from collections.abc import Iterator, Mapping
from pathlib import Path

import numpy as np
import pyarrow as pa

from deniable.records import Domain, Microdata
from deniable.release.planned.writing import GROUP
from deniable.sampling import KeyedDraws, Words, by_words

Drawn = Iterator[tuple[Microdata, Mapping[str, pa.Array]]]
"""Reports of each portion, and what goes out as it is."""

WORD_BITS = 64


def in_order_of_key(drawn: Drawn, draws: KeyedDraws, records: int, scratch: Path) -> Drawn:
    """Yield what was drawn in another order.

    Parameters
    ----------
    drawn : iterator
        Of all portions, in the order of the file.
    draws : KeyedDraws
    records : int
        How many there are in all.
    scratch : path
        Of an empty folder, in which all of it lies meanwhile, with its order in the file.
    """
    bits, domain = _bits(records), None
    first = 0
    for reports, passed in drawn:
        domain = reports.domain
        words = draws.order_words(range(first, first + len(reports)))
        _put_by_part(_batch(words, reports, passed), words, bits, scratch)
        first += len(reports)
    if domain is None:
        return
    for path in sorted(scratch.iterdir()):
        batch = _read(path)
        path.unlink()
        yield _told(batch, domain)


def _bits(records: int) -> int:
    """Return how many leading bits tell parts of about a portion from each other."""
    return max(0, (records - 1) // GROUP).bit_length()


def _batch(words: Words, reports: Microdata, passed: Mapping[str, pa.Array]) -> pa.RecordBatch:
    """Return two words, the codes, and what is passed on, a column each."""
    columns = [*words.T, *reports.columns]
    arrays = [*(pa.array(np.ascontiguousarray(each)) for each in columns), *passed.values()]
    places = [str(place) for place in range(len(columns))]
    return pa.RecordBatch.from_arrays(arrays, names=[*places, *passed])


def _put_by_part(batch: pa.RecordBatch, words: Words, bits: int, scratch: Path) -> None:
    """Add a portion to the parts on the disk, each in the order of the file."""
    # In two steps: numbers are not moved by as many bits as they have.
    part = (words[:, 0] >> np.uint64(WORD_BITS - 1 - bits)) >> np.uint64(1)
    part = part.astype(np.min_scalar_type(1 << bits))
    sizes = np.bincount(part, minlength=1 << bits)
    batch = batch.take(pa.array(np.argsort(part, kind="stable")))
    ends = np.cumsum(sizes)
    for number in np.flatnonzero(sizes).tolist():
        # Not held open: there may be more parts than a process may have files.
        with (scratch / f"{number:016x}").open("ab") as file:
            own = batch.slice(ends[number] - sizes[number], sizes[number])
            with pa.ipc.new_stream(file, batch.schema) as stream:
                stream.write_batch(own)


def _read(path: Path) -> pa.RecordBatch:
    """Return a part in the order of the key."""
    batches = []
    with pa.OSFile(str(path)) as file:
        while file.tell() < file.size():
            batches += pa.ipc.open_stream(file)
    table = pa.Table.from_batches(batches).combine_chunks()
    words = np.stack([table.column(place).to_numpy() for place in (0, 1)], axis=1)
    (batch,) = table.take(pa.array(by_words(words))).combine_chunks().to_batches()
    return batch


def _told(batch: pa.RecordBatch, domain: Domain) -> tuple[Microdata, dict[str, pa.Array]]:
    """Return reports, and what is passed on, of a part."""
    own = 2 + len(domain)
    columns = tuple(batch.column(place).to_numpy() for place in range(2, own))
    passed = dict(zip(batch.schema.names[own:], batch.columns[own:], strict=True))
    return Microdata(domain, columns), passed
