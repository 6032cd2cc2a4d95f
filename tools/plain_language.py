"""Measure the project's English: constructions that stop a reader, long sentences, private words.

    plain_language.py [FILE...]     all files of the repository if none is given

The measure of constructions covers docstrings and Markdown. Sentences and private words are also
checked in comments, messages, help texts and templates. The glossary (docs/glossary.md) has the
words to use.
"""

import argparse
import ast
import io
import re
import subprocess
import sys
import tokenize
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from pathlib import Path

ROOT = Path(__file__).resolve().parents[1]
MAX_WORDS = 35
APART = ("CHANGELOG.md", "docs/checklist.md", "docs/command-line.md", "docs/options.md")
"""Pages that no person writes, and the list of changes: they do not count as words by hand."""

HABITS = tuple(
    re.compile(pattern, re.IGNORECASE)
    for pattern in (
        r"\b(of which|of whom|whose|whoever|whatever|those of|that of"
        r"|what (?:is|was|has|are|were|a|an|the|it|they|no|each|one|to|of|makes?|made|does|do|could"
        r"|can|may|would|remains?|stands?|goes|comes|follows?|holds?)"
        r"|as .{1,20} (?:have|has|do|does)\b)",
        r"\b(?:is|are|was|were|be) no (?!longer|more|less)\w+",
        r"\b(?:a|one) (row|file|job|script|rule|line|column|test|page|table|entry|part|step|stage)"
        r" (?:a|an|each) \w+",
        r"\b(?:told|tells? (?!\w+ to)|tell whose|asked (?:for|of|about)|held (?:against|to)"
        r"|hold .{1,30} (?:against|to))\b",
        r"\b(?:lanes?|rehears\w+|hands? on|handed on|stands? (?:in|beside|for)|give[ns]? away"
        r"|knows the truth|at hand|mends?|mended|else\b(?=[,.;]))\b",
    )
)
"""Clauses, 'is no X', 'a row a claim', things that tell or ask, private words."""

PRIVATE = re.compile(
    r"\b(?:rehears\w+|lanes?|told|tells?|asked (?:for|of|about)|held (?:against|to)"
    r"|whoever|(?:the|true) truth|true file|giv(?:e|es|en|ing) away|spen(?:d|ds|t|ding)"
    r"|suspicions?|keep probabilit(?:y|ies)|made again|records? of provenance|hands? on|handed on"
    r"|stands? in(?: for)?|settled|anew|stale|faults?|mend(?:s|ed|ing)?|designed channels?"
    r"|publicly drawn|streams? of chance|true DP|portions?|printed"
    r"|readings|(?:a|the|this|that|each|every|one|which|other|first|second) reading"
    r"|\d{2,3}(?:,\d{3})* runs|shares? of (?!the key)|(?<!equivalence )margins(?!\.csv)"
    r"|(?:the|all|these|such|many|randomized|observed|from|of|n|n_k) reports"
    r"|reports? of (?:a|the|each|one) (?:person|respondent|record|individual))\b",
    re.IGNORECASE,
)
"""Words that docs/glossary.md replaces, where no other meaning of them is in use."""


CODE = re.compile(
    r"`+[^`]+`+|\b\w+=|^\s*>>>.*(?:\n\s*[\[(\d.'\"].*)*|^\s*[\w, *]+ : (?=\w)", re.MULTILINE
)
"""Code within docstrings and messages: names, keywords, examples, and names of parameters."""


@dataclass(frozen=True)
class Passage:
    """A text in running words.

    Parameters
    ----------
    place
        File, or file and line.
    kind
        ``docstring``, ``comment``, ``message``, ``page`` or ``template``.
    text
        The text, with code removed from pages.
    """

    place: str
    kind: str
    text: str


def files(names: Iterable[str] = ()) -> list[Path]:
    """Return the files to check: `names`, or all files of the repository."""
    listed = ["git", "ls-files", "--cached", "--others", "--exclude-standard"]
    found = list(names) or subprocess.run(
        listed, cwd=ROOT, check=True, capture_output=True, text=True
    ).stdout.split("\n")
    return [ROOT / name for name in found if (ROOT / name).is_file()]


def passages(paths: Iterable[Path]) -> Iterator[Passage]:
    """Yield the texts of Python modules of the library and workflow, pages and templates."""
    for path in paths:
        name = str(path.relative_to(ROOT))
        if path.suffix == ".md":
            yield Passage(name, "page", prose(path.read_text(encoding="utf-8")))
        elif path.suffix == ".j2":
            text = re.sub(
                r"\{#.*?#\}|<(?:script|style).*?</(?:script|style)>",
                " ",
                path.read_text(encoding="utf-8"),
                flags=re.DOTALL,
            )
            text = re.sub(r"<code>.*?</code>", "CODE", text, flags=re.DOTALL)
            text = re.sub(r"\{\{.*?\}\}", "X", text, flags=re.DOTALL)
            text = re.sub(r"\{%.*?%\}", " ", text, flags=re.DOTALL)
            text = re.sub(r"</?(?:em|strong|a|i|b|sub|sup|span)\b[^>]*>", "", text)
            yield Passage(name, "template", re.sub(r"<[^>]*>", "\n\n", text))
        elif path.suffix == ".txt" and path.parent.name == "templates":
            text = re.sub(r"^ {4}.*$", "", path.read_text(encoding="utf-8"), flags=re.MULTILINE)
            yield Passage(name, "template", re.sub(r"\$\w+", "X.", text))
        elif path.suffix == ".py" and name.startswith(("src/", "workflow/")):
            yield from _module(name, path.read_text(encoding="utf-8"))


def prose(markdown: str) -> str:
    """Return a page without blocks of code; code within a line becomes one word."""
    text = re.sub(r"^ *```.*?^ *```", " ", markdown, flags=re.DOTALL | re.MULTILINE)
    return re.sub(r"`[^`]*`", "CODE", re.sub(r"<!--.*?-->", " ", text, flags=re.DOTALL))


def _module(name: str, source: str) -> Iterator[Passage]:
    for token in tokenize.generate_tokens(io.StringIO(source).readline):
        if token.type == tokenize.COMMENT:
            yield Passage(f"{name}:{token.start[0]}", "comment", token.string.lstrip("# "))
    tree = ast.parse(source)
    documented = (ast.Module, ast.ClassDef, ast.FunctionDef, ast.AsyncFunctionDef)
    beside: set[int] = set()
    for node in ast.walk(tree):
        if isinstance(node, ast.Expr) and isinstance(node.value, ast.Constant):
            beside.add(id(node.value))
        if isinstance(node, documented) and (text := ast.get_docstring(node)):
            yield Passage(f"{name}:{getattr(node, 'lineno', 1)}", "docstring", text)
        if isinstance(node, ast.JoinedStr):
            beside.update(map(id, node.values))
            parts = (each.value if isinstance(each, ast.Constant) else "X" for each in node.values)
            yield Passage(f"{name}:{node.lineno}", "message", "".join(map(str, parts)))
    for node in ast.walk(tree):
        if (
            isinstance(node, ast.Constant)
            and isinstance(node.value, str)
            and id(node) not in beside
            and " " in node.value
        ):
            yield Passage(f"{name}:{node.lineno}", "message", node.value)


def sentences(text: str) -> Iterator[str]:
    """Yield the sentences of a text; a cell of a table and an entry of a list begin new ones."""
    code = r"^\s*(?:>>>|\.\.\. ).*$|^  deniable .*$|^[\s:|=-]*$"
    text = re.sub(code, "\n", text, flags=re.MULTILINE)
    text = re.sub(r"^\s*(?:[-*#]+|\d+\.)\s|\|", "\n\n", text, flags=re.MULTILINE)
    for part in re.split(r"\n\s*\n|(?<=[.!?:;])\s+", text):
        if part.strip():
            yield " ".join(part.split())


def count(text: str) -> int:
    """Return the number of words, where a word has a letter or a digit."""
    return sum(any(map(str.isalnum, each)) for each in text.split())


def long_sentences(found: Iterable[Passage], most: int = MAX_WORDS) -> list[str]:
    """Return the sentences of more than `most` words, each with its place."""
    return [
        f"{each.place}: {count(sentence)} words: {sentence}"
        for each in found
        for sentence in sentences(each.text)
        if count(sentence) > most
    ]


def private_words(found: Iterable[Passage]) -> list[str]:
    """Return the places of words that the glossary replaces; names of code do not count."""
    texts = ((each.place, CODE.sub("CODE", each.text)) for each in found)
    return [
        f"{place}: {match.group()!r} in …{_around(text, match)}…"
        for place, text in texts
        for match in PRIVATE.finditer(text)
    ]


def _around(text: str, match: re.Match[str]) -> str:
    return " ".join(text[max(0, match.start() - 40) : match.end() + 30].split())


def stumbles(found: Iterable[Passage]) -> list[str]:
    """Return the constructions that stop a reader, each with its place."""
    return [
        f"{each.place}: {match.group()!r}"
        for each in found
        for habit in HABITS
        for match in habit.finditer(each.text)
    ]


def main() -> int:
    """Print the measure and everything that it finds."""
    parser = argparse.ArgumentParser(description=__doc__.split("\n", maxsplit=1)[0])
    parser.add_argument("files", nargs="*", help="default: all files of the repository")
    found = list(passages(files(parser.parse_args().files)))
    docstrings = [each for each in found if each.kind == "docstring"]
    pages = [each for each in found if each.kind == "page"]
    by_hand = sum(count(each.text) for each in pages if each.place not in APART)
    for line in (*stumbles(docstrings + pages), *private_words(found), *long_sentences(found)):
        print(line)
    lines = sum(len(each.text.splitlines()) for each in docstrings) or 1
    words = sum(len(each.text.split()) for each in pages) or 1
    print(f"docstrings: {1000 * len(stumbles(docstrings)) / lines:.1f} per 1,000 of {lines} lines")
    print(f"pages: {1000 * len(stumbles(pages)) / words:.1f} per 1,000 words; {by_hand} by hand")
    return 0


if __name__ == "__main__":
    sys.exit(main())
