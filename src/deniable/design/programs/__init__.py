"""Requirements and losses as mathematical programs, and what solves them.

Unless said otherwise, proportions have shape (size,), matrices and their costs (size, size), a row
for each true category.
"""

from deniable.stubs import handed_on

__getattr__, __dir__, __all__ = handed_on(__name__, __file__)
