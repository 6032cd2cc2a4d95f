"""A small survey of known coefficients, its plans, and records in memory."""

import numpy as np
import pandas as pd

from deniable import ColumnsPlan, Released, randomize
from deniable.arrays import Codes
from deniable.channels import Channel, KeepOrReplace
from deniable.plans import Plan
from deniable.randomized_response import Protocol
from deniable.regression import Design, Group, groups_of
from deniable.responses import Answers
from deniable.schema import Schema, schema_from_dict

COLUMNS = [
    {"name": "ill", "kind": "categorical", "categories": ["no", "yes"]},
    {"name": "sex", "kind": "categorical", "categories": ["F", "M"]},
    {"name": "age", "kind": "numeric", "bounds": [0, 5], "step": 1, "type": "double"},
    {"name": "area", "kind": "categorical", "categories": ["a", "b", "c"]},
]
LOGISTIC = np.array([-1.0, 0.8, 0.3])  # of ill: intercept, sex=M, age


def survey_schema() -> Schema:
    about = {"format": "deniable-schema", "population": "all", "file": {"kind": "arrow"}}
    return schema_from_dict(about | {"columns": COLUMNS})


def survey_codes(records: int, seed: int) -> list[Codes]:
    """Return the codes of each column; area depends on age, and age on sex."""
    chance = np.random.default_rng(seed)
    sex = chance.integers(0, 2, records)
    age = chance.binomial(5, 0.4 + 0.2 * sex)
    area = np.minimum(chance.binomial(2, 0.3 + 0.08 * age), 2)
    log_odds = np.column_stack([np.ones(records), sex, age]) @ LOGISTIC
    ill = chance.random(records) < 1 / (1 + np.exp(-log_odds))
    return [ill.astype(int), sex, age, area]


def survey_frame(codes: list[Codes]) -> pd.DataFrame:
    named = zip(survey_schema().domain(), codes, strict=True)
    frame = pd.DataFrame({each.name: np.array(each.categories)[own] for each, own in named})
    return frame.astype({"age": float})


def released(plan: Plan, frame: pd.DataFrame, seed: int = 0) -> Released:
    return Released(randomize(frame, plan, np.random.default_rng(seed)), plan)


def clustered_plan(clusters: tuple[tuple[str, ...], ...], channels: list[Channel]) -> ColumnsPlan:
    schema = survey_schema()
    protocol = Protocol(schema.domain(), clusters, tuple(channels))
    return ColumnsPlan(schema, protocol.epsilon, protocol, ("stated",) * len(clusters))


def design_of(formula: str, model: str | None = None) -> Design:
    columns = {each.name: each for each in survey_schema().randomized}
    return Design.of(formula, columns, model)


def drawn(design: Design, codes: list[Codes], channels: list[Channel], seed: int) -> list[Group]:
    """Return randomized values of the survey by a channel for each column."""
    domain, chance = survey_schema().domain(), np.random.default_rng(seed)
    answers = [
        Answers(domain.project([each.name]), channel, channel.randomize(own, chance))
        for each, own, channel in zip(domain, codes, channels, strict=True)
    ]
    return groups_of(answers, None, design.domain.names, "least")


def kept_unchanged() -> list[Channel]:
    return [KeepOrReplace.uniform(each.size, 1.0) for each in survey_schema().domain()]


def kept(epsilon: float) -> list[Channel]:
    return [KeepOrReplace.of_epsilon(each.size, epsilon) for each in survey_schema().domain()]
