from .audit import audit_numeric_release as audit_numeric_release
from .check import check_numbers as check_numbers, measure_utility as measure_utility
from .design import (
    Domains as Domains,
    chosen as chosen,
    domains as domains,
    noise_for as noise_for,
    protect as protect,
)
from .estimates import estimate_numbers as estimate_numbers
from .promises import describe as describe, with_figures as with_figures
