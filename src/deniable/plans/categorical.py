"""Plans that randomize columns of categories or of numbers on a grid, record by record."""

from abc import abstractmethod
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, fields
from functools import cached_property
from itertools import product
from typing import TYPE_CHECKING, Any, Generic, TypeVar

import numpy as np
import pandas as pd
import pyarrow as pa

from deniable.arrays import Floats
from deniable.channels import (
    Channel,
    channel_from_json,
    channel_to_json,
    product_of_ratios,
)
from deniable.errors import DeniableError, shown
from deniable.plans.auditing import audit_protocols, audit_row
from deniable.plans.document import epsilon_to_json
from deniable.plans.interface import Plan, Watch
from deniable.plans.risks import invariant_risks, sum_of_epsilons
from deniable.randomized_response import Protocol, as_reports
from deniable.records import Domain, Microdata, Rule, possible_cells
from deniable.responses import ProtectedFormat, category_columns
from deniable.sampling import Numbers, RandomnessSource
from deniable.schema import MISSING, RecordBatch, answering_batches, weights_of

if TYPE_CHECKING:
    from deniable.pram import StratifiedProtocol, Stratum
    from deniable.responses import Forms, Responses

MATRICES = "matrices"
"""Name of the public table of matrices and left inverses, without the ending .csv."""
MAX_PUBLISHED_ENTRIES = 1 << 16  # of one matrix in that table
MAX_PUBLISHED_ROWS = 1 << 18  # of that table
OfProtocol = TypeVar("OfProtocol", "Protocol", "StratifiedProtocol", "Forms")


@dataclass(frozen=True, eq=False, repr=False)
class CategoricalPlan(Plan, Generic[OfProtocol]):
    """A plan that randomizes columns by the channels of a protocol.

    Parameters
    ----------
    schema, target, chosen_from, accept, order, part, requirement, made_by
        As in `deniable.plans.Plan`.
    protocol : Protocol, StratifiedProtocol or Forms
        Channels of the schema's randomized columns, alone or in clusters.
    why : tuple of str
        The reason for the channel of each cluster.
    weight : str, optional
        The released column of weights for which invariant channels keep the weighted frequencies
        ([pram], (2.7)); by default records count as one each.
    keep_back : tuple of float, optional
        If invariant matrices are kept back, the published bound on the epsilon of each cluster,
        which follows from the settings alone.

    Raises
    ------
    DeniableError
        If the protocol has other columns than the schema, its exact epsilon is above the target, or
        a risk is not accepted.
    """

    row_by_row = True

    protocol: OfProtocol
    why: tuple[str, ...]
    weight: str | None = field(default=None, kw_only=True)
    keep_back: tuple[float, ...] = field(default=(), kw_only=True)

    def __post_init__(self) -> None:
        if self.protocol.domain != self.schema.domain():
            raise DeniableError("the channels and the schema have different columns; give the same")
        if len(self.why) != len(self.blocks):
            raise DeniableError("a plan gives a reason for the channel of each cluster")
        if self.weight is not None and self.weight not in self.passed:
            raise DeniableError(
                f"matrices are invariant for the weights {shown(self.weight)}, which estimates "
                "need: release this column of weights (accept weights_released)"
            )
        if self.keep_back and self.schema.unit:
            raise DeniableError("matrices that are kept back do not support a unit of the schema")
        for each in self.protocols.values() if self.keep_back else ():
            bounds = zip(each.channels, self.keep_back, strict=True)
            if not self.invariant or any(channel.epsilon > bound for channel, bound in bounds):
                raise DeniableError(
                    "matrices that are kept back must be invariant, and no epsilon above its bound"
                )
        self.refuse_above_target()
        self._refuse_unmet()
        super().__post_init__()
        for each in self.protocols.values():
            refuse_other_cells(each, self.schema.rules)

    def _refuse_unmet(self) -> None:
        if (required := self.requirement) is None:
            return
        for protocol in self.protocols.values():
            own = [channel.exact_parity for channel in protocol.channels]
            for parity in own if required.of == "column" else [product_of_ratios(own)]:
                if not required.allows(parity):
                    problem = f"parity is too large for {required.label} of the {required.of}"
                    raise DeniableError(f"{problem}; split it between columns, or allow more")

    @property
    @abstractmethod
    def protocols(self) -> "Mapping[Stratum, Protocol]":
        """The protocol of each stratum, all with the same clusters; without strata, of ()."""

    @property
    @abstractmethod
    def invariant(self) -> bool:
        """Whether the expected frequencies of randomized records are the original ones."""

    @property
    def blocks(self) -> tuple[tuple[str, ...], ...]:
        """Columns that share a channel, in the order of the protocol."""
        return next(iter(self.protocols.values())).clusters

    @cached_property
    def epsilon(self) -> float:
        return self.protocol.epsilon

    @property
    def risks(self) -> dict[str, str]:
        own = invariant_risks(self.weight, kept_back=bool(self.keep_back))
        return super().risks | (own if self.invariant else {})

    def _kept(self) -> dict[str, Any]:
        """Return the fields of the document on invariance."""
        own: dict[str, Any] = {} if self.weight is None else {"weight": self.weight}
        if self.keep_back:
            own["keep_back"] = [epsilon_to_json(each) for each in self.keep_back]
        return {"invariant": self.invariant, **own}

    @property
    def published(self) -> Plan:
        if not self.keep_back:
            return self
        from deniable.plans.kept_back import KeptBackPlan  # noqa: PLC0415 - few plans have one

        own = {each.name: getattr(self, each.name) for each in fields(Plan)}
        own |= {"blocks": self.blocks, "bounds": self.keep_back, "why": self.why}
        return KeptBackPlan(weight=self.weight, **own)

    def owner_tables(self, batches: Iterable[RecordBatch]) -> Mapping[str, pd.DataFrame]:
        """Return the table ``variance`` if matrices are kept back; `batches` as in `Plan`.

        It has the original proportion of each cell of a block, and the standard error of the
        published proportion given the records and the matrices: [pram], (2.4), with weights (2.7).
        """
        if not self.keep_back:
            return {}
        from deniable.plans.blocks import weighted_cells  # noqa: PLC0415 - few plans need it

        domain, weight = self.schema.domain(), self.weight
        parts = [domain.project(self.strata + names) for names in self.blocks]
        answering = (batch for batch, _ in answering_batches(batches, self.part))
        sums = weighted_cells(parts, answering, self.schema[weight] if weight else None)
        tables, known = [], list(product(*(domain[name].categories for name in self.strata)))
        for block, each in zip(self.blocks, sums, strict=True):
            for stratum, protocol in self.protocols.items():
                once, twice = each.reshape(2, len(known), -1)[:, known.index(stratum)]
                P = protocol.channel_of(block).matrix()
                columns = {
                    "stratum": " x ".join(stratum),
                    "block": " x ".join(block),
                    "value": protocol.domain.project(block).cell_labels(),
                    "original": once / once.sum(),
                    "standard_error": np.sqrt(twice @ (P * (1 - P))) / once.sum(),
                }
                tables.append(pd.DataFrame(columns))
        return {"variance": pd.concat(tables, ignore_index=True)}

    def original_records(self, batches: Iterable[RecordBatch]) -> Microdata:
        held = list(batches)
        true: Microdata = super().original_records(held)
        if self.weight is None:
            return true
        from deniable.responses import WeightedMicrodata  # noqa: PLC0415 - loads SciPy

        column, answering = self.schema[self.weight], answering_batches(held, self.part)
        passed = [weights_of(each.passed[column.name], column.decimal) for each, _ in answering]
        return WeightedMicrodata(true.domain, true.columns, weights=np.concatenate(passed))

    def epsilon_by_changed_attribute(self) -> dict[str, float]:
        return self.protocol.epsilon_by_changed_attribute()

    def channels(self) -> dict[str, Channel]:
        return {
            " x ".join(cluster) + (f" in {' x '.join(stratum)}" if stratum else ""): channel
            for stratum, own in self.protocols.items()
            for cluster, channel in zip(own.clusters, own.channels, strict=True)
        }

    def mechanisms(self) -> tuple[tuple[str, float, str], ...]:
        worst = [
            max(protocol.channel_of(block).epsilon for protocol in self.protocols.values())
            for block in self.blocks
        ]
        names = [" x ".join(block) for block in self.blocks]
        return tuple(zip(names, worst, self.why, strict=True))

    def matrices(self) -> pd.DataFrame:
        tables = (
            _entries(protocol, block, stratum)
            for stratum, protocol in self.protocols.items()
            for block in protocol.clusters
        )
        return pd.concat(tables, ignore_index=True)

    @cached_property
    def large_blocks(self) -> tuple[str, ...]:
        """The blocks with too many entries of their matrices for a table in a public folder."""
        sizes_of, left, found = dict[tuple[str, ...], list[int]](), MAX_PUBLISHED_ROWS, list[str]()
        for protocol in self.protocols.values():
            for block, channel in zip(protocol.clusters, protocol.channels, strict=True):
                sizes_of.setdefault(block, []).append(channel.size * channel.reports)
        for block, sizes in sizes_of.items():
            if max(sizes) > MAX_PUBLISHED_ENTRIES or sum(sizes) > left:
                found.append(" x ".join(block))
            else:
                left -= sum(sizes)
        return tuple(found)

    @cached_property
    def _public_tables(self) -> dict[str, pd.DataFrame]:
        if self.keep_back or len(self.large_blocks) == len(self.blocks):
            return {}
        columns, tables = {each.name: each for each in self.layout.columns}, []
        for stratum, protocol in self.protocols.items():
            for block, channel in zip(protocol.clusters, protocol.channels, strict=True):
                if (name := " x ".join(block)) not in self.large_blocks:
                    table = _entries(protocol, block, stratum)
                    if name in columns and len(columns[name].texts) == channel.reports:
                        # The texts of the protected file.
                        null = columns[name].values.is_null().to_pylist()
                        texts = zip(columns[name].texts, null, strict=True)
                        labels = [MISSING if missing else text for text, missing in texts]
                        table["reported"] = labels * channel.size
                    if not channel.singular:
                        table["inverse"] = _texts(channel.solve(np.eye(channel.size)))
                    tables.append(table)
        whole = pd.concat(tables, ignore_index=True)
        return {MATRICES: whole if "inverse" in whole else whole.assign(inverse="")}

    def public_tables(self, protected: pa.Table) -> dict[str, pd.DataFrame]:
        """Return the table ``matrices``, unless matrices are kept back or too large.

        It has the columns of `matrices`, and ``inverse``: the weight of the randomized value in the
        estimate of the category, by the own left inverse of the channel ([multirr], (2)). It does
        not depend on the `protected` table.
        """
        return self._public_tables

    @cached_property
    def layout(self) -> ProtectedFormat:
        """The columns of the protected file."""
        return ProtectedFormat(self.schema, category_columns(self.schema), self.passed)

    def responses(self, source: Any) -> "Responses":
        from deniable.responses import ProtectedRecords  # noqa: PLC0415 - releases do not need it

        return ProtectedRecords(source, self.layout, self.table_of, self.blocks)

    @abstractmethod
    def draw(self, true: Microdata, source: RandomnessSource, records: Numbers) -> Microdata:
        """Return randomized values of the original records, `true`, drawn by a `source`.

        The `records` are record numbers in the whole file, counted from 0.
        """

    def randomize(
        self, batches: Iterable[RecordBatch], source: RandomnessSource, watch: Watch | None = None
    ) -> Iterator[pa.Table]:
        for batch, records in answering_batches(batches, self.part, self.schema, source):
            yield self.randomize_batch(batch, records, source, watch)

    def randomize_batch(
        self,
        batch: RecordBatch,
        records: Numbers,
        source: RandomnessSource,
        watch: Watch | None = None,
    ) -> pa.Table:
        domain = self.protocol.domain
        true = Microdata(domain, tuple(batch.codes[name] for name in domain.names))
        drawn = self.draw(true, source, records)
        passed = {name: batch.passed[name] for name in self.passed}
        if watch is not None:
            watch(true, drawn, passed)
        return self.layout.table(drawn, passed)

    def audit(self) -> pd.DataFrame:
        found = audit_protocols(self, self.protocols)
        if self.schema.unit is None:
            return found
        stated, most = self.guarantees[0], self.schema.records_per_unit
        (record,) = found[found["unit"] == "record"].to_dict("records")
        exact = sum_of_epsilons([record["exact_epsilon"]], most)
        shipped, way = record["shipped_epsilon"] * most, f"{most} x the record"
        row = audit_row("unit", stated.unit, stated.epsilon, exact, shipped, way)
        return pd.concat([found, pd.DataFrame([row])], ignore_index=True)


def refuse_other_cells(protocol: Protocol, rules: Sequence[Rule]) -> None:
    """Raise `DeniableError` unless the channels of a `protocol` have the possible cells of `rules`.

    The `rules` are impossible combinations of columns.
    """
    for names, channel in zip(protocol.clusters, protocol.channels, strict=True):
        cells: Any = channel.possible_cells
        if cells is None and not any({*rule} & {*names} for rule in rules):
            continue
        part = protocol.domain.project(names)
        possible = None if cells is None else possible_cells(part, rules)
        if possible is None or not np.array_equal(np.flatnonzero(possible), cells):
            raise DeniableError(
                f"the channel of {' x '.join(names)} has other possible combinations than the "
                "schema; make a plan of kind columns with an epsilon"
            )


def _entries(protocol: Protocol, block: Sequence[str], stratum: Sequence[str]) -> pd.DataFrame:
    """Return the entries of the matrix of a `block` of a `protocol`, as in `Plan.matrices`."""
    part, channel = protocol.domain.project(block), protocol.channel_of(block)
    reported = as_reports(part, channel).cell_labels()
    cells = {
        "stratum": " x ".join(stratum),
        "block": " x ".join(block),
        "true": np.repeat(part.cell_labels(), len(reported)),
        "reported": reported * channel.size,
        "probability": _texts(channel.matrix()),
    }
    return pd.DataFrame(cells)


def _texts(entries: Floats) -> list[str]:
    return [repr(each) for each in entries.reshape(-1).tolist()]


def clusters_to_json(protocol: Protocol, why: Sequence[str]) -> list[dict[str, Any]]:
    """Return the clusters of a `protocol`, with their channels and the reasons, `why`."""
    return [
        {
            "attributes": list(names),
            "epsilon": epsilon_to_json(channel.epsilon),
            "why": reason,
            "channel": channel_to_json(channel),
        }
        for names, channel, reason in zip(protocol.clusters, protocol.channels, why, strict=True)
    ]


def clusters_from_json(
    values: Sequence[Mapping[str, Any]], domain: Domain
) -> tuple[Protocol, tuple[str, ...]]:
    """Rebuild a protocol over a `domain`, and the reasons, from `values` of `clusters_to_json`."""
    clusters = tuple(tuple(each["attributes"]) for each in values)
    channels = tuple(channel_from_json(each["channel"]) for each in values)
    return Protocol(domain, clusters, channels), tuple(str(each["why"]) for each in values)


def kept_from_json(own: Mapping[str, Any]) -> dict[str, Any]:
    """Return weight and bounds of invariant matrices from the `own` fields of a document."""
    bounds = tuple(float(each) for each in own.get("keep_back", ()))
    return {"weight": own.get("weight"), "keep_back": bounds}
