from .drawing import randomize as randomize
from .keys import key_from_seed as key_from_seed
from .making import (
    DataSource as DataSource,
    protect as protect,
    protect_test as protect_test,
)
from .receipts import (
    ENTRY_FILE as ENTRY_FILE,
    faults_of_files as faults_of_files,
    refuse_other_settings as refuse_other_settings,
    refuse_production as refuse_production,
)
from .records import OriginalRecords as OriginalRecords
from .risk import (
    RISK_OF_RECORDS as RISK_OF_RECORDS,
    Risk as Risk,
)
from .settings import ReleaseSettings as ReleaseSettings
from .writing import records_writer as records_writer
