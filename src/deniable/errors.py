"""Errors that users read.

Every message names the place (file, column, category, option), the invalid value and the remedy.
"""

import inspect
import re
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from functools import wraps
from inspect import formatannotation
from numbers import Integral, Real
from types import NoneType, UnionType
from typing import Annotated, Any, Literal, ParamSpec, TypeVar, Union, get_args, get_origin

Given = ParamSpec("Given")
Result = TypeVar("Result")

EXTRAS = {
    **dict.fromkeys(("cvxpy", "highspy"), "design"),
    **dict.fromkeys(("numba", "rdata", "sklearn"), "numeric"),
    **dict.fromkeys(("jinja2", "markdown_it", "markupsafe", "matplotlib"), "report"),
    "pyreadstat": "survey",
    **dict.fromkeys(("psutil", "requests", "snakemake", "tqdm"), "workflow"),
}
"""Extra that installs each optional package, by the name of the package in imports."""

LONGEST = 60  # characters of a value that a message shows
MOST = 8  # values of a list in a message


def plain(text: str) -> str:
    r"""Return a `text` with unprintable characters escaped.

    Examples
    --------
    >>> print(plain("a\x1b[2J\nb"))
    a\x1b[2J\nb
    """
    if text.isprintable():
        return text
    return "".join(c if c.isprintable() else repr(c)[1:-1] for c in text)


def shown(value: object, longest: int = LONGEST) -> str:
    r"""Return a `value` for a message: on one line, printable, of at most `longest` characters.

    Examples
    --------
    >>> shown("a\x1b[2J"), shown("b" * 70, 8), shown([1, 2])
    ("'a\\x1b[2J'", "'bbbb...", '[1, 2]')
    """
    try:
        text = repr(value[: longest + 1] if isinstance(value, str | bytes) else value)
    except (ValueError, RecursionError):  # a number of over 4,300 digits, by itself or inside
        return f"a value too large to be shown, of type {type(value).__name__}"
    text = plain(text)
    return text if len(text) <= longest else f"{text[: longest - 3]}..."


def listed(texts: Sequence[str]) -> str:
    """Return `texts` as a list for a message, with at most `MOST` of them."""
    more = f" and {len(texts) - MOST} more" if len(texts) > MOST else ""
    return ", ".join(map(shown, texts[:MOST])) + more


class DeniableError(ValueError):
    """An error that a user can fix; the message states the place, the problem and the remedy.

    Names and paths may contain any character. Control characters except line ends are escaped.
    """

    def __str__(self) -> str:
        return "\n".join(map(plain, super().__str__().split("\n")))


class NoAnswerError(DeniableError):
    """A result that does not exist, although the input is valid."""


class DataError(DeniableError):
    """A data file that cannot be used, or an invalid value in it."""


class ChannelError(DeniableError):
    """A matrix that is not a channel, or counts or codes that do not match a channel."""


class SingularChannelError(ChannelError):
    """A channel that allows no estimates."""


class ConfigError(DeniableError):
    """A configuration with errors; the message has one line for each of them."""


class BoundsWarning(UserWarning):
    """Values outside the public bounds of their column, and their number."""


class GuessWarning(UserWarning):
    """Estimated tables with larger errors than a guess without any data."""


class WeightsWarning(UserWarning):
    """Released weights that only one record has, and their number."""


class MissingExtraError(DeniableError, ImportError):
    """A package that is not installed; the message names its extra."""


@contextmanager
def from_extras() -> Iterator[None]:
    """Raise `MissingExtraError`, with the extra of `EXTRAS`, if an import in the block fails."""
    try:
        yield
    except ModuleNotFoundError as error:
        package = (error.name or "").partition(".")[0]
        if package not in EXTRAS:
            raise
        remedy = f"pip install 'deniable[{EXTRAS[package]}]'"
        message = f"this needs {package}, which is not installed: {remedy}"
        raise MissingExtraError(message) from error


@contextmanager
def disk_errors(path: object, remedy: str = "check the path") -> Iterator[None]:
    """Raise an `OSError` of the block as a `DataError` with the `path` and a `remedy`."""
    try:
        yield
    except OSError as error:
        raise DataError(f"{path}: {error.strerror or error}; {remedy}") from None


def refuse_no_name(name: object) -> None:
    """Raise `DeniableError` if this is not a `name` of a person: 1 to 200 characters, no signs."""
    if not (isinstance(name, str) and name.strip() and name.isprintable() and len(name) <= 200):
        raise DeniableError(f"{shown(name)} is not a name of a person; give 1 to 200 characters")


def refuse_unknown(what: str, given: str, known: Iterable[str]) -> None:
    """Raise `DeniableError` unless `given`, the name of `what`, is one of the `known` names."""
    names = list(known)
    if given not in names:
        allowed = " or ".join(names) if len(names) == 2 else ", ".join(names)
        raise DeniableError(f"unknown {what} {shown(given)}; use {allowed}")


def named_types(function: Callable[Given, Result]) -> Callable[Given, Result]:
    """Return a public `function` whose errors name an argument of a wrong type.

    If a call fails with an error of Python, such as a `TypeError`, and an argument does not have
    its annotated type, the error becomes a `DeniableError`. Calls that succeed are not checked.
    """

    @wraps(function)
    def checked(*given: Given.args, **named: Given.kwargs) -> Result:
        try:
            return function(*given, **named)
        except DeniableError:
            raise
        except (TypeError, ValueError, AttributeError, LookupError, ArithmeticError) as error:
            if (problem := _wrong_argument(function, given, named)) is None:
                raise
            raise DeniableError(problem) from error

    return checked


def _wrong_argument(
    function: Callable[..., Any], given: Sequence[Any], named: Mapping[str, Any]
) -> str | None:
    """Return a message on the first argument that has not its annotated type, or None.

    The arguments of the `function` are `given` by position or `named`. Arrays must be numbers.
    """
    signature = inspect.signature(function)
    for name, value in signature.bind(*given, **named).arguments.items():
        hint = signature.parameters[name].annotation
        if isinstance(hint, str):  # of names that are imported only for mypy, nothing is known
            with suppress(NameError):
                hint = eval(hint, getattr(function, "__globals__", {}))
        if not _has_type(value, hint):
            of_numbers = "numpy" in str(hint) and "Generator" not in str(hint)
            wanted = "numbers" if of_numbers else re.sub(r"\b\w+\.", "", formatannotation(hint))
            what = f"{name} is {shown(value)}, of type {type(value).__name__}; give {wanted}"
            return f"{function.__name__}: {what}"
    return None


def _has_type(value: Any, hint: Any) -> bool:
    origin, inner = get_origin(hint) or hint, get_args(hint)
    if origin is Callable:
        return callable(value)
    if origin in (Union, UnionType) and "numpy" not in str(hint):
        return any(_has_type(value, each) for each in inner)
    if origin is Literal:
        return isinstance(value, str) and value in inner
    if origin is Annotated:
        return _has_type(value, inner[0])
    if origin in (float, int):
        return isinstance(value, Real if origin is float else Integral) and value is not True
    if "numpy" in str(hint) and not inspect.isclass(hint):
        return _are_numbers(value)
    if not isinstance(origin, type) or str(origin) == "typing.Any":
        return True
    if origin in (Sequence, Iterable, tuple, list) and inner:
        several = isinstance(value, Iterable) and not isinstance(value, str | bytes | Mapping)
        return several and all(_has_type(each, inner[0]) for each in value)
    return isinstance(value, origin if origin is not NoneType else type(None))


def _are_numbers(value: Any) -> bool:
    import numpy as np  # noqa: PLC0415 - slow to import

    with suppress(TypeError, ValueError, OverflowError):
        return value is not None and np.asarray(value, dtype=float).ndim > 0
    return False
