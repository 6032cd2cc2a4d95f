from .digests import (
    Fingerprint as Fingerprint,
    Sketch as Sketch,
    digest_of_file as digest_of_file,
)
from .entries import (
    Entry as Entry,
    RecordDigests as RecordDigests,
    RowOrder as RowOrder,
    canonical as canonical,
    counted_epsilon as counted_epsilon,
    epsilon_text as epsilon_text,
    overlaps as overlaps,
    utc_now as utc_now,
)
from .ledger import (
    LEDGER_VARIABLE as LEDGER_VARIABLE,
    Ledger as Ledger,
    composed_epsilon as composed_epsilon,
    named_ledger as named_ledger,
    shuffled_total as shuffled_total,
)
