"""What a release can be told, as typed models.

The workflow's config holds releases to the models.
"""

import hashlib
import json
from collections.abc import Mapping, Sequence
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, ClassVar, Literal, Self, cast, get_args

from pydantic import ConfigDict, Field, TypeAdapter, model_validator

from deniable.plans.settings import FileMatrix, PramMatrix
from deniable.randomized_response import ClusterMechanism, Reading
from deniable.validation import Coverage, Epsilon, Name, Probability, Share, Strict, Values

if TYPE_CHECKING:  # a run's start reads settings and computes nothing
    from deniable.plans import ColumnsPlan

NETWORK_FILES = "networks/"
"""What names of data drawn from a network (`deniable.datasets.networks.FILES`) begin with."""
LaneName = Literal["categorical", "asked", "planned", "numeric", "collection"]


OWNERS = frozenset({"population", "consent", "accept", "keys"})
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

    @property
    def ending(self) -> str:
        """How the name of its protected file ends, where that depends on the release."""
        return ".parquet"

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
        """Return which of the attributes `names` share a channel, in order of the first of each."""
        return _blocks(self.joint, names)


class OwnFile(Strict):
    """A file of one's own, and the schema that says what it holds."""

    model_config = ConfigDict(validate_by_name=True, serialize_by_alias=True)

    path: Annotated[str, Field(min_length=1)]
    schema_file: str | None = Field(default=None, alias="schema", min_length=1)


class PlannedRelease(FileRelease):
    """A file of one's own, by a plan (`deniable.plans`), or by an epsilon from which one is made.

    Attributes
    ----------
    file : OwnFile, optional
        Where the records lie, if Snakemake is to read them.
    plan : dict or str, optional
        The plan's values, or the path of its file.
    keys : list of str
        Columns that an intruder is taken to know, for the owner's table of risks.
    """

    lane: ClassVar[LaneName] = "planned"

    data: Literal["own"] = "own"
    mechanism: Literal["plan"]
    file: OwnFile | None = None
    plan: dict[str, Any] | Annotated[str, Field(min_length=1)] | None = None
    epsilon: Epsilon | None = None
    keys: list[str] = Field(default_factory=list)

    @model_validator(mode="after")
    def _one_plan(self) -> Self:
        if (self.plan is None) == (self.epsilon is None):
            given = "neither" if self.plan is None else "both"
            raise ValueError(f"{given} of plan and epsilon given; allowed: one of them")
        if self.plan is None and (self.file is None or self.file.schema_file is None):
            raise ValueError("file.schema is missing; allowed: the schema that a plan is made by")
        if self.population not in (None, self.own.schema.population):
            raise ValueError(
                f"population: {self.population!r}; allowed: {self.own.schema.population!r}, which "
                "the schema names"
            )
        return self

    @cached_property
    def own(self) -> "ColumnsPlan":
        """The plan, held to what it states.

        Raises
        ------
        DeniableError
            If it is none, states what it does not do, or cannot be made.
        """
        # A run's start computes nothing.
        from deniable.plans import make_plan, plan_from_json, read_plan  # noqa: PLC0415
        from deniable.schema import read_schema  # noqa: PLC0415

        if isinstance(self.plan, str):
            return cast("ColumnsPlan", read_plan(self.plan))
        if self.plan is not None:
            where = f"the plan of release {self.name!r}"
            return cast("ColumnsPlan", plan_from_json(self.plan, where))
        assert self.file is not None
        assert self.file.schema_file is not None
        assert self.epsilon is not None
        schema = read_schema(self.file.schema_file)
        return make_plan(schema, self.epsilon, accept=tuple(self.accept), order=self.order)

    @property
    def made_of(self) -> list[str]:
        """The files that the release is made from."""
        file = self.file
        paths = [file.path, file.schema_file] if file is not None else []
        paths += [self.plan] if isinstance(self.plan, str) else []
        return [path for path in paths if path is not None]

    @property
    def ending(self) -> str:
        """That of the format of the true file."""
        return f".{self.own.schema.file.kind}"

    @property
    def findings(self) -> Mapping[str, str]:
        """What whoever answers for the file has accepted with the plan."""
        return self.own.risks

    def stated(self) -> dict[str, Any]:
        """Return the settings with the digest of the plan, which lies beside them."""
        from deniable.plans import plan_to_json  # noqa: PLC0415

        plan = json.dumps(plan_to_json(self.own), sort_keys=True, ensure_ascii=False)
        values = {"plan": hashlib.sha256(plan.encode()).hexdigest(), "epsilon": self.own.target}
        return self.model_dump(exclude={*OWNERS, "file"}) | values


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
AnyRelease = CategoricalRelease | AskedRelease | PlannedRelease | NumericRelease | CollectionRelease
Release = Annotated[AnyRelease, Field(discriminator="mechanism")]


LANE_OF: Mapping[str, LaneName] = {
    mechanism: kind.lane
    for kind in get_args(AnyRelease)
    for mechanism in get_args(kind.model_fields["mechanism"].annotation)
}
"""The lane of each mechanism."""


def release_from(values: Mapping[str, Any]) -> AnyRelease:
    """Rebuild a release from its plain `values`, as the jobs that make it are told of it."""
    release: AnyRelease = TypeAdapter(Release).validate_python(dict(values))
    return release
