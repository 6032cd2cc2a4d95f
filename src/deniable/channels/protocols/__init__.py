"""Protocols with more randomized values than categories; their matrices are never formed."""

import lazy_loader

__getattr__, __dir__, __all__ = lazy_loader.attach_stub(__name__, __file__)
