"""Published files from a mirror or a public address, or the choice of surrogates instead.

A download is complete and verified, or fails. It has limits of time and size.
"""

import shutil
import threading
import time
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any, BinaryIO, Literal, get_args
from urllib.parse import urljoin, urlsplit

from pydantic import ConfigDict, ValidationError
from pydantic.dataclasses import dataclass as validated

from deniable.datasets.manifest import PublishedFile
from deniable.errors import DataError, disk_errors, from_extras, refuse_unknown
from deniable.files import kept_private, read_json, sha256, written_whole

with from_extras():
    import requests
    from tqdm import tqdm
    from urllib3.exceptions import HTTPError  # comes with requests

CHUNK_BYTES = 1 << 14
BY_HAND = "put the file into a directory and set DENIABLE_DATA_MIRROR to it"
REMEDY = f"{BY_HAND}, or set data.source: surrogate"
DISK = "check the path, the permissions of its directory and the free space"
TOO_LARGE = "larger than {:,} bytes, the limit `bytes` in the manifest or the default limit"


@dataclass(frozen=True)
class Limits:
    """Limits of a download.

    At most `connect_seconds` pass until the connection, `silence_seconds` without a byte, and
    `total_seconds` in all, against slow servers. The decoded file has at most `most_bytes`, since
    400 kB of gzip can be 400 MB.
    """

    connect_seconds: float = 10
    silence_seconds: float = 30
    total_seconds: float = 300
    most_bytes: int = 200_000_000


class DownloadError(DataError):
    """A failed download from `address`, with its `reason` and `remedy`.

    The reason contains no path of this machine.
    """

    def __init__(self, address: str, reason: str, remedy: str = REMEDY) -> None:
        super().__init__(f"{address}: {reason}; {remedy}")
        self.reason = reason


def set_aside(file: Path, target: Path, expected_sha256: str) -> tuple[str, Path] | None:
    """Move a `file` to the folder ``refused`` next to `target` unless it has `expected_sha256`.

    Return its digest and new path, or None if the file has the expected digest and stays.
    """
    digest = sha256(file)
    if digest == expected_sha256:
        return None
    refused = target.parent / "refused" / f"{target.name}.{digest[:12]}"
    kept_private(refused.parent)
    return digest, file.replace(refused)


def download(address: str, target: Path, expected_sha256: str, limits: Limits) -> None:
    """Download `address`, http or https, to `target`, which appears only if complete and verified.

    A file with another SHA-256 than `expected_sha256` is moved to `refused/` next to the target. On
    a terminal a bar shows the progress. Raises `DownloadError`, with address, reason and remedy,
    also beyond the `limits`, and `DataError` if the disk is full or not writable.
    """
    with disk_errors(target, DISK), written_whole(target, private=True) as temporary:
        with temporary.open("wb") as stream:
            _fetch(address, stream, limits, target.name)
        if wrong := set_aside(temporary, target, expected_sha256):
            digest, refused = wrong
            reason = f"the file has the sha256 {digest}, not {expected_sha256}"
            kept = f"it was refused and is kept as {refused} for inspection"
            raise DownloadError(address, reason, f"{kept}; {REMEDY}")


def _refuse_plain(answer: requests.Response, **_: Any) -> None:
    """Refuse a redirection from https to http, which others on the network can read and change."""
    if answer.is_redirect:
        answer.close()  # otherwise its text, of any size, would be read to the end
        to = urljoin(answer.url, answer.headers["location"])
        if answer.url.startswith("https:") and urlsplit(to).scheme != "https":
            raise requests.RequestException(f"redirected from https to {to}, which is not followed")


def _fetch(address: str, stream: BinaryIO, limits: Limits, name: str) -> None:
    """Write the content of `address` into `stream`, in a thread that can be abandoned.

    The lookup of a host has no time-out, and a server that sends a byte now and then never reaches
    one. An abandoned thread ends when it finds the stream closed.
    """
    faults: list[Exception] = []
    timeout = (limits.connect_seconds, limits.silence_seconds)
    # A published .gz is the file itself; other encoded content is decoded.
    headers, decode = {"Accept-Encoding": "identity"}, not address.endswith(".gz")
    hooks = {"response": _refuse_plain}

    def receive() -> None:
        try:
            with requests.get(
                address, headers=headers, stream=True, timeout=timeout, hooks=hooks
            ) as answer:
                if answer.status_code != requests.codes.ok:
                    status = f"{answer.status_code} {answer.reason}"
                    raise requests.HTTPError(f"the server answers {status}")
                bar.total = answer.raw.length_remaining
                for chunk in answer.raw.stream(CHUNK_BYTES, decode_content=decode):
                    if stream.tell() + len(chunk) > limits.most_bytes:
                        raise DownloadError(address, TOO_LARGE.format(limits.most_bytes))
                    stream.write(chunk)
                    bar.update(len(chunk))
        except Exception as fault:  # the waiting thread reports every error
            faults.append(fault)

    thread = threading.Thread(target=receive, daemon=True)
    deadline = time.monotonic() + limits.total_seconds
    with tqdm(desc=name, unit="B", unit_scale=True, disable=None) as bar:
        thread.start()
        while thread.is_alive() and time.monotonic() < deadline:
            thread.join(0.05)  # in short steps, so that Ctrl-C works
    if thread.is_alive():
        faults.append(requests.Timeout(f"not done in {limits.total_seconds:g} s"))
    if not faults:
        return
    cause: BaseException = faults[0]
    if not isinstance(cause, requests.RequestException | HTTPError):
        raise cause  # an error of the disk
    while inner := cause.__cause__ or cause.__context__:
        cause = inner
    reason = str(getattr(cause, "strerror", None) or cause)
    if received := stream.tell():
        reason = f"cut off after {received:,} bytes: {reason}"
    raise DownloadError(address, reason)


SourceSetting = Literal["auto", "mirror", "public", "surrogate"]
OBTAIN_AGAIN = "download it again: snakemake --forcerun download"


@validated(frozen=True, config=ConfigDict(strict=True, extra="forbid"))
class ResolvedFile:
    """The `kind` of a file's records, and `sha256`, the published file's digest or None."""

    kind: Literal["published", "surrogate"]
    sha256: str | None


def read_source(path: Path | str) -> ResolvedFile:
    """Read the source of a file's records from the JSON file at `path`.

    Raises `DataError` if it cannot be read or is malformed.
    """
    try:
        return ResolvedFile(**read_json(path))
    except OSError as error:
        raise DataError(f"{path}: {error.strerror or error}; {OBTAIN_AGAIN}") from None
    except ValidationError as error:
        first = error.errors()[0]
        problem = f"key {first['loc'][0]!r}: {first['msg']}"
    except (TypeError, ValueError):
        problem = "not a JSON object"
    raise DataError(f"{path}: {problem}; {OBTAIN_AGAIN}")


def verified_file(dataset: PublishedFile, source: ResolvedFile, folder: Path) -> Path:
    """Return the published file of a `dataset` in `folder`, after a check of its digest.

    Raises `DataError` if the digests of `source`, manifest and file differ, or the file is missing.
    """
    path = folder / dataset.file
    if source.sha256 != dataset.sha256:
        raise DataError(f"{path}: the manifest names another file now; {OBTAIN_AGAIN}")
    with disk_errors(path, DISK):
        if not path.exists():
            raise DataError(f"{path}: the published file is missing; {OBTAIN_AGAIN}")
        digest = sha256(path)
    if digest != dataset.sha256:
        raise DataError(f"{path}: has the sha256 {digest}, not {dataset.sha256}; {OBTAIN_AGAIN}")
    return path


def from_mirror(dataset: PublishedFile, mirror: Path, target: Path) -> bool:
    """Copy the file of a `dataset` from the directory `mirror` to `target`, and verify it.

    Return False if the directory lacks the file. Raises `DataError` if the directory does not exist
    or has another file than the published one. A copy of the wrong file is then kept in `refused/`
    next to the target.
    """
    origin = mirror.expanduser() / dataset.file
    with disk_errors(origin, DISK):
        if not origin.parent.is_dir():
            raise DataError(
                f"{mirror}: the mirror is not a directory; create it with {dataset.file} in it, or "
                "correct DENIABLE_DATA_MIRROR (or data.mirror in the config)"
            )
        if not origin.exists():
            return False
        if not origin.is_file():
            raise DataError(f"{origin}: not a regular file; put the published file there")
        stream = origin.open("rb")
    with stream, disk_errors(target, DISK), written_whole(target, private=True) as temporary:
        with temporary.open("wb") as copy:
            shutil.copyfileobj(stream, copy)
        if wrong := set_aside(temporary, target, dataset.sha256):
            digest, refused = wrong
            raise DataError(
                f"{origin}: the file in the mirror has the sha256 {digest}, not {dataset.sha256}; "
                f"it was refused, a copy is kept as {refused} for inspection; replace it by the "
                f"file published at {dataset.address}, or remove it"
            )
    return True


def obtain(
    dataset: PublishedFile,
    *,
    source: SourceSetting,
    mirror: Path | None,
    folder: Path,
    say: Callable[[str], None],
) -> ResolvedFile:
    """Obtain the published file of a `dataset` in `folder`, or choose surrogates.

    A verified file in the folder is used. Otherwise `auto` tries the mirror, then the public
    address, and chooses the surrogate last. Raises `DataError` if the requested source has no
    valid file, or the disk cannot be written.

    Parameters
    ----------
    source : "auto", "mirror", "public" or "surrogate"
        The option `data.source` of the configuration.
    mirror : path or None
        A directory. A wrong file in it is an error, also for `auto`.
    say : callable
        Takes the address and the reasons, as lines for a log.
    """
    refuse_unknown("data.source", source, get_args(SourceSetting))
    if source == "surrogate":
        say(f"{dataset.file}: SURROGATE DATA, because data.source is surrogate")
        return ResolvedFile("surrogate", None)
    if source == "mirror" and mirror is None:
        raise DataError(
            "data.source is mirror, but no mirror directory is named; set DENIABLE_DATA_MIRROR (or "
            f"the mirror in the config) to a directory that holds {dataset.file}"
        )
    published = ResolvedFile("published", dataset.sha256)
    target = folder / dataset.file
    if _is_verified(dataset, target, say):
        say(f"{dataset.file}: a verified copy of the published file is already there")
        return published
    failure = "no mirror directory was named"
    if source != "public" and mirror is not None:
        if from_mirror(dataset, mirror, target):
            say(f"{dataset.file}: copied from the mirror {mirror}")
            return published
        if source == "mirror":
            raise DataError(
                f"{mirror.expanduser() / dataset.file}: the mirror lacks this file of "
                f"{dataset.name!r}; put it there (it is published at {dataset.address}), or set "
                "data.source: auto"
            )
        failure = f"the mirror directory lacks {dataset.file}"
        say(f"{dataset.file}: the mirror {mirror} lacks it and is skipped")
    say(f"{dataset.file}: downloading {dataset.address}")
    limits = Limits(most_bytes=dataset.bytes or Limits.most_bytes)
    try:
        download(dataset.address, target, dataset.sha256, limits)
    except DownloadError as error:
        if source == "public":
            raise
        say(
            f"{dataset.file}: SURROGATE DATA instead of the published file ({failure}; "
            f"{dataset.address}: {error.reason}); to use the published file, {BY_HAND} and run "
            "again"
        )
        return ResolvedFile("surrogate", None)
    return published


def _is_verified(dataset: PublishedFile, target: Path, say: Callable[[str], None]) -> bool:
    """Return whether `target` is the published file; move any other file aside."""
    with disk_errors(target, DISK):
        if not target.exists():
            return False
        wrong = set_aside(target, target, dataset.sha256)
    if wrong:
        say(
            f"{target}: has the sha256 {wrong[0]}, not {dataset.sha256}; it was moved to "
            f"{wrong[1]} and the file is obtained again"
        )
    return not wrong
