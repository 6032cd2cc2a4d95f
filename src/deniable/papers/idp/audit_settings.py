"""What the audit of individual differential privacy ([idp]) can be told, as typed models."""

from typing import Annotated, Any

from pydantic import Field

from deniable.papers.idp.settings import ClusterSize, DomainFactor
from deniable.study import Epsilon, Strict

Sizes = Annotated[list[ClusterSize], Field(min_length=1)]


class IndividualAudit(Strict):
    """What is audited: k for each data set, claimed epsilons, factors of the domain."""

    census_k: Sizes
    wine_k: Sizes
    epsilons: Annotated[list[Epsilon], Field(min_length=1)]
    # The first is audited in both readings, the others with the scale frozen.
    domain_factors: Annotated[list[DomainFactor], Field(min_length=1)]
    releases: Annotated[int, Field(ge=2, le=10_000)]

    def of(self, dataset: str) -> dict[str, Any]:
        """Return what is audited of a data set, census or wine, as plain values."""
        sizes = {"census": self.census_k, "wine": self.wine_k}
        return {"k": sizes[dataset]} | self.model_dump(exclude={"census_k", "wine_k"})


class IndividualAttacks(Strict):
    """What is attacked, with how many releases."""

    k: Sizes
    epsilons: Annotated[list[Epsilon], Field(min_length=1)]
    domain_factor: DomainFactor
    runs: Annotated[int, Field(ge=20, le=1_000_000)]
