"""Transition matrices optimized for stated requirements by convex programs.

Unless stated otherwise, proportions have shape (size,), matrices and their costs (size, size), with
a row for each true category.
"""

import lazy_loader

__getattr__, __dir__, __all__ = lazy_loader.attach_stub(__name__, __file__)
