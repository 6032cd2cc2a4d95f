"""Cells, streams, summaries, verdicts, claims; what a catalog entry is."""

from deniable.stubs import handed_on

__getattr__, __dir__, __all__ = handed_on(__name__, __file__)
