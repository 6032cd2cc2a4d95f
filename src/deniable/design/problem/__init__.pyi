from .losses import (
    Estimator as Estimator,
    Expansion as Expansion,
    InverseVariance as InverseVariance,
    Loss as Loss,
    LossName as LossName,
    ReportsVariance as ReportsVariance,
    excesses as excesses,
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
from .requirements import (
    LARGEST_EPSILON as LARGEST_EPSILON,
    Cost as Cost,
    Requirements as Requirements,
)
