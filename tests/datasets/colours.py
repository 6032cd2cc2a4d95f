"""Two columns of colours: their manifest entry, their file, and a server that serves faults."""

import gzip
import hashlib
import ssl
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any

import yaml

from deniable.datasets.resolve import Limits

GOOD = b"".join(b"%d, red, yes\n%d, blue, no\n" % (n, n) for n in range(10_000))
OTHER = b"<html>log in to the hotel's network</html>\n"
PACKED = gzip.compress(GOOD)  # once, as its header has the time in seconds
GOOD_SHA, OTHER_SHA = (hashlib.sha256(data).hexdigest() for data in (GOOD, OTHER))
HALF = len(GOOD) // 2
QUICK = Limits(connect_seconds=0.6, silence_seconds=0.5, total_seconds=1.5)
PATIENT = Limits(connect_seconds=5, silence_seconds=5, total_seconds=20)

ENTRY: dict[str, Any] = {
    "title": "Colours",
    "citation": "Nobody (2026).",
    "file": "colours.data",
    "address": "http://127.0.0.1:9/colours.data",
    "sha256": GOOD_SHA,
    "records": 20_000,
    "delimiter": ",",
    "header": False,
    "surrogate": "surrogates/colours.json",
    "attributes": [
        {"name": "colour", "position": 1, "categories": ["red", "blue"]},
        {"name": "likes", "position": 2, "categories": ["no", "yes"], "scale": "ordinal"},
    ],
}

SECOND = {**ENTRY, "surrogate": "surrogates/numbers.json"} | {
    "attributes": [{"name": "number", "position": 0, "edges": [0, 5000], "open_above": True}]
}


class Server(ThreadingHTTPServer):
    """Serves faults by path; keeps what was asked."""

    daemon_threads = True

    def __init__(self, tls: ssl.SSLContext | None = None) -> None:
        super().__init__(("127.0.0.1", 0), Handler)
        self.scheme = "https" if tls else "http"
        if tls:
            self.socket = tls.wrap_socket(self.socket, server_side=True)
        self.asked: list[tuple[str, dict[str, str]]] = []
        self.over = threading.Event()

    def url(self, path: str) -> str:
        return f"{self.scheme}://127.0.0.1:{self.server_address[1]}/{path}"

    def handle_error(self, *_: Any) -> None:
        """Say nothing of clients that went away: the tests mean them to."""


class Handler(BaseHTTPRequestHandler):
    server: Server

    def log_message(self, *_: Any) -> None:
        pass

    def do_GET(self) -> None:
        self.server.asked.append((self.path, {k.lower(): v for k, v in self.headers.items()}))
        getattr(self, "serve_" + self.path.strip("/").partition(".")[0])()

    def head(self, status: int = 200, /, **headers: object) -> None:
        self.send_response(status)
        for name, value in headers.items():
            self.send_header(name.replace("_", "-"), str(value))
        self.end_headers()

    def whole(self, content: bytes, **headers: object) -> None:
        self.head(Content_Length=len(content), **headers)
        self.wfile.write(content)

    def serve_good(self) -> None:
        self.whole(GOOD)

    def serve_wrong(self) -> None:
        self.whole(OTHER)

    def serve_cut(self) -> None:
        self.head(Content_Length=len(GOOD))
        self.wfile.write(GOOD[:HALF])

    def serve_cutchunked(self) -> None:
        self.protocol_version = "HTTP/1.1"
        self.head(Transfer_Encoding="chunked")
        self.wfile.write(b"ffff\r\n" + GOOD[:1000])
        self.close_connection = True

    def serve_cutonce(self) -> None:
        """Cut the first answer off, then serve all of it."""
        if len(self.server.asked) == 1:
            self.serve_cut()
        else:
            self.serve_good()

    def serve_missing(self) -> None:
        self.head(404, Content_Length=0)

    def serve_broken(self) -> None:
        self.head(500, Content_Length=0)

    def serve_bomb(self) -> None:
        """Answer with 40 kB that become 40 MB."""
        self.whole(gzip.compress(bytes(40_000_000)), Content_Encoding="gzip")

    def serve_down(self) -> None:
        """Lead to where nothing is encrypted."""
        port = self.server.server_address[1]
        self.head(302, Location=f"http://127.0.0.1:{port}/good.data", Content_Length=0)

    def serve_moved(self) -> None:
        self.head(302, Location=self.server.url("good.data"), Content_Length=0)

    def serve_movedslowly(self) -> None:
        self.head(302, Location=self.server.url("good.data"), Content_Length=10**9)
        self.server.over.wait(10)

    def serve_circle(self) -> None:
        self.head(302, Location=self.server.url("circle.data"), Content_Length=0)

    def serve_silent(self) -> None:
        self.server.over.wait(10)

    def serve_hangup(self) -> None:
        pass

    def serve_stops(self) -> None:
        self.head(Content_Length=len(GOOD))
        self.wfile.write(GOOD[:HALF])
        self.wfile.flush()
        self.server.over.wait(10)

    def serve_drip(self) -> None:
        self.head(Content_Length=len(GOOD))
        for position in range(1000):
            self.wfile.write(GOOD[position : position + 1])
            self.wfile.flush()
            if self.server.over.wait(0.05):
                break

    def serve_dripheaders(self) -> None:
        self.wfile.write(b"HTTP/1.0 200 OK\r\n")
        for number in range(1000):
            self.wfile.write(b"X-%d: slow\r\n" % number)
            self.wfile.flush()
            if self.server.over.wait(0.05):
                break

    def serve_gzip(self) -> None:
        self.whole(PACKED, Content_Encoding="gzip")

    def serve_gzipcut(self) -> None:
        self.head(Content_Length=len(PACKED), Content_Encoding="gzip")
        self.wfile.write(PACKED[: len(PACKED) // 2])

    def serve_gzipbroken(self) -> None:
        self.whole(b"this is no gzip" * 100, Content_Encoding="gzip")

    def serve_polite(self) -> None:
        """Compress unless identity is asked for, as many a server does."""
        if self.headers.get("Accept-Encoding") == "identity":
            self.whole(GOOD)
        else:
            self.serve_gzip()


@contextmanager
def serving(tls: ssl.SSLContext | None = None) -> Iterator[Server]:
    """Run a server, and stop it."""
    with Server(tls) as running:
        threading.Thread(target=running.serve_forever, args=(0.01,), daemon=True).start()
        yield running
        running.over.set()
        running.shutdown()


def left_over(target: Path) -> set[str]:
    """Return what lies in the target's folder, the target itself included."""
    folder = target.parent
    return {str(p.relative_to(folder)) for p in folder.rglob("*") if p.is_file()}


def write_manifest(folder: Path, entries: Any) -> Path:
    path = folder / "datasets.yaml"
    path.write_text(entries if isinstance(entries, str) else yaml.safe_dump(entries))
    return path


def changed(**changes: Any) -> dict[str, Any]:
    """Return the entry with keys replaced, or left out where the new value is ...."""
    entry = {**ENTRY, **changes}
    return {"colours": {k: v for k, v in entry.items() if v is not ...}}


def one_attribute(**changes: Any) -> dict[str, Any]:
    given = {**ENTRY["attributes"][1], **changes}
    second = {k: v for k, v in given.items() if v is not ...}
    return changed(attributes=[ENTRY["attributes"][0], second])


def with_numbers(**changes: Any) -> dict[str, Any]:
    """Return the entry with the first column as numbers, its keys replaced or left out."""
    given = {"name": "number", "position": 0, "edges": [0, 100, 5000], "open_above": True}
    number = {k: v for k, v in {**given, **changes}.items() if v is not ...}
    return changed(attributes=[ENTRY["attributes"][0], number])
