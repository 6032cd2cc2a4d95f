from .drawing import randomize as randomize
from .keys import key_from_seed as key_from_seed
from .making import (
    protect as protect,
    protect_test as protect_test,
)
from .records import OriginalRecords as OriginalRecords
from .risk import (
    RISK_OF_RECORDS as RISK_OF_RECORDS,
    Risk as Risk,
)
from .settings import ReleaseSettings as ReleaseSettings
from .writing import records_writer as records_writer
