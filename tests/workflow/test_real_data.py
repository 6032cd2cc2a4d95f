"""The default config on the published file: its clusters are those that can be checked by hand."""

import csv
import os
import shutil
from collections import defaultdict
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

ROOT = Path(__file__).resolve().parents[2]
MIRRORS = [os.environ.get("DENIABLE_DATA_MIRROR"), ROOT.parent / "shared" / "data"]

# Algorithm 1 on Adult with nominal attributes; the same for T_d = .1, .2 and .3.
CLUSTERS = {
    "50": {"relationship x sex x income"},
    "100": {"education x income", "marital-status x relationship x sex"},
    "300": {"workclass x occupation", "marital-status x relationship x sex x income"},
}


@pytest.fixture
def mirror() -> Path:
    for folder in MIRRORS:
        if folder and (Path(folder) / "adult.data").is_file():
            return Path(folder).resolve()
    pytest.skip(
        "THE PUBLISHED ADULT FILE IS NOT HERE: set DENIABLE_DATA_MIRROR to a directory with "
        "adult.data (or have ../shared/data); nothing was checked on real data"
    )


@pytest.mark.workflow
@pytest.mark.real_data
def test_the_data_stage_finds_the_clusters_of_the_published_file(
    mirror: Path, tmp_path: Path, snakemake: Callable[..., Any]
) -> None:
    for part in ("workflow", "config", "resources", "docs", "profiles", "src"):
        ignore = shutil.ignore_patterns("__pycache__")
        shutil.copytree(ROOT / part, tmp_path / part, ignore=ignore)
    shutil.copy(ROOT / "Snakefile", tmp_path)
    table = tmp_path / "results" / "tables" / "multirr_clusters.csv"
    done = snakemake(
        tmp_path,
        *("--cores", "1", "results/tables/multirr_clusters.csv"),
        library=tmp_path / "src",
        DENIABLE_DATA_MIRROR=str(mirror),
    )
    assert done.returncode == 0, done.stdout + done.stderr
    found: dict[tuple[str, str], set[str]] = defaultdict(set)
    with table.open(newline="", encoding="utf-8") as stream:
        for row in csv.DictReader(stream):
            assert row["data_source"] == "original"
            if int(row["attributes"]) > 1:
                found[row["t_v"], row["t_d"]].add(row["cluster"])
    assert found == {
        (t_v, t_d): clusters for t_v, clusters in CLUSTERS.items() for t_d in ("0.1", "0.2", "0.3")
    }
