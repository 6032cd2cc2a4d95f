from .protecting import (
    own_records as own_records,
    planned_release as planned_release,
    protect as protect,
)
from .records import OwnRecords as OwnRecords
from .risk import RECORDS as RECORDS
