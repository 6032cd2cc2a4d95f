"""Prime numbers, as the sizes of finite fields."""

import numpy as np

from deniable.arrays import Counts
from deniable.channels.maps import refuse_other_than_whole
from deniable.errors import ChannelError


def primes_up_to(largest: int) -> Counts:
    """Return the primes that are not above the `largest`, by the sieve of Eratosthenes."""
    prime = np.ones(max(largest, 1) + 1, dtype=bool)
    prime[:2] = False
    for factor in range(2, int(largest**0.5) + 1):
        if prime[factor]:
            prime[factor * factor :: factor] = False
    return np.flatnonzero(prime)


def refuse_other_than_prime(number: int) -> None:
    """Raise `ChannelError` unless the `number` is prime."""
    refuse_other_than_whole("the prime", number, 0, 2**32)
    if number < 2 or any(number % factor == 0 for factor in range(2, int(number**0.5) + 1)):
        raise ChannelError(f"{number} is not a prime; the vectors need a field with prime size")
