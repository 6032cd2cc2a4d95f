"""Randomized response block aggregation as a plan: an epsilon of each client's whole record."""

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property

import numpy as np
import pandas as pd

from deniable.channels import refuse_bad_budget
from deniable.errors import DeniableError
from deniable.plans import refuse_unaccepted, schema_risks
from deniable.records import Microdata
from deniable.release.collection import (
    ROUNDING,
    AskedTable,
    CollectionDesign,
    collect_answers,
    rule_of,
)
from deniable.rrba import floor_epsilon, guaranteed_epsilon, keep_for_view, make_views
from deniable.sampling import KeyedDraws
from deniable.schema import RecordsFile, Schema


@dataclass(frozen=True, eq=False)
class CollectionPlan:
    """Which tables are collected of clients, a record each, and what a client's answers tell.

    Every client is asked one view: combinations of columns that share none. What comes out are
    counts of answers, a row a cell of a table in a block, and no records.

    Parameters
    ----------
    schema : Schema
    asked : float, above 0
        The epsilon of a client's whole record, over all tables of its view, that is asked for.
    size : int
        Columns of a table.
    floor : float in (0, 1], optional
        If given, fake answers follow what was estimated before, and no cell of a table is below
        floor / cells; by default they are uniform.
    block : int, at least 1
        Clients that are sent the same table.
    accept : sequence of str
        Names of findings; see `deniable.plans.RISKS`.

    Raises
    ------
    DeniableError
        If a parameter is out of range, or something about the schema is not accepted.

    Examples
    --------
    >>> from deniable.schema import schema_from
    >>> columns = [{"name": n, "kind": "categorical", "categories": ["x", "y"]} for n in "abcd"]
    >>> about = {"format": "deniable-schema", "population": "all", "file": {"kind": "arrow"}}
    >>> plan = CollectionPlan(schema_from(about | {"columns": columns}), 1.0)
    >>> len(plan.design.questions), round(plan.epsilon, 6)
    (3, 1.0)
    """

    schema: Schema
    asked: float
    size: int = 2
    floor: float | None = None
    block: int = 1000
    accept: Sequence[str] = ()

    def __post_init__(self) -> None:
        refuse_bad_budget(self.asked)
        if self.block < 1:
            raise DeniableError(f"blocks of {self.block} clients; give at least 1")
        risks = schema_risks(self.schema, "no data", self.accept)
        refuse_unaccepted(risks, self.accept, self.schema)
        self.design  # noqa: B018 - refuses what is out of range

    @property
    def _least(self) -> float:
        return 1.0 if self.floor is None else self.floor * (1 - ROUNDING)

    @cached_property
    def design(self) -> CollectionDesign:
        """Its views, and for each the largest probability of true answers within epsilon."""
        domain, tables = self.schema.domain(), {}
        views = make_views(domain.names, self.size)
        for view in views:
            sizes = [domain.project(each).size for each in view]
            # Tables of one cell tell nothing, whatever p is.
            keep = keep_for_view(sizes, self.asked, self._least) if max(sizes) > 1 else 0.5
            for names, cells in zip(view, sizes, strict=True):
                epsilon = floor_epsilon(cells, keep, self._least)
                tables[names] = AskedTable(names, cells, keep, epsilon)
        return CollectionDesign(domain, views, tables)

    @cached_property
    def epsilon(self) -> float:
        """Epsilon of `unit`, rounded up: exact for uniform tables, else what a floor guarantees."""
        tables = self.design.tables
        return max(
            guaranteed_epsilon(
                [tables[names].cells for names in view], tables[view[0]].keep, self._least
            )
            for view in self.design.questions
        )

    @property
    def unit(self) -> str:
        """What `epsilon` is of."""
        return "the whole record of one client, by all its answers"

    @property
    def not_covered(self) -> tuple[str, ...]:
        """What no epsilon counts, in sentences."""
        return tuple(schema_risks(self.schema, "no data", self.accept).values())

    @property
    def passed(self) -> tuple[str, ...]:
        """Names of columns that go out as they are: none, for no records do."""
        return ()

    def randomize(self, records: RecordsFile, draws: KeyedDraws) -> pd.DataFrame:
        """Return the answers of all clients, as `deniable.release.collection` collects them.

        Parameters
        ----------
        records : RecordsFile
            Of the schema.
        draws : KeyedDraws

        Raises
        ------
        DeniableError
            If the records are not as the schema says, or fewer than the views.
        """
        domain = self.schema.domain()
        read = [portion.codes for portion in records.portions()]
        columns = tuple(np.concatenate([codes[name] for codes in read]) for name in domain.names)
        data = Microdata(domain, columns)
        rule = rule_of(self.floor)
        return collect_answers(self.design, data, draws, block=self.block, rule=rule)[0]
