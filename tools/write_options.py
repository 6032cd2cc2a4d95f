"""Write docs/options.md from the models of a config, or check that it is up to date.

write_options.py [--check]

`option_rows.py` takes the meanings from the texts below the fields of the models.
"""

import inspect
import re
import sys
from collections import Counter, defaultdict
from collections.abc import Iterable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import get_args

import option_rows
from deniable.plans import KINDS, settings_class
from deniable.release import ReleaseSettings
from generated import write_or_check
from option_rows import Model, Row, linked, meaning, models_in

from reproduction.pipeline import Config
from reproduction.study import StudySettings

PAGE = Path(__file__).resolve().parents[1] / "docs" / "options.md"
START = """# Options

On this page you can look up every option of a config. `tools/write_options.py` writes it from the
models that check configs. [The config](../config/README.md) explains files, data sets and risks.

In the tables, (0, 1] excludes 0 and includes 1. Ranges such as 2 to 10 are whole numbers. A list
has entries of the stated kind. A name has letters, digits, `_` and `-`, and begins with a letter or
a digit.
"""
COLUMNS = settings_class("columns")


def _part(model: Model, name: str) -> Model:
    """Return the first model of an option, given by the `name` of its field."""
    return models_in(model.model_fields[name].annotation)[0]


STUDIES, ANALYSES = _part(Config, "studies"), _part(Config, "analyses")
ITEMS = _part(ReleaseSettings, "item_sets")
MATRICES = models_in(COLUMNS.model_fields["matrix"].annotation)
SECTIONS: Sequence[tuple[str, Model | str]] = (
    ("## Top level", Config),
    ("## `data`", _part(Config, "data")),
    ("## `keys`", _part(Config, "keys")),
    ("## `releases`", ReleaseSettings),
    ("### Sweeps of releases", models_in(Config.model_fields["entries"].annotation)[1]),
    ("### `file`", _part(ReleaseSettings, "file")),
    ("### `item_sets`", ITEMS),
    ("### `rules`", _part(ITEMS, "rules")),
    ("## Plans", "The option `plan` of a release has a `kind`, and the options of this kind."),
    *((f"### `{kind}`", settings_class(kind)) for kind in KINDS),
    ("### Parts", _part(COLUMNS, "part")),
    ("### Errors", _part(COLUMNS, "within")),
    ("### Clusters", _part(COLUMNS, "clusters")),
    ("### Matrices", "The option `matrix` of a plan has a `kind`, and the options of this kind."),
    *(
        (f"#### Kind `{get_args(each.model_fields['kind'].annotation)[0]}`", each)
        for each in MATRICES
    ),
)
ANCHORS = {
    about.__name__: heading.strip("#` ").lower().replace(" ", "-")
    for heading, about in SECTIONS
    if not isinstance(about, str)
} | {each.__name__: "matrices" for each in MATRICES}
ANCHORS |= {STUDIES.__name__: "studies", ANALYSES.__name__: "analyses"}
OPTIONS = ("option", "type or allowed values", "default", "meaning")


def page() -> str:
    """Return the page: a section for each part of a config, with a table of its options."""
    parts = [START]
    for heading, about in SECTIONS:
        parts.append(
            f"{heading}\n\n{about}\n" if isinstance(about, str) else _section(heading, about)
        )
    text = "\n".join([*parts, *_studies(), *_analyses()])
    cited = sorted(set(re.findall(r"\[(idp|multirr|pram|rrba)\](?!\()", text)))
    return "\n".join([text, *(f"[{each}]: references.md#{each}" for each in cited)])


def _section(heading: str, model: Model) -> str:
    return "\n".join([f"{heading}\n\n{_about(model)}\n", _table(OPTIONS, new_rows(model))])


def _about(model: Model) -> str:
    return linked(inspect.getdoc(model) or "")


def rows(model: Model) -> list[Row]:
    """Return the options of a `model`."""
    return option_rows.rows(model, ANCHORS)


def new_rows(model: Model) -> list[Row]:
    """Return the options of a `model`, without options that all releases or all studies have."""
    shared = [each for each in (ReleaseSettings, StudySettings) if each in model.__mro__[1:]]
    known = [row for each in shared for row in rows(each)]
    return [row for row in rows(model) if row not in known]


def _table(header: Sequence[str], lines: Iterable[Sequence[str]]) -> str:
    found = [" | ".join(line) for line in lines]
    top = [f"| {' | '.join(header)} |", f"|{'---|' * len(header)}"] if found else []
    return "\n".join([*top, *(f"| {line} |".replace("|  |", "| |") for line in found), ""])


def _studies() -> Iterator[str]:
    """Yield the sections of studies: the shared options, then the options of each paper."""
    section = STUDIES
    yield f"## `studies`\n\n{_about(section)}\n"
    yield _table(OPTIONS, rows(StudySettings))
    papers: dict[str, dict[str, Model]] = defaultdict(dict)
    for name, field in section.model_fields.items():
        papers[name.partition("_")[0]][name] = models_in(field.annotation)[0]
    for paper, studies in papers.items():
        own = {name: new_rows(each) for name, each in studies.items()}
        grids = {name: _grid(each) for name, each in studies.items()}
        listed = (
            (f"`{name}`", linked(meaning(section, name)), _names(own[name]), _names(grids[name]))
            for name in studies
        )
        yield f"### `{paper}`\n"
        yield _table(("study", "content", "options", "in a grid"), listed)
        yield _table(OPTIONS, _merged(own))
        yield "A grid has these options:\n"
        yield _table(OPTIONS, _merged(grids))
        for name, each in studies.items():
            yield from _inner(name, each)


def _inner(name: str, study: Model) -> Iterator[str]:
    """Yield sections of options of a study, called `name`, that have options of their own."""
    for option, field in study.model_fields.items():
        for model in models_in(field.annotation) if option != "grids" else []:
            yield _section(f"#### `{option}` of `{name}`", model)


def _grid(study: Model) -> list[Row]:
    (grid,) = models_in(study.model_fields["grids"].annotation)
    return rows(grid)


def _names(found: Iterable[Row]) -> str:
    return ", ".join(row.option for row in found)


def _merged(found: Mapping[str, Iterable[Row]]) -> list[Row]:
    """Return each option of studies once, with names of a few studies in which it is different."""
    studies: dict[Row, list[str]] = defaultdict(list)
    for study, options in found.items():
        for row in options:
            studies[row].append(f"`{study}`")
    total = Counter(row.option for options in found.values() for row in options)
    order = list(total)
    return [
        row if 2 * len(names) > total[row.option] else _of(row, names)
        for row, names in sorted(studies.items(), key=lambda each: order.index(each[0].option))
    ]


def _of(row: Row, studies: Iterable[str]) -> Row:
    return Row(f"{row.option} of {', '.join(studies)}", *row[1:])


def _analyses() -> Iterator[str]:
    """Yield the sections of analyses, each with its options."""
    section = ANALYSES
    yield f"## `analyses`\n\n{_about(section)}\n"
    for name, field in section.model_fields.items():
        yield f"### `{name}`\n\n{linked(meaning(section, name))}\n"
        yield _table(OPTIONS, rows(models_in(field.annotation)[0]))


def main(arguments: list[str]) -> int:
    """Write the page; with ``--check`` return 1 if it is outdated, and write nothing."""
    text = page().rstrip("\n") + "\n"
    return write_or_check(PAGE, text, arguments, "tools/write_options.py")


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
