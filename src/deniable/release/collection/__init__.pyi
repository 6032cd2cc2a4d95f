from .check import audit_collection as audit_collection
from .design import (
    in_full as in_full,
    release_design as release_design,
)
from .estimates import (
    fit_in_two_steps as fit_in_two_steps,
    make_consistent as make_consistent,
)
from .independence import independence_tests as independence_tests
