"""Exact two-way tables by secure sum, as a protocol between simulated parties ([multirr], 4.2).

To count a combination of categories, each of n parties splits 0 into n shares modulo n + 1 and
sends one to every party. It then broadcasts the sum of the shares that it received, plus 1 if it
has the combination. The broadcasts add up to the count. The modulus is n + 1 because n + 1 counts
are possible: modulo n, 0 and n would be equal.

docs/secure-sum.md lists the detected errors, and the knowledge of colluding parties.
"""

from collections import Counter
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from types import MappingProxyType
from typing import Literal

import numpy as np
import numpy.typing as npt

from deniable.arrays import Codes, Counts
from deniable.errors import DeniableError
from deniable.records import Domain, Microdata
from deniable.sampling import RandomSource, refuse_no_source

Pair = tuple[str, str]
Message = Literal["share", "broadcast"]

NOTHING = -1  # where no message arrived
MIN_PARTIES = 3  # with two, each learns the other's indicator from the count
MAX_PARTIES = 10_000  # 400 MB of shares per sum


class SecureSumError(DeniableError):
    """The error of a sum that cannot be completed.

    `message` is its text, and `parties` are the numbers of the parties with missing messages.
    """

    def __init__(self, message: str, parties: Sequence[int] = ()) -> None:
        super().__init__(message)
        self.parties = tuple(parties)


def split(values: Counts, parties: int, modulus: int, source: RandomSource) -> Counts:
    """Split `values`, shape (cells,), into one share for each of the `parties`.

    The shares, shape (parties, cells), add up to the values modulo `modulus`. Any `parties` - 1 of
    them are independent and uniform draws from `source`. `parties` times `modulus` is below 2^63.
    """
    shares = np.empty((parties, values.size), dtype=np.int64)
    drawn = source.integers(0, modulus, (parties - 1) * values.size)
    shares[:-1] = drawn.reshape(parties - 1, values.size)
    shares[-1] = (values - shares[:-1].sum(axis=0)) % modulus
    return shares


class Network:
    """The channels and messages between n `parties` of one sum, in seats 0 .. n - 1.

    Parties write their messages into `shares`, shape (senders, receivers), with 0 in a party's own
    place, and `broadcasts`, shape (parties,). There is `NOTHING` where no message arrived.
    """

    def __init__(self, parties: int) -> None:
        if not MIN_PARTIES <= parties <= MAX_PARTIES:
            raise SecureSumError(
                f"a secure sum of {parties} parties: at least {MIN_PARTIES} are needed to hide "
                f"a value, and at most {MAX_PARTIES:,} are simulated; change the number of records"
            )
        self.parties, self.modulus = parties, parties + 1
        self.shares = np.full((parties, parties), NOTHING, dtype=np.int32)
        np.fill_diagonal(self.shares, 0)  # a party keeps its own share
        self.broadcasts = np.full(parties, NOTHING, dtype=np.int64)

    def missing(self, message: Message) -> list[int]:
        """Return the seats that did not send a `message`: "share" or "broadcast"."""
        arrived = self.shares if message == "share" else self.broadcasts[:, None]
        return [int(seat) for seat in np.flatnonzero((arrived == NOTHING).any(axis=1))]

    @property
    def count(self) -> int:
        """The sum of the broadcasts modulo n + 1; everybody can compute it."""
        return int(self.broadcasts.sum()) % self.modulus

    @property
    def traffic(self) -> Counter[str]:
        """The numbers of ``share_messages``, of ``broadcasts``, and of their ``bits``, so far.

        A share goes to one party; a broadcast is delivered to all others. The bits are the ones of
        all shares and of all deliveries of broadcasts. Each has ceil(log2(n + 1)) bits, because it
        is a number in 0 .. n, with n the number of parties. In a sum each party sends n messages (n
        - 1 shares, one broadcast), and all send n^2. The messages per party, summed over the cells
        of all pairs, are [multirr]'s O(sum over i < j of |Ai| |Aj| x n).
        """
        shares = int(np.count_nonzero(self.shares != NOTHING)) - self.parties
        broadcasts = self.parties - len(self.missing("broadcast"))
        delivered = shares + broadcasts * (self.parties - 1)
        bits = delivered * self.parties.bit_length()
        return Counter(share_messages=shares, broadcasts=broadcasts, bits=bits)


class Party:
    """A party that follows the protocol.

    The `indicator` is 1 if it has the counted combination, otherwise 0. Its record has the
    `number`.
    """

    def __init__(self, number: int, indicator: int) -> None:
        self.number, self._indicator, self._kept = number, indicator, 0

    def send(self, seat: int, network: Network, source: RandomSource) -> None:
        """Take steps 1 and 2: split 0 by `source`, and send shares from `seat` by `network`."""
        shares = self._shares(network, source)
        self._kept = int(shares[seat])
        shares[seat] = 0
        network.shares[seat] = shares

    def answer(self, seat: int, network: Network) -> None:
        """Take step 3: from `seat`, broadcast the sum of shares plus indicator by `network`."""
        total = int(network.shares[:, seat].sum(dtype=np.int64)) + self._kept
        network.broadcasts[seat] = (total + self._indicator) % network.modulus

    def _shares(self, network: Network, source: RandomSource) -> Codes:
        return split(np.zeros(1, dtype=np.int64), network.parties, network.modulus, source)[:, 0]


FaultyParties = Mapping[tuple[int, int], Callable[[int, int], Party]]
"""Constructors of deviating parties, from number and indicator, by number and cell (row-major)."""


def secure_sum(parties: Sequence[Party], source: RandomSource, what: str = "the sum") -> Network:
    """Run the protocol once and return the network, with its count and traffic.

    The `parties` draw from the `source` in turn. Error messages name the count by `what`. Raises
    `SecureSumError` if shares or broadcasts are missing, or the parties are too few or too many.

    Examples
    --------
    >>> parties = [Party(number, number % 2) for number in range(5)]
    >>> secure_sum(parties, np.random.default_rng(1)).count
    2
    """
    refuse_no_source(source)
    network = Network(len(parties))
    for seat, party in enumerate(parties):
        party.send(seat, network, source)
    _refuse_missing("share", parties, network, what)
    for seat, party in enumerate(parties):
        party.answer(seat, network)
    _refuse_missing("broadcast", parties, network, what)
    return network


def _refuse_missing(
    message: Message, parties: Sequence[Party], network: Network, what: str
) -> None:
    if numbers := [parties[seat].number for seat in network.missing(message)]:
        raise SecureSumError(
            f"{what}: no {message} came from party {', '.join(map(str, numbers))} (records counted "
            "from 0); run the sum without it, with new shares. Together with earlier published "
            "counts the new count reveals the value of this party",
            numbers,
        )


@dataclass(frozen=True, eq=False)
class BivariateDistribution:
    """A two-way table from secure sums.

    `table` has the shape of `domain`, the two attributes. `parties` is the number of parties, and
    `traffic` has the messages of all sums, as in `Network.traffic`.
    """

    domain: Domain
    table: npt.NDArray[np.int64]
    parties: int
    traffic: Counter[str]

    @property
    def inconsistencies(self) -> tuple[str, ...]:
        """Messages about errors that the table alone shows, if any."""
        if (total := int(self.table.sum())) == self.parties:
            return ()
        names = " and ".join(map(repr, self.domain.names))
        return (
            f"{names}: the counts add up to {total}, but {self.parties} records have one cell "
            "each; a party sent wrong shares or broadcasts; run the pair again",
        )


def bivariate_distribution(
    data: Microdata,
    pair: Pair,
    source: RandomSource,
    *,
    faults: FaultyParties = MappingProxyType({}),
) -> BivariateDistribution:
    """Count each combination of a `pair` of attributes by secure sums between the records' owners.

    Each record of `data` is a party and draws from `source`. The parties in `faults` deviate from
    the protocol. Check the tables of several pairs with `disagreeing_margins`. Raises
    `SecureSumError` if messages are missing, or the parties are too few or too many.
    """
    if len(pair) != 2:
        raise DeniableError(f"a pair has {len(pair)} names, {pair!r}; name two attributes")
    records = data.project(pair)
    domain, codes = records.domain, records.domain.ravel(records.columns).tolist()
    traffic, counts = Counter[str](), []
    for cell in range(domain.size):
        parties = [
            faults.get((number, cell), Party)(number, int(code == cell))
            for number, code in enumerate(codes)
        ]
        of_cell = zip(domain, np.unravel_index(cell, domain.shape), strict=True)
        named = [f"{attribute.name} {attribute.categories[code]!r}" for attribute, code in of_cell]
        network = secure_sum(parties, source, ", ".join(named))
        traffic += network.traffic
        counts.append(network.count)
    table = np.array(counts, dtype=np.int64).reshape(domain.shape)
    return BivariateDistribution(domain, table, len(codes), traffic)


def disagreeing_margins(distributions: Iterable[BivariateDistribution]) -> tuple[str, ...]:
    """Return a message for each of `distributions` that contradicts an earlier one.

    A party has the same value of an attribute in all pairs.
    """
    first: dict[str, tuple[str, Codes]] = {}
    messages = []
    for distribution in distributions:
        pair = " and ".join(distribution.domain.names)
        for axis, attribute in enumerate(distribution.domain):
            counts = distribution.table.sum(axis=1 - axis)
            earlier, expected = first.setdefault(attribute.name, (pair, counts))
            for code in np.flatnonzero(counts != expected)[:1]:
                messages.append(
                    f"{attribute.name} {attribute.categories[code]!r}: {expected[code]} records in "
                    f"{earlier}, but {counts[code]} in {pair}; a party gave another answer in "
                    "one of them, or left the sum; count both pairs again"
                )
    return tuple(messages)
