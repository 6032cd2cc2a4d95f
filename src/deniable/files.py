"""Files that are written completely or not at all: under a temporary name, then renamed."""

import errno
import glob
import hashlib
import json
import os
import re
import secrets
import shutil
import stat
import sys
import tempfile
import time
from collections.abc import Callable, Collection, Iterator, Mapping
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeVar

from deniable.errors import DataError, DeniableError

if TYPE_CHECKING:  # not at run time: this module is imported wherever a file is written
    import pandas as pd

Fitted = TypeVar("Fitted")

SIGNIFICANT_DIGITS = 9
NO_HARD_LINKS = (errno.EPERM, errno.ENOTSUP, errno.EOPNOTSUPP, errno.ENOSYS, errno.EMLINK)
MARK_OF_FOLDERS = ".snakemake_timestamp"
"""File that Snakemake creates, after the job, in a folder that is an output."""
PRIVATE_FILE, PRIVATE_FOLDER, OTHERS = 0o600, 0o700, 0o077

ABANDONED_AFTER = 86_400.0  # seconds without a change, after which a temporary file is abandoned
_TEMPORARY = re.compile(r"\..+\.[a-z0-9_]{8}")


def kept_private(folder: Path | str) -> Path:
    """Create a `folder` if necessary, restrict access to its owner, and return it.

    Raises `OSError` if it belongs to another user: only the owner can change its permissions.
    """
    private = Path(folder)
    private.mkdir(mode=PRIVATE_FOLDER, parents=True, exist_ok=True)
    mode = stat.S_IMODE(private.stat().st_mode)
    if mode & OTHERS or not mode:  # for any umask
        private.chmod(PRIVATE_FOLDER)
    return private


@contextmanager
def written_whole(
    path: Path | str, *, private: bool = False, closed: bool = False
) -> Iterator[Path]:
    """Yield a temporary path next to `path`, and rename it to `path` if the block succeeds.

    If the block raises, the temporary file is removed and `path` is unchanged. Only the owner has
    access to a `private` file and to its folder, for any umask. A `closed` file is restricted to
    its owner too, but its folder is not. Raises `DeniableError` if `path` is a device or a pipe,
    such as /dev/null, which the rename would replace.
    """
    target = Path(path)
    if target.exists() and not (target.is_file() or target.is_dir()):
        raise DeniableError(f"{target}: a device or pipe, which a file would replace; name a file")
    target.parent.mkdir(parents=True, exist_ok=True)
    if private:
        kept_private(target.parent)
    # The name is known before the file exists, so any error from here on removes the file.
    temporary = target.with_name(f".{target.name}.{secrets.token_hex(4)}")
    try:
        os.close(os.open(temporary, os.O_CREAT | os.O_EXCL | os.O_WRONLY, PRIVATE_FILE))
        yield temporary
        temporary.chmod(PRIVATE_FILE if private or closed else 0o666 & ~_umask())
        temporary.replace(target)
    except OSError as error:
        # The message names the target, because users do not know the temporary name.
        if error.errno and error.filename in (None, str(temporary)):
            raise type(error)(error.errno, error.strerror, str(target)) from None
        raise
    finally:
        with suppress(OSError):
            temporary.unlink(missing_ok=True)


def write_once(path: Path | str, content: bytes) -> bool:
    """Write `content` to `path`, a private file in a private folder, unless it exists.

    Returns whether it was created. If several processes try, only one creates it. On return the
    file is on the disk. A killed process leaves the complete file or none, and perhaps a temporary
    file. Raises `DeniableError` if the file system has no hard links, and `OSError` for other
    failures.
    """
    file, created = Path(path), True
    kept_private(file.parent)
    try:
        with _synced_next_to(file, content) as temporary:
            file.hardlink_to(temporary)  # a rename would replace an existing file
    except FileExistsError:
        created = False
    except OSError as error:
        if error.errno not in NO_HARD_LINKS:
            raise
        raise DeniableError(
            f"{file.parent}: its file system has no hard links, which are needed to create a file "
            "only once; name a folder on another file system"
        ) from None
    sync_to_disk(file.parent)
    return created


def replace_durably(file: Path, content: bytes) -> None:
    """Create or replace the private `file` with this `content`, and sync it to the disk.

    A killed process leaves the complete former file, and perhaps a temporary file.
    """
    with _synced_next_to(file, content) as temporary:
        temporary.replace(file)
    sync_to_disk(file.parent)


@contextmanager
def _synced_next_to(file: Path, content: bytes) -> Iterator[Path]:
    """Yield a temporary file next to a `file`, with this `content` on the disk."""
    handle, name = tempfile.mkstemp(prefix=f".{file.name}.", dir=file.parent)
    try:
        with os.fdopen(handle, "wb") as stream:
            os.fchmod(stream.fileno(), PRIVATE_FILE)
            stream.write(content)
            stream.flush()
            os.fsync(stream.fileno())
        yield Path(name)
    finally:
        Path(name).unlink(missing_ok=True)


def sync_to_disk(path: Path) -> None:
    """Sync the names in the folder at a `path`, or the content of the file there, to the disk."""
    handle = os.open(path, os.O_RDONLY)
    try:
        os.fsync(handle)
    finally:
        os.close(handle)


def private_folder(folder: Path) -> None:
    """Create a `folder` only for its owner as `kept_private` does, and sync it to the disk."""
    missing = [each for each in folder.parents if not each.exists()]
    kept_private(folder)
    # A killed process may not have synced it. A user without access to the parent did not make it.
    for each in (folder, *missing):
        with suppress(PermissionError):
            sync_to_disk(each.parent)


def remove_abandoned(folder: Path) -> None:
    """Remove temporary files of killed processes, which are linked or old, from a `folder`."""
    for file in folder.iterdir():
        if _TEMPORARY.fullmatch(file.name) and not file.is_dir():
            with suppress(FileNotFoundError):
                status = file.stat()
                if status.st_nlink > 1 or time.time() - status.st_mtime > ABANDONED_AFTER:
                    file.unlink()


def sync_tree(folder: Path) -> None:
    """Sync a `folder` with all its contents to the disk."""
    for path in (*folder.rglob("*"), folder):
        sync_to_disk(path)


@contextmanager
def folder_written_whole(path: Path | str, *, private: bool = False) -> Iterator[Path]:
    """Yield a temporary folder next to `path`, and rename it to `path` if the block succeeds.

    It replaces an older folder. Only the owner has access to a `private` folder. Raises `DataError`
    if `path` is a file or a link.
    """
    target = Path(path)
    if target.is_symlink() or target.is_file():
        raise DataError(f"{target}: a file or a link is there; remove it, or name another folder")
    target.parent.mkdir(parents=True, exist_ok=True)
    temporary = Path(tempfile.mkdtemp(prefix=f".{target.name}.", dir=target.parent))
    try:
        yield temporary
        temporary.chmod(PRIVATE_FOLDER if private else 0o777 & ~_umask())
        shutil.rmtree(target, ignore_errors=True)
        temporary.replace(target)
    finally:
        shutil.rmtree(temporary, ignore_errors=True)


def remove_leftovers(path: Path | str) -> None:
    """Remove leftovers of `written_whole` and `folder_written_whole` next to `path`.

    Use it only if no other process writes `path`: their temporary files are removed too.
    """
    target = Path(path)
    for file in target.parent.glob(f".{glob.escape(target.name)}." + 8 * "[a-z0-9_]"):
        if file.is_dir():
            shutil.rmtree(file, ignore_errors=True)
        else:
            file.unlink(missing_ok=True)


def _umask() -> int:
    mask = os.umask(0)
    os.umask(mask)
    return mask


def write_text(path: Path | str, text: str, *, private: bool = False, closed: bool = False) -> None:
    """Write `text` to `path` as UTF-8 with Unix line ends; `private`, `closed`: `written_whole`."""
    with written_whole(path, private=private, closed=closed) as temporary:
        temporary.write_text(text, encoding="utf-8", newline="\n")


def json_line(value: Any) -> str:
    """Return `value` as JSON on one line, without white space."""
    return json.dumps(value, ensure_ascii=False, allow_nan=False, separators=(",", ":"))


def write_json(
    path: Path | str, value: Any, *, private: bool = False, closed: bool = False
) -> None:
    """Write `value` to `path` as indented JSON; `private`, `closed`: see `written_whole`."""
    text = json.dumps(value, indent=2, ensure_ascii=False, allow_nan=False) + "\n"
    write_text(path, text, private=private, closed=closed)


def read_json(path: Path | str) -> Any:
    """Read the JSON file at `path`. Raises `ValueError` if it is not JSON in UTF-8."""
    try:
        return json.loads(Path(path).read_text(encoding="utf-8"))
    except RecursionError:
        raise ValueError("its values are nested too deeply") from None


def read_fitted(path: Path | str, from_json: Callable[[Any], Fitted]) -> Fitted:
    """Read fitted parameters at `path`, rebuilt from JSON values by `from_json`.

    `from_json` raises `DeniableError` for its own errors. Raises `DataError` with file and error.
    """
    try:
        return from_json(read_json(path))
    except OSError as error:
        raise DataError(f"{path}: {error.strerror or error}; check the path") from None
    except DeniableError as error:
        raise DataError(f"{path}: {error}") from None
    except KeyError as error:
        problem = f"the entry {error} is missing"
    except (TypeError, AttributeError, ValueError, OverflowError, RecursionError) as error:
        problem = f"not fitted parameters in JSON ({error})"
    raise DataError(f"{path}: {problem}; restore the file or fit it again")


def write_fitted(path: Path | str, value: Mapping[str, Any], by_line: Collection[str]) -> None:
    """Write fitted parameters, a `value` of plain JSON values, to `path`.

    Each entry has a line, and each element of the lists under a key in `by_line`.
    """

    def entry(key: str, part: Any) -> str:
        if key not in by_line:
            return f"{json_line(key)}:{json_line(part)}"
        return f"{json_line(key)}:[\n" + ",\n".join(map(line, part)) + "\n]"

    def line(part: Any) -> str:
        if not isinstance(part, Mapping):
            return json_line(part)
        return "{" + ",".join(entry(*each) for each in part.items()) + "}"

    write_text(path, "{\n" + ",\n".join(entry(*each) for each in value.items()) + "\n}\n")


def write_table(path: Path | str, table: "pd.DataFrame", *, private: bool = False) -> None:
    """Write `table` to `path` as CSV with 9 significant digits; equal tables give equal bytes.

    For `private` see `written_whole`.
    """
    with written_whole(path, private=private) as temporary:
        table.to_csv(
            temporary,
            index=False,
            float_format=f"%.{SIGNIFICANT_DIGITS}g",
            lineterminator="\n",
            encoding="utf-8",
        )


def read_table(path: Path | str, **options: Any) -> "pd.DataFrame":
    """Read a table that `write_table` wrote to `path`; `**options` go to `pandas.read_csv`."""
    import pandas as pd  # noqa: PLC0415 - seldom needed, slow to import

    # A category may be called "NA" or "None". Missing values are written as empty text.
    table: pd.DataFrame = pd.read_csv(path, keep_default_na=False, na_values=[""], **options)
    return table


def sha256(path: Path | str) -> str:
    """Return the SHA-256 of the file at `path`, in hexadecimal."""
    with Path(path).open("rb") as stream:
        return hashlib.file_digest(stream, "sha256").hexdigest()


def free_memory() -> int:
    """Return the free memory of the machine in bytes, at most the limit of the control group.

    If it is unknown, the result is `sys.maxsize`.
    """
    found = [sys.maxsize]
    with suppress(OSError, ValueError, StopIteration):
        lines = Path("/proc/meminfo").read_text("ascii").splitlines()
        found.append(1024 * int(next(x for x in lines if x.startswith("MemAvailable")).split()[1]))
    with suppress(OSError, ValueError):
        found.append(int(Path("/sys/fs/cgroup/memory.max").read_text("ascii")))
    return min(found)
