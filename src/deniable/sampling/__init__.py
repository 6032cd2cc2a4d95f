"""Random numbers: streams, exact draws, keyed draws for releases, Laplace noise."""

import lazy_loader

__getattr__, __dir__, __all__ = lazy_loader.attach_stub(__name__, __file__)
