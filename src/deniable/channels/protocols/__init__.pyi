from .choosing import (
    ProtocolCandidate as ProtocolCandidate,
    best_protocol as best_protocol,
    protocol_candidates as protocol_candidates,
)
from .hadamard import HadamardResponse as HadamardResponse
from .local_hashing import LocalHashing as LocalHashing
from .projective_geometry import ProjectiveGeometry as ProjectiveGeometry
from .pure import (
    PureProtocol as PureProtocol,
    TwoLevelChannel as TwoLevelChannel,
    probability_of_epsilon as probability_of_epsilon,
)
from .subset_selection import SubsetSelection as SubsetSelection
from .unary_encoding import UnaryEncoding as UnaryEncoding
