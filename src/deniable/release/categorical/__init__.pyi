from .check import (
    SAMPLER_COLUMNS as SAMPLER_COLUMNS,
    audit_release as audit_release,
    audit_release_samplers as audit_release_samplers,
    check_against_truth as check_against_truth,
    coverage_of_redraws as coverage_of_redraws,
    epsilons_of_blocks as epsilons_of_blocks,
    pair_distances as pair_distances,
)
from .design import matrices_table as matrices_table, write_matrices as write_matrices
from .estimates import (
    SYNTHETIC_MARKS as SYNTHETIC_MARKS,
    adjust_reports as adjust_reports,
    describe_adjustment as describe_adjustment,
    estimate as estimate,
    estimated_distributions as estimated_distributions,
    synthesize_release as synthesize_release,
)
