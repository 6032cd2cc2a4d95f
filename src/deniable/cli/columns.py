"""Lists of columns, as all commands read and print them."""

import argparse
import re
from collections.abc import Iterable

from deniable.errors import shown

BARE = r'[^",\s](?:[^,]*[^,\s])?'
NAME = re.compile(rf'\s*(?:"((?:[^"]|"")+)"|({BARE}))\s*(,|\Z)')
FORM = 'write sex,income, with quotes around a name that has a comma: "odd, name",sex'


def columns_of(text: str) -> tuple[str, ...]:
    """Return the names in a `text` with commas between them.

    Names may have quotation marks around them, and double ones inside. Raises `ArgumentTypeError`
    if the text is no such list.

    Examples
    --------
    >>> columns_of('sex, "odd, name"')
    ('sex', 'odd, name')
    """
    names, at, end = list[str](), 0, ","
    while end:
        match = NAME.match(text, at)
        if match is None:
            raise argparse.ArgumentTypeError(f"{shown(text)} is not a list of columns; {FORM}")
        quoted, bare, end = match.groups()
        names.append(bare if quoted is None else quoted.replace('""', '"'))
        at = match.end()
    return tuple(names)


def rule_of(text: str) -> tuple[tuple[str, ...], tuple[str, ...]]:
    """Return both sides of a rule in a `text`, lists as in `columns_of` with ``=>`` between them.

    Raises `ArgumentTypeError` if the text is no such rule.
    """
    condition, _, consequence = text.partition("=>")
    return columns_of(condition), columns_of(consequence)


def columns_text(names: Iterable[str]) -> str:
    """Return the list of `names` that `columns_of` reads."""
    doubled = ((name, name.replace('"', '""')) for name in names)
    return ",".join(name if re.fullmatch(BARE, name) else f'"{quoted}"' for name, quoted in doubled)
