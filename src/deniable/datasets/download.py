"""Downloads that are whole, verified or absent, and that no server can stall."""

import fcntl
import http.client
import os
import socket
import ssl
import sys
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from pathlib import Path

import requests
from tqdm import tqdm
from urllib3.exceptions import DecodeError, HTTPError, ReadTimeoutError

from deniable.errors import DataError
from deniable.files import sha256

CHUNK_BYTES = 1 << 14
BY_HAND = "put the file into a directory and set DENIABLE_DATA_MIRROR to it"
REMEDY = f"{BY_HAND}, or set data.source: surrogate"


@dataclass(frozen=True)
class Limits:
    """How long a download may take."""

    connect_seconds: float = 10  # for connecting to an address of the host
    silence_seconds: float = 30  # without a byte; an answer may take that and the time to connect
    total_seconds: float = 300  # for the whole try, so that a server that drips cannot stall a run


DEFAULT_LIMITS = Limits()


class DownloadError(DataError):
    """A download that failed; `reason` is what happened, free of this machine's paths."""

    def __init__(self, message: str, reason: str = "") -> None:
        super().__init__(message)
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
    """Move a wrong file aside for inspection: to `folder`/refused/`name`.<first 12 of `digest`>."""
    refused = folder / "refused" / f"{name}.{digest[:12]}"
    refused.parent.mkdir(parents=True, exist_ok=True)
    return path.replace(refused)


def download(
    address: str,
    target: Path,
    expected_sha256: str,
    limits: Limits = DEFAULT_LIMITS,
    progress: bool | None = None,
) -> None:
    """Fetch `address` into `target`, which appears only whole and verified.

    Until then it is `<target>.part`, which goes if the transfer fails; the next try starts anew. A
    file with another SHA-256 is moved to `refused/` beside `target`. Progress is shown as a bar on
    stderr, by default if that is a terminal.

    Raises
    ------
    DownloadError
        One line with the address, what happened and the remedy.
    DataError
        If the disk is full or cannot be written.
    """
    shown = sys.stderr.isatty() if progress is None else progress
    part = target.with_name(f"{target.name}.part")
    with disk_errors(target):
        target.parent.mkdir(parents=True, exist_ok=True)
        with _alone_in(target.parent):
            if target.is_file() and sha256(target) == expected_sha256:
                return  # another run was faster
            try:
                _Transfer(address, part, limits).watched(shown)
                digest = sha256(part)
                if digest == expected_sha256:
                    part.replace(target)
                    return
                refused = set_aside(part, target.parent, target.name, digest)
            finally:
                part.unlink(missing_ok=True)
    reason = f"the file has the sha256 {digest}, not {expected_sha256}"
    raise DownloadError(
        f"{address}: {reason}; it was refused and is kept as {refused} for inspection; {REMEDY}",
        reason,
    )


@contextmanager
def _alone_in(folder: Path) -> Iterator[None]:
    """Wait until no other run downloads into a folder: two must not mix their bytes."""
    handle = os.open(folder, os.O_RDONLY)
    try:
        with suppress(OSError):  # a file system without locks: the hash still guards the target
            fcntl.flock(handle, fcntl.LOCK_EX)
        yield
    finally:
        os.close(handle)


class _Transfer:
    """One file on its way, in a thread of its own, with another that watches the clock.

    Looking up a host has no time-out, nor has a server that sends a byte now and then.
    """

    def __init__(self, address: str, part: Path, limits: Limits) -> None:
        self.address, self.part, self.limits = address, part, limits
        self.answered = self.given_up = False
        self.received, self.expected = 0, 0
        self.fault: Exception | None = None

    def watched(self, shown: bool) -> None:
        """Receive the file; raise `DownloadError` on any fault but the disk's."""
        thread = threading.Thread(target=self._run, daemon=True)
        begun = time.monotonic()
        thread.start()
        try:
            with tqdm(desc=self.part.stem, unit="B", unit_scale=True, disable=not shown) as bar:
                running = True
                while running:
                    thread.join(0.05)  # in slices, so that Ctrl-C is heard
                    running = thread.is_alive()
                    bar.total, bar.n = self.expected or None, self.received
                    bar.refresh()
                    if running:
                        self._refuse_late(time.monotonic() - begun)
        finally:
            self.given_up = True
        if isinstance(self.fault, requests.RequestException | HTTPError):
            raise self._error(self._in_words(self.fault))
        if self.fault is not None:
            raise self.fault

    def _refuse_late(self, seconds: float) -> None:
        answer = self.limits.connect_seconds + self.limits.silence_seconds
        if seconds >= self.limits.total_seconds:
            raise self._error(
                f"the server is too slow: not done in {self.limits.total_seconds:g} s"
            )
        if seconds >= answer and not self.answered:
            raise self._error(f"no answer within {answer:g} s")

    def _error(self, reason: str) -> DownloadError:
        if self.answered:
            of_all = f" of {self.expected:,}" if self.expected else ""
            reason += f" (after {self.received:,}{of_all} bytes)"
        return DownloadError(f"{self.address}: {reason}; {REMEDY}", reason)

    def _run(self) -> None:
        try:
            self._receive()
        except Exception as fault:  # every fault is the watching thread's to report
            self.fault = fault

    def _receive(self) -> None:
        timeout = (self.limits.connect_seconds, self.limits.silence_seconds)
        headers = {"Accept-Encoding": "identity"}
        with (
            requests.get(self.address, headers=headers, stream=True, timeout=timeout) as response,
            self.part.open("wb") as stream,
        ):
            status = response.status_code
            if status != http.HTTPStatus.OK:
                phrase = http.client.responses.get(status, "")
                raise requests.HTTPError(f"the server answers {status} {phrase}".rstrip())
            self.answered = True
            length = response.headers.get("Content-Length", "")
            if length.isdecimal() and "Content-Encoding" not in response.headers:
                self.expected = int(length)
            # A published .gz is the file itself; anything else that comes encoded is decoded.
            decode = not self.address.endswith(".gz")
            for chunk in response.raw.stream(CHUNK_BYTES, decode_content=decode):
                if self.given_up:
                    return
                stream.write(chunk)
                self.received += len(chunk)

    def _in_words(self, error: Exception) -> str:
        """Say what an exception of requests means, by the innermost cause that tells."""
        for cause in _causes(error):
            match cause:
                case requests.HTTPError():
                    return str(cause)
                case requests.ConnectTimeout():
                    return f"no connection within {self.limits.connect_seconds:g} s"
                case requests.ReadTimeout() | ReadTimeoutError():
                    return f"the server is silent: no byte for {self.limits.silence_seconds:g} s"
                case requests.TooManyRedirects():
                    return "the server redirects in circles"
                case DecodeError():
                    return "the server's content encoding is broken"
                case socket.gaierror():
                    return f"no such host, or no network ({cause.strerror})"
                case ConnectionRefusedError():
                    return "the connection is refused, the server is down"
                case ssl.SSLError():
                    why = getattr(cause, "verify_message", "") or cause.reason or "TLS failed"
                    return f"no secure connection ({why})"
                case OSError() if cause.strerror and not self.answered:
                    return f"no connection ({cause.strerror})"
        if self.answered:
            return "the transfer was cut off"
        if isinstance(error, requests.ConnectionError):
            return "the server closed the connection without an answer"
        # What is left is of the address: an invalid URL, an unknown scheme.
        return f"the address cannot be used ({str(error).partition(chr(10))[0]})"


def _causes(error: BaseException) -> list[BaseException]:
    """Return the error and what led to it, innermost first."""
    chain = [error]
    while cause := chain[-1].__cause__ or chain[-1].__context__:
        chain.append(cause)
    return chain[::-1]
