"""The comparison of mechanisms for a file of the data owner, as a table and as a picture."""

import lazy_loader

__getattr__, __dir__, __all__ = lazy_loader.attach_stub(__name__, __file__)
