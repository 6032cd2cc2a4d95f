"""Numbers with noise, by themselves, in clusters or in histograms ([idp]), as a plan."""

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Literal

import numpy as np
import pandas as pd
from pydantic import ValidationError

from deniable.errors import DataError, DeniableError
from deniable.idp import Domains, Method, NumericMechanism
from deniable.idp.audit import definition, proved_epsilon
from deniable.records import NumericMicrodata
from deniable.release import HistogramRelease, IdpRelease, NumericRelease
from deniable.release.numeric import HISTOGRAMS, mechanism_of, protect
from deniable.sampling import KeyedDraws, KeyedNoise, generator_for
from deniable.validation import fault_lines


@dataclass(frozen=True, eq=False)
class MaskingPlan:
    """How numbers are masked: values, centroids of clusters, or histograms, with Laplace noise.

    Of noisy histograms come synthetic records, and the noisy counts, in ``attrs["histograms"]``.

    What is asked for is not what holds: **individual** epsilon, or one by composition over
    clusters, is no epsilon of the masked records. `epsilon` says what is proved of these, infinite
    for all methods that form clusters ([idp], and docs/findings.md).

    Parameters
    ----------
    bounds : mapping of str to pair of float
        The columns to mask, and the least and the largest value of each, known without the records.
    asked : float, in (0, 30]
        Over all columns, which have equal shares; of what, `definition` says.
    method : "dp", "dp_um", "idp_ls", "idp_cbls" or "histograms"
        See `deniable.idp.methods`, of histograms `deniable.idp.true_dp`.
    k : int, at least 3, optional
        Records of a cluster, where the method forms clusters: all but the first and the last.
    accept : sequence of str
        Names of what fails of the method: ``no_epsilon_for_records`` where there are clusters, for
        ``idp_cbls`` ``true_values_released`` too.
    bins : int, 2 to 1,000
        Of equal width, in each histogram.

    Raises
    ------
    DeniableError
        If a parameter is out of range, or something that fails is not accepted.

    Examples
    --------
    >>> plan = MaskingPlan({"age": (18, 90)}, 1.0, "idp_ls", 5, ["no_epsilon_for_records"])
    >>> plan.epsilon, plan.definition
    (inf, 'individual differential privacy ([idp], Definition 3)')
    """

    bounds: Mapping[str, tuple[float, float]]
    asked: float
    method: Method | Literal["histograms"] = "dp"
    k: int | None = None
    accept: Sequence[str] = ()
    bins: int = 20

    def __post_init__(self) -> None:
        if not self.bounds:
            raise DeniableError("bounds of no column; give those of each that is masked")
        for name, (low, high) in self.bounds.items():
            if not -math.inf < low < high < math.inf:
                raise DeniableError(
                    f"column {name!r} has the bounds {low} and {high}; give two finite numbers, "
                    "the lower one first"
                )
        self.settings  # noqa: B018 - refuses what is out of range

    @cached_property
    def settings(self) -> NumericRelease:
        """The same as the settings of a release, which judge it."""
        by_histograms = self.method == "histograms"
        kind = HistogramRelease if by_histograms else IdpRelease
        own = {"bins": self.bins} if by_histograms else {"method": self.method, "k": self.k}
        values = own | {
            "name": "in-memory",
            "data": "records",
            "mechanism": "numeric_dp" if by_histograms else "idp",
            "rehearsal": True,
            "epsilon": float(self.asked),
            "accept": list(self.accept),
        }
        try:
            return kind.model_validate(values)
        except ValidationError as error:
            lines = fault_lines(error, kind, "the plan")
            raise DeniableError(f"no such plan: {'; '.join(lines)}") from None

    @cached_property
    def domains(self) -> Domains:
        """The bounds, in the form of a release's."""
        ends = np.array(list(self.bounds.values()), dtype=float)
        return Domains(tuple(self.bounds), ends[:, 0], ends[:, 1])

    @property
    def mechanism(self) -> NumericMechanism:
        """The mechanism with its parameters."""
        return mechanism_of(self.settings, self.domains)

    @property
    def definition(self) -> str:
        """What the epsilon that was asked for is claimed to be of."""
        return definition(self.mechanism)

    @property
    def epsilon(self) -> float:
        """Epsilon of differential privacy that is proved of `unit`, rounded up, or infinite."""
        return proved_epsilon(self.mechanism)

    @property
    def unit(self) -> str:
        """What `epsilon` is of."""
        return "the masked numbers of one record"

    @property
    def not_covered(self) -> tuple[str, ...]:
        """What fails, in sentences."""
        return tuple(self.settings.findings.values())

    def read(self, frame: pd.DataFrame) -> NumericMicrodata:
        """Return the masked columns of a `frame`, checked.

        Raises
        ------
        DataError
            If a column is missing, or a value is no number or outside of its bounds.
        """
        if not isinstance(frame, pd.DataFrame):
            raise DataError(f"masking takes a DataFrame of numbers, not {type(frame).__name__}")
        for name in self.bounds:
            if name not in frame.columns:
                there = ", ".join(map(str, frame.columns))
                raise DataError(f"the table has no column {name!r}, only {there}; add it")
        data = NumericMicrodata.of_frame(frame[list(self.bounds)])
        stated = self.domains
        outside = np.argwhere((data.values < stated.lower) | (data.values > stated.upper))
        if outside.size:
            row, column = outside[0].tolist()
            raise DataError(
                f"the table: record {row + 1}, column {data.names[column]!r} has "
                f"{data.values[row, column]:g}, outside of its bounds {stated.lower[column]:g} to "
                f"{stated.upper[column]:g}; cut it off there, or state wider bounds"
            )
        marks = {HISTOGRAMS: frame.attrs[HISTOGRAMS]} if HISTOGRAMS in frame.attrs else {}
        return replace(data, marks=marks)

    def randomize(self, frame: pd.DataFrame, draws: KeyedDraws) -> pd.DataFrame:
        """Return the masked columns, rows in their places.

        Parameters
        ----------
        frame : DataFrame
        draws : KeyedDraws

        Raises
        ------
        DeniableError
            As `read`, and if there are too few records for a cluster.
        """
        data, noise = self.read(frame), KeyedNoise(draws)
        generator = generator_for(0, {"synthesis": draws.subkey("synthesis", ()).hex()})
        masked = protect(self.settings, self.domains, data, noise, generator)
        made = pd.DataFrame(masked.values, columns=list(masked.names))
        if HISTOGRAMS in masked.marks:
            made.attrs[HISTOGRAMS] = masked.marks[HISTOGRAMS]
        return made
