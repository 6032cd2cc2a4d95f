from .attack import (
    Accuracy as Accuracy,
    NoisyCentroids as NoisyCentroids,
    certain_values as certain_values,
    certificate as certificate,
    likelihood_attack as likelihood_attack,
    partition_attack as partition_attack,
    privacy_loss_at_equal_centroids as privacy_loss_at_equal_centroids,
)
from .comparison import (
    Linkage as Linkage,
    compare_estimates as compare_estimates,
    link_records as link_records,
    measure_utility as measure_utility,
)
from .promises import (
    CENTROID as CENTROID,
    CENTROIDS as CENTROIDS,
    RECORD as RECORD,
    PromiseVerdict as PromiseVerdict,
    definition as definition,
    proved_epsilon as proved_epsilon,
    recorded_epsilons as recorded_epsilons,
    verdicts as verdicts,
)
from .report import (
    ALL as ALL,
    CLAIM_TOLERANCE as CLAIM_TOLERANCE,
    FIXED as FIXED,
    FIXED_SCALE as FIXED_SCALE,
    OF_FIXED_CLUSTERS as OF_FIXED_CLUSTERS,
    RECLUSTERED as RECLUSTERED,
    RECOMPUTED_SCALE as RECOMPUTED_SCALE,
    VARIANTS as VARIANTS,
    AuditedFile as AuditedFile,
    ClusteredFile as ClusteredFile,
    MethodAudit as MethodAudit,
    as_table as as_table,
    audit_file as audit_file,
)
