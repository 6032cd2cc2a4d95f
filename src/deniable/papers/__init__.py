"""The studies behind the papers' tables and figures, one a file, over `deniable.study.engine`."""

import lazy_loader

__getattr__, __dir__, __all__ = lazy_loader.attach_stub(__name__, __file__)
