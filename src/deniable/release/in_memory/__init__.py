"""Any mechanism in memory: a DataFrame goes in, a DataFrame comes out."""

import lazy_loader

__getattr__, __dir__, __all__ = lazy_loader.attach_stub(__name__, __file__)
