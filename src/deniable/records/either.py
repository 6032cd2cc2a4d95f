"""The true records that a study starts from, categorical or numeric."""

from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq

from deniable.records.arrow import NUMERIC_KEY
from deniable.records.categorical import Microdata, read_parquet
from deniable.records.numeric import NumericMicrodata, read_numeric_parquet


def read_true_records(path: Path | str) -> Microdata | NumericMicrodata:
    """Read prepared records, whichever kind the file says they are.

    Raises
    ------
    DataError
        If the file is absent, damaged, or describes no records.
    """
    try:
        metadata = pq.read_schema(path).metadata or {}
    except (OSError, pa.ArrowInvalid):
        metadata = {}  # whoever reads the records says what is wrong with the file
    return read_numeric_parquet(path) if NUMERIC_KEY in metadata else read_parquet(path)
