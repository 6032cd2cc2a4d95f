from .comparing import MechanismComparison as MechanismComparison, compare as compare
from .picture import draw as draw
