from .interface import Batch as Batch, Counted as Counted, Responses as Responses
from .tables import (
    MAX_CELLS as MAX_CELLS,
    MAX_ENTRIES as MAX_ENTRIES,
    Side as Side,
    Table as Table,
    cells_of as cells_of,
)
