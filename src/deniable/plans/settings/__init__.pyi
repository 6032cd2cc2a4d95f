from .columns import (
    ColumnsSettings as ColumnsSettings,
    QuestionnaireSettings as QuestionnaireSettings,
    StrataSettings as StrataSettings,
)
from .pram import through_matrices as through_matrices
from .shared import (
    ChannelOptions as ChannelOptions,
    PlanInputs as PlanInputs,
    PlanOptions as PlanOptions,
    RecordOptions as RecordOptions,
    only_option as only_option,
)
