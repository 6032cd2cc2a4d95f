from . import settings as settings
from .catalog import PAPER as PAPER
