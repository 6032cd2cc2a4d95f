"""Transactions of a table of 0 and 1, with one row per record."""

from collections.abc import Sequence

import numpy as np

from deniable.channels import ProductChannel
from deniable.pram import Transactions


def transactions_of(
    channel: ProductChannel, table: np.ndarray, names: Sequence[str] | None = None
) -> Transactions:
    return Transactions(channel, table.T, names or [str(item) for item in range(table.shape[1])])
