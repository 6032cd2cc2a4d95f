from .hadamard import HadamardResponse as HadamardResponse
from .projective_geometry import (
    ProjectiveGeometry as ProjectiveGeometry,
    primes_up_to as primes_up_to,
)
from .pure import (
    TwoLevelChannel as TwoLevelChannel,
    probability_of_epsilon as probability_of_epsilon,
)
from .subset_selection import SubsetSelection as SubsetSelection
