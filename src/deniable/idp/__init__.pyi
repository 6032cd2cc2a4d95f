from .estimates import (
    DEVIATION as DEVIATION,
    MEAN as MEAN,
    QUANTILES as QUANTILES,
    SHARE as SHARE,
    estimate_numbers as estimate_numbers,
    statistics as statistics,
)
from .mechanism import (
    DEFAULT_BINS as DEFAULT_BINS,
    HISTOGRAMS as HISTOGRAMS,
    Domains as Domains,
    NumericMechanism as NumericMechanism,
    NumericMethod as NumericMethod,
    class_codes as class_codes,
    domains_by_factor as domains_by_factor,
    protect_numbers as protect_numbers,
    refuse_bad_parameters as refuse_bad_parameters,
)
from .methods import (
    METHODS as METHODS,
    Masking as Masking,
    Method as Method,
    Variant as Variant,
    domain_bounds as domain_bounds,
    masking as masking,
    split_budget as split_budget,
)
from .microaggregation import Ranking as Ranking, microaggregate as microaggregate
from .true_dp import (
    TABLE_DISTANCE as TABLE_DISTANCE,
    NoisyHistograms as NoisyHistograms,
    bins_of_domain as bins_of_domain,
    class_medians as class_medians,
    histograms as histograms,
    naive_bayes as naive_bayes,
    noisy_histograms as noisy_histograms,
    threshold_rule as threshold_rule,
)
from .utility import (
    expected_squares as expected_squares,
    expected_sse as expected_sse,
    masking_sse as masking_sse,
    mean_sse as mean_sse,
    sample_variances as sample_variances,
)
