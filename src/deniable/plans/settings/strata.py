"""Settings of plans that randomize columns within strata."""

from dataclasses import replace
from typing import Literal, Self

from pydantic import model_validator

from deniable import plans, pram
from deniable.plans.settings.matrices import PramMatrix
from deniable.plans.settings.shared import ChannelOptions, PlanInputs, only_option
from deniable.validation import Probability, Values


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
            from deniable.plans.settings.pram import through_matrices  # noqa: PLC0415

            strata, domain = tuple(self.strata), given.schema.domain()
            protocols, own = through_matrices(
                self.matrix, given, strata, self.joint, self.answering
            )
            invariant = self.matrix.is_invariant
            protocol = pram.StratifiedProtocol(domain, strata, protocols, invariant)
            plan = plans.StrataPlan(given.schema, protocol=protocol, **own)
        return self.completed(plan, self.matrix)
