"""Estimates of test releases, compared with the original records."""

from typing import Any

import numpy as np
import pandas as pd
import pytest

import deniable
from deniable.plans import ColumnsPlan, Plan, StrataPlan
from deniable.pram import pram_matrix
from deniable.randomized_response import Protocol
from deniable.schema import Part, RecordsFile

RECORDS = 2000
CATEGORIES = {"sex": ["F", "M"], "job": ["x", "y", "z"], "owner": ["no", "yes"]}


def frame() -> pd.DataFrame:
    generator = np.random.default_rng(1)
    sex = generator.choice(["F", "M"], RECORDS, p=[0.7, 0.3])
    job = np.where(generator.random(RECORDS) < 0.6, np.where(sex == "F", "x", "y"), "z")
    owner = generator.choice(["no", "yes"], RECORDS, p=[0.8, 0.2])
    return pd.DataFrame({"sex": sex, "job": job, "owner": owner})


def schema() -> deniable.Schema:
    columns = [
        {"name": name, "kind": "categorical", "categories": own} for name, own in CATEGORIES.items()
    ]
    about = {"format": "deniable-schema", "version": 1, "population": "survey"}
    return deniable.schema_from_dict(about | {"file": {"kind": "arrow"}, "columns": columns})


def plan(kind: str) -> Plan:
    how: dict[str, Any] = {"chosen_from": "the data, by a curator", "accept": ("chosen_by_data",)}
    if kind == "strata":
        return StrataPlan.from_schema(schema(), ["sex"], retention=0.6)
    if kind == "subsets":
        return deniable.make_plan(schema(), 1.0, mechanism="subset-selection")
    domain = schema().domain()
    counts = [frame()[name].value_counts()[own].to_numpy() for name, own in CATEGORIES.items()]
    channels = tuple(pram_matrix(each / RECORDS, "two_step", epsilon=1.5) for each in counts)
    protocol = Protocol(domain, tuple((name,) for name in domain.names), channels)
    why = ("stated",) * len(channels)
    return ColumnsPlan(schema(), protocol.epsilon, protocol, why, invariant=True, **how)


def compared(plan: Plan) -> pd.DataFrame:
    reports = deniable.randomize(frame(), plan, np.random.default_rng(2))
    released = deniable.Released(reports, plan)
    estimates = {
        "margins": released.margins(target="both", by_stratum=True),
        "pairs": released.pairs(target="both"),
        "synthetic": released.synthetic(),
    }
    if isinstance(plan, StrataPlan):
        estimates["weights"] = released.adjusted_weights()
    original = plan.original_records(RecordsFile.open(frame(), plan.schema).portions())
    generator = np.random.default_rng(3)
    return plan.compare_with_original(plan.responses(reports), original, estimates, generator)


@pytest.mark.parametrize("kind", ["strata", "subsets", "invariant"])
def test_intervals_cover_at_their_rate(kind: str) -> None:
    """Of 1,000 redraws each; a false alarm once in 10,000 if intervals cover .93 to .97."""
    found = compared(plan(kind))
    coverage = found[found["check"] == "coverage"]
    released = 2 if kind == "strata" else 0  # sex is released unchanged, and always covered
    randomized = coverage[coverage["columns"] != "sex"] if released else coverage
    assert randomized["coverage"].between(0.9, 0.985).all()
    assert ("reported_coverage" in coverage) == (kind == "invariant")
    if kind == "invariant":
        assert coverage["reported_coverage"].between(0.92, 0.98).all()
    truth = frame()["job"].value_counts(normalize=True)[CATEGORIES["job"]].to_numpy()
    whole = coverage[(coverage["columns"] == "job") & (coverage["stratum"] == "")]
    np.testing.assert_allclose(whole["original"], truth)
    assert set(whole["covered"]) <= {True, False}


def test_distances_are_those_of_the_files() -> None:
    found = compared(plan("strata"))
    distances = found[found["check"] == "distance"].set_index("columns")
    assert list(distances.index) == [
        "sex",
        "job",
        "owner",
        "sex x job",
        "sex x owner",
        "job x owner",
    ]
    assert distances.loc["sex", "protected"] == 0
    pair = distances.loc["sex x job"]
    assert pair["consistent"] < pair["protected"]
    assert pair["weights"] == pytest.approx(pair["consistent"], abs=1e-5)
    assert pair["synthetic"] < pair["protected"] / 2
    both = distances.loc["job x owner"]  # of two clusters, so the joint distribution is smoother
    assert both["synthetic"] < both["consistent"]


def test_a_part_is_compared_with_its_own_records() -> None:
    whole = plan("subsets")
    part = Part(of=2, take=1, seed="half")
    half = ColumnsPlan(whole.schema, whole.target, whole.protocol, whole.why, part=part)
    original = half.original_records(RecordsFile.open(frame(), half.schema).portions())
    assert len(original) == RECORDS // 2
