"""The report: contents, pages, sections that belong to no paper, and errors of releases."""

import lazy_loader

__getattr__, __dir__, __all__ = lazy_loader.attach_stub(__name__, __file__)
