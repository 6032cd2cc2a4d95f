"""Settings of plans: the mapping ``plan`` of a release in a config, one model for each kind."""

import lazy_loader

__getattr__, __dir__, __all__ = lazy_loader.attach_stub(__name__, __file__)
