"""Files of one's own, by a plan: read in portions, drawn in portions, never held whole."""

import lazy_loader

__getattr__, __dir__, __all__ = lazy_loader.attach_stub(__name__, __file__)
