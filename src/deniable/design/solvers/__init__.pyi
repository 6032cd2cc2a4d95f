from .branch_and_bound import Concave as Concave
from .interior_point import Interior as Interior, descend as descend
from .linear import LinearPrograms as LinearPrograms, interior as interior, minimise as minimise
from .relaxation import Relaxation as Relaxation, relax as relax
