"""A run that reports are made of."""

import dataclasses
from collections.abc import Iterator
from functools import partial
from pathlib import Path

import pytest
from jinja2 import FileSystemBytecodeCache
from tests.reproduction.report.made_run import CONFIG, claims_tables, results, write_run

from deniable.datasets.resolve import ResolvedFile
from deniable.records.categorical import Microdata

from reproduction.report import render as report
from reproduction.report.contents import Contents, gather


@pytest.fixture(scope="session", autouse=True)
def _compiled_once(tmp_path_factory: pytest.TempPathFactory) -> Iterator[None]:
    """Compile each template once, for all pages."""
    cache = FileSystemBytecodeCache(str(tmp_path_factory.mktemp("templates")))
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(report, "environment", partial(report.environment, cache))
        yield


@pytest.fixture(scope="session")
def run_folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Where the results of the run are."""
    return tmp_path_factory.mktemp("run")


@pytest.fixture(scope="session")
def contents(small_data: Microdata, run_folder: Path) -> Contents:
    return gather(write_run(run_folder, small_data), CONFIG)


@pytest.fixture(scope="session")
def of_surrogate(contents: Contents) -> Contents:
    tables = {
        name: table.assign(data_source="surrogate") if "data_source" in table else table
        for name, table in contents.tables.items()
    }
    changed = {
        "multirr_table1": results("adult", surrogate=True),
        "multirr_table2": results("adult6", surrogate=True),
        "multirr_sensitivity": tables["multirr_sensitivity"].assign(verdict="surrogate"),
        "multirr_exploration": tables["multirr_exploration"].assign(verdict="surrogate"),
        **claims_tables(surrogate=True),
    }
    counted = tables["multirr_agreement"]
    changed["multirr_agreement"] = counted.assign(surrogate=counted["cells"], agrees=0, differs=0)
    sources = {"adult.data": ResolvedFile("surrogate", None)}
    return dataclasses.replace(contents, tables=tables | changed, sources=sources)
