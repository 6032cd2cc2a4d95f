"""Mirror, public address and surrogate: where a data set comes from in a run."""

import hashlib
import os
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from tests.datasets.colours import (
    ENTRY,
    GOOD,
    GOOD_SHA,
    OTHER,
    OTHER_SHA,
    PATIENT,
    SECOND,
    Server,
    left_over,
    write_manifest,
)

from deniable.datasets import resolve as datasets
from deniable.datasets.download import DownloadError
from deniable.datasets.manifest import Dataset, load_manifest
from deniable.datasets.published import read_published
from deniable.datasets.resolve import NotInMirror, Source, from_mirror, read_source, resolve_all
from deniable.errors import DataError
from deniable.files import read_json, write_json

ROOT = Path(__file__).resolve().parents[2]


# ---- mirror ---------------------------------------------------------------------------------


def test_from_mirror(dataset: Dataset, mirror: Path, target: Path) -> None:
    (mirror / "colours.data").write_bytes(GOOD)
    from_mirror(dataset, mirror, target)
    assert target.read_bytes() == GOOD
    assert left_over(target) == {target.name}


def test_wrong_file_in_mirror(dataset: Dataset, mirror: Path, target: Path) -> None:
    theirs = mirror / "colours.data"
    theirs.write_bytes(OTHER)
    before = theirs.stat()
    with pytest.raises(DataError) as caught:
        from_mirror(dataset, mirror, target)
    refused = target.parent / "refused" / f"colours.data.{OTHER_SHA[:12]}"
    message = str(caught.value)
    assert not isinstance(caught.value, NotInMirror)
    for word in (str(theirs), GOOD_SHA, OTHER_SHA, str(refused), dataset.address, "replace it"):
        assert word in message
    assert refused.read_bytes() == OTHER
    assert theirs.read_bytes() == OTHER
    after = theirs.stat()
    assert (after.st_mtime_ns, after.st_ino, after.st_mode) == (
        before.st_mtime_ns,
        before.st_ino,
        before.st_mode,
    )
    assert left_over(target) == {f"refused/{refused.name}"}
    assert [p.name for p in mirror.iterdir()] == ["colours.data"]


def test_mirror_without_the_file(dataset: Dataset, mirror: Path, target: Path) -> None:
    with pytest.raises(NotInMirror, match=r"mirror/colours\.data: the mirror lacks this file"):
        from_mirror(dataset, mirror, target)
    assert not target.parent.exists()


def test_no_such_mirror(dataset: Dataset, tmp_path: Path, target: Path) -> None:
    with pytest.raises(DataError, match="the mirror is no directory") as caught:
        from_mirror(dataset, tmp_path / "nowhere", target)
    assert not isinstance(caught.value, NotInMirror)
    assert str(tmp_path / "nowhere") in str(caught.value)


def test_folder_in_place_of_the_file(dataset: Dataset, mirror: Path, target: Path) -> None:
    (mirror / "colours.data").mkdir()
    with pytest.raises(DataError, match="not a regular file"):
        from_mirror(dataset, mirror, target)


def test_mirror_with_its_home_abbreviated(
    dataset: Dataset, mirror: Path, target: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("HOME", str(mirror.parent))
    (mirror / "colours.data").write_bytes(GOOD)
    from_mirror(dataset, Path("~/mirror"), target)
    assert target.exists()


# ---- resolve --------------------------------------------------------------------------------


class Run:
    """Resolves as a run does, and keeps what was said."""

    def __init__(self, dataset: Dataset, tmp_path: Path) -> None:
        self.dataset = dataset
        self.folder = tmp_path / "data"
        self.target = self.folder / dataset.file
        self.record = self.folder / "colours.source.json"
        self.manifest_folder = tmp_path / "resources"
        self.said: list[str] = []

    def __call__(self, source: Any = "auto", mirror: Path | None = None) -> Source:
        self.said.clear()
        found = resolve_all(
            [self.dataset],
            source=source,
            mirror=mirror,
            folder=self.folder,
            manifest_folder=self.manifest_folder,
            limits=PATIENT,
            say=self.said.append,
        )[self.dataset.name]
        assert read_source(self.record) == found
        assert str(self.folder.parent) not in self.record.read_text()
        assert not any("\n" in line for line in self.said)
        return found

    def refuses(self, *arguments: Any, kind: type[DataError] = DataError) -> str:
        before = self.record.read_text() if self.record.exists() else None
        with pytest.raises(kind) as caught:
            self(*arguments)
        assert (self.record.read_text() if self.record.exists() else None) == before
        assert "\n" not in str(caught.value)
        return str(caught.value)


@pytest.fixture
def run(dataset: Dataset, server: Server, tmp_path: Path) -> Run:
    """Give a run whose public address works."""
    return Run(dataset.model_copy(update={"address": server.url("good.data")}), tmp_path)


@pytest.fixture
def cut_off_run(run: Run, server: Server) -> Run:
    """Give a run whose public address fails."""
    run.dataset = run.dataset.model_copy(update={"address": server.url("missing.data")})
    return run


@pytest.fixture
def full_mirror(mirror: Path) -> Path:
    (mirror / "colours.data").write_bytes(GOOD)
    return mirror


@pytest.mark.parametrize("source", ["auto", "mirror"])
def test_mirror_comes_first(run: Run, server: Server, full_mirror: Path, source: str) -> None:
    found = run(source, full_mirror)
    assert found == Source("colours", "original", GOOD_SHA, "mirror", datasets.FROM_MIRROR)
    assert run.target.read_bytes() == GOOD
    assert server.asked == []


@pytest.mark.parametrize("origin", ["mirror", "public"])
def test_what_is_obtained_is_its_owners_alone(run: Run, full_mirror: Path, origin: str) -> None:
    before = os.umask(0)
    try:
        run(origin, full_mirror)
    finally:
        os.umask(before)
    modes = [file.stat().st_mode & 0o777 for file in (run.folder, run.target, run.record)]
    assert modes == [0o700, 0o600, 0o600]


@pytest.mark.parametrize("size", [len(GOOD) - 1, len(GOOD)])
def test_a_size_that_the_manifest_states_is_the_limit(run: Run, size: int) -> None:
    run.dataset = run.dataset.model_copy(update={"bytes": size})
    if size == len(GOOD):
        run("public")
        assert run.target.read_bytes() == GOOD
    else:
        said = run.refuses("public", kind=DownloadError)
        assert f"larger than {size:,} bytes" in said
        assert "surrogate" in said


@pytest.mark.parametrize("source", ["auto", "public"])
def test_public(run: Run, server: Server, source: str) -> None:
    found = run(source)
    assert (found.kind, found.sha256, found.found) == ("original", GOOD_SHA, "public")
    assert found.reason == f"downloaded from {run.dataset.address}"
    assert run.target.read_bytes() == GOOD
    assert len(server.asked) == 1


def test_public_passes_the_mirror_over(run: Run, full_mirror: Path) -> None:
    assert run("public", full_mirror).found == "public"


def test_mirror_that_lacks_the_file_is_passed_over(run: Run, mirror: Path) -> None:
    assert run("auto", mirror).found == "public"
    assert "lacks colours.data" in run.said[0]
    assert str(mirror) in run.said[0]


@pytest.mark.parametrize("source", ["auto", "mirror"])
def test_mirror_with_a_wrong_file_is_an_error(
    run: Run, server: Server, mirror: Path, source: str
) -> None:
    (mirror / "colours.data").write_bytes(OTHER)
    message = run.refuses(source, mirror)
    assert OTHER_SHA in message
    assert (mirror / "colours.data").read_bytes() == OTHER
    assert server.asked == []
    assert not run.target.exists()


@pytest.mark.parametrize("source", ["auto", "mirror"])
def test_mirror_that_is_nowhere_is_an_error(run: Run, tmp_path: Path, source: str) -> None:
    assert "no directory" in run.refuses(source, tmp_path / "nowhere")


def test_mirror_asked_for_must_hold_the_file(run: Run, server: Server, mirror: Path) -> None:
    run.refuses("mirror", mirror, kind=NotInMirror)
    message = run.refuses("mirror", None)
    assert "DENIABLE_DATA_MIRROR" in message
    assert "colours.data" in message
    assert server.asked == []


def test_public_asked_for_must_work(cut_off_run: Run) -> None:
    message = cut_off_run.refuses("public", None, kind=DownloadError)
    assert "404" in message
    assert not cut_off_run.target.exists()


def test_surrogate_asked_for(run: Run, server: Server, full_mirror: Path) -> None:
    found = run("surrogate", full_mirror)
    sha = hashlib.sha256((run.manifest_folder / run.dataset.surrogate).read_bytes()).hexdigest()
    assert found == Source("colours", "surrogate", sha, "surrogate", datasets.ASKED_FOR)
    assert server.asked == []
    assert not run.target.exists()
    assert run("auto", None).found == "public"  # asked for once is not for ever


def test_surrogate_asked_for_leaves_the_original(run: Run) -> None:
    run("auto")
    assert run("surrogate").kind == "surrogate"
    assert run.target.read_bytes() == GOOD


@pytest.mark.parametrize("fault", ["missing", "wrong", "cut"])
def test_surrogate_when_the_public_address_fails(run: Run, server: Server, fault: str) -> None:
    run.dataset = run.dataset.model_copy(update={"address": server.url(f"{fault}.data")})
    found = run("auto")
    why = {"missing": "404", "wrong": OTHER_SHA, "cut": "cut off"}[fault]
    assert (found.kind, found.found) == ("surrogate", "surrogate")
    assert why in found.reason
    assert "no mirror directory was named" in found.reason
    notice = run.said[-1]
    assert "SURROGATE DATA" in notice
    assert why in notice
    assert "DENIABLE_DATA_MIRROR" in notice
    assert not run.target.exists()


def test_second_run_on_a_surrogate_needs_no_network(
    cut_off_run: Run, server: Server, mirror: Path
) -> None:
    first = cut_off_run("auto", mirror)
    assert "the mirror directory lacks colours.data" in first.reason
    assert len(server.asked) == 1
    stamp = cut_off_run.record.stat().st_mtime_ns
    assert cut_off_run("auto", mirror) == first
    assert cut_off_run("auto", None) == first
    assert len(server.asked) == 1
    assert cut_off_run.record.stat().st_mtime_ns == stamp
    (notice,) = cut_off_run.said
    assert "SURROGATE DATA" in notice
    assert str(cut_off_run.record) in notice
    assert "data.source: public" in notice


def test_ways_back_from_a_surrogate(cut_off_run: Run, server: Server, full_mirror: Path) -> None:
    run = cut_off_run
    run("auto")
    run.dataset = run.dataset.model_copy(update={"address": server.url("good.data")})
    assert run("auto").kind == "surrogate"
    record = run.record.read_text()

    def without_the_record() -> Source:
        run.record.unlink()
        return run("auto")

    ways: list[Callable[[], Source]] = [
        lambda: run("auto", full_mirror),
        lambda: run("public"),
        without_the_record,
    ]
    for way in ways:
        assert way().kind == "original"
        assert run("auto").kind == "original"
        run.target.unlink()
        run.record.write_text(record)


def test_changed_surrogate_is_recorded(cut_off_run: Run, server: Server) -> None:
    first = cut_off_run("auto")
    write_json(cut_off_run.manifest_folder / cut_off_run.dataset.surrogate, {"probabilities": [2]})
    second = cut_off_run("auto")
    assert second.sha256 != first.sha256
    assert second.reason == first.reason
    assert len(server.asked) == 1


@pytest.mark.parametrize("source", ["auto", "surrogate"])
def test_surrogate_that_is_absent(cut_off_run: Run, source: str) -> None:
    path = cut_off_run.manifest_folder / cut_off_run.dataset.surrogate
    path.unlink()
    message = cut_off_run.refuses(source)
    assert message.startswith(f"{path}: the surrogate of 'colours' is needed")
    assert ("404" in message) == (source == "auto")
    assert "DENIABLE_DATA_MIRROR" in message
    assert not any("SURROGATE DATA" in line for line in cut_off_run.said)


@pytest.mark.parametrize("source", ["auto", "public"])
def test_verified_original_is_used_as_it_is(run: Run, server: Server, source: str) -> None:
    run.folder.mkdir()
    run.target.write_bytes(GOOD)
    found = run(source)
    assert (found.kind, found.sha256, found.reason) == (
        "original",
        GOOD_SHA,
        datasets.FROM_EARLIER,
    )
    assert server.asked == []
    assert run.said == []


def test_a_mirror_that_is_named_is_held_to_its_word(run: Run, tmp_path: Path) -> None:
    run.folder.mkdir()
    run.target.write_bytes(GOOD)
    wrong, empty = tmp_path / "wrong", tmp_path / "empty"
    wrong.mkdir()
    empty.mkdir()
    (wrong / "colours.data").write_bytes(OTHER)
    for source in ("auto", "mirror"):
        assert OTHER_SHA in run.refuses(source, wrong)
        assert "no directory" in run.refuses(source, tmp_path / "nowhere")
    assert run("auto", empty).kind == "original"
    run.refuses("mirror", empty, kind=NotInMirror)
    assert "no mirror directory is named" in run.refuses("mirror", None)
    assert (wrong / "colours.data").read_bytes() == OTHER
    assert run.target.read_bytes() == GOOD


def test_record_is_not_rewritten(run: Run, server: Server, full_mirror: Path) -> None:
    first = run("auto", full_mirror)
    os.utime(run.record, ns=(1, 1))
    for again in (run("auto", full_mirror), run("auto"), run("public")):
        assert again == first
    assert run.record.stat().st_mtime_ns == 1
    assert server.asked == []
    assert run.said == []


@pytest.mark.parametrize("source", ["auto", "mirror", "public"])
def test_spoilt_original_is_obtained_anew(run: Run, full_mirror: Path, source: str) -> None:
    run(source, full_mirror)
    run.target.write_bytes(OTHER)
    assert run(source, full_mirror).kind == "original"
    assert run.target.read_bytes() == GOOD
    refused = run.folder / "refused" / f"colours.data.{OTHER_SHA[:12]}"
    assert refused.read_bytes() == OTHER
    for word in (str(run.target), str(refused), GOOD_SHA, OTHER_SHA):
        assert word in run.said[0]


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("{", "no JSON"),
        ("[]", "no JSON object"),
        ('{"dataset": "colours"}', "key 'kind': Field required"),
        (None, "key 'kind': Input should be 'original' or 'surrogate'"),
    ],
)
def test_record_that_is_malformed(run: Run, text: str | None, words: str) -> None:
    source = {"dataset": "colours", "kind": "copy", "sha256": "", "found": "public", "reason": ""}
    run.folder.mkdir()
    if text is None:
        write_json(run.record, source)
    else:
        run.record.write_text(text)
    with pytest.raises(DataError) as caught:
        read_source(run.record)
    assert str(caught.value).startswith(f"{run.record}: ")
    assert words in str(caught.value)
    assert run("auto").found == "public"
    assert words in run.said[0]
    assert run("auto").found == "public"
    assert run.said == []


def test_record_has_the_fields_of_the_source(run: Run) -> None:
    run("auto")
    assert set(read_json(run.record)) == {"dataset", "kind", "sha256", "found", "reason"}
    with pytest.raises(DataError, match=r"other\.json: No such file"):
        read_source(run.folder / "other.json")


def test_source_that_does_not_exist(run: Run) -> None:
    assert "data.source is 'somewhere'" in run.refuses("somewhere")


def test_folder_for_data_that_cannot_be(run: Run, full_mirror: Path) -> None:
    run.folder.write_text("a file where a folder should be")
    tries: list[Callable[[], Any]] = [
        lambda: run("auto", full_mirror),
        lambda: run("public"),
        lambda: run("surrogate"),
    ]
    for attempt in tries:
        with pytest.raises(DataError, match="check the path") as caught:
            attempt()
        assert str(run.folder) in str(caught.value)


# ---- two data sets of one file --------------------------------------------------------------


class RunOfTwo:
    """Resolves the data sets `colours` and `numbers`, both of colours.data, as a run does."""

    def __init__(self, tmp_path: Path, address: str) -> None:
        entries = {"colours": ENTRY, "numbers": SECOND}
        entries = {name: {**entry, "address": address} for name, entry in entries.items()}
        self.manifest_folder = tmp_path / "resources"
        for number, entry in enumerate(entries.values()):
            write_json(self.manifest_folder / entry["surrogate"], {"probabilities": [number]})
        self.datasets = load_manifest(write_manifest(self.manifest_folder, entries))
        self.folder = tmp_path / "data"
        self.said: list[str] = []

    def __call__(self, source: Any = "auto", mirror: Path | None = None) -> dict[str, Source]:
        self.said.clear()
        found = resolve_all(
            self.datasets.values(),
            source=source,
            mirror=mirror,
            folder=self.folder,
            manifest_folder=self.manifest_folder,
            limits=PATIENT,
            say=self.said.append,
        )
        assert list(found) == ["colours", "numbers"]
        for name, its in found.items():
            assert its.dataset == name
            assert read_source(self.record(name)) == its
        return found

    def record(self, name: str) -> Path:
        return self.folder / f"{name}.source.json"


RECORDS_OF_TWO = {"colours.source.json", "numbers.source.json"}


@pytest.mark.parametrize("source", ["auto", "public"])
def test_one_file_is_fetched_once_for_two(tmp_path: Path, server: Server, source: str) -> None:
    run = RunOfTwo(tmp_path, server.url("good.data"))
    colours, numbers = run(source).values()
    assert len(server.asked) == 1
    assert (colours.kind, colours.found) == ("original", "public")
    assert numbers == replace(colours, dataset="numbers")
    assert left_over(run.folder / "colours.data") == {"colours.data"} | RECORDS_OF_TWO
    stamps = [run.record(name).stat().st_mtime_ns for name in run.datasets]
    assert run(source) == {"colours": colours, "numbers": numbers}
    assert [run.record(name).stat().st_mtime_ns for name in run.datasets] == stamps
    assert len(server.asked) == 1
    data = {name: read_published(its, run.folder / its.file) for name, its in run.datasets.items()}
    assert data["colours"].domain.names == ("colour", "likes")
    assert data["numbers"].counts().tolist() == [10_000, 10_000]


def test_one_file_in_the_mirror_serves_two(
    tmp_path: Path, server: Server, full_mirror: Path
) -> None:
    run = RunOfTwo(tmp_path, server.url("good.data"))
    found = run("auto", full_mirror)
    assert {(its.found, its.reason) for its in found.values()} == {("mirror", datasets.FROM_MIRROR)}
    # A data set that is new to the manifest came the way that its file did.
    run.record("numbers").unlink()
    assert run("auto") == found
    assert server.asked == []


def test_a_wrong_file_is_refused_once_for_two(tmp_path: Path, server: Server, mirror: Path) -> None:
    (mirror / "colours.data").write_bytes(OTHER)
    run = RunOfTwo(tmp_path, server.url("wrong.data"))
    with pytest.raises(DataError, match=OTHER_SHA):
        run("auto", mirror)
    refused = f"refused/colours.data.{OTHER_SHA[:12]}"
    assert left_over(run.folder / "colours.data") == {refused}
    found = run("auto")
    assert len(server.asked) == 1
    assert left_over(run.folder / "colours.data") == {refused} | RECORDS_OF_TWO
    assert {its.kind for its in found.values()} == {"surrogate"}


def test_two_of_one_file_are_surrogates_together(tmp_path: Path, server: Server) -> None:
    run = RunOfTwo(tmp_path, server.url("missing.data"))
    colours, numbers = run("auto").values()
    assert len(server.asked) == 1
    assert "404" in colours.reason
    assert numbers.reason == colours.reason
    for name, its in {"colours": colours, "numbers": numbers}.items():
        surrogate = run.manifest_folder / run.datasets[name].surrogate
        assert its.sha256 == hashlib.sha256(surrogate.read_bytes()).hexdigest()
    assert run.said[-1].startswith("numbers: SURROGATE DATA too")
    assert list(run("auto").values()) == [colours, numbers]  # kept
    assert len(server.asked) == 1
    # The first one's record decides for both; the other's alone asks nobody.
    run.record("numbers").unlink()
    assert list(run("auto").values()) == [colours, numbers]
    assert len(server.asked) == 1
    run.record("colours").unlink()
    run("auto")
    assert len(server.asked) == 2
    assert {its.kind for its in run("surrogate").values()} == {"surrogate"}


def test_two_of_one_file_come_back_from_surrogates_together(
    tmp_path: Path, server: Server, full_mirror: Path
) -> None:
    run = RunOfTwo(tmp_path, server.url("missing.data"))
    run("auto")
    assert {its.kind for its in run("auto", full_mirror).values()} == {"original"}
    assert {its.kind for its in run("surrogate").values()} == {"surrogate"}
    assert {its.kind for its in run("auto").values()} == {"original"}


def test_a_spoilt_file_is_set_aside_once_for_two(tmp_path: Path, full_mirror: Path) -> None:
    run = RunOfTwo(tmp_path, "http://127.0.0.1:9/colours.data")
    found = run("mirror", full_mirror)
    (run.folder / "colours.data").write_bytes(OTHER)
    assert run("mirror", full_mirror) == found
    assert sum("was moved to" in line for line in run.said) == 1
    assert (run.folder / "colours.data").read_bytes() == GOOD


def test_the_second_surrogate_is_absent(tmp_path: Path, server: Server) -> None:
    run = RunOfTwo(tmp_path, server.url("missing.data"))
    (run.manifest_folder / SECOND["surrogate"]).unlink()
    with pytest.raises(DataError, match="the surrogate of 'numbers' is needed") as caught:
        run("auto")
    assert "404" in str(caught.value)
    assert not run.record("numbers").exists()


# ---- the published file ---------------------------------------------------------------------


@pytest.mark.real_data
def test_adult(tmp_path: Path) -> None:
    places = [os.environ.get("DENIABLE_DATA_MIRROR"), ROOT.parent / "shared" / "data"]
    mirror = next((Path(p) for p in places if p and (Path(p) / "adult.data").is_file()), None)
    if mirror is None:
        pytest.skip("NO adult.data in DENIABLE_DATA_MIRROR or ../shared/data: ADULT IS NOT TESTED")
    manifest = load_manifest(ROOT / "resources" / "datasets.yaml")
    found = resolve_all(
        manifest.values(),
        source="mirror",
        mirror=mirror,
        folder=tmp_path,
        manifest_folder=ROOT / "resources",
        say=print,
    )
    adult, numeric = manifest["adult"], manifest["adult_numeric"]
    assert found["adult"].sha256 == found["adult_numeric"].sha256 == adult.sha256
    data = read_published(adult, tmp_path / adult.file)
    assert len(data) == 32_561
    assert data.counts(["sex"]).tolist() == [10_771, 21_790]
    assert data.counts(["income"]).tolist() == [24_720, 7_841]
    numbers = read_published(numeric, tmp_path / numeric.file)
    # As awk counts them in the published file.
    assert numbers.counts(["age"]).tolist() == [1657, 3913, 8479, 8151, 5853, 3172, 1336]
    ages = read_published(manifest["adult_age"], tmp_path / numeric.file).counts(["age"])
    ends = np.cumsum([0, 3, 5, 10, 10, 10, 10])  # where the age groups begin
    assert np.add.reduceat(ages, ends).tolist() == numbers.counts(["age"]).tolist()
    hours = [145, 832, 3119, 1487, 2180, 15_217, 3090, 3906, 2585]
    assert numbers.counts(["hours-per-week"]).tolist() == hours
    both = ["education", "relationship", "sex", "income"]
    assert (numbers.counts(both) == data.counts(both)).all()
