"""The page of options is written from the models of a config, and each option has a meaning."""

import re
from collections.abc import Iterator
from pathlib import Path
from typing import Annotated, Literal

import pytest
from pydantic import Field

import option_rows
import write_options
from deniable.plans import KINDS, settings_class
from deniable.validation import Name, Probability, Strict

from reproduction.papers import ANALYSES, TABLES
from reproduction.pipeline.config import AnalysesConfig, Config, StudiesConfig

ROOT = Path(__file__).resolve().parents[2]
PAGE = write_options.page()
Number = Annotated[int, Field(ge=2)]
"""Number of parts."""


def models_below(model: option_rows.Model) -> Iterator[option_rows.Model]:
    """Yield a model and all models of its options."""
    yield model
    for field in model.model_fields.values():
        for inner in option_rows.models_in(field.annotation):
            yield from models_below(inner)


MODELS = sorted(
    {each for model in (Config, *map(settings_class, KINDS)) for each in models_below(model)},
    key=lambda model: model.__name__,
)


@pytest.mark.parametrize("model", MODELS, ids=lambda model: model.__name__)
def test_every_option_has_a_meaning_and_a_row(model: option_rows.Model) -> None:
    start = "### " if model is AnalysesConfig else r"\| "
    for name, field in model.model_fields.items():
        assert option_rows.meaning(model, name).endswith("."), name
        assert re.search(rf"^{start}`{field.alias or name}`", PAGE, re.MULTILINE), name


def test_every_model_has_a_section() -> None:
    shown = {about for _, about in write_options.SECTIONS if not isinstance(about, str)}
    studies = {*models_below(StudiesConfig), *models_below(AnalysesConfig)}
    assert set(MODELS) - studies <= shown


def test_the_page_of_the_config_names_the_tables_of_each_study() -> None:
    """All but the ones with only the table of its own name."""
    tables: dict[str, set[str]] = {}
    for table in TABLES.values():
        tables.setdefault(table.study, set()).add(table.id)
    for analysis in ANALYSES.values():
        for path in analysis.settings:
            tables.setdefault(path.partition(".")[2], set()).update(t.id for t in analysis.tables)
    text = (ROOT / "config" / "README.md").read_text(encoding="utf-8")
    section = text.partition("\n## Studies and analyses\n")[2].partition("\n## ")[0]
    rows = re.findall(r"^\| (`.*) \| (`.*) \|$", section, re.MULTILINE)
    named = {
        name: set(re.findall(r"`(\w+)`", of))
        for names, of in rows
        for name in re.findall(r"`(\w+)`", names)
    }
    assert named == {name: of for name, of in tables.items() if of != {name}}


class Base(Strict):
    """A base."""

    kind: Literal["base"]
    """The kind of
    all."""
    inherited: float | None = None
    """From the base ([pram], docs/pram.md#survey-weights). The default is all of it."""


class Options(Base):
    """A model."""

    parts: Number = 12_000
    names: list[Name] = Field(default_factory=list)
    pair: Annotated[list[Probability], Field(min_length=2, max_length=2)]
    """Two numbers."""
    yes: bool = True
    loss: Literal["first", "second"] = Field("first", alias="other")
    above: Annotated[float, Field(gt=0)] | Literal["none"] | None = None
    more: dict[str, str] | None = None
    within: list[Base] = Field(default_factory=list)


def test_rows_state_values_defaults_and_meanings() -> None:
    assert option_rows.rows(Options, {"Base": "bases"}) == [
        ("`kind`", "`base`", "required", "The kind of all."),
        (
            "`inherited`",
            "number",
            "all of it",
            "From the base ([pram], [survey weights](pram.md#survey-weights)).",
        ),
        ("`parts`", "2 or more", "12,000", "Number of parts."),
        ("`names`", "list of names, at most 200 characters", "none", ""),
        ("`pair`", "list of 2: (0, 1)", "required", "Two numbers."),
        ("`yes`", "`true`, `false`", "`true`", ""),
        ("`other`", "`first`, `second`", "`first`", ""),
        ("`above`", "above 0 or `none`", "none", ""),
        ("`more`", "section of text", "none", ""),
        ("`within`", "list of [sections](#bases)", "none", ""),
    ]
