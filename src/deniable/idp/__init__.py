"""Individual differential privacy by microaggregation, and competitors with central ε-DP."""

import lazy_loader

__getattr__, __dir__, __all__ = lazy_loader.attach_stub(__name__, __file__)
