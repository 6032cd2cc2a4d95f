from .columns import ColumnsSettings as ColumnsSettings
from .shared import (
    ChannelOptions as ChannelOptions,
    PlanInputs as PlanInputs,
    PlanOptions as PlanOptions,
    RecordOptions as RecordOptions,
    only_option as only_option,
)
from .strata import StrataSettings as StrataSettings
