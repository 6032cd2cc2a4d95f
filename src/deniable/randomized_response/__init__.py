"""Methods of [multirr], RR-Independent to RR-Adjustment and the secure sum, and their audit."""

import lazy_loader

__getattr__, __dir__, __all__ = lazy_loader.attach_stub(__name__, __file__)
