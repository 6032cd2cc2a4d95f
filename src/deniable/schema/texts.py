"""Texts of a file: lists of them in messages, which can be names, which look alike."""

import unicodedata
from collections.abc import Sequence

from deniable.errors import shown

LONGEST_NAME = 255  # bytes: a name may become that of a file
_ODD = ("Cc", "Cs", "Zl", "Zp")
_REORDERING = {*range(0x202A, 0x202F), *range(0x2066, 0x206A)}


def listed(texts: Sequence[str], most: int = 8) -> str:
    """Return `texts` as a message can list them, `most` of them at most.

    Examples
    --------
    >>> listed(["a", "b", "c"], most=2)
    "'a', 'b' and 1 more"
    """
    more = f" and {len(texts) - most} more" if len(texts) > most else ""
    return ", ".join(map(shown, texts[:most])) + more


def unfit(text: str) -> str:
    r"""Return why a `text` can be no name or category, or nothing.

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
    r"""Return what a `text` shares with those of other spaces, capitals or forms of accents alone.

    Examples
    --------
    >>> alike("F ") == alike("f"), alike("e\u0301") == alike("\u00e9")
    (True, True)
    """
    return " ".join(unicodedata.normalize("NFC", text).casefold().split())
