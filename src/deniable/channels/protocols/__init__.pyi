from .hadamard import HadamardResponse as HadamardResponse
from .projective_geometry import (
    MAX_TRANSFORM as MAX_TRANSFORM,
    ProjectiveGeometry as ProjectiveGeometry,
    primes_up_to as primes_up_to,
    projective_work as projective_work,
)
from .pure import (
    MAX_TALLY as MAX_TALLY,
    TwoLevelChannel as TwoLevelChannel,
    probability_of_epsilon as probability_of_epsilon,
)
from .subset_selection import MAX_ENUMERATED as MAX_ENUMERATED, SubsetSelection as SubsetSelection
