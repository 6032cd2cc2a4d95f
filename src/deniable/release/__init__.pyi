from .contents import refuse_other_files as refuse_other_files
from .entries import (
    Entry as Entry,
    canonical as canonical,
    epsilon_text as epsilon_text,
)
from .key_places import KeyPlace as KeyPlace
from .keys import (
    ReleaseKey as ReleaseKey,
    key_for as key_for,
    key_of_seed as key_of_seed,
)
from .lanes import (
    LANES as LANES,
    PRIVATE as PRIVATE,
    PUBLIC as PUBLIC,
    Lane as Lane,
    Step as Step,
)
from .ledger import Ledger as Ledger
from .made import (
    CONVENTION as CONVENTION,
    FOR_ALL as FOR_ALL,
    NOTHING as NOTHING,
    PRODUCTION_MARK as PRODUCTION_MARK,
    REHEARSAL_MARK as REHEARSAL_MARK,
    described as described,
    epsilon_of as epsilon_of,
    exact_cells as exact_cells,
    in_order as in_order,
    in_true_order as in_true_order,
    marked as marked,
    marked_as as marked_as,
    marks_for as marks_for,
    notes as notes,
    public_source as public_source,
    read_made as read_made,
    spreadsheets as spreadsheets,
    texts_of as texts_of,
    write_made as write_made,
)
from .making import (
    Source as Source,
    make_release as make_release,
    rehearse as rehearse,
)
from .once import (
    ENTRY_FILE as ENTRY_FILE,
    RISK_OF_RECORDS as RISK_OF_RECORDS,
    DataSource as DataSource,
    OriginalRecords as OriginalRecords,
    ReleaseSettings as ReleaseSettings,
    Risk as Risk,
    faults_of_files as faults_of_files,
    key_from_seed as key_from_seed,
    protect as protect,
    protect_test as protect_test,
    records_writer as records_writer,
    refuse_other_settings as refuse_other_settings,
    refuse_production as refuse_production,
)
from .overlap import (
    InPortions as InPortions,
    Overlap as Overlap,
    RecordDigests as RecordDigests,
    record_digests as record_digests,
)
from .receipts import (
    RECEIPT as RECEIPT,
    faults_of_receipt as faults_of_receipt,
    refuse_real as refuse_real,
)
from .released import (
    audited_releases as audited_releases,
    folders_of as folders_of,
    shown_of as shown_of,
)
from .reserving import refuse_uncounted as refuse_uncounted
from .settings import (
    NETWORK_FILES as NETWORK_FILES,
    AnyRelease as AnyRelease,
    AskedRelease as AskedRelease,
    AssessedDependences as AssessedDependences,
    CategoricalRelease as CategoricalRelease,
    ChannelKind as ChannelKind,
    ClustersRelease as ClustersRelease,
    CollectionRelease as CollectionRelease,
    HistogramRelease as HistogramRelease,
    IdpRelease as IdpRelease,
    IndependentRelease as IndependentRelease,
    JointRelease as JointRelease,
    NumericRelease as NumericRelease,
    PlannedRelease as PlannedRelease,
    PramRelease as PramRelease,
    RandomizedResponseRelease as RandomizedResponseRelease,
    Release as Release,
    release_from as release_from,
)
