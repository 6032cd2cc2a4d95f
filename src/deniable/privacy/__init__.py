"""Compute exact epsilons, breaches and amplification, and rebuild records from tables."""

import lazy_loader

__getattr__, __dir__, __all__ = lazy_loader.attach_stub(__name__, __file__)
