"""Sections of the report on [rrba]."""

from deniable.stubs import handed_on

__getattr__, __dir__, __all__ = handed_on(__name__, __file__)
