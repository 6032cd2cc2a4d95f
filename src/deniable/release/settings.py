"""What a release can be told, as typed models, and the lanes that releases of a kind go through.

`deniable.pipeline.config` holds releases to the models.
"""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Annotated, Any, ClassVar, Literal, Self

from pydantic import Field, model_validator

from deniable.randomized_response import ClusterMechanism, Reading
from deniable.study import Coverage, Epsilon, Probability, Share, Values, resolve
from deniable.validation import Strict

Name = Annotated[str, Field(pattern=r"^[A-Za-z0-9][A-Za-z0-9_-]*$")]

NETWORK_FILES = "networks/"
"""What names of data drawn from a network (`deniable.datasets.networks.FILES`) begin with."""
LaneName = Literal["categorical", "numeric", "collection"]


class _Release(Strict):
    data_kind: ClassVar[Literal["categorical", "numeric"]] = "categorical"
    lane: ClassVar[LaneName] = "categorical"
    """Which rules make it, and so which files it leaves."""

    name: Name
    data: Annotated[str, Field(min_length=1)]  # of the manifest; `config_checks` looks it up
    attributes: Values[str] | None = None


# Excluded from the plain values: those decide the draw, which this must never start again. Their
# order is kept for the same reason: Snakemake takes another order for other parameters.
Synthetic = Annotated[Literal["clusters", "adjustment"], Field(exclude=True)]


class _RandomizedResponse(_Release):
    matrix: Reading
    p: Probability
    rehearsal: bool
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


class EpsilonMatrix(Strict):
    """Generalized randomized response of an epsilon."""

    kind: Literal["epsilon"]
    epsilon: Epsilon


class RetentionMatrix(Strict):
    """Every category retained with one probability."""

    kind: Literal["retention"]
    retention: Probability


class TwoStepMatrix(Strict):
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


class DesignedMatrix(Strict):
    """The best matrix for stated needs, by optimization."""

    kind: Literal["designed"]
    epsilon: Epsilon
    retention: Probability | None = None
    invariant: bool = True
    loss: Literal["changed", "trace", "worst_cell"] = "changed"


class FileMatrix(Strict):
    """Matrices of the user's own, a file a block."""

    kind: Literal["file"]
    files: dict[str, Annotated[str, Field(min_length=1)]]


PramMatrix = Annotated[
    EpsilonMatrix | RetentionMatrix | TwoStepMatrix | DesignedMatrix | FileMatrix,
    Field(discriminator="kind"),
]


class PramRelease(_Release):
    """Attributes one by one or in blocks, within strata, by the owner of the file."""

    mechanism: Literal["pram"]
    joint: list[Annotated[list[str], Field(min_length=2)]] = Field(default_factory=list)
    strata: list[str] = Field(default_factory=list)
    matrix: PramMatrix
    rehearsal: bool
    synthetic: Synthetic = "adjustment"

    def blocks(self, names: tuple[str, ...]) -> tuple[tuple[str, ...], ...]:
        """Return which of the attributes go through a matrix together, in order of the first.

        `names` are the release's attributes, stratum attributes among them.
        """
        block_of = {name: tuple(block) for block in self.joint for name in block}
        free = [name for name in names if name not in self.strata]
        return tuple(dict.fromkeys(block_of.get(name, (name,)) for name in free))

    @property
    def matrix_files(self) -> list[str]:
        """The files that hold the user's own matrices, if there are any."""
        return list(self.matrix.files.values()) if isinstance(self.matrix, FileMatrix) else []


class _NumericRelease(_Release):
    data_kind: ClassVar[Literal["categorical", "numeric"]] = "numeric"
    lane: ClassVar[LaneName] = "numeric"

    epsilon: Epsilon
    rehearsal: bool


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
    rehearsal: bool

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


CategoricalRelease = IndependentRelease | ClustersRelease | JointRelease | PramRelease
NumericRelease = IdpRelease | HistogramRelease
AnyRelease = CategoricalRelease | NumericRelease | CollectionRelease
Release = Annotated[AnyRelease, Field(discriminator="mechanism")]


# -- lanes: what carries out each step, and its files in a release's folder ------------------------


@dataclass(frozen=True)
class Step:
    """A step that every lane has.

    Attributes
    ----------
    run : str
        A function, as "module:function" below `deniable`: only the process that takes the step
        imports its module. It takes the release; after the design what earlier steps left (by the
        names of the files, without their endings); for design, draw and check the true records and
        the root seed, which is looked at for rehearsals only; and what its script reads besides. It
        returns what is to be left, by name.
    reads, leaves : tuple of str
        Files in the release's folder.
    seeded : bool
        Whether a step that estimates takes the root seed, as the others do.
    """

    run: str
    reads: tuple[str, ...]
    leaves: tuple[str, ...]
    seeded: bool = False

    def __call__(self, *given: Any) -> Mapping[str, Any]:
        """Carry out the step."""
        made: Mapping[str, Any] = resolve(self.run)(*given)
        return made


@dataclass(frozen=True)
class Lane:
    """What releases of one kind go through.

    Attributes
    ----------
    design, draw : Step
        They read the true records.
    estimates : tuple of Step
        From what was drawn alone, so that they cost no privacy. One job takes them one after the
        other, each from the files that those before it left, as whoever has the files can.
    check : Step
        Of rehearsals only: it reads the true records again.
    shown : tuple of str
        Files that the report's page is made from, besides those of the check.
    """

    design: Step
    draw: Step
    estimates: tuple[Step, ...]
    check: Step
    shown: tuple[str, ...]

    @property
    def drawn_once(self) -> tuple[str, ...]:
        """What a release that is no rehearsal keeps for good, once all of it is there."""
        return self.design.leaves + self.draw.leaves

    @property
    def estimated_from(self) -> tuple[str, ...]:
        """What was left before the estimates that they read."""
        read = dict.fromkeys(file for step in self.estimates for file in step.reads)
        return tuple(file for file in read if file not in self.estimated)

    @property
    def estimated(self) -> tuple[str, ...]:
        """What is made of what was drawn."""
        return tuple(file for step in self.estimates for file in step.leaves)

    @property
    def left(self) -> tuple[str, ...]:
        """What every release leaves."""
        return self.drawn_once + self.estimated


LANES: Mapping[str, Lane] = {
    "categorical": Lane(
        design=Step("release.categorical.design:designed", (), ("channels.json",)),
        draw=Step(
            "release.categorical.design:protected",
            reads=("channels.json",),
            leaves=("protected.parquet", "protected.csv"),
        ),
        estimates=(
            Step(
                "release.categorical.pairs:estimated",
                reads=("channels.json", "protected.parquet"),
                leaves=("estimates.csv", "pairs.csv"),
            ),
            Step(
                "release.categorical.estimates:adjusted",
                reads=("channels.json", "protected.parquet", "estimates.csv"),
                leaves=("adjusted_weights.csv", "adjustment.json"),
            ),
            Step(
                "release.categorical.estimates:synthesized",
                reads=(
                    *("channels.json", "protected.parquet"),
                    *("estimates.csv", "adjusted_weights.csv"),
                ),
                leaves=("synthetic.parquet", "synthetic.csv"),
                seeded=True,
            ),
        ),
        check=Step(
            "release.categorical.check:checked",
            reads=(
                *("channels.json", "protected.parquet", "estimates.csv", "pairs.csv"),
                *("adjusted_weights.csv", "synthetic.parquet"),
            ),
            leaves=("check.csv", "synthetic_check.csv"),
        ),
        shown=("channels.json", "estimates.csv", "adjustment.json"),
    ),
    "numeric": Lane(
        design=Step("release.numeric.promises:designed", (), ("release.json", "audit.csv")),
        draw=Step(
            "release.numeric.design:protected",
            reads=("release.json",),
            leaves=("protected.parquet", "protected.csv"),
        ),
        estimates=(
            Step(
                "release.numeric.estimates:estimated",
                reads=("release.json", "protected.parquet"),
                leaves=("estimates.csv",),
            ),
        ),
        check=Step(
            "release.numeric.check:checked",
            reads=("release.json", "protected.parquet", "estimates.csv"),
            leaves=("check.csv", "utility.csv"),
        ),
        shown=("release.json", "audit.csv", "estimates.csv"),
    ),
    "collection": Lane(
        design=Step("release.collection.design:designed", (), ("release.json", "views.json")),
        draw=Step(
            "release.collection.design:collected",
            reads=("views.json",),
            leaves=("collection.csv", "clients.csv"),
        ),
        estimates=(
            Step(
                "release.collection.estimates:estimated",
                reads=("release.json", "views.json", "collection.csv"),
                leaves=("tables.csv",),
            ),
            Step(
                "release.collection.estimates:reconciled",
                reads=("views.json", "tables.csv"),
                leaves=("consistent.csv", "margins.csv", "two_step.csv"),
            ),
            Step(
                "release.collection.independence:examined",
                reads=("views.json", "collection.csv"),
                leaves=("independence.csv",),
                seeded=True,
            ),
        ),
        check=Step(
            "release.collection.check:checked",
            reads=(
                *("views.json", "tables.csv", "consistent.csv"),
                *("two_step.csv", "independence.csv"),
            ),
            leaves=("check.csv",),
        ),
        shown=("release.json", "margins.csv", "independence.csv"),
    ),
}
