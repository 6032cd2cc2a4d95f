"""What the page and the audit say of protocols that are asked for by their epsilon."""

import math
from fractions import Fraction

import numpy as np
import pandas as pd
import pytest

from deniable.channels import (
    Channel,
    HadamardResponse,
    KeepOrReplace,
    SubsetSelection,
    TwoLevelChannel,
    log_rounded_up,
)

from reproduction.papers import protocols as module
from reproduction.papers.audit import ASKED, one_audit
from reproduction.papers.catalog import AUDITED
from reproduction.papers.protocols import EPSILONS, PROTOCOLS, SIZES, audited_protocols, protocols

ROWS = protocols({})["rows"]


@pytest.fixture(scope="module")
def audited() -> pd.DataFrame:
    return audited_protocols()


def test_variances_are_those_of_closed_forms() -> None:
    for row in ROWS:
        k, e, share = row["size"], math.exp(row["epsilon"]), 1 / row["size"]
        gain = (e - 1) / (e + k - 1)
        generalized = share * (1 - share) / gain**2
        assert row["variances"]["generalized randomized response"] == pytest.approx(generalized)
        gain = (e - 1) / (e + 1) / 2
        supported = 0.5 + gain * share
        hadamard = supported * (1 - supported) / gain**2
        assert row["variances"]["Hadamard response"] == pytest.approx(hadamard)
        q, p = 1 / (e + 1), 0.5
        supported = q + (p - q) * share
        unary = supported * (1 - supported) / (p - q) ** 2
        assert row["variances"]["optimized unary encoding"] == pytest.approx(unary)


def test_variances_are_those_of_the_matrices() -> None:
    (row,) = (each for each in ROWS if (each["size"], each["epsilon"]) == (4, 1.0))
    for name, made in PROTOCOLS.items():
        channel, reports = made(4, 1.0), np.arange(made(4, 1.0).reports)
        own = reports == 0
        if isinstance(channel, TwoLevelChannel | module.SupportedProtocol):
            own = channel.supported_by(reports, 0)
        P = channel.matrix()
        p, q = P[0, own].sum(), P[1, own].sum()
        reported = np.full(4, 0.25) @ P
        inverse = (own - q) / (p - q)
        assert reported @ inverse == pytest.approx(0.25)
        variance = reported @ inverse**2 - 0.25**2
        assert row["variances"][name] == pytest.approx(variance), name


def test_textbook_variances_of_rare_categories() -> None:
    limit = 4 * math.e / (math.e - 1) ** 2
    for channel in (module.UnaryEncoding(30, 1.0), module.LocalHashing(100, 1.0)):
        assert limit * (1 - 1e-12) <= channel.own_variance(0.0) < 1.03 * limit


@pytest.mark.parametrize("prime", [2, 3, 5])
def test_any_two_categories_are_hashed_independently(prime: int) -> None:
    channel = module.LocalHashing(4, 1.0, prime)
    reports = np.arange(channel.reports)
    sets = np.array([channel.supported_by(reports, u) for u in range(4)])
    together = sets.astype(int) @ sets.T.astype(int)
    assert set(np.diag(together)) == {channel.reports // prime}
    assert set(together[~np.eye(4, dtype=bool)]) == {channel.reports // prime**2}


def test_the_chosen_one_has_the_least_variance_of_those_that_can_be_counted() -> None:
    references = {"optimized unary encoding", "local hashing"}
    for row in ROWS:
        left = {name: v for name, v in row["variances"].items() if name not in references}
        if SubsetSelection.of_epsilon(row["size"], row["epsilon"]).reports > 2**24:
            del left["subset selection"]
        assert left[row["chosen"]] == pytest.approx(min(left.values()), rel=1e-9)


def test_what_the_text_says_of_the_chosen_ones() -> None:
    chosen = {size: {row["chosen"] for row in ROWS if row["size"] == size} for size in SIZES}
    few = {"generalized randomized response", "subset selection"}
    assert chosen[4] | chosen[16] <= few
    assert chosen[10_000] == {"projective geometry response"}


def test_no_epsilon_that_is_drawn_exceeds_what_was_asked_for(audited: pd.DataFrame) -> None:
    for row in ROWS:
        assert row["epsilon"] * (1 - 1e-14) <= row["drawn"] <= row["epsilon"]
    assert set(audited["mechanism"]) == set(PROTOCOLS)
    assert (audited["exact_epsilon"] <= audited["epsilon"]).all()
    assert (audited["exact_epsilon"] >= audited["epsilon"] * (1 - 1e-14)).all()
    assert audited["holds"].all()
    in_full = audited["of"] != "closed form"
    assert audited.loc[in_full, "shipped_epsilon"].notna().all()
    assert set(audited.loc[in_full, "mechanism"]) == set(PROTOCOLS)


def test_every_channel_has_a_row_in_the_audit(audited: pd.DataFrame) -> None:
    rows = one_audit(AUDITED, {}, protocols=audited)
    assert len(rows) == len(audited)
    assert set(rows["claim"]) == {ASKED}
    assert (rows["cases"] == 1).all()
    assert set(rows["holds"]) == {"True"}
    whole = (len(PROTOCOLS) - 1) * len(SIZES) * len(EPSILONS)
    assert (rows["mechanism"] != "optimized unary encoding").sum() == whole
    assert "ε = 0.5, 10,000 categories" in set(rows["setting"])


@pytest.mark.parametrize("size", [4, 10_000])
def test_a_channel_that_spends_more_than_was_asked_for_fails(
    monkeypatch: pytest.MonkeyPatch, size: int
) -> None:
    def careless(size: int, epsilon: float) -> Channel:
        exact = HadamardResponse.of_epsilon(size, epsilon)
        return HadamardResponse(size, math.nextafter(exact.probability, 1.0))

    monkeypatch.setattr(module, "PROTOCOLS", {"careless": careless})
    monkeypatch.setattr(module, "SIZES", (size,))
    found = audited_protocols()
    assert not found["holds"].any()
    assert (found["exact_epsilon"] > found["epsilon"]).all()


def test_a_channel_that_lies_about_its_epsilon_fails(monkeypatch: pytest.MonkeyPatch) -> None:
    channel = KeepOrReplace.of_epsilon(4, 2.0)
    monkeypatch.setattr(KeepOrReplace, "exact_parity", Fraction(1))
    monkeypatch.setattr(module, "PROTOCOLS", {"lying": lambda size, epsilon: channel})
    monkeypatch.setattr(module, "SIZES", (4,))
    monkeypatch.setattr(module, "EPSILONS", (1.0,))
    assert channel.epsilon == 0
    (row,) = audited_protocols().to_dict("records")
    assert not row["holds"]
    assert row["exact_epsilon"] == pytest.approx(2.0)


@pytest.mark.parametrize("epsilon", [0.1, 0.5, 1.0, math.log(3), 2.0, 2.5, 8.0, 8.3])
def test_the_next_float_of_a_bit_would_exceed_epsilon(epsilon: float) -> None:
    channel = module.UnaryEncoding(9, epsilon)
    lower = Fraction(math.nextafter(channel.others, 0.0))
    assert channel.epsilon <= epsilon < log_rounded_up(1 / lower - 1)
