"""Domingo-Ferrer & Soria-Comas, Multi-Dimensional Randomized Response: studies, claims, figures."""

from deniable.stubs import handed_on

__getattr__, __dir__, __all__ = handed_on(__name__, __file__)
