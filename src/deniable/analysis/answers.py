"""Estimates with their intervals as tables: what each row is, and what it is an estimate of."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import pandas as pd

from deniable.analysis.protected import Counted
from deniable.analysis.tables import Table
from deniable.arrays import Counts, Floats
from deniable.channels import Channel, SquareWave, SquareWaveOrMissing, Target
from deniable.errors import DeniableError, refuse_unknown
from deniable.estimation import (
    CONFIDENCE,
    Intervals,
    confidence_intervals,
    euclidean_projection,
    grid_estimate,
    maximum_likelihood,
    refuse_bad_confidence,
    weighted_intervals,
)
from deniable.records import Attribute, Domain
from deniable.schema import MISSING, Column

TARGETS: tuple[Target, ...] = ("population", "file")
MOST_LIKELIHOOD = 256**3  # cells^2 times reports, up to which Newton's method takes a second or so
MOST_UNSMOOTHED = 32
"""Points of a grid whose distribution is estimated without smoothing."""
ROUNDING = 1e-9
FEWEST = 2 - 1e-9
"""Records that tell how those of a population differ, but for rounding."""


@dataclass(frozen=True)
class Asked:
    """How an estimate's interval is asked for.

    Parameters
    ----------
    target : "population" or "file"
        The proportions that these records were drawn from, or those among these very records.
    confidence : float, in (0, 1)
        Of each interval on its own.
    """

    target: Target = "population"
    confidence: float = CONFIDENCE

    def __post_init__(self) -> None:
        refuse_unknown("target", self.target, TARGETS)
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
    how: dict[str, Any] = {"target": asked.target, "confidence": asked.confidence}
    if counted.weighted is None:
        return confidence_intervals(channel, counted.counts, functionals=functionals, **how)
    return weighted_intervals(channel, counted.weighted, functionals=functionals, **how)


def refuse_one_record(counted: Counted, asked: Asked) -> None:
    """Raise `DeniableError` if a population is `asked` for and not two records speak for it.

    By weights: if those `counted` count for fewer than two records (Kish), as where one has nearly
    all.
    """
    if asked.target == "population" and (number := float(counted.counts.sum())) < FEWEST:
        of = "" if counted.weighted is None else f", by weights that count for {number:.3g},"
        raise DeniableError(
            f"{counted.records} record{'s'[: counted.records > 1]}{of} say nothing of how records "
            "of the population differ; ask for the target 'file'"
        )


def consistent(channel: Channel, counts: Counts | Floats) -> tuple[Floats, str]:
    """Return a distribution over a `channel`'s cells that fits its reports, and how it was found.

    The most likely one. Through a square wave over a fine grid, which tells little of single
    points, that of EM with smoothing: over 51 and 101 points, at epsilon 1 to 4, it is mostly
    nearer to the truth (in the mean distance by which mass is moved), over 13 points always
    farther. Of tables too large for Newton's method the distribution nearest to the unbiased
    estimate. The `counts` may be those of weighted records (a pseudo-likelihood).
    """
    waves = isinstance(channel, (SquareWave, SquareWaveOrMissing))
    if waves and channel.size > MOST_UNSMOOTHED:
        apart = int(isinstance(channel, SquareWaveOrMissing))
        return grid_estimate(counts, channel, apart=apart), "EM with smoothing"
    closed = channel.weight_and_replacement is not None
    if closed or channel.size**2 * channel.reports <= MOST_LIKELIHOOD:
        return maximum_likelihood(counts, channel).proportions, "maximum likelihood"
    return euclidean_projection(channel.estimate(counts)), "projection"


def estimated(table: Table, counted: Counted, asked: Asked) -> dict[str, Any]:
    """Return the columns of a table's estimates, a value for each of its cells.

    The reports of the `table` are `counted`; intervals are as `asked`.
    """
    channel = table.channel
    distribution, how = consistent(channel, counted.counts)
    if table.whole:
        order = table.order
        found = intervals_of(channel, counted, None, asked)
        parts = [found.estimate, found.standard_error, found.low, found.high, distribution]
        own = [part[order] for part in parts]
    else:
        functionals = table.functionals
        found = intervals_of(channel, counted, functionals, asked)
        own = [found.estimate, found.standard_error, found.low, found.high]
        own.append(functionals @ distribution)
    return columns_of(own, counted.records, asked) | {"consistent_by": how}


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


def for_reading(answer: pd.DataFrame) -> pd.DataFrame:
    """Return an `answer` without what is the same in all of its rows, and in `notes_on` it."""
    return answer.drop(columns=["confidence", "target", "consistent_by"], errors="ignore")


def notes_on(answer: pd.DataFrame) -> list[str]:
    """Return what a reader of `answer`, a table of estimates, has to know, in sentences."""
    notes = []
    if "ci_low" in answer and len(answer):
        target, confidence = answer["target"].iloc[0], answer["confidence"].iloc[0]
        of = (
            "the population that these records were drawn from, one by one"
            if target == "population"
            else "these very records"
        )
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
