"""A plan: the channel of each column, and what a record spends, so that anybody can check it."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from functools import cached_property
from pathlib import Path
from typing import Any, Literal, get_args

from deniable import __version__
from deniable.errors import DataError, DeniableError, refuse_unknown, shown
from deniable.files import write_json
from deniable.randomized_response import Protocol
from deniable.records import shortened
from deniable.schema import Schema, schema_from
from deniable.texts import read_given_json

FORMAT, VERSION = "deniable-plan", 1
UNIT = "the whole record of one respondent"

Order = Literal["permuted", "as_in_file"]
Origin = Literal["no data", "a public prior", "the data, by a curator"]

FINDINGS: Mapping[str, str] = {
    "drafted": "categories or bounds were drafted from the records, and no epsilon covers that",
    "chosen_by_data": "channels were chosen by the records, and no epsilon covers that",
    "records_dropped": "records with missing values are left out, so their number is told",
    "identifiers_released": "identifiers go out as they are: whose a record is, is no secret",
    "weights_released": "weights go out as they are: a rare weight tells whose a record is",
}
"""What must be accepted by name where it is so of a plan, and why."""


@dataclass(frozen=True, eq=False)
class Plan:
    """What is done to each column of a file.

    Parameters
    ----------
    schema : Schema
    protocol : Protocol
        Of the schema's randomized columns, alone or in clusters, each through a channel.
    asked : float
        The epsilon of a record that was asked for.
    why : tuple of str
        Of each cluster's channel: why it is that one.
    chosen_from : str
        What channels were chosen by.
    accept : tuple of str
        Names of findings (`FINDINGS`) that whoever answers for the file accepts.
    order : str
        Whether records stand in a random order or in that of the file.
    made_by : str
        Program and version.

    Raises
    ------
    DeniableError
        If the protocol is of other columns than the schema's, its exact epsilon is above the one
        asked for, or something is so that is not accepted.
    """

    schema: Schema
    protocol: Protocol
    asked: float
    why: tuple[str, ...]
    chosen_from: Origin = "no data"
    accept: tuple[str, ...] = ()
    order: Order = "permuted"
    made_by: str = field(default=f"deniable {__version__}")

    def __post_init__(self) -> None:
        refuse_unknown("origin of channels", self.chosen_from, get_args(Origin))
        refuse_unknown("order", self.order, get_args(Order))
        if self.protocol.domain != self.schema.domain():
            raise DeniableError("the plan's channels are of other columns than its schema has")
        if len(self.why) != len(self.protocol.clusters):
            raise DeniableError("a plan says of each cluster why its channel is that one")
        if self.epsilon > self.asked:
            raise DeniableError(
                f"the plan's exact epsilon is {self.epsilon!r}, above {self.asked!r}, which was "
                "asked for"
            )
        unknown = [name for name in self.accept if name not in FINDINGS]
        if unknown:
            raise DeniableError(
                f"accept: {unknown[0]!r} is no finding; allowed: {', '.join(FINDINGS)}"
            )
        missing = [name for name in self.findings if name not in self.accept]
        if missing:
            told = "; ".join(f"{name} ({self.findings[name]})" for name in missing)
            told += self._remedy(missing)
            raise DeniableError(
                f"{told}. Change the schema, or, as whoever answers for the file, --accept "
                f"{' '.join(missing)}"
            )

    def _remedy(self, missing: list[str]) -> str:
        """Return which columns of the schema findings are about, if they are about some."""
        columns = self.schema.randomized
        dropped = [column.name for column in columns if column.missing.policy == "drop"]
        told = {
            "drafted": ". Edit what is known without the records, and write status: declared; "
            f"drafted are {shortened(', '.join(self.schema.drafted))}",
            "records_dropped": f". Policy drop has {shortened(', '.join(dropped))}",
        }
        return "".join(told.get(name, "") for name in missing)

    @cached_property
    def epsilon(self) -> float:
        """Exact epsilon of one whole record, rounded up."""
        return self.protocol.epsilon

    @property
    def unit(self) -> str:
        """What `epsilon` is of."""
        return UNIT

    @cached_property
    def findings(self) -> dict[str, str]:
        """What is so of this plan and must be accepted, by name."""
        columns = self.schema.columns
        holds = {
            "drafted": bool(self.schema.drafted),
            "chosen_by_data": self.chosen_from == "the data, by a curator",
            "records_dropped": any(c.missing.policy == "drop" and c.randomized for c in columns),
            "identifiers_released": "identifiers_released" in self.accept,
            "weights_released": "weights_released" in self.accept,
        }
        return {name: why for name, why in FINDINGS.items() if holds[name]}

    @property
    def not_covered(self) -> tuple[str, ...]:
        """What no epsilon counts, in sentences."""
        drafted = ", ".join(self.schema.drafted)
        return tuple(
            f"{why} ({drafted})" if name == "drafted" else why
            for name, why in self.findings.items()
        )

    @property
    def passed(self) -> tuple[str, ...]:
        """Names of the columns that go out as they are, in the order of the file."""
        kinds = {"identifier": "identifiers_released", "weight": "weights_released"}
        columns = self.schema.columns
        return tuple(c.name for c in columns if kinds.get(c.kind, "") in self.accept)

    def to_json(self) -> dict[str, Any]:
        """Return the plan as plain JSON values, which say what they are."""
        spent = zip(self.protocol.clusters, self.protocol.channels, self.why, strict=True)
        return {
            "format": FORMAT,
            "version": VERSION,
            "made_by": self.made_by,
            "unit": self.unit,
            "epsilon": {
                "asked": self.asked,
                "record": self.epsilon,
                "by_changed_attribute": self.protocol.epsilon_by_changed_attribute(),
            },
            "chosen_from": self.chosen_from,
            "accept": list(self.accept),
            "not_covered": list(self.not_covered),
            "order": self.order,
            "blocks": [
                {"attributes": list(names), "epsilon": channel.epsilon, "why": why}
                for names, channel, why in spent
            ],
            "protocol": self.protocol.to_json(),
            "schema": self.schema.to_json(),
        }


def plan_from(values: Any, where: str = "the plan") -> Plan:
    """Rebuild a plan from `values` of `Plan.to_json`; its epsilons are computed anew.

    A fault's message begins with `where`.

    Raises
    ------
    DataError
        If it is no plan, or states other epsilons than its channels have.
    """
    if not isinstance(values, dict) or values.get("format") != FORMAT:
        raise DataError(f"{where}: no plan; deniable plan makes one")
    if values.get("version") != VERSION:
        raise DataError(
            f"{where}: a plan of version {shown(values.get('version'))}; this deniable reads "
            f"version {VERSION}"
        )
    try:
        plan = Plan(
            schema=schema_from(values["schema"], f"{where}, schema"),
            protocol=Protocol.from_json(values["protocol"]),
            asked=float(values["epsilon"]["asked"]),
            why=tuple(str(block["why"]) for block in values["blocks"]),
            chosen_from=values["chosen_from"],
            accept=tuple(values["accept"]),
            order=values["order"],
            made_by=str(values["made_by"]),
        )
        stated = plan.to_json()
    except DataError:
        raise
    except (KeyError, TypeError, ValueError, AttributeError, ArithmeticError, IndexError) as error:
        told = f"{type(error).__name__}: {error}" if isinstance(error, KeyError) else error
        raise DataError(
            f"{where}: damaged or edited since it was made ({told}); make it again"
        ) from None
    if stated != values:
        raise DataError(
            f"{where}: states other things than follow from its channels and its schema; make it "
            "again"
        )
    return plan


def read_plan(path: Path | str) -> Plan:
    """Read the plan at a `path`, as `write_plan` wrote it, and hold it to what it states."""
    return plan_from(read_given_json(path), str(path))


def write_plan(path: Path | str, plan: Plan) -> None:
    """Write a `plan` to a file at a `path`, whole or not at all."""
    write_json(Path(path), plan.to_json())
