"""The Markdown: links lead somewhere, commands can be given, examples are carried out."""

import re
import shlex
from collections.abc import Iterator
from pathlib import Path
from typing import get_args

import pytest
from pydantic import BaseModel

from deniable.cli.parser import parser
from deniable.plans import KINDS, MECHANISMS, RISKS, settings_class

from reproduction.pipeline.config import Config

ROOT = Path(__file__).resolve().parents[1]
PAGES = [
    *(ROOT / name for name in ("README.md", "CHANGELOG.md", "config/README.md")),
    *sorted((ROOT / "docs").glob("*.md")),
    *sorted((ROOT / "resources").rglob("*.md")),
]
every_page = pytest.mark.parametrize("page", PAGES, ids=lambda p: str(p.relative_to(ROOT)))
BLOCK = re.compile(r"^```(\w+)\n(.*?)^```$", re.MULTILINE | re.DOTALL)
LINK = re.compile(r"\]\(([^)\s]+)\)|^\[[^\]]+\]: (\S+)", re.MULTILINE)
# Where Python of a page is carried out.
CARRIED_OUT = {
    "README.md": "tests/test_public_names.py",
    "docs/tutorial.md": "tests/test_tutorial.py",
    "docs/own-data.md": "tests/test_own_data.py",
    "docs/estimating.md": "tests/test_own_data.py",
    "docs/numbers-and-clusters.md": "tests/plans/test_page.py",
    "docs/pram.md": "tests/plans/test_page.py",
    "docs/rrba.md": "tests/cli/test_rrba.py",
    "docs/secure-sum.md": "tests/cli/test_secure_sum.py",
    "docs/optimized-matrices.md": "tests/design/test_page.py",
    "docs/adding-a-mechanism.md": "tests/workflow/test_adding.py",
    "docs/elsewhere.md": "tests/workflow/test_module.py",
}


COMMANDS = (
    *("schema", "compare", "plan", "ledger", "protect", "estimate", "channel", "design"),
    "secure-sum",
    "rrba",
)


def anchors(page: Path) -> set[str]:
    """Return the anchors that headings get, as GitHub and the site make them."""
    text = BLOCK.sub("", page.read_text(encoding="utf-8"))
    headings = re.findall(r"^#+ (.*)$", text, re.MULTILINE)
    plain = (re.sub(r"[^\w\- ]", "", re.sub(r"\]\([^)]*\)", "", each)) for each in headings)
    return {each.strip().lower().replace(" ", "-") for each in plain}


def lost(page: Path) -> list[str]:
    """Return the links of a page that lead to no file or no heading."""
    text = re.sub(r"`[^`\n]+`", "", BLOCK.sub("", page.read_text(encoding="utf-8")))
    found = []
    for link in ("".join(parts) for parts in LINK.findall(text)):
        path, _, anchor = link.partition("#")
        target = page.parent / path if path else page
        if "://" not in link and (
            not target.exists() or (anchor and anchor not in anchors(target))
        ):
            found.append(link)
    return found


@every_page
def test_links_lead_to_files_and_headings(page: Path) -> None:
    assert lost(page) == []


def test_the_workflow_catalog_finds_both_words() -> None:
    """The catalog of Snakemake lists a project only if its README has them together."""
    assert "Snakemake workflow" in (ROOT / "README.md").read_text(encoding="utf-8")


def test_a_link_that_leads_nowhere_is_found(tmp_path: Path) -> None:
    page = tmp_path / "page.md"
    text = "# A (b) `c`\n\n[1](#a-b-c) [2](#b) [3](gone.md) [4](https://a.example)\n\n[x]: y.md\n"
    page.write_text(text, encoding="utf-8")
    assert lost(page) == ["#b", "gone.md", "y.md"]


def commands(text: str) -> list[str]:
    """Return what a shell is given in a text's blocks."""
    shown = [(kind, block.splitlines()) for kind, block in BLOCK.findall(text)]
    lines = [line for kind, block in shown if kind == "sh" for line in block]
    lines += [
        line[2:] for kind, block in shown if kind == "console" for line in block if line[:2] == "$ "
    ]
    return lines


@every_page
def test_commands_can_be_given(page: Path) -> None:
    text = page.read_text(encoding="utf-8")
    targets = set(re.findall(r"^([a-z-]+):", (ROOT / "Makefile").read_text("utf-8"), re.MULTILINE))
    for line in commands(text):
        given = shlex.split(re.split(r" [<>|] ", line)[0], comments=True)
        if given[0] == "deniable":
            assert parser().parse_args(given[1:]).command == given[1]
        if given[0] == "make":
            assert given[1] in targets, line
    assert set(re.findall(r"`make ([a-z-]+)", text)) <= targets


def test_examples_of_help_can_be_given(capsys: pytest.CaptureFixture[str]) -> None:
    for name in COMMANDS:
        with pytest.raises(SystemExit):
            parser().parse_args([name, "--help"])
        examples = re.findall(r"^  deniable (.*)$", capsys.readouterr().out, re.MULTILINE)
        assert examples, name
        for line in examples:
            given = shlex.split(re.split(r" [<>|] ", line)[0])
            assert parser().parse_args(given).command == name


def test_all_python_of_the_pages_is_carried_out() -> None:
    there = {
        str(page.relative_to(ROOT))
        for page in PAGES
        if "python" in {kind for kind, _ in BLOCK.findall(page.read_text(encoding="utf-8"))}
    }
    assert there == set(CARRIED_OUT)
    for page, tests in CARRIED_OUT.items():
        assert Path(page).name in (ROOT / tests).read_text(encoding="utf-8"), page


def options_of(model: type[BaseModel]) -> Iterator[tuple[str, str]]:
    """Yield model and name, as a config has it, of each option of a model and of those within."""
    for name, field in model.model_fields.items():
        yield model.__name__, field.alias or name
        inner = [field.annotation]
        while inner:
            kind = inner.pop()
            if isinstance(kind, type) and issubclass(kind, BaseModel):
                yield from options_of(kind)
            inner += get_args(kind)


def codes_of(page: str) -> str:
    """Return all code within the lines of a page."""
    text = (ROOT / page).read_text(encoding="utf-8")
    return " ".join(re.findall(r"`[^`\n]+`", BLOCK.sub("", text)))


def test_every_option_of_the_config_is_described() -> None:
    codes = codes_of("docs/options.md")
    models = [Config, *map(settings_class, KINDS)]
    options = {option for model in models for option in options_of(model)}
    assert len(options) > 240
    assert {each for each in options if not re.search(rf"\b{each[1]}\b", codes)} == set()
    for name in MECHANISMS:
        assert re.search(rf"`[^`\n]*\b{name}\b", codes), name
    for name in RISKS:
        assert re.search(rf"`[^`\n]*\b{name}\b", codes_of("config/README.md")), name


@pytest.mark.parametrize("kind", KINDS)
def test_each_kind_of_plan_has_a_section_with_its_options(kind: str) -> None:
    text = (ROOT / "docs" / "options.md").read_text(encoding="utf-8")
    section = text.partition(f"### `{kind}`\n")[2].partition("\n### ")[0]
    for option in settings_class(kind).model_fields:
        assert re.search(rf"`{option}\b", section), option
