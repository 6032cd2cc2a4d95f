"""Randomize a file within strata, make the matrices for it, and estimate supports of item sets."""

import lazy_loader

__getattr__, __dir__, __all__ = lazy_loader.attach_stub(__name__, __file__)
