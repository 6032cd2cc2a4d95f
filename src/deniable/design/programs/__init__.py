"""Requirements and losses as mathematical programs, and their solvers.

Unless stated otherwise, proportions have the shape (size,). Matrices and their costs have the shape
(size, size), with a row for each true category and a column for each response.
"""

import lazy_loader

__getattr__, __dir__, __all__ = lazy_loader.attach_stub(__name__, __file__)
