"""Tables estimated by the protocols that need no curator, to compare with RRBA."""

from collections.abc import Iterator, Mapping

import numpy as np

from deniable.arrays import Counts, Floats
from deniable.channels import HadamardResponse, ProjectiveGeometry, UnaryEncoding

COUNTED: Mapping[str, type[ProjectiveGeometry] | type[HadamardResponse]] = {
    "projective_geometry": ProjectiveGeometry,
    "hadamard": HadamardResponse,
}
"""The protocols with so few responses that they are counted one by one."""


def by_protocols(
    true: Counts, epsilon: float, generator: np.random.Generator
) -> Iterator[tuple[str, Floats]]:
    """Yield estimates of protocols of `epsilon` from responses of `true` tables, axes run, cell.

    Their own inverses are unbiased for all tables. The bits of unary encoding are independent, so
    only the numbers of ones are drawn.
    """
    records, m = int(true[0].sum()), true.shape[1]
    for name, protocol in COUNTED.items():
        channel = protocol.of_epsilon(m, epsilon)
        reports = channel.randomize_counts(true, generator)
        yield name, channel.estimate(reports, inverse="own")
    bit = UnaryEncoding.of_epsilon(2, epsilon)
    ones = generator.binomial(true, bit.own) + generator.binomial(records - true, bit.others)
    yield "unary_encoding", (ones / records - bit.others) / (bit.own - bit.others)
