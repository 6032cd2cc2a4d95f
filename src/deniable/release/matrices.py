"""How the matrices of PRAM are chosen, as typed models."""

from typing import TYPE_CHECKING, Annotated, Literal, Self

from pydantic import Field, model_validator

from deniable.arrays import Floats
from deniable.records import Domain
from deniable.validation import Epsilon, Probability, Strict

if TYPE_CHECKING:  # a run's start reads settings and computes nothing
    from deniable.channels import Channel


class _Matrix(Strict):
    """How the matrices of PRAM are chosen."""

    def channel(self, proportions: Floats, block: Domain) -> "Channel":
        """Return the channel of a block of attributes.

        The proportions are the true ones of the block's cells, shape (cells,), in a stratum if
        there are strata.

        Raises
        ------
        DeniableError
            If there is no such matrix.
        """
        from deniable.pram import pram_matrix  # noqa: PLC0415 - only a release's design computes

        return pram_matrix(proportions, categories=block.cell_labels(), **self.model_dump())


class EpsilonMatrix(_Matrix):
    """Generalized randomized response of an epsilon."""

    kind: Literal["epsilon"]
    epsilon: Epsilon


class RetentionMatrix(_Matrix):
    """Every category retained with one probability."""

    kind: Literal["retention"]
    retention: Probability


class TwoStepMatrix(_Matrix):
    """Invariant, from a first matrix of an epsilon or of a retention."""

    kind: Literal["two_step"]
    epsilon: Epsilon | None = None
    retention: Probability | None = None

    @model_validator(mode="after")
    def _one_first_matrix(self) -> Self:
        if (self.epsilon is None) == (self.retention is None):
            given = "neither" if self.epsilon is None else "both"
            raise ValueError(
                f"{given} of epsilon and retention given; allowed: one of them, for the first step"
            )
        return self


class DesignedMatrix(_Matrix):
    """The best matrix for stated needs, by optimization."""

    kind: Literal["designed"]
    epsilon: Epsilon
    retention: Probability | None = None
    invariant: bool = True
    loss: Literal["changed", "trace", "worst_cell"] = "changed"


class FileMatrix(_Matrix):
    """Matrices of the user's own, a file a block."""

    kind: Literal["file"]
    files: dict[str, Annotated[str, Field(min_length=1)]]

    def channel(self, proportions: Floats, block: Domain) -> "Channel":
        """Return the matrix in the file of the `block`, whatever its `proportions`."""
        from deniable.pram import matrix_from_file  # noqa: PLC0415 - only a design computes

        return matrix_from_file(self.files[" x ".join(block.names)], block)


PramMatrix = Annotated[
    EpsilonMatrix | RetentionMatrix | TwoStepMatrix | DesignedMatrix | FileMatrix,
    Field(discriminator="kind"),
]
