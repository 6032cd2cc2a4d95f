"""The ledger of a population: its entries, their files, and digests of records."""

import lazy_loader

__getattr__, __dir__, __all__ = lazy_loader.attach_stub(__name__, __file__)
