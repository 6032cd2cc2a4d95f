"""Clusters of columns that depend on each other, found in records or in randomized values."""

from itertools import combinations
from typing import TYPE_CHECKING, Annotated, Literal, Self

from pydantic import ConfigDict, Field, model_validator

from deniable import estimation, plans, randomized_response
from deniable.arrays import Floats
from deniable.errors import DeniableError
from deniable.plans.settings.shared import PlanInputs
from deniable.records import Domain
from deniable.texts import text_of
from deniable.validation import Share, Strict

if TYPE_CHECKING:  # a config is checked without a computation
    from deniable.responses import Responses

RECORDS, SECURE_SUM = "records", "secure_sum"
SOURCES = (RECORDS, SECURE_SUM)
MAX_TOTAL = 100_000_000  # bytes


class ClustersSettings(Strict):
    """Clusters by Algorithm 1 of [multirr]: columns that depend on each other share a channel.

    Dependences between randomized values are weaker than the original ones, roughly by p². Chance
    adds to Cramér's V about the square root of (the larger number of categories − 1) / answers.
    Noise makes `attributes_inverted` larger.
    """

    model_config = ConfigDict(validate_by_name=True, serialize_by_alias=True)

    source: Annotated[str, Field(min_length=1, alias="from")]
    """`records` are the original records, and `secure_sum` exact tables of the files of several
    parties, both a risk. Any other text is the name of an earlier release of the same columns
    and population, or of another part of its respondents. Its ε counts too."""
    total: Annotated[str, Field(min_length=1)] | None = None
    """File of `deniable secure-sum total` (docs/secure-sum.md), with `secure_sum` only."""
    by: Literal["attributes", "attributes_inverted"] | None = None
    """Dependences in a release, of randomized values or of joint distributions estimated from
    them. The default is `attributes` if all randomized values are categories."""
    t_v: Annotated[int, Field(ge=2, le=1000)]
    """T_v, the largest number of joint cells of a cluster."""
    t_d: Share
    """T_d, the smallest dependence of columns that are merged."""
    ordinal: list[str] = Field(default_factory=list)
    """Columns measured by Pearson's r, besides the ordered ones."""

    @model_validator(mode="after")
    def _total_of_a_sum(self) -> Self:
        if (self.total is None) == (self.source == SECURE_SUM):
            raise ValueError(f"total, the file of a sum, is given with from: {SECURE_SUM} only")
        return self

    def find(self, given: PlanInputs) -> "tuple[tuple[tuple[str, ...], ...], plans.Origin]":
        """Return the clusters of the schema's columns, and the information from which they follow.

        Raises `DeniableError` if `given` lacks the records or the release, or the release has other
        columns.
        """
        domain, how = given.schema.domain(), (self.t_v, self.t_d, self.ordinal)
        if self.source == RECORDS:
            if given.data is None:
                raise DeniableError(
                    "clusters from records: the original records are missing; give them as data"
                )
            return plans.clusters_from(given.data, *how, domain), "the data, by a curator"
        if self.total is not None:
            text = text_of(self.total, MAX_TOTAL)
            summed = randomized_response.SumMessage.read(text, self.total)
            exact = randomized_response.summed_tables(summed, domain)
            return plans.clusters_from_tables(domain, exact, *how), "the data, by a secure sum"
        if self.source not in given.released:
            known = ", ".join(given.released) or "none"
            raise DeniableError(
                f"clusters from {self.source!r}: no release of this name; allowed: {RECORDS}, "
                f"{SECURE_SUM} with a total, or a release of the same population; given: {known}"
            )
        tables = self._tables(domain, given.released[self.source])
        return plans.clusters_from_tables(domain, tables, *how), "randomized answers"

    def _tables(self, domain: Domain, release: "Responses") -> dict[tuple[str, str], Floats]:
        """Return the two-way tables, from randomized values, by which dependences are measured."""
        try:
            pairs = {pair: release.table(pair) for pair in combinations(domain.names, 2)}
        except DeniableError as error:
            remedy = "leave out columns that it lacks, or name clusters by --cluster or joint"
            raise DeniableError(f"clusters from {self.source!r}: {error}; {remedy}") from None
        others = [pair for pair, each in pairs.items() if each.reports != domain.project(pair)]
        by = self.by or ("attributes_inverted" if others else "attributes")
        for pair, table in pairs.items():
            if table.domain != domain.project(pair):
                raise DeniableError(
                    f"clusters from {self.source!r}: {' and '.join(pair)} have other categories "
                    "there; name a release of the same columns"
                )
            if by == "attributes" and pair in others:
                raise DeniableError(
                    f"clusters from {self.source!r}: the randomized values of {' and '.join(pair)} "
                    "are not their categories; use by: attributes_inverted"
                )
        counted = release.count([table.reports for table in pairs.values()])
        found = {}
        for (pair, table), each in zip(pairs.items(), counted, strict=True):
            values = each.tally.astype(float)
            if by == "attributes_inverted":
                unbiased = estimation.estimate_or_uniform(each.tally, table.channel)
                estimate = estimation.clip_and_rescale(unbiased)
                values = estimate[table.order]
            found[pair] = values.reshape(table.domain.shape)
        return found
