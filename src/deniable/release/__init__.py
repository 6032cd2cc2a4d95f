"""Releases: each is counted in a ledger, drawn once, verified and published (see `making`)."""

import lazy_loader

__getattr__, __dir__, __all__ = lazy_loader.attach_stub(__name__, __file__)
