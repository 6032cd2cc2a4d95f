"""Plans: their exact epsilon from all reports in fractions, and what they draw."""

from collections import Counter
from fractions import Fraction
from itertools import product

import numpy as np
import pytest
from scipy import stats

from deniable.channels import DenseChannel, KeepOrReplace, ProductChannel
from deniable.errors import ChannelError, DataError, DeniableError
from deniable.randomized_response.budgets import (
    Group,
    Question,
    QuestionPlan,
    sample_attribute,
    share_pairs,
    split_clusters,
    split_record,
)
from deniable.randomized_response.budgets.plan import GROUP
from deniable.records import Attribute, Domain
from deniable.sampling import KeyedDraws, SystemSource

ALARM = 1e-6


def domain_of(*sizes: int, scale: str = "nominal") -> Domain:
    return Domain(
        tuple(
            Attribute(f"a{i}", tuple(f"c{j}" for j in range(size)), scale)
            for i, size in enumerate(sizes)
        )
    )


DOMAIN = domain_of(2, 3, 2)
SKEWED = DenseChannel(np.array([[0.5, 0.25, 0.25], [0.125, 0.625, 0.25], [0.25, 0.25, 0.5]]))
# More reports than categories, of cells of two attributes of which one is asked by halves.
WIDE = DenseChannel(
    np.array(
        [
            [0.25, 0.25, 0.25, 0.125, 0.125],
            [0.125, 0.375, 0.25, 0.125, 0.125],
            [0.125, 0.25, 0.25, 0.25, 0.125],
            [0.125, 0.25, 0.125, 0.125, 0.375],
        ]
    )
)
MIXED = QuestionPlan(
    DOMAIN,
    (
        Group(
            1,
            (
                Question(("a1",), SKEWED, (3,)),
                Question(("a2",), KeepOrReplace.of_epsilon(2, 0.3), (2,)),
            ),
        ),
        Group(0.3, (Question(("a2", "a1"), WIDE, (2, 2)),)),
        Group(
            Fraction(1, 7),
            (
                Question(
                    ("a0", "a1"),
                    ProductChannel((KeepOrReplace.of_epsilon(2, 0.2), SKEWED)),
                    (2, 3),
                ),
            ),
        ),
    ),
)
PLANS = {
    "split": split_record(DOMAIN, 1.3, "least_variance"),
    "clusters": split_clusters(DOMAIN, (("a2", "a0"), ("a1",)), 1.3, "size"),
    "sampled": sample_attribute(DOMAIN, 0.7, [1, 2, 0.5]),
    "pairs": share_pairs(DOMAIN, 1.1),
    "some pairs": share_pairs(DOMAIN, 1.1, (("a2", "a1"), ("a0", "a1"))),
    "mixed": MIXED,
}
EVERY = pytest.mark.parametrize("plan", PLANS.values(), ids=PLANS.keys())


def exact_reports(plan: QuestionPlan, record: tuple[int, ...]) -> dict[tuple, Fraction]:
    """Return Pr(group, answers | record), worked from the channels' columns alone."""
    sizes = dict(zip(plan.domain.names, plan.domain.shape, strict=True))
    total = sum(Fraction(group.weight) for group in plan.groups)
    found = {}
    for number, group in enumerate(plan.groups):
        rows = []
        for question in group.questions:
            cell = 0
            for name, cells in zip(question.names, question.shape, strict=True):
                code = record[plan.domain.names.index(name)]
                cell = cell * cells + code * cells // sizes[name]
            channel = question.channel
            rows.append([channel.exact_column(v)[cell] for v in range(channel.reports)])
        for answers in product(*(range(len(row)) for row in rows)):
            chance = Fraction(group.weight) / total
            for row, answer in zip(rows, answers, strict=True):
                chance *= row[answer]
            found[number, *answers] = chance
    return found


@EVERY
def test_epsilon_is_that_of_all_reports_of_all_records(plan):
    records = list(product(*(range(size) for size in DOMAIN.shape)))
    exact = {record: exact_reports(plan, record) for record in records}
    assert all(sum(chances.values()) == 1 for chances in exact.values())

    def largest(pairs) -> Fraction:
        return max(exact[u][report] / exact[w][report] for u, w in pairs for report in exact[u])

    assert plan.exact_parity == largest(product(records, records))
    for position, name in enumerate(DOMAIN.names):
        neighbours = [
            (u, w)
            for u, w in product(records, records)
            if u[:position] + u[position + 1 :] == w[:position] + w[position + 1 :]
        ]
        found = np.exp(plan.epsilon_of(name))
        assert found == pytest.approx(float(largest(neighbours)), rel=1e-12)


def test_epsilon_of_the_four_ways():
    assert 1.3 - 1e-12 < PLANS["split"].epsilon <= 1.3
    assert 1.3 - 1e-12 < PLANS["clusters"].epsilon <= 1.3
    # Cells are 4 and 3: ln 4 / (ln 4 + ln 3) of 1.3 for who changes a0 or a2 alone.
    assert PLANS["clusters"].epsilon_of("a0") == pytest.approx(
        1.3 * np.log(4) / np.log(12), rel=1e-12
    )
    for name in DOMAIN.names:
        assert 0.7 - 1e-12 < PLANS["sampled"].epsilon_of(name) <= PLANS["sampled"].epsilon <= 0.7
        assert 1.1 - 1e-12 < PLANS["pairs"].epsilon_of(name) <= PLANS["pairs"].epsilon <= 1.1
    assert share_pairs(DOMAIN, 1.1, (("a0", "a1"),)).epsilon_of("a2") == 0.0


@EVERY
@pytest.mark.parametrize("keyed", [False, True])
def test_reports_have_the_stated_probabilities(plan, keyed):
    record, persons = (1, 2, 0), 40_000
    chance = KeyedDraws(bytes(range(32)), b"plan") if keyed else np.random.default_rng(17)
    reports = plan.randomize(np.tile(record, (persons, 1)), chance)
    seen = Counter[tuple]()
    for number in range(len(plan.groups)):
        told = zip(*(answers.tolist() for answers in reports.answers[number]), strict=True)
        seen.update((number, *answers) for answers in told)
    expected = exact_reports(plan, record)
    assert seen.total() == persons
    found = stats.chisquare(
        [seen[report] for report in expected],
        [float(chance) * persons for chance in expected.values()],
    )
    assert found.pvalue > ALARM


@EVERY
def test_a_key_gives_the_same_reports_in_any_portions(plan):
    generator = np.random.default_rng(3)
    records = np.stack([generator.integers(size, size=500) for size in DOMAIN.shape], axis=1)
    chance = KeyedDraws(bytes(32), b"plan")
    whole = plan.randomize(records, chance)
    picked = np.sort(generator.choice(500, 120, replace=False))
    portions = [(np.arange(500)[:200], range(200)), (np.arange(200, 500), range(200, 500))]
    for which, numbers in [*portions, (picked, picked)]:
        part = plan.randomize(records[which], chance, numbers)
        np.testing.assert_array_equal(part.group, whole.group[which])
        for number in range(len(plan.groups)):
            members = np.flatnonzero(whole.group == number)
            for own, of_all in zip(part.answers[number], whole.answers[number], strict=True):
                np.testing.assert_array_equal(own, of_all[np.isin(members, which)])
    other = plan.randomize(records, KeyedDraws(bytes(32), b"another"))
    if len(plan.groups) > 1:
        assert np.any(other.group != whole.group)


def test_the_group_does_not_depend_on_the_record():
    plan, chance = PLANS["pairs"], KeyedDraws(bytes(32), b"plan")
    one = plan.randomize(np.zeros((300, 3), dtype=int), chance)
    other = plan.randomize(np.ones((300, 3), dtype=int), chance)
    np.testing.assert_array_equal(one.group, other.group)


def test_groups_are_drawn_under_a_name_that_no_attribute_has():
    with pytest.raises(DeniableError, match="no name"):
        Attribute(*GROUP, ("x", "y"))


def test_ranges_are_consecutive_and_even():
    question = Question(("a0",), KeepOrReplace.of_epsilon(3, 1.0), (3,))
    cells = question.cells([np.arange(8, dtype=np.uint8)], (8,))
    np.testing.assert_array_equal(cells, [0, 0, 0, 1, 1, 1, 2, 2])
    fine = Question(("a0",), KeepOrReplace.of_epsilon(200, 1.0), (200,))
    np.testing.assert_array_equal(fine.cells([np.arange(200, dtype=np.uint8)], (200,)), range(200))


def test_shares_of_pairs_are_in_roots_of_variances():
    plan = share_pairs(domain_of(2, 3, 9), 1.0)
    odds = np.expm1(1.0)
    cells = np.array([6, 18, 27])
    roots = np.sqrt((1 / cells) * (1 - 1 / cells)) * (1 + cells / odds)
    np.testing.assert_allclose([float(s) for s in plan.shares], roots / roots.sum(), rtol=1e-12)


def test_ranges_are_coarser_for_fewer_persons_and_categories_without_order_are_kept():
    ordered = domain_of(30, 30, scale="ordinal")
    few, more, most = (
        share_pairs(ordered, 1.0, records=records).groups[0].questions[0].shape
        for records in (1_000, 100_000, 10**11)
    )
    assert 2 <= min(few) < min(more) < min(most) == 30
    nominal = share_pairs(domain_of(30, 30), 1.0, records=1_000)
    assert nominal.groups[0].questions[0].shape == (30, 30)
    mixed = Domain((*domain_of(7).attributes, Attribute("o", tuple("abcdefgh"), "ordinal")))
    assert share_pairs(mixed, 1.0, records=1_000).groups[0].questions[0].shape == (7, 2)


@pytest.mark.parametrize(("records", "epsilon"), [(3_000, 0.5), (20_000, 1.0), (500_000, 2.0)])
def test_ranges_have_the_least_error_of_all(records, epsilon):
    sizes, alpha, odds = (12, 9), 0.03, np.expm1(epsilon)
    asked = share_pairs(domain_of(*sizes, scale="ordinal"), epsilon, records=records)

    def error(g, h):
        cells = g * h
        variance = (1 / cells) * (1 - 1 / cells) * (1 + cells / odds) ** 2
        bias = alpha / g * (g < sizes[0]) + alpha / h * (h < sizes[1])
        return cells / 4 * variance / records + bias**2

    grids = [(g, h) for g in range(2, sizes[0] + 1) for h in range(2, sizes[1] + 1)]
    assert error(*asked.groups[0].questions[0].shape) <= min(error(*grid) for grid in grids) * (
        1 + 1e-9
    )


def test_what_does_not_fit_is_refused():
    question = Question(("a0",), KeepOrReplace.of_epsilon(2, 1.0), (2,))
    twice = Question(("a1", "a0"), KeepOrReplace.of_epsilon(6, 1.0), (3, 2))
    for groups, message in [
        ((), "at least one group"),
        ((Group(0, (question,)),), "weights above 0"),
        ((Group(np.inf, (question,)),), "weights above 0"),
        ((Group(1, (question, twice)),), "each once"),
        ((Group(1, ()),), "nothing"),
        ((Group(1, (Question(("a1",), question.channel, (2,)), question, twice)),), "each once"),
        ((Group(1, (Question(("a1",), question.channel, (3,)),)),), "make them fit"),
        (
            (Group(1, (Question(("a0",), KeepOrReplace.of_epsilon(4, 1.0), (4,)),)),),
            "make them fit",
        ),
        ((Group(1, (Question(("b",), question.channel, (2,)),)),), "no attribute 'b'"),
    ]:
        with pytest.raises(DeniableError, match=message):
            QuestionPlan(DOMAIN, groups)
    plan = PLANS["sampled"]
    with pytest.raises(DataError, match="a column for each"):
        plan.randomize(np.zeros((5, 2), dtype=int), SystemSource())
    with pytest.raises(DataError, match="outside"):
        plan.randomize(np.full((5, 3), 2), SystemSource())
    with pytest.raises(DataError, match="no attribute 'b'"):
        plan.epsilon_of("b")


def test_makers_refuse_what_they_cannot_make():
    with pytest.raises(DeniableError, match="2 weights for 3"):
        sample_attribute(DOMAIN, 1.0, [1, 1])
    with pytest.raises(DeniableError, match="weights above 0"):
        sample_attribute(DOMAIN, 1.0, [1, 0, 1])
    with pytest.raises(DeniableError, match="partition"):
        split_clusters(DOMAIN, (("a0", "a1"),), 1.0)
    with pytest.raises(DeniableError, match="one pair"):
        share_pairs(DOMAIN, 1.0, (("a0",),))
    with pytest.raises(DeniableError, match="one pair"):
        share_pairs(domain_of(3), 1.0)
    for make in (split_record, sample_attribute, share_pairs):
        with pytest.raises(DeniableError, match="epsilon is 0"):
            make(DOMAIN, 0.0)
    with pytest.raises(ChannelError, match="at most 30"):
        sample_attribute(DOMAIN, 31.0)
