"""Split questionnaires: each record has randomized values of a random form, a part of columns."""

import lazy_loader

__getattr__, __dir__, __all__ = lazy_loader.attach_stub(__name__, __file__)
