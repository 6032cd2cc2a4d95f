"""Counting a release in the ledger before it is drawn."""

import hashlib
import math
from decimal import ROUND_CEILING, Context, Decimal
from fractions import Fraction

from deniable.records import Microdata, NumericMicrodata
from deniable.release.entries import Entry
from deniable.release.keys import ReleaseKey, canonical
from deniable.release.ledger import Ledger
from deniable.release.settings import AnyRelease

COUNTED_DIGITS = Context(prec=9, rounding=ROUND_CEILING)


def reserve(
    ledger: Ledger,
    release: AnyRelease,
    key: ReleaseKey,
    records: Microdata | NumericMicrodata,
    epsilon: float,
) -> Entry:
    """Count a release, by the population that its settings name, and return its entry.

    The entry holds it to its settings and to its key, so that a draw by a new key under the same
    name is refused even where all of its folder is lost.

    Raises
    ------
    DeniableError
        As `Ledger.reserve` says.
    """
    # A digest under the key: it tells nothing of it.
    plan = canonical([release.stated(), key.digest("ledger", iter([]))])
    return ledger.reserve(
        str(release.population),
        release.name,
        hashlib.sha256(plan).hexdigest(),
        ledger.digests(records),
        counted_epsilon(epsilon),
        release.consent,
    )


def counted_epsilon(epsilon: float) -> Fraction | float:
    """Return an epsilon as it is counted: rounded up to 9 digits; infinity as it is.

    Examples
    --------
    >>> str(counted_epsilon(1.2999999999999998)), str(counted_epsilon(0.0123456789012))
    ('13/10', '12345679/1000000000')
    """
    if math.isinf(epsilon):
        return epsilon
    return Fraction(COUNTED_DIGITS.create_decimal(Decimal(epsilon)))
