"""Read the manifest; download, read and replace its data sets; draw from Bayesian networks."""

import lazy_loader

__getattr__, __dir__, __all__ = lazy_loader.attach_stub(__name__, __file__)
