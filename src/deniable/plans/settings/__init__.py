"""Settings of plans: the mapping ``plan`` of a release in a config, one model for each kind."""

from deniable.stubs import handed_on

__getattr__, __dir__, __all__ = handed_on(__name__, __file__)
