"""Protected records of each kind of plan, read as randomized values that can be counted."""

from deniable.stubs import handed_on

__getattr__, __dir__, __all__ = handed_on(__name__, __file__)
