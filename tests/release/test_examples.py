"""The releases of the committed config: what a record spends in each."""

from pathlib import Path
from typing import Any

import numpy as np
import pytest

from deniable.datasets import categorical, load_manifest
from deniable.records.categorical import Microdata
from deniable.records.domain import Domain
from deniable.release import LANES, key_of_seed, release_from
from deniable.release.settings import AnyRelease, HistogramRelease

from reproduction.pipeline.plan import drawn_domains, validate

ROOT = Path(__file__).resolve().parents[2]
REPLICA = "paper_"


@pytest.fixture(scope="module")
def domains(committed_config: dict[str, Any]) -> dict[str, Domain]:
    manifest = load_manifest(ROOT / "resources" / "datasets.yaml")
    own = {name: dataset.domain for name, dataset in categorical(manifest).items()}
    return own | drawn_domains(validate(committed_config), ROOT / "resources" / "networks")


def spent(release: AnyRelease, domains: dict[str, Domain]) -> dict[str, Any]:
    """Return what a release says of its privacy, for records that are made up."""
    generator = np.random.default_rng(1)
    domain = domains[release.data]
    columns = tuple(generator.integers(0, size, 3000) for size in domain.shape)
    data = Microdata(domain, columns, {"data_source": "original"})
    made = LANES[release.lane].design(release, data, key_of_seed(1))
    said: dict[str, Any] = made["channels" if "channels" in made else "release"]["privacy"]
    return said


def test_examples_spend_one_to_four_and_replicas_are_named_so(
    committed_config: dict[str, Any], domains: dict[str, Domain]
) -> None:
    given = "the matrices, as they are published below; the worst stratum"
    for values in committed_config["releases"]:
        release = release_from(values)
        if release.name.startswith(REPLICA):
            continue
        if release.lane == "numeric":
            # The only one of numbers for which a finite epsilon is proved.
            assert isinstance(release, HistogramRelease)
            assert 1 <= release.epsilon <= 4
            continue
        privacy = spent(release, domains)
        assert float(privacy["epsilon"]) <= 4 + 1e-9, release.name
        assert privacy.get("given", given) == given, release.name
        # An invariant matrix follows the records, which are made up here.
        if "invariant" not in release.name:
            assert float(privacy["epsilon"]) >= 1, release.name


def test_replicas_are_what_the_papers_have(
    committed_config: dict[str, Any], domains: dict[str, Domain]
) -> None:
    replicas = {
        values["name"]: release_from(values)
        for values in committed_config["releases"]
        if values["name"].startswith(REPLICA)
    }
    kronecker = spent(replicas["paper_adult_rr_clusters_kronecker"], domains)
    assert kronecker["epsilon"] == pytest.approx(21.89, abs=0.005)
    assert "no finite epsilon" in kronecker["not_counted"]
    assert spent(replicas["paper_alarm_rrba"], domains)["epsilon"] == pytest.approx(
        39.04, abs=0.005
    )
    mechanisms = [release.mechanism for release in replicas.values()]
    assert mechanisms == ["rr_clusters", "rr_clusters", "idp", "idp", "rrba"]
