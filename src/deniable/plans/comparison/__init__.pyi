from .comparing import Comparison as Comparison, compare as compare
from .picture import draw as draw
