"""What a file of one's own holds: drafted from it, declared by its owner, read by it."""

from deniable.stubs import handed_on

__getattr__, __dir__, __all__ = handed_on(__name__, __file__)
