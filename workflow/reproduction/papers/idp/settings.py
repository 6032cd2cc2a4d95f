"""Models of the settings of studies, audit and attacks of [idp]."""

from typing import Annotated, Any, Literal, Self

from pydantic import AfterValidator, Field, model_validator

from deniable.validation import Strict

from reproduction.study import Epsilon, StudySettings, Values

Method = Literal["dp", "dp_um", "idp_ls", "idp_cbls"]
ClusterSize = Annotated[int, Field(ge=3, le=10_000)]
DomainFactor = Annotated[float, Field(ge=1, le=1000)]


def _each_once(values: list[Any]) -> list[Any]:
    if len(set(values)) < len(values):
        raise ValueError(f"{values}; allowed: each value once")
    return values


class SseGrid(Strict):
    """Curves of Figures 3 and 4."""

    method: Values[Literal[Method, "dp_median", "dp_synthetic", "no_data", "least_dp"]]
    epsilon: Values[Epsilon]
    domain_factor: Values[DomainFactor]


class SseStudy(StudySettings[SseGrid]):
    """A study of the mean SSE of masked records by k."""

    k: Annotated[Values[ClusterSize], AfterValidator(_each_once)]
    grids: list[SseGrid]  # none: neither the study nor its claims


class ForestGrid(Strict):
    """Curves of Figures 5 and 6, with an epsilon or k of 0 for methods that have none."""

    method: Values[
        Literal["original", "majority", Method, "dp_synthetic", "dp_naive_bayes", "dp_rule"]
    ]
    epsilon: Values[Annotated[float, Field(ge=0, le=30)]]
    k: Values[Annotated[int, Field(ge=0, le=10_000)]]

    @model_validator(mode="after")
    def _what_applies(self) -> Self:
        for method in self.method:
            without = method in ("original", "majority")
            wrong = [epsilon for epsilon in self.epsilon if (epsilon == 0) != without]
            if wrong:
                allowed = "0.0, it has none" if without else "above 0"
                raise ValueError(f"the epsilon of {method} is {wrong[0]}; allowed: {allowed}")
            clustered = method in ("dp_um", "idp_ls", "idp_cbls")
            misfits = [k for k in self.k if (k < 3 if clustered else k != 0)]
            if misfits:
                allowed = "3 or more" if clustered else "0, it has no clusters"
                raise ValueError(f"the k of {method} is {misfits[0]}; allowed: {allowed}")
        return self


class ForestStudy(StudySettings[ForestGrid]):
    """A study of classifiers trained on protected records."""

    # Means have Student's intervals, from 2 replicates on.
    replicates: Annotated[int, Field(ge=2, le=100_000)]
    domain_factors: Annotated[Values[DomainFactor], AfterValidator(_each_once)]
    attribute: Annotated[str, Field(min_length=1)]
    grids: list[ForestGrid]


class IndividualAudit(Strict):
    """The k of each data set, claimed epsilons and domain factors of the audit."""

    census_k: Values[ClusterSize]
    wine_k: Values[ClusterSize]
    epsilons: Values[Epsilon]
    # The first is audited in both readings, the others with the scale frozen.
    domain_factors: Values[DomainFactor]
    releases: Annotated[int, Field(ge=2, le=10_000)]


class GridNoises(Strict):
    """Epsilons, replicates and intervals of the comparison of noises."""

    epsilons: Annotated[Values[Epsilon], AfterValidator(_each_once)]
    replicates: Annotated[int, Field(ge=2, le=100_000)]
    intervals: Annotated[int, Field(ge=1, le=100_000)]
    resamples: Annotated[int, Field(ge=20, le=100_000)]

    @model_validator(mode="after")
    def _intervals_of_replicates(self) -> Self:
        if self.intervals > self.replicates:
            raise ValueError(
                f"intervals: {self.intervals}; allowed: at most the {self.replicates} replicates"
            )
        return self


class IndividualAttacks(Strict):
    """The attacked settings and the number of releases."""

    k: Values[ClusterSize]
    epsilons: Values[Epsilon]
    domain_factor: DomainFactor
    runs: Annotated[int, Field(ge=20, le=1_000_000)]
