"""Plans that randomize columns, or clusters of columns, by channels."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING, Any, ClassVar

from deniable.plans.categorical import (
    CategoricalPlan,
    clusters_from_json,
    clusters_to_json,
    kept_from_json,
)
from deniable.randomized_response import Protocol
from deniable.records import Microdata
from deniable.responses import ProtectedFormat, response_columns
from deniable.sampling import Numbers, RandomnessSource

if TYPE_CHECKING:
    from deniable.pram import Stratum
    from deniable.responses import Table


@dataclass(frozen=True, eq=False, repr=False)
class ColumnsPlan(CategoricalPlan[Protocol]):
    """The channel of each column or cluster of columns of a file.

    Channels are `invariant` if the expected frequencies of randomized records are the original ones
    ([pram], (2.1)). Such channels disclose these frequencies. All other parameters are as in
    `CategoricalPlan`.
    """

    kind: ClassVar[str] = "columns"

    invariant: bool = False

    def __post_init__(self) -> None:
        super().__post_init__()
        if self.invariant:
            self.protocol.refuse_other_reports()

    @property
    def record_protocol(self) -> Protocol:
        return self.protocol

    @property
    def protocols(self) -> "Mapping[Stratum, Protocol]":
        return {(): self.protocol}

    @cached_property
    def layout(self) -> ProtectedFormat:
        columns = response_columns(self.schema, self.protocol)
        return ProtectedFormat(self.schema, columns, self.passed)

    def draw(self, true: Microdata, source: RandomnessSource, records: Numbers) -> Microdata:
        return self.protocol.randomize(true, source, records)

    def table_of(self, names: Sequence[str]) -> "Table":
        from deniable.pram import StratifiedProtocol  # noqa: PLC0415 - releases do not need it
        from deniable.responses import Table, table_within_strata  # noqa: PLC0415

        if not self.invariant:
            return Table.of(self.protocol, names)
        whole = StratifiedProtocol(self.protocol.domain, (), self.protocols, invariant=True)
        return table_within_strata(whole, names, weight=self.weight)

    def to_json(self) -> dict[str, Any]:
        return {**self._kept(), "clusters": clusters_to_json(self.protocol, self.why)}

    @classmethod
    def from_json(cls, own: Mapping[str, Any], fields: Mapping[str, Any]) -> "ColumnsPlan":
        protocol, why = clusters_from_json(own["clusters"], fields["schema"].domain())
        kept = {"invariant": own["invariant"], **kept_from_json(own)}
        return cls(protocol=protocol, why=why, **kept, **fields)
