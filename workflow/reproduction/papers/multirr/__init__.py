"""Domingo-Ferrer & Soria-Comas, Multi-Dimensional Randomized Response: studies, claims, figures."""

import lazy_loader

__getattr__, __dir__, __all__ = lazy_loader.attach_stub(__name__, __file__)
