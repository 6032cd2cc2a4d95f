"""Files are whole or absent, and equal results are equal bytes."""

import errno
import hashlib
import os
import stat
from pathlib import Path

import numpy as np
import pandas as pd
import pytest

from deniable.errors import DeniableError
from deniable.files import (
    read_json,
    sha256,
    write_json,
    write_once,
    write_table,
    write_text,
    written_whole,
)


def entries(folder: Path) -> list[str]:
    return sorted(path.name for path in folder.iterdir())


def test_whole(tmp_path):
    target = tmp_path / "new" / "folder" / "f.txt"
    with written_whole(target) as temporary:
        assert temporary.parent == target.parent  # a rename, not a copy across disks
        temporary.write_text("new")
        assert not target.exists()
    assert target.read_text() == "new"
    assert entries(target.parent) == ["f.txt"]


@pytest.mark.parametrize("error", [OSError("full"), KeyboardInterrupt(), SystemExit(1)])
@pytest.mark.parametrize("before", [None, "old"])
def test_or_as_it_was(tmp_path, error, before):
    target = tmp_path / "f.txt"
    if before:
        target.write_text(before)

    def write() -> None:
        with written_whole(target) as temporary:
            temporary.write_text("half")
            raise error

    with pytest.raises(type(error)):
        write()
    assert entries(tmp_path) == (["f.txt"] if before else [])
    assert not before or target.read_text() == before


def test_a_rename_that_fails_leaves_no_temporary_file(tmp_path):
    (tmp_path / "taken").mkdir()
    (tmp_path / "taken" / "inside").touch()
    with pytest.raises(OSError, match="taken"):
        write_text(tmp_path / "taken", "text")
    assert entries(tmp_path) == ["taken"]


def test_the_writer_may_replace_the_temporary_file_itself(tmp_path):
    with written_whole(tmp_path / "f") as temporary:
        temporary.unlink()
        temporary.write_text("again")
    assert (tmp_path / "f").read_text() == "again"


@pytest.mark.parametrize("umask", [0o022, 0o077, 0o002])
def test_permissions_are_those_of_any_new_file(tmp_path, umask):
    before = os.umask(umask)
    try:
        write_text(tmp_path / "f", "text")
        now = os.umask(umask)
    finally:
        os.umask(before)
    assert now == umask
    assert stat.S_IMODE((tmp_path / "f").stat().st_mode) == 0o666 & ~umask


@pytest.mark.parametrize("umask", [0o000, 0o022, 0o077])
def test_what_is_private_is_the_owners_alone(tmp_path, umask):
    for folder in ("there", "new"):
        file = tmp_path / folder / "f"
        if folder == "there":
            file.parent.mkdir(mode=0o755)
        before = os.umask(umask)
        try:
            write_json(file, 1, private=True)
        finally:
            os.umask(before)
        assert stat.S_IMODE(file.stat().st_mode) == 0o600
        assert stat.S_IMODE(file.parent.stat().st_mode) == 0o700


def test_text_and_json(tmp_path):
    write_text(tmp_path / "t", "é\nü\n")
    assert (tmp_path / "t").read_bytes() == "é\nü\n".encode()
    value = {"b": [1, 2.5, None, "é"], "a": True, "x": 0.1}
    write_json(tmp_path / "j", value)
    assert read_json(tmp_path / "j") == value
    assert (tmp_path / "j").read_text(encoding="utf-8").startswith('{\n  "b": [\n')
    assert '"é"' in (tmp_path / "j").read_text(encoding="utf-8")
    for no_json in (float("nan"), {1, 2}):
        with pytest.raises((ValueError, TypeError)):
            write_json(tmp_path / "j", no_json)
    assert read_json(tmp_path / "j") == value
    assert entries(tmp_path) == ["j", "t"]


def test_tables_have_nine_digits_and_equal_bytes(tmp_path):
    table = pd.DataFrame(
        {"key": ["a,b", "é"], "x": [1 / 3, 2e-7 / 3], "n": [1, 2], "none": [np.nan, 1e300]}
    )
    write_table(tmp_path / "t.csv", table)
    assert (tmp_path / "t.csv").read_bytes() == (
        'key,x,n,none\n"a,b",0.333333333,1,\né,6.66666667e-08,2,1e+300\n'.encode()
    )
    # A difference beyond the 9th digit, as between processors, is none in the file.
    write_table(tmp_path / "u.csv", table.assign(x=table["x"] * (1 + 1e-13)))
    assert sha256(tmp_path / "t.csv") == sha256(tmp_path / "u.csv")


def test_sha256(tmp_path):
    content = np.random.default_rng(1).bytes(3_000_000)
    (tmp_path / "f").write_bytes(content)
    assert sha256(tmp_path / "f") == hashlib.sha256(content).hexdigest()
    with pytest.raises(FileNotFoundError):
        sha256(tmp_path / "absent")


# -- what is written once --------------------------------------------------------------------------


def test_what_is_written_once_is_never_replaced(tmp_path):
    target = tmp_path / "private" / "key"
    write_once(target, b"first")
    inode = target.stat().st_ino
    write_once(target, b"second")
    assert target.read_bytes() == b"first"
    assert target.stat().st_ino == inode
    assert entries(target.parent) == ["key"]
    assert stat.S_IMODE(target.stat().st_mode) == 0o600
    assert stat.S_IMODE(target.parent.stat().st_mode) == 0o700


@pytest.mark.parametrize("step", ["fsync", "link"])
@pytest.mark.parametrize("error", [OSError("full"), KeyboardInterrupt(), SystemExit(1)])
def test_a_write_that_is_broken_off_leaves_nothing(tmp_path, monkeypatch, step, error):
    def fail(*_):
        raise error

    target = tmp_path / "private" / "key"
    with monkeypatch.context() as patch:
        patch.setattr(os, step, fail)
        with pytest.raises(type(error)):
            write_once(target, b"half")
    assert entries(target.parent) == []
    write_once(target, b"whole")
    assert entries(target.parent) == ["key"]
    assert target.read_bytes() == b"whole"


def test_who_comes_second_finds_what_the_first_wrote(tmp_path, monkeypatch):
    target, link = tmp_path / "key", os.link

    def slower(source, destination):
        # Another process is through between the test and the link.
        target.write_bytes(b"theirs")
        link(source, destination)

    monkeypatch.setattr(os, "link", slower)
    write_once(target, b"ours")
    assert target.read_bytes() == b"theirs"
    assert entries(tmp_path) == ["key"]


def test_it_is_on_the_disk_before_it_has_its_name(tmp_path, monkeypatch):
    steps, fsync, link = [], os.fsync, os.link

    def synced(descriptor):
        steps.append("folder" if stat.S_ISDIR(os.fstat(descriptor).st_mode) else "file")
        fsync(descriptor)

    def linked(source, destination):
        steps.append("name")
        assert Path(source).read_bytes() == b"content"
        link(source, destination)

    monkeypatch.setattr(os, "fsync", synced)
    monkeypatch.setattr(os, "link", linked)
    write_once(tmp_path / "key", b"content")
    assert steps == ["file", "name", "folder"]


def test_a_file_system_without_hard_links_is_named(tmp_path, monkeypatch):
    def refuse(*_):
        raise OSError(errno.ENOTSUP, "Operation not supported")

    monkeypatch.setattr(Path, "hardlink_to", refuse)
    with pytest.raises(DeniableError, match=f"^{tmp_path}: its file system has no hard links"):
        write_once(tmp_path / "once", b"1")
    assert list(tmp_path.iterdir()) == []


def test_a_pipe_or_device_is_not_replaced(tmp_path):
    os.mkfifo(tmp_path / "pipe")
    with pytest.raises(DeniableError, match="pipe: a device or pipe"):
        write_text(tmp_path / "pipe", "text")
    assert (tmp_path / "pipe").is_fifo()
    assert entries(tmp_path) == ["pipe"]


@pytest.mark.parametrize("name", ["", ".temporary"])
def test_a_disk_that_is_full_is_told_by_the_name_that_the_file_is_to_have(tmp_path, name):
    with pytest.raises(OSError, match="full") as caught, written_whole(tmp_path / "out") as path:
        raise OSError(errno.ENOSPC, "full", str(path) if name else None)
    assert caught.value.filename == str(tmp_path / "out")
    assert entries(tmp_path) == []
