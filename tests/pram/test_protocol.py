"""PRAM by stratum: what is used is what is returned, floors are floors, zeros are zeros."""

from itertools import product
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings, strategies as st
from tests.channels.invariant_channels import invariance_gap

from deniable.channels import Channel, DenseChannel, KeepOrReplace
from deniable.channels.invariant import two_step
from deniable.errors import DataError, DeniableError
from deniable.pram.protocol import StratifiedProtocol, parts_by_stratum, shares
from deniable.privacy.audit import audit_sampler
from deniable.randomized_response.protocols import Protocol
from deniable.records.categorical import Microdata
from deniable.records.domain import Attribute, Domain
from deniable.sampling import SystemRandomSource, generator_for

SEX = Attribute("sex", ("Female", "Male"))
COLOUR = Attribute("colour", ("blue", "red", "green"))
SMOKES = Attribute("smokes", ("no", "yes"))
AREA = Attribute("area", ("N", "E", "S"))
DOMAIN = Domain((COLOUR, SEX, SMOKES))


def shift(size: int, by: int) -> DenseChannel:
    """Return the channel that reports the category `by` further on, for certain."""
    return DenseChannel(np.roll(np.eye(size), by, axis=1))


def records(domain: Domain, number: int, seed: int = 1) -> Microdata:
    generator = np.random.default_rng(seed)
    columns = tuple(generator.integers(0, a.size, number) for a in domain)
    return Microdata(domain, columns, {"data_source": "original"})


def by_sex(female: Channel, male: Channel, **options: Any) -> StratifiedProtocol:
    """Return a protocol that randomizes colour and smokes jointly, by sex."""
    left = DOMAIN.project(["colour", "smokes"])
    protocols = {
        (name,): Protocol(left, (("colour", "smokes"),), (channel,))
        for name, channel in (("Female", female), ("Male", male))
    }
    return StratifiedProtocol(DOMAIN, ("sex",), protocols, **options)


def matrices_of(protocol: StratifiedProtocol) -> dict[Any, dict[Any, np.ndarray]]:
    return {
        stratum: {block: own.channel_of(block).matrix() for block in own.clusters}
        for stratum, own in protocol.protocols.items()
    }


# -- the faults of others --------------------------------------------------------------------------


def test_the_matrix_of_every_stratum_is_returned_not_the_last_alone() -> None:
    female, male = shift(6, 1), KeepOrReplace.uniform(6, 0.4)
    protocol = by_sex(female, male)
    assert set(matrices_of(protocol)) == {("Female",), ("Male",)}
    block = ("colour", "smokes")
    np.testing.assert_array_equal(matrices_of(protocol)[("Female",)][block], female.matrix())
    np.testing.assert_array_equal(matrices_of(protocol)[("Male",)][block], male.matrix())


def test_reports_that_are_no_categories_are_refused_before_any_draw() -> None:
    wide = DenseChannel(np.full((6, 7), 1 / 7))
    rng = np.random.default_rng(1)
    before = rng.bit_generator.state
    with pytest.raises(DeniableError, match="colour x smokes has 7 randomized values for 6 cells"):
        by_sex(shift(6, 1), wide).randomize(records(DOMAIN, 50), rng)
    assert rng.bit_generator.state == before


def test_the_matrices_that_are_returned_are_those_that_were_drawn_from() -> None:
    rows = np.array([[0.7, 0.2, 0.1], [0.0, 0.5, 0.5], [0.3, 0.0, 0.7]])
    domain = Domain((COLOUR, SEX))
    left = domain.project(["colour"])
    protocol = StratifiedProtocol(
        domain,
        ("sex",),
        {
            ("Female",): Protocol(left, (("colour",),), (DenseChannel(rows),)),
            ("Male",): Protocol(left, (("colour",),), (DenseChannel(rows[::-1, ::-1]),)),
        },
    )
    each = 40_000
    for code, stratum in enumerate(protocol.protocols):

        def randomize(codes: np.ndarray, own: int = code) -> np.ndarray:
            data = Microdata(domain, (codes, np.full(codes.size, own)))
            source = generator_for(7, {"test": "pram", "stratum": own})
            return protocol.randomize(data, source).column("colour")

        matrix = matrices_of(protocol)[stratum][("colour",)]
        test = audit_sampler(randomize, matrix, each)
        assert test.impossible == 0
        assert test.p_value > 1e-6  # a right sampler fails once in a million runs


@pytest.mark.parametrize("source", [np.random.default_rng(3), SystemRandomSource()])
def test_a_transition_of_probability_zero_never_happens(source: Any) -> None:
    P = np.array([[0.5, 0.5, 0.0], [0.0, 1.0, 0.0], [2**-40, 0.0, 1 - 2**-40]])
    domain = Domain((COLOUR,))
    protocol = StratifiedProtocol(
        domain, (), {(): Protocol(domain, (("colour",),), (DenseChannel(P),))}
    )
    codes = np.tile(np.arange(3), 700_000)
    reports = protocol.randomize(Microdata(domain, (codes,)), source).column("colour")
    seen = np.zeros((3, 3), dtype=int)
    np.add.at(seen, (codes, reports), 1)
    assert (seen[P == 0] == 0).all()
    # By construction, too: what is drawn from has the weight 0, exactly.
    channel = protocol.protocols[()].channels[0]
    assert isinstance(channel, DenseChannel)
    for row in range(3):
        cumulative = np.array([0, *channel._row(row).cumulative], dtype=object)
        np.testing.assert_array_equal(np.diff(cumulative) == 0, P[row] == 0)


# -- any layout of strata --------------------------------------------------------------------------


@st.composite
def layouts(draw: st.DrawFn) -> tuple[Microdata, StratifiedProtocol]:
    """Draw records, stratum attributes, blocks, and for each stratum shifts of its own."""
    sizes = draw(st.lists(st.integers(1, 4), min_size=2, max_size=5))
    attributes = tuple(
        Attribute(f"a{i}", tuple(f"c{j}" for j in range(size))) for i, size in enumerate(sizes)
    )
    domain = Domain(attributes)
    order = draw(st.permutations(domain.names))
    cut = draw(st.integers(0, len(sizes) - 1))
    strata = tuple(order[:cut])
    free = [name for name in domain.names if name not in strata]
    ends = sorted(draw(st.sets(st.integers(1, len(free) - 1)))) if len(free) > 1 else []
    shuffled = draw(st.permutations(free))
    blocks = tuple(
        tuple(shuffled[a:b]) for a, b in zip([0, *ends], [*ends, len(free)], strict=True)
    )
    number = draw(st.integers(1, 30))
    seed = draw(st.integers(0, 2**32 - 1))
    data = records(domain, number, seed)
    left = domain.project(free)
    cells = [*product(*(domain[name].categories for name in strata))]
    occurring = {stratum for stratum, _ in parts_by_stratum(data, strata, cells)}
    protocols = {}
    for position, stratum in enumerate(cells):
        if stratum in occurring or draw(st.booleans()):
            channels = tuple(shift(left.project(block).size, position + 1) for block in blocks)
            protocols[stratum] = Protocol(left, blocks, channels)
    return data, StratifiedProtocol(domain, strata, protocols)


@settings(max_examples=150, deadline=None)
@given(layouts())
def test_every_record_goes_through_the_matrix_that_is_returned_for_its_stratum(
    layout: tuple[Microdata, StratifiedProtocol],
) -> None:
    # Every matrix reports one category for certain: reports show which matrix each record met.
    data, protocol = layout
    result = protocol.randomize(data, np.random.default_rng(0))
    assert result.domain == data.domain
    assert result.marks == data.marks
    for name in protocol.strata:
        np.testing.assert_array_equal(result.column(name), data.column(name))
    assert set(matrices_of(protocol)) == set(protocol.protocols)
    for record in range(len(data)):
        stratum = tuple(
            data.domain[name].categories[data.column(name)[record]] for name in protocol.strata
        )
        for block, matrix in matrices_of(protocol)[stratum].items():
            part = data.domain.project(block)
            true, reported = (
                int(part.ravel([file.column(name)[record : record + 1] for name in block])[0])
                for file in (data, result)
            )
            assert matrix[true, reported] == 1.0


def test_parts_are_the_records_of_each_stratum_in_their_order() -> None:
    domain = Domain((AREA, SEX))
    data = Microdata(domain, (np.array([2, 0, 2, 2, 0]), np.array([1, 0, 1, 0, 0])))
    cells = [*product(SEX.categories, AREA.categories)]
    parts = parts_by_stratum(data, ("sex", "area"), cells)
    found = {stratum: rows.tolist() for stratum, rows in parts}
    assert found == {("Female", "N"): [1, 4], ("Female", "S"): [3], ("Male", "S"): [0, 2]}
    assert parts_by_stratum(data, (), [()])[0][1].tolist() == [0, 1, 2, 3, 4]


def test_a_stratum_without_records_needs_no_protocol_and_may_have_one() -> None:
    women = Microdata(DOMAIN, (np.array([0, 1]), np.array([0, 0]), np.array([1, 0])))
    protocol = by_sex(shift(6, 1), shift(6, 2))
    assert len(protocol.randomize(women, np.random.default_rng(1))) == 2
    only = StratifiedProtocol(DOMAIN, ("sex",), {("Female",): protocol.protocols[("Female",)]})
    assert len(only.randomize(women, np.random.default_rng(1))) == 2


def test_a_protocol_without_strata_draws_as_it_does_alone() -> None:
    protocol = Protocol(
        DOMAIN,
        (("colour", "sex"), ("smokes",)),
        (KeepOrReplace.uniform(6, 0.5), KeepOrReplace.uniform(2, 0.3)),
    )
    data = records(DOMAIN, 300)
    alone = protocol.randomize(data, np.random.default_rng(5))
    single = StratifiedProtocol(DOMAIN, (), {(): protocol}).randomize(
        data, np.random.default_rng(5)
    )
    for ours, theirs in zip(single.columns, alone.columns, strict=True):
        np.testing.assert_array_equal(ours, theirs)


# -- refusals --------------------------------------------------------------------------------------


class NeverAsked:
    """A source of chance that must not be drawn from."""

    def random(self, size: int) -> Any:
        """Fail."""
        raise AssertionError(f"{size} numbers were drawn")

    integers = random


def test_records_of_a_stratum_without_a_matrix_are_refused_before_anything_is_drawn() -> None:
    whole = by_sex(shift(6, 1), shift(6, 2))
    only = StratifiedProtocol(DOMAIN, ("sex",), {("Female",): whole.protocols[("Female",)]})
    data = Microdata(DOMAIN, (np.array([0, 1]), np.array([0, 1]), np.array([1, 0])))
    said = r"1 records \(the first is record 2\) are in the stratum sex = Male, which has no matrix"
    with pytest.raises(DeniableError, match=said):
        only.randomize(data, NeverAsked())


def test_data_over_another_domain_are_refused() -> None:
    protocol = by_sex(shift(6, 1), shift(6, 2))
    other = records(Domain((SEX, COLOUR, SMOKES)), 3)
    with pytest.raises(DeniableError, match="is for colour, sex, smokes, but the data have sex, c"):
        protocol.randomize(other, NeverAsked())


def test_protocols_that_fit_no_stratum_are_refused() -> None:
    left = DOMAIN.project(["colour", "smokes"])
    one = Protocol(left, (("colour", "smokes"),), (shift(6, 1),))
    apart = Protocol(left, (("colour",), ("smokes",)), (shift(3, 1), shift(2, 1)))
    cases: list[tuple[tuple[str, ...], dict[Any, Protocol], str]] = [
        (("sex",), {}, "there is no protocol"),
        (("sex", "sex"), {("Female", "Male"): one}, "'sex' is repeated"),
        (("age",), {("old",): one}, "no attribute 'age'"),
        (("sex",), {("old",): one}, "'sex' has no category 'old'"),
        (("sex",), {("Female", "Male"): one}, "has 2 categories for the 1 stratum attributes"),
        (("smokes",), {("no",): one}, "besides strata, the domain has colour, sex"),
        (("colour", "sex", "smokes"), {("red", "Male", "no"): one}, "leave one to randomize"),
        (("sex",), {("Female",): one, ("Male",): apart}, "'Male' has other clusters than the fir"),
    ]
    for strata, protocols, said in cases:
        with pytest.raises(DeniableError, match=said):
            StratifiedProtocol(DOMAIN, strata, protocols)


# -- privacy ---------------------------------------------------------------------------------------


def test_epsilon_is_that_of_the_worst_stratum() -> None:
    strong, weak = KeepOrReplace.uniform(6, 0.2), KeepOrReplace.uniform(6, 0.6)
    for protocol in (by_sex(strong, weak), by_sex(weak, strong)):
        assert protocol.epsilon == weak.epsilon
        assert protocol.epsilon_by_changed_attribute() == {
            "colour": weak.epsilon,
            "smokes": weak.epsilon,
        }


# -- shares, also weighted -------------------------------------------------------------------------


def test_shares_are_those_of_the_records_or_of_their_weights() -> None:
    data = Microdata(Domain((SEX, SMOKES)), (np.array([0, 1, 1, 0]), np.array([0, 0, 1, 0])))
    np.testing.assert_allclose(shares(data, ("sex", "smokes")), [0.5, 0, 0.25, 0.25])
    weights = [1.0, 2.0, 3.0, 4.0]
    np.testing.assert_allclose(shares(data, ("sex", "smokes"), weights), [0.5, 0, 0.2, 0.3])
    np.testing.assert_allclose(shares(data, ("smokes",), weights), [0.7, 0.3])
    # [pram], (2.7): the weighted shares stay what they are, the plain ones do not.
    weighted = shares(data, ("sex", "smokes"), weights)
    channel = two_step(KeepOrReplace.uniform(4, 0.5), weighted)
    assert invariance_gap(channel, weighted) <= 1e-15
    assert not (invariance_gap(channel, shares(data, ("sex", "smokes"))) <= 1e-3)


@pytest.mark.parametrize(
    ("weights", "said"),
    [
        ([1.0, 2.0], "4 records, but weights of shape"),
        ([1.0, 2.0, -1.0, 1.0], "not negative"),
        ([1.0, 2.0, np.nan, 1.0], "finite"),
        ([0.0] * 4, "not all zero"),
    ],
)
def test_weights_that_are_none_are_refused(weights: list[float], said: str) -> None:
    data = records(DOMAIN, 4)
    with pytest.raises(DeniableError, match=said):
        shares(data, ("sex",), weights)


def test_no_records_have_no_shares() -> None:
    with pytest.raises(DeniableError, match="no records; proportions of sex need some"):
        shares(records(DOMAIN, 0), ("sex",))


def test_unknown_attributes_are_refused() -> None:
    with pytest.raises(DataError, match="no attribute 'age'"):
        shares(records(DOMAIN, 4), ("age",))
