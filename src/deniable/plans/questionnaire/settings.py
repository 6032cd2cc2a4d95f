"""The settings of a split questionnaire, as a config states them."""

from dataclasses import replace
from typing import TYPE_CHECKING, Annotated, Literal

from pydantic import Field

from deniable.plans.settings import PlanInputs, RecordOptions
from deniable.validation import Epsilon

if TYPE_CHECKING:  # a config is checked without a computation
    from deniable.plans.questionnaire.plan import QuestionnairePlan

Columns = Annotated[list[str], Field(min_length=1)]
FormBlocks = Annotated[list[str | Columns], Field(min_length=1)]


class QuestionnaireSettings(RecordOptions):
    """A split questionnaire: each record has randomized values of a random form of columns.

    Forms are drawn without looking at values. The form has all of `epsilon`, and other columns are
    "(not asked)". See docs/own-data.md#fewer-columns-of-each-record.
    """

    kind: Literal["questionnaire"]
    """Kind of the plan."""
    epsilon: Epsilon
    """Exact ε of a record, which each form has."""
    ask: (
        Annotated[int, Field(ge=1)]
        | Literal["pairs"]
        | Annotated[list[FormBlocks], Field(min_length=1)]
    ) = 1
    """Number of columns or clusters of a form. With `pairs`, a form is two columns that share a
    channel. Or a list of forms, each a list of columns and of clusters, `[[a, [b, c]], [d]]`."""
    joint: list[Columns] = Field(default_factory=list)
    """Groups of columns that share a channel over their joint cells, if `ask` is a number."""
    mechanism: str = "best"
    """Kind of all channels that can have it, as in a plan of kind `columns`."""
    mechanisms: dict[str, str] = Field(default_factory=dict)
    """Kinds of the channels of single columns."""
    split: Literal["even", "size", "optimal"] = "even"
    """Budget allocation within a form, as in a plan of kind `columns`."""
    tables: list[Columns] = Field(default_factory=list)
    """Columns of each table for the split `optimal`. The default is marginal distributions."""
    responses: Literal["any", "categories"] = "any"
    """Randomized values, as in a plan of kind `columns`."""
    order: Literal["permuted", "as_in_file"] = "permuted"
    """Order of the protected records. By the order of the file, all people who know this order can
    re-identify records."""

    def plan(self, given: PlanInputs) -> "QuestionnairePlan":
        from deniable.plans.questionnaire.making import make_questionnaire  # noqa: PLC0415

        options = self.model_dump(exclude={"kind", "columns", "part", "joint"})
        schema = self.own_schema(given.schema)
        plan = make_questionnaire(schema, clusters=self.joint, accept=given.accept, **options)
        return replace(plan, part=self.answering)
