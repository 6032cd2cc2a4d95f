from .branch_and_bound import Concave as Concave
from .feasible import LinearPrograms as LinearPrograms, interior as interior
from .interior_point import Interior as Interior, descend as descend
from .linear import minimise as minimise
from .relaxation import Relaxation as Relaxation, relax as relax
