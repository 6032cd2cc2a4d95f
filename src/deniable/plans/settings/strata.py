"""Settings of plans that randomize columns within strata."""

from collections.abc import Sequence
from dataclasses import replace
from typing import TYPE_CHECKING, Literal, Self

from pydantic import Field, model_validator

from deniable.plans.settings.matrices import PramMatrix
from deniable.plans.settings.shared import (
    Columns,
    Joint,
    OrderName,
    PartSettings,
    PlanOptions,
    Released,
    TargetEpsilon,
    blocks_in_order,
)
from deniable.validation import Probability

if TYPE_CHECKING:  # a config is checked without a computation
    from deniable.plans.strata import StrataPlan
    from deniable.schema import RecordsFile, Schema


class StrataSettings(PlanOptions):
    """A plan that randomizes columns within strata.

    One of `epsilon`, `retention` and `matrix` is given.

    Attributes
    ----------
    columns : list of str
        The randomized columns and the stratum columns; all others are left out. By default all
        columns of the schema.
    strata : list of str
        The stratum columns, which are released unchanged.
    joint : list of lists of str
        Columns that share a matrix.
    epsilon : float
        The target epsilon of the randomized columns together, the same in all strata.
    retention : float
        The probability with which each category is retained.
    matrix : dict
        The settings of PRAM's matrices.
    order : str
        The order of the protected records.
    part : PartSettings
        The part of the respondents that answers; by default all.
    """

    kind: Literal["strata"]
    columns: Columns | None = None
    strata: Columns
    joint: Joint = Field(default_factory=list)
    epsilon: TargetEpsilon | None = None
    retention: Probability | None = None
    matrix: PramMatrix | None = None
    order: OrderName = "permuted"
    part: PartSettings | None = None

    @model_validator(mode="after")
    def _one_request(self) -> Self:
        given = {"epsilon": self.epsilon, "retention": self.retention, "matrix": self.matrix}
        names = [name for name, value in given.items() if value is not None]
        if len(names) != 1:
            raise ValueError(
                f"{' and '.join(names) or 'none'} of epsilon, retention and matrix given; "
                "allowed: one of them"
            )
        return self

    @property
    def reads_records(self) -> bool:
        return self.matrix is not None and self.matrix.from_records

    @property
    def files(self) -> tuple[str, ...]:
        return tuple(getattr(self.matrix, "files", {}).values())

    def make(
        self,
        schema: "Schema",
        data: "RecordsFile | None" = None,
        released: Released | None = None,
        accept: Sequence[str] = (),
    ) -> "StrataPlan":
        """Return the plan.

        Parameters
        ----------
        schema : Schema
            Of the whole file.
        data : RecordsFile, optional
            The original records, for matrices that are made from them.
        released : mapping of str to Responses, optional
            Without effect.
        accept : sequence of str
            Names of accepted risks.

        Raises
        ------
        DeniableError
            If there is no such plan, or a risk is not accepted.
        """
        from deniable.plans.strata import StrataPlan  # noqa: PLC0415

        kept = schema if self.columns is None else schema.only(self.columns)
        given = kept, self.strata
        if self.matrix is not None:
            return self._of_matrices(kept, data, accept)
        if self.epsilon is not None:
            plan = StrataPlan.of_epsilon(*given, self.epsilon, self.joint, accept)
        else:
            plan = StrataPlan.of_retention(*given, self.retention or 0.0, self.joint, accept)
        part = None if self.part is None else self.part.part()
        return replace(plan, order=self.order, part=part)

    def _of_matrices(
        self, schema: "Schema", data: "RecordsFile | None", accept: Sequence[str]
    ) -> "StrataPlan":
        from deniable.plans.making import refuse_unknown_columns  # noqa: PLC0415
        from deniable.plans.settings.pram import PramRequest, pram_protocols  # noqa: PLC0415
        from deniable.plans.strata import StrataPlan, refuse_no_rest  # noqa: PLC0415
        from deniable.pram import StratifiedProtocol  # noqa: PLC0415

        assert self.matrix is not None
        refuse_unknown_columns(schema, [self.strata, *self.joint])
        domain = schema.domain()
        rest = [name for name in domain.names if name not in self.strata]
        refuse_no_rest(rest, self.strata)
        blocks = blocks_in_order(self.joint, rest)
        part = None if self.part is None else self.part.part()
        request = PramRequest(self.matrix, tuple(self.strata), blocks, part)
        protocols, origin = pram_protocols(schema, request, data)
        protocol = StratifiedProtocol(
            domain, request.strata, protocols, invariant=self.matrix.is_invariant
        )
        why = (f"{self.matrix.kind}: as requested",) * len(blocks)
        return StrataPlan(
            schema,
            protocol,
            protocol.epsilon,
            why,
            origin,
            tuple(accept),
            self.order,
            part=part,
        )
