from .amounts import (
    best_amounts as best_amounts,
    column_to_drop as column_to_drop,
    eliminated as eliminated,
    epsilon_alone as epsilon_alone,
    is_channel as is_channel,
    is_improvement as is_improvement,
    optimum as optimum,
)
from .central_path import Relaxation as Relaxation, relax as relax
from .certificate import certified as certified, improving_columns as improving_columns
from .concave import Concave as Concave
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
from .relaxation import MAX_ENUMERATED as MAX_ENUMERATED, Program as Program
from .requirements import (
    Cost as Cost,
    Group as Group,
    Kind as Kind,
    Polytope as Polytope,
    Requirements as Requirements,
    padded as padded,
    polytope as polytope,
)
