"""Expected errors of split questionnaires, for the comparison with plans for all columns."""

from collections.abc import Sequence
from itertools import combinations

import numpy as np

from deniable.errors import DeniableError
from deniable.plans.blocks import MAX_CLUSTER, Block, ExpectedTable
from deniable.plans.choosing import BEST
from deniable.plans.questionnaire import choose_in_forms, forms_of
from deniable.records import Domain
from deniable.responses import Side, cells_of
from deniable.schema import Schema


class FormErrors:
    """The expected errors of the best mechanisms in forms of some `blocks` of a `schema`.

    `ask` and `epsilon` are as in `make_questionnaire`, and the blocks are its columns and clusters.
    The forms are in `forms`. Raises `DeniableError` if there are no such forms, or too many.
    """

    def __init__(
        self, schema: Schema, blocks: Sequence[Block], ask: int | str, epsilon: float
    ) -> None:
        found = forms_of(schema, ask, [block.names for block in blocks])
        kind = BEST
        if ask == "pairs":  # keep or replace is the best mechanism of all clusters
            blocks, kind = [_joined(*pair) for pair in combinations(blocks, 2)], "generalized-rr"
        self._blocks, kinds = blocks, [kind] * len(blocks)
        self.forms, _ = choose_in_forms(schema, found, blocks, kinds, epsilon, "even", ())
        self._moments: dict[tuple[tuple[str, ...], tuple[str, ...], int], float] = {}

    def excess(self, names: Sequence[str]) -> float:
        """Return `ExpectedTable.excess` of the table of columns `names`, or NaN without a form.

        It includes the error by the choice of the records with such a form. With w their
        proportion, m and p second moments and proportions, n times a variance is (m - p^2) / w -
        (p - p^2).
        """
        try:
            table, _ = self.forms.table(names)
        except DeniableError:
            return float("nan")
        blocks = [self._block(side) for side in table.sides]
        expected = ExpectedTable.of(blocks, names)
        moments = 1.0
        for number, part in expected.parts:
            channel = table.sides[number].channel
            key = (blocks[number].names, part, id(channel))
            if key not in self._moments:
                self._moments[key] = blocks[number].second_moments(channel, part)
            moments *= self._moments[key]
        added = (moments - expected.squares) / table.asked - (expected.held - expected.squares)
        return max(added, 0.0) / expected.shares

    def _block(self, side: Side) -> Block:
        """Return the columns of a side of a table as a block of their own."""
        whole = next(each for each in self._blocks if {*side.cells.names} <= {*each.names})
        prior = np.bincount(cells_of(whole.part, side.cells), whole.prior, side.cells.size)
        points = {n: p for n, p in whole.points.items() if n in side.cells.names}
        possible = whole.possible if side.cells == whole.part else None
        return Block(side.cells, points, np.asarray(prior, dtype=float), possible=possible)


def _joined(first: Block, second: Block) -> Block:
    """Return a cluster of two blocks, whose columns count as independent."""
    part = Domain((*first.part, *second.part))
    if part.size > MAX_CLUSTER:
        raise DeniableError(f"the cluster of {' x '.join(part.names)} has too many cells")
    points, prior = {**first.points, **second.points}, np.kron(first.prior, second.prior)
    possible = None
    if first.possible is not None or second.possible is not None:
        flags = [
            np.ones(e.part.size) if e.possible is None else e.possible for e in (first, second)
        ]
        possible = np.kron(*flags) == 1
    return Block(part, points, np.asarray(prior), categories_only=True, possible=possible)
