"""Where chance comes from: streams, exact draws, keyed draws of releases, Laplace noise."""

import lazy_loader

__getattr__, __dir__, __all__ = lazy_loader.attach_stub(__name__, __file__)
