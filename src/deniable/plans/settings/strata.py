"""Settings of plans that randomize columns within strata."""

from dataclasses import replace
from typing import TYPE_CHECKING, Literal, Self

from pydantic import model_validator

from deniable.plans.settings.matrices import PramMatrix
from deniable.plans.settings.shared import ChannelOptions, PlanInputs, only_option
from deniable.validation import Probability, Values

if TYPE_CHECKING:  # a config is checked without a computation
    from deniable.plans.strata import StrataPlan


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

    def plan(self, given: PlanInputs) -> "StrataPlan":
        from deniable.plans.strata import StrataPlan  # noqa: PLC0415

        given = replace(given, schema=self.own_schema(given.schema))
        if self.matrix is None:
            options = self.model_dump(include={"strata", "joint", "retention"})
            options |= {"epsilon": self.budget}
            plan = StrataPlan.from_schema(given.schema, accept=given.accept, **options)
        else:
            plan = self._through_matrices(given, self.matrix)
        return self.completed(plan, self.matrix)

    def _through_matrices(self, given: PlanInputs, matrix: PramMatrix) -> "StrataPlan":
        from deniable.plans.kept_back import sum_of_bounds  # noqa: PLC0415
        from deniable.plans.settings.pram import pram_protocols  # noqa: PLC0415
        from deniable.plans.strata import StrataPlan  # noqa: PLC0415
        from deniable.pram import StratifiedProtocol  # noqa: PLC0415

        strata = tuple(self.strata)
        protocols = pram_protocols(matrix, given, strata, self.joint, self.answering)
        protocol = StratifiedProtocol(given.schema.domain(), strata, protocols, matrix.is_invariant)
        bounds = matrix.bounds([protocol.randomized.project(b) for b in protocol.blocks])
        return StrataPlan(
            given.schema,
            sum_of_bounds(bounds) if bounds else protocol.epsilon,
            protocol,
            (matrix.why,) * len(protocol.blocks),
            chosen_from=matrix.origin,
            accept=given.accept,
            weight=getattr(matrix, "weight", None) if matrix.is_invariant else None,
            keep_back=bounds,
        )
