"""Settings, random streams, summaries, verdicts, claims and catalog entries of studies."""

import lazy_loader

__getattr__, __dir__, __all__ = lazy_loader.attach_stub(__name__, __file__)
