from .contents import (
    PRODUCTION_NOTICE as PRODUCTION_NOTICE,
    SEED_NOTICE as SEED_NOTICE,
    TEST_NOTICE as TEST_NOTICE,
    write_documents as write_documents,
)
from .counted import (
    ENTRY_FILE as ENTRY_FILE,
    faults_of_entries as faults_of_entries,
)
from .counting import (
    LEDGER_VARIABLE as LEDGER_VARIABLE,
    Entry as Entry,
    Ledger as Ledger,
    RecordDigests as RecordDigests,
    canonical as canonical,
    composed_epsilon as composed_epsilon,
    counted_epsilon as counted_epsilon,
    epsilon_text as epsilon_text,
    named_ledger as named_ledger,
)
from .keys import (
    PRIVATE as PRIVATE,
    PUBLIC as PUBLIC,
    TEST as TEST,
    key_from_seed as key_from_seed,
)
from .making import (
    protect as protect,
    protect_test as protect_test,
)
from .process import (
    NOT_SHOWN as NOT_SHOWN,
    approve_plan as approve_plan,
    verify_release as verify_release,
    withdraw_release as withdraw_release,
)
from .receipts import (
    RECEIPT as RECEIPT,
    fault_of_records as fault_of_records,
    faults_of_files as faults_of_files,
    faults_of_receipt as faults_of_receipt,
    refuse_other_files as refuse_other_files,
    refuse_other_settings as refuse_other_settings,
    refuse_production as refuse_production,
    refuse_test as refuse_test,
    withdrawal_of as withdrawal_of,
)
from .records import OriginalRecords as OriginalRecords, records_writer as records_writer
from .risk import (
    RISK_OF_RECORDS as RISK_OF_RECORDS,
    Risk as Risk,
)
from .settings import (
    NETWORK_FILES as NETWORK_FILES,
    DataSource as DataSource,
    ItemSets as ItemSets,
    ReleaseSettings as ReleaseSettings,
)
from .shuffled import (
    fold_text as fold_text,
    folders_alone as folders_alone,
    shuffled_file as shuffled_file,
)
