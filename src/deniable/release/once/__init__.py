"""Protect the records of a file once, by a plan of any kind."""

from deniable.stubs import handed_on

__getattr__, __dir__, __all__ = handed_on(__name__, __file__)
