from .bootstrap import (
    model_limits as model_limits,
    p_value_of_fit as p_value_of_fit,
    repeated as repeated,
)
from .classes import LatentClasses as LatentClasses
from .distribution import (
    JointDistribution as JointDistribution,
    drawn_cells as drawn_cells,
)
from .estimating import (
    JointEstimate as JointEstimate,
    estimate_joint as estimate_joint,
)
from .evidence import Evidence as Evidence
