"""Channels: row-stochastic matrices P[u, v] = Pr(report v | true u), in three kinds."""

from deniable.stubs import handed_on

__getattr__, __dir__, __all__ = handed_on(__name__, __file__)
