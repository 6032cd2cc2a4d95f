"""Plans that mask numbers by noise, microaggregation or noisy histograms ([idp])."""

from deniable.stubs import handed_on

__getattr__, __dir__, __all__ = handed_on(__name__, __file__)
