"""Where chance comes from: streams, exact draws, keyed draws of releases, Laplace noise."""

from deniable.stubs import handed_on

__getattr__, __dir__, __all__ = handed_on(__name__, __file__)
