"""Downloads: every fault gives one clear line and no half file."""

import hashlib
import os
import resource
import signal
import socket
import ssl
import subprocess
import sys
import threading
import time
from collections.abc import Iterator
from dataclasses import replace
from datetime import UTC, datetime, timedelta
from ipaddress import ip_address
from itertools import repeat
from pathlib import Path
from typing import Any

import pytest
from cryptography import x509
from cryptography.hazmat.primitives import hashes
from cryptography.hazmat.primitives.asymmetric import ec
from cryptography.hazmat.primitives.serialization import Encoding, NoEncryption, PrivateFormat
from tests.datasets.colours import (
    GOOD,
    GOOD_SHA,
    HALF,
    OTHER,
    OTHER_SHA,
    PACKED,
    PATIENT,
    QUICK,
    Server,
    left_over,
    serving,
)

from deniable.datasets.resolve import DownloadError, Limits, download
from deniable.errors import DataError


def failing(
    address: str, target: Path, limits: Limits = PATIENT, left: set[str] | None = None
) -> str:
    """Download in vain: one line with address and remedy, no target, only `left` in the folder."""
    with pytest.raises(DownloadError) as caught:
        download(address, target, GOOD_SHA, limits)
    message = str(caught.value)
    assert "\n" not in message
    assert message.startswith(f"{address}: ")
    assert "DENIABLE_DATA_MIRROR" in message
    assert "data.source: surrogate" in message
    assert caught.value.reason in message
    assert str(target.parent) not in caught.value.reason
    assert left_over(target) == (left or set())
    return message


# ---- download -------------------------------------------------------------------------------


@pytest.mark.parametrize("path", ["good.data", "moved.data", "gzip.data", "polite.data"])
def test_download_good(server: Server, target: Path, path: str) -> None:
    download(server.url(path), target, GOOD_SHA, PATIENT)
    assert target.read_bytes() == GOOD
    assert left_over(target) == {target.name}
    assert server.asked[-1][1]["accept-encoding"] == "identity"


def test_published_gzip_file_stays_packed(server: Server, target: Path) -> None:
    download(server.url("gzip.gz"), target, hashlib.sha256(PACKED).hexdigest(), PATIENT)
    assert target.read_bytes() == PACKED


def test_bar_only_on_a_terminal(
    server: Server,
    target: Path,
    capsys: pytest.CaptureFixture[str],
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    download(server.url("good.data"), target, GOOD_SHA, PATIENT)
    assert capsys.readouterr().err == ""
    target.unlink()
    monkeypatch.setattr(sys.stderr, "isatty", lambda: True)
    download(server.url("good.data"), target, GOOD_SHA, PATIENT)
    seen = capsys.readouterr()
    assert "colours.data" in seen.err
    assert "100%" in seen.err
    assert seen.out == ""


def test_wrong_hash_is_refused_and_kept(server: Server, target: Path) -> None:
    refused = f"refused/colours.data.{OTHER_SHA[:12]}"
    message = failing(server.url("wrong.data"), target, left={refused})
    assert GOOD_SHA in message
    assert OTHER_SHA in message
    assert str(target.parent / refused) in message
    assert (target.parent / refused).read_bytes() == OTHER


@pytest.mark.parametrize(
    ("path", "words"),
    [
        ("missing.data", "the server answers 404 Not Found"),
        ("broken.data", "the server answers 500 Internal Server Error"),
        ("circle.data", "Exceeded 30 redirects"),
        ("hangup.data", "closed connection without response"),
    ],
)
def test_bad_answers(server: Server, target: Path, path: str, words: str) -> None:
    assert words in failing(server.url(path), target)


@pytest.mark.parametrize(
    ("path", "words"),
    [
        ("silent.data", ": timed out"),
        ("dripheaders.data", ": not done in 1.5 s"),
        ("stops.data", "bytes: timed out"),
        ("drip.data", ": not done in 1.5 s"),
    ],
)
def test_slow_servers_do_not_stall(server: Server, target: Path, path: str, words: str) -> None:
    begun = time.monotonic()
    assert words in failing(server.url(path), target, QUICK)
    assert time.monotonic() - begun < 5


def test_nothing_listens(target: Path) -> None:
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        address = f"http://127.0.0.1:{free.getsockname()[1]}/colours.data"
        assert "refused" in failing(address, target)


def test_no_such_host(target: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def unknown(*_: Any, **__: Any) -> Any:
        raise socket.gaierror(socket.EAI_NONAME, "Name or service not known")

    monkeypatch.setattr(socket, "getaddrinfo", unknown)
    message = failing("http://no.such.host.invalid/colours.data", target)
    assert ": Name or service not known" in message


def test_no_tls(target: Path) -> None:
    def answer_in_plain_text(listening: socket.socket) -> None:
        for _ in range(2):
            connection, _ = listening.accept()
            connection.recv(1 << 16)
            connection.sendall(b"HTTP/1.0 400 Bad Request\r\n\r\n")
            connection.close()

    with socket.create_server(("127.0.0.1", 0)) as listening:
        threading.Thread(target=answer_in_plain_text, args=(listening,), daemon=True).start()
        address = f"https://127.0.0.1:{listening.getsockname()[1]}/colours.data"
        assert "wrong version number" in failing(address, target)


def test_no_address(target: Path) -> None:
    assert "Failed to parse" in failing("http://[::1/colours.data", target)


def test_look_up_of_host_that_hangs(target: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    done = threading.Event()
    monkeypatch.setattr(socket, "getaddrinfo", lambda *_, **__: done.wait(20))
    begun = time.monotonic()
    message = failing("http://hanging.invalid/colours.data", target, QUICK)
    assert time.monotonic() - begun < 3
    assert "not done in 1.5 s" in message
    done.set()


@pytest.mark.skipif(sys.platform != "linux", reason="a full backlog refuses elsewhere")
def test_connecting_that_hangs(target: Path) -> None:
    with socket.socket() as deaf:
        deaf.bind(("127.0.0.1", 0))
        deaf.listen(0)
        callers = [socket.socket() for _ in range(4)]
        for caller in callers:
            caller.setblocking(False)
            caller.connect_ex(deaf.getsockname())
        begun = time.monotonic()
        address = f"http://127.0.0.1:{deaf.getsockname()[1]}/colours.data"
        assert ": timed out" in failing(address, target, QUICK)
        assert time.monotonic() - begun < 3
        for caller in callers:
            caller.close()


def test_a_dead_first_address_leaves_time_for_the_second(
    server: Server, target: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    port = server.server_address[1]
    with socket.socket() as deaf:
        deaf.bind(("127.0.0.1", 0))
        deaf.listen(0)
        callers = [socket.socket() for _ in range(4)]
        for caller in callers:
            caller.setblocking(False)
            caller.connect_ex(deaf.getsockname())
        both = [
            (socket.AF_INET, socket.SOCK_STREAM, 6, "", ("127.0.0.1", p))
            for p in (deaf.getsockname()[1], port)
        ]
        monkeypatch.setattr(socket, "getaddrinfo", lambda *_, **__: both)
        download(f"http://two.invalid:{port}/good.data", target, GOOD_SHA, Limits(1, 5, 10))
        for caller in callers:
            caller.close()
    assert target.read_bytes() == GOOD


# ---- size -----------------------------------------------------------------------------------


@pytest.mark.parametrize("path", ["bomb.data", "good.data"])
def test_what_is_too_large_is_given_up(server: Server, target: Path, path: str) -> None:
    limits = replace(PATIENT, most_bytes=len(GOOD) - 1)
    message = failing(server.url(path), target, limits)
    assert (
        f"larger than {len(GOOD) - 1:,} bytes, the limit `bytes` in the manifest or the default"
        in message
    )


@pytest.mark.parametrize("path", ["good.data", "gzip.data"])
def test_a_file_may_be_as_large_as_is_stated(server: Server, target: Path, path: str) -> None:
    download(server.url(path), target, GOOD_SHA, replace(PATIENT, most_bytes=len(GOOD)))
    assert target.read_bytes() == GOOD


def test_without_a_stated_size_there_is_a_limit_too(
    server: Server, target: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    class Endless:
        status_code, length_remaining = 200, None

        def __init__(self) -> None:
            self.raw = self

        def __enter__(self) -> "Endless":
            return self

        def __exit__(self, *_: object) -> None:
            pass

        def stream(self, *_: object, **__: object) -> Iterator[bytes]:
            yield from repeat(bytes(50_000_000), 5)

    monkeypatch.setattr("deniable.datasets.resolve.requests.get", lambda *_, **__: Endless())
    assert "larger than 200,000,000 bytes" in failing(server.url("good.data"), target)


def test_what_a_redirect_says_besides_is_not_read(server: Server, target: Path) -> None:
    download(server.url("movedslowly.data"), target, GOOD_SHA, QUICK)
    assert target.read_bytes() == GOOD


# ---- TLS ------------------------------------------------------------------------------------


def certificate(folder: Path, host: str) -> Path:
    """Write the key of a server, and the certificate that it signed itself, into one file."""
    key = ec.generate_private_key(ec.SECP256R1())
    name = x509.Name([x509.NameAttribute(x509.NameOID.COMMON_NAME, host)])
    now = datetime.now(UTC)
    builder = (
        x509.CertificateBuilder(name, name, key.public_key(), x509.random_serial_number())
        .not_valid_before(now - timedelta(days=1))
        .not_valid_after(now + timedelta(days=1))
        .add_extension(x509.SubjectAlternativeName([x509.IPAddress(ip_address(host))]), False)
        .add_extension(x509.BasicConstraints(ca=True, path_length=None), True)
    )
    signed = builder.sign(key, hashes.SHA256()).public_bytes(Encoding.PEM)
    plain = Encoding.PEM, PrivateFormat.PKCS8, NoEncryption()
    file = folder / f"{host}.pem"
    file.write_bytes(key.private_bytes(*plain) + signed)
    return file


@pytest.fixture(params=["127.0.0.1"])
def secret_server(
    request: pytest.FixtureRequest, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> Iterator[tuple[Server, Path]]:
    """Run a server whose certificate names a host, and is signed by nobody else."""
    for variable in ("REQUESTS_CA_BUNDLE", "CURL_CA_BUNDLE"):
        monkeypatch.delenv(variable, raising=False)
    monkeypatch.setenv("NO_PROXY", "127.0.0.1")
    file = certificate(tmp_path, request.param)
    tls = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    tls.load_cert_chain(file)
    with serving(tls) as running:
        yield running, file


def test_a_certificate_that_nobody_vouches_for_is_refused(
    secret_server: tuple[Server, Path], target: Path
) -> None:
    server, _ = secret_server
    message = failing(server.url("good.data"), target)
    assert "certificate verify failed" in message
    assert server.asked == []


@pytest.mark.parametrize("secret_server", ["127.0.0.2"], indirect=True)
def test_a_certificate_of_another_host_is_refused(
    secret_server: tuple[Server, Path], target: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    server, file = secret_server
    monkeypatch.setenv("REQUESTS_CA_BUNDLE", str(file))
    assert "IP address mismatch" in failing(server.url("good.data"), target)
    assert server.asked == []


def test_over_tls(
    secret_server: tuple[Server, Path], target: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    server, file = secret_server
    monkeypatch.setenv("REQUESTS_CA_BUNDLE", str(file))
    download(server.url("moved.data"), target, GOOD_SHA, PATIENT)
    assert target.read_bytes() == GOOD


def test_nobody_is_led_away_from_tls(
    secret_server: tuple[Server, Path], target: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    server, file = secret_server
    monkeypatch.setenv("REQUESTS_CA_BUNDLE", str(file))
    message = failing(server.url("down.data"), target)
    assert ": redirected from https to http://127.0.0.1:" in message
    assert "which is not followed" in message
    assert len(server.asked) == 1


# ---- interrupted transfers ------------------------------------------------------------------


@pytest.mark.parametrize(
    ("path", "words"),
    [
        ("cut.data", f"({HALF} bytes read, {len(GOOD) - HALF} more expected)"),
        ("cutchunked.data", "(1000 bytes read"),
        ("gzipcut.data", "bytes: IncompleteRead("),
    ],
)
def test_cut_off_leaves_nothing(server: Server, target: Path, path: str, words: str) -> None:
    assert words in failing(server.url(path), target)


def test_restarts_after_a_cut(server: Server, target: Path) -> None:
    failing(server.url("cutonce.data"), target)
    download(server.url("cutonce.data"), target, GOOD_SHA, PATIENT)
    assert target.read_bytes() == GOOD
    assert left_over(target) == {target.name}
    assert all("range" not in headers for _, headers in server.asked)


def test_broken_gzip(server: Server, target: Path) -> None:
    assert "while decompressing data" in failing(server.url("gzipbroken.data"), target)


def wait_for_bytes(target: Path) -> None:
    deadline = time.monotonic() + 20
    while not (target.parent.exists() and left_over(target)):
        assert time.monotonic() < deadline
        time.sleep(0.02)


def test_ctrl_c_leaves_no_target(server: Server, target: Path) -> None:
    def press() -> None:
        wait_for_bytes(target)
        os.kill(os.getpid(), signal.SIGINT)

    # A shell starts what it runs in the background with SIGINT ignored; here it must be heard.
    before = signal.signal(signal.SIGINT, signal.default_int_handler)
    try:
        threading.Thread(target=press, daemon=True).start()
        with pytest.raises(KeyboardInterrupt):
            download(server.url("drip.data"), target, GOOD_SHA, PATIENT)
    finally:
        signal.signal(signal.SIGINT, before)
    assert left_over(target) == set()


def test_kill_leaves_no_target(server: Server, target: Path) -> None:
    code = (
        "import sys, pathlib; from deniable.datasets.resolve import Limits, download; "
        "download(sys.argv[1], pathlib.Path(sys.argv[2]), sys.argv[3], Limits())"
    )
    command = [sys.executable, "-c", code, server.url("drip.data"), str(target), GOOD_SHA]
    with subprocess.Popen(command) as process:
        wait_for_bytes(target)
        process.kill()
        process.wait(3)
    assert target.name not in left_over(target)
    download(server.url("good.data"), target, GOOD_SHA, PATIENT)
    assert target.read_bytes() == GOOD


def test_two_runs_at_once(server: Server, target: Path) -> None:
    address = server.url("good.data")
    faults: list[BaseException] = []

    def run() -> None:
        try:
            download(address, target, GOOD_SHA, PATIENT)
        except BaseException as error:
            faults.append(error)

    runs = [threading.Thread(target=run) for _ in range(4)]
    for thread in runs:
        thread.start()
    for thread in runs:
        thread.join(10)
    assert faults == []
    assert target.read_bytes() == GOOD
    assert left_over(target) == {target.name}


def test_full_disk(server: Server, target: Path) -> None:
    soft, hard = resource.getrlimit(resource.RLIMIT_FSIZE)
    resource.setrlimit(resource.RLIMIT_FSIZE, (100_000, hard))
    try:
        with pytest.raises(DataError, match="free space") as caught:
            download(server.url("good.data"), target, GOOD_SHA, PATIENT)
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, (soft, hard))
    assert str(caught.value).startswith(f"{target}: File too large")
    assert not isinstance(caught.value, DownloadError)
    assert left_over(target) == set()


def test_folder_that_cannot_be(server: Server, tmp_path: Path) -> None:
    (tmp_path / "data").write_text("a file where a folder should be")
    with pytest.raises(DataError, match=r"data/colours\.data: .*check the path"):
        download(server.url("good.data"), tmp_path / "data" / "colours.data", GOOD_SHA, PATIENT)
