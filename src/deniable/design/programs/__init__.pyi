from .branch_and_bound import Concave as Concave
from .interior_point import Interior as Interior, descend as descend
from .linear import LinearPrograms as LinearPrograms, interior as interior, minimise as minimise
from .losses import (
    Estimator as Estimator,
    InverseVariance as InverseVariance,
    Loss as Loss,
    LossName as LossName,
    ReportsVariance as ReportsVariance,
    inverse as inverse,
    loss_of as loss_of,
)
from .polytope import (
    Group as Group,
    Kind as Kind,
    Polytope as Polytope,
    padded as padded,
    polytope as polytope,
)
from .relaxation import Relaxation as Relaxation, relax as relax
from .requirements import (
    LARGEST_EPSILON as LARGEST_EPSILON,
    Cost as Cost,
    Requirements as Requirements,
)
