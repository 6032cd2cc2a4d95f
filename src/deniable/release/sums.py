"""A keyed digest of protected records that does not depend on the bytes of their file.

Each value has a block of 16 bytes: the bits of a number, or two SipHash-2-4 of a text. It is
encrypted by AES-256 under a subkey of its column. The sums of the blocks of a record and of its
position, modulo 2^64, are encrypted under another subkey. The digest is the sum over all records,
modulo 2^128. So batches can be added in any order, by any engine, and other bytes of the same
records, as by another version of pyarrow, have the same digest. Without the key it reveals nothing.
"""

import hashlib
import hmac
from pathlib import Path

import numpy as np
import numpy.typing as npt
import pyarrow as pa
from cryptography.hazmat.primitives.ciphers import Cipher, algorithms, modes

from deniable.sampling import framed
from deniable.schema import FileFormat, ValidationErrors, open_source

VERSION = b"deniable protected records 1"
Blocks = npt.NDArray[np.uint64]  # shape (values, 2)


class RecordSum:
    """The sum of keyed digests of records, by a `key` of 32 bytes."""

    def __init__(self, key: bytes) -> None:
        self._key = key
        self._total = 0

    def add(self, batch: pa.RecordBatch, first: int) -> None:
        """Add the records of a `batch`; the position of its first one, from 0, is `first`."""
        positions = np.zeros((len(batch), 2), dtype=np.uint64)
        positions[:, 0] = np.arange(first, first + len(batch), dtype=np.uint64)
        sums = self._encrypted(positions, b"position")
        for name, column in zip(batch.schema.names, batch.columns, strict=True):
            sums += self._of_column(column, name.encode())
        digests = self._encrypted(sums, b"record")
        halves = np.ascontiguousarray(digests, dtype="<u8").view("<u4").astype(np.uint64)
        parts = halves.sum(axis=0).tolist()  # exact for up to 2^32 records
        self._total += sum(part << (32 * place) for place, part in enumerate(parts))

    def hexdigest(self) -> str:
        """Return the sum, modulo 2^128, in hexadecimal."""
        return f"{self._total % (1 << 128):032x}"

    def _of_column(self, column: pa.Array, name: bytes) -> Blocks:
        if pa.types.is_dictionary(column.type):
            own = self._of_column(column.dictionary, name)
            nothing = self._of_column(pa.nulls(1, column.type.value_type), name)
            codes = column.indices.cast(pa.int64()).fill_null(len(own)).to_numpy()
            chosen: Blocks = np.concatenate((own, nothing)).take(codes, axis=0)
            return chosen
        missing = column.is_null().to_numpy(zero_copy_only=False)
        blocks = np.zeros((len(column), 2), dtype=np.uint64)
        if pa.types.is_integer(column.type):
            blocks[:, 0] = column.cast(pa.int64(), safe=False).fill_null(0).to_numpy().view("u8")
        elif pa.types.is_floating(column.type):
            numbers = column.cast(pa.float64()).fill_null(0.0).to_numpy() + 0.0  # zero has no sign
            numbers[np.isnan(numbers)] = np.nan
            blocks[:, 0] = numbers.view("u8")
        else:
            blocks = self._of_texts(column.cast(pa.large_string()).fill_null(""))
        blocks[missing] = (0, 1)
        return self._encrypted(blocks, b"column", name)

    def _of_texts(self, texts: pa.Array) -> Blocks:
        from pandas.util import hash_array  # noqa: PLC0415 - slow to import

        values = texts.to_numpy(zero_copy_only=False)
        keys = (self._subkey(b"texts", half).hex()[:16] for half in (b"1", b"2"))
        found = [hash_array(values, hash_key=key, categorize=False) for key in keys]
        return np.stack(found, axis=1)

    def _encrypted(self, blocks: Blocks, *purpose: bytes) -> Blocks:
        cipher = Cipher(algorithms.AES(self._subkey(*purpose)), modes.ECB())  # single blocks
        encrypted = cipher.encryptor().update(blocks.astype("<u8", copy=False).tobytes())
        return np.frombuffer(encrypted, dtype="<u8").reshape(-1, 2).astype(np.uint64)

    def _subkey(self, *purpose: bytes) -> bytes:
        return hmac.digest(self._key, b"".join(framed((VERSION, *purpose))), hashlib.sha256)


def digest_of_file(file: Path, form: FileFormat, key: bytes) -> str:
    """Return the digest of the records in a protected `file` of a `form`, under a `key`.

    Raises `DataError` if the file is damaged.
    """
    source = open_source(file, form.delimiter or ",", form.encoding or "utf-8")
    found, faults = RecordSum(key), ValidationErrors()
    for piece in source.pieces(list(source.types), [], faults):
        found.add(piece.batch, piece.first)
    faults.raise_if_any()
    return found.hexdigest()
