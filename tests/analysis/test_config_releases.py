"""Estimates of `Released`, compared with those of the releases of the config.

The values are compared on the same protected file. Differences have these reasons:

- Intervals of `estimate` are score intervals, not those of the normal distribution. Standard errors
  are the same, and so are the limits of the proportions of randomized values.
- Likelihoods are maximized to within 1e-6 nats instead of 1e-3; here both are to within 1e-6.
- Where an invariant matrix is singular, `consistent` is the proportions of the randomized values;
  the releases of the config have no distribution there.
- Channels with more randomized values than categories are estimated by the left inverse of least
  variance. Here the channel's own inverse is compared.
"""

import os
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest
import yaml

import deniable
from deniable.analysis import Released
from deniable.datasets import load_manifest, networks, read_published, surrogates
from deniable.plans import ColumnsPlan, Plan, StrataPlan
from deniable.pram import StratifiedProtocol
from deniable.randomized_response import Protocol
from deniable.records import Microdata
from deniable.release import LANES, key_of_seed, release_from
from deniable.release.categorical import estimates as lane_estimates

ROOT = Path(__file__).resolve().parents[2]
CONFIG = yaml.safe_load((ROOT / "config" / "config.yaml").read_text(encoding="utf-8"))
CATEGORICAL = [
    values for values in CONFIG["releases"] if release_from(values).lane in ("categorical", "asked")
]
NAMES = [values["name"] for values in CATEGORICAL]
MANIFEST = load_manifest(ROOT / "resources" / "datasets.yaml")
RECORDS, SEED = 3000, 20211121
MIRRORS = [os.environ.get("DENIABLE_DATA_MIRROR"), ROOT.parent / "shared" / "data"]
LIMIT = 5e-10
COLUMNS = ["reported", "estimate", "standard_error"]


def drawn(data: str) -> Microdata:
    network = networks.read(ROOT / "resources" / "surrogates" / f"{data}.json")
    found = surrogates.sample(network, RECORDS, np.random.default_rng(SEED))
    return Microdata(found.domain, found.columns, {"data_source": "surrogate"})


def published(data: str) -> Microdata:
    for folder in MIRRORS:
        if folder and (Path(folder) / "adult.data").is_file():
            found = read_published(MANIFEST[data], Path(folder) / "adult.data")
            return Microdata(found.domain, found.columns, {"data_source": "original"})
    pytest.skip(
        "THE PUBLISHED ADULT FILE IS NOT HERE: set DENIABLE_DATA_MIRROR to a directory with "
        "adult.data (or have ../shared/data); nothing was checked on real data"
    )


def made(values: dict[str, Any], data: Microdata) -> dict[str, Any]:
    """Return the files of a release of the config, by name."""
    release, key = release_from(values), key_of_seed(SEED)
    lane = LANES[release.lane]
    found = dict(lane.design(release, data, key))
    found |= lane.draw(release, found, data, key)
    for step in lane.estimates:
        if step.mechanism in ("", release.mechanism):
            found |= step(release, found)
    return found


def released(found: dict[str, Any]) -> Released:
    protocol = StratifiedProtocol.from_json(found["release"])
    how: dict[str, Any] = {
        "chosen_from": "the data, by a curator",
        "accept": ("chosen_by_data",),
    }
    plain = deniable.rr_independent(protocol.domain, 0.5, "keep")
    schema = deniable.plan_from_protocol(plain).schema
    why = ("stated",) * len(protocol.blocks)
    if protocol.strata:
        plan: Plan = StrataPlan(schema, protocol, protocol.epsilon, why, **how)
    else:
        own = protocol.protocols[()]
        plan = ColumnsPlan(schema, own, own.epsilon, why, invariant=protocol.invariant, **how)
    reports = found["protected"]
    frame = {
        each.name: np.array(each.categories, dtype=object)[reports.column(each.name)]
        for each in reports.domain
    }
    return Released(pd.DataFrame(frame), plan)


def compare(ours: pd.DataFrame, theirs: pd.DataFrame, columns: dict[str, str]) -> None:
    keys = ["attributes", "categories", "stratum"]
    both = theirs.merge(ours, on=keys, how="left", suffixes=("", "_ours"), validate="one_to_one")
    for name, own in columns.items():
        if name in theirs:
            other = f"{own}_ours" if own in theirs else own
            if own == "consistent":  # see above
                both = both[both[name].notna()]
            np.testing.assert_allclose(both[other], both[name], rtol=0, atol=LIMIT, err_msg=name)


def in_their_words(found: pd.DataFrame) -> pd.DataFrame:
    """Return margins and pairs with one row per cell, with the columns of both targets."""
    names = {"column": "attributes", "columns": "attributes"}
    table = found.rename(columns=names | {"value": "categories", "values": "categories"})
    keys = ["attributes", "categories", "stratum"]
    parts = []
    for target, own in table.groupby("target"):
        kept = [name for name in own if "standard_error" in name or "_ci_" in name]
        shown = own.rename(columns={name: f"{name}_{target}" for name in kept}).set_index(keys)
        parts.append(shown if not parts else shown[[f"{name}_{target}" for name in kept]])
    return pd.concat(parts, axis=1).reset_index()


def check(values: dict[str, Any], data: Microdata, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(lane_estimates, "LIKELIHOOD_TOLERANCE", 1e-6)
    found = made(values, data)
    own = released(found)
    how: dict[str, Any] = {"target": "both", "inverse": "own", "by_stratum": True}
    errors = [f"{a}standard_error_{b}" for a in ("", "reported_") for b in ("file", "population")]
    limits = [f"reported_ci_{a}_{b}" for a in ("low", "high") for b in ("file", "population")]
    same = {name: name for name in ["records", "reported", "estimate", *errors, *limits]}
    lane = found["estimates"]
    single = ~lane["attributes"].str.contains(" x ")
    likely = same | {"maximum_likelihood": "consistent", "likelihood_gap": "likelihood_gap"}
    margins = in_their_words(own.margins(**how))
    compare(margins, lane[single], same | {"maximum_likelihood": "consistent"})
    if own.domain.names[1:]:
        pairs = in_their_words(own.pairs(**how))
        compare(pairs, found["pairs"], same | {"shrunk": "shrunk", "one_cluster": "one_cluster"})
    for cluster in lane.loc[~single, "attributes"].unique():
        table = own.table(cluster.split(" x "), **how)
        labels = own.domain.project(cluster.split(" x ")).cell_labels()
        groups = len(table) // len(labels)
        table = table.assign(column=cluster, value=labels * groups)
        compare(in_their_words(table), lane[lane["attributes"] == cluster], likely)
    compare_records(own, found)


def compare_records(own: Released, found: dict[str, Any]) -> None:
    """Compare weights, and the numbers of synthetic records in the cells of each cluster."""
    if "adjusted_weights" in found:
        weights = own.adjusted_weights()["weight"]
        expected = found["adjusted_weights"]["weight"]
        np.testing.assert_allclose(weights, expected, rtol=0, atol=LIMIT)
    protocol = StratifiedProtocol.from_json(found["release"])
    synthetic = own.synthetic(seed=1)
    expected = found["synthetic"]
    if expected.marks["synthetic_from"] != "clusters":
        given = found["protected"], found["estimates"], [], np.random.default_rng(2)
        expected = lane_estimates.synthesize_release("clusters", protocol, *given)
    for block in protocol.blocks:
        names = [*protocol.strata, *block]
        domain = protocol.domain.project(names)
        codes = [
            pd.Categorical(synthetic[each.name], each.categories).codes.astype(int)
            for each in domain
        ]
        counts = np.bincount(domain.ravel(codes), minlength=domain.size)
        np.testing.assert_array_equal(counts, expected.counts(names).reshape(-1))


@pytest.mark.parametrize("values", CATEGORICAL, ids=NAMES)
def test_estimates_are_those_of_the_config_releases(
    values: dict[str, Any], monkeypatch: pytest.MonkeyPatch
) -> None:
    check(values, drawn(values["data"]), monkeypatch)


@pytest.mark.slow
@pytest.mark.real_data
@pytest.mark.parametrize("values", CATEGORICAL, ids=NAMES)
def test_estimates_are_those_of_the_config_releases_on_the_published_records(
    values: dict[str, Any], monkeypatch: pytest.MonkeyPatch
) -> None:
    check(values, published(values["data"]), monkeypatch)


def test_the_inverse_of_least_variance_has_the_smaller_expected_error() -> None:
    """Exactly, for the records of the file: the reason why `Released` estimates by it."""
    (values,) = (each for each in CATEGORICAL if each["name"] == "adult_asked")
    data, release = drawn("adult"), release_from(values)
    protocol = Protocol.from_json(LANES["asked"].design(release, data, key_of_seed(1))["release"])
    for cluster, channel in zip(protocol.clusters, protocol.channels, strict=True):
        truth = data.counts(cluster).reshape(-1) / len(data)
        own, least = (
            np.trace(channel.covariance(truth, len(data), "file", inverse))
            for inverse in ("own", "least")
        )
        assert least < own or channel.square
