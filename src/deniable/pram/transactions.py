"""Transactions: randomized records of binary items ([pram], section 4)."""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from deniable.arrays import Codes, Counts
from deniable.channels import ProductChannel
from deniable.errors import ChannelError, DataError, SingularChannelError
from deniable.records import Microdata

Item = int | str
"""An item's name, or its number from 0."""
MAX_SET = 20


@dataclass(frozen=True, eq=False)
class Transactions:
    """Randomized records of binary items, and the channel of each item.

    The `channel` has one factor per item, over two categories: 0 absent, 1 present. `columns` are
    the reports of each item, shape (records,); `names` are the names of items. Raises
    `ChannelError` if a channel is not over two categories. Raises `DataError` if columns, channels
    and names differ in number, columns in length, or a value is not 0 or 1.
    """

    channel: ProductChannel
    columns: tuple[Codes, ...]
    names: tuple[str, ...]

    def __post_init__(self) -> None:
        found = len(self.columns), len(self.channel.factors), len(set(self.names))
        if len(set(found)) > 1 or len({column.shape for column in self.columns}) > 1:
            raise DataError(
                f"{found[0]} columns, {found[1]} channels and {found[2]} different names of items; "
                "give one each an item, and columns of one length"
            )
        items = zip(self.names, self.columns, self.channel.factors, strict=True)
        for name, column, factor in items:
            if (factor.size, factor.reports) != (2, 2):
                raise ChannelError(
                    f"item {name!r}: its channel has {factor.size} categories and {factor.reports} "
                    "reports; give one over two, absent and present, that reports these"
                )
            if column.dtype.kind not in "bui" or np.any((column != 0) & (column != 1)):
                raise DataError(
                    f"item {name!r} has values other than 0 (absent) and 1 (present); recode them"
                )
        small = tuple(np.ascontiguousarray(column, dtype=np.uint8) for column in self.columns)
        object.__setattr__(self, "columns", small)

    @classmethod
    def of(
        cls,
        channel: ProductChannel,
        records: npt.ArrayLike | Microdata,
        names: Sequence[str] | None = None,
    ) -> "Transactions":
        """Make transactions from a table of 0 and 1, or from microdata of binary attributes.

        The `records` are reports through the `channel`, which has one factor per item. A table has
        the shape (records, items). The second category of an attribute is "present". The `names` of
        items are by default the ones of the attributes, or "0", "1", ...

        Examples
        --------
        >>> from deniable.channels import KeepOrReplace
        >>> coins = ProductChannel((KeepOrReplace.uniform(2, keep=0.5),) * 3)
        >>> reports = np.array([[1, 1, 0], [1, 0, 0], [1, 1, 1], [0, 1, 1]])
        >>> Transactions.of(coins, reports).patterns((0, 1))
        array([0, 1, 1, 2])
        """
        if isinstance(records, Microdata):
            return cls(channel, records.columns, tuple(names or records.domain.names))
        table = np.asarray(records)
        if table.ndim != 2:
            raise DataError(
                f"records of shape {table.shape}; give one row per record and one column per item"
            )
        default = (str(item) for item in range(table.shape[1]))
        return cls(channel, tuple(table.T), tuple(names or default))

    def __len__(self) -> int:
        return self.columns[0].size

    def positions(self, items: Sequence[Item]) -> tuple[int, ...]:
        """Return the columns of some `items`, given by name or by number from 0.

        Raises `DataError` if an item is unknown or repeated, there are none, or over 20. Raises
        `SingularChannelError` if the reports of an item reveal nothing.
        """
        found = []
        for item in items:
            position = self.names.index(item) if item in self.names else item
            if isinstance(position, str) or not 0 <= position < len(self.names):
                raise DataError(
                    f"there is no item {item!r}; items are {', '.join(self.names[:5])}, ..., or "
                    f"their numbers, 0 to {len(self.names) - 1}"
                )
            if self.channel.factors[position].singular:
                raise SingularChannelError(
                    f"the channel of item {self.names[position]!r} is singular: its reports say "
                    "nothing of it; leave the item out"
                )
            found.append(int(position))
        if not found or len(set(found)) < len(found):
            raise DataError(f"the item set {list(items)} is empty or names an item twice")
        if len(found) > MAX_SET:
            raise DataError(
                f"a set of {len(found)} items has 2^{len(found)} patterns; ask for at most "
                f"{MAX_SET} items (the standard error is hopeless long before)"
            )
        return tuple(found)

    def patterns(self, positions: Sequence[int]) -> Counts:
        """Return the counts of the reported patterns of items at s `positions`, shape (2^s,).

        The last item varies fastest.
        """
        cells = 2 ** len(positions)
        codes = np.zeros(len(self), dtype=np.min_scalar_type(cells - 1))
        for position in positions:
            codes <<= 1
            codes |= self.columns[position]
        return np.bincount(codes, minlength=cells).astype(np.int64)

    def label(self, positions: Sequence[int]) -> str:
        """Return the names of items at `positions`, joined by " & "."""
        return " & ".join(self.names[place] for place in positions)
