from .entries import (
    Entry as Entry,
    epsilon_text as epsilon_text,
)
from .keys import (
    PRIVATE as PRIVATE,
    ReleaseKey as ReleaseKey,
    canonical as canonical,
    key_for as key_for,
    key_of_seed as key_of_seed,
)
from .lanes import (
    LANES as LANES,
    Lane as Lane,
    Step as Step,
    left_by as left_by,
    read_by as read_by,
)
from .ledger import Ledger as Ledger
from .made import (
    CONVENTION as CONVENTION,
    PRODUCTION_MARK as PRODUCTION_MARK,
    REHEARSAL_MARK as REHEARSAL_MARK,
    described as described,
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
from .overlap import (
    Overlap as Overlap,
    RecordDigests as RecordDigests,
    record_digests as record_digests,
)
from .settings import (
    NETWORK_FILES as NETWORK_FILES,
    AnyRelease as AnyRelease,
    AssessedDependences as AssessedDependences,
    CategoricalRelease as CategoricalRelease,
    ClustersRelease as ClustersRelease,
    CollectionRelease as CollectionRelease,
    DesignedMatrix as DesignedMatrix,
    EpsilonMatrix as EpsilonMatrix,
    FileMatrix as FileMatrix,
    HistogramRelease as HistogramRelease,
    IdpRelease as IdpRelease,
    IndependentRelease as IndependentRelease,
    JointRelease as JointRelease,
    NumericRelease as NumericRelease,
    PramRelease as PramRelease,
    RandomizedResponseRelease as RandomizedResponseRelease,
    Release as Release,
    RetentionMatrix as RetentionMatrix,
    TwoStepMatrix as TwoStepMatrix,
    release_from as release_from,
)
