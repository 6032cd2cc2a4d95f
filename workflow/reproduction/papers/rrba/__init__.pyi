from . import settings as settings
from .catalog import PAPER as PAPER
from .compared_protocols import (
    LocalHashing as LocalHashing,
    SupportedProtocol as SupportedProtocol,
    UnaryEncoding as UnaryEncoding,
)
from .names import STATED_EPSILON as STATED_EPSILON
