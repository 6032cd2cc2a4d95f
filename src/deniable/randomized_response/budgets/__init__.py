"""Privacy by epsilon for records of many attributes: who is asked what, at which exact epsilon."""

from deniable.stubs import handed_on

__getattr__, __dir__, __all__ = handed_on(__name__, __file__)
