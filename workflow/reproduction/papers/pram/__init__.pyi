from .catalog import PAPER as PAPER
from .settings import (
    CoverageStudy as CoverageStudy,
    InvariantStudy as InvariantStudy,
    ItemSetStudy as ItemSetStudy,
    JointLossStudy as JointLossStudy,
    PramEpsilons as PramEpsilons,
    WeightsStudy as WeightsStudy,
)
