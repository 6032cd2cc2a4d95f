"""The checklist: complete, without gaps, and of things that exist."""

import ast
import csv
from collections import Counter
from functools import cache
from importlib import import_module
from operator import attrgetter
from pathlib import Path

import pytest

import write_checklist
from write_checklist import NAMES, PAGE, VERDICTS, page, places, read_items

from reproduction.papers.catalog import COMPUTED_TABLES, FIGURES, TABLES
from reproduction.papers.pram.numbered_results import numbered_results

ROOT = Path(write_checklist.ROOT)
ITEMS = read_items()
# The last number of each kind in the texts, counted in them. Sections number some kinds of [pram],
# [idp] and [rrba].
WHOLE = {
    "multirr": {
        **{"table": 2, "figure": 3, "definition": 2, "proposition": 1, "corollary": 1},
        **{"algorithm": 2, "protocol": 2, "example": 1, "equation": 16},
    },
    "pram": {},
    "idp": {"figure": 6, "definition": 4, "theorem": 2, "proposition": 3, "equation": 5},
    "rrba": {"table": 5, "figure": 7, "algorithm": 1, "equation": 7},
}
BY_SECTION = {
    "pram": {
        "equation": {1: 3, 2: 7, 3: 14},
        "definition": {3: 4},
        "theorem": {2: 1, 3: 2},
    },
    "idp": {"algorithm": {3: 1}},
    "rrba": {"example": {3: 1}, "definition": {3: 2}, "theorem": {4: 1}},
}
SHARED = {("rrba", "definition"): 2}  # its first number is that of Example 3.1: one counter


def expected(paper: str) -> Counter[tuple[str, str]]:
    numbers = [
        (kind, str(number)) for kind, last in WHOLE[paper].items() for number in range(1, last + 1)
    ]
    for kind, sections in BY_SECTION.get(paper, {}).items():
        first = SHARED.get((paper, kind), 1)
        for section, last in sections.items():
            numbers += [(kind, f"{section}.{number}") for number in range(first, last + 1)]
    return Counter(numbers)


@pytest.mark.parametrize("paper", WHOLE)
def test_every_number_has_one_row(paper: str) -> None:
    own = [item for item in ITEMS if item["paper"] == paper]
    numbered = Counter(
        (item["kind"], item["number"]) for item in own if item["kind"] != "statement"
    )
    assert numbered == expected(paper)
    statements = [item["number"] for item in own if item["kind"] == "statement"]
    assert statements == [str(number) for number in range(1, len(statements) + 1)]


def test_rows_are_complete() -> None:
    assert [item["paper"] for item in ITEMS] == sorted(
        (item["paper"] for item in ITEMS), key=list(WHOLE).index
    )
    for item in ITEMS:
        assert item["says"], item
        assert item["verdict"] in VERDICTS, item
        assert {kind for kind, _ in places(item)} <= NAMES.keys(), item
    assert {item["verdict"] for item in ITEMS} == VERDICTS.keys()


@cache
def names_of(kind: str) -> frozenset[str]:
    if kind == "table":
        return frozenset({*TABLES, *COMPUTED_TABLES})
    if kind == "figure":
        return frozenset(FIGURES)
    if kind == "result":
        return frozenset(numbered_results(ROOT / "resources" / "claims" / "pram.csv")["result"])
    named = []
    for path in (ROOT / "resources" / "claims").glob("*.csv"):
        with path.open(newline="", encoding="utf-8") as stream:
            named += [(path.stem, row["claim"]) for row in csv.DictReader(stream)]
    return frozenset(f"{paper} {claim}" for paper, claim in named)


@cache
def functions_in(path: Path) -> frozenset[str]:
    tree = ast.parse(path.read_text(encoding="utf-8"))
    return frozenset(node.name for node in tree.body if isinstance(node, ast.FunctionDef))


def exists(paper: str, kind: str, name: str) -> bool:
    """Return whether the place of an item exists; claims are those of its paper."""
    if kind == "function":
        module, _, function = name.rpartition(".")
        return callable(getattr(import_module(module), function)) or name == RULE
    if kind == "test":
        path, _, function = name.partition("::")
        return function in functions_in(ROOT / path)
    return (f"{paper} {name}" if kind == "claim" else name) in names_of(kind)


RULE = "deniable.rrba.PRINTED_FIRST_VERSION"  # a value, not a function


@pytest.mark.parametrize("paper", WHOLE)
def test_every_place_exists(paper: str) -> None:
    own = [(paper, *place) for item in ITEMS if item["paper"] == paper for place in places(item)]
    assert [place for place in own if not exists(*place)] == []


@pytest.mark.parametrize(
    ("kind", "name"),
    [
        ("table", "multirr_fig9"),
        ("figure", "multirr_fig9"),
        ("claim", "theorem_4_1"),  # of another paper
        ("result", "(9.9)"),
        ("test", "tests/tools/test_write_checklist.py::test_nothing"),
    ],
)
def test_a_place_that_does_not_exist_is_found(kind: str, name: str) -> None:
    assert not exists("multirr", kind, name)
    with pytest.raises(AttributeError):
        exists("multirr", "function", "deniable.channels.nothing")


def test_every_row_of_the_numbered_results_has_an_item() -> None:
    named = {name for item in ITEMS for kind, name in places(item) if kind == "result"}
    assert named == names_of("result")


def test_the_page_is_up_to_date() -> None:
    assert PAGE.read_text(encoding="utf-8") == page(ITEMS)


def test_the_networks_have_the_sizes_that_the_page_says() -> None:
    (item,) = (i for i in ITEMS if (i["paper"], i["kind"], i["number"]) == ("rrba", "table", "2"))
    assert "105" in item["remark"]
    assert attrgetter("SIZES")(import_module("tests.datasets.test_networks"))["alarm"][1] == 105
