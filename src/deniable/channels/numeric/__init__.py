"""Channels for one number on a public grid: added noise, and the square wave mechanism."""

import lazy_loader

__getattr__, __dir__, __all__ = lazy_loader.attach_stub(__name__, __file__)
