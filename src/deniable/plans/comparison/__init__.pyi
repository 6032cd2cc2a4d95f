from .comparing import MechanismComparison as MechanismComparison, compare as compare
from .expected import expected_errors as expected_errors
from .picture import draw as draw
from .records import records_for_error as records_for_error
