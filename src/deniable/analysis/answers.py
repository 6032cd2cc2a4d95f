"""Options of estimates and their intervals, and the columns of their tables."""

from collections.abc import Sequence
from dataclasses import asdict, dataclass, replace
from itertools import combinations
from typing import Any, get_args

import numpy as np
import pandas as pd

from deniable.arrays import Floats
from deniable.channels import Channel, Inverse, Target
from deniable.errors import DeniableError, refuse_unknown
from deniable.estimation import (
    CONFIDENCE,
    Intervals,
    confidence_intervals,
    refuse_bad_confidence,
    weighted_intervals,
)
from deniable.records import Attribute, Domain
from deniable.responses import Counted
from deniable.schema import MISSING, Column

Names = Sequence[str] | str
"""Columns, or one of them."""
Tables = Sequence[Sequence[str]]
TARGETS: tuple[Target, ...] = ("population", "file")
OF_TARGET = {
    "population": "the population that these records were drawn from, one by one",
    "file": "these very records",
}
ROUNDING = 1e-9
MIN_RECORDS = 2 - 1e-9
"""Records that an estimate for a population needs, but for rounding."""


@dataclass(frozen=True)
class Asked:
    """Options of estimates and their intervals.

    Parameters
    ----------
    target : "population" or "file"
        The proportions that these records were drawn from, or those among these very records.
    confidence : float, in (0, 1)
        Of each interval on its own.
    inverse : "least" or "own"
        Of channels with more randomized values than categories; see `deniable.channels.Inverse`.
    """

    target: Target = "population"
    confidence: float = CONFIDENCE
    inverse: Inverse = "least"

    def __post_init__(self) -> None:
        refuse_unknown("target", self.target, TARGETS)
        refuse_unknown("inverse", self.inverse, get_args(Inverse))
        refuse_bad_confidence(self.confidence)


def intervals_of(
    channel: Channel, counted: Counted, functionals: Floats | None, asked: Asked
) -> Intervals:
    """Return intervals of a table's cells, or of linear functionals of them.

    The reports `counted` went through the `channel`; `functionals`, of shape (functionals, cells),
    are of its cells, and the intervals are as `asked`. Score intervals; by weights those of
    Student's t, around the weighted share of the categories (Hajek), for records drawn one by one
    with replacement. At 95 %, of 800 records with weights that go with the answers and count for 7
    in 10 (Kish), these cover .93 to .97 of the time, but a category that some 3 records have .91;
    where weights count for 3 in 10, .92 to .96, but categories of 3 and of 8 records .82 to .85.

    Raises
    ------
    DeniableError
        As `refuse_one_record`.
    """
    refuse_one_record(counted, asked)
    if asked.target == "file" and counted.file is not None and counted.file > counted.records:
        return _of_random_sample(channel, counted, functionals, asked)
    how: dict[str, Any] = asdict(asked) | {"functionals": functionals}
    if counted.weighted is None:
        return confidence_intervals(channel, counted.counts, **how)
    return weighted_intervals(channel, counted.weighted, **how)


def _of_random_sample(
    channel: Channel, counted: Counted, functionals: Floats | None, asked: Asked
) -> Intervals:
    """Return intervals for a file of which the records `counted` are a simple random sample.

    With N counted of M records, the variance is that for the population less (N - 1) / (M - 1) of
    the sampling variance, which is the difference between the variances for the population and for
    the counted records alone. Squared distances of the limits are mixed in the same proportion.
    """
    assert counted.file is not None
    population = replace(asked, target="population")
    whole = intervals_of(channel, replace(counted, file=None), functionals, population)
    own = intervals_of(channel, replace(counted, file=None), functionals, asked)
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


def refuse_one_record(counted: Counted, asked: Asked) -> None:
    """Raise `DeniableError` if a population is `asked` for and not two records speak for it.

    By weights: if those `counted` count for fewer than two records (Kish), as where one has nearly
    all.
    """
    if asked.target == "population" and (number := float(counted.counts.sum())) < MIN_RECORDS:
        of = "" if counted.weighted is None else f", by weights that count for {number:.3g},"
        raise DeniableError(
            f"{counted.records} record{'s'[: counted.records > 1]}{of} say nothing of how records "
            "of the population differ; ask for the target 'file'"
        )


def columns_of(parts: Sequence[Floats], records: int, asked: Asked) -> dict[str, Any]:
    """Return estimates, standard errors, limits and a distribution as columns that say of what.

    These are the five `parts`, from so many `records`, as they were `asked` for.
    """
    estimate, errors, low, high, distribution = parts
    return {
        "estimate": estimate,
        "standard_error": errors,
        "ci_low": low,
        "ci_high": high,
        "outside": (estimate < -ROUNDING) | (estimate > 1 + ROUNDING),
        "consistent": distribution,
        "confidence": asked.confidence,
        "target": asked.target,
        "records": records,
        "reported": np.nan,
        "consistent_by": "",
        "likelihood_gap": np.nan,
    }


def values_of(attribute: Attribute, column: Column) -> list[Any]:
    """Return what an `attribute`'s categories stand for: texts, or points of a `column`'s grid."""
    if column.kind != "numeric":
        return list(attribute.categories)
    points: list[Any] = column.points.tolist()
    return points + [MISSING] * (attribute.size - len(points))


def cells_as_columns(
    domain: Domain, columns: dict[str, Column], taken: Sequence[str]
) -> dict[str, Any]:
    """Return a column for each attribute with its category in each cell, under its own name.

    The cells are those of the `domain`, whose attributes are the schema's `columns`. A name that is
    `taken` by a column of estimates is followed by " (column)".
    """
    codes = np.unravel_index(np.arange(domain.size), domain.shape)
    found = {}
    for attribute, own in zip(domain, codes, strict=True):
        values = pd.Series(values_of(attribute, columns[attribute.name]))
        name = f"{attribute.name} (column)" if attribute.name in taken else attribute.name
        found[name] = values.iloc[own].to_numpy()
    return found


def tables_of(names: Names | Tables) -> list[tuple[str, ...]]:
    """Return the tables in `names`, or all pairs of the columns in `names`.

    Raises `DeniableError` if there is none.
    """
    own = [(each,) if isinstance(each, str) else tuple(each) for each in names]
    if isinstance(names, str) or all(len(each) == 1 for each in own):
        flat = (names,) if isinstance(names, str) else [each[0] for each in own]
        own = list(combinations(flat, 2))
    if not own or min(map(len, own)) < 2:
        raise DeniableError("pairs of one column; name at least two")
    return own


def for_reading(answer: pd.DataFrame) -> pd.DataFrame:
    """Return an `answer` without empty columns, and without those that `notes_on` it has."""
    told = ["confidence", "consistent_by", "likelihood_gap"]
    if "target" in answer and answer["target"].nunique() == 1:
        told.append("target")
    return answer.drop(columns=told, errors="ignore").dropna(axis="columns", how="all")


def notes_on(answer: pd.DataFrame) -> list[str]:
    """Return what a reader of `answer`, a table of estimates, has to know, in sentences."""
    notes = []
    if "ci_low" in answer and len(answer):
        confidence = answer["confidence"].iloc[0]
        of = " and for ".join(OF_TARGET[each] for each in answer["target"].unique())
        notes.append(
            f"Intervals are of {confidence:.9g} confidence, each on its own, for {of}. Those of a "
            "share may leave [0, 1], as unbiased estimates do."
        )
    if "outside" in answer and (outside := int(answer["outside"].sum())):
        notes.append(
            f"{outside} of {len(answer)} estimates lie outside [0, 1], by chance of the "
            "randomization: add unbiased estimates up, and show the consistent ones."
        )
    if "consistent_by" in answer:
        ways = " or ".join(dict.fromkeys(answer["consistent_by"]))
        notes.append(
            f"Consistent values are a distribution, found by {ways}: never negative, with sum 1, "
            "and biased where estimates would leave [0, 1]."
        )
    return notes
