"""Releases at an epsilon that is asked for: held to it in fractions, read from public/ alone."""

import math
from fractions import Fraction
from functools import reduce
from itertools import product
from pathlib import Path
from typing import Any, get_args

import numpy as np
import pandas as pd
import pytest
from tests.release.small_releases import DOMAIN, content, records, settings, source

from deniable.channels import (
    Channel,
    ProjectiveGeometry,
    ProtocolKind,
    best_protocol,
    channel_from_json,
)
from deniable.errors import DeniableError
from deniable.files import read_json
from deniable.pram import StratifiedProtocol
from deniable.randomized_response import Protocol
from deniable.records import Attribute, Domain, Microdata
from deniable.release import LANES, key_of_seed, rehearse, release_from
from deniable.release.asked import audit_asked, channel_at, protocol_within
from deniable.release.categorical import audit_release_samplers
from deniable.release.categorical.pairs import estimate, estimate_pairs
from deniable.release.made import read_made
from deniable.sampling import generator_for

KINDS = ["best", *get_args(ProtocolKind)]
Z = 5.0  # a right estimate is further from the truth once in 1.7 million


def description(**changes: Any) -> dict[str, Any]:
    release = settings("asked", rehearsal=True, **changes)
    made = LANES["asked"].design(release, records("categorical"), key_of_seed(1))
    found: dict[str, Any] = made["release"]
    return found


def exact_ratio(channel: Channel) -> Fraction:
    """The worst ratio of a column, from fractions alone."""
    columns = [channel.exact_column(report) for report in range(channel.reports)]
    return max(max(column) / min(column) for column in columns)


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("epsilon", [0.3, 1.0, 2.7])
def test_the_epsilon_asked_for_is_met_and_never_exceeded(kind: Any, epsilon: float) -> None:
    blocks = (("a",), ("b", "c"), ("d",))
    protocol = protocol_within(DOMAIN, blocks, kind, epsilon)
    ratio = reduce(lambda x, y: x * y, map(exact_ratio, protocol.channels))
    # exp of a float to 60 digits, as a fraction.
    whole = sum(Fraction(epsilon) ** n / math.factorial(n) for n in range(60))
    assert ratio <= whole
    assert float(ratio) == pytest.approx(math.exp(epsilon), rel=1e-9)
    assert protocol.epsilon <= epsilon


def test_the_best_channel_is_that_of_the_least_variance() -> None:
    for size, epsilon in product((2, 4, 9, 16, 30), (0.5, 1.0, 3.0)):
        even = np.full(size, 1 / size)
        spread = {}
        for kind in get_args(ProtocolKind):
            try:
                channel = channel_at(kind, size, epsilon)
            except DeniableError:  # too many subsets of 30
                continue
            spread[kind] = np.trace(channel.covariance(even, 1, inverse="own"))
        best = channel_at("best", size, epsilon)
        found = np.trace(best.covariance(even, 1, inverse="own"))
        assert found == pytest.approx(min(spread.values()), rel=1e-9)
        if size < 30:  # all that are compared have matrices that may be published
            assert type(best) is type(best_protocol(size, epsilon).channel)


def test_what_cannot_be_published_is_refused() -> None:
    with pytest.raises(DeniableError, match=r"subset-selection of 30 categories .* choose another"):
        channel_at("subset-selection", 30, 1.0)
    with pytest.raises(DeniableError, match=r"best of 600 categories .* blocks of fewer cells"):
        channel_at("best", 600, 1.0)
    assert channel_at("best", 30, 1.0).reports <= 2**18 / 30
    single = Domain((Attribute("a", ("only",)),))
    with pytest.raises(DeniableError, match="one attribute at least 2"):
        protocol_within(single, (("a",),), "best", 1.0)


def test_a_block_of_one_cell_spends_nothing() -> None:
    domain = Domain((Attribute("a", ("only",)), Attribute("b", ("x", "y", "z"))))
    protocol = protocol_within(domain, (("a",), ("b",)), "best", 1.0)
    assert protocol.channels[0].epsilon == 0
    assert protocol.channels[1].epsilon == pytest.approx(1.0)


def test_reports_are_named_after_what_gives_them(tmp_path: Path) -> None:
    release = settings("asked", rehearsal=True)
    rehearse(release, source(release), tmp_path)
    made = read_made(
        tmp_path / "public" / name
        for name in ("release.json", "protected.parquet", "protected.csv", "matrices.csv")
    )
    drawn = read_made([tmp_path / "public" / "protected.parquet"])["protected"]
    assert drawn.domain.names == ("a", "b x d", "c")  # a block stands where its first attribute is
    matrices = made["matrices"]
    own = matrices[matrices["block"] == "b x d"]
    assert set(own["reported"]) == set(drawn.domain["b x d"].categories)
    P = own.astype({"probability": float}).pivot(
        index="true", columns="reported", values="probability"
    )
    assert np.allclose(P.sum(axis=1), 1)
    for report, column in P.items():
        likeliest = set(column.index[column == column.max()])
        assert set(str(report).split(" | ")) == likeliest
    assert "matrices.csv has what each means" in content(tmp_path)["public/README.txt"].decode()


def test_the_audit_holds_what_is_stated_and_finds_what_is_not_so() -> None:
    said = description()
    table = audit_asked(said)
    assert table["holds"].all()
    asked = table[table["unit"] == "record, as asked for"].iloc[0]
    assert asked["claimed_epsilon"] == 2.0
    assert 1.999 < asked["exact_epsilon"] <= 2.0
    # A channel that tells more than is stated, whatever the file says of itself.
    said["clusters"][0]["channel"] = {"kind": "dense", "matrix": [[0.9, 0.1], [0.1, 0.9]]}
    failing = audit_asked(said)
    failing = failing[~failing["holds"].astype(bool)]
    assert set(failing["unit"]) == {"record, as asked for", "record", "attribute"}
    assert list(failing[failing["unit"] == "attribute"]["of"]) == ["a"]
    less = description()
    less["privacy"]["asked_epsilon"] = 1.9
    assert list(audit_asked(less)["holds"].astype(bool)) == [False, True, *[True] * 4]


@pytest.mark.parametrize("kind", KINDS)
def test_samplers_of_the_lane_fit_their_matrices(kind: str) -> None:
    found = audit_release_samplers(description(channel=kind), 3, draws=60_000)
    assert found["holds"].all()
    assert (found["impossible"] == 0).all()


@pytest.mark.parametrize("kind", ["subset-selection", "hadamard", "projective-geometry"])
def test_estimates_from_the_released_file_are_unbiased(kind: Any) -> None:
    """Of 150 draws the mean is at the truth, and its spread is what standard errors say."""
    data, runs = records("categorical", 400), 150
    assert isinstance(data, Microdata)
    protocol = protocol_within(DOMAIN, (("a",), ("b", "d"), ("c",)), kind, 3.0)
    whole = StratifiedProtocol.single(protocol)
    rng = generator_for(1, {"test": kind})
    found: dict[str, list[pd.DataFrame]] = {"margins": [], "pairs": []}
    for _ in range(runs):
        reports = protocol.randomize(data, rng)
        found["margins"].append(estimate(whole, reports))
        found["pairs"].append(estimate_pairs(whole, reports))
    for tables in found.values():
        estimates = np.array([table["estimate"].to_numpy() for table in tables])
        variance = np.array([table["standard_error_file"].to_numpy() ** 2 for table in tables])
        names = tables[0]["attributes"]
        truth = np.concatenate(
            [
                data.counts(tuple(each.split(" x "))).reshape(-1) / len(data)
                for each in dict.fromkeys(names)
            ]
        )
        assert truth.size == estimates.shape[1]
        error = estimates.std(axis=0) / math.sqrt(runs)
        assert (np.abs(estimates.mean(axis=0) - truth) <= Z * error + 1e-12).all()
        assert np.nanmean(variance) == pytest.approx(estimates.var(axis=0).mean(), rel=0.15)
        assert tables[0]["reported"].isna().any()


def test_as_many_reports_as_categories_need_not_be_them() -> None:
    """A projective plane of 7 lines over 7 points: a line is no point."""
    domain = Domain((Attribute("a", tuple("abcdefg")),))
    plane = ProjectiveGeometry(7, 2, 0.6)
    protocol = Protocol(domain, (("a",),), (plane,))
    assert plane.square
    labels = protocol.report_domain["a"].categories
    assert all(len(label.split(" | ")) == 3 for label in labels)
    data = Microdata(domain, (np.arange(7).repeat(100),), {})
    reports = protocol.randomize(data, generator_for(1, {}))
    assert reports.domain == protocol.report_domain
    table = estimate(StratifiedProtocol.single(protocol), reports)
    assert table["reported"].isna().all()


def test_a_public_folder_alone_gives_its_channels_and_estimates(tmp_path: Path) -> None:
    release = settings("asked", rehearsal=True)
    rehearse(release, source(release), tmp_path)
    public = tmp_path / "public"
    said = read_json(public / "release.json")
    channels = [channel_from_json(each["channel"]) for each in said["clusters"]]
    assert [type(each).__name__ for each in channels] == ["SubsetSelection"] * 3
    protocol = StratifiedProtocol.single(Protocol.from_json(said))
    made = read_made([public / "protected.parquet", public / "estimates.csv"])
    again = estimate(protocol, made["protected"])
    written = made["estimates"]
    np.testing.assert_allclose(again["estimate"], written["estimate"], rtol=1e-8, atol=1e-9)


def test_an_unknown_channel_is_refused() -> None:
    with pytest.raises(ValueError, match="generalized-rr"):
        release_from(
            {"name": "r", "data": "d", "rehearsal": True, "mechanism": "rr_epsilon"}
            | {"epsilon": 1.0, "channel": "secret"}
        )
