"""The studies behind the papers' tables and figures, one a file, over `reproduction.study.engine`."""

from deniable.stubs import handed_on

__getattr__, __dir__, __all__ = handed_on(__name__, __file__)
