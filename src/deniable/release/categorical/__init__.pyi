from .audit import (
    audit_release as audit_release,
    audit_release_samplers as audit_release_samplers,
    released as released,
)
from .design import (
    PRODUCTION_MARK as PRODUCTION_MARK,
    REHEARSAL_MARK as REHEARSAL_MARK,
    source_for as source_for,
)
from .estimates import (
    check_against_truth as check_against_truth,
    coverage_of_redraws as coverage_of_redraws,
    estimate as estimate,
    read_estimates as read_estimates,
)
from .matrices import matrices_table as matrices_table, write_matrices as write_matrices
from .synthesis import (
    adjust_reports as adjust_reports,
    describe_adjustment as describe_adjustment,
    distances_from_truth as distances_from_truth,
    synthesize_release as synthesize_release,
)
