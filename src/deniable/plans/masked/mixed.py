"""Plans that mask numbers and randomize the other columns of the same records."""

import math
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, replace
from functools import cached_property
from operator import attrgetter
from typing import Any, ClassVar

import numpy as np
import pandas as pd
import pyarrow as pa

from deniable.errors import DeniableError
from deniable.plans.auditing import audit_row
from deniable.plans.categorical import CategoricalPlan
from deniable.plans.document import epsilon_to_json
from deniable.plans.interface import UNIT as UNIT_OF_RECORDS, Plan, Watch
from deniable.plans.masked.plan import MaskedPlan
from deniable.plans.risks import BY_CURATOR, Guarantee, Origin, released_columns, sum_of_epsilons
from deniable.plans.settings import plan_class
from deniable.responses import MixedResponses, counts_in, with_counts
from deniable.sampling import KeyedDraws, RandomnessSource
from deniable.schema import RecordBatch, Schema

UNIT = "the masked numbers and the randomized values of one record together"
CENTRAL = "this is central differential privacy, of the file of all masked numbers."
UNIT_OF_VALUES = "the randomized values of one respondent"
LOCAL = "this is the local epsilon of a record: it holds for each record on its own."
SUM = "numbers and categories are drawn independently, so their epsilons are added."


def _of_part(place: str) -> Any:
    """Return a property or method of a mixed plan that is the one of a part at this `place`."""
    return property(attrgetter(place))


@dataclass(frozen=True, eq=False, repr=False)
class MixedPlan(Plan):
    """A plan that masks numbers and randomizes other columns, in one file with one row per record.

    Both parts are plans of their own. Their random numbers are independent, and another record can
    change both parts, so the exact epsilon of a record is the sum. `of` makes the plan from its
    parts.

    The `schema` has all columns, and the `target` is the sum of both parts: the masked `numbers`
    with their public class, and the `categories`, of kind columns or strata. `chosen_from`,
    `accept`, `order`, `part` and `made_by` are as in `deniable.plans.Plan`. Raises `DeniableError`
    if both parts have a column, or a statement does not follow from the parts.
    """

    kind: ClassVar[str] = "mixed"
    unit: ClassVar[str] = UNIT
    refuted = _of_part("numbers.refuted")
    refuse_too_few = _of_part("numbers.refuse_too_few")
    schema_of_tables = _of_part("categories.schema")
    weight = _of_part("categories.weight")
    record_protocol = _of_part("categories.record_protocol")
    channels = _of_part("categories.channels")
    table_of = _of_part("categories.table_of")
    matrices = _of_part("categories.matrices")
    large_blocks = _of_part("categories.large_blocks")

    numbers: MaskedPlan
    categories: CategoricalPlan[Any]

    def __post_init__(self) -> None:
        for each in self.numbers.schema.randomized:
            if self.categories.schema[each.name].randomized:
                raise DeniableError(f"column {each.name!r} is in both parts; name it once")
        stated = self.target, self.chosen_from
        if stated != (self._sum("target"), _origin(self.numbers, self.categories)):
            raise DeniableError("target and origin of a mixed plan follow from its two parts")
        if self.categories.published is not self.categories:
            raise DeniableError(
                "a mixed plan publishes the matrices of its categories; leave out keep_back"
            )
        super().__post_init__()

    @classmethod
    def of(cls, numbers: MaskedPlan, categories: CategoricalPlan[Any]) -> "MixedPlan":
        """Return the plan of two parts, `numbers` and `categories`, for columns of one file.

        Accepted risks are taken from both, order and respondents from `categories`. Raises
        `DeniableError` if both parts have a column.
        """
        schema, order, part = categories.schema, categories.order, categories.part
        own = {each.name: each for each in numbers.schema.randomized}
        columns = [own.get(each.name, each) for each in schema.columns]
        return cls(
            schema.model_copy(update={"columns": columns}),
            sum_of_epsilons([numbers.target, categories.target]),
            replace(numbers, order=order, part=part),
            categories,
            chosen_from=_origin(numbers, categories),
            accept=tuple(dict.fromkeys([*numbers.accept, *categories.accept])),
            order=order,
            part=part,
        )

    def _sum(self, name: str) -> float:
        return sum_of_epsilons(getattr(own, name) for own in (self.numbers, self.categories))

    @cached_property
    def epsilon(self) -> float:
        return self._sum("epsilon")

    @property
    def row_by_row(self) -> bool:
        return self.numbers.row_by_row and self.categories.row_by_row

    @property
    def unchanged_groups(self) -> tuple[str, ...]:
        return (*self.numbers.unchanged_groups, *self.categories.unchanged_groups)

    def epsilon_by_changed_attribute(self) -> dict[str, float]:
        own = self.numbers.epsilon_by_changed_attribute()
        return own | self.categories.epsilon_by_changed_attribute()

    @property
    def guarantees(self) -> tuple[Guarantee, ...]:
        numbers, categories = self.numbers.guarantees, self.categories.guarantees
        known = (SUM, *numbers[0].conditions) if math.isfinite(self.epsilon) else ()
        central = (replace(each, conditions=(CENTRAL, *each.conditions)) for each in numbers)
        own = ((each, each.unit.replace(UNIT_OF_RECORDS, UNIT_OF_VALUES)) for each in categories)
        local = (Guarantee(each.epsilon, unit, (LOCAL, *each.conditions)) for each, unit in own)
        return (Guarantee(self.epsilon, UNIT, known), *central, *local)

    @property
    def risks(self) -> dict[str, str]:
        return self.numbers.risks | self.categories.risks

    @property
    def passed(self) -> tuple[str, ...]:
        released = {*self.numbers.passed, *self.categories.passed}
        return tuple(each.name for each in self.schema.columns if each.name in released)

    @property
    def schema_of_originals(self) -> Schema:
        read = self.numbers.schema_of_originals
        columns = [read[each.name] if each.continuous else each for each in self.schema.columns]
        return self.schema.model_copy(update={"columns": columns})

    def memory(self, records: int) -> int:
        return self.numbers.memory(records) + 6 * len(self.categories.schema.randomized) * records

    def mechanisms(self) -> tuple[tuple[str, float, str], ...]:
        about = f"{self.numbers.method}: {self.numbers.definition}"
        own = ", ".join(self.numbers.names), self.numbers.epsilon, about
        return (own, *self.categories.mechanisms())

    def randomize(
        self, batches: Iterable[RecordBatch], source: RandomnessSource, watch: Watch | None = None
    ) -> Iterator[pa.Table]:
        """Yield one table of all protected columns, from one key; parameters as in `Plan`.

        `watch` receives the randomized columns of the `batches`, which draw from the `source`.
        """
        held, draws = list(batches), KeyedDraws.of(source)
        (numbers,) = self.numbers.randomize(held, draws)
        categories = pa.concat_tables(self.categories.randomize(held, draws, watch))
        found = dict(zip(categories.column_names, categories.columns, strict=True))
        found |= dict(zip(numbers.column_names, numbers.columns, strict=True))
        known = [each.name for each in self.schema.columns]
        # A cluster without categories is in the place of its first column.
        place = {name: name if name in known else name.split(" x ")[0] for name in found}
        names = sorted(found, key=lambda name: known.index(place[name]))
        table = pa.table({name: found[name] for name in names}).combine_chunks()
        counts = counts_in(numbers)
        yield with_counts(table, None if counts is None else np.array(counts))

    def public_tables(self, protected: pa.Table) -> dict[str, pd.DataFrame]:
        return self.numbers.public_tables(protected) | self.categories.public_tables(protected)

    def responses(self, source: Any) -> MixedResponses:
        return MixedResponses(self.numbers.responses(source), self.categories.responses(source))

    def original_records(self, batches: Iterable[RecordBatch]) -> Any:
        held = list(batches)
        return tuple(each.original_records(held) for each in (self.numbers, self.categories))

    def compare_with_original(
        self,
        protected: MixedResponses,
        original: Any,
        estimates: Mapping[str, pd.DataFrame],
        generator: np.random.Generator,
    ) -> pd.DataFrame:
        """Compare both parts of `protected` records with the `original` ones.

        `estimates` and `generator` are as in `Plan`.
        """
        given = estimates, generator
        numbers = self.numbers.compare_with_original(protected.masked, original[0], *given)
        own = self.categories.compare_with_original(protected.categories, original[1], *given)
        return pd.concat([numbers, own], ignore_index=True)

    def audit(self) -> pd.DataFrame:
        """Audit both parts, and the sums of their independently computed epsilons of a record."""
        parts = {"numbers": self.numbers.audit(), "categories": self.categories.audit()}
        records = [table[table["unit"] == "record"].iloc[0] for table in parts.values()]
        exact = sum_of_epsilons(float(row["exact_epsilon"]) for row in records)
        shipped = sum(float(row["shipped_epsilon"]) for row in records)
        row = audit_row("record", "all columns", self.epsilon, exact, shipped, "sum of both parts")
        for name, table in parts.items():
            whole = table["unit"].str.startswith("record")
            table["unit"] = table["unit"].mask(whole, table["unit"] + f", {name}")
        return pd.concat([*parts.values(), pd.DataFrame([row])], ignore_index=True)

    def to_json(self) -> dict[str, Any]:
        return {
            name: {
                "kind": plan.kind,
                "target": epsilon_to_json(plan.target),
                "epsilon": epsilon_to_json(plan.epsilon),
                "chosen_from": plan.chosen_from,
                **plan.to_json(),
            }
            for name, plan in {"numbers": self.numbers, "categories": self.categories}.items()
        }

    @classmethod
    def from_json(cls, own: Mapping[str, Any], fields: Mapping[str, Any]) -> "MixedPlan":
        schema, public = fields["schema"], own["numbers"]["class_column"]
        names = [each.name for each in schema.columns if each.continuous]
        kept = [*released_columns(schema, fields["accept"]), *([public] if public else [])]
        others = [each.name for each in schema.randomized if each.name not in {*names, public}]
        schemas = schema.for_masking(names, kept), schema.only(others)
        parts: dict[str, Any] = {}
        for name, schema in zip(("numbers", "categories"), schemas, strict=True):
            given = own[name]
            more = {"target": float(given["target"]), "chosen_from": given["chosen_from"]}
            kind = plan_class(given["kind"])
            parts[name] = kind.from_json(given, {**fields, **more, "schema": schema})
        return cls(**parts, **fields)


def _origin(numbers: MaskedPlan, categories: CategoricalPlan[Any]) -> Origin:
    return BY_CURATOR if numbers.chosen_from == BY_CURATOR else categories.chosen_from
