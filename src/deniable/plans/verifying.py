"""What a plan states of its privacy, held against its channels, from the plan alone."""

from fractions import Fraction
from pathlib import Path
from typing import Any

import pandas as pd

from deniable.channels import log_rounded_up, product_of_ratios
from deniable.errors import DataError
from deniable.privacy import cells_by_others, largest_ratio, whole_weights
from deniable.randomized_response import Protocol
from deniable.texts import read_given_json

LARGEST_BY_ENTRY = 2**16
"""Entries of a matrix up to which each is looked at: some seconds of fractions."""
EVERY_ENTRY, CLOSED_FORM = "every entry", "the kind's two probabilities"
RECORD, ASKED = "the whole record", "the whole record, as asked for"


def verify_plan(path: Path | str) -> pd.DataFrame:
    """Compute the exact epsilons of a plan anew, in fractions, and hold what it states to them.

    The ratio of two probabilities of one report is taken over all entries of a channel's columns,
    not by the channel's own epsilon; of a matrix of over 65,536 entries by its kind's closed form.
    Independent reports compose exactly: ratios are multiplied, and the logarithm rounded up once.

    Parameters
    ----------
    path : Path or str
        Of what `write_plan` wrote.

    Returns
    -------
    DataFrame
        ``of``: each block, a change of each column, the whole record, and what was asked for;
        ``stated``, ``exact``: epsilons; ``by``: what the exact one is computed from; ``holds``:
        whether it is not above the one stated.

    Raises
    ------
    DataError
        If the file is no plan, or lacks what it should state.
    """
    values = read_given_json(path)
    try:
        protocol = Protocol.from_json(values["protocol"])
        return _table(protocol, values["blocks"], values["epsilon"])
    except (KeyError, TypeError, ValueError, AttributeError) as error:
        raise DataError(f"{path}: damaged or edited ({error}); make it again") from None


def _table(protocol: Protocol, blocks: Any, epsilon: Any) -> pd.DataFrame:
    rows: list[tuple[str, float, Fraction | None, str]] = []
    changes: list[tuple[str, float, Fraction | None, str]] = []
    for cluster, channel, block in zip(protocol.clusters, protocol.channels, blocks, strict=True):
        if tuple(block["attributes"]) != cluster:
            raise ValueError(f"a block of {block['attributes']!r} where {cluster!r} is randomized")
        by_entry = channel.size * channel.reports <= LARGEST_BY_ENTRY
        way = EVERY_ENTRY if by_entry else CLOSED_FORM
        weights = whole_weights(channel) if by_entry else None
        parity = channel.exact_parity if weights is None else largest_ratio(weights)
        rows.append((" x ".join(cluster), float(block["epsilon"]), parity, way))
        shape = protocol.domain.project(cluster).shape
        for position, name in enumerate(cluster):
            if weights is None:
                own = channel.parity_of_attribute(shape, position)
            else:
                own = largest_ratio(weights, cells_by_others(shape, position))
            stated = float(epsilon["by_changed_attribute"][name])
            changes.append((f"a change of {name}", stated, own, way))
    ratios, ways = [row[2] for row in rows], dict.fromkeys(row[3] for row in rows)
    record, way = product_of_ratios(ratios), " and ".join(ways)
    rows += [
        *changes,
        (RECORD, float(epsilon["record"]), record, way),
        (ASKED, float(epsilon["asked"]), record, way),
    ]
    found = pd.DataFrame(
        [(of, stated, log_rounded_up(ratio), by) for of, stated, ratio, by in rows],
        columns=["of", "stated", "exact", "by"],
    )
    return found.assign(holds=found["exact"] <= found["stated"])
