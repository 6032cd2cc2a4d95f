"""The releases of the committed config: the epsilon of a record in each."""

import math
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from deniable.datasets import (
    FILES,
    NETWORKS,
    Dataset,
    from_resources,
    load_manifest,
    write_schema,
)
from deniable.plans import Plan
from deniable.records.categorical import Microdata
from deniable.records.domain import Domain
from deniable.release import NETWORK_FILES, ReleaseSettings, protect_test
from deniable.responses import protected_file
from deniable.schema import RecordsFile, read_schema

ROOT = Path(__file__).resolve().parents[2]
REPLICA = "paper_"


@pytest.fixture(scope="module")
def domains() -> dict[str, Domain]:
    manifest = load_manifest(ROOT / "resources" / "datasets.yaml")
    found = {name: each.domain for name, each in manifest.items() if isinstance(each, Dataset)}
    folder = ROOT / "resources" / "networks"
    of = {name: from_resources(name, folder).domain for name in NETWORKS}
    return found | {f"{NETWORK_FILES}{name}": of[file.network] for name, file in FILES.items()}


@pytest.fixture(scope="module")
def plans(
    committed_config: dict[str, Any],
    domains: dict[str, Domain],
    tmp_path_factory: pytest.TempPathFactory,
) -> dict[str, Plan]:
    """Return the plans of all releases of categories, for records that are made up."""
    folder, made, released = tmp_path_factory.mktemp("examples"), {}, {}
    entries = [ReleaseSettings.model_validate(each) for each in committed_config["releases"]]
    needed = {name for each in entries for name in each.options.releases}
    for entry in entries:
        if entry.data not in domains:
            continue
        generator, domain = np.random.default_rng(1), domains[entry.data]
        columns = tuple(generator.integers(0, size, 3000) for size in domain.shape)
        records = folder / f"{entry.name}.parquet"
        data = Microdata(domain, columns, {"data_source": "original"})
        data.write_parquet(records)
        write_schema(records.with_suffix(".yaml"), data, "people")
        schema = read_schema(records.with_suffix(".yaml"))
        plan = entry.make_plan(schema, RecordsFile.open(records, schema), released)
        if entry.name in needed:
            protect_test(records, plan, folder / entry.name, 1)
            public = folder / entry.name / "public"
            released[entry.name] = plan.responses(protected_file(public, plan.protected_name))
        made[entry.name] = plan
    return made


def test_examples_spend_one_to_four_and_replicas_are_named_so(plans: dict[str, Plan]) -> None:
    assert len(plans) > 10
    for name, plan in plans.items():
        if name.startswith(REPLICA):
            continue
        assert plan.epsilon <= 4 + 1e-9, name
        # An invariant matrix follows the records, which are made up here.
        if "invariant" not in name and "dependences" not in name:
            assert plan.epsilon >= 1, name


def test_numbers_of_examples_have_histograms(committed_config: dict[str, Any]) -> None:
    """The only method for numbers with a finite epsilon in the examples."""
    for entry in committed_config["releases"]:
        if entry["plan"]["kind"] == "masked" and not entry["name"].startswith(REPLICA):
            assert entry["plan"]["method"] == "histograms"
            assert 1 <= entry["plan"]["epsilon"] <= 4


def test_two_halves_spend_the_larger_epsilon(plans: dict[str, Plan]) -> None:
    parts = [plans[name].part for name in ("adult_dependences", "adult_rr_clusters")]
    assert [each and (each.of, each.take) for each in parts] == [(2, 1), (2, 2)]
    assert len({each and each.seed for each in parts}) == 1


def test_replicas_are_those_of_the_papers(plans: dict[str, Plan]) -> None:
    kronecker = plans["paper_adult_rr_clusters_kronecker"]
    assert kronecker.epsilon == pytest.approx(21.89, abs=0.005)
    assert kronecker.not_covered
    assert plans["paper_alarm_rrba"].epsilon == pytest.approx(39.04, abs=0.005)
    assert math.isfinite(plans["paper_adult_rr_clusters_joint"].epsilon)
