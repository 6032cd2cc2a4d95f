from .base import (
    MAX_DESIGNED_CELLS as MAX_DESIGNED_CELLS,
    MAX_LINEAR_DESIGN as MAX_LINEAR_DESIGN,
    MAX_MATRIX_ENTRIES as MAX_MATRIX_ENTRIES,
    MAX_NOISE_POINTS as MAX_NOISE_POINTS,
    MAX_POINTS_OR_MISSING as MAX_POINTS_OR_MISSING,
    MAX_RESPONSES as MAX_RESPONSES,
    MAX_SEARCHED_DESIGN as MAX_SEARCHED_DESIGN,
    Channel as Channel,
    Inverse as Inverse,
    Target as Target,
    roots_of_variances as roots_of_variances,
)
from .dense import DenseChannel as DenseChannel
from .descriptions import (
    channel_from_json as channel_from_json,
    channel_to_json as channel_to_json,
    fraction_from_json as fraction_from_json,
    fraction_to_json as fraction_to_json,
)
from .exact import (
    MAX_EPSILON as MAX_EPSILON,
    ROW_SUM_TOLERANCE as ROW_SUM_TOLERANCE,
    Number as Number,
    Prior as Prior,
    as_written as as_written,
    closest_within as closest_within,
    exact_distribution as exact_distribution,
    exact_ratio as exact_ratio,
    log_rounded_up as log_rounded_up,
    product_of_ratios as product_of_ratios,
    proportion as proportion,
    refuse_bad_budget as refuse_bad_budget,
    refuse_epsilon as refuse_epsilon,
    rounded_down as rounded_down,
    rounded_up as rounded_up,
    thresholds as thresholds,
)
from .files import (
    NamedChannel as NamedChannel,
    read_channel as read_channel,
    read_counts as read_counts,
    read_prior as read_prior,
    write_channel as write_channel,
)
from .invariant import (
    INVARIANCE_TOLERANCE as INVARIANCE_TOLERANCE,
    conditional_covariance as conditional_covariance,
    covariance_bound as covariance_bound,
    disclosed_proportions as disclosed_proportions,
    lazy_resampling_with_epsilon as lazy_resampling_with_epsilon,
    resampling as resampling,
    sampling_covariance as sampling_covariance,
    two_step as two_step,
    two_step_with_epsilon as two_step_with_epsilon,
    whole_counts as whole_counts,
)
from .keep_or_replace import KeepOrReplace as KeepOrReplace
from .makers import (
    MAKERS as MAKERS,
    ProtocolCandidate as ProtocolCandidate,
    best_protocol as best_protocol,
    protocol_candidates as protocol_candidates,
)
from .maps import (
    distribution as distribution,
    refuse_no_records as refuse_no_records,
)
from .numeric import (
    SquareWave as SquareWave,
    SquareWaveOrMissing as SquareWaveOrMissing,
    laplace_channel as laplace_channel,
    staircase_channel as staircase_channel,
    window_half_width as window_half_width,
)
from .product import ProductChannel as ProductChannel
from .protocols import (
    HadamardResponse as HadamardResponse,
    ProjectiveGeometry as ProjectiveGeometry,
    SubsetSelection as SubsetSelection,
    TwoLevelChannel as TwoLevelChannel,
)
from .restricted import RestrictedChannel as RestrictedChannel
