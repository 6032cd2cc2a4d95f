"""Protected records, read for estimation: responses by their codes, and the tables of columns."""

from deniable.stubs import handed_on

__getattr__, __dir__, __all__ = handed_on(__name__, __file__)
