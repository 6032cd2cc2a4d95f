"""Name estimated tables with larger errors than a guess without any data."""

import warnings
from collections.abc import Iterable

import numpy as np
import pandas as pd

from deniable.arrays import Floats
from deniable.errors import GuessWarning
from deniable.estimation import Z_95, guess_half_width
from deniable.plans import beside_guess, better_guesses

WORSE = "worse_than_guess"


def named_guesses(answer: pd.DataFrame, errors: Iterable[tuple[str, Floats]]) -> pd.DataFrame:
    """Return an `answer` after naming its tables that are worse than a guess.

    The `errors` are names of tables with the standard errors of their cells, not a number if
    unknown. The error of a table is 1.96 times their root mean square, as in
    `deniable.plans.expected_errors`, and the guess is `deniable.estimation.guess_half_width`.
    ``attrs["worse_than_guess"]`` has both in percentage points, by table, and a `GuessWarning`
    names the tables.
    """
    worse = dict[str, str]()
    for name, every in errors:
        own = every[every != 0]  # impossible cells have no error
        known = own[np.isfinite(own)]
        error = 100 * Z_95 * float(np.sqrt((known**2).mean())) if known.size else 0.0
        if error > (guess := 100 * guess_half_width(own.size)):
            worse[name] = beside_guess(error, guess)
    answer.attrs[WORSE] = worse
    if note := note_on_worse(answer):
        warnings.warn(note, GuessWarning, stacklevel=3)
    return answer


def note_on_worse(answer: pd.DataFrame) -> str:
    """Return a note on tables of an `answer` that are worse than a guess, or an empty text."""
    if not (worse := answer.attrs.get(WORSE, {})):
        return ""
    return (
        f"{better_guesses(worse)} They and their consistent values are no results. Estimate fewer "
        "columns at once; for a number use its mean and quantiles, or queries."
    )
