"""Mirror, public address and surrogate: how the file of a data set is obtained."""

import os
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from tests.datasets.colours import (
    GOOD,
    GOOD_SHA,
    OTHER,
    OTHER_SHA,
    Server,
    left_over,
)

from deniable.datasets.manifest import Dataset, load_manifest
from deniable.datasets.published import read_published
from deniable.datasets.resolve import (
    DownloadError,
    ResolvedFile,
    from_mirror,
    obtain,
    read_source,
    verified_file,
)
from deniable.errors import DataError
from deniable.files import write_text

ROOT = Path(__file__).resolve().parents[2]


# ---- mirror ---------------------------------------------------------------------------------


def test_from_mirror(dataset: Dataset, mirror: Path, target: Path) -> None:
    (mirror / "colours.data").write_bytes(GOOD)
    assert from_mirror(dataset, mirror, target)
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
    assert not from_mirror(dataset, mirror, target)
    assert not target.parent.exists()


def test_no_such_mirror(dataset: Dataset, tmp_path: Path, target: Path) -> None:
    with pytest.raises(DataError, match="the mirror is not a directory") as caught:
        from_mirror(dataset, tmp_path / "nowhere", target)
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


# ---- obtain ---------------------------------------------------------------------------------

PUBLISHED, SURROGATE = ResolvedFile("published", GOOD_SHA), ResolvedFile("surrogate", None)


class Job:
    """Obtains a file as a job does, and keeps the lines of its log."""

    def __init__(self, dataset: Dataset, tmp_path: Path) -> None:
        self.dataset = dataset
        self.folder = tmp_path / "data"
        self.target = self.folder / dataset.file
        self.said: list[str] = []

    def __call__(self, source: Any = "auto", mirror: Path | None = None) -> ResolvedFile:
        self.said.clear()
        found = obtain(
            self.dataset,
            source=source,
            mirror=mirror,
            folder=self.folder,
            say=self.said.append,
        )
        assert not any("\n" in line for line in self.said)
        return found

    def refuses(self, *arguments: Any, kind: type[DataError] = DataError) -> str:
        with pytest.raises(kind) as caught:
            self(*arguments)
        assert "\n" not in str(caught.value)
        return str(caught.value)


@pytest.fixture
def job(dataset: Dataset, server: Server, tmp_path: Path) -> Job:
    """Give a job whose public address works."""
    return Job(dataset.model_copy(update={"address": server.url("good.data")}), tmp_path)


@pytest.fixture
def cut_off_job(job: Job, server: Server) -> Job:
    """Give a job whose public address fails."""
    job.dataset = job.dataset.model_copy(update={"address": server.url("missing.data")})
    return job


@pytest.fixture
def full_mirror(mirror: Path) -> Path:
    (mirror / "colours.data").write_bytes(GOOD)
    return mirror


@pytest.mark.parametrize("source", ["auto", "mirror"])
def test_mirror_comes_first(job: Job, server: Server, full_mirror: Path, source: str) -> None:
    assert job(source, full_mirror) == PUBLISHED
    assert job.target.read_bytes() == GOOD
    assert job.said == [f"colours.data: copied from the mirror {full_mirror}"]
    assert server.asked == []


@pytest.mark.parametrize("origin", ["mirror", "public"])
def test_what_is_obtained_is_its_owners_alone(job: Job, full_mirror: Path, origin: str) -> None:
    before = os.umask(0)
    try:
        job(origin, full_mirror)
    finally:
        os.umask(before)
    assert [file.stat().st_mode & 0o777 for file in (job.folder, job.target)] == [0o700, 0o600]


@pytest.mark.parametrize("size", [len(GOOD) - 1, len(GOOD)])
def test_a_size_that_the_manifest_states_is_the_limit(job: Job, size: int) -> None:
    job.dataset = job.dataset.model_copy(update={"bytes": size})
    if size == len(GOOD):
        job("public")
        assert job.target.read_bytes() == GOOD
    else:
        said = job.refuses("public", kind=DownloadError)
        assert f"larger than {size:,} bytes" in said
        assert "surrogate" in said


@pytest.mark.parametrize("source", ["auto", "public"])
def test_public(job: Job, server: Server, source: str) -> None:
    assert job(source) == PUBLISHED
    assert job.said == [f"colours.data: downloading {job.dataset.address}"]
    assert job.target.read_bytes() == GOOD
    assert len(server.asked) == 1


def test_public_passes_the_mirror_over(job: Job, server: Server, full_mirror: Path) -> None:
    assert job("public", full_mirror) == PUBLISHED
    assert len(server.asked) == 1


def test_mirror_that_lacks_the_file_is_passed_over(job: Job, server: Server, mirror: Path) -> None:
    assert job("auto", mirror) == PUBLISHED
    assert len(server.asked) == 1
    assert job.said[0] == f"colours.data: the mirror {mirror} lacks it and is skipped"


@pytest.mark.parametrize("source", ["auto", "mirror"])
def test_mirror_with_a_wrong_file_is_an_error(
    job: Job, server: Server, mirror: Path, source: str
) -> None:
    (mirror / "colours.data").write_bytes(OTHER)
    assert OTHER_SHA in job.refuses(source, mirror)
    assert (mirror / "colours.data").read_bytes() == OTHER
    assert server.asked == []
    assert not job.target.exists()


@pytest.mark.parametrize("source", ["auto", "mirror"])
def test_mirror_that_is_nowhere_is_an_error(job: Job, tmp_path: Path, source: str) -> None:
    assert "not a directory" in job.refuses(source, tmp_path / "nowhere")


def test_mirror_asked_for_must_hold_the_file(job: Job, server: Server, mirror: Path) -> None:
    assert "mirror/colours.data: the mirror lacks this file" in job.refuses("mirror", mirror)
    message = job.refuses("mirror", None)
    assert "DENIABLE_DATA_MIRROR" in message
    assert "colours.data" in message
    assert server.asked == []


def test_public_asked_for_must_work(cut_off_job: Job) -> None:
    assert "404" in cut_off_job.refuses("public", None, kind=DownloadError)
    assert not cut_off_job.target.exists()


def test_surrogate_asked_for(job: Job, server: Server, full_mirror: Path) -> None:
    assert job("surrogate", full_mirror) == SURROGATE
    assert job.said == ["colours.data: SURROGATE DATA, because data.source is surrogate"]
    assert server.asked == []
    assert not job.target.exists()
    job("public")
    assert job("surrogate") == SURROGATE
    assert job.target.read_bytes() == GOOD


@pytest.mark.parametrize("fault", ["missing", "wrong", "cut"])
def test_surrogate_when_the_public_address_fails(job: Job, server: Server, fault: str) -> None:
    address = server.url(f"{fault}.data")
    job.dataset = job.dataset.model_copy(update={"address": address})
    assert job("auto") == SURROGATE
    why = {"missing": "404", "wrong": OTHER_SHA, "cut": "cut off"}[fault]
    for words in ("SURROGATE DATA", why, "no mirror directory", address, "DENIABLE_DATA_MIRROR"):
        assert words in job.said[-1]
    assert not job.target.exists()


def test_ways_back_from_a_surrogate(cut_off_job: Job, server: Server, full_mirror: Path) -> None:
    assert cut_off_job("auto") == SURROGATE
    assert cut_off_job("auto", full_mirror) == PUBLISHED
    cut_off_job.target.unlink()
    cut_off_job.dataset = cut_off_job.dataset.model_copy(
        update={"address": server.url("good.data")}
    )
    assert cut_off_job("auto") == PUBLISHED


@pytest.mark.parametrize("source", ["auto", "public"])
def test_verified_file_is_used_as_it_is(job: Job, server: Server, source: str) -> None:
    job.folder.mkdir()
    job.target.write_bytes(GOOD)
    stamp = job.target.stat().st_mtime_ns
    assert job(source) == PUBLISHED
    assert "already there" in job.said[0]
    assert job.target.stat().st_mtime_ns == stamp
    assert server.asked == []


@pytest.mark.parametrize("source", ["auto", "mirror", "public"])
def test_spoilt_file_is_obtained_again(job: Job, full_mirror: Path, source: str) -> None:
    job(source, full_mirror)
    job.target.write_bytes(OTHER)
    assert job(source, full_mirror) == PUBLISHED
    assert job.target.read_bytes() == GOOD
    refused = job.folder / "refused" / f"colours.data.{OTHER_SHA[:12]}"
    assert refused.read_bytes() == OTHER
    for word in (str(job.target), str(refused), GOOD_SHA, OTHER_SHA):
        assert word in job.said[0]


def test_folder_for_data_that_cannot_be(job: Job, full_mirror: Path) -> None:
    job.folder.write_text("a file where a folder should be")
    tries: list[Callable[[], Any]] = [lambda: job("auto", full_mirror), lambda: job("public")]
    for attempt in tries:
        with pytest.raises(DataError, match="check the path") as caught:
            attempt()
        assert str(job.folder) in str(caught.value)


# ---- read and verify ------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("{", "not a JSON object"),
        ("[]", "not a JSON object"),
        ('{"kind": "published"}', "key 'sha256': Field required"),
        (
            '{"kind": "copy", "sha256": ""}',
            "key 'kind': Input should be 'published'",
        ),
        (None, "No such file"),
    ],
)
def test_source_that_is_malformed(tmp_path: Path, text: str | None, words: str) -> None:
    path = tmp_path / "colours.data.source.json"
    if text is not None:
        write_text(path, text)
    with pytest.raises(DataError, match="snakemake --forcerun download") as caught:
        read_source(path)
    assert str(caught.value).startswith(f"{path}: {words}")


def test_the_published_file_is_verified_before_it_is_read(dataset: Dataset, target: Path) -> None:
    again = "snakemake --forcerun download"
    with pytest.raises(DataError, match=rf"the published file is missing; .*{again}"):
        verified_file(dataset, PUBLISHED, target.parent)
    target.parent.mkdir()
    target.write_bytes(OTHER)
    with pytest.raises(DataError, match=rf"has the sha256 {OTHER_SHA}, not {GOOD_SHA}; .*{again}"):
        verified_file(dataset, PUBLISHED, target.parent)
    target.write_bytes(GOOD)
    assert verified_file(dataset, PUBLISHED, target.parent) == target
    with pytest.raises(DataError, match=rf"the manifest names another file now; .*{again}"):
        verified_file(dataset, ResolvedFile("published", OTHER_SHA), target.parent)


# ---- the published file ---------------------------------------------------------------------


@pytest.mark.real_data
def test_adult(tmp_path: Path) -> None:
    places = [os.environ.get("DENIABLE_DATA_MIRROR"), ROOT.parent / "shared" / "data"]
    mirror = next((Path(p) for p in places if p and (Path(p) / "adult.data").is_file()), None)
    if mirror is None:
        pytest.skip("NO adult.data in DENIABLE_DATA_MIRROR or ../shared/data: ADULT IS NOT TESTED")
    manifest = load_manifest(ROOT / "resources" / "datasets.yaml")
    adult, numeric = manifest["adult"], manifest["adult_numeric"]
    obtain(adult, source="mirror", mirror=mirror, folder=tmp_path, say=print)
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
