"""A receipt holds what was published: every file, and no other."""

from pathlib import Path

import pytest
from tests.release.small_releases import settings, source

from deniable.files import read_json, sha256
from deniable.release import RECEIPT, Ledger, faults_of_receipt, make_release
from deniable.release.receipts import SUMS, sums_of


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    """Give the folder of a release that was made."""
    release = settings("independent")
    make_release(release, source(release), tmp_path / "small", Ledger(tmp_path / "ledger"))
    assert faults_of_receipt(tmp_path / "small" / RECEIPT) == []
    return tmp_path / "small"


def test_a_receipt_names_all_files_and_their_list(folder: Path) -> None:
    public = folder / "public"
    said = read_json(folder / RECEIPT)
    assert said["release"] == "small"
    files = [file for file in public.rglob("*") if file.is_file()]
    assert said["files"] == {f"public/{f.relative_to(public)}": sha256(f) for f in files}
    assert set(said["files"]) == {f"public/{name}" for name in (*sums_of(public), SUMS)}


@pytest.mark.parametrize("name", [SUMS, "protected.csv"])
@pytest.mark.parametrize("lost", [True, False], ids=["lost", "edited"])
def test_a_file_that_is_not_as_it_was_is_a_fault(folder: Path, name: str, lost: bool) -> None:
    file = folder / "public" / name
    if lost:
        file.unlink()
    else:
        file.write_bytes(file.read_bytes() + b"\n")
    (fault,) = faults_of_receipt(folder / RECEIPT)
    assert fault.startswith(f"{file}: missing, or edited since it was published; restore it")


def test_files_and_links_that_were_added_are_faults(folder: Path) -> None:
    public = folder / "public"
    (public / "folder").mkdir()
    (public / "folder" / "more.csv").write_text("")
    (public / "more").symlink_to("../private")
    assert faults_of_receipt(folder / RECEIPT) == [
        f"{public / name}: not published; take it away" for name in ("folder/more.csv", "more")
    ]


@pytest.mark.parametrize("text", [b"", b"{", b"\xff", b"[]", b"{}", b'{"files": []}', b"null"])
def test_a_receipt_that_is_damaged_is_the_one_fault(folder: Path, text: bytes) -> None:
    (folder / RECEIPT).write_bytes(text)
    assert faults_of_receipt(folder / RECEIPT) == [
        f"{folder / RECEIPT}: damaged or edited since it was made; restore it from a copy"
    ]
