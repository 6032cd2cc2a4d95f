"""Item sets and association rules of baskets, and of columns of two categories."""

from collections.abc import Iterator, Sequence
from typing import Any

import numpy as np
import pandas as pd

from deniable.analysis.base import ReleaseSource
from deniable.analysis.many_tables import listed
from deniable.arrays import Codes
from deniable.channels import Channel, ProductChannel, Target
from deniable.errors import DeniableError, shown
from deniable.pram import Transactions, frequent_item_sets, item_set_supports, rule_confidences
from deniable.responses import Responses

AT_ONCE = 32  # columns that are read at a time, before they become bits
MAX_BITS = 1 << 31  # values of all items and records in memory, of one bit each: 256 MB
Rules = Sequence[tuple[Sequence[str], Sequence[str]]]


class ItemSetEstimates(ReleaseSource):
    """Estimates of item sets by the functions of `deniable.pram` ([pram], 4).

    Items are columns of two categories, each with a channel of its own. The second category is
    "present". Raises `DeniableError` if a column is not an item, or items have over 2^31 values.
    """

    def item_sets(
        self, minimum_support: float, *, target: Target = "population", **options: Any
    ) -> pd.DataFrame:
        """Search for frequent item sets.

        `minimum_support`, `target` and `**options` are as in `deniable.pram.frequent_item_sets`.
        ``attrs["left_out"]`` has the reason for each column that is not an item.
        """
        channels, left_out = self._items()
        known = self._transactions(tuple(channels))
        found = frequent_item_sets(known, minimum_support, target=target, **options)
        found.attrs["left_out"] = left_out
        return found

    def supports(self, item_sets: Sequence[Sequence[str]], **options: Any) -> pd.DataFrame:
        """Estimate supports of `item_sets`; for `**options` see `pram.item_set_supports`."""
        if isinstance(item_sets, str) or any(isinstance(names, str) for names in item_sets):
            raise DeniableError(f"{shown(item_sets)}: give lists of items, as [['a', 'b'], ['c']]")
        known = self._transactions([name for names in item_sets for name in names])
        return item_set_supports(known, item_sets, **options)

    def rules(self, rules: Rules, **options: Any) -> pd.DataFrame:
        """Estimate association `rules`; for `**options` see `pram.rule_confidences`."""
        for rule in rules:
            if isinstance(rule, str) or len(rule) != 2 or any(isinstance(s, str) for s in rule):
                raise DeniableError(f"{shown(rule)}: give two lists of items, as (['a'], ['b'])")
        known = self._transactions([name for rule in rules for side in rule for name in side])
        return rule_confidences(known, rules, **options)

    def _items(self) -> tuple[dict[str, Channel], dict[str, str]]:
        """Return the channel of each item, and the columns that are not items, with reasons."""
        channels, left_out = dict[str, Channel](), dict[str, str]()
        for table in self.responses.clusters():
            (side,) = table.sides
            own = side.channel.simple_factors
            single = side.cells.names == side.reports.names and len(own) == len(table.cells)
            for place, attribute in enumerate(side.cells):
                if attribute.size != 2:
                    left_out[attribute.name] = f"it has {attribute.size} categories, not two"
                elif not single or own[place].reports != 2:
                    left_out[attribute.name] = "it has no channel of its own over two categories"
                else:
                    channels[attribute.name] = own[place]
        return channels, left_out

    def _transactions(self, names: Sequence[str]) -> Transactions:
        names, (channels, left_out) = list(dict.fromkeys(names)), self._items()
        if not names:
            why = "no item is named" if channels else "the release has no items"
            raise DeniableError(why + (f": {listed(left_out)}" if left_out else ""))
        for name in names:
            if name not in channels:
                reason = left_out.get(name, "there is no such column")
                raise DeniableError(f"{name!r} is not an item: {reason}; name other columns")
        if (bits := len(names) * self.responses.records) > MAX_BITS:
            raise DeniableError(
                f"{len(names)} items of {self.responses.records:,} records are {bits:,} bits, "
                f"over {MAX_BITS:,}; estimate supports of fewer items"
            )
        channel = ProductChannel(tuple(channels[name] for name in names))
        return Transactions(channel, _columns(self.responses, names), names)


def _columns(responses: Responses, names: Sequence[str]) -> Iterator[Codes]:
    for start in range(0, len(names), AT_ONCE):
        some = names[start : start + AT_ONCE]
        batches = [batch.codes for batch in responses.batches(some)]
        for name in some:
            yield np.concatenate([codes.pop(name) for codes in batches])
