"""Settings of the matrices of PRAM."""

from collections.abc import Sequence
from typing import TYPE_CHECKING, Annotated, ClassVar, Literal, Self

from pydantic import Field, model_validator

from deniable import plans, pram
from deniable.arrays import Floats
from deniable.errors import DeniableError
from deniable.plans.settings.shared import only_option
from deniable.privacy import PrivacyOptions
from deniable.records import Domain
from deniable.validation import Epsilon, Probability, Strict

if TYPE_CHECKING:  # a config is checked without a computation
    from deniable.channels import Channel


class _Matrix(Strict):
    """Settings of matrices; `from_records` states whether original frequencies are used."""

    from_records: ClassVar[bool] = False

    kind: str
    """Kind of the matrices."""

    @property
    def is_invariant(self) -> bool:
        """Whether the expected frequencies of randomized records are the original ones."""
        return False

    @property
    def origin(self) -> "plans.Origin":
        """The information by which matrices are chosen."""
        return "the data, by a curator" if self.from_records else "no data"

    def channel(self, proportions: Floats, block: Domain) -> "Channel":
        """Return the channel of a `block`, by the original `proportions` of its cells.

        Raises `DeniableError` if the matrix is impossible.
        """
        own = self.model_dump(include={"kind", "retention", "invariant", "loss"})
        own |= {"epsilon": getattr(self, "budget", None)}
        return pram.pram_matrix(proportions, categories=block.cell_labels(), **own)

    def bounds(self, blocks: Sequence[Domain]) -> tuple[float, ...]:
        """Return the bound of each of `blocks` if the matrices are kept back, else ()."""
        return ()


class _OfEpsilon(PrivacyOptions, _Matrix):
    """Matrices of an `epsilon`, or of `beta` or `breach`, of each block."""

    epsilon: Epsilon | None = None
    """ε of each block. `beta` or `breach` of each block may replace it."""

    @model_validator(mode="after")
    def _one_privacy(self) -> Self:
        two_steps = self.model_dump(include={"retention"}) if self.kind == "two_step" else {}
        only_option(self.privacy | two_steps)
        return self


class _FromRecords(_OfEpsilon):
    """Matrices from original frequencies, which `keep_back` keeps from publication."""

    from_records: ClassVar[bool] = True

    keep_back: bool = False
    """True to publish no matrices (docs/pram.md#matrices-kept-back). They must be invariant,
    and not in a `mixed` plan. The requested ε of each block in `public/plan.json` is a bound. The
    matrices and the exact ε are in `private/plan.json`, the only one that is verified. Estimates
    are proportions of the randomized values, with intervals by the bound (2.6) of [pram]. Other
    estimates are refused."""
    weight: Annotated[str, Field(min_length=1)] | None = None
    """Column of positive survey weights (docs/pram.md#survey-weights). Required if the file has
    weights, with the risk `weights_released`. The matrices keep the weighted frequencies ([pram],
    (2.7)) and disclose them."""

    @model_validator(mode="after")
    def _kept_back_invariant(self) -> Self:
        if self.keep_back and not self.is_invariant:
            raise ValueError(
                "keep_back with invariant: false; allowed: invariant matrices, because nothing "
                "can be estimated without other matrices"
            )
        return self

    def bounds(self, blocks: Sequence[Domain]) -> tuple[float, ...]:
        def bound(size: int) -> float:
            if size == 1 or self.budget is not None:
                return 0.0 if size == 1 else float(self.budget or 0.0)
            return pram.channel_of_retention(size, getattr(self, "retention", 0.0)).epsilon

        return tuple(bound(block.size) for block in blocks) if self.keep_back else ()


class EpsilonMatrix(_OfEpsilon):
    """Generalized randomized response of an epsilon. The ε of several blocks is added."""

    kind: Literal["epsilon"]


class RetentionMatrix(_Matrix):
    """Matrices that retain each category with one probability.

    All other categories are equally likely.
    """

    kind: Literal["retention"]
    retention: Probability
    """Retention probability of each category."""


class TwoStepMatrix(_FromRecords):
    """Invariant matrices, from a first matrix of an epsilon or of a retention.

    They follow from that matrix and the original frequencies, a risk. Their ε holds given the
    matrices. If a matrix is singular, its own proportions are estimated, but no table with other
    columns.
    """

    is_invariant: ClassVar[bool] = True

    kind: Literal["two_step"]
    retention: Probability | None = None
    """Retention probability of the first matrix, in place of its ε."""


class DesignedMatrix(_FromRecords):
    """Matrices of the smallest loss for stated requirements, by optimization.

    They follow from the original frequencies, a risk. The ε of invariant ones holds given the
    matrices. If an invariant one is singular, its own proportions are estimated, but no table with
    other columns. Other singular matrices are refused.
    """

    kind: Literal["designed"]
    retention: Probability | None = None
    """Smallest retention probability of categories that occur."""
    invariant: bool = True
    """Whether the expected frequencies of the randomized values are the original ones."""
    loss: Literal["changed", "trace", "worst_cell"] = "changed"
    """Expected proportion of changed records (`changed`, at most 40 cells), or the sum (`trace`) or
    maximum (`worst_cell`) of the variances of estimates (at most 24 cells). See
    docs/optimized-matrices.md."""

    @property
    def is_invariant(self) -> bool:
        return self.invariant


class FileMatrix(_Matrix):
    """Matrices in CSV files, one for each block of columns."""

    kind: Literal["file"]
    files: dict[str, Annotated[str, Field(min_length=1)]]
    """Path of the file of each block, by its columns, such as `education` or
    `relationship x income`."""
    chosen_from: Literal["no data", "a public prior", "the data, by a curator"] = (
        "the data, by a curator"
    )
    """The information by which the matrices were chosen. The last value is a risk."""

    @property
    def origin(self) -> "plans.Origin":
        return self.chosen_from

    def channel(self, proportions: Floats, block: Domain) -> "Channel":
        """Return the matrix in the file of the `block`; `proportions` are not used."""
        if (name := " x ".join(block.names)) not in self.files:
            given = ", ".join(self.files)
            raise DeniableError(f"no file has its matrix; give files.{name}; given: {given}")
        return pram.matrix_from_file(self.files[name], block)


PramMatrix = Annotated[
    EpsilonMatrix | RetentionMatrix | TwoStepMatrix | DesignedMatrix | FileMatrix,
    Field(discriminator="kind"),
]
