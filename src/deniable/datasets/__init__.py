"""Data sets: manifest, downloads, published records, surrogates and files drawn from networks."""

import lazy_loader

__getattr__, __dir__, __all__ = lazy_loader.attach_stub(__name__, __file__)
