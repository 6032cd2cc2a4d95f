"""Protect the records of a file once, by a plan of any kind."""

import lazy_loader

__getattr__, __dir__, __all__ = lazy_loader.attach_stub(__name__, __file__)
