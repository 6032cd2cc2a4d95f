from .attack import (
    Accuracy as Accuracy,
    NoisyCentroids as NoisyCentroids,
    largest_accuracy as largest_accuracy,
    likelihood_attack as likelihood_attack,
    partition_attack as partition_attack,
)
from .certificate import certificate as certificate
from .losses import Method as Method
from .partition import memberships as memberships
from .protection import (
    certain_values as certain_values,
    linked_share as linked_share,
    told_beyond_means as told_beyond_means,
)
from .report import (
    ALL as ALL,
    ANEW as ANEW,
    AS_IT_RUNS as AS_IT_RUNS,
    CLAIM_TOLERANCE as CLAIM_TOLERANCE,
    FIXED as FIXED,
    FROZEN as FROZEN,
    METHODS as METHODS,
    AuditedFile as AuditedFile,
    ClusteredFile as ClusteredFile,
    Page as Page,
    as_table as as_table,
    audit_file as audit_file,
    holds as holds,
)
