"""Messages of RRBA ([rrba], Figure 2), and clients, who alone have access to their values."""

import math
from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from fractions import Fraction
from typing import Annotated

import numpy as np
from pydantic import ConfigDict, Field
from pydantic.dataclasses import dataclass

from deniable.channels import KeepOrReplace, ProductChannel, rounded_up
from deniable.errors import DeniableError
from deniable.records import Domain, refuse_foreign_codes
from deniable.rrba.questions import Combination, View
from deniable.rrba.tables import table_channel
from deniable.sampling import RandomSource

MESSAGE = ConfigDict(strict=True, extra="forbid")
Cell = Annotated[int, Field(ge=0)]


@dataclass(frozen=True, config=MESSAGE)
class Question:
    """A message from the aggregator to one `client`.

    The `number` is unique per aggregator; a repeated question has the same number. `keep` is p, the
    probability of a true answer. For each combination of the `view`, `tables` has the distribution
    of fake answers over its cells. A message raises `ValueError` if a field has another type. The
    client checks the contents.
    """

    number: int
    client: str
    keep: float
    view: View
    tables: tuple[tuple[float, ...], ...]


@dataclass(frozen=True, config=MESSAGE)
class Answer:
    """A message from a client to the aggregator: one randomized cell for each combination.

    `question` is the number of the question, `client` the name of the sender. `cells` are integers
    from 0, one per combination of the view.
    """

    question: int
    client: str
    cells: tuple[Cell, ...]


@dataclass(frozen=True, config=MESSAGE)
class Refusal:
    """A message from a client to the aggregator that depends on questions only, not on true values.

    It has the number of the `question`, the name of the `client`, and the `reason` in words.
    """

    question: int
    client: str
    reason: str


@dataclass(frozen=True, config=MESSAGE)
class BlockReport:
    """A message from an aggregator to the server: the answers of one block about one combination.

    The number of the `block` is unique per aggregator. The `table` of fake answers has one float
    per cell of the `combination`; `keep` is p. The `answers` are pairs of a client and its
    randomized cell. Raises `DeniableError` if p and table do not define a channel, or the table
    lacks such a cell.
    """

    block: int
    combination: Combination
    keep: float
    table: tuple[float, ...]
    answers: tuple[tuple[str, Cell], ...]

    def __post_init__(self) -> None:
        table_channel(self.table, self.keep)
        for each in self.answers:
            if each[1] >= len(self.table):
                raise DeniableError(
                    f"{self._named} has the answer {each!r}; give pairs of a client and a cell, "
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
    """Raise `DeniableError` if `clients` has a name twice; the message begins with `where`."""
    if len(set(clients)) < len(clients):
        twice = next(name for name in clients if clients.count(name) > 1)
        raise DeniableError(f"{where} names the client {twice!r} twice; name each once")


class Client:
    """A person or device that answers through the channel P = p I + (1 - p) 1 q'.

    The client `name` has a true code for each attribute of the `domain` in `values`. They leave the
    client through channels only, with draws from a secret `source`. A client trusts nobody. It
    computes the exact epsilon of a question from its tables. It refuses questions beyond its
    `budget`, the largest epsilon of all answers together, above 0 and possibly infinite. For
    example, it refuses a table with a zero cell, which would reveal the true value. A repeated
    question gets the same answer again, so a lost message uses no privacy budget. Questions of two
    aggregators that differ in any field are two questions.

    If a client continues, `answered` has its earlier answers. `agreed` raises `DeniableError` for a
    question that is not in the plan. A client refuses an infinite epsilon, unless it is
    `unbounded`. Epsilons add up by sequential composition. The sum over the combinations of a view
    is exact, because their answers are independent. Over several questions it is an upper bound.
    """

    def __init__(
        self,
        name: str,
        domain: Domain,
        values: Sequence[int],
        budget: float,
        source: RandomSource,
        answered: Mapping[Question, Answer] | None = None,
        agreed: Callable[[Question], None] = lambda _: None,
        *,
        unbounded: bool = False,
    ) -> None:
        if len(values) != len(domain):
            raise DeniableError(
                f"client {name!r} has {len(values)} values for {len(domain)} attributes; give one "
                "value per attribute"
            )
        for attribute, value in zip(domain, values, strict=True):
            what = f"client {name!r}, attribute {attribute.name!r}"
            refuse_foreign_codes(np.asarray([value]), attribute.size, what)
        if not budget > 0:
            raise DeniableError(f"client {name!r} has the budget {budget}; it must be above 0")
        self.name, self.domain, self.budget = name, domain, budget
        self.__values = dict(zip(domain.names, map(int, values), strict=True))
        self._source, self._agreed, self._unbounded = source, agreed, unbounded
        self._spent, self._answered = 0.0, dict[Question, Answer]()
        for question, answer in (answered or {}).items():
            self._spent = self._checked(question)[1]
            self._answered[question] = answer

    def __repr__(self) -> str:
        return f"Client({self.name!r}, spent={self.spent:.6g}, budget={self.budget:.6g})"

    @property
    def spent(self) -> float:
        """The epsilon of all answers so far, rounded up."""
        return self._spent

    def answer(self, question: Question) -> Answer | Refusal:
        """Answer a `question`, or refuse it if it is malformed or beyond the budget."""
        if question in self._answered:
            return self._answered[question]
        try:
            channels, spent = self._checked(question)
        except DeniableError as reason:
            return Refusal(question.number, self.name, str(reason))
        given = Answer(question.number, self.name, self._through(channels, question))
        self._spent = spent
        self._answered[question] = given
        return given

    def _through(self, channels: tuple[KeepOrReplace, ...], question: Question) -> tuple[int, ...]:
        """Return randomized cells from the channels. Only this function reads true values."""
        cells = []
        for channel, combination in zip(channels, question.view, strict=True):
            values = [np.array([self.__values[name]]) for name in combination]
            true = self.domain.project(combination).ravel(values)
            cells.append(int(channel.randomize(true, self._source)[0]))
        return tuple(cells)

    def _checked(self, question: Question) -> tuple[tuple[KeepOrReplace, ...], float]:
        """Return the channels, and the epsilon of all answers after this one."""
        if question.client != self.name:
            raise DeniableError(f"the question is for {question.client!r}")
        if len(set(map(frozenset, question.view))) < len(question.view):
            raise DeniableError("the view asks about a table twice")
        if any(len(set(each)) < len(each) for each in question.view):
            raise DeniableError("a table has an attribute twice")
        if len(question.view) != len(question.tables):
            raise DeniableError("combinations and tables differ in number")
        self._agreed(question)
        for combination, table in zip(question.view, question.tables, strict=True):
            size = self.domain.project(combination).size
            if len(table) != size:
                text = f"the table of {', '.join(combination)} has {len(table)} cells, not {size}"
                raise DeniableError(text)
        channels = tuple(table_channel(table, question.keep) for table in question.tables)
        epsilon = ProductChannel(channels).epsilon if channels else 0.0
        if math.isinf(epsilon) and self._unbounded:
            return channels, math.inf
        if math.isinf(epsilon):
            raise DeniableError("a table has a cell of probability 0: epsilon infinite")
        finite = math.isfinite(self._spent)
        spent = rounded_up(Fraction(self._spent) + Fraction(epsilon) if finite else None)
        if spent > self.budget:
            problem = f"epsilon would be {spent:.6g}, above the budget of {self.budget:.6g}"
            raise DeniableError(problem)
        return channels, spent
