"""Where a data set came from in a run, as the run records it."""

from dataclasses import dataclass, fields
from pathlib import Path
from typing import Literal, get_args

from deniable.errors import DataError
from deniable.files import read_json

Kind = Literal["original", "surrogate"]
Found = Literal["mirror", "public", "surrogate"]


@dataclass(frozen=True)
class Source:
    """Where the records of a data set come from in this run.

    Parameters
    ----------
    dataset : str
    kind : "original" or "surrogate"
    sha256 : str
        Of the published file, or of the surrogate's JSON.
    found : "mirror", "public" or "surrogate"
    reason : str
        Why this one; for a surrogate, why the earlier ones failed. Names no path.
    """

    dataset: str
    kind: Kind
    sha256: str
    found: Found
    reason: str


def read_source(path: Path | str) -> Source:
    """Read the record that `resolve` left.

    Raises
    ------
    DataError
        If it cannot be read or is malformed.
    """
    file = Path(path)
    remedy = "delete it, the pipeline makes it again"
    try:
        record = read_json(file)
    except OSError as error:
        raise DataError(f"{file}: {error.strerror or error}; run the pipeline first") from None
    except ValueError:
        raise DataError(f"{file}: no JSON; {remedy}") from None
    keys = [field.name for field in fields(Source)]
    if not isinstance(record, dict) or set(record) != set(keys):
        raise DataError(f"{file}: the keys must be {', '.join(keys)}; {remedy}")
    allowed = {"kind": get_args(Kind), "found": get_args(Found)}
    for key, value in record.items():
        if not isinstance(value, str) or value not in allowed.get(key, (value,)):
            raise DataError(f"{file}: key {key!r} has the value {value!r:.80}; {remedy}")
    return Source(**record)
