from .central_path import (
    CentralPath as CentralPath,
    relax as relax,
)
from .concave import Concave as Concave
from .interior_point import Descent as Descent, Interior as Interior, interior as interior
from .linear import Constraints as Constraints
from .losses import (
    EstimatorName as EstimatorName,
    InverseVariance as InverseVariance,
    Loss as Loss,
    LossName as LossName,
    ReportsVariance as ReportsVariance,
    inverse as inverse,
    inverse_of_information as inverse_of_information,
    loss_of as loss_of,
)
from .relaxation import (
    MAX_ENUMERATED as MAX_ENUMERATED,
    Program as Program,
    certified as certified,
    information as information,
    weighted_hessian as weighted_hessian,
)
from .requirements import (
    Bounded as Bounded,
    Cost as Cost,
    Group as Group,
    Kind as Kind,
    Polytope as Polytope,
    Requirements as Requirements,
    padded as padded,
    polytope as polytope,
)
