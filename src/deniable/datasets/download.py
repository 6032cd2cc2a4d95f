"""Download files whole and verified, or not at all, with limits of time and size."""

import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any, BinaryIO
from urllib.parse import urljoin, urlsplit

from deniable.errors import DataError, from_extras
from deniable.files import kept_private, sha256, written_whole

with from_extras():
    import requests
    from tqdm import tqdm
    from urllib3.exceptions import HTTPError  # comes with requests

CHUNK_BYTES = 1 << 14
BY_HAND = "put the file into a directory and set DENIABLE_DATA_MIRROR to it"
REMEDY = f"{BY_HAND}, or set data.source: surrogate"
TOO_LARGE = "larger than {:,} bytes, the manifest's `bytes` or, without, the most that is taken"


@dataclass(frozen=True)
class Limits:
    """Limits of a download.

    There are `connect_seconds` for the connection, `silence_seconds` without a byte, and
    `total_seconds` for the whole attempt, against slow servers. The decoded file has at most
    `most_bytes`: 400 kB of gzip can be 400 MB.
    """

    connect_seconds: float = 10
    silence_seconds: float = 30
    total_seconds: float = 300
    most_bytes: int = 200_000_000


DEFAULT_LIMITS = Limits()


class DownloadError(DataError):
    """A failed download from `address`, with its `reason` and `remedy`.

    The reason contains no path of this machine.
    """

    def __init__(self, address: str, reason: str, remedy: str = REMEDY) -> None:
        super().__init__(f"{address}: {reason}; {remedy}")
        self.reason = reason


@contextmanager
def disk_errors(path: Path) -> Iterator[None]:
    """Turn an `OSError` of the block into a `DataError` that names `path`."""
    try:
        yield
    except OSError as error:
        raise DataError(
            f"{path}: {error.strerror or error}; check the path, the rights on its directory "
            "and the free space"
        ) from None


def set_aside(path: Path, folder: Path, name: str, digest: str) -> Path:
    """Move the wrong file `path` to `folder`/refused/`name`.<first 12 of `digest`>."""
    refused = folder / "refused" / f"{name}.{digest[:12]}"
    kept_private(refused.parent)
    return path.replace(refused)


def download(
    address: str, target: Path, expected_sha256: str, limits: Limits = DEFAULT_LIMITS
) -> None:
    """Download `address`, http or https, to `target`, which appears only whole and verified.

    A file with another SHA-256 than `expected_sha256` is moved to `refused/` beside the target. On
    a terminal a bar shows the progress. A `DownloadError` names address, reason and remedy, also
    beyond the `limits`; a full or unwritable disk is a `DataError`.
    """
    with disk_errors(target), written_whole(target, private=True) as temporary:
        with temporary.open("wb") as stream:
            _fetch(address, stream, limits, target.name)
        digest = sha256(temporary)
        if digest != expected_sha256:
            refused = set_aside(temporary, target.parent, target.name, digest)
            reason = f"the file has the sha256 {digest}, not {expected_sha256}"
            kept = f"it was refused and is kept as {refused} for inspection"
            raise DownloadError(address, reason, f"{kept}; {REMEDY}")


def _refuse_plain(answer: requests.Response, **_: Any) -> None:
    """Refuse a redirection from https to http, which others on the way can read and change."""
    if answer.is_redirect:
        answer.close()  # its text would be read to the end, whatever its size
        to = urljoin(answer.url, answer.headers["location"])
        if answer.url.startswith("https:") and urlsplit(to).scheme != "https":
            raise requests.RequestException(f"redirected from https to {to}, which is not followed")


def _fetch(address: str, stream: BinaryIO, limits: Limits, name: str) -> None:
    """Write the content of `address` into `stream`, in a thread that can be abandoned.

    The lookup of a host has no time-out, nor has a server that sends a byte now and then. An
    abandoned thread ends when it finds the stream closed.
    """
    faults: list[Exception] = []
    timeout = (limits.connect_seconds, limits.silence_seconds)
    # A published .gz is the file itself; anything else that comes encoded is decoded.
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
        except Exception as fault:  # every fault is the waiting thread's to report
            faults.append(fault)

    thread = threading.Thread(target=receive, daemon=True)
    deadline = time.monotonic() + limits.total_seconds
    with tqdm(desc=name, unit="B", unit_scale=True, disable=None) as bar:
        thread.start()
        while thread.is_alive() and time.monotonic() < deadline:
            thread.join(0.05)  # in slices, so that Ctrl-C is heard
    if thread.is_alive():
        faults.append(requests.Timeout(f"not done in {limits.total_seconds:g} s"))
    if not faults:
        return
    cause: BaseException = faults[0]
    if not isinstance(cause, requests.RequestException | HTTPError):
        raise cause  # the disk's
    while inner := cause.__cause__ or cause.__context__:
        cause = inner
    reason = str(getattr(cause, "strerror", None) or cause)
    if received := stream.tell():
        reason = f"cut off after {received:,} bytes: {reason}"
    raise DownloadError(address, reason)
