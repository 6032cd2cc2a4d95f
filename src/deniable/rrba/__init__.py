"""Randomized response block aggregation (RRBA): views, clients, aggregators and server."""

import lazy_loader

__getattr__, __dir__, __all__ = lazy_loader.attach_stub(__name__, __file__)
