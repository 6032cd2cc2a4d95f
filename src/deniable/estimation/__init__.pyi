from .distributions import (
    Distribution as Distribution,
    consistent as consistent,
    grid_estimate as grid_estimate,
    likelihood_is_fast as likelihood_is_fast,
)
from .error_bounds import (
    best_case_relative_error as best_case_relative_error,
    bonferroni_critical_value as bonferroni_critical_value,
    guess_half_width as guess_half_width,
    propagation_factor as propagation_factor,
    records_needed as records_needed,
    smallest_propagation as smallest_propagation,
)
from .intervals import (
    CONFIDENCE as CONFIDENCE,
    Z_95 as Z_95,
    Intervals as Intervals,
    Method as Method,
    Simultaneous as Simultaneous,
    clopper_pearson as clopper_pearson,
    confidence_intervals as confidence_intervals,
    refuse_bad_confidence as refuse_bad_confidence,
)
from .invariant import (
    bounded_proportions as bounded_proportions,
    own_proportions as own_proportions,
)
from .likelihood import (
    TOLERANCE as TOLERANCE,
    Likelihood as Likelihood,
    expectation_maximization as expectation_maximization,
    likelihood_or_uniform as likelihood_or_uniform,
    maximum_likelihood as maximum_likelihood,
)
from .metrics import (
    chi_squared_between as chi_squared_between,
    jensen_shannon_distances as jensen_shannon_distances,
    l2_distances as l2_distances,
    random_queries as random_queries,
    relative_errors as relative_errors,
    squared_errors as squared_errors,
)
from .simplex import (
    clip_and_rescale as clip_and_rescale,
    estimate_or_uniform as estimate_or_uniform,
    euclidean_projection as euclidean_projection,
    repeat_cells as repeat_cells,
    rescaled as rescaled,
)
from .survey_weights import (
    WeightedCounts as WeightedCounts,
    student as student,
    survey_estimate as survey_estimate,
    weighted_intervals as weighted_intervals,
)
