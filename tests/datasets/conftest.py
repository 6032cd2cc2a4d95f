"""What tests of data sets share: a server of faults, a data set, a folder for its file."""

from collections.abc import Iterator
from pathlib import Path

import pytest
from tests.datasets.colours import ENTRY, Server, serving, write_manifest

from deniable.datasets.manifest import Dataset, load_manifest
from deniable.files import write_json


@pytest.fixture
def server(monkeypatch: pytest.MonkeyPatch) -> Iterator[Server]:
    monkeypatch.setenv("NO_PROXY", "127.0.0.1")
    with serving() as running:
        yield running


@pytest.fixture
def target(tmp_path: Path) -> Path:
    return tmp_path / "data" / "colours.data"


@pytest.fixture
def dataset(tmp_path: Path) -> Dataset:
    """Give the data set of a manifest whose surrogate is there."""
    write_json(tmp_path / "resources" / "surrogates" / "colours.json", {"probabilities": [1]})
    return load_manifest(write_manifest(tmp_path / "resources", {"colours": ENTRY}))["colours"]


@pytest.fixture
def mirror(tmp_path: Path) -> Path:
    folder = tmp_path / "mirror"
    folder.mkdir()
    return folder
