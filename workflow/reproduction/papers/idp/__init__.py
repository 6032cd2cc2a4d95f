"""Individual differential privacy by microaggregation: studies, audit, claims, figures."""

from deniable.stubs import handed_on

__getattr__, __dir__, __all__ = handed_on(__name__, __file__)
