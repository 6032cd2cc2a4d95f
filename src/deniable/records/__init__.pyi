from .arrow import (
    leading_numbers as leading_numbers,
    no_number as no_number,
    shortened as shortened,
    text_columns as text_columns,
)
from .categorical import (
    Microdata as Microdata,
    attributes_to_json as attributes_to_json,
    discretize as discretize,
    domain_from_json as domain_from_json,
    encode as encode,
    read_csv as read_csv,
    read_parquet as read_parquet,
)
from .discretization import Discretization as Discretization
from .domain import (
    MAX_RAVELLED_DOMAIN as MAX_RAVELLED_DOMAIN,
    Attribute as Attribute,
    Domain as Domain,
    refuse_foreign_codes as refuse_foreign_codes,
)
from .numeric import (
    ClassCodes as ClassCodes,
    NumericMicrodata as NumericMicrodata,
    read_true_records as read_true_records,
)
