"""Compute exact epsilons of all changes of a record, lower bounds from releases, and attacks."""

import lazy_loader

__getattr__, __dir__, __all__ = lazy_loader.attach_stub(__name__, __file__)
