"""Files of one's own, by a plan: read in portions, drawn in portions, never held whole."""

from deniable.stubs import handed_on

__getattr__, __dir__, __all__ = handed_on(__name__, __file__)
