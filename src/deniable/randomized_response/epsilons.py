"""What a protocol spends of one person's privacy, and the protocol that spends so much."""

import math
from collections.abc import Callable
from typing import Protocol

from deniable.errors import DeniableError


class SpendsEpsilon(Protocol):
    """What a person reports under it has exact epsilons."""

    @property
    def epsilon(self) -> float:
        """Exact epsilon of one whole record, rounded up."""

    def epsilon_by_changed_attribute(self) -> dict[str, float]:
        """Return the exact epsilon of a change in one attribute, rounded up, for each of them."""


def epsilons(protocol: SpendsEpsilon) -> dict[str, float]:
    """Return what a person spends under a protocol, as tables have it beside p.

    Returns
    -------
    dict
        ``record_epsilon``: exact epsilon of the whole record; ``attribute_epsilon``: the largest of
        a change in one attribute. Both are of the channels that are drawn from, rounded up.
    """
    of_attributes = protocol.epsilon_by_changed_attribute()
    return {"attribute_epsilon": max(of_attributes.values()), "record_epsilon": protocol.epsilon}


def keep_probability(epsilon: float, protocol: Callable[[float], SpendsEpsilon]) -> float:
    """Return the largest p at which a protocol spends at most so much for a whole record.

    What is asked for is never exceeded: the exact epsilon of the protocol at the p that is returned
    is at most `epsilon`, and at the next larger float it is above it.

    Parameters
    ----------
    epsilon : float, above 0
        Of one whole record.
    protocol : function of p
        Its epsilon grows with p in (0, 1), as under the reading ``keep`` of the RR matrix, and
        under no other: see `deniable.randomized_response.rr_channel`.

    Raises
    ------
    DeniableError
        If epsilon is not above 0 and finite.

    Examples
    --------
    >>> from functools import partial
    >>> from deniable.randomized_response import rr_independent
    >>> from deniable.records import Attribute, Domain
    >>> two = Domain((Attribute("sex", ("f", "m")), Attribute("owner", ("no", "yes"))))
    >>> p = keep_probability(2.0, lambda p: rr_independent(two, p, "keep"))
    >>> round(p, 6)  # (e - 1) / (e + 1): epsilon is 1 for each attribute
    0.462117
    >>> rr_independent(two, p, "keep").epsilon <= 2.0
    True
    """
    if not 0 < epsilon < math.inf:
        raise DeniableError(f"epsilon is {epsilon}; ask for a number above 0 that is not infinite")
    low, high = 0.0, 1.0
    while low < (p := (low + high) / 2) < high:
        low, high = (p, high) if protocol(p).epsilon <= epsilon else (low, p)
    return low
