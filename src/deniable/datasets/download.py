"""Downloads that are whole, verified or absent, and that no server can stall."""

import contextlib
import fcntl
import http.client
import os
import queue
import re
import socket
import ssl
import sys
import threading
import time
from collections.abc import Callable, Generator, Iterator, Mapping
from contextlib import closing, contextmanager, suppress
from dataclasses import dataclass
from pathlib import Path
from typing import Any, BinaryIO

import requests
import urllib3
from requests.adapters import HTTPAdapter
from tqdm import tqdm

from deniable.errors import DataError
from deniable.files import read_json, sha256, write_json

CHUNK_BYTES = 1 << 16
BY_HAND = "put the file into a directory and set DENIABLE_DATA_MIRROR to it"
REMEDY = f"{BY_HAND}, or set data.source: surrogate"

Event = tuple[str, Any]
Emit = Callable[[str, Any], None]


@dataclass(frozen=True)
class Limits:
    """How long a download may take.

    Parameters
    ----------
    connect_seconds : float
        For finding the host and connecting to it, all its addresses and redirects together.
    silence_seconds : float
        Without a byte from the server.
    total_seconds : float
        For the whole try, so that a server that drips cannot stall a run.
    """

    connect_seconds: float = 10
    silence_seconds: float = 30
    total_seconds: float = 300


DEFAULT_LIMITS = Limits()


class DownloadError(DataError):
    """A download that failed; `reason` is what happened, free of this machine's paths."""

    def __init__(self, message: str, reason: str = "") -> None:
        super().__init__(message)
        self.reason = reason


class _FaultError(Exception):
    """What went wrong in a transfer, before it is known what of the file was kept."""


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

    What an interrupted transfer leaves is `<target>.part`, with `<target>.part.json` saying what
    it is a part of; the next try asks the server for the rest.

    Parameters
    ----------
    address : str
        http or https.
    target : path
    expected_sha256 : str
        A file with another SHA-256 is moved to `refused/` beside `target`.
    limits : Limits, optional
    progress : bool, optional
        Show a bar on stderr; by default if that is a terminal.

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
        with _sole_writer(part, address, limits) as stream:
            if target.is_file() and sha256(target) == expected_sha256:
                stream.truncate(0)  # another run was faster
                return
            transfer = _Transfer(address, part, expected_sha256, stream, limits, shown)
            digest = sha256(part) if transfer.resumable_bytes() else ""
            if digest not in ("", expected_sha256):
                transfer.run(resume=True)
                digest = sha256(part)
            # Nothing to resume, a server that cannot, or a part that did not fit the rest.
            if digest != expected_sha256 and not transfer.from_zero:
                transfer.run(resume=False)
                digest = sha256(part)
            if digest == expected_sha256:
                part.replace(target)
                return
            refused = set_aside(part, target.parent, target.name, digest)
            reason = f"the file has the sha256 {digest}, not {expected_sha256}"
            raise DownloadError(
                f"{address}: {reason}; it was refused and is kept as {refused} for inspection; "
                f"{REMEDY}",
                reason,
            )


@contextmanager
def _sole_writer(part: Path, address: str, limits: Limits) -> Iterator[BinaryIO]:
    """Open `part` for appending, alone: two runs at once must not mix their bytes."""
    patience = time.monotonic() + limits.total_seconds
    while True:
        stream = part.open("a+b")
        try:
            fcntl.flock(stream, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            stream.close()
            if time.monotonic() > patience:
                reason = "another run has been downloading it for too long"
                raise DownloadError(
                    f"{address}: {reason} (it holds {part}); end that run, or {REMEDY}", reason
                ) from None
            time.sleep(0.1)
            continue
        except OSError:  # a file system without locks: the final hash still guards the target
            break
        if part.exists() and os.path.samestat(os.fstat(stream.fileno()), part.stat()):
            break
        stream.close()  # the run that held it has renamed it meanwhile
    try:
        yield stream
    finally:
        with suppress(OSError):
            stream.close()  # flushes: may fail on a full disk, which was reported before
        with suppress(OSError):
            if not part.exists() or part.stat().st_size == 0:
                part.unlink(missing_ok=True)
                _note_of(part).unlink(missing_ok=True)


def _note_of(part: Path) -> Path:
    return part.with_name(f"{part.name}.json")


@dataclass
class _Transfer:
    """One file on its way into its part."""

    address: str
    part: Path
    expected_sha256: str
    stream: BinaryIO
    limits: Limits
    shown: bool
    from_zero: bool = False  # whether the last run brought the file from its first byte

    def resumable_bytes(self) -> int:
        """Return how much of this very file the part holds."""
        note = self._note()
        ours = (note.get("address"), note.get("sha256")) == (self.address, self.expected_sha256)
        return self.part.stat().st_size if ours else 0

    def _note(self) -> dict[str, Any]:
        try:
            note = read_json(_note_of(self.part))
        except (OSError, ValueError):
            return {}
        return note if isinstance(note, dict) else {}

    def run(self, *, resume: bool) -> None:
        """Receive the file, or the rest of it if the server can continue the part."""
        offset = self.resumable_bytes() if resume else 0
        headers = {"Accept-Encoding": "identity"}
        if offset:
            headers["Range"] = f"bytes={offset}-"
            if validator := self._note().get("validator"):
                headers["If-Range"] = validator
        progress, encoded = "", False
        try:
            with closing(_receive(self.address, headers, self.limits)) as events:
                _, response = next(events)
                received = _first_byte(response, offset)
                if received is None:
                    return
                self.from_zero = received == 0
                if self.from_zero:
                    self._begin(response)
                encoded = response.headers.get("Content-Encoding", "identity") != "identity"
                length = response.headers.get("Content-Length", "")
                expected = received + int(length) if length.isdecimal() and not encoded else None
                with tqdm(
                    total=expected,
                    initial=received,
                    desc=self.part.stem,
                    unit="B",
                    unit_scale=True,
                    disable=not self.shown,
                ) as bar:
                    progress = f" (after {received:,} bytes)"
                    for _, chunk in events:
                        self.stream.write(chunk)
                        bar.update(len(chunk))
                        received += len(chunk)
                        of_all = "" if expected is None else f" of {expected:,}"
                        progress = f" (after {received:,}{of_all} bytes)"
        except _FaultError as fault:
            reason = f"{fault}{progress}"
            kept = self._kept(encoded)
            raise DownloadError(f"{self.address}: {reason}; {kept}{REMEDY}", reason) from None
        finally:
            self.stream.flush()

    def _begin(self, response: requests.Response) -> None:
        self.stream.truncate(0)
        etag = response.headers.get("ETag", "")
        strong = "" if etag.startswith("W/") else etag  # RFC 9110: no weak tag in If-Range
        note = {
            "address": self.address,
            "sha256": self.expected_sha256,
            "validator": strong or response.headers.get("Last-Modified", ""),
        }
        write_json(_note_of(self.part), note)

    def _kept(self, encoded: bool) -> str:
        self.stream.flush()
        if encoded:  # offsets into the decoded bytes mean nothing to the server
            self.stream.truncate(0)
        kept = self.resumable_bytes()
        if not kept:
            return ""
        return (
            f"{kept:,} bytes are kept in {self.part} and the next try resumes there if the server "
            "can; or "
        )


def _first_byte(response: requests.Response, offset: int) -> int | None:
    """Return where the answer's bytes begin; None if they cannot continue the part."""
    status = response.status_code
    if status == http.HTTPStatus.OK:
        return 0
    if offset and status == http.HTTPStatus.REQUESTED_RANGE_NOT_SATISFIABLE:
        return None
    if offset and status == http.HTTPStatus.PARTIAL_CONTENT:
        found = re.match(r"bytes (\d+)-", response.headers.get("Content-Range", ""))
        return offset if found and int(found[1]) == offset else None
    phrase = http.client.responses.get(status, "")
    raise _FaultError(f"the server answers {status} {phrase}".rstrip())


def _receive(
    address: str, headers: Mapping[str, str], limits: Limits
) -> Generator[Event, None, None]:
    """Yield ("response", it) and then ("bytes", chunk) ...; raise `_FaultError` on any fault.

    The transfer runs in a daemon thread and this one watches the clock: looking up a host has no
    time-out of its own, nor has a server that sends a byte now and then.
    """
    events: queue.Queue[Event] = queue.Queue(maxsize=16)
    stop = threading.Event()
    arguments = (address, headers, limits, events, stop)
    threading.Thread(target=_fetch, args=arguments, daemon=True).start()
    try:
        yield from _watched(events, limits)
    finally:
        stop.set()


def _watched(events: queue.Queue[Event], limits: Limits) -> Iterator[Event]:
    started = last = time.monotonic()
    connecting: float | None = started
    connect_left = limits.connect_seconds
    answered = False
    while True:
        phase_ends = last + limits.silence_seconds
        if connecting is not None:
            phase_ends = connecting + connect_left
        total_ends = started + limits.total_seconds
        kind, value = _next_event(events, min(phase_ends, total_ends))
        last = time.monotonic()
        if last >= total_ends or (kind == "timeout" and total_ends <= phase_ends):
            raise _FaultError(f"the server is too slow: not done in {limits.total_seconds:g} s")
        if kind == "connecting":
            connecting = last if connecting is None else connecting
        elif kind == "connected":
            if connecting is not None:
                connect_left -= last - connecting
            connecting = None
        elif kind == "timeout" or (kind == "error" and _timed_out(value)):
            if connecting is not None:
                raise _FaultError(f"no connection within {limits.connect_seconds:g} s")
            raise _FaultError(f"the server is silent: no byte for {limits.silence_seconds:g} s")
        elif kind == "error":
            raise _FaultError(_in_words(value, connecting is not None, answered))
        elif kind == "end":
            return
        else:
            answered = True
            yield kind, value


def _next_event(events: queue.Queue[Event], deadline: float) -> Event:
    # In slices: a Ctrl-C that the system hands to another thread does not end a wait in this one.
    while (left := deadline - time.monotonic()) > 0:
        with contextlib.suppress(queue.Empty):
            return events.get(timeout=min(left, 0.5))
    try:
        return events.get_nowait()
    except queue.Empty:
        return "timeout", None


def _fetch(
    address: str,
    headers: Mapping[str, str],
    limits: Limits,
    events: queue.Queue[Event],
    stop: threading.Event,
) -> None:
    def emit(kind: str, value: Any = None) -> None:
        while not stop.is_set():
            with suppress(queue.Full):
                events.put((kind, value), timeout=0.2)
                return

    # A published .gz is the file itself; anything else that comes encoded is decoded.
    decode = not address.endswith(".gz")
    try:
        with requests.Session() as session:
            for scheme in ("http://", "https://"):
                session.mount(scheme, _AnnouncingAdapter(emit))
            # Half for each address and try: a dead IPv6 route leaves time for IPv4.
            timeout = (limits.connect_seconds / 2, limits.silence_seconds)
            with session.get(address, headers=headers, stream=True, timeout=timeout) as response:
                emit("response", response)
                # read1 hands over what is there; read would sit on a dripping server's bytes.
                while not stop.is_set() and (
                    chunk := response.raw.read1(CHUNK_BYTES, decode_content=decode)
                ):
                    emit("bytes", chunk)
        emit("end")
    except Exception as error:  # every fault is the watching thread's to report
        emit("error", error)


class _AnnouncingAdapter(HTTPAdapter):
    """Says when connecting begins and ends, which decides how long the watcher waits."""

    def __init__(self, emit: Emit) -> None:
        self.emit = emit
        # One more try at connecting; what is left out here urllib3 would repeat for ever.
        once_more = urllib3.Retry(
            total=None, connect=1, read=False, redirect=False, status=0, other=0
        )
        super().__init__(max_retries=once_more)

    def get_connection_with_tls_context(self, *args: Any, **kwargs: Any) -> Any:
        pool: Any = super().get_connection_with_tls_context(*args, **kwargs)
        emit, base = self.emit, type(pool).ConnectionCls

        class Announcing(base):  # type: ignore[misc, valid-type]
            def connect(self) -> None:
                emit("connecting", None)
                super().connect()
                emit("connected", None)

        pool.ConnectionCls = Announcing
        return pool


def _causes(error: BaseException) -> list[BaseException]:
    """Return the error and what led to it, innermost first."""
    chain = [error]
    while cause := chain[-1].__cause__ or chain[-1].__context__:
        chain.append(cause)
    return chain[::-1]


def _timed_out(error: BaseException) -> bool:
    # Not urllib3's TimeoutError: a refused connection is one too.
    return any(isinstance(cause, TimeoutError) for cause in _causes(error))


def _in_words(error: BaseException, connecting: bool, answered: bool) -> str:
    """Say what an exception of requests means, by the innermost cause that tells."""
    words = "the transfer was cut off" if answered else ""
    for cause in _causes(error):
        if isinstance(cause, socket.gaierror):
            words = f"no such host, or no network ({cause.strerror})"
        elif isinstance(cause, ConnectionRefusedError):
            words = "the connection is refused, the server is down"
        elif isinstance(cause, ssl.SSLError):
            why = getattr(cause, "verify_message", "") or cause.reason or "TLS failed"
            words = f"no secure connection ({why})"
        elif isinstance(cause, urllib3.exceptions.DecodeError):
            words = "the server's content encoding is broken"
        elif isinstance(cause, requests.TooManyRedirects):
            words = "the server redirects in circles"
        elif connecting and isinstance(cause, OSError) and cause.strerror:
            words = f"no connection ({cause.strerror})"
        else:
            continue
        break
    if not words and isinstance(error, requests.ConnectionError):
        words = "the server closed the connection without an answer"
    # What is left is of the address: an invalid URL, an unknown scheme.
    return words or f"the address cannot be used ({str(error).partition(chr(10))[0]})"
