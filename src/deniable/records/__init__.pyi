from .arrow import (
    arrow_errors as arrow_errors,
    column_of as column_of,
    shortened as shortened,
)
from .categorical import (
    Microdata as Microdata,
    attributes_to_json as attributes_to_json,
    domain_from_json as domain_from_json,
    encode as encode,
)
from .domain import (
    MAX_RAVELLED_DOMAIN as MAX_RAVELLED_DOMAIN,
    Attribute as Attribute,
    Discretization as Discretization,
    Domain as Domain,
    Rule as Rule,
    connected as connected,
    possible_cells as possible_cells,
    refuse_foreign_codes as refuse_foreign_codes,
)
from .numeric import (
    ClassCodes as ClassCodes,
    NumericMicrodata as NumericMicrodata,
    read_true_records as read_true_records,
)
