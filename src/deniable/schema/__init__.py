"""What a file of one's own holds: drafted from it, declared by its owner, read by it."""

import lazy_loader

__getattr__, __dir__, __all__ = lazy_loader.attach_stub(__name__, __file__)
