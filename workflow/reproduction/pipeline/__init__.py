"""Config, checks, plan, provenance, environment: what the Snakefile needs."""

from deniable.stubs import handed_on

__getattr__, __dir__, __all__ = handed_on(__name__, __file__)
