from .columns import (
    ColumnsSettings as ColumnsSettings,
    QuestionnaireSettings as QuestionnaireSettings,
    StrataSettings as StrataSettings,
)
from .kinds import (
    KEPT_BACK as KEPT_BACK,
    KINDS as KINDS,
    plan_class as plan_class,
    settings_class as settings_class,
    settings_from as settings_from,
)
from .pram import through_matrices as through_matrices
from .shared import (
    ChannelOptions as ChannelOptions,
    PlanInputs as PlanInputs,
    PlanOptions as PlanOptions,
    RecordOptions as RecordOptions,
    only_option as only_option,
)
