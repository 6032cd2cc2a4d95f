"""What is done to each column of a file, at an exact epsilon of the record."""

from deniable.stubs import handed_on

__getattr__, __dir__, __all__ = handed_on(__name__, __file__)
