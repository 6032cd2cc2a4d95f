"""Published files are obtained by jobs: once, by no parameter that names a place, or not at all."""

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
import yaml
from tests.datasets.colours import Server, serving

from deniable.files import read_json
from deniable.schema import read_schema

pytestmark = pytest.mark.workflow

NAMES = ("adult", "adult_numeric", "adult_age")
TARGETS = tuple(f"results/data/{name}.parquet" for name in NAMES)
SOURCE = "results/data/raw/adult.data.source.json"
AUTO = ("--config", "data={source: auto}")
BY_LOOPBACK = {"NO_PROXY": "127.0.0.1"}


@pytest.fixture
def server() -> Iterator[Server]:
    with serving() as running:
        yield running


def publish(project: Any, server: Server, path: str) -> None:
    """Write the addresses of Adult into the project's manifest: those of a server's `path`."""
    manifest = project.folder / "resources" / "datasets.yaml"
    entries = yaml.safe_load(manifest.read_text("utf-8"))
    for name in NAMES:
        entries[name]["address"] = server.url(path)
    manifest.write_text(yaml.safe_dump(entries, sort_keys=False), "utf-8")


def file_served(project: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    """Have servers answer with Adult as it lies in the project's mirror."""
    content = (project.mirror / "adult.data").read_bytes()
    monkeypatch.setattr("tests.datasets.colours.GOOD", content)


def kept(project: Any) -> dict[str, Any]:
    return dict(read_json(project.folder / SOURCE))


def test_one_file_is_obtained_once_for_all_its_data_sets(
    untouched: Any, server: Server, monkeypatch: pytest.MonkeyPatch
) -> None:
    project = untouched
    file_served(project, monkeypatch)
    publish(project, server, "good.data")
    assert project.would_run(*TARGETS, *AUTO, **BY_LOOPBACK) == {"download": 1, "prepare": 3}
    assert server.asked == []  # nothing is obtained before the first job
    said = project.made("--cores", "1", *TARGETS, *AUTO, **BY_LOOPBACK)
    assert len(server.asked) == 1
    entry = yaml.safe_load((project.folder / "resources/datasets.yaml").read_text())["adult"]
    assert kept(project) == {"kind": "published", "sha256": entry["sha256"]}
    raw = project.folder / "results/data/raw/adult.data"
    assert raw.read_bytes() == (project.mirror / "adult.data").read_bytes()
    assert [path.stat().st_mode & 0o777 for path in (raw.parent, raw)] == [0o700, 0o600]
    # The address is in the log and on the screen, not in records.
    log = (project.folder / "results/logs/download/adult.data.log").read_text("utf-8")
    assert log == f"adult.data: downloading {server.url('good.data')}\n"
    assert log in said
    records = [*(project.folder / ".snakemake/metadata").iterdir(), *raw.parent.glob("*.json")]
    assert len(records) > 3
    assert not any(str(server.server_address[1]) in file.read_text() for file in records)
    # Neither a mirror nor another setting but `surrogate` changes anything from now on.
    mirror = {"DENIABLE_DATA_MIRROR": str(project.mirror)}
    for source in ("auto", "public", "mirror"):
        arguments = (*TARGETS, "--config", f"data={{source: {source}}}")
        assert project.would_run(*arguments, **mirror) == {}
        assert project.would_run(*arguments) == {}
    assert project.would_run(*TARGETS) == {"download": 1, "prepare": 3}
    for name in NAMES:
        schema = read_schema(project.folder / f"results/data/{name}.schema.yaml")
        assert schema.population == name


def test_a_surrogate_is_kept_until_a_mirror_offers_the_file(untouched: Any, server: Server) -> None:
    project, target = untouched, TARGETS[0]
    publish(project, server, "missing.data")
    said = project.made("--cores", "1", target, *AUTO, **BY_LOOPBACK)
    assert "adult.data: SURROGATE DATA instead of the published file (no mirror" in said
    assert "404" in said
    assert kept(project) == {"kind": "surrogate", "sha256": None}
    assert len(server.asked) == 1
    assert project.would_run(target, *AUTO, **BY_LOOPBACK) == {}
    record = read_json(project.folder / f"{target}.provenance.json")
    assert list(record["data"]) == ["resources/surrogates/adult.json"]
    mirror = {"DENIABLE_DATA_MIRROR": str(project.mirror)}
    assert project.would_run(target, *AUTO, **mirror) == {"download": 1, "prepare": 1}
    project.made("--cores", "1", target, *AUTO, **mirror)
    assert len(server.asked) == 1
    assert kept(project)["kind"] == "published"
    record = read_json(project.folder / f"{target}.provenance.json")
    assert list(record["data"]) == ["results/data/raw/adult.data"]
    # Asked for, the surrogate comes back, and the file stays.
    assert project.would_run(target) == {"download": 1, "prepare": 1}
    project.made("--cores", "1", target)
    assert kept(project)["kind"] == "surrogate"
    assert (project.folder / "results/data/raw/adult.data").is_file()


def test_a_file_that_is_gone_or_damaged_is_downloaded_again(untouched: Any) -> None:
    project, (target, other) = untouched, TARGETS[:2]
    mirror = {"DENIABLE_DATA_MIRROR": str(project.mirror)}
    project.made("--cores", "1", target, *AUTO, **mirror)
    raw = project.folder / "results/data/raw/adult.data"
    whole = raw.read_bytes()
    for spoil, words in (
        (lambda: raw.write_bytes(whole[:-9]), "has the sha256"),
        (raw.unlink, "the published file is missing"),
    ):
        spoil()
        assert project.would_run(target, *AUTO, **mirror) == {}
        said = project.refused("--cores", "1", other, *AUTO, **mirror)
        assert f"prepare: DataError: results/data/raw/adult.data: {words}" in said
        assert "snakemake --forcerun download" in said
        project.made("--cores", "1", other, *AUTO, "--forcerun", "download", **mirror)
        assert raw.read_bytes() == whole
        project.without(other)
    assert len(list((raw.parent / "refused").iterdir())) == 1


def test_a_wrong_file_in_the_mirror_is_refused(untouched: Any) -> None:
    project = untouched
    with (project.mirror / "adult.data").open("a", encoding="utf-8") as stream:
        stream.write("one more line\n")
    mirror = {"DENIABLE_DATA_MIRROR": str(project.mirror)}
    said = project.refused("--cores", "1", TARGETS[0], *AUTO, **mirror)
    (line,) = {line for line in said.splitlines() if line.startswith("download: ")}
    assert "the file in the mirror has the sha256" in line
    assert not (project.folder / SOURCE).exists()
    assert len(list((project.folder / "results/data/raw/refused").iterdir())) == 1
    said = project.refused("--cores", "1", TARGETS[0], "--config", "data={source: mirror}")
    assert "data.source is mirror, but no mirror directory is named" in said


def test_a_mirror_of_the_config_is_used(untouched: Any, tmp_path: Path) -> None:
    project = untouched
    mirror = ("--config", f"data={{source: mirror, mirror: {project.mirror}}}")
    project.made("--cores", "1", TARGETS[0], *mirror)
    assert kept(project)["kind"] == "published"
