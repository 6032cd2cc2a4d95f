from .branch_and_bound import Concave as Concave
from .central_path import Relaxation as Relaxation, relax as relax
from .interior_point import Descent as Descent, Interior as Interior, interior as interior
from .linear import Constraints as Constraints, LinearPrograms as LinearPrograms
from .losses import (
    Estimator as Estimator,
    InverseVariance as InverseVariance,
    Loss as Loss,
    LossName as LossName,
    ReportsVariance as ReportsVariance,
    inverse as inverse,
    loss_of as loss_of,
)
from .requirements import (
    LARGEST_EPSILON as LARGEST_EPSILON,
    Cost as Cost,
    Group as Group,
    Kind as Kind,
    Polytope as Polytope,
    Requirements as Requirements,
    padded as padded,
    polytope as polytope,
)
