"""config/sweep.yaml is the sweep that docs/sweeps.md describes; faults of a sweep are named."""

import re
from pathlib import Path
from typing import Any

import pytest
import yaml

from deniable.errors import ConfigError

from reproduction.pipeline.config import Config, validate

ROOT = Path(__file__).resolve().parents[3]


def sweep(values: dict[str, Any], **changes: Any) -> Config:
    told = yaml.safe_load((ROOT / "config" / "sweep.yaml").read_text(encoding="utf-8"))
    studies = values["studies"] | {"multirr_sweep": told["studies"]["multirr_sweep"] | changes}
    return validate(values | {"studies": studies})


def test_the_sweep_has_a_thousand_cells_in_jobs_for_a_queue(config_values: dict[str, Any]) -> None:
    study = sweep(config_values).studies.multirr_sweep
    assert len(study.cells()) * len(study.t_v) * len(study.t_d) == 1000
    assert 20 <= study.chunks <= 100
    # Chunks of one size.
    assert len(study.cells()) % study.chunks == 0


def test_the_page_shows_the_file_as_it_is() -> None:
    page = (ROOT / "docs" / "sweeps.md").read_text(encoding="utf-8")
    shown = re.findall(r"```yaml\n(.*?)```", page, re.DOTALL)[0]
    told = yaml.safe_load((ROOT / "config" / "sweep.yaml").read_text(encoding="utf-8"))
    assert yaml.safe_load(shown) == told


def test_without_a_grid_there_is_no_sweep(config_values: dict[str, Any]) -> None:
    assert validate(config_values).studies.multirr_sweep.cells() == []


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        ({"t_v": []}, r"t_v: \[\]; allowed: a list with at least one entry"),
        ({"t_d": [0.1, 0.1]}, r"t_d: \[0\.1, 0\.1\]; allowed: each value once"),
        ({"t_v": [401]}, r"t_v\[0\]: 401; allowed: at most 400"),
    ],
)
def test_thresholds_that_make_no_sweep_are_named(
    config_values: dict[str, Any], changes: dict[str, Any], message: str
) -> None:
    with pytest.raises(ConfigError, match=message):
        sweep(config_values, **changes)


def test_too_few_records_are_refused(config_values: dict[str, Any]) -> None:
    grid = {"matrix": ["keep"], "mechanism": ["joint"], "projection": ["clip"], "p": [0.5]}
    with pytest.raises(ConfigError, match=r"records\[0\]: 1; allowed: at least 10"):
        sweep(config_values, grids=[grid | {"records": [1]}])
