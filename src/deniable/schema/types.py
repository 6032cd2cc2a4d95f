"""Names and checks of the Arrow types of a schema's values, and numbers as texts."""

import math
import re
import unicodedata
from collections.abc import Sequence
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
import yaml

from deniable.arrays import Floats
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


_WITH_ZONE = re.compile(r"timestamp\[(s|ms|us|ns), tz=([A-Za-z0-9_+:/-]+)\]")
_DECIMAL = re.compile(r"decimal(128|256)\((\d{1,2}), (\d{1,2})\)")
NUMBER = r"^\s*[+-]?([0-9]+\.?[0-9]*|\.[0-9]+)([eE][+-]?[0-9]+)?\s*$"
COMMA = r"^\s*[+-]?[0-9]+,[0-9]+\s*$"


def plain_type(kind: pa.DataType) -> pa.DataType:
    """Return the type of values of a `kind` without its encoding: encoded text is text."""
    if pa.types.is_dictionary(kind):
        return plain_type(kind.value_type)
    text = pa.types.is_large_string(kind) or pa.types.is_string_view(kind)
    return pa.string() if text else kind


def encoded(values: pa.Array) -> pa.DictionaryArray:
    """Return `values` with dictionary encoding."""
    if pa.types.is_string_view(values.type):
        values = values.cast(pa.string())
    return values if pa.types.is_dictionary(values.type) else values.dictionary_encode()


def is_text(kind: pa.DataType) -> bool:
    """Return whether values of a `kind` are text."""
    return bool(pa.types.is_string(plain_type(kind)))


def is_number(kind: pa.DataType) -> bool:
    """Return whether values of a `kind` are numbers."""
    plain, types = plain_type(kind), pa.types
    return bool(types.is_integer(plain) or types.is_floating(plain) or types.is_decimal(plain))


def is_supported(kind: pa.DataType) -> bool:
    """Return whether a column of this `kind` can be randomized: text, numbers, dates, boolean."""
    plain, types = plain_type(kind), pa.types
    dates = types.is_date(plain) or types.is_timestamp(plain)
    return bool(is_text(plain) or is_number(plain) or types.is_boolean(plain) or dates)


def type_named(name: str) -> pa.DataType:
    """Return the Arrow type with this `name`.

    Raises `DataError` if there is none, or its values cannot be randomized.

    Examples
    --------
    >>> type_named("date32[day]"), type_named("timestamp[us, tz=UTC]")
    (DataType(date32[day]), TimestampType(timestamp[us, tz=UTC]))
    """
    try:
        if found := _WITH_ZONE.fullmatch(name):
            kind = pa.timestamp(found[1], found[2])
        elif found := _DECIMAL.fullmatch(name):
            make = pa.decimal128 if found[1] == "128" else pa.decimal256
            kind = make(int(found[2]), int(found[3]))
        else:
            kind = pa.type_for_alias(name)
    except (ValueError, pa.ArrowException):
        kind = pa.null()
    if not is_supported(kind) or str(kind) != name or is_text(kind):
        raise DataError(
            f"type {name!r}; allowed: Arrow's name of numbers, dates or true and false, such as "
            "int64, double, bool, date32[day]; text has none"
        )
    return kind


def refuse_foreign_texts(
    name: str, kind: str, texts: Sequence[str], missing: Sequence[str], *, numeric: bool
) -> None:
    """Raise `DataError` if texts of the column `name` are not values of its type, named `kind`.

    `texts` are its categories, or points of its grid if `numeric`, and all differ. An empty text
    among the `missing` values is valid for any type; no other missing value may equal a category.
    """
    own = type_named(kind)
    if numeric and not is_number(own):
        raise DataError(f"type {kind!r} of {name!r}; allowed for numeric: a type of numbers")
    try:
        values = pa.array(texts, pa.string()).cast(own)
    except pa.ArrowException:
        wrong = next(each for each in texts if not _is_of(each, own))
        what = "the point" if numeric else "the category"
        raise DataError(f"{what} {shown(wrong)} of {name!r}; allowed: values of {kind}") from None
    if len(values.unique()) < len(values):
        raise DataError(f"categories of {name!r}: two are the same {kind}; allowed: each once")
    for each in filter(None, missing):
        if not _is_of(each, own):
            raise DataError(
                f"the missing value {shown(each)} of {name!r}; allowed: values of {kind}; an empty "
                "cell is missing anyway"
            )
    absent = missing_values(missing, own)
    for category, value in () if numeric else zip(texts, values, strict=True):
        if value in absent:
            text = f"{shown(category)} of {name!r} is a category and a missing value; allowed: one"
            raise DataError(text)


def missing_values(texts: Sequence[str], kind: pa.DataType) -> pa.Array:
    """Return missing values, given as `texts`, as values of a `kind`."""
    kept = texts if is_text(kind) else [each for each in texts if each]
    return pa.array(kept, pa.string()).cast(kind)


def _is_of(text: str, kind: pa.DataType) -> bool:
    try:
        pa.array([text]).cast(kind)
    except pa.ArrowException:
        return False
    return True


def number_text(number: float) -> str:
    """Return the shortest decimal text from which the same `number` is read.

    Examples
    --------
    >>> [number_text(each) for each in (30.0, 0.1, -2.50, 1e6)]
    ['30', '0.1', '-2.5', '1000000']
    """
    return np.format_float_positional(number + 0.0, trim="-")  # no minus before zero


def weights_of(values: pa.Array, decimal: str) -> Floats:
    """Return `values`, numbers or text, as doubles or NaN; for `decimal` see `numbers_of`."""
    if is_text(values.type):
        return numbers_of(values.cast(pa.string()), decimal)
    floats = values.cast(pa.float64(), safe=False)
    return np.asarray(floats.fill_null(np.nan).to_numpy(zero_copy_only=False))


def numbers_of(texts: pa.Array, decimal: str = ".") -> Floats:
    """Return the numbers in `texts`; NaN for other texts, infinity beyond the range of doubles.

    `decimal`, a point or a comma, is the decimal mark; other separators are not allowed.

    Examples
    --------
    >>> numbers_of(pa.array(["1", "2,5", "2.5", "0x10", None]), ",").tolist()
    [1.0, 2.5, nan, nan, nan]
    """
    pattern = NUMBER if decimal == "." else NUMBER.replace(r"\.", decimal)
    legible = pc.match_substring_regex(texts, pattern)
    kept = pc.utf8_ltrim(pc.utf8_trim_whitespace(pc.if_else(legible, texts, None)), "+")
    if decimal != ".":
        kept = pc.replace_substring(kept, decimal, ".")
    return np.asarray(kept.cast(pa.float64()).fill_null(np.nan).to_numpy(zero_copy_only=False))
