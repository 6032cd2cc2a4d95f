from .catalog import PAPER as PAPER
from .settings import (
    AdjustedQueryStudy as AdjustedQueryStudy,
    AssessmentStudy as AssessmentStudy,
    ClusterQueryStudy as ClusterQueryStudy,
    EpsilonQueryStudy as EpsilonQueryStudy,
    ExploredQueryStudy as ExploredQueryStudy,
    PairQueryStudy as PairQueryStudy,
    SecureSumTrials as SecureSumTrials,
    ThresholdStudy as ThresholdStudy,
    WiderQueryStudy as WiderQueryStudy,
)
