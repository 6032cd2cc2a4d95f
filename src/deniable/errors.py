"""Errors that users read.

Every message names the place (file, column, category, option), the invalid value and the remedy.
"""

from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager
from functools import wraps
from typing import ParamSpec, TypeVar

Given = ParamSpec("Given")
Result = TypeVar("Result")

EXTRAS = {
    **dict.fromkeys(("cvxpy", "highspy"), "design"),
    **dict.fromkeys(("numba", "rdata", "sklearn"), "numeric"),
    **dict.fromkeys(("jinja2", "markdown_it", "markupsafe", "matplotlib"), "report"),
    **dict.fromkeys(("psutil", "requests", "snakemake", "tqdm"), "workflow"),
}
"""Extra that installs each optional package, by the name of the package in imports."""

LONGEST = 60  # characters of a value that a message shows


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
            from deniable.validation import wrong_argument  # noqa: PLC0415 - loads pydantic

            if (problem := wrong_argument(function, given, named)) is None:
                raise
            raise DeniableError(problem) from error

    return checked
