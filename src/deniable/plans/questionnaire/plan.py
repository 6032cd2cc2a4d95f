"""The plan of a split questionnaire: a random form for each record, at the record's whole epsilon.

The form of a record is drawn uniformly from a public list, without looking at values. The result of
a record is its form and the randomized values of this form, so the probability of the form cancels
in every ratio of probabilities. The epsilon of a record is the largest epsilon of a form.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING, Any, ClassVar

import numpy as np
import pandas as pd

from deniable.arrays import Codes
from deniable.channels import Channel, DenseChannel
from deniable.errors import DeniableError, shown
from deniable.plans.categorical import CategoricalPlan, clusters_from_json, clusters_to_json
from deniable.plans.risks import Guarantee
from deniable.randomized_response import Protocol
from deniable.records import Attribute, Domain, Microdata
from deniable.responses import NOT_ASKED, Forms, ProtectedFormat
from deniable.sampling import Numbers, RandomnessSource

if TYPE_CHECKING:
    from deniable.pram import Stratum
    from deniable.responses import Responses, Table


@dataclass(frozen=True, eq=False, repr=False)
class QuestionnairePlan(CategoricalPlan[Forms]):
    """The forms of a split questionnaire.

    Each record has randomized values of the columns of its form. All other columns have the value
    "(not asked)".

    Parameters
    ----------
    schema, target, protocol, why, chosen_from, accept, order, part, requirement, made_by
        As in `CategoricalPlan`. The `protocol` has the forms, and `why` one reason per block.

    Raises
    ------
    DeniableError
        As in `CategoricalPlan`, and if a column has the category "(not asked)", a cluster has other
        randomized values than categories, or a weight is released.
    """

    kind: ClassVar[str] = "questionnaire"

    def __post_init__(self) -> None:
        super().__post_init__()
        for block in self.protocol.blocks:
            if len(block.domain) > 1:
                block.refuse_other_reports()
        for column in self.layout.columns:
            if NOT_ASKED in column.texts[:-1]:
                raise DeniableError(
                    f"column {column.name!r} has the category {NOT_ASKED!r}, which here means that "
                    "a record has another form; rename the category"
                )
        for name in self.passed:
            if self.schema[name].kind == "weight":
                raise DeniableError(
                    f"column {shown(name)} is a released weight, and a questionnaire has no "
                    "weighted estimates; declare the column as left_out"
                )

    @cached_property
    def protocols(self) -> "Mapping[Stratum, Protocol]":
        return {(f"form {at}",): own for at, own in enumerate(self.protocol.protocols, start=1)}

    @property
    def invariant(self) -> bool:
        return False

    @property
    def blocks(self) -> tuple[tuple[str, ...], ...]:
        return tuple(block.clusters[0] for block in self.protocol.blocks)

    @property
    def guarantees(self) -> tuple[Guarantee, ...]:
        record, *others = super().guarantees
        number = len(self.protocol.forms)
        drawn = (
            f"Each record has one of {number} forms, drawn without looking at its values. It has "
            f"randomized values of the columns of this form, and all others are {NOT_ASKED!r}."
        )
        return (Guarantee(record.epsilon, record.unit, (drawn, *record.conditions)), *others)

    def mechanisms(self) -> tuple[tuple[str, float, str], ...]:
        own, forms = zip(self.protocol.blocks, self.why, strict=True), self.protocol.forms
        return tuple(
            (
                " x ".join(block.clusters[0]),
                block.epsilon,
                f"{why}; in {sum(at in form for form in forms)} of {len(forms)} forms",
            )
            for at, (block, why) in enumerate(own)
        )

    @property
    def _one_channel_each(self) -> bool:
        """Whether each block has the same channel in all forms."""
        return len({*self.blocks}) == len(self.blocks)

    def channels(self) -> dict[str, Channel]:
        if not self._one_channel_each:
            return super().channels()
        own = zip(self.blocks, self.protocol.blocks, strict=True)
        return {" x ".join(names): block.channels[0] for names, block in own}

    def matrices(self) -> pd.DataFrame:
        table = super().matrices()
        if self._one_channel_each:
            table = table.assign(stratum="").drop_duplicates(ignore_index=True)
        return table

    @cached_property
    def _columns(self) -> tuple[ProtectedFormat, list[dict[str, Codes]]]:
        columns, codes = self.protocol.columns(self.schema)
        return ProtectedFormat(self.schema, columns, self.passed), codes

    @property
    def layout(self) -> ProtectedFormat:
        return self._columns[0]

    def draw(self, true: Microdata, source: RandomnessSource, records: Numbers) -> Microdata:
        numbers, forms = np.asarray(records), self.protocol.forms
        uniform = DenseChannel(np.full((1, len(forms)), 1 / len(forms)))
        # No block has the name (), so the form is independent of all randomized values.
        form = uniform.report(np.zeros(len(true), dtype=np.uint8), source, (), numbers)
        columns = self.layout.columns
        codes = {each.name: np.full(len(true), len(each.texts) - 1) for each in columns}
        for at, (block, own) in enumerate(zip(self.protocol.blocks, self._columns[1], strict=True)):
            rows = np.flatnonzero(np.array([at in each for each in forms])[form])
            part = tuple(true.column(name)[rows] for name in block.domain.names)
            drawn = block.randomize(Microdata(block.domain, part), source, numbers[rows])
            for name, places in own.items():
                codes[name][rows] = places[drawn.column(name)]
        domain = Domain(tuple(Attribute(each.name, each.texts) for each in columns))
        return Microdata(domain, tuple(codes.values()))

    def table_of(self, names: Sequence[str]) -> "Table":
        """Return the table of some columns, `names`, through all forms that have them."""
        return self.protocol.table(names)[0]

    def responses(self, source: Any) -> "Responses":
        from deniable.responses import FormResponses  # noqa: PLC0415 - releases do not need it

        return FormResponses(source, self.layout, self.protocol, self._columns[1])

    def audit(self) -> pd.DataFrame:
        """Audit each form: its probability is the same for all values, so it cancels in ratios."""
        table = super().audit()
        return table.assign(
            of=table["of"].str.replace(r" in form \d+$", "", regex=True)
        ).drop_duplicates(ignore_index=True)

    def to_json(self) -> dict[str, Any]:
        pairs = zip(self.protocol.blocks, self.why, strict=True)
        blocks = [clusters_to_json(block, (why,))[0] for block, why in pairs]
        return {"blocks": blocks, "forms": [list(form) for form in self.protocol.forms]}

    @classmethod
    def from_json(cls, own: Mapping[str, Any], fields: Mapping[str, Any]) -> "QuestionnairePlan":
        domain = fields["schema"].domain()
        read = [clusters_from_json([b], domain.project(b["attributes"])) for b in own["blocks"]]
        if any(not 0 <= at < len(read) for form in own["forms"] for at in form):
            raise DeniableError("a form has a block that does not exist; make a new plan")
        forms = Forms(domain, tuple(block for block, _ in read), tuple(map(tuple, own["forms"])))
        return cls(protocol=forms, why=tuple(why for _, (why,) in read), **fields)
