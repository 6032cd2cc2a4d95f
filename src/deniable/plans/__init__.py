"""Plans: the mechanism of each column of a file, with its exact epsilon of the record."""

import lazy_loader

__getattr__, __dir__, __all__ = lazy_loader.attach_stub(__name__, __file__)
