"""Channels (randomizers): row-stochastic matrices P[u, v] = Pr(randomized value v | category u)."""

import lazy_loader

__getattr__, __dir__, __all__ = lazy_loader.attach_stub(__name__, __file__)
