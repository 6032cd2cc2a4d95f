from .check import (
    SAMPLER_COLUMNS as SAMPLER_COLUMNS,
    audit_release as audit_release,
    audit_release_samplers as audit_release_samplers,
)
from .design import matrices_table as matrices_table, write_matrices as write_matrices
from .estimates import (
    adjust_reports as adjust_reports,
    describe_adjustment as describe_adjustment,
    synthesize_release as synthesize_release,
)
