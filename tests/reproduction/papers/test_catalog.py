"""Studies, tables and figures name each other without a gap, and rows by all that tells them."""

import inspect
import re
import warnings
from collections.abc import Callable
from functools import cache, partial
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest
import yaml
from tests.simulations import outputs_of, simulated_whole
from tests.slow_variants import one_in

from deniable.datasets.manifest import load_manifest
from deniable.datasets.networks import drawn_file, from_resources
from deniable.errors import ConfigError
from deniable.records.categorical import Microdata
from deniable.records.numeric import NumericMicrodata

from reproduction.papers.catalog import (
    ANALYSES,
    AUDITS,
    COMPUTED_TABLES,
    DRAWN_BY,
    FIGURES,
    MADE_BY,
    PAGES,
    STUDIES,
    TABLES,
)
from reproduction.papers.multirr.catalog import PRINTED_RUNS
from reproduction.pipeline.config import Config, StudiesConfig, validate
from reproduction.pipeline.plan import RunPlan
from reproduction.study.catalog import StudyTable, resolve
from reproduction.study.engine import compare, in_order, plotted
from reproduction.study.grid import cells_of_grids
from reproduction.study.published import read_published

ROOT = Path(__file__).resolve().parents[3]
PUBLISHED = ROOT / "resources" / "published"
FEW = {"blocks": 2}  # of a run of RRBA that is looked at for its names alone
ON_REQUEST = {name for name, table in TABLES.items() if table.on_request}


@pytest.fixture
def config(config_values: dict[str, Any]) -> Config:
    return validate(config_values)


@pytest.fixture
def whole_config(config_values: dict[str, Any]) -> Config:
    """Return a config with the cells of what is made on request only, of a grid that is small."""
    sweep = yaml.safe_load((ROOT / "config" / "sweep.yaml").read_text("utf-8"))
    sweep["studies"]["multirr_sweep"]["grids"][0] |= {"records": [50, 200], "p": [0.3, 0.7]}
    config_values["studies"] |= sweep["studies"]
    config_values["studies"]["multirr_exploration"]["ordinal"] = []  # of records that are made up
    config_values["studies"]["multirr_epsilon"]["few"] = ["colour", "smokes"]
    return validate(config_values)


def numbers() -> NumericMicrodata:
    """Return records with the attributes that Figures 5 and 6 of [idp] look at."""
    values = np.random.default_rng(5).gamma(2, 1, (500, 3)).round(2)
    labels = (values.sum(axis=1) > 6).astype(int)
    return NumericMicrodata(("FICA", "alcohol", "width"), values, "size", ("s", "l"), labels)


@cache
def network_file(name: str) -> Microdata:
    """Return a file of [rrba] as its rule draws it."""
    return drawn_file(name, partial(from_resources, folder=ROOT / "resources" / "networks"))


@pytest.fixture
def data_of(small_data: Microdata, adult_like: Microdata) -> Callable[[str], Any]:
    """Return records that a study takes: those of [pram] are about attributes of Adult."""

    def found(study: str) -> Any:
        if study.startswith("idp_"):
            return numbers()
        if study.startswith("rrba_"):
            names = [name.rpartition("/")[2] for name in STUDIES[study].datasets]
            return {name: network_file(name) for name in names} or None
        if study == "multirr_joint":
            return dict.fromkeys(("adult", "survey", "alarm", "child"), small_data)
        return adult_like if study.startswith("pram_") else small_data

    return found


def plan_of(config: Config) -> RunPlan:
    return RunPlan(config, ROOT, load_manifest(ROOT / "resources" / "datasets.yaml"))


def rows_of(table: StudyTable, config: Config, data: Any) -> list[dict[str, Any]]:
    """Return what names each row of a table under a config, without its numbers."""
    settings = config.study(table.study)
    simulator = STUDIES[table.study].on(data, settings.model_dump() | FEW)
    rows = [cell | output for cell in settings.cells() for output in named_by(simulator, cell)]
    return [row for row in rows if table.holds(row)]


def named_by(simulator: Any, cell: Any) -> list[dict[str, Any]]:
    """Return what names each row of a cell: its outputs, and comparisons of them."""
    with warnings.catch_warnings(action="ignore", category=RuntimeWarning):  # singular channels
        outputs = outputs_of(simulator, cell)
    return outputs + [dict(name) for name, *_ in simulator.compared(outputs)]


def table_of(table: StudyTable, config: Config, data: Any) -> pd.DataFrame:
    """Return a table as its rules make it, from 6 runs of its first cell."""
    study = STUDIES[table.study]
    settings = config.study(table.study).model_dump()
    settings |= {"replicates": 6, "most_replicates": None}
    first = next(cell for cell in cells_of_grids(settings["grids"]) if table.holds(cell))
    results = simulated_whole(
        study.on(data, settings),
        table.study,
        [{name: [value] for name, value in first.items()}],
        6,
        summary=study.summary,
    ).assign(data_source="original")
    results = in_order(results[[table.holds(r) for r in results.to_dict("records")]], [first])
    printed = None
    if table.published:
        printed = read_published(PUBLISHED / f"{table.published[0]}.csv", study.published_column)
    if table.reshape:
        results = resolve(table.reshape)(results)
    if table.finish:
        made: pd.DataFrame = resolve(table.finish)(results, printed)
        return made
    if printed is None:
        return plotted(results, table.keys, table.value or study.summary)
    return compare(results, printed, table.keys, study.published_replicates)


# -- names -----------------------------------------------------------------------------------------


def test_every_study_of_the_config_is_one_with_a_table() -> None:
    assert set(STUDIES) == set(StudiesConfig.model_fields)
    assert {table.study for table in TABLES.values()} == set(STUDIES)


def test_every_table_goes_by_its_own_name() -> None:
    assert [table.id for table in TABLES.values()] == list(TABLES)
    assert len({table.title for table in TABLES.values()}) == len(TABLES)
    assert not set(TABLES) & set(COMPUTED_TABLES)
    made = [table.id for analysis in ANALYSES.values() for table in analysis.tables]
    assert len(set(made)) == len(made)


def test_every_figure_is_drawn_from_tables_that_are_made() -> None:
    for figure in FIGURES.values():
        assert set(figure.tables) <= {*TABLES, *COMPUTED_TABLES}, figure.id
        parameters = inspect.signature(resolve(figure.draw)).parameters
        if not any(each.kind is each.VAR_POSITIONAL for each in parameters.values()):
            assert len(set(parameters) - set(figure.options)) == len(figure.tables), figure.id


def test_every_section_is_prepared_from_tables_that_are_made() -> None:
    sections = [section for page in PAGES for section in page.sections]
    assert len({section.id for section in sections}) == len(sections)
    for section in sections:
        assert set(section.needs) <= {*TABLES, *COMPUTED_TABLES, *AUDITS}, section.id
        if section.prepare:
            parameters = inspect.signature(resolve(section.prepare)).parameters
            assert len(set(parameters) - set(section.options)) == 1, section.id


def test_every_string_of_the_catalogs_names_code() -> None:
    """Types end at the strings; this test takes their place."""
    for study in STUDIES.values():
        assert callable(resolve(study.simulator))
    for table in TABLES.values():
        assert all(callable(resolve(place)) for place in (table.reshape, table.finish) if place)
    for figure in FIGURES.values():
        assert callable(resolve(figure.draw))
    for file in (*MADE_BY.values(), *DRAWN_BY.values()):
        assert (ROOT / file).is_file()


def rule_of(name: str) -> str:
    """Return the text of the rule of an analysis."""
    rules = (ROOT / "workflow" / "rules" / f"{name.split('_', maxsplit=1)[0]}.smk").read_text(
        "utf-8"
    )
    return rules.partition(f"\nrule {name}:\n")[2].partition("\n\n\nrule ")[0]


def test_the_rule_of_an_analysis_declares_the_inputs_and_outputs_of_the_catalog() -> None:
    made: set[str] = set(TABLES)
    for analysis in ANALYSES.values():
        assert set(analysis.needs) <= made, "an analysis comes after the analyses that it needs"
        made |= {table.id for table in analysis.tables}
        rule = rule_of(analysis.name)
        assert {*re.findall(r"results/tables/(\w+)\.csv", rule.partition("output:")[2])} == {
            table.id for table in analysis.tables
        }
        for name in (*analysis.data, *analysis.needs):
            assert re.search(rf"\b{name.rpartition('/')[2]}\b", rule.partition("output:")[0]), name
    printed = STUDIES["multirr_tables"].published_replicates
    assert printed == PRINTED_RUNS


def test_every_printed_table_is_there_to_be_read() -> None:
    for table in TABLES.values():
        study = STUDIES[table.study]
        for name in table.published:
            printed = read_published(PUBLISHED / f"{name}.csv", study.published_column)
            text_004 = table.id.startswith("rrba_")
            assert len(printed) == {"rrba_table3": 18, "rrba_table4": 16, "rrba_table5": 24}.get(
                table.id, 36
            )
            about = {"published", "half_unit", "epsilon_claimed"}
            assert set(printed) - about <= set(table.keys)
            assert study.published_replicates == (100 if text_004 else 1000)
    # What is drawn only has no printed numbers to be held against.
    assert {t.id for t in TABLES.values() if t.published} == {
        "multirr_table1",
        "multirr_table2",
        "multirr_sensitivity",
        "multirr_exploration",
        "rrba_table3",
        "rrba_table4",
        "rrba_table5",
    }


# -- rows and columns ------------------------------------------------------------------------------


@pytest.mark.parametrize("name", TABLES)
def test_the_keys_of_a_table_name_one_row(
    whole_config: Config, data_of: Callable[[str], Any], name: str
) -> None:
    table = TABLES[name]
    if table.finish or table.reshape:  # which may give it rows and columns of its own
        made = table_of(table, whole_config, data_of(table.study))
        keys = list(made[list(table.keys)].itertuples(index=False, name=None))
    else:
        rows = rows_of(table, whole_config, data_of(table.study))
        keys = [tuple(row[key] for key in table.keys) for row in rows]
    assert len(set(keys)) == len(keys) > 0


def test_no_number_is_simulated_for_no_table(
    whole_config: Config, data_of: Callable[[str], Any]
) -> None:
    for name, study in STUDIES.items():
        settings = whole_config.study(name)
        simulator = study.on(data_of(name), settings.model_dump() | FEW)
        tables = [table for table in TABLES.values() if table.study == name]
        for cell in settings.cells():
            for output in named_by(simulator, cell):
                row = cell | output
                assert any(table.holds(row) for table in tables), row


@pytest.mark.parametrize("name", one_in(3, TABLES))
def test_the_keys_are_the_first_columns_of_what_is_made(
    whole_config: Config, data_of: Callable[[str], Any], name: str
) -> None:
    table = TABLES[name]
    made = table_of(table, whole_config, data_of(table.study))
    if not (table.finish or table.reshape):
        assert list(made)[: len(table.keys)] == list(table.keys)
    number = "regenerated" if table.published else table.value or STUDIES[table.study].summary
    assert {number, "ci_low", "ci_high", "replicates", "data_source"} <= set(made)
    assert not made.duplicated(list(table.keys)).any()
    assert set(made["replicates"]) == {6}


@pytest.mark.parametrize(
    ("name", "columns"),
    [
        ("multirr_fig2", "estimator sigma measure median ci_low ci_high replicates"),
        (
            "multirr_fig3",
            "mechanism t_v t_d p sigma method median ci_low ci_high replicates",
        ),
        (
            "multirr_table1",
            "dataset matrix mechanism projection p t_d t_v published regenerated ci_low ci_high "
            "replicates data_source verdict",
        ),
    ],
)
def test_the_columns_that_were_agreed_on_come_first(
    config: Config, small_data: Microdata, name: str, columns: str
) -> None:
    expected = columns.split()
    assert list(table_of(TABLES[name], config, small_data))[: len(expected)] == expected


def test_what_is_drawn_beside_the_columns_of_a_table_is_there(
    config: Config, small_data: Microdata
) -> None:
    # As the docstrings of `reproduction.papers.multirr.figures` ask for them.
    for name, columns in {
        "multirr_fig2": {"p", "data_source"},
        "multirr_fig3": {"best", "data_source"},
        "multirr_gains": {"p", "matrix", "data_source"},
        "multirr_projections": {"best", "matrix", "data_source"},
    }.items():
        assert columns <= set(table_of(TABLES[name], config, small_data))


def test_the_tables_of_figure_3_hold_what_they_say(config: Config, small_data: Microdata) -> None:
    found = {
        name: table_of(TABLES[name], config, small_data)
        for name in ("multirr_fig3", "multirr_projections", "multirr_adjustment")
    }
    cells = 9 * 4  # coverages, methods
    assert len(found["multirr_fig3"]) == cells
    assert set(found["multirr_fig3"]["projection"]) == {"clip"}
    assert len(found["multirr_projections"]) == 3 * cells
    assert set(found["multirr_projections"]["measure"]) == {"relative_error"}
    assert len(found["multirr_adjustment"]) == 3 * 2 * 3  # projections, adjustments, what is told
    assert set(found["multirr_adjustment"]["measure"]) == {"sweeps", "gap", "left_out"}
    same = ["mechanism", "t_v", "t_d", "p", "sigma", "method", "median"]
    clip = found["multirr_projections"].query("projection == 'clip'")
    pd.testing.assert_frame_equal(
        clip[same].reset_index(drop=True), found["multirr_fig3"][same].reset_index(drop=True)
    )


def test_a_table_holds_what_its_conditions_say() -> None:
    table = StudyTable("t", "s", "T", ("a",), (), {"a": 1, "b": ("x", "y")})
    assert table.holds({"a": 1, "b": "x"})
    assert table.holds({"a": 1, "b": "y", "c": 9})
    assert not table.holds({"a": 2, "b": "x"})
    assert not table.holds({"a": 1, "b": "z"})
    # Outputs are named after their cell: what it lacks decides nothing yet.
    assert table.holds({"a": 1})
    assert StudyTable("t", "s", "T", ("a",)).holds({"a": 3})


# -- what a config asks for ------------------------------------------------------------------------


def test_the_committed_config_asks_for_everything(config: Config) -> None:
    plan = plan_of(config)
    assert plan.tables() == [name for name in TABLES if name not in ON_REQUEST]
    assert plan.figures() == [
        name for name, figure in FIGURES.items() if not set(figure.tables) & ON_REQUEST
    ]
    assert plan.analyses == list(ANALYSES.values())
    assert plan.computed_tables() == list(COMPUTED_TABLES)
    for table in plan.tables():
        assert plan.chunks(table)


@pytest.mark.parametrize(
    ("study", "changes", "without"),
    [
        ("multirr_tables", {"dataset": ["adult"]}, {"multirr_table2"}),
        ("multirr_tables", {"dataset": ["adult6"]}, {"multirr_table1"}),
    ],
)
def test_what_a_config_leaves_out_is_not_made(
    config_values: dict[str, Any], study: str, changes: dict[str, Any], without: set[str]
) -> None:
    for grid in config_values["studies"][study]["grids"]:
        grid.update(changes)
    plan = plan_of(validate(config_values))
    left_out = without | ON_REQUEST
    assert set(TABLES) - set(plan.tables()) == left_out
    assert set(FIGURES) - set(plan.figures()) == {
        name for name, figure in FIGURES.items() if left_out & set(figure.tables)
    }
    # Claims are held against all tables, or not at all; what counts cells takes those there are.
    claims = {"multirr_claims", "multirr_claim_readings"}
    assert set(COMPUTED_TABLES) - set(plan.computed_tables()) == claims
    read = plan.made_tables(*ANALYSES["multirr_agreement"].needs)
    assert {Path(file).stem for file in read} == {
        "multirr_table1",
        "multirr_table2",
        "multirr_sensitivity",
        "multirr_exploration",
    } - without


@pytest.mark.parametrize(
    ("study", "section", "option", "value", "said"),
    [
        ("multirr_fig3", None, "projections", ["simplex"], "allowed: with clip, which is plotted"),
        ("multirr_fig2", 0, "projection", ["simplex"], "allowed: with clip, which is plotted"),
        (
            "multirr_fig2",
            0,
            "p",
            [0.5, 0.7],
            "p takes the values 0.5, 0.7; allowed: one, as in the paper",
        ),
        ("multirr_fig2", 0, "matrix", ["printed", "keep"], "matrix takes the values keep, printed"),
        ("multirr_fig3", 0, "matrix", ["printed", "keep"], "matrix takes the values keep, printed"),
    ],
)
def test_what_a_figure_could_not_show_is_refused(
    config_values: dict[str, Any],
    study: str,
    section: int | None,
    option: str,
    value: Any,
    said: str,
) -> None:
    settings = config_values["studies"][study]
    (settings if section is None else settings["grids"][section])[option] = value
    with pytest.raises(ConfigError, match=said):
        validate(config_values)
