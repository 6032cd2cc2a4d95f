"""Tables of two columns that are pulled towards independence."""

from typing import cast

import numpy as np

from deniable.analysis.estimator import Estimator
from deniable.arrays import Floats
from deniable.channels import Channel, Inverse, ProductChannel
from deniable.estimation import euclidean_projection
from deniable.randomized_response import shrunk_joint
from deniable.records import Domain
from deniable.responses import Counted, Table, cells_of


def shrunk(table: Table, known: Estimator, inverse: Inverse, stratum: str = "") -> Floats:
    """Return the distribution of a `table` of two columns that is pulled towards independence.

    The unbiased estimate moves towards the product of its marginal distributions, by the estimated
    proportion of noise in the distance between both. Then it is projected onto the distributions.
    Strata are shrunk one by one, and weighted by their proportions. The estimator `known` counts
    the records, of all strata or of the one named `stratum`. The `inverse` is "least" or "own". The
    result has the shape (cells of the table,), and is NaN if a matrix is singular.
    """
    counted, blocks = known.counted(table), table.blocks or tuple(s.cells for s in table.sides)
    strata = [each for each in table.strata or (table.all_records,) if stratum in ("", each.name)]
    parts = [(each, counted.part(each.at)) for each in strata]
    mixed, total = np.zeros(table.domain.size), sum(own.counts.sum() for _, own in parts)
    for each, own in parts:
        if each.channel.singular:
            return np.full(table.domain.size, np.nan)
        if own.records:
            fitted = each.channel.fitted_to(own.counts, inverse)
            if len(blocks) == 2:
                joint, noise = _of_two_blocks(table.domain, blocks, fitted, own)
            else:
                functionals = table.functionals[:, each.at]
                joint, noise = _of_one_block(table.domain, functionals, fitted, own)
            pulled = shrunk_joint(joint, noise)[0]
            mixed += own.counts.sum() / total * euclidean_projection(pulled.reshape(-1))
    return mixed


def _of_one_block(
    domain: Domain, functionals: Floats, channel: Channel, counted: Counted
) -> tuple[Floats, float]:
    """Return the unbiased joint proportions, and the variance of their dependence.

    Let t and u be the marginal distributions. To leading order, joint minus product is the mean
    over records of h = s - t v' - w u' + t u': here s, w and v are the scores of a record for the
    pair and for either attribute, with the indicators of the original values as expectations.
    """
    shares, records = counted.proportions, float(counted.counts.sum())
    s = channel.solve(functionals).reshape(*domain.shape, -1)
    joint, w, v = s @ shares, s.sum(axis=1), s.sum(axis=0)
    t, u = joint.sum(axis=1), joint.sum(axis=0)
    h = s - t[:, None, None] * v - u[:, None] * w[:, None] + np.outer(t, u)[..., None]
    return joint, _noise(float((h**2).sum(axis=(0, 1)) @ shares), joint, records)


def _of_two_blocks(
    domain: Domain, blocks: tuple[Domain, ...], channel: Channel, counted: Counted
) -> tuple[Floats, float]:
    """Return the result of `_of_one_block` for blocks that were randomized independently.

    Then h is the product of (score of the first attribute - t) and (score of the second - u).
    """
    factors = cast(ProductChannel, channel).factors
    shares = counted.proportions.reshape([factor.reports for factor in factors])
    if domain.names[0] not in blocks[0].names:
        blocks, factors, shares = blocks[::-1], factors[::-1], shares.T
    scores = [
        factor.solve(np.eye(attribute.size)[:, cells_of(block, block.project([attribute.name]))])
        for attribute, block, factor in zip(domain, blocks, factors, strict=True)
    ]
    joint = scores[0] @ shares @ scores[1].T
    pairs = zip(scores, (joint.sum(axis=1), joint.sum(axis=0)), strict=True)
    one, other = (((own - margin[:, None]) ** 2).sum(axis=0) for own, margin in pairs)
    return joint, _noise(float(one @ shares @ other), joint, float(counted.counts.sum()))


def _noise(spread: float, joint: Floats, records: float) -> float:
    """Return the estimated variance that randomization alone adds, at least 0."""
    margins = joint.sum(axis=1), joint.sum(axis=0)
    one, other = (1 - 2 * margin + np.sum(margin**2) for margin in margins)
    return max(spread - float(one @ joint @ other), 0.0) / records
