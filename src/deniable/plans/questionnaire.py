"""The plan of a split questionnaire: a random form for each record, at the record's whole epsilon.

The form of a record is drawn uniformly from a public list, without looking at values. The result of
a record is its form and the randomized values of this form, so the probability of the form cancels
in every ratio of probabilities. The epsilon of a record is the largest epsilon of a form.
"""

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from itertools import combinations
from typing import TYPE_CHECKING, Any, ClassVar, Literal

import numpy as np
import pandas as pd

from deniable.arrays import Codes, Floats
from deniable.channels import Channel, DenseChannel
from deniable.errors import DeniableError, named_types, refuse_unknown, shown
from deniable.plans.allocation import Split, allocate_to_blocks
from deniable.plans.blocks import (
    Block,
    ResponseKind,
    blocks_of,
    groups_of,
    refuse_unknown_columns,
)
from deniable.plans.categorical import CategoricalPlan, clusters_from_json, clusters_to_json
from deniable.plans.choosing import BEST, INVARIANT, Choice, choose
from deniable.plans.interface import Order
from deniable.plans.making import kinds_of, target_of_record
from deniable.plans.risks import Guarantee
from deniable.privacy import Requirement
from deniable.randomized_response import Protocol
from deniable.records import Attribute, Domain, Microdata
from deniable.responses import NOT_ASKED, Forms, ProtectedFormat
from deniable.sampling import Numbers, RandomnessSource
from deniable.schema import Schema, schema_from_dict

if TYPE_CHECKING:
    from deniable.pram import Stratum
    from deniable.responses import Responses, Table

Ask = int | Literal["pairs"] | Sequence[Sequence[str | Sequence[str]]]
FormBlocks = tuple[tuple[str, ...], ...]
MAX_FORMS = 2000


@dataclass(frozen=True, eq=False, repr=False)
class QuestionnairePlan(CategoricalPlan[Forms]):
    """The forms of a split questionnaire.

    Each record has randomized values of the columns of its form. All other columns have the value
    "(not asked)".

    The parameters are as in `CategoricalPlan`. The `protocol` has the forms, and `why` one reason
    per block.

    Raises
    ------
    DeniableError
        As in `CategoricalPlan`, and if a column has the category "(not asked)", a cluster has other
        randomized values than categories, or a weight is released.
    """

    kind: ClassVar[str] = "questionnaire"
    invariant: ClassVar[bool] = False

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


@named_types
def make_questionnaire(
    schema: Schema | str | Mapping[str, Any],
    epsilon: float | Requirement,
    ask: Ask = 1,
    *,
    clusters: Sequence[Sequence[str]] = (),
    split: Split = "even",
    tables: Sequence[Sequence[str]] = (),
    mechanism: str = BEST,
    mechanisms: Mapping[str, str] | None = None,
    responses: ResponseKind = "any",
    prior: Mapping[str, Floats] | None = None,
    accept: Sequence[str] = (),
    order: Order = "permuted",
) -> QuestionnairePlan:
    """Return the plan of a split questionnaire with at most this exact epsilon of a record.

    Each record has one form, drawn without looking at values, and randomized values of the columns
    of its form alone. Each form has the whole epsilon. So estimates of a column have smaller errors
    than with an epsilon divided among all columns, although fewer records answer.

    Parameters
    ----------
    schema : Schema, or its YAML text or plain values
    epsilon : float, above 0, or Requirement
        Of a whole record, as in `make_plan`.
    ask : int, "pairs" or sequence of forms
        The number of columns or clusters of a form; the forms are all such combinations. With
        "pairs", a form is two columns that share one channel. Or the forms themselves, each a
        sequence of columns, and of clusters as sequences of columns.
    clusters : sequence of sequences of str
        Columns that share a channel for their joint cells, if `ask` is a number.
    split, tables
        The budget allocation within a form, as in `make_plan`.
    mechanism, mechanisms, responses, prior, accept, order
        As in `make_plan`.

    Raises
    ------
    DeniableError
        If the plan is impossible, there are over `MAX_FORMS` forms, or a risk is not accepted.

    Examples
    --------
    >>> from deniable.schema import schema_from_dict
    >>> columns = [{"name": n, "kind": "categorical", "categories": ["x", "y"]} for n in "abcd"]
    >>> about = {"format": "deniable-schema", "population": "all", "file": {"kind": "arrow"}}
    >>> plan = make_questionnaire(schema_from_dict(about | {"columns": columns}), 2.0, ask=2)
    >>> plan.epsilon, len(plan.protocol.forms), plan.epsilon_by_changed_attribute()["a"]
    (2.0, 6, 1.0)
    """
    schema = schema_from_dict(schema)
    target, required = target_of_record(schema, epsilon)
    refuse_unknown("split within a form", split, ("even", "size", "optimal"))
    priors, own = prior or {}, mechanisms or {}
    refuse_unknown_columns(schema.domain().names, [*tables, [*priors], [*own]])
    forms = forms_of(schema, ask, clusters)
    blocks = [
        blocks_of(schema.only(each), [each][: len(each) - 1], responses, priors)[0]
        for each in dict.fromkeys(block for form in forms for block in form)
    ]
    kinds = [
        kinds_of([block], mechanism, {n: k for n, k in own.items() if n in block.names})[0]
        for block in blocks
    ]
    protocol, why = choose_in_forms(schema, forms, blocks, kinds, target, split, tables, [*own])
    return QuestionnairePlan(
        schema=schema,
        target=target,
        protocol=protocol,
        why=why,
        chosen_from="a public prior" if priors else "no data",
        accept=tuple(dict.fromkeys(accept)),
        order=order,
        requirement=required,
    )


def forms_of(
    schema: Schema, ask: Ask, clusters: Sequence[Sequence[str]] = ()
) -> tuple[FormBlocks, ...]:
    """Return the columns of the blocks of each form; arguments as in `make_questionnaire`.

    Raises `DeniableError` if `ask` or `clusters` do not fit the `schema`, or forms are too many.
    """
    domain = schema.domain()
    if not isinstance(ask, int | str):
        found = tuple(
            tuple((own,) if isinstance(own, str) else tuple(own) for own in form) for form in ask
        )
        if clusters or not found or not all(form and all(form) for form in found):
            raise DeniableError(f"forms {shown(ask)}: give columns to each, without other clusters")
        refuse_unknown_columns(domain.names, [sum(form, ()) for form in found])
        return tuple(
            tuple(tuple(sorted(own, key=domain.position)) for own in form) for form in found
        )
    groups, size = groups_of(schema, clusters), 2 if ask == "pairs" else ask
    if not (isinstance(size, int) and 1 <= size < len(groups)):
        raise DeniableError(
            f"ask {shown(ask)} of {len(groups)} columns or clusters; give a number from 1 to "
            f"{len(groups) - 1}, or pairs. A plan of kind columns asks all of them"
        )
    if (number := math.comb(len(groups), size)) > MAX_FORMS:
        raise DeniableError(f"{number:,} forms; allowed: {MAX_FORMS:,}. Ask fewer columns")
    found = tuple(combinations(groups, size))
    return found if ask != "pairs" else tuple((sum(form, ()),) for form in found)


def choose_in_forms(
    schema: Schema,
    forms: Sequence[FormBlocks],
    blocks: Sequence[Block],
    kinds: Sequence[str],
    epsilon: float,
    split: Split,
    tables: Sequence[Sequence[str]],
    named: Sequence[str] = (),
) -> tuple[Forms, tuple[str, ...]]:
    """Return `forms` that each have all of `epsilon`, and the reason of the channel of each block.

    `forms` are as in `forms_of`. The `kinds` are of `blocks`, which have all clusters of forms.
    Columns `named` must have this kind. `schema`, `split` and `tables` are as in
    `make_questionnaire`.
    """
    if INVARIANT in kinds:
        raise DeniableError(
            f"mechanism {INVARIANT} is made from all records together, but each record has a part "
            "of the columns; choose another mechanism"
        )
    kind_of = {block.names: (block, kind) for block, kind in zip(blocks, kinds, strict=True)}
    made: dict[tuple[tuple[str, ...], float], Choice] = {}
    keys_of = []
    for form in forms:
        own, own_kinds = zip(*(kind_of[names] for names in form), strict=True)
        asked = sum(form, ())
        within = [tuple(t) for t in tables if {*asked} >= {*t}]
        within += [(name,) for name in asked if not any(name in each for each in within)]
        shares: Sequence[float] = [0.0] * len(form)
        if any(block.part.size > 1 for block in own):
            shares = allocate_to_blocks(own, own_kinds, epsilon, split, within)
        keys_of.append(list(zip(form, shares, strict=True)))
        for block, kind, key in zip(own, own_kinds, keys_of[-1], strict=True):
            if key not in made:
                must = not {*named}.isdisjoint(block.names)
                made[key] = choose(block, key[1], kind, must=must)
    protocols = tuple(
        Protocol(kind_of[names][0].part, (names,), (choice.channel,))
        for (names, _), choice in made.items()
    )
    number_of = {key: number for number, key in enumerate(made)}
    numbers = tuple(tuple(number_of[key] for key in keys) for keys in keys_of)
    return Forms(schema.domain(), protocols, numbers), tuple(each.why for each in made.values())
