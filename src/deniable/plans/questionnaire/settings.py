"""The settings of a split questionnaire, as a config states them."""

from typing import Annotated, Literal, Self

from pydantic import Field, model_validator

from deniable import plans
from deniable.plans.settings import ChannelOptions, PlanInputs, only_option

Names = Annotated[list[str], Field(min_length=1)]
FormBlocks = Annotated[list[str | Names], Field(min_length=1)]


class QuestionnaireSettings(ChannelOptions):
    """A split questionnaire: each record has randomized values of a random form, a part of columns.

    Forms are drawn without looking at values. Each form has all of `epsilon`, and other columns are
    "(not asked)" (docs/own-data.md#columns-of-each-record).
    """

    kind: Literal["questionnaire"]
    """Kind of the plan."""
    ask: Annotated[int, Field(ge=1)] | Literal["pairs"] | list[FormBlocks] = 1
    """Number of columns, or of clusters in `joint`, of a form. With `pairs`, a form is two columns
    that share a channel. Or all forms, each a list of columns and of clusters, `[[a, [b, c]],
    [d]]`."""
    mechanism: str = "best"
    """Kind of all channels that can have it, as in `columns`."""
    mechanisms: dict[str, str] = Field(default_factory=dict)
    """Kinds of the channels of single columns."""
    split: Literal["even", "size", "optimal"] = "even"
    """Budget allocation within a form, as in `columns`."""
    tables: list[Names] = Field(default_factory=list)
    """Columns of each table for the split `optimal`. The default is marginal distributions."""
    responses: Literal["any", "categories"] = "any"
    """Randomized values, as in `columns`."""

    @model_validator(mode="after")
    def _one_request(self) -> Self:
        only_option(self.privacy)
        return self

    def plan(self, given: PlanInputs) -> "plans.QuestionnairePlan":
        names = ("ask", "mechanism", "mechanisms", "split", "tables", "responses")
        own = {"clusters": self.joint, "accept": given.accept} | self.model_dump(include={*names})
        schema = self.own_schema(given.schema)
        return self.completed(plans.make_questionnaire(schema, self.budget or 0.0, **own), None)
