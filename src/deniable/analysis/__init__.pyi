from .microdata import WRONG_ERRORS as WRONG_ERRORS
from .queries import parsed_query as parsed_query
from .readable import (
    as_text as as_text,
    for_reading as for_reading,
    notes_on as notes_on,
    page as page,
)
from .released import Released as Released
from .results import (
    as_result as as_result,
    compare_test_release as compare_test_release,
    release_of as release_of,
)
