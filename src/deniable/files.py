"""Files that are whole or absent: written to a temporary name, then renamed."""

import hashlib
import json
import os
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:  # not at run time: this room is imported wherever a file is written
    import pandas as pd

SIGNIFICANT_DIGITS = 9


@contextmanager
def written_whole(path: Path | str) -> Iterator[Path]:
    """Give a temporary path beside `path`; rename it to `path` if the block ends well.

    When the block raises, the temporary file is removed and `path` is as it was.
    """
    target = Path(path)
    target.parent.mkdir(parents=True, exist_ok=True)
    handle, name = tempfile.mkstemp(prefix=f".{target.name}.", dir=target.parent)
    os.close(handle)
    temporary = Path(name)
    try:
        yield temporary
        temporary.chmod(0o666 & ~_umask())
        temporary.replace(target)
    finally:
        temporary.unlink(missing_ok=True)


def _umask() -> int:
    mask = os.umask(0)
    os.umask(mask)
    return mask


def write_text(path: Path | str, text: str) -> None:
    """Write `text` as UTF-8 with Unix line ends."""
    with written_whole(path) as temporary:
        temporary.write_text(text, encoding="utf-8", newline="\n")


def write_json(path: Path | str, value: Any) -> None:
    """Write `value` as JSON that a person can read and `diff` can compare."""
    write_text(path, json.dumps(value, indent=2, ensure_ascii=False, allow_nan=False) + "\n")


def read_json(path: Path | str) -> Any:
    """Read a JSON file."""
    return json.loads(Path(path).read_text(encoding="utf-8"))


def write_table(path: Path | str, table: "pd.DataFrame") -> None:
    """Write `table` as CSV, numbers with 9 significant digits: equal results are equal bytes."""
    with written_whole(path) as temporary:
        table.to_csv(
            temporary,
            index=False,
            float_format=f"%.{SIGNIFICANT_DIGITS}g",
            lineterminator="\n",
            encoding="utf-8",
        )


def sha256(path: Path | str) -> str:
    """Return the SHA-256 of a file, in hexadecimal."""
    with Path(path).open("rb") as stream:
        return hashlib.file_digest(stream, "sha256").hexdigest()
