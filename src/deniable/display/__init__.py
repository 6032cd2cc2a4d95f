"""Numbers as text, parts of pages, style of figures (below the papers)."""

from deniable.stubs import handed_on

__getattr__, __dir__, __all__ = handed_on(__name__, __file__)
