"""One attribute, or one pair, per respondent: plans for the parts of one public partition."""

import math
from dataclasses import replace
from itertools import combinations

import numpy as np
import pandas as pd
import pytest
from scipy import stats
from tests.plans.test_allocation import blocks_of_sizes

import deniable
from deniable.plans import ColumnsPlan, make_plan
from deniable.plans.choosing import choose
from deniable.schema import Part, Schema, schema_from_dict

SIZES = {"a": 2, "b": 3, "c": 2}
EPSILON, RECORDS, REPLICATES, ALARM = 1.5, 900, 120, 1e-6
GROUPS = {"attributes": [(name,) for name in SIZES], "pairs": list(combinations(SIZES, 2))}
Names = tuple[str, ...]


def schema_for(names: Names) -> Schema:
    """Return a schema by which the respondents of a part answer some columns only."""
    columns = [
        {"name": name, "kind": "categorical", "categories": [f"{name}{code}" for code in codes]}
        if name in names
        else {"name": name, "kind": "left_out"}
        for name, codes in ((name, range(size)) for name, size in SIZES.items())
    ]
    about = {"format": "deniable-schema", "version": 1, "population": "all"}
    return schema_from_dict(about | {"file": {"kind": "arrow"}, "columns": columns})


def plans(groups: list[Names]) -> dict[Names, ColumnsPlan]:
    """Return one plan per group, each for a part of the respondents and with the whole epsilon."""
    found = {}
    for number, names in enumerate(groups, start=1):
        joint = [names] if len(names) > 1 else []
        whole = make_plan(schema_for(names), EPSILON, clusters=joint, mechanism="generalized-rr")
        found[names] = replace(whole, part=Part(len(groups), number, "public"))
    return found


def records() -> pd.DataFrame:
    """Return dependent records: cells of the three attributes in proportion to 1, ..., 12."""
    cells = np.random.default_rng(1).choice(12, RECORDS, p=np.arange(1, 13) / 78)
    codes = np.unravel_index(cells, tuple(SIZES.values()))
    own = zip(SIZES, codes, strict=True)
    return pd.DataFrame({name: [f"{name}{code}" for code in column] for name, column in own})


@pytest.mark.parametrize("groups", GROUPS.values(), ids=GROUPS.keys())
def test_each_respondent_answers_once_with_the_whole_epsilon(groups: list[Names]) -> None:
    made = plans(groups)
    answering = [plan.part.positions(RECORDS) for plan in made.values() if plan.part]
    assert sorted(np.concatenate(answering).tolist()) == list(range(RECORDS))
    for names, plan in made.items():
        assert EPSILON * (1 - 1e-12) < plan.epsilon <= EPSILON
        for own in plan.epsilon_by_changed_attribute().values():
            assert own == pytest.approx(plan.epsilon)
        assert set(plan.epsilon_by_changed_attribute()) == set(names)


@pytest.mark.parametrize("groups", GROUPS.values(), ids=GROUPS.keys())
def test_estimates_from_a_part_are_right_for_the_population(groups: list[Names]) -> None:
    # The records are the population here, and other public seeds give other random parts of it.
    # Sampling without replacement has a smaller variance than the estimated one, by S^2 / N.
    frame, generator = records(), np.random.default_rng(7)
    for names, plan in plans(groups).items():
        values, errors = [], []
        for replicate in range(REPLICATES):
            assert plan.part is not None
            own = replace(plan, part=replace(plan.part, seed=f"public {replicate}"))
            found = deniable.Released(deniable.randomize(frame, own, generator), own).table(names)
            values.append(found["estimate"].to_numpy())
            errors.append(found["standard_error"].to_numpy())
        counts = frame.groupby(list(names)).size()
        labels = [tuple(row) if len(names) > 1 else row[0] for row in found[list(names)].to_numpy()]
        truth = counts.reindex(labels).to_numpy() / RECORDS
        spread = np.var(values, axis=0, ddof=1)
        z = (np.mean(values, axis=0) - truth) / np.sqrt(spread / REPLICATES)
        assert np.abs(z).max() < stats.t.isf(ALARM / 2 / z.size, REPLICATES - 1), names
        expected = np.mean(np.square(errors), axis=0) - truth * (1 - truth) / RECORDS
        assert np.all(np.abs(spread / expected - 1) < 7 * math.sqrt(2 / REPLICATES)), names


def test_one_attribute_per_respondent_has_less_variance_than_a_part_of_epsilon_for_each() -> None:
    # At uniform proportions: m groups of n / m respondents, each at the whole epsilon.
    blocks, number = blocks_of_sizes(*SIZES.values()), len(SIZES)

    def mean_variance(epsilon: float) -> float:
        errors = [block.error(choose(block, epsilon).channel) for block in blocks]
        sampling = [(1 - 1 / size) / size for size in SIZES.values()]
        return float(np.mean(errors) + np.mean(sampling))

    assert number * mean_variance(EPSILON) < mean_variance(EPSILON / number)
