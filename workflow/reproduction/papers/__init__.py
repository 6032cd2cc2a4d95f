"""The studies behind the tables and figures of the papers, run by `reproduction.study`."""

from deniable.stubs import handed_on

__getattr__, __dir__, __all__ = handed_on(__name__, __file__)
