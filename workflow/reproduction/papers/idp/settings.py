"""Models of the settings of the studies, the audit and the attacks on [idp]."""

from typing import Annotated, Any, Literal, Self

from pydantic import AfterValidator, Field, model_validator

from deniable.validation import Epsilon, Strict, Values

from reproduction.study import StudySettings

Method = Literal["dp", "dp_um", "idp_ls", "idp_cbls"]
ClusterSize = Annotated[int, Field(ge=3, le=10_000)]
"""Smallest sizes of a cluster."""
DomainFactor = Annotated[float, Field(ge=1, le=1000)]
"""Domains end at this multiple of the largest value."""
Claimed = Values[Epsilon]
"""ε claimed for a record, in equal parts for the attributes."""


def _each_once(values: list[Any]) -> list[Any]:
    if len(set(values)) < len(values):
        raise ValueError(f"{values}; allowed: each value once")
    return values


class SseGrid(Strict):
    """Curves of Figures 3 and 4."""

    method: Values[Literal[Method, "dp_median", "dp_synthetic", "no_data", "least_dp"]]
    """The methods of `masked` plans, central ε-DP by medians or synthetic records, zeros
    (`no_data`), and the smallest error under central ε-DP with independent attributes."""
    epsilon: Claimed
    domain_factor: Values[DomainFactor]


class SseStudy(StudySettings[SseGrid]):
    """A study of the mean SSE of masked records by k."""

    k: Annotated[Values[ClusterSize], AfterValidator(_each_once)]
    """Smallest sizes of a cluster, each value once."""
    grids: list[SseGrid]  # none: neither the study nor its claims


class ForestGrid(Strict):
    """Curves of Figures 5 and 6, with an epsilon or k of 0 for methods without one."""

    method: Values[
        Literal["original", "majority", Method, "dp_synthetic", "dp_naive_bayes", "dp_rule"]
    ]
    """Original records, the larger class (`majority`), the methods of `masked` plans, or central
    ε-DP by synthetic records, naive Bayes or a threshold."""
    epsilon: Values[Annotated[float, Field(ge=0, le=30)]]
    """ε claimed for a record, in equal parts for the attributes. 0 for `original` and `majority`,
    above 0 for all others."""
    k: Values[Annotated[int, Field(ge=0, le=10_000)]]
    """Smallest size of a cluster: at least 3. 0 for methods without clusters."""

    @model_validator(mode="after")
    def _what_applies(self) -> Self:
        for method in self.method:
            without = method in ("original", "majority")
            wrong = [epsilon for epsilon in self.epsilon if (epsilon == 0) != without]
            if wrong:
                allowed = "0.0, because it has no ε" if without else "above 0"
                raise ValueError(f"the epsilon of {method} is {wrong[0]}; allowed: {allowed}")
            clustered = method in ("dp_um", "idp_ls", "idp_cbls")
            misfits = [k for k in self.k if (k < 3 if clustered else k != 0)]
            if misfits:
                allowed = "3 or more" if clustered else "0, because it has no clusters"
                raise ValueError(f"the k of {method} is {misfits[0]}; allowed: {allowed}")
        return self


class ForestStudy(StudySettings[ForestGrid]):
    """A study of classifiers trained on protected records."""

    # Means have Student's intervals, from 2 replicates on.
    replicates: Annotated[int, Field(ge=2, le=100_000)]
    """Number of replicates of each setting."""
    domain_factors: Annotated[Values[DomainFactor], AfterValidator(_each_once)]
    """Domains end at these multiples of the largest value, each value once."""
    attribute: Annotated[str, Field(min_length=1)]
    """Numeric attribute, the predictor of `dp_naive_bayes`."""
    grids: list[ForestGrid]


class IndividualAudit(Strict):
    """The k of each data set, claimed ε and domain factors of the audit."""

    census_k: Values[ClusterSize]
    """Smallest sizes of a cluster for Census."""
    wine_k: Values[ClusterSize]
    """Smallest sizes of a cluster for Wine."""
    epsilons: Claimed
    domain_factors: Values[DomainFactor]
    """Domains end at these multiples of the largest value. The first one is audited under both
    interpretations, the others with a fixed scale."""
    releases: Annotated[int, Field(ge=2, le=10_000)]
    """Number of releases behind each certificate."""


class GridNoises(Strict):
    """ε, replicates and intervals of the comparison of noises."""

    epsilons: Annotated[Values[Epsilon], AfterValidator(_each_once)]
    """ε of the noises, never exceeded, each value once."""
    replicates: Annotated[int, Field(ge=2, le=100_000)]
    """Files of new records for each noise and ε."""
    intervals: Annotated[int, Field(ge=1, le=100_000)]
    """Number of these files with bootstrap intervals, at most `replicates`."""
    resamples: Annotated[int, Field(ge=20, le=100_000)]
    """Resamples of an interval."""

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
    epsilons: Claimed
    domain_factor: DomainFactor
    runs: Annotated[int, Field(ge=20, le=1_000_000)]
    """Number of releases of each setting."""
