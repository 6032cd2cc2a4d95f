"""Texts of a file: comparisons, and their form in messages and YAML."""

import math
import re
import unicodedata
from collections.abc import Sequence
from typing import Any

import yaml

from deniable.errors import DataError, shown

STAND_INS = frozenset(
    each.casefold()
    for each in (
        "",
        *("NA", "N/A", "#N/A", "n.a.", "NaN", "null", "None", "nil", ".", "-", "--", "?"),
        *("missing", "unknown", "refused", "don't know", "no answer", "not stated", "DK"),
        *("k.A.", "k. A.", "keine Angabe", "weiß nicht", "unbekannt", "fehlt"),
    )
)
"""Texts that often mean a missing value, also between blanks."""
LONGEST_NAME = 255  # bytes: a name may become the name of a file
_ODD = ("Cc", "Cs", "Zl", "Zp")
_REORDERING = {*range(0x202A, 0x202F), *range(0x2066, 0x206A)}


def listed(texts: Sequence[str], most: int = 8) -> str:
    """Return `texts` as a list for a message, with at most `most` of them."""
    more = f" and {len(texts) - most} more" if len(texts) > most else ""
    return ", ".join(map(shown, texts[:most])) + more


def unfit(text: str) -> str:
    """Return the reason why a `text` cannot be a name or category, or an empty string."""
    if len(text.encode("utf-8", "replace")) > LONGEST_NAME:
        return f"has over {LONGEST_NAME} bytes"
    if any(unicodedata.category(each) in _ODD or ord(each) in _REORDERING for each in text):
        return "has a control character"
    return ""


def alike(text: str) -> str:
    """Return a `text` in one form of spaces, capitals and accents, for comparisons."""
    return " ".join(unicodedata.normalize("NFC", text).casefold().split())


def quoted(text: str) -> str:
    r"""Return YAML for a `text`, on one line.

    Examples
    --------
    >>> print(quoted("female"), quoted("no"), quoted("01234"), quoted("y"), quoted("a\nb"))
    female 'no' '01234' "y" "a\nb"
    """
    return quoted_list([text])[1:-1]


def quoted_list(texts: Sequence[str]) -> str:
    """Return YAML for a list of `texts`, on one line."""
    # A YAML reader turns a line break that is not ASCII into a space.
    options: dict[str, Any] = {"default_flow_style": True, "width": math.inf}
    options["allow_unicode"] = all(text.isprintable() for text in texts)
    # Plain and single-quoted texts break lines; some readers take y and n as true and false.
    if not options["allow_unicode"] or any(text.lower() in ("y", "n") for text in texts):
        options["default_style"] = '"'
    return str(yaml.safe_dump(list(texts), **options)).rstrip()


def refuse_bad_population(name: str) -> None:
    """Raise `DataError` if this cannot be the `name` of a population."""
    if not re.fullmatch(r"[A-Za-z0-9][A-Za-z0-9_-]{0,99}", name):
        raise DataError(
            f"the population {shown(name)}; allowed: a name of at most 100 letters, digits, '_' "
            "and '-'"
        )
