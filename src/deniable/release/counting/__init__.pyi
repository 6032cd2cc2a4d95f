from .digests import (
    Fingerprint as Fingerprint,
    Sketch as Sketch,
    digest_of_file as digest_of_file,
)
from .entries import (
    Entry as Entry,
    RecordDigests as RecordDigests,
    canonical as canonical,
    composed_epsilon as composed_epsilon,
    counted_epsilon as counted_epsilon,
    epsilon_text as epsilon_text,
)
from .ledger import (
    LEDGER_VARIABLE as LEDGER_VARIABLE,
    Ledger as Ledger,
    named_ledger as named_ledger,
)
