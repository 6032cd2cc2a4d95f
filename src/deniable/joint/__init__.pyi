from .distribution import JointDistribution as JointDistribution
from .estimating import (
    JointEstimate as JointEstimate,
    estimate_joint as estimate_joint,
)
