"""Nayak, Zhang & Adeshiyan (2016), PRAM and the theory of channels: studies, figures."""

from deniable.stubs import handed_on

__getattr__, __dir__, __all__ = handed_on(__name__, __file__)
