"""Gaussian copulas of numeric attributes and a class, by quantiles, and their JSON files."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import numpy as np

from deniable.arrays import Floats
from deniable.errors import DataError
from deniable.files import read_fitted, write_fitted

MAX_QUANTILES = 101  # of an attribute; more would approximate the records themselves
SUM_TOLERANCE = 1e-6
ABOUT = (
    "A Gaussian copula: parameters, no records. Each margin has its quantiles at the probabilities "
    "given, means of several neighbouring order statistics, and the decimals that values are "
    "rounded to; between two quantiles values are interpolated. Correlations are those of the "
    "normal scores, a row for each attribute, the class last, up to the diagonal."
)


@dataclass(frozen=True)
class MarginModel:
    """The marginal distribution of the numeric attribute `name`, by `quantiles`.

    Neighbouring quantiles that are equal form an atom. Values are rounded to `decimals`, 0 to 15,
    so that ties of the file are kept; None means no rounding.
    """

    name: str
    quantiles: tuple[float, ...]
    decimals: int | None = None


@dataclass(frozen=True, eq=False)
class Copula:
    """A joint distribution of numeric attributes, and of the class if there is one.

    The `probabilities` of the quantiles of all `margins`, 2 to 101, increase from 0 to 1. Without a
    class, `class_name`, `classes` and `shares`, the probabilities of the classes, are empty. Raises
    `DataError` if names repeat, `shares` do not sum to 1 within 1e-6, or other values are invalid.

    Parameters
    ----------
    correlations : array, shape (attributes, attributes), or one more each way with a class
        Of the normal scores, the class last: symmetric, positive definite, with a unit diagonal.
    provenance : mapping of str to plain JSON values
        The arguments of `fit`, and the distance of a sample of the same size from the file.
    """

    probabilities: tuple[float, ...]
    margins: tuple[MarginModel, ...]
    class_name: str
    classes: tuple[str, ...]
    shares: tuple[float, ...]
    correlations: Floats
    provenance: Mapping[str, Any] = field(default_factory=dict)

    def __post_init__(self) -> None:
        names = self.names
        if not names or len(set(names)) < len(names):
            raise DataError("a copula needs one or more attributes, with different names")
        self._refuse_bad_margins()
        if bool(self.class_name) != bool(self.classes) or len(self.shares) != len(self.classes):
            raise DataError(
                f"the class {self.class_name!r} has {len(self.classes)} classes and "
                f"{len(self.shares)} proportions; give one for each class"
            )
        if self.shares:
            if not all(0 <= share <= 1 for share in self.shares):
                raise DataError(f"class {self.class_name!r}: a proportion is outside 0 .. 1")
            if abs(sum(self.shares) - 1) > SUM_TOLERANCE:
                raise DataError(f"class {self.class_name!r}: the proportions do not sum to 1")
        size, correlations = len(names) + bool(self.classes), self.correlations
        if correlations.shape != (size, size):
            raise DataError(
                f"correlations have the shape {correlations.shape}; there must be {size} rows and "
                "columns, one for each attribute and one for the class"
            )
        symmetric = np.isfinite(correlations).all() and (correlations == correlations.T).all()
        if not symmetric or (np.diag(correlations) != 1).any():
            raise DataError("correlations must be finite and symmetric, with 1 on the diagonal")
        if np.linalg.eigvalsh(correlations)[0] <= 0:
            raise DataError("correlations are not positive definite; fit the copula again")

    def _refuse_bad_margins(self) -> None:
        steps = np.array(self.probabilities)
        if steps.size < 2 or (steps[0], steps[-1]) != (0, 1) or not (np.diff(steps) > 0).all():
            raise DataError("probabilities of quantiles must increase from 0 to 1")
        for margin in self.margins:
            where, values = f"marginal distribution of {margin.name!r}", np.array(margin.quantiles)
            if values.size > MAX_QUANTILES or values.size != steps.size:
                raise DataError(
                    f"{where}: {values.size} quantiles at {steps.size} probabilities; allowed: 2 "
                    f"to {MAX_QUANTILES}, one for each probability"
                )
            if not np.isfinite(values).all() or (np.diff(values) < 0).any():
                raise DataError(f"{where}: quantiles must be finite numbers that do not decrease")
            if margin.decimals is not None and not 0 <= margin.decimals <= 15:
                raise DataError(f"{where}: {margin.decimals} decimals; allowed: 0 to 15, or null")

    def values(self, margin: MarginModel, probabilities: Floats) -> Floats:
        """Return the quantiles of a `margin` at `probabilities` in [0, 1], of the same shape."""
        values = np.interp(probabilities, self.probabilities, margin.quantiles)
        return values if margin.decimals is None else np.round(values, margin.decimals)

    @property
    def names(self) -> tuple[str, ...]:
        """Names of the numeric attributes."""
        return tuple(margin.name for margin in self.margins)


def _from_json(value: Any) -> Copula:
    margins = tuple(
        MarginModel(
            str(each["name"]),
            tuple(map(float, each["quantiles"])),
            None if each["decimals"] is None else int(each["decimals"]),
        )
        for each in value["margins"]
    )
    about, rows = value["class"], value["correlations"]
    correlations = np.zeros((len(rows), len(rows)))
    for row, entries in enumerate(rows):
        if len(entries) != row + 1:
            raise DataError(
                f"row {row} of the correlations has {len(entries)} entries; there must be "
                f"{row + 1}, up to the diagonal"
            )
        correlations[row, : row + 1] = correlations[: row + 1, row] = np.array(entries, float)
    name, classes = str(about["name"]), tuple(map(str, about["classes"]))
    shares, provenance = tuple(map(float, about["shares"])), dict(value["provenance"])
    probabilities = tuple(map(float, value["probabilities"]))
    return Copula(probabilities, margins, name, classes, shares, correlations, provenance)


def write(path: Path | str, copula: Copula) -> None:
    """Write a `copula` to `path` as JSON, with one line per attribute and row."""
    value = {
        "about": ABOUT,
        "provenance": dict(copula.provenance),
        "probabilities": list(copula.probabilities),
        "margins": [
            {
                "name": margin.name,
                "decimals": margin.decimals,
                # Whole numbers without ".0" keep files short.
                "quantiles": [int(q) if q == int(q) else q for q in margin.quantiles],
            }
            for margin in copula.margins
        ],
        "class": {
            "name": copula.class_name,
            "classes": list(copula.classes),
            "shares": list(copula.shares),
        },
        "correlations": [row[: i + 1].tolist() for i, row in enumerate(copula.correlations)],
    }
    write_fitted(path, value, ("margins", "correlations"))


def read(path: Path | str) -> Copula:
    """Read the copula at `path`; raise `DataError`, with the file, if this is impossible."""
    return read_fitted(path, _from_json)
