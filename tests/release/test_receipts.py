"""A receipt holds every published file, and no other; the start-up check finds what changed."""

import os
import shutil
import time
from pathlib import Path
from typing import Any

import pytest
from tests.release.small_releases import made

from deniable.errors import DeniableError
from deniable.files import read_json, sha256, write_json
from deniable.release.receipts import (
    RECEIPT,
    SUMS,
    faults_of_files,
    faults_of_receipt,
    refuse_other_settings,
    refuse_production,
    refuse_test,
    store_states,
    stored_records,
    sums_of,
)

SETTINGS = {"data": "adult", "plan": {"kind": "columns", "epsilon": 2.0}, "schema": "abc"}


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    """Return the folder of a release."""
    made("columns", tmp_path, settings=SETTINGS)
    assert faults_of_receipt(tmp_path / "small" / RECEIPT) == []
    assert faults_of_files(tmp_path / "small") == []
    return tmp_path / "small"


def test_a_receipt_names_all_files_and_their_list(folder: Path) -> None:
    public = folder / "public"
    said = read_json(folder / RECEIPT)
    assert said["release"] == "small"
    files = [file for file in public.rglob("*") if file.is_file()]
    assert said["files"] == {f"public/{f.relative_to(public)}": sha256(f) for f in files}
    assert set(said["files"]) == {f"public/{name}" for name in (*sums_of(public), SUMS)}


@pytest.mark.parametrize("name", [SUMS, "protected.parquet"])
@pytest.mark.parametrize("lost", [True, False], ids=["lost", "edited"])
def test_a_file_that_is_not_as_it_was_is_a_fault(folder: Path, name: str, lost: bool) -> None:
    file = folder / "public" / name
    if lost:
        file.unlink()
    else:
        file.write_bytes(file.read_bytes() + b"\n")
    (fault,) = faults_of_receipt(folder / RECEIPT)
    assert fault.startswith(f"{file}: missing, or edited since it was published; restore it")
    found = faults_of_files(folder)
    assert str(file) in found[0]
    assert "restore the published folder from a copy" in found[-1]


def test_files_and_links_that_were_added_are_faults(folder: Path) -> None:
    public = folder / "public"
    (public / "folder").mkdir()
    (public / "folder" / "more.csv").write_text("")
    (public / "more").symlink_to("../private")
    assert faults_of_receipt(folder / RECEIPT) == [
        f"{public / name}: not published; take it away" for name in ("folder/more.csv", "more")
    ]
    assert len(faults_of_files(folder)) == 3


def test_a_link_in_place_of_a_published_file_is_a_fault(folder: Path) -> None:
    file = folder / "public" / "protected.parquet"
    file.rename(folder.parent / "kept")
    file.symlink_to(folder.parent / "kept")
    found = faults_of_files(folder)
    assert found == [f"{file}: a link", "restore the published folder from a copy"]


def test_the_state_of_the_original_records_stays_as_it_was_stored(folder: Path) -> None:
    store_states(folder, [1, 2])
    store_states(folder)
    assert stored_records(folder) == [1, 2]
    store_states(folder, [3, 4])
    assert stored_records(folder) == [3, 4]


@pytest.mark.parametrize("text", [b"", b"{", b"\xff", b"[]", b"{}", b'{"files": []}', b"null"])
def test_a_receipt_that_is_damaged_is_the_one_fault(folder: Path, text: bytes) -> None:
    (folder / RECEIPT).write_bytes(text)
    assert faults_of_receipt(folder / RECEIPT) == [
        f"{folder / RECEIPT}: damaged or edited since it was made; restore it from a copy"
    ]


# -- the start-up check ----------------------------------------------------------------------------


def test_a_copy_of_a_release_is_read_once(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    copy = folder.parent / "copy"
    shutil.copytree(folder, copy)
    for file in (copy / "public").iterdir():
        os.utime(file)
    assert faults_of_files(copy) == []

    def never(*given: Any) -> str:
        raise AssertionError("a file is read again")

    monkeypatch.setattr("deniable.release.receipts.sha256", never)
    assert faults_of_files(copy) == []


def test_an_edit_that_keeps_the_size_is_found_and_stays_found(folder: Path) -> None:
    file = folder / "public" / "README.txt"
    text = file.read_bytes()
    file.write_bytes(text.replace(b"Release small", b"Release smoll", 1))
    for _ in range(2):
        assert "README.txt: damaged or edited" in faults_of_files(folder)[0]


def test_a_list_that_was_edited_with_its_file_is_found(folder: Path) -> None:
    public = folder / "public"
    before = sums_of(public)["protected.parquet"]
    (public / "protected.parquet").write_bytes(b"others")
    text = (public / SUMS).read_text("utf-8")
    (public / SUMS).write_text(text.replace(before, sha256(public / "protected.parquet")), "utf-8")
    assert "edited since it was published" in faults_of_files(folder)[0]


@pytest.mark.parametrize("lost", ["public", "private/published.json", "private/receipt.json"])
def test_lost_files_are_found(folder: Path, lost: str) -> None:
    path = folder / lost
    if path.is_dir():
        shutil.rmtree(path)
        assert faults_of_files(folder) == [
            f"{path}: published, and missing now; restore it from a copy"
        ]
        return
    path.unlink()
    assert faults_of_files(folder) == []  # sizes and times decide, or checksums do


@pytest.mark.parametrize("text", ["", "[", "null", "{}"])
def test_damaged_sizes_and_times_are_no_trace(folder: Path, text: str) -> None:
    (folder / "private" / "published.json").write_text(text)
    found = faults_of_files(folder)
    assert found == [] or "damaged" in found[0]


def test_settings_are_compared_with_those_at_publication(folder: Path) -> None:
    refuse_other_settings("small", folder, SETTINGS)
    refuse_other_settings("small", folder, SETTINGS | {"schema": None})  # a file that is gone
    refuse_other_settings("small", folder.parent / "nothing", SETTINGS)
    for name, value in (("plan", {"kind": "columns", "epsilon": 1.0}), ("data", "census")):
        with pytest.raises(
            DeniableError, match=f"is published in .* with another {name}; a second"
        ):
            refuse_other_settings("small", folder, SETTINGS | {name: value})
    fewer = {name: value for name, value in SETTINGS.items() if name != "data"}
    for other, name in ((fewer, "data"), (SETTINGS | {"more": 1}, "more")):
        with pytest.raises(DeniableError, match=f"with another {name}; a second draw"):
            refuse_other_settings("small", folder, other)


def test_a_test_release_is_in_the_way_of_a_production_release(tmp_path: Path) -> None:
    refuse_test("small", tmp_path / "small")
    write_json(tmp_path / "small" / "public" / "plan.json", {"release": {"mode": "test"}})
    with pytest.raises(DeniableError, match="holds a test release of this name; delete that"):
        refuse_test("small", tmp_path / "small")


@pytest.mark.parametrize("name", ["key", "entry.json", "journal.json", "receipt.json"])
def test_each_private_file_of_a_production_release_is_a_trace(tmp_path: Path, name: str) -> None:
    folder = tmp_path / "small"
    write_json(folder / "public" / "plan.json", {"release": {"mode": "test"}})
    refuse_production("small", folder)
    write_json(folder / "private" / name, {})
    refuse_test("small", folder)
    with pytest.raises(
        DeniableError, match=r"'small' was begun in .*small as a production release"
    ):
        refuse_production("small", folder)


def test_twenty_releases_are_checked_in_a_fifth_of_a_second(folder: Path) -> None:
    copies = [folder.parent / str(number) for number in range(20)]
    for copy in copies:
        shutil.copytree(folder, copy)
        assert faults_of_files(copy) == []  # copies have other times
    begun = time.process_time()
    for copy in copies:
        refuse_other_settings("small", copy, SETTINGS)
        assert faults_of_files(copy) == []
    assert time.process_time() - begun < 0.2
