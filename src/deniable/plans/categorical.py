"""Plans that randomize columns of categories or of numbers on a grid, record by record."""

from abc import abstractmethod
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING, Generic, TypeVar, get_args

import numpy as np
import pyarrow as pa

from deniable import __version__
from deniable.errors import DeniableError, refuse_unknown
from deniable.plans.interface import Guarantee, Order, Origin, Part, Plan, Watch
from deniable.plans.risks import refuse_unaccepted, released_columns, schema_risks
from deniable.randomized_response import Protocol, as_reports
from deniable.records import Microdata
from deniable.responses import ProtectedFormat
from deniable.sampling import Numbers, RandomnessSource
from deniable.schema import RecordBatch, Schema

if TYPE_CHECKING:
    import pandas as pd

    from deniable.pram import StratifiedProtocol, Stratum
    from deniable.responses import Responses

UNIT = "the whole record of one respondent"
GIVEN_MATRICES = "The matrices are given; their choice by the original records is not counted."
INVARIANT_RISK = (
    "the matrices were computed from the original frequencies and disclose them: the frequencies "
    "of a block in a stratum are the stationary distribution of its matrix, so they are published "
    "with it, exactly; an intruder with all other records of the stratum can infer the last one; "
    "no finite epsilon holds for the matrices"
)
OfProtocol = TypeVar("OfProtocol", "Protocol", "StratifiedProtocol")


@dataclass(frozen=True, eq=False)
class CategoricalPlan(Plan, Generic[OfProtocol]):
    """A plan whose columns go through the channels of a protocol.

    Parameters
    ----------
    schema : Schema
    protocol : Protocol or StratifiedProtocol
        Channels of the schema's randomized columns, alone or in clusters.
    target : float
        The requested epsilon of a record.
    why : tuple of str
        The reason for the channel of each cluster.
    chosen_from : str
        The information by which channels were chosen.
    accept : tuple of str
        Names of accepted risks (`deniable.plans.RISKS`).
    order : str
        Whether protected records have a random order or the order of the file.
    made_by : str
        Program and version.
    part : Part, optional
        The part of the respondents that answers; by default all.

    Raises
    ------
    DeniableError
        If the protocol has other columns than the schema, its exact epsilon is above the requested
        one, or a risk is not accepted.
    """

    schema: Schema
    protocol: OfProtocol
    target: float
    why: tuple[str, ...]
    chosen_from: Origin = "no data"
    accept: tuple[str, ...] = ()
    order: Order = "permuted"
    made_by: str = f"deniable {__version__}"
    part: Part | None = None

    def __post_init__(self) -> None:
        refuse_unknown("origin of channels", self.chosen_from, get_args(Origin))
        refuse_unknown("order", self.order, get_args(Order))
        if self.protocol.domain != self.schema.domain():
            raise DeniableError("the plan's channels are for other columns than its schema has")
        if len(self.why) != len(self.blocks):
            raise DeniableError("a plan gives a reason for the channel of each cluster")
        if self.epsilon > self.target:
            raise DeniableError(
                f"the plan's exact epsilon is {self.epsilon!r}, above the requested {self.target!r}"
            )
        refuse_unaccepted(self.risks, self.accept, self.schema)

    @property
    @abstractmethod
    def blocks(self) -> tuple[tuple[str, ...], ...]:
        """Columns that share a channel, in the order of the protocol."""

    @property
    @abstractmethod
    def protocols(self) -> "Mapping[Stratum, Protocol]":
        """The protocol of each stratum; without strata the only key is ()."""

    @property
    @abstractmethod
    def invariant(self) -> bool:
        """Whether the channels leave the frequencies of the original records as they are."""

    @cached_property
    def epsilon(self) -> float:
        return self.protocol.epsilon

    @property
    def guarantees(self) -> tuple[Guarantee, ...]:
        by_data = self.chosen_from == "the data, by a curator"
        return (Guarantee(self.epsilon, self.unit, (GIVEN_MATRICES,) if by_data else ()),)

    @cached_property
    def risks(self) -> Mapping[str, str]:
        found = schema_risks(self.schema, self.chosen_from, self.accept)
        return found | ({"chosen_by_data": INVARIANT_RISK} if self.invariant else {})

    @property
    def not_covered(self) -> tuple[str, ...]:
        drafted = ", ".join(self.schema.drafted)
        return tuple(
            f"{why} ({drafted})" if name == "drafted" else why for name, why in self.risks.items()
        )

    @property
    def passed(self) -> tuple[str, ...]:
        return released_columns(self.schema, self.accept)

    def mechanisms(self) -> tuple[tuple[str, float, str], ...]:
        worst = [
            max(protocol.channel_of(block).epsilon for protocol in self.protocols.values())
            for block in self.blocks
        ]
        names = [" x ".join(block) for block in self.blocks]
        return tuple(zip(names, worst, self.why, strict=True))

    def matrices(self) -> "pd.DataFrame":
        import pandas as pd  # noqa: PLC0415

        tables = []
        for stratum, protocol in self.protocols.items():
            for block, channel in zip(protocol.clusters, protocol.channels, strict=True):
                part = protocol.domain.project(block)
                reported = as_reports(part, channel).cell_labels()
                entries = channel.matrix().reshape(-1).tolist()
                cells = {
                    "stratum": " x ".join(stratum),
                    "block": " x ".join(block),
                    "true": np.repeat(part.cell_labels(), len(reported)),
                    "reported": reported * channel.size,
                    "probability": [repr(each) for each in entries],
                }
                tables.append(pd.DataFrame(cells))
        return pd.concat(tables, ignore_index=True)

    @cached_property
    @abstractmethod
    def layout(self) -> ProtectedFormat:
        """The columns of the protected file."""

    @abstractmethod
    def draw(self, true: Microdata, source: RandomnessSource, records: Numbers) -> Microdata:
        """Return the randomized values of some records.

        Parameters
        ----------
        true : Microdata
            The original records.
        source : Generator, SystemSource or KeyedDraws
        records : range or array of int
            Their record numbers in the whole file, counted from 0.
        """

    def randomize(
        self, batches: Iterable[RecordBatch], source: RandomnessSource, watch: Watch | None = None
    ) -> Iterator[pa.Table]:
        domain = self.schema.domain()
        for batch, records in answering_batches(batches, self.part):
            true = Microdata(domain, tuple(batch.codes[name] for name in domain.names))
            drawn = self.draw(true, source, records)
            passed = {name: batch.passed[name] for name in self.passed}
            if watch is not None:
                watch(true, drawn, passed)
            yield self.layout.table(drawn, passed)

    def compare_with_original(
        self,
        protected: "Responses",
        original: Microdata,
        estimates: "Mapping[str, pd.DataFrame]",
        generator: np.random.Generator,
    ) -> "pd.DataFrame":
        """Compare a test release with the original records.

        See `deniable.responses.compare_records`, also for the parameters.

        Parameters
        ----------
        protected : Responses
        original : Microdata
            By `original_records`.
        estimates : mapping of str to DataFrame
        generator : Generator
        """
        from deniable.responses import compare_records  # noqa: PLC0415 - loads SciPy

        return compare_records(protected, original, estimates, generator)


def answering_batches(
    batches: Iterable[RecordBatch], part: Part | None
) -> Iterator[tuple[RecordBatch, Numbers]]:
    """Yield the batches of the respondents that answer, with their record numbers.

    Parameters
    ----------
    batches : iterable of Portion
    part : Part or None
        None for all respondents. The batches of a part are held in memory: the number of all
        records decides which of them answer.
    """
    if part is None:
        for batch in batches:
            yield batch, range(batch.first, batch.first + len(batch))
        return
    held = list(batches)
    answering = np.zeros(sum(map(len, held)), dtype=bool)
    answering[part.positions(answering.size)] = True
    for batch in held:
        own = answering[batch.first : batch.first + len(batch)]
        if own.any():
            codes = {name: each[own] for name, each in batch.codes.items()}
            passed = {name: each.filter(pa.array(own)) for name, each in batch.passed.items()}
            yield RecordBatch(batch.first, codes, passed), batch.first + np.flatnonzero(own)
