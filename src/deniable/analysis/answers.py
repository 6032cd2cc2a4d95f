"""Options and intervals of estimates, the columns of their tables, and tables beside a guess."""

import warnings
from collections.abc import Iterable, Sequence
from dataclasses import asdict, dataclass, fields, replace
from itertools import combinations
from typing import Any, Literal, TypedDict, get_args

import numpy as np
import pandas as pd

from deniable.arrays import Floats
from deniable.channels import Channel, Inverse, Target
from deniable.errors import DeniableError, GuessWarning, refuse_unknown
from deniable.estimation import (
    CONFIDENCE,
    Z_95,
    Intervals,
    confidence_intervals,
    guess_half_width,
    refuse_bad_confidence,
    weighted_intervals,
)
from deniable.plans import beside_guess, better_guesses
from deniable.records import Attribute, Domain
from deniable.responses import Counted
from deniable.schema import Column

Names = Sequence[str] | str  # columns, or one of them
Tables = Sequence[Sequence[str]]
Targets = Literal["population", "file", "both"]
TARGETS: tuple[Target, ...] = ("population", "file")
ROUNDING = 1e-9
WORSE = "worse_than_guess"
MIN_RECORDS = 2 - 1e-9  # records that an estimate for a population needs, but for rounding


class Options(TypedDict, total=False):
    """Options of the methods of `deniable.Released`, which `Released.margins` documents."""

    weight: str | None
    target: Targets
    confidence: float
    inverse: Inverse


@dataclass(frozen=True)
class EstimateOptions:
    """Options of estimates and their intervals.

    The `target` is "population", the proportions in the population that these records were drawn
    from, or "file". The `confidence`, in (0, 1), is of each interval on its own. The `inverse` of
    channels with more randomized values than categories is as in `deniable.channels.Inverse`.
    """

    target: Target = "population"
    confidence: float = CONFIDENCE
    inverse: Inverse = "least"

    def __post_init__(self) -> None:
        refuse_unknown("target", self.target, TARGETS)
        refuse_unknown("inverse", self.inverse, get_args(Inverse))
        refuse_bad_confidence(self.confidence)


def intervals_of(
    channel: Channel, counted: Counted, functionals: Floats | None, options: EstimateOptions
) -> Intervals:
    """Return intervals by `options` for the cells of a `channel`, from `counted` records.

    With `functionals`, shape (functionals, cells), the intervals are for these sums of cells. They
    are score intervals. With weights, they are intervals by Student's t around the weighted
    proportions of the categories (Hajek), for records drawn one by one with replacement. At a
    confidence of 95 %, with 800 records and weights that depend on the answers, their coverage was
    as follows. Where weighted records count for 7 in 10 (Kish), it was .93 to .97, and .91 for a
    category of some 3 records. Where they count for 3 in 10, it was .92 to .96, and .82 to .85 for
    categories of 3 and of 8 records. Errors are as in `refuse_one_record`.
    """
    refuse_one_record(counted, options)
    if options.target == "file" and counted.file is not None and counted.file > counted.records:
        return _of_random_sample(channel, counted, functionals, options)
    how: dict[str, Any] = asdict(options) | {"functionals": functionals}
    if counted.weighted is None:
        found = confidence_intervals(counted.counts, channel, **how)
    else:
        found = weighted_intervals(counted.weighted, channel, **how)
    if (cells := channel.possible_cells) is None:
        return found
    some = channel.functional_weights(functionals)[:, cells].any(axis=1)
    return Intervals(*(np.where(some, getattr(found, each.name), 0.0) for each in fields(found)))


def _of_random_sample(
    channel: Channel, counted: Counted, functionals: Floats | None, options: EstimateOptions
) -> Intervals:
    """Return intervals for a file, if the `counted` records are a simple random sample of it.

    The sampling variance is the difference between the variances for the population and for the
    counted records. With N counted of M records, the variance is the one for the population less
    (N - 1) / (M - 1) of the sampling variance. Squared distances of limits are mixed likewise.
    """
    assert counted.file is not None
    population = replace(options, target="population")
    whole = intervals_of(channel, replace(counted, file=None), functionals, population)
    own = intervals_of(channel, replace(counted, file=None), functionals, options)
    known = (counted.records - 1) / (counted.file - 1)

    def mixed(within: Floats, beyond: Floats) -> Floats:
        return np.asarray(np.sqrt(known * within**2 + (1 - known) * beyond**2))

    center = own.estimate
    return replace(
        own,
        standard_error=mixed(own.standard_error, whole.standard_error),
        low=center - mixed(center - own.low, center - whole.low),
        high=center + mixed(own.high - center, whole.high - center),
    )


def refuse_one_record(counted: Counted, options: EstimateOptions) -> None:
    """Raise `DeniableError` if fewer than two records are `counted`, by their weights (Kish).

    If the target of `options` is the file, one record is enough.
    """
    if options.target == "population" and (number := float(counted.counts.sum())) < MIN_RECORDS:
        of = "" if counted.weighted is None else f", by weights that count for {number:.3g},"
        raise DeniableError(
            f"{counted.records} record{'s'[: counted.records > 1]}{of} cannot show how records of "
            "the population differ; ask for the target 'file'"
        )


def columns_of(parts: Sequence[Floats], records: int, options: EstimateOptions) -> dict[str, Any]:
    """Return the columns of all tables of estimates, by `options`, from so many `records`.

    The `parts` are estimates, standard errors, both limits and a consistent distribution.
    """
    estimate, errors, low, high, distribution = parts
    return {
        "estimate": estimate,
        "standard_error": errors,
        "ci_low": low,
        "ci_high": high,
        "outside": (estimate < -ROUNDING) | (estimate > 1 + ROUNDING),
        "consistent": distribution,
        "confidence": options.confidence,
        "target": options.target,
        "records": records,
        "reported": np.nan,
        "consistent_by": "",
        "likelihood_gap": np.nan,
    }


def values_of(attribute: Attribute, column: Column) -> list[Any]:
    """Return the values of an `attribute`: texts, or points of the grid of a numeric `column`."""
    if not column.on_grid:
        return list(attribute.categories)
    points: list[Any] = column.points.tolist()
    return [*points, *attribute.categories[len(points) :]]


def cells_as_columns(
    domain: Domain, columns: dict[str, Column], taken: Sequence[str]
) -> dict[str, Any]:
    """Return a column for each attribute of a `domain`: its value in each cell.

    The `columns` of the schema are given by name. If a column of estimates has the name of an
    attribute (`taken`), " (column)" follows the name.
    """
    codes = np.unravel_index(np.arange(domain.size), domain.shape)
    found = {}
    for attribute, own in zip(domain, codes, strict=True):
        values = pd.Series(values_of(attribute, columns[attribute.name]))
        name = f"{attribute.name} (column)" if attribute.name in taken else attribute.name
        found[name] = values.iloc[own].to_numpy()
    return found


def tables_of(names: Names | Tables) -> list[tuple[str, ...]]:
    """Return the tables in `names`, or all pairs of columns; raise `DeniableError` without any."""
    each_named = [names] if isinstance(names, str) else names
    own = [(each,) if isinstance(each, str) else tuple(each) for each in each_named]
    if all(len(each) == 1 for each in own):
        own = list(combinations([name for (name,) in own], 2))
    if not own or min(map(len, own)) < 2:
        raise DeniableError("pairs of one column; name at least two")
    return own


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
        warnings.warn(note, GuessWarning, stacklevel=4)
    return answer


def note_on_worse(answer: pd.DataFrame) -> str:
    """Return a note on tables of an `answer` that are worse than a guess, or an empty text."""
    if not (worse := answer.attrs.get(WORSE, {})):
        return ""
    return (
        f"{better_guesses(worse)} They and their consistent values are no results. Estimate fewer "
        "columns at once; for a number use its mean and quantiles, or queries."
    )
