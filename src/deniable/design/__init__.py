"""Channels designed by convex optimization: the best for a stated need."""

from deniable.design.conflicts import InfeasibleError
from deniable.design.designing import Design, design
from deniable.design.problem.requirements import Cost, Requirements

__all__ = ["Cost", "Design", "InfeasibleError", "Requirements", "design"]
