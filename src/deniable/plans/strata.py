"""Plans that randomize columns within strata; the stratum columns are released unchanged."""

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from itertools import product
from typing import Any, ClassVar

import numpy as np

from deniable.errors import DeniableError, refuse_unknown
from deniable.plans.blocks import epsilon_of_record, group_columns
from deniable.plans.categorical import (
    CategoricalPlan,
    clusters_from_json,
    clusters_to_json,
    kept_from_json,
)
from deniable.pram import (
    StratifiedProtocol,
    Stratum,
    channel_of_retention,
    randomized_domain,
)
from deniable.randomized_response import Protocol, protocol_from_epsilon
from deniable.records import Domain, Microdata
from deniable.responses import Table, table_within_strata
from deniable.sampling import Numbers, RandomnessSource
from deniable.schema import Schema

MAX_STRATA = 4096
OfEach = float | Mapping[Stratum, float]
"""One number for all strata, or one per stratum, by its categories in the order of the columns."""


@dataclass(frozen=True, eq=False, repr=False)
class StrataPlan(CategoricalPlan[StratifiedProtocol]):
    """The channels of columns within strata; the stratum columns are released unchanged.

    The parameters are as in `CategoricalPlan`. All randomized values must be categories.

    Examples
    --------
    >>> from deniable.schema import schema_from_dict
    >>> columns = [{"name": n, "kind": "categorical", "categories": ["x", "y"]} for n in "abc"]
    >>> about = {"format": "deniable-schema", "population": "all", "file": {"kind": "arrow"}}
    >>> schema = schema_from_dict(about | {"columns": columns})
    >>> StrataPlan.from_schema(schema, ["a"], {("x",): 1.0, ("y",): 2.0}).epsilon
    2.0
    """

    kind: ClassVar[str] = "strata"

    def __post_init__(self) -> None:
        super().__post_init__()
        for each in self.protocols.values():
            each.refuse_other_reports()

    @classmethod
    def from_schema(
        cls,
        schema: Schema,
        strata: Sequence[str],
        epsilon: OfEach | None = None,
        joint: Sequence[Sequence[str]] = (),
        accept: Sequence[str] = (),
        *,
        retention: OfEach | None = None,
    ) -> "StrataPlan":
        """Return the plan with an epsilon, or with a retention probability, in each stratum.

        Parameters
        ----------
        schema : Schema
        strata : sequence of str
            Columns that are released unchanged.
        epsilon : float, or mapping of tuple of str to float, above 0
            Of all randomized columns together, allocated evenly, in all strata or in each.
        joint : sequence of sequences of str, optional
            Columns that share a matrix; each other column has its own.
        accept : sequence of str, optional
            Names of accepted risks; see `deniable.plans.RISKS`.
        retention : float, or mapping of tuple of str to float, in [0, 1]
            In place of `epsilon`: the retention probability of a category, in each block. See
            `deniable.pram.channel_of_retention`.

        Raises
        ------
        DeniableError
            If a column or a stratum is unknown or missing, the plan is impossible, or not one of
            epsilon and retention is given.
        """
        values = epsilon if retention is None else retention
        if values is None or (epsilon is not None and retention is not None):
            raise DeniableError("give an epsilon or a retention, one of them")
        domain, strata = schema.domain(), tuple(strata)
        known = strata_of(domain, strata)
        rest = randomized_domain(domain, strata)
        blocks = group_columns(joint, rest)
        of_each = values if isinstance(values, Mapping) else dict.fromkeys(known, values)
        for stratum in (*known, *of_each):
            if stratum not in of_each or stratum not in known:
                fault = "has no value" if stratum in known else "does not exist"
                raise DeniableError(
                    f"the stratum {stratum!r} of {', '.join(strata)} {fault}; give a value to each "
                    f"combination of categories, as {known[0]!r}"
                )
        sizes = [rest.project(block).size for block in blocks]
        protocols: dict[Stratum, Protocol] = {}
        for stratum, value in of_each.items():
            try:
                if retention is None:
                    budget = epsilon_of_record(schema, value)
                    protocols[stratum] = protocol_from_epsilon(rest, budget, blocks)
                else:
                    channels = tuple(channel_of_retention(size, value) for size in sizes)
                    protocols[stratum] = Protocol(rest, blocks, channels)
            except DeniableError as error:
                where = f"the stratum {' x '.join(stratum)}: " if stratum else ""
                raise DeniableError(f"{where}{error}") from None
        protocol = StratifiedProtocol(domain, strata, protocols)
        why = ("stated",) * len(blocks)
        return cls(schema, protocol.epsilon, protocol, why, accept=tuple(accept))

    @property
    def strata(self) -> tuple[str, ...]:
        return self.protocol.strata

    @property
    def protocols(self) -> Mapping[Stratum, Protocol]:
        return self.protocol.protocols

    @property
    def invariant(self) -> bool:
        return self.protocol.invariant

    def epsilon_by_changed_attribute(self) -> dict[str, float]:
        found = super().epsilon_by_changed_attribute()
        return {name: found.get(name, math.inf) for name in self.protocol.domain.names}

    def draw(self, true: Microdata, source: RandomnessSource, records: Numbers) -> Microdata:
        return self.protocol.randomize(true, source, np.asarray(records))

    def table_of(self, names: Sequence[str]) -> Table:
        return table_within_strata(self.protocol, names, weight=self.weight)

    def to_json(self) -> dict[str, Any]:
        return {
            "columns": list(self.protocol.strata),
            **self._kept(),
            "strata": [
                {"stratum": list(stratum), "clusters": clusters_to_json(own, self.why)}
                for stratum, own in self.protocols.items()
            ],
        }

    @classmethod
    def from_json(cls, own: Mapping[str, Any], fields: Mapping[str, Any]) -> "StrataPlan":
        domain, strata = fields["schema"].domain(), tuple(own["columns"])
        rest = domain.project([name for name in domain.names if name not in strata])
        rebuilt = {
            tuple(each["stratum"]): clusters_from_json(each["clusters"], rest)
            for each in own["strata"]
        }
        protocols = {stratum: protocol for stratum, (protocol, _) in rebuilt.items()}
        protocol = StratifiedProtocol(domain, strata, protocols, own["invariant"])
        for stratum in strata_of(domain, strata) if fields["chosen_from"] == "no data" else ():
            if stratum not in protocols:
                raise DeniableError(
                    f"the stratum {' x '.join(stratum)} has no matrix; make a new plan"
                )
        why = next((reasons for _, reasons in rebuilt.values()), ())
        return cls(protocol=protocol, why=why, **kept_from_json(own), **fields)


def strata_of(domain: Domain, names: Sequence[str]) -> list[Stratum]:
    """Return all combinations of categories of the stratum columns, `names`, of a `domain`."""
    for name in names:
        refuse_unknown("column", name, domain.names)
    if names and domain.project(names).size > MAX_STRATA:
        raise DeniableError(
            f"{', '.join(names)} make {domain.project(names).size:,} strata, over {MAX_STRATA:,}; "
            "name fewer columns"
        )
    return list(product(*(domain[name].categories for name in names)))
