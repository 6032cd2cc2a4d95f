from .comparing import MechanismComparison as MechanismComparison, compare as compare
from .picture import draw as draw
from .records import records_for_error as records_for_error
