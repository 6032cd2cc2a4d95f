"""Estimates of distributions, with intervals, from randomized values; also with survey weights."""

import lazy_loader

__getattr__, __dir__, __all__ = lazy_loader.attach_stub(__name__, __file__)
