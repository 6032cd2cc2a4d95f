"""Protected records, read for estimation: responses by their codes, and the tables of columns."""

import lazy_loader

__getattr__, __dir__, __all__ = lazy_loader.attach_stub(__name__, __file__)
