"""Estimates of all pairs of attributes, within clusters, between them and within strata."""

from itertools import combinations
from typing import Any

import numpy as np
import pytest
from tests.slow_variants import all_but_first

from deniable.channels import KeepOrReplace, ProductChannel
from deniable.errors import ChannelError
from deniable.estimation.strata import Reduced, unbiased_pair_part, unbiased_part
from deniable.pram.protocol import StratifiedProtocol
from deniable.randomized_response.dependence import Shrunk, shrink, shrunk_joint
from deniable.randomized_response.protocols import Protocol
from deniable.records.categorical import Microdata
from deniable.release import key_of_seed, release_from
from deniable.release.categorical import pairs
from deniable.release.categorical.check import pair_distances
from deniable.release.categorical.design import designed
from deniable.release.categorical.estimates import estimate
from deniable.release.categorical.pairs import estimate_pairs
from deniable.sampling import generator_for

COMMON = {"name": "small", "data": "adult", "rehearsal": True}
RR = COMMON | {"matrix": "keep", "p": 0.6}
CLUSTERS = RR | {"mechanism": "rr_clusters", "t_v": 12, "t_d": 0.05}
CLUSTERS |= {"dependences": {"by": "true_records"}}
STRATA = COMMON | {"mechanism": "pram", "strata": ["owner"], "joint": [["colour", "smokes"]]}
KINDS: dict[str, dict[str, Any]] = {
    "independent": RR | {"mechanism": "rr_independent"},
    "joint clusters": CLUSTERS | {"cluster_mechanism": "joint"},
    "kronecker clusters": CLUSTERS | {"cluster_mechanism": "kronecker"},
    "strata": STRATA | {"matrix": {"kind": "retention", "retention": 0.7}},
}


def protocol_of(kind: str, data: Microdata) -> StratifiedProtocol:
    made = designed(release_from(KINDS[kind]), data, key_of_seed(1))
    return StratifiedProtocol.from_json(made["release"])


def repeated(data: Microdata, times: int) -> Microdata:
    columns = tuple(np.tile(column, times) for column in data.columns)
    return Microdata(data.domain, columns, data.marks)


# -- one pair of blocks ----------------------------------------------------------------------------


def test_two_blocks_are_estimated_as_through_the_product_of_their_matrices() -> None:
    generator = np.random.default_rng(3)
    channels = KeepOrReplace.uniform(4, 0.5), KeepOrReplace(0.4, np.array([0.3, 0.2, 0.1]))
    counts = generator.integers(0, 40, (4, 3))
    # Of the first block only a margin: its cells are 2 x 2.
    sides = np.array([[1.0, 1, 0, 0], [0, 0, 1, 1]]), np.eye(3)
    reduced = tuple(Reduced.of(channel, invariant=False) for channel in channels)
    found = unbiased_pair_part((reduced[0], reduced[1]), counts, sides)
    whole = Reduced.of(ProductChannel(channels), invariant=False)
    expected = unbiased_part(whole, counts.reshape(-1), np.kron(*sides))
    assert found.records == expected.records
    np.testing.assert_allclose(found.values, expected.values)
    np.testing.assert_allclose(found.variance, expected.variance)


def test_by_hand() -> None:
    # Two coins that tell the truth with probability 3/4: inverse [[1.5, -.5], [-.5, 1.5]].
    coin = Reduced.of(KeepOrReplace.uniform(2, 0.5), invariant=False)
    counts = np.array([[4, 0], [0, 4]])
    found = unbiased_pair_part((coin, coin), counts, (np.eye(2), np.eye(2)))
    # (1.5 * 1.5 + .5 * .5) / 2 on the diagonal, -1.5 * .5 elsewhere.
    np.testing.assert_allclose(found.values, [1.25, -0.75, -0.75, 1.25])
    # ((1.5^4 + .5^4) / 2 - 1.25) / 8 and (1.5^2 * .5^2 + .75) / 8.
    np.testing.assert_allclose(found.variance, [1.3125 / 8, *2 * [1.3125 / 8], 1.3125 / 8])


def test_reports_that_nobody_can_give_are_refused() -> None:
    never = Reduced(KeepOrReplace.uniform(2, 0.5), np.array([True, False, True]))
    coin = Reduced.of(KeepOrReplace.uniform(2, 0.5), invariant=False)
    counts = np.array([[1, 1], [1, 0], [2, 2]])
    with pytest.raises(ChannelError, match="never reports"):
        unbiased_pair_part((never, coin), counts, (np.eye(3), np.eye(2)))


# -- all pairs of a file ---------------------------------------------------------------------------


@pytest.mark.parametrize("kind", KINDS)
def test_every_cell_of_every_pair_has_a_row(small_data: Microdata, kind: str) -> None:
    protocol = protocol_of(kind, small_data)
    reports = protocol.randomize(small_data, np.random.default_rng(1)).reports
    table = estimate_pairs(protocol, reports)
    names = small_data.domain.names
    named = [" x ".join(pair) for pair in combinations(names, 2)]
    assert list(dict.fromkeys(table["attributes"])) == named
    for (pair, _), part in table.groupby(["attributes", "stratum"]):
        own = small_data.domain.project(pair.split(" x "))
        assert part["categories"].tolist() == own.cell_labels()
        np.testing.assert_allclose(part[["reported", "estimate", "shrunk"]].sum(), 1)
        assert (part["shrunk"] >= 0).all()
    whole = table[table["stratum"] == ""]
    assert (whole["records"] == 500).all()
    pair = whole[whole["attributes"] == "smokes x region"]
    shares = reports.counts(["smokes", "region"]).reshape(-1) / 500
    np.testing.assert_allclose(pair["reported"], shares)
    together = any({"smokes", "region"} <= set(block) for block in protocol.blocks)
    assert set(pair["one_cluster"]) == {together}


@pytest.mark.parametrize("kind", ["joint clusters", "kronecker clusters", "strata"])
def test_a_pair_that_is_a_block_is_estimated_as_the_block(small_data: Microdata, kind: str) -> None:
    protocol = protocol_of(kind, small_data)
    reports = protocol.randomize(small_data, np.random.default_rng(1)).reports
    blocks = {" x ".join(block) for block in protocol.blocks if len(block) == 2}
    assert blocks
    keys, shown = ["attributes", "categories", "stratum"], ["estimate", "ci_low_file", "reported"]
    table = estimate_pairs(protocol, reports).merge(
        estimate(protocol, reports), on=keys, suffixes=("", "_of_block"), validate="one_to_one"
    )
    assert set(table["attributes"]) >= blocks
    for column in shown:
        np.testing.assert_allclose(table[column], table[f"{column}_of_block"], atol=1e-12)


def test_shrinking_is_that_of_the_study(small_data: Microdata) -> None:
    # RR-Independent: as the study of [multirr] has it, before it is projected.
    protocol = protocol_of("independent", small_data)
    reports = protocol.randomize(repeated(small_data, 10), np.random.default_rng(1)).reports
    table = estimate_pairs(protocol, reports)
    own = protocol.protocols[()]
    for pair in (("colour", "smokes"), ("region", "owner")):
        channel = ProductChannel(tuple(own.channel_of((name,)) for name in pair))
        pulled = shrink(reports.counts(pair).reshape(-1), channel).estimate
        assert pulled.min() > 0
        np.testing.assert_allclose(
            table.loc[table["attributes"] == " x ".join(pair), "shrunk"], pulled, rtol=1e-9
        )


@pytest.mark.parametrize("kind", all_but_first(["joint clusters", "kronecker clusters"]))
def test_the_noise_within_a_cluster_is_what_randomization_adds(
    small_data: Microdata, kind: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    protocol = protocol_of(kind, small_data)
    pair = next(" x ".join(block[:2]) for block in protocol.blocks if len(block) > 1)
    asked: list[tuple[np.ndarray, float]] = []

    def seen(joint: np.ndarray, noise: float) -> Shrunk:
        asked.append((joint, noise))
        return shrunk_joint(joint, noise)

    monkeypatch.setattr(pairs, "shrunk_joint", seen)
    generator = generator_for(20211121, {"test": "noise", "kind": kind})
    found: list[tuple[np.ndarray, float]] = []
    for _ in range(150):
        asked.clear()
        table = estimate_pairs(protocol, protocol.randomize(small_data, generator).reports)
        found.append(asked[list(dict.fromkeys(table["attributes"])).index(pair)])
    distances = [j - np.outer(j.sum(axis=1), j.sum(axis=0)) for j, _ in found]
    variance = np.var(distances, axis=0, ddof=1).sum()
    # A variance of 150 draws, of several cells: within 30 % in all but one of 1,000 trials.
    assert np.mean([noise for _, noise in found]) == pytest.approx(variance, rel=0.3)


def test_strata_add_up_to_the_file(small_data: Microdata) -> None:
    protocol = protocol_of("strata", small_data)
    reports = protocol.randomize(small_data, np.random.default_rng(1)).reports
    table = estimate_pairs(protocol, reports)
    for column in ("estimate", "shrunk", "reported"):
        by = table.pivot_table(index=["attributes", "categories"], columns="stratum", values=column)
        n = table.groupby("stratum")["records"].first()
        mixed = (by["no"] * n["no"] + by["yes"] * n["yes"]) / 500
        np.testing.assert_allclose(by[""], mixed, atol=1e-12)
    # With a stratum attribute, a margin within the stratum.
    region = estimate(protocol, reports).query("attributes == 'region' and stratum == 'no'")
    owned = table.query("attributes == 'region x owner' and stratum == 'no'")["estimate"]
    np.testing.assert_allclose(owned.to_numpy()[0::2], region["estimate"], atol=1e-12)
    np.testing.assert_allclose(owned.to_numpy()[1::2], 0, atol=1e-12)


@pytest.mark.parametrize("kind", all_but_first(KINDS))
def test_estimates_are_unbiased_and_intervals_cover_at_their_rate(
    small_data: Microdata, kind: str
) -> None:
    data = repeated(small_data, 10)
    protocol = protocol_of(kind, data)
    generator = generator_for(20211121, {"test": "pairs", "kind": kind})
    runs, covered, errors, variance = 60, 0.0, 0.0, 0.0
    every = combinations(data.domain.names, 2)
    true = np.concatenate([data.counts(pair).reshape(-1) / len(data) for pair in every])
    for _ in range(runs):
        table = estimate_pairs(protocol, protocol.randomize(data, generator).reports)
        table = table[table["stratum"] == ""].reset_index(drop=True)
        held = table["ci_low_file"].le(true) & table["ci_high_file"].ge(true)
        covered = covered + held.to_numpy()
        errors = errors + (table["estimate"] - true).to_numpy()
        variance = variance + table["standard_error_file"].to_numpy() ** 2
    known = variance > 0
    # Of cells without error the estimate is the truth.
    np.testing.assert_allclose(errors[~known], 0, atol=1e-9)
    # 61 cells: the largest of as many normal errors is below 4.5 but once in 2,400 tests.
    assert np.abs(errors[known] / np.sqrt(variance[known])).max() < 4.5
    # Four standard errors of 60 runs are .11 for a cell; the mean over cells is far less uncertain.
    assert (covered[known] / runs).min() > 0.95 - 0.12
    assert np.mean(covered[known] / runs) == pytest.approx(0.95, abs=0.025)


def test_shrunk_tables_are_nearer_than_reports_and_than_independence(small_data: Microdata) -> None:
    data = repeated(small_data, 10)
    protocol = protocol_of("independent", data)
    reports = protocol.randomize(data, np.random.default_rng(1)).reports
    table = estimate_pairs(protocol, reports)
    found = pair_distances(table, data)["colour x smokes"]
    true = data.counts(["colour", "smokes"]) / len(data)
    alone = true.sum(axis=1)[:, None] * true.sum(axis=0)
    as_reported = reports.counts(["colour", "smokes"]) / len(data)
    for other in (alone, as_reported):
        assert found < 0.5 * np.abs(other - true).sum() / 2


def test_through_a_singular_matrix_nothing_is_estimated(small_data: Microdata) -> None:
    data = small_data.project(["smokes", "owner"])
    blurred, kept = KeepOrReplace.uniform(2, 0.0), KeepOrReplace.uniform(2, 0.5)
    own = Protocol(data.domain, (("smokes",), ("owner",)), (blurred, kept))
    protocol = StratifiedProtocol.single(own)
    reports = protocol.randomize(data, np.random.default_rng(1)).reports
    table = estimate_pairs(protocol, reports)
    assert table[["estimate", "ci_low_file", "shrunk"]].isna().all(axis=None)
    assert table["reported"].sum() == pytest.approx(1)
    assert np.isnan(pair_distances(table, data)["smokes x owner"])
