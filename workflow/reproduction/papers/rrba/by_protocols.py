"""Tables estimated by the protocols that need no curator, to compare with RRBA."""

from collections.abc import Iterator, Mapping

import numpy as np

from deniable.arrays import Counts, Floats
from deniable.channels import HadamardResponse, ProjectiveGeometry, UnaryEncoding

COUNTED: Mapping[str, type[ProjectiveGeometry] | type[HadamardResponse]] = {
    "projective_geometry": ProjectiveGeometry,
    "hadamard": HadamardResponse,
}
"""Those whose reports are few enough to be counted one by one."""


def by_protocols(
    true: Counts, epsilon: float, generator: np.random.Generator
) -> Iterator[tuple[str, Floats]]:
    """Yield what protocols of `epsilon` estimate from reports of `true` tables, axes run, cell.

    By their own inverses, unbiased whatever the tables. The bits of unary encoding are reported
    independently of each other, and alike whatever the number of cells: numbers of ones are drawn,
    as all else from the `generator`.
    """
    records, m = int(true[0].sum()), true.shape[1]
    for name, protocol in COUNTED.items():
        channel = protocol.of_epsilon(m, epsilon)
        reports = channel.randomize_counts(true, generator)
        yield name, channel.estimate(reports, inverse="own")
    bit = UnaryEncoding.of_epsilon(2, epsilon)
    ones = generator.binomial(true, bit.own) + generator.binomial(records - true, bit.others)
    yield "unary_encoding", (ones / records - bit.others) / (bit.own - bit.others)
