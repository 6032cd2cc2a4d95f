from .catalog import PAPER as PAPER
from .compared_protocols import (
    LocalHashing as LocalHashing,
    SupportedProtocol as SupportedProtocol,
    UnaryEncoding as UnaryEncoding,
)
from .names import STATED_EPSILON as STATED_EPSILON
from .settings import (
    ConvergenceStudy as ConvergenceStudy,
    EqualEpsilonStudy as EqualEpsilonStudy,
    PowerStudy as PowerStudy,
    PrintedTablesStudy as PrintedTablesStudy,
    RrbaEpsilon as RrbaEpsilon,
    Table3Study as Table3Study,
)
