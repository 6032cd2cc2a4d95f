"""Write and read messages of RRBA as lines of JSON, and check them by the plan.

docs/rrba.md describes the format.
"""

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from deniable.errors import DeniableError
from deniable.files import json_line
from deniable.rrba.client import Answer, BlockReport, Question, Refusal
from deniable.rrba.questions import CollectionDesign, Combination

FORMAT, VERSION = "deniable-rrba", 1
KINDS: Mapping[str, type] = {
    "question": Question,
    "answer": Answer,
    "refusal": Refusal,
    "report": BlockReport,
}


@dataclass(frozen=True)
class Agreement:
    """The public plan that all parties share.

    `plan` is the SHA-256 of its document, and `design` has its questions. In a `test`, random
    numbers come from a seed, and its messages are refused outside tests.
    """

    plan: str
    design: CollectionDesign
    test: bool = False

    def line(self, aggregator: str, message: Question | Answer | Refusal | BlockReport) -> str:
        """Return a `message` from or to the named `aggregator` as a line without its line end."""
        kind = next(name for name, each in KINDS.items() if isinstance(message, each))
        return json_line(self._head | {"aggregator": aggregator, "kind": kind} | vars(message))

    def read(self, line: bytes | str, *kinds: type[Any]) -> tuple[str, Any]:
        """Return the aggregator and the message of a `line`, if it is of one of the `kinds`.

        Raises `DeniableError` with a short reason if it is another message, or malformed.
        """
        try:
            values = dict(json.loads(line))
            head = {name: values.pop(name, None) for name in self._head}
            aggregator, kind = values.pop("aggregator"), KINDS.get(values.pop("kind"))
        except (ValueError, TypeError, KeyError, AttributeError, RecursionError):
            raise DeniableError("malformed") from None
        for name, own in self._head.items():
            if head[name] != own or type(head[name]) is not type(own):
                raise DeniableError(f"another {name}")
        if kind not in kinds or not isinstance(aggregator, str):
            raise DeniableError("another kind" if kind else "malformed")
        try:
            return aggregator, kind(**{name: _tuples(each) for name, each in values.items()})
        except (DeniableError, TypeError, ValueError, OverflowError, RecursionError):
            raise DeniableError("malformed") from None

    @property
    def _head(self) -> dict[str, Any]:
        return {"format": FORMAT, "version": VERSION, "plan": self.plan, "test": self.test}

    def refuse_other_question(self, question: Question) -> None:
        """Raise `DeniableError` if the plan does not have this `question`."""
        if question.view not in self.design.asked:
            raise DeniableError("the plan has no such question")
        for names, table in zip(question.view, question.tables, strict=True):
            self.refuse_other_table(names, question.keep, table)

    def refuse_other_table(self, names: Combination, keep: float, table: Sequence[float]) -> None:
        """Raise `DeniableError` if p, `keep`, or q, `table`, of columns `names` break the plan.

        q must have the plan's number of cells, none of them below the plan's floor.
        """
        own = self.design.randomized.get(names)
        if own is None or keep != own.keep or len(table) != own.cells:
            raise DeniableError("the plan has no such table")
        if min(table) < own.floor / own.cells:
            raise DeniableError("a table has a cell below the plan's floor")


def _tuples(value: Any) -> Any:
    return tuple(map(_tuples, value)) if isinstance(value, list) else value
