"""Requirements and losses as mathematical programs, and their solvers; shapes as in the package."""

import lazy_loader

__getattr__, __dir__, __all__ = lazy_loader.attach_stub(__name__, __file__)
