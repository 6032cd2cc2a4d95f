"""Docstrings, pages, messages and templates keep to the style guide and to the glossary."""

import re
from pathlib import Path

import pytest

import plain_language
from plain_language import Passage

ROOT = Path(__file__).resolve().parents[1]
FOUND = list(plain_language.passages(plain_language.files()))
DOCSTRINGS = [each for each in FOUND if each.kind == "docstring"]
PAGES = [each for each in FOUND if each.kind == "page"]


def test_there_is_something_to_measure() -> None:
    kinds = {each.kind for each in FOUND}
    assert kinds == {"docstring", "comment", "message", "page", "template"}
    assert len(DOCSTRINGS) > 2000
    assert {"README.md", "docs/findings.md"} <= {each.place for each in PAGES}


def test_docstrings_have_few_constructions_that_stop_a_reader() -> None:
    lines = sum(len(each.text.splitlines()) for each in DOCSTRINGS)
    found = plain_language.stumbles(DOCSTRINGS)
    assert len(found) <= 8 * lines / 1000, "\n".join(found)


def test_pages_have_few_constructions_that_stop_a_reader() -> None:
    words = sum(len(each.text.split()) for each in PAGES)
    found = plain_language.stumbles(PAGES)
    assert len(found) <= 3 * words / 1000, "\n".join(found)


@pytest.mark.parametrize("kind", ["docstring", "comment", "message", "page", "template"])
def test_no_sentence_is_too_long(kind: str) -> None:
    found = plain_language.long_sentences(each for each in FOUND if each.kind == kind)
    assert not found, "\n".join(found)


@pytest.mark.parametrize("kind", ["docstring", "comment", "message", "page", "template"])
def test_no_private_words(kind: str) -> None:
    found = plain_language.private_words(each for each in FOUND if each.kind == kind)
    assert not found, "\n".join(found)


def test_pages_written_by_hand_stay_short() -> None:
    pages = [each for each in PAGES if each.place not in plain_language.APART]
    assert sum(plain_language.count(each.text) for each in pages) <= 27_988


def test_each_page_says_first_what_the_reader_can_do_with_it() -> None:
    for page in sorted((ROOT / "docs").glob("*.md")):
        title, _, first = page.read_text(encoding="utf-8").partition("\n")
        assert title.startswith("# "), page
        paragraph = first.strip().partition("\n\n")[0]
        assert re.search(r"\b(?:you|your|this page)\b", paragraph, re.IGNORECASE), page


@pytest.mark.parametrize(
    ("text", "number"),
    [
        ("The rehearsal is held against the truth.", 3),
        ("The test release is compared with the original data.", 0),
        ("All reports of one lane.", 2),
        ("The report shows an equivalence margin and 3 runs.", 0),
        ("Means of 1,000 runs were printed.", 2),
    ],
)
def test_private_words_are_found(text: str, number: int) -> None:
    assert len(plain_language.private_words([Passage("a.md", "page", text)])) == number


def test_a_long_sentence_is_found() -> None:
    text = "A short one. " + "word " * 36 + "end.\n\n| a cell | " + "other " * 20 + "|\n"
    (found,) = plain_language.long_sentences([Passage("a.md", "page", text)])
    assert found.startswith("a.md: 37 words")


def test_code_is_no_prose() -> None:
    text = "One `rehearsal` here.\n\n```sh\nrehearsal\n```\n"
    assert plain_language.prose(text).split() == ["One", "CODE", "here."]
