"""PRAM within strata as a plan: of a public epsilon or retention, or any protocol that is given."""

import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from itertools import product

import numpy as np

from deniable.channels import KeepOrReplace
from deniable.errors import DeniableError, refuse_unknown
from deniable.plans import Origin, Plan
from deniable.pram import StratifiedProtocol, Stratum, channel_of_retention, label
from deniable.randomized_response import Protocol
from deniable.randomized_response.budgets import protocol_of_epsilon
from deniable.records import Domain
from deniable.schema import Schema

MOST_STRATA = 4096
OfEach = float | Mapping[Stratum, float]
"""A number for all strata, or one for each, by its categories in the order of the columns."""


@dataclass(frozen=True, eq=False)
class StratifiedPlan:
    """What is done to each column of records within strata, whose columns go out as they are.

    Parameters
    ----------
    schema : Schema
    protocol : StratifiedProtocol
        Of the schema's randomized columns.
    chosen_from, accept
        As in `Plan`: matrices that were made from the records are chosen by the data.

    Raises
    ------
    DeniableError
        If the protocol is of other columns, or something is so that is not accepted.

    Examples
    --------
    >>> from deniable.schema import schema_from
    >>> columns = [{"name": n, "kind": "categorical", "categories": ["x", "y"]} for n in "abc"]
    >>> about = {"format": "deniable-schema", "population": "all", "file": {"kind": "arrow"}}
    >>> schema = schema_from(about | {"columns": columns})
    >>> StratifiedPlan.of_epsilon(schema, ["a"], {("x",): 1.0, ("y",): 2.0}).epsilon
    2.0
    """

    schema: Schema
    protocol: StratifiedProtocol
    chosen_from: Origin = "no data"
    accept: Sequence[str] = ()

    def __post_init__(self) -> None:
        if self.protocol.domain != self.schema.domain():
            raise DeniableError("the plan's matrices are of other columns than its schema has")
        for each in self.protocol.protocols.values():
            each.refuse_other_reports()
        self.as_they_are  # noqa: B018 - refuses what is not accepted

    @classmethod
    def of_epsilon(
        cls,
        schema: Schema,
        strata: Sequence[str],
        epsilon: OfEach,
        joint: Sequence[Sequence[str]] = (),
        accept: Sequence[str] = (),
    ) -> "StratifiedPlan":
        """Return the plan that spends an epsilon in each stratum, an equal share on each block.

        Parameters
        ----------
        schema : Schema
        strata : sequence of str
            Columns that go out as they are.
        epsilon : float, or mapping of tuple of str to float, above 0
            Of all randomized columns together, in all strata or in each.
        joint : sequence of sequences of str, optional
            Columns that share a matrix; each of the others has its own.
        accept : sequence of str, optional
            Names of findings; see `deniable.plans.FINDINGS`.

        Raises
        ------
        DeniableError
            If a column or a stratum is unknown or missing, or there is no such epsilon.
        """

        def within(domain: Domain, blocks: tuple[tuple[str, ...], ...], value: float) -> Protocol:
            return protocol_of_epsilon(domain, value, blocks)

        return cls._of(schema, tuple(strata), epsilon, joint, tuple(accept), within)

    @classmethod
    def of_retention(
        cls,
        schema: Schema,
        strata: Sequence[str],
        retention: OfEach,
        joint: Sequence[Sequence[str]] = (),
        accept: Sequence[str] = (),
    ) -> "StratifiedPlan":
        """Return the plan by which every category stays with a probability, in each block.

        Parameters
        ----------
        schema, strata, joint, accept
            As in `of_epsilon`.
        retention : float, or mapping of tuple of str to float, in [0, 1]
            In all strata, or in each. See `deniable.pram.channel_of_retention`.

        Raises
        ------
        DeniableError
            If a column or a stratum is unknown or missing, or there is no such retention.
        """

        def within(domain: Domain, blocks: tuple[tuple[str, ...], ...], value: float) -> Protocol:
            sizes = [domain.project(block).size for block in blocks]
            channels = tuple(channel_of_retention(size, value) for size in sizes)
            return Protocol(domain, blocks, channels)

        return cls._of(schema, tuple(strata), retention, joint, tuple(accept), within)

    @classmethod
    def _of(
        cls,
        schema: Schema,
        strata: tuple[str, ...],
        values: OfEach,
        joint: Sequence[Sequence[str]],
        accept: tuple[str, ...],
        within: Callable[[Domain, tuple[tuple[str, ...], ...], float], Protocol],
    ) -> "StratifiedPlan":
        domain = schema.domain()
        for name in (*strata, *(name for block in joint for name in block)):
            refuse_unknown("column", name, domain.names)
        if (number := domain.project(strata).size if strata else 1) > MOST_STRATA:
            raise DeniableError(
                f"{', '.join(strata)} make {number:,} strata, over {MOST_STRATA:,}; name fewer"
            )
        rest = [name for name in domain.names if name not in strata]
        if not rest:
            raise DeniableError(
                f"all columns ({', '.join(strata)}) are strata, which go out as they are; leave "
                "one to randomize"
            )
        own = {name: tuple(block) for block in joint for name in block}
        blocks = tuple(dict.fromkeys(own.get(name, (name,)) for name in rest))
        known = list(product(*(domain[name].categories for name in strata)))
        of_each = values if isinstance(values, Mapping) else dict.fromkeys(known, values)
        for stratum in (*known, *of_each):
            if stratum not in of_each or stratum not in known:
                fault = "has no value" if stratum in known else "is none"
                raise DeniableError(
                    f"the stratum {stratum!r} of {', '.join(strata)} {fault}; give a value to each "
                    f"combination of categories, as {known[0]!r}"
                )
        protocols: dict[Stratum, Protocol] = {}
        for stratum, value in of_each.items():
            try:
                protocols[stratum] = within(domain.project(rest), blocks, value)
            except DeniableError as error:
                where = f"the stratum {label(stratum)}: " if stratum else ""
                raise DeniableError(f"{where}{error}") from None
        protocol = StratifiedProtocol(domain, strata, protocols)
        return cls(schema, protocol, accept=accept)

    @property
    def epsilon(self) -> float:
        """Exact epsilon of `unit`, rounded up: that of the worst stratum."""
        return self.protocol.epsilon

    @property
    def unit(self) -> str:
        """What `epsilon` is of."""
        but = f" who stays in a stratum of {' and '.join(self.protocol.strata)}"
        return f"the whole record of one respondent{but if self.protocol.strata else ''}"

    @property
    def not_covered(self) -> tuple[str, ...]:
        """What no epsilon counts, in sentences."""
        shown = tuple(
            f"{name} goes out as it is: another value shows for certain"
            for name in self.protocol.strata
        )
        return self.as_they_are.not_covered + shown

    @property
    def passed(self) -> tuple[str, ...]:
        """Names of the identifiers and weights that go out as they are."""
        return self.as_they_are.passed

    @cached_property
    def as_they_are(self) -> Plan:
        """How its reports are written and read: columns of the schema's own categories."""
        return passing(self.schema, self.chosen_from, self.accept)


def passing(schema: Schema, chosen_from: Origin, accept: Sequence[str]) -> Plan:
    """Return the plan that changes nothing: what a file by a `schema` looks like as it is.

    Of infinite epsilon. Raises `DeniableError` if something about the schema, or that channels were
    `chosen_from` the data, is not in `accept`.
    """
    domain = schema.domain()
    channels = tuple(KeepOrReplace(1.0, np.zeros(each.size)) for each in domain)
    clusters = tuple((name,) for name in domain.names)
    protocol = Protocol(domain, clusters, channels)
    why = ("as they are",) * len(clusters)
    return Plan(schema, protocol, math.inf, why, chosen_from, tuple(accept))
