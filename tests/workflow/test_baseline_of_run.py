"""A whole run as a baseline: every table has the columns that are kept, and equals itself."""

from pathlib import Path
from typing import Any

import pytest
import yaml
from snakemake.utils import update_config

from baseline import kept as baseline
from baseline.comparison import compare
from deniable.errors import DataError

from reproduction.papers.catalog import names_of_tables
from reproduction.pipeline.config import Config, validate

pytestmark = pytest.mark.workflow


@pytest.fixture
def results(finished: Any) -> Path:
    folder: Path = finished[0].folder / "results"
    return folder


@pytest.fixture
def tiny(finished: Any, config_values: dict[str, Any]) -> Config:
    values = yaml.safe_load((finished[0].folder / "tiny.yaml").read_text(encoding="utf-8"))
    update_config(config_values, values)
    return validate(config_values)


def test_a_run_equals_the_baseline_that_it_made(
    results: Path, tiny: Config, tmp_path: Path
) -> None:
    run = baseline.of_run(results, tiny)
    files = baseline.write(run, tmp_path)
    assert {file.parent.name for file in files} == {"any", "surrogate"}
    kept = baseline.read(tmp_path, run)
    found = compare(kept, run)
    assert set(kept.tables) == set(names_of_tables())
    assert (found.findings, found.remarks, found.not_compared) == ([], [], [])
    assert found.tables == found.identical == len(names_of_tables())
    assert {"adult", "census", "wine"} <= set(run.facts["surrogate"].records)
    assert "networks/survey" in run.facts["any"].records


def test_a_run_of_another_size_is_refused(results: Path, config_values: dict[str, Any]) -> None:
    with pytest.raises(DataError, match="not the quick one; run make quick"):
        baseline.of_run(results, validate(config_values))
