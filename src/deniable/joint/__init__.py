"""One consistent joint distribution of all columns, estimated from randomized records."""

import lazy_loader

__getattr__, __dir__, __all__ = lazy_loader.attach_stub(__name__, __file__)
