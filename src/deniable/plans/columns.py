"""Plans that send columns, or clusters of columns, through channels."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property, partial
from typing import TYPE_CHECKING, Any, ClassVar

import pandas as pd

from deniable.channels import Channel, channel_from_json, channel_to_json
from deniable.plans.auditing import Claims, audit_protocols
from deniable.plans.categorical import UNIT, CategoricalPlan
from deniable.plans.fields import epsilon_to_json, fields_from_json
from deniable.randomized_response import Protocol
from deniable.records import Domain, Microdata
from deniable.responses import ProtectedFormat, response_columns
from deniable.sampling import Numbers, RandomnessSource

if TYPE_CHECKING:
    from deniable.pram import Stratum
    from deniable.responses import Responses


@dataclass(frozen=True, eq=False)
class ColumnsPlan(CategoricalPlan[Protocol]):
    """The channel of each column or cluster of columns of a file.

    Parameters
    ----------
    schema, protocol, target, why, chosen_from, accept, order, made_by, part
        As in `deniable.plans.CategoricalPlan`.
    invariant : bool
        Whether the channels leave the frequencies of the original records as they are ([pram],
        (2.1)); they then disclose these frequencies.
    """

    kind: ClassVar[str] = "columns"

    invariant: bool = False

    def __post_init__(self) -> None:
        super().__post_init__()
        if self.invariant:
            self.protocol.refuse_other_reports()

    @property
    def unit(self) -> str:
        return UNIT

    @property
    def record_protocol(self) -> Protocol:
        return self.protocol

    @property
    def blocks(self) -> tuple[tuple[str, ...], ...]:
        return self.protocol.clusters

    @property
    def protocols(self) -> "Mapping[Stratum, Protocol]":
        return {(): self.protocol}

    def epsilon_by_changed_attribute(self) -> dict[str, float]:
        return self.protocol.epsilon_by_changed_attribute()

    @cached_property
    def layout(self) -> ProtectedFormat:
        columns = response_columns(self.schema, self.protocol)
        return ProtectedFormat(self.schema, columns, self.passed)

    def draw(self, true: Microdata, source: RandomnessSource, records: Numbers) -> Microdata:
        return self.protocol.randomize(true, source, records)

    def responses(self, source: Any) -> "Responses":
        # A release needs neither of them.
        from deniable.pram import StratifiedProtocol  # noqa: PLC0415
        from deniable.responses import (  # noqa: PLC0415
            ProtectedRecords,
            Table,
            table_within_strata,
        )

        table_of = partial(Table.of, self.protocol)
        if self.invariant:
            whole = StratifiedProtocol(
                self.protocol.domain, (), {(): self.protocol}, invariant=True
            )
            table_of = partial(table_within_strata, whole)
        return ProtectedRecords(source, self.layout, table_of, self.protocol.clusters)

    def channels(self) -> dict[str, Channel]:
        rows = zip(self.protocol.clusters, self.protocol.channels, strict=True)
        return {" x ".join(cluster): channel for cluster, channel in rows}

    def audit(self) -> pd.DataFrame:
        claims = Claims(self.target, self.epsilon, self.epsilon_by_changed_attribute())
        return audit_protocols(self.protocols, claims)

    def to_json(self) -> dict[str, Any]:
        return {"invariant": self.invariant, "clusters": clusters_to_json(self.protocol, self.why)}

    @classmethod
    def from_json(cls, values: Mapping[str, Any]) -> "ColumnsPlan":
        fields, own = fields_from_json(values), values[cls.kind]
        protocol, why = clusters_from_json(own["clusters"], fields["schema"].domain())
        return cls(protocol=protocol, why=why, invariant=own["invariant"], **fields)


def clusters_to_json(protocol: Protocol, why: Sequence[str]) -> list[dict[str, Any]]:
    """Return the clusters of a `protocol`, with their channels and the reasons, `why`."""
    rows = zip(protocol.clusters, protocol.channels, why, strict=True)
    return [
        {
            "attributes": list(names),
            "epsilon": epsilon_to_json(channel.epsilon),
            "why": reason,
            "channel": channel_to_json(channel),
        }
        for names, channel, reason in rows
    ]


def clusters_from_json(
    values: Sequence[Mapping[str, Any]], domain: Domain
) -> tuple[Protocol, tuple[str, ...]]:
    """Rebuild a protocol over a `domain`, and the reasons, from `values` of `clusters_to_json`."""
    clusters = tuple(tuple(each["attributes"]) for each in values)
    channels = tuple(channel_from_json(each["channel"]) for each in values)
    return Protocol(domain, clusters, channels), tuple(str(each["why"]) for each in values)
