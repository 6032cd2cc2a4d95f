"""What is sent in RRBA ([rrba], Figure 2), and a client: who alone knows its values."""

import math
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass
from fractions import Fraction
from typing import Any

import numpy as np

from deniable.channels import KeepOrReplace, ProductChannel, rounded_up
from deniable.errors import DeniableError
from deniable.records import Domain, refuse_foreign_codes
from deniable.rrba.tables import table_channel
from deniable.rrba.views import Combination, View
from deniable.sampling import RandomSource


@dataclass(frozen=True)
class Question:
    """From the aggregator to one client.

    Attributes
    ----------
    number : int
        No two questions of an aggregator have the same. A question sent again keeps its own.
    client : str
        The name of who is asked.
    keep : float
        p, the probability of a true answer.
    view : tuple of combinations
        The combinations of attributes that are asked.
    tables : tuple of tuple of float
        For each combination the distribution over its cells that fake answers are drawn from.

    Raises
    ------
    DeniableError
        If a field is not of its kind. What a question asks is for the client to judge.
    """

    number: int
    client: str
    keep: float
    view: View
    tables: tuple[tuple[float, ...], ...]

    def __post_init__(self) -> None:
        single = ((self.number, int), (self.client, str), (self.keep, float))
        rows = ((self.view, str), (self.tables, float))
        if not (
            all(isinstance(value, kind) for value, kind in single)
            and all(_are_rows(value, kind) for value, kind in rows)
        ):
            raise DeniableError(
                f"a malformed question: {self!r}; give a whole number, a name, a probability, "
                "tuples of names and tuples of probabilities"
            )


def _are_rows(value: Any, kind: type) -> bool:
    return isinstance(value, tuple) and all(
        isinstance(row, tuple) and all(isinstance(each, kind) for each in row) for row in value
    )


@dataclass(frozen=True)
class Answer:
    """From a client to the aggregator: one cell for each combination, through the channel.

    Attributes
    ----------
    question : int
        The question's number.
    client : str
        The name of who answers.
    cells : tuple of int, from 0 on
        One a combination of the question's view, in its order.
    """

    question: int
    client: str
    cells: tuple[int, ...]


@dataclass(frozen=True)
class Refusal:
    """From a client to the aggregator. It depends on the questions alone, not on true values.

    It gives the number of the `question`, the name of the `client`, and its `reason` in words.
    """

    question: int
    client: str
    reason: str


@dataclass(frozen=True)
class BlockReport:
    """From an aggregator to the server: what one block's answers say of one combination.

    Attributes
    ----------
    block : int
        By the aggregator's count: others count their own.
    combination : tuple of str
        The attributes.
    keep : float
        p.
    table : tuple of float
        What the clients were sent: a distribution, a cell each.
    answers : tuple of (str, int)
        The clients that answered, each once, with the cells that they reported.

    Raises
    ------
    DeniableError
        If p and the table make no channel, or the answers are not such pairs.
    """

    block: int
    combination: Combination
    keep: float
    table: tuple[float, ...]
    answers: tuple[tuple[str, int], ...]

    def __post_init__(self) -> None:
        table_channel(self.table, self.keep)
        for each in self.answers:
            pair = isinstance(each, tuple) and len(each) == 2 and type(each[1]) is int
            if not (pair and 0 <= each[1] < len(self.table)):
                raise DeniableError(
                    f"{self._named} holds the answer {each!r}; give pairs of a client and a cell, "
                    f"0 .. {len(self.table) - 1}"
                )
        refuse_repeated([client for client, _ in self.answers], self._named)

    @property
    def _named(self) -> str:
        return f"the report of block {self.block} on {', '.join(self.combination)}"

    @property
    def counts(self) -> tuple[int, ...]:
        """The number of answers in each cell."""
        found = Counter(cell for _, cell in self.answers)
        return tuple(found[cell] for cell in range(len(self.table)))


def refuse_repeated(clients: Sequence[str], where: str) -> None:
    """Raise if one of the `clients` is named twice in `where`: it would count twice."""
    if len(set(clients)) < len(clients):
        twice = next(name for name in clients if clients.count(name) > 1)
        raise DeniableError(f"{where} names the client {twice!r} twice; name each once")


class Client:
    """A person or device that answers through the channel P = p I + (1 - p) 1 q'.

    It trusts nobody. It computes the exact epsilon of what it is asked from the tables it was sent,
    and refuses what its budget does not cover: a table with a zero cell, for one, which would give
    the truth away. A question that it has answered gets the same answer again, so that a lost
    message costs no privacy. Several aggregators may ask, each with numbers of its own: questions
    that differ in anything are two, and both are paid.

    Epsilon is spent by sequential composition: that of a view is the sum over its combinations,
    exactly so, because their answers are independent; that of several questions is at most their
    sum.

    Parameters
    ----------
    name : str
        By which it is asked, and which its messages carry.
    domain : Domain
        The attributes that may be asked about.
    values : sequence of int
        The true codes, one an attribute of the domain. They leave through the channel only.
    budget : float, > 0
        Epsilon that all answers together may cost; infinite for a client that minds nothing.
    source : source of randomness
        Draws the answers; it must be secret.
    """

    def __init__(
        self, name: str, domain: Domain, values: Sequence[int], budget: float, source: RandomSource
    ) -> None:
        if len(values) != len(domain):
            raise DeniableError(
                f"client {name!r} has {len(values)} values for {len(domain)} attributes; give one "
                "each"
            )
        for attribute, value in zip(domain, values, strict=True):
            what = f"client {name!r}, attribute {attribute.name!r}"
            refuse_foreign_codes(np.asarray([value]), attribute.size, what)
        if not budget > 0:
            raise DeniableError(f"client {name!r} has the budget {budget}; it must be above 0")
        self.name = name
        self.domain = domain
        self.budget = budget
        self.__values = dict(zip(domain.names, map(int, values), strict=True))
        self._source = source
        self._spent = 0.0
        self._answered: dict[Question, Answer] = {}

    def __repr__(self) -> str:
        return f"Client({self.name!r}, spent={self.spent:.6g}, budget={self.budget:.6g})"

    @property
    def spent(self) -> float:
        """Epsilon of all answers so far, rounded up."""
        return self._spent

    def answer(self, question: Question) -> Answer | Refusal:
        """Answer a `question`, or refuse it if it is malformed or beyond the budget."""
        if question in self._answered:
            return self._answered[question]
        try:
            channels = self._channels(question)
            spent = self._spent_after(channels)
        except DeniableError as reason:
            return Refusal(question.number, self.name, str(reason))
        given = Answer(question.number, self.name, self._through(channels, question))
        self._spent = spent
        self._answered[question] = given
        return given

    def _through(self, channels: tuple[KeepOrReplace, ...], question: Question) -> tuple[int, ...]:
        """Report through the channels: the one place where true values are read."""
        cells = []
        for channel, combination in zip(channels, question.view, strict=True):
            values = [np.array([self.__values[name]]) for name in combination]
            true = self.domain.project(combination).ravel(values)
            cells.append(int(channel.randomize(true, self._source)[0]))
        return tuple(cells)

    def _channels(self, question: Question) -> tuple[KeepOrReplace, ...]:
        if question.client != self.name:
            raise DeniableError(f"the question is for {question.client!r}")
        asked = [name for combination in question.view for name in combination]
        if len(asked) != len(set(asked)):
            raise DeniableError("the view asks an attribute twice")
        if len(question.view) != len(question.tables):
            raise DeniableError("combinations and tables differ in number")
        for combination, table in zip(question.view, question.tables, strict=True):
            size = self.domain.project(combination).size
            if len(table) != size:
                raise DeniableError(
                    f"the table of {', '.join(combination)} has {len(table)} cells, not {size}"
                )
        return tuple(table_channel(table, question.keep) for table in question.tables)

    def _spent_after(self, channels: tuple[KeepOrReplace, ...]) -> float:
        epsilon = ProductChannel(channels).epsilon if channels else 0.0
        if math.isinf(epsilon):
            raise DeniableError("a table has a cell of probability 0: epsilon infinite")
        spent = rounded_up(Fraction(self._spent) + Fraction(epsilon))
        if spent > self.budget:
            raise DeniableError(
                f"epsilon would be {spent:.6g}, above the budget of {self.budget:.6g}"
            )
        return spent
