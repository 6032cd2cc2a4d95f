from .columns import ColumnsSettings as ColumnsSettings
from .finding_clusters import ClustersSettings as ClustersSettings
from .matrices import (
    DesignedMatrix as DesignedMatrix,
    EpsilonMatrix as EpsilonMatrix,
    FileMatrix as FileMatrix,
    PramMatrix as PramMatrix,
    RetentionMatrix as RetentionMatrix,
    TwoStepMatrix as TwoStepMatrix,
)
from .registry import (
    PlanSettings as PlanSettings,
    plan_from_settings as plan_from_settings,
    settings_from as settings_from,
)
from .shared import (
    PartSettings as PartSettings,
    PlanOptions as PlanOptions,
)
from .strata import StrataSettings as StrataSettings
