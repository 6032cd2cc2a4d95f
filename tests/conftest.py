"""What tests of several modules share."""

import copy
import os
import subprocess
import sys
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import yaml
from hypothesis import settings
from selenium import webdriver
from tests.chromium import start

from deniable.datasets import networks, surrogates
from deniable.records.categorical import Microdata
from deniable.records.domain import Attribute, Domain

ROOT = Path(__file__).resolve().parents[1]
# The same examples in every run, with no deadline: machines are shared. To look for others:
#   pytest --hypothesis-profile=default --hypothesis-seed=N
settings.register_profile("deniable", derandomize=True, deadline=None)
settings.load_profile("deniable")


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """Put whole runs first: at the end, other cores would be idle while the longest go on."""
    items.sort(key=lambda item: item.get_closest_marker("workflow") is None)


@pytest.fixture(scope="session")
def committed_config() -> Any:
    return yaml.safe_load((ROOT / "config" / "config.yaml").read_text(encoding="utf-8"))


@pytest.fixture
def config_values(committed_config: dict[str, Any]) -> dict[str, Any]:
    """The committed config, as YAML gives it; a copy that a test may spoil."""
    return copy.deepcopy(committed_config)


@pytest.fixture(scope="session")
def small_data() -> Microdata:
    """500 records over four attributes that depend on each other: 3 x 2 x 4 x 2 cells."""
    generator = np.random.default_rng(20211121)
    first = generator.choice(3, 500, p=[0.5, 0.3, 0.2])
    second = np.where(generator.random(500) < 0.7, first > 0, generator.random(500) < 0.5)
    third = (first + generator.choice(4, 500, p=[0.6, 0.2, 0.1, 0.1])) % 4
    fourth = generator.random(500) < 0.3
    domain = Domain(
        (
            Attribute("colour", ("blue", "red", "green")),
            Attribute("smokes", ("no", "yes")),
            Attribute("region", ("N", "E", "S", "W")),
            Attribute("owner", ("no", "yes")),
        )
    )
    columns = (first, second.astype(int), third, fourth.astype(int))
    return Microdata(domain, columns, {"data_source": "original"})


@pytest.fixture(scope="session")
def adult_like() -> Microdata:
    """3,000 records with Adult's attributes, drawn from its surrogate."""
    network = networks.read(ROOT / "resources" / "surrogates" / "adult.json")
    drawn = surrogates.sample(network, 3000, np.random.default_rng(20211121))
    return Microdata(drawn.domain, drawn.columns, {"data_source": "surrogate"})


Environment = Callable[..., dict[str, str]]


@pytest.fixture(scope="session")
def environment(tmp_path_factory: pytest.TempPathFactory) -> Environment:
    """Return what a run's process sees: no mirror, no proxy, no cluster.

    The Slurm plugin asks ``scontrol`` whenever Snakemake starts, and waits 10 s for a controller
    that does not answer; the one here has nothing to say.
    """
    folder = tmp_path_factory.mktemp("bin")
    (folder / "scontrol").write_text("#!/bin/sh\nexit 1\n", encoding="utf-8")
    (folder / "scontrol").chmod(0o755)

    def of(library: Path | None = None, **variables: str) -> dict[str, str]:
        kept = {
            name: value
            for name, value in os.environ.items()
            if not name.lower().endswith("_proxy") and name != "DENIABLE_DATA_MIRROR"
        }
        kept.pop("PYTHONDONTWRITEBYTECODE", None)  # a copied library is then compiled once
        kept["PATH"] = f"{folder}{os.pathsep}{kept['PATH']}"
        if library:
            # The copied package of the workflow, not that of an editable installation.
            kept["PYTHONPATH"] = os.pathsep.join(map(str, (library, library.parent / "workflow")))
        return kept | variables

    return of


@pytest.fixture(scope="session")
def snakemake(environment: Environment) -> Callable[..., subprocess.CompletedProcess[str]]:
    """Run Snakemake as a user does, in a folder."""

    def run(
        folder: Path, *arguments: str, library: Path | None = None, **variables: str
    ) -> subprocess.CompletedProcess[str]:
        return subprocess.run(
            [sys.executable, "-m", "snakemake", *arguments],
            cwd=folder,
            env=environment(library, **variables),
            capture_output=True,
            text=True,
            check=False,
            timeout=3600,  # of a whole run on a machine that is busy
        )

    return run


@pytest.fixture(scope="session")
def browser() -> Iterator[webdriver.Chrome]:
    opened = start()
    yield opened
    opened.quit()
