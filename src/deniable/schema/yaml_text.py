"""Texts and lists of texts as YAML has them, whatever they hold."""

import re
from collections.abc import Sequence

_PLAIN = re.compile(r"[A-Za-z_][A-Za-z0-9_]*([ .-][A-Za-z0-9_]+)*")
_WORDS = frozenset(("y", "n", "yes", "no", "on", "off", "true", "false", "null", "none"))


def quoted(text: str) -> str:
    r"""Return a `text` as YAML that reads back as it, on one line.

    Examples
    --------
    >>> print(quoted("female"), quoted("no"), quoted("01234"), quoted("a\x1b"))
    female "no" "01234" "a\x1b"
    """
    if _PLAIN.fullmatch(text) and text.lower() not in _WORDS:
        return text
    return '"' + "".join(map(_escaped, text)) + '"'


def quoted_list(texts: Sequence[str]) -> str:
    """Return a list of `texts` as YAML, on one line.

    Examples
    --------
    >>> quoted_list(["F", "M", ""])
    '[F, M, ""]'
    """
    return f"[{', '.join(map(quoted, texts))}]"


def _escaped(character: str) -> str:
    if character in '"\\':
        return f"\\{character}"
    if character.isprintable():
        return character
    number = ord(character)
    if number < 0x100:
        return f"\\x{number:02x}"
    return f"\\u{number:04x}" if number < 0x10000 else f"\\U{number:08x}"
