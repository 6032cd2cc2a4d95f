"""Privacy requirements other than epsilon: beta, or (rho_1, rho_2) ([pram], section 3)."""

import math
from collections.abc import Mapping
from dataclasses import dataclass
from fractions import Fraction
from typing import Annotated, Any, Literal, Self

from pydantic import Field, model_validator

from deniable.channels import Number, as_written, log_rounded_up, thresholds
from deniable.errors import DeniableError
from deniable.validation import Probability, Strict

Unit = Literal["record", "column"]


def parity_of_breach(rho_1: Number, rho_2: Number) -> Fraction:
    """Return rho_2 (1 - rho_1) / (rho_1 (1 - rho_2)), the largest parity by [pram], (3.5).

    Raises `DeniableError` unless 0 < `rho_1` < `rho_2` < 1.
    """
    low, high = thresholds(rho_1, rho_2)
    return high * (1 - low) / (low * (1 - high))


@dataclass(frozen=True)
class Requirement:
    """A bound on the parity: `beta`, or no breach from `breach`, that is (rho_1, rho_2).

    For any prior, no randomized value changes the probability of a set by more than the factor
    `beta`, above 1 ([pram], Theorem 3.2). With `breach`, none changes it from below rho_1 to above
    rho_2, or the reverse (Theorem 3.1). The requirement is `of` the "record", or of each "column"
    or cluster. Raises `DeniableError` unless exactly one of both is given, in its range.

    Examples
    --------
    >>> Requirement(beta=3.0).epsilon, Requirement(breach=(0.1, 0.5)).parity
    (1.0986122886681096, Fraction(9, 1))
    """

    beta: float | None = None
    breach: tuple[float, float] | None = None
    of: Unit = "record"

    def __post_init__(self) -> None:
        if (self.beta is None) == (self.breach is None):
            raise DeniableError("a requirement is beta or breach; give one of them")
        if self.parity <= 1:
            raise DeniableError(f"beta is {self.beta}; give a factor above 1")

    @property
    def parity(self) -> Fraction:
        """The largest allowed parity; floats are taken as their decimal text, or as less."""
        if self.breach is not None:
            return parity_of_breach(*self.breach)
        return min(as_written(self.beta or 0.0), Fraction(self.beta or 0.0))

    @property
    def epsilon(self) -> float:
        """The largest allowed epsilon, ln(parity), rounded down."""
        return math.nextafter(log_rounded_up(self.parity), 0.0)

    @property
    def label(self) -> str:
        """The short name of the requirement: "beta 3", or "breach 0.1 to 0.5"."""
        if self.breach is not None:
            return "breach {:g} to {:g}".format(*self.breach)
        return f"beta {self.beta:g}"

    @property
    def meaning(self) -> str:
        """The requirement as a sentence without a full stop."""
        of = "the record" if self.of == "record" else "each column or cluster of columns"
        what = f"changes a probability by more than the factor {self.beta}"
        if self.breach is not None:
            what = "raises a prior probability below {} above {}, or the reverse".format(
                *self.breach
            )
        return f"for any prior no randomized value {what} (of {of})"

    def allows(self, parity: Fraction | None) -> bool:
        """Return whether a `parity` is small enough; None means infinite."""
        return parity is not None and parity <= self.parity

    def to_json(self) -> dict[str, Any]:
        """Return the requirement as plain values."""
        own = {"beta": self.beta} if self.breach is None else {"breach": list(self.breach)}
        return {**own, "of": self.of}

    @classmethod
    def from_json(cls, values: Mapping[str, Any]) -> Self:
        """Return the requirement of `values` that `to_json` returned."""
        return cls(values.get("beta"), tuple(values.get("breach", ())) or None, values["of"])


class PrivacyOptions(Strict):
    """The options `epsilon`, `beta` and `breach` of a mechanism; see `Requirement`."""

    epsilon: float | None = None
    """ε that is not exceeded."""
    beta: Annotated[float, Field(gt=1, allow_inf_nan=False)] | None = None
    """Largest factor by which a randomized value or record changes a probability, for any prior
    ([pram], Theorem 3.2). ε is ln `beta`, rounded down."""
    breach: Annotated[list[Probability], Field(min_length=2, max_length=2)] | None = None
    """Two numbers RHO_1 < RHO_2. No prior probability below RHO_1 rises above RHO_2, nor the
    reverse ([pram], Theorem 3.1). ε is ln[RHO_2 (1 − RHO_1) / (RHO_1 (1 − RHO_2))], rounded
    down."""

    @model_validator(mode="after")
    def _rising(self) -> Self:
        if self.breach is not None and self.breach[0] >= self.breach[1]:
            raise ValueError(f"breach: {self.breach}; allowed: [RHO_1, RHO_2] with RHO_1 < RHO_2")
        return self

    @property
    def privacy(self) -> dict[str, Any]:
        """The three options by name, None if not given."""
        return {"epsilon": self.epsilon, "beta": self.beta, "breach": self.breach}

    def requirement(self, of: Unit) -> Requirement | None:
        """Return the requirement `of` the record or each column; None if there is none."""
        breach = None if self.breach is None else (self.breach[0], self.breach[1])
        return Requirement(self.beta, breach, of) if self.beta or breach else None

    @property
    def budget(self) -> float | None:
        """The epsilon, or the largest one that the requirement allows."""
        return required.epsilon if (required := self.requirement("record")) else self.epsilon
