"""Settings of plans that randomize columns by channels: alone, in clusters, strata or forms."""

import math
from dataclasses import replace
from typing import Annotated, Any, Literal, Self

from pydantic import Field, field_validator, model_validator

from deniable import plans, randomized_response
from deniable.errors import DeniableError, refuse_unknown
from deniable.plans.settings.finding_clusters import RECORDS, SOURCES, ClustersSettings
from deniable.plans.settings.matrices import PramMatrix
from deniable.plans.settings.shared import ChannelOptions, Joint, PlanInputs, only_option
from deniable.randomized_response import READINGS, ClusterMechanism, Reading
from deniable.validation import Probability, Strict, Values

GivenClusters = tuple[tuple[str, ...], ...]
OF_MAKE_PLAN = ("mechanism", "mechanisms", "split", "responses", "tables", "floor", "shares")
"""Options that are parameters of `deniable.make_plan`."""


class PrintedMatrix(Strict):
    """The RR matrix of [multirr], 6.3.1, in one interpretation (`reading`) of its entries."""

    kind: Literal["printed"]
    """Kind of the matrix, with `p` only."""
    reading: Reading
    """Interpretation of the matrix. With `keep` each ε has a `p`."""


class WithinSettings(Strict):
    """The largest expected error of estimates, such as `{points: 2, records: 12000}`."""

    points: Annotated[float, Field(gt=0, le=50)]
    """Largest ± points of 95 % intervals, for each of `tables`, by default for each column."""
    records: Annotated[int, Field(ge=2)]
    """Number of records that answer."""


class ColumnsSettings(ChannelOptions):
    """A plan that randomizes columns, or clusters of columns, by channels.

    These are RR-Independent, RR-Joint, RR-Clusters, PRAM, and protocols at a target ε. One of
    `epsilon`, `beta`, `breach`, `within`, `p` and a section `matrix` is required. `mechanism`,
    `mechanisms`, `split`, `floor`, `shares`, `responses`, `tables` and `choose_from` need one of
    the first four, which are of the record.
    """

    kind: Literal["columns"]
    """Kind of the plan."""
    mechanism: str = "best"
    """Kind of all channels that can have it. It is `best` (smallest variance), `generalized-rr`,
    `subset-selection`, `hadamard`, `projective-geometry`, `square-wave`, `laplace`, `staircase`,
    `designed` or `invariant`. The last two may use the records."""
    mechanisms: dict[str, str] = Field(default_factory=dict)
    """Kinds of the channels of single columns."""
    split: Literal["even", "size", "optimal", "each"] = "even"
    """Budget allocation: equal (`even`), by the logarithm of the number of categories (`size`), or
    with the smallest expected error of `tables` (`optimal`, which leaves other columns out). With
    `each`, each column or cluster has all of `epsilon`, and the record has their sum (not with
    `beta` and `breach`)."""
    floor: Annotated[float, Field(ge=0, le=1)] = 0.0
    """Least ε of each column with the split `optimal`, as a proportion of its even part."""
    shares: dict[str, Annotated[float, Field(gt=0, le=1)]] = Field(default_factory=dict)
    """Proportions of ε, by column or by a column of a cluster. `split` divides the rest."""
    responses: Literal["any", "categories"] = "any"
    """Randomized values. Other values than categories, such as sets of categories, often have a
    smaller variance."""
    tables: Joint = Field(default_factory=list)
    """Columns of each table for the split `optimal`. The default is marginal distributions."""
    choose_from: Literal["no data", "records"] = "no data"
    """With `records`, the original records choose the channels, a risk."""
    within: WithinSettings | None = None
    """In place of `epsilon`: the least ε, to three digits, with errors within these limits."""
    p: Probability | None = None
    """Probability p of [multirr], 6.3.1."""
    matrix: Annotated[PrintedMatrix | PramMatrix, Field(discriminator="kind")] | None = None
    """Matrices of PRAM. With `p`, an interpretation of the RR matrix: `keep`, `printed` or
    `diagonal`, in full `{kind: printed, reading: keep}`. The default is `keep` with `p`."""
    cluster_mechanism: ClusterMechanism | None = None
    """One matrix for a cluster, of at most 1,000 joint cells and with at least 10 records per cell,
    or one matrix for each column. With `p` only. The default is `joint` with `p`."""
    clusters: ClustersSettings | None = None
    """Clusters of columns that depend on each other, in place of `joint`."""

    @field_validator("matrix", mode="before")
    @classmethod
    def _by_name(cls, matrix: Any) -> Any:
        if not isinstance(matrix, str):
            return matrix
        if matrix not in READINGS:
            allowed = f"with p {', '.join(READINGS)}, else a section with a kind"
            raise ValueError(f"matrix: {matrix!r}; allowed: {allowed}")
        return {"kind": "printed", "reading": matrix}

    @field_validator("mechanism")
    @classmethod
    def _known_mechanism(cls, mechanism: str) -> str:
        if mechanism != "best":
            refuse_unknown("mechanism", mechanism, ("best", *plans.MECHANISMS))
        return mechanism

    @property
    def privacy(self) -> dict[str, Any]:
        return super().privacy | {"within": self.within}

    @model_validator(mode="after")
    def _one_request(self) -> Self:
        printed = isinstance(self.matrix, PrintedMatrix)
        mapping = None if printed else self.matrix
        given = only_option(self.privacy | {"p": self.p, "a mapping matrix": mapping})
        if printed and self.p is None:
            raise ValueError("matrix is the name of an RR matrix; allowed: with p only")
        with_epsilon = (*OF_MAKE_PLAN, "choose_from")
        for request, options in (("epsilon", with_epsilon), ("p", ("cluster_mechanism",))):
            wrong = [name for name in options if name in self.model_fields_set]
            of_request = given in self.privacy if request == "epsilon" else given == request
            if wrong and not of_request:
                raise ValueError(f"{wrong[0]} is given; allowed with {request} only")
        if self.split == "each" and given in ("beta", "breach"):
            by_column = f"matrix: {{kind: epsilon, {given}: {getattr(self, given)}}}"
            raise ValueError(f"split: each with {given} of the record; of each column: {by_column}")
        if self.joint and self.clusters is not None:
            raise ValueError("both joint and clusters given; allowed: one of them")
        return self

    @property
    def reads_records(self) -> bool:
        from_records = self.clusters is not None and self.clusters.source == RECORDS
        by_matrix = getattr(self.matrix, "from_records", False)
        together = bool(self.joint) or self.clusters is not None
        # A joint channel is refused if it has too many cells for the number of records.
        numbered = self.p is not None and together and self.cluster_mechanism != "kronecker"
        return self.choose_from == "records" or from_records or by_matrix or numbered

    @property
    def releases(self) -> tuple[str, ...]:
        clusters = self.clusters
        return () if clusters is None or clusters.source in SOURCES else (clusters.source,)

    @property
    def files(self) -> tuple[str, ...]:
        total = self.clusters.total if self.clusters else None
        return (*super().files, *([total] if total else []))

    def plan(self, given: PlanInputs) -> "plans.ColumnsPlan":
        given = replace(given, schema=self.own_schema(given.schema))
        clusters: GivenClusters = tuple(map(tuple, self.joint))
        origin: plans.Origin = "no data"
        if self.clusters is not None:
            clusters, origin = self.clusters.find(given)
        make = self._of_epsilon if self.budget or self.within else self._through_matrices
        return self.completed(make(given, clusters, origin), self.matrix)

    def _of_epsilon(
        self, given: PlanInputs, clusters: GivenClusters, origin: "plans.Origin"
    ) -> "plans.ColumnsPlan":
        chosen = self.choose_from == "records"
        if chosen and given.data is None:
            raise DeniableError("choose_from: records; the original records are missing; give them")
        of_plan = self.model_dump(include={*OF_MAKE_PLAN}) | {
            "clusters": clusters,
            "data": given.data if chosen else None,
            "accept": given.accept,
        }
        budget = self.budget or 0.0
        if self.within is not None:
            budget = plans.epsilon_for(given.schema, **self.within.model_dump(), **of_plan)
        plan = plans.make_plan(given.schema, budget, **of_plan)
        by_sum = origin == "the data, by a secure sum"
        return plan if chosen and not by_sum else replace(plan, chosen_from=origin)

    def _through_matrices(
        self, given: PlanInputs, clusters: GivenClusters, origin: "plans.Origin"
    ) -> "plans.ColumnsPlan":
        invariant = False
        if self.matrix is None or isinstance(self.matrix, PrintedMatrix):
            protocol, own = self._randomized_response(given, clusters)
        else:
            whole, own = plans.through_matrices(self.matrix, given, (), clusters, self.answering)
            protocol, invariant = whole.protocols[()], whole.invariant
            if own["chosen_from"] != "no data" and not origin.startswith("the data"):
                origin = own["chosen_from"]
        own |= {"invariant": invariant, "accept": given.accept, "chosen_from": origin}
        return plans.ColumnsPlan(given.schema, protocol=protocol, **own)

    def _randomized_response(
        self, given: PlanInputs, clusters: GivenClusters
    ) -> "tuple[randomized_response.Protocol, dict[str, Any]]":
        from deniable.plans.blocks import group_columns  # noqa: PLC0415

        p = self.p or 0.0
        reading = self.matrix.reading if isinstance(self.matrix, PrintedMatrix) else "keep"
        domain, mechanism = given.schema.domain(), self.cluster_mechanism or "joint"
        groups = group_columns(clusters, domain)
        protocol = randomized_response.rr_clusters(domain, groups, p, reading, mechanism)
        for block, channel in zip(protocol.clusters, protocol.channels, strict=True):
            name = " x ".join(block)
            if channel.size > 1 and math.isinf(channel.epsilon):
                raise DeniableError(
                    f"with p {p:.17g} the channel of {name} never changes a record, or reveals "
                    "some values for certain (its epsilon is infinite); choose a smaller p"
                )
            if len(block) > 1 and mechanism == "joint" and given.data is not None:
                randomized_response.refuse_too_large(domain.project(block), given.data.records)
            if channel.singular:
                raise DeniableError(
                    f"with matrix {reading!r} and p {p:g} the channel of {name} is singular, so "
                    "nothing could be estimated from the file; choose another p or matrix"
                )
        why = f"randomized response with p {p:g}, matrix {reading}"
        return protocol, {"target": protocol.epsilon, "why": (why,) * len(groups)}


class StrataSettings(ChannelOptions):
    """A plan that randomizes columns within strata; `columns` contain the stratum columns.

    One of `epsilon`, `beta`, `breach`, `retention` and `matrix` is required. The ε is of the
    randomized columns together, is the same in all strata, and holds for a record that keeps its
    stratum.
    """

    kind: Literal["strata"]
    """Kind of the plan."""
    strata: Values[str]
    """Columns that are released unchanged, without protection. Each combination of their values has
    its own matrices."""
    retention: Probability | None = None
    """Retention probability of each category."""
    matrix: PramMatrix | None = None
    """Matrices of PRAM."""

    @model_validator(mode="after")
    def _one_request(self) -> Self:
        only_option(self.privacy | {"retention": self.retention, "matrix": self.matrix})
        return self

    @property
    def reads_records(self) -> bool:
        return self.matrix is not None and self.matrix.from_records

    def plan(self, given: PlanInputs) -> "plans.StrataPlan":
        given = replace(given, schema=self.own_schema(given.schema))
        if self.matrix is None:
            options = self.model_dump(include={"strata", "joint", "retention"})
            options |= {"epsilon": self.budget, "accept": given.accept}
            plan = plans.StrataPlan.from_schema(given.schema, **options)
        else:
            strata = tuple(self.strata)
            protocol, own = plans.through_matrices(
                self.matrix, given, strata, self.joint, self.answering
            )
            plan = plans.StrataPlan(given.schema, protocol=protocol, accept=given.accept, **own)
        return self.completed(plan, self.matrix)


class QuestionnaireSettings(ChannelOptions):
    """A split questionnaire: each record has randomized values of a random form, a part of columns.

    Forms are drawn without looking at values. Each form has all of `epsilon`, and other columns are
    "(not asked)" (docs/own-data.md#columns-of-each-record).
    """

    kind: Literal["questionnaire"]
    """Kind of the plan."""
    ask: Annotated[int, Field(ge=1)] | Literal["pairs"] | list[Values[str | Values[str]]] = 1
    """Number of columns, or of clusters in `joint`, of a form. With `pairs`, a form is two columns
    that share a channel. Or all forms, each a list of columns and of clusters, `[[a, [b, c]],
    [d]]`."""
    mechanism: str = "best"
    """Kind of all channels that can have it, as in `columns`."""
    mechanisms: dict[str, str] = Field(default_factory=dict)
    """Kinds of the channels of single columns."""
    split: Literal["even", "size", "optimal"] = "even"
    """Budget allocation within a form, as in `columns`."""
    tables: list[Values[str]] = Field(default_factory=list)
    """Columns of each table for the split `optimal`. The default is marginal distributions."""
    responses: Literal["any", "categories"] = "any"
    """Randomized values, as in `columns`."""

    @model_validator(mode="after")
    def _one_request(self) -> Self:
        only_option(self.privacy)
        return self

    def plan(self, given: PlanInputs) -> "plans.QuestionnairePlan":
        names = ("ask", "mechanism", "mechanisms", "split", "tables", "responses")
        own = {"clusters": self.joint, "accept": given.accept} | self.model_dump(include={*names})
        schema = self.own_schema(given.schema)
        return self.completed(plans.make_questionnaire(schema, self.budget or 0.0, **own), None)
