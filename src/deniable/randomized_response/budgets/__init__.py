"""Privacy by epsilon for records of many attributes: who is asked what, at which exact epsilon."""

import lazy_loader

__getattr__, __dir__, __all__ = lazy_loader.attach_stub(__name__, __file__)
