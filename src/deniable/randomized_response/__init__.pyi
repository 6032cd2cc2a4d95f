from .adjustment import (
    TOLERANCE as TOLERANCE,
    Adjustment as Adjustment,
    adjust as adjust,
    weighted_pairs as weighted_pairs,
)
from .assessment import (
    AssessmentProtocol as AssessmentProtocol,
    PairReports as PairReports,
    SecureSum as SecureSum,
    assessment_protocol as assessment_protocol,
    epsilons as epsilons,
)
from .audit import (
    ASSESSMENTS as ASSESSMENTS,
    ATTRIBUTE_IN_CLUSTER as ATTRIBUTE_IN_CLUSTER,
    WAIVED as WAIVED,
    audit_assessments as audit_assessments,
    audit_cluster as audit_cluster,
    audit_multirr as audit_multirr,
    clusters_table as clusters_table,
    risk_table as risk_table,
)
from .dependence import (
    Measure as Measure,
    Pair as Pair,
    absolute_correlation as absolute_correlation,
    cluster_attributes as cluster_attributes,
    cramers_v as cramers_v,
    dependence_of_tables as dependence_of_tables,
    dependences as dependences,
    dependences_from_tables as dependences_from_tables,
    pair_measures as pair_measures,
)
from .protocols import (
    MIN_RECORDS_PER_CELL as MIN_RECORDS_PER_CELL,
    READINGS as READINGS,
    Assessment as Assessment,
    Clustering as Clustering,
    ClusterMechanism as ClusterMechanism,
    PairEstimator as PairEstimator,
    Projection as Projection,
    Protocol as Protocol,
    Reading as Reading,
    as_reports as as_reports,
    claimed_epsilon as claimed_epsilon,
    cluster_channel as cluster_channel,
    composed_epsilon as composed_epsilon,
    refuse_too_large as refuse_too_large,
    rr_channel as rr_channel,
    rr_clusters as rr_clusters,
    rr_independent as rr_independent,
    rr_joint as rr_joint,
)
from .secure_sums import (
    NOTHING as NOTHING,
    BivariateDistribution as BivariateDistribution,
    FaultyParties as FaultyParties,
    Network as Network,
    Party as Party,
    SecureSumError as SecureSumError,
    bivariate_distribution as bivariate_distribution,
    disagreeing_margins as disagreeing_margins,
    secure_sum as secure_sum,
)
from .spending import (
    p_of_epsilon as p_of_epsilon,
    protocol_from_epsilon as protocol_from_epsilon,
)
from .sum_messages import (
    SumMessage as SumMessage,
    add_messages as add_messages,
    empty_sum as empty_sum,
    share_counts as share_counts,
    summed_tables as summed_tables,
)
from .waiver import waiver_table as waiver_table
