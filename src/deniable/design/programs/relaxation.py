"""The best of all channels with any number of reports: a convex program, and a bound.

Notation as in `deniable.design.programs.staircases`. The function f(p) = p p' / (pi' p) of a column
is homogeneous and convex in the order of symmetric matrices, because x' f(p) x = (x' p)^2 / (pi' p)
is for every x. So f(p_v) is at most the sum over s of theta[s, v] f(s): splitting a report into its
staircases tells no less. It also leaves every requirement as it is, since all are linear in P and P
is linear in theta. Hence no channel that meets the requirements loses less than

    minimise  the trace, or the largest diagonal entry, of J^-1  (less pi_u or pi_u^2 each)
    with      J = sum over s and v of theta[s, v] s s' / (pi' s),  theta >= 0,
              P[u, v] = sum over s of theta[s, v] s_u meeting the requirements,

which is convex: theta has an entry for every staircase and report, as if a channel had so many
reports.

**The bound** does not rest on how well that is solved. For any symmetric Y and weights w >= 0 (all
1 for the trace, of sum 1 for the largest), from e' J^-1 e >= 2 e' Y e - e' Y J Y e,

    sum of w_u (J^-1)_uu  >=  2 tr(W Y) - tr(Z J),   Z = Y W Y.

Let the requirements be <A_j, P> <= b_j or = b_j, and k_j numbers, k_j >= 0 for inequalities, such
that no staircase gains more than it pays for any report:

    s' Z s / (pi' s)  <=  n_v' s  for all s and v,   n_v = sum over j of k_j A_j[:, v].

Then tr(Z J) <= sum over v of n_v' p_v = sum over j of k_j <A_j, P> <= k' b for every channel that
meets them. With Y = t C the best t gives the bound tr(W C)^2 / k' b, for any C. Here C is J^-1 of
the program's last iterate and k its multipliers, those of "row u sums to 1" shifted alike until no
staircase gains: all of them are looked at, so that nothing is left to trust but rounding.
"""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from deniable.arrays import Floats
from deniable.design.programs.central_path import CentralPath, Program
from deniable.design.programs.losses import InverseVariance
from deniable.design.programs.polytope import Polytope
from deniable.design.programs.staircases import LARGEST_ENUMERATED

MOST_ROUNDS = 60
MOST_PRICES = 26_000_000  # staircases times reports that are looked at, at most
SOLVED = 2e-7  # the bound's distance from the program's value, relative
ROUNDING = 1e-11  # the barrier's share of the value at which rounding takes over
NEARLY = 1e-5  # and at which rounds without a better bound
IDLE_ROUNDS = 3  # end it


@dataclass(frozen=True, eq=False)
class Relaxation:
    """What the program came to.

    Attributes
    ----------
    bound : float
        A lower bound of the loss of every channel that meets the requirements.
    columns : array, shape (size, reports)
        The best channel found with any number of reports, those of one staircase taken together.
    """

    bound: float
    columns: Floats


def relax(
    loss: InverseVariance,
    polytope: Polytope,
    centre: Floats,
    others: Sequence[Floats] = (),
    enough: float = np.inf,
) -> Relaxation | None:
    """Solve the convex program, and bound the loss of every channel in a polytope.

    Parameters
    ----------
    loss : InverseVariance
    polytope : Polytope
        Of bounded epsilon.
    centre : array, shape (size, size)
        A matrix in its interior.
    others : sequence of such
        Matrices whose staircases are looked at first.
    enough : float
        Stop at a bound of this.

    Returns
    -------
    Relaxation, or None if there are too many categories, over 16
    """
    if polytope.size > LARGEST_ENUMERATED:
        return None
    program = Program.of(loss, polytope)
    path = CentralPath.started(program, centre, others)
    best, idle = -np.inf, 0
    prices = 2**polytope.size * (1 if program.merged else polytope.size)
    for _ in range(min(MOST_ROUNDS, max(MOST_PRICES // prices, 1))):
        if not path.approach():
            break
        bound, excess = path.priced()
        idle = 0 if bound > best + SOLVED * abs(best) else idle + 1
        best = max(best, bound)
        value = path.value()
        left = path.weight * path.codes.size / abs(value)
        if value - best <= SOLVED * abs(value) or best >= enough:
            break
        if left <= ROUNDING or (left <= NEARLY and idle >= IDLE_ROUNDS):
            break
        path.advance(excess)
    return Relaxation(best, path.columns())
