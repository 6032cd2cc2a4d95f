"""What a release can be told, as typed models.

`deniable.pipeline.config` holds releases to the models.
"""

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, ClassVar, Literal, Self, get_args

from pydantic import Field, TypeAdapter, model_validator

from deniable.arrays import Floats
from deniable.randomized_response import ClusterMechanism, Reading
from deniable.records import Domain
from deniable.study import Coverage, Epsilon, Probability, Share, Values
from deniable.validation import Name, Strict

if TYPE_CHECKING:  # a run's start reads settings and computes nothing
    from deniable.channels import Channel

NETWORK_FILES = "networks/"
"""What names of data drawn from a network (`deniable.datasets.networks.FILES`) begin with."""
LaneName = Literal["categorical", "asked", "numeric", "collection"]


OWNERS = frozenset({"population", "consent", "accept"})
"""Settings that decide nothing that is drawn: words of the owner's."""


class _Release(Strict):
    data_kind: ClassVar[Literal["categorical", "numeric"]] = "categorical"
    lane: ClassVar[LaneName] = "categorical"
    """Which rules make it, and so which files it leaves."""

    name: Name
    data: Annotated[str, Field(min_length=1)]  # of the manifest; `config_checks` looks it up
    attributes: Values[str] | None = None
    rehearsal: bool
    population: Name | None = None
    consent: Annotated[str, Field(min_length=1)] | None = None
    accept: list[str] = Field(default_factory=list)

    @property
    def findings(self) -> Mapping[str, str]:
        """What fails of the release whatever its records are, by name."""
        return {}

    def stated(self) -> dict[str, Any]:
        """Return the settings as the release states them to everybody."""
        return self.model_dump(exclude=set(OWNERS))

    @model_validator(mode="after")
    def _accepted(self) -> Self:
        failing = "; ".join(f"{name} ({why})" for name, why in self.findings.items())
        unknown = [name for name in self.accept if name not in self.findings]
        if unknown:
            allowed = ", ".join(self.findings) or "nothing: no finding is against this release"
            raise ValueError(f"accept: {unknown[0]!r} is no finding of it; allowed: {allowed}")
        if missing := [name for name in self.findings if name not in self.accept]:
            raise ValueError(
                f"this release is unsound: {failing}; allowed: another mechanism, or, from whoever "
                f"answers for it, accept: [{', '.join([*self.accept, *missing])}]"
            )
        return self

    @model_validator(mode="after")
    def _counted(self) -> Self:
        if not self.rehearsal and self.population is None:
            raise ValueError(
                "population is missing; allowed: a name for the people (or the survey and wave) "
                "whose records these are: epsilons of all releases of a population add up"
            )
        return self


class FileRelease(_Release):
    """A protected file, whose records stand in an order."""

    order: Literal["permuted", "as_in_file"] = "permuted"


Synthetic = Literal["clusters", "adjustment"]


class _RandomizedResponse(FileRelease):
    matrix: Reading
    p: Probability
    synthetic: Synthetic = "adjustment"


class IndependentRelease(_RandomizedResponse):
    """Every attribute on its own."""

    mechanism: Literal["rr_independent"]


class TrueDependences(Strict):
    """Of the true records: for clusters that are formed from them no finite epsilon holds."""

    by: Literal["true_records"]


class AssessedDependences(Strict):
    """Of randomized answers ([multirr], 4.1 and 4.3), whose exact epsilon counts.

    Either ``all`` respondents answer for the clusters and then for the file, or a publicly drawn
    ``half`` answers for the clusters alone and the others for the file. Nothing waives the sum over
    the pairs of 4.3.
    """

    by: Literal["attributes", "attributes_inverted", "pairs_joint", "pairs_kronecker"]
    p: Probability
    respondents: Literal["all", "half"]


class ClustersRelease(_RandomizedResponse):
    """Clusters of attributes that depend on each other."""

    mechanism: Literal["rr_clusters"]
    cluster_mechanism: ClusterMechanism
    dependences: Annotated[TrueDependences | AssessedDependences, Field(discriminator="by")]
    t_v: Annotated[int, Field(ge=1, le=1000)]
    t_d: Share
    ordinal: list[str] = Field(default_factory=list)


class JointRelease(_RandomizedResponse):
    """One matrix over all cells of a few attributes."""

    mechanism: Literal["rr_joint"]


Joint = list[Annotated[list[str], Field(min_length=2)]]
ChannelKind = Literal[
    "best", "generalized-rr", "subset-selection", "hadamard", "projective-geometry"
]


def _blocks(joint: Joint, names: Sequence[str]) -> tuple[tuple[str, ...], ...]:
    block_of = {name: tuple(block) for block in joint for name in block}
    return tuple(dict.fromkeys(block_of.get(name, (name,)) for name in names))


class AskedRelease(FileRelease):
    """Attributes one by one or in blocks, at an exact epsilon of the whole record.

    Probabilities follow from it. There may be more reports than categories.
    """

    lane: ClassVar[LaneName] = "asked"

    mechanism: Literal["rr_epsilon"]
    epsilon: Epsilon
    channel: ChannelKind = "best"
    joint: Joint = Field(default_factory=list)

    def blocks(self, names: Sequence[str]) -> tuple[tuple[str, ...], ...]:
        """Return which of the attributes go through a channel together, in order of the first."""
        return _blocks(self.joint, names)


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
        """Return the matrix in the block's file."""
        from deniable.pram import matrix_from_file  # noqa: PLC0415 - only a design computes

        return matrix_from_file(self.files[" x ".join(block.names)], block)


PramMatrix = Annotated[
    EpsilonMatrix | RetentionMatrix | TwoStepMatrix | DesignedMatrix | FileMatrix,
    Field(discriminator="kind"),
]


class PramRelease(FileRelease):
    """Attributes one by one or in blocks, within strata, by the owner of the file."""

    mechanism: Literal["pram"]
    joint: Joint = Field(default_factory=list)
    strata: list[str] = Field(default_factory=list)
    matrix: PramMatrix
    synthetic: Synthetic = "adjustment"

    def blocks(self, names: tuple[str, ...]) -> tuple[tuple[str, ...], ...]:
        """Return which of the attributes go through a matrix together, in order of the first.

        `names` are the release's attributes, stratum attributes among them.
        """
        return _blocks(self.joint, [name for name in names if name not in self.strata])

    @property
    def matrix_files(self) -> list[str]:
        """The files that hold the user's own matrices, if there are any."""
        return list(self.matrix.files.values()) if isinstance(self.matrix, FileMatrix) else []

    def stated(self) -> dict[str, Any]:
        """Return the settings without the folders in which files of matrices lie."""
        values = super().stated()
        if isinstance(self.matrix, FileMatrix):
            names = {block: Path(file).name for block, file in self.matrix.files.items()}
            values["matrix"]["files"] = names
        return values


class _NumericRelease(FileRelease):
    data_kind: ClassVar[Literal["categorical", "numeric"]] = "numeric"
    lane: ClassVar[LaneName] = "numeric"

    epsilon: Epsilon


NO_EPSILON_FOR_RECORDS = (
    "for the records of a file of centroids no finite epsilon holds: all records of a cluster have "
    "one value, and another value for one record changes who is in it"
)
TRUE_VALUES = "clusters of equal values are released without noise: their records stand as they are"
LARGEST_VALUES = "the ends of the domains tell the largest value of each attribute"


class IdpRelease(_NumericRelease):
    """Values with Laplace noise, one by one or as centroids of clusters ([idp])."""

    mechanism: Literal["idp"]
    method: Literal["dp", "dp_um", "idp_ls", "idp_cbls"]
    k: Annotated[int, Field(ge=3, le=1_000_000)] | None = None
    domain_factor: Annotated[float, Field(ge=1, le=1_000)] | None = None

    @model_validator(mode="after")
    def _clusters_of_a_size(self) -> Self:
        if (self.k is None) != (self.method == "dp"):
            given = "k is missing" if self.k is None else f"k: {self.k}"
            allowed = "no k, for it forms no clusters" if self.k else "k, the size of clusters"
            raise ValueError(f"{given}; allowed with method {self.method!r}: {allowed}")
        return self

    @property
    def findings(self) -> Mapping[str, str]:
        """What fails of the method for records ([idp]; proved and measured by the audit)."""
        clustered = self.method != "dp"
        found = {"no_epsilon_for_records": NO_EPSILON_FOR_RECORDS} if clustered else {}
        found |= {"true_values_released": TRUE_VALUES} if self.method == "idp_cbls" else {}
        return found | ({} if self.needs_bounds else {"largest_values_shown": LARGEST_VALUES})

    @property
    def needs_bounds(self) -> bool:
        """Whether domains are the manifest's bounds, and not a multiple of the largest value."""
        return self.domain_factor is None


class HistogramRelease(_NumericRelease):
    """Synthetic records from histograms with epsilon-differential privacy."""

    needs_bounds: ClassVar[bool] = True

    mechanism: Literal["numeric_dp"]
    bins: Annotated[int, Field(ge=2, le=1_000)] = 20


class CollectionRelease(_Release):
    """Tables collected from clients in blocks, through channels of their own ([rrba])."""

    lane: ClassVar[LaneName] = "collection"

    mechanism: Literal["rrba"]
    size: Annotated[int, Field(ge=2, le=8)] = 2
    answers: Literal["view", "table"] = "view"
    p: Probability | None = None
    epsilon: Epsilon | None = None
    update: Literal["uniform", "pooled"] = "uniform"
    floor: Coverage | None = None
    block: Annotated[int, Field(ge=1, le=1_000_000)] = 1000

    @model_validator(mode="after")
    def _one_probability(self) -> Self:
        if (self.p is None) == (self.epsilon is None):
            given = "neither" if self.p is None else "both"
            raise ValueError(
                f"{given} of p and epsilon given; allowed: p, the probability of a true answer, or "
                "the epsilon of an answer about one table"
            )
        return self

    @model_validator(mode="after")
    def _a_floor_where_tables_move(self) -> Self:
        if (self.floor is None) != (self.update == "uniform"):
            given = "floor is missing" if self.floor is None else f"floor: {self.floor:g}"
            allowed = "a floor, which bounds epsilon" if self.floor is None else "none"
            raise ValueError(f"{given}; allowed with update {self.update!r}: {allowed}")
        return self


RandomizedResponseRelease = IndependentRelease | ClustersRelease | JointRelease
CategoricalRelease = RandomizedResponseRelease | PramRelease
NumericRelease = IdpRelease | HistogramRelease
AnyRelease = CategoricalRelease | AskedRelease | NumericRelease | CollectionRelease
Release = Annotated[AnyRelease, Field(discriminator="mechanism")]


LANE_OF: Mapping[str, LaneName] = {
    mechanism: kind.lane
    for kind in get_args(AnyRelease)
    for mechanism in get_args(kind.model_fields["mechanism"].annotation)
}
"""The lane of each mechanism."""


def release_from(values: Mapping[str, Any]) -> AnyRelease:
    """Rebuild a release from its plain values, as the jobs that make it are told of it."""
    release: AnyRelease = TypeAdapter(Release).validate_python(dict(values))
    return release
