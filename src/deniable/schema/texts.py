"""Texts of a file: as a message can show them, and which can be names."""

import unicodedata
from collections.abc import Sequence

from deniable.records import shortened

LONGEST_NAME = 255  # bytes: a name may become that of a file
LONGEST_SHOWN = 60
_ODD = ("Cc", "Cs", "Zl", "Zp")
_REORDERING = {*range(0x202A, 0x202F), *range(0x2066, 0x206A)}


def shown(text: str) -> str:
    r"""Return a file's text in quotation marks, as a message can show it.

    Examples
    --------
    >>> print(shown("a\x1b[2J"))
    'a\x1b[2J'
    """
    cut = text if len(text) <= LONGEST_SHOWN else f"{text[: LONGEST_SHOWN - 3]}..."
    return f"'{shortened(cut)}'"


def listed(texts: Sequence[str], most: int = 8) -> str:
    """Return texts as a message can list them.

    Examples
    --------
    >>> listed(["a", "b", "c"], most=2)
    "'a', 'b' and 1 more"
    """
    more = f" and {len(texts) - most} more" if len(texts) > most else ""
    return ", ".join(map(shown, texts[:most])) + more


def unfit(text: str) -> str:
    r"""Return why a text can be no name or category, or nothing.

    Examples
    --------
    >>> unfit("two\nlines"), unfit("Zürich")
    ('has a control character', '')
    """
    if len(text.encode("utf-8", "replace")) > LONGEST_NAME:
        return f"has over {LONGEST_NAME} bytes"
    if any(unicodedata.category(each) in _ODD or ord(each) in _REORDERING for each in text):
        return "has a control character"
    return ""


def alike(text: str) -> str:
    r"""Return what texts share that differ by spaces, capitals or the form of accents alone.

    Examples
    --------
    >>> alike("F ") == alike("f"), alike("e\u0301") == alike("\u00e9")
    (True, True)
    """
    return " ".join(unicodedata.normalize("NFC", text).casefold().split())
