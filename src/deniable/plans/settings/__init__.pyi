from .columns import ColumnsSettings as ColumnsSettings
from .matrices import (
    DesignedMatrix as DesignedMatrix,
    EpsilonMatrix as EpsilonMatrix,
    FileMatrix as FileMatrix,
    PramMatrix as PramMatrix,
    RetentionMatrix as RetentionMatrix,
    TwoStepMatrix as TwoStepMatrix,
)
from .shared import (
    PlanInputs as PlanInputs,
    PlanOptions as PlanOptions,
    RecordOptions as RecordOptions,
    only_option as only_option,
)
from .strata import StrataSettings as StrataSettings
