"""Joint estimates by design and method, on the same randomized records."""

from itertools import combinations

import numpy as np
import pytest
from tests.simulations import outputs_of, simulated_whole

from deniable.records import Attribute, Domain, Microdata

from reproduction.papers.multirr.queries.joint_estimates import (
    JointEstimates,
    errors,
    forms_of,
    methods,
    randomized,
    sets_of,
)

DESIGNS = ("even", "optimal", "ask_1", "ask_2", "ask_pairs", "clusters_100", "clusters_30000")
CLUSTERS = ("clusters_100", "clusters_30000")
AT_EPSILON = {"dataset": "small", "given": "epsilon", "value": 4.0}
AT_P = {"dataset": "small", "given": "p", "value": 0.5}


@pytest.fixture(scope="module")
def data() -> Microdata:
    """Return 600 records of four dependent columns."""
    generator = np.random.default_rng(3)
    sizes = (3, 2, 4, 2)
    first = generator.integers(3, size=600)
    columns = [np.where(generator.random(600) < 0.6, first, 0) % size for size in sizes]
    names = tuple(f"column {at}" for at in range(4))
    attributes = zip(names, sizes, strict=True)
    domain = Domain(tuple(Attribute(n, tuple(map(str, range(size)))) for n, size in attributes))
    return Microdata(domain, tuple(columns))


@pytest.fixture(scope="module")
def simulator(data: Microdata) -> JointEstimates:
    return JointEstimates({"small": data}, DESIGNS)


def test_each_set_has_its_size_and_pairs_are_all_there() -> None:
    names = tuple("abcdefgh")
    found = sets_of(names)
    assert found[2] == tuple(combinations(names, 2))
    assert [len(found[k]) for k in found] == [28, 56, 12, 12, 10]
    for k, sets in found.items():
        assert len({*sets}) == len(sets)
        assert all(len(each) == k and sorted(each) == list(each) for each in sets)
    assert [*sets_of(("a", "b"))] == [2]


def test_a_plan_has_the_epsilon_of_its_setting(data: Microdata) -> None:
    of_one = {"even": 1.0, "ask_1": 4.0, "ask_2": 2.0, "ask_pairs": 4.0}
    for design in DESIGNS:
        forms = forms_of(data, "epsilon", 4.0, design)
        assert forms.epsilon == pytest.approx(4.0, abs=1e-6)
        assert forms.epsilon <= 4.0
        if design in of_one:
            found = max(forms.epsilon_by_changed_attribute().values())
            assert found == pytest.approx(of_one[design], abs=1e-6)


def test_each_record_has_the_values_of_one_form(data: Microdata) -> None:
    forms = forms_of(data, "epsilon", 4.0, "ask_2")
    answers = list(randomized(data, forms, np.random.default_rng(1)))
    answered = np.array([each.codes >= 0 for each in answers])
    assert (answered.sum(axis=0) == 2).all()
    shares = answered.mean(axis=1)  # each column is in half of the forms: 5 standard errors
    assert np.abs(shares - 0.5).max() < 5 * 0.5 / np.sqrt(len(data))


def test_without_noise_each_method_returns_what_it_can(data: Microdata) -> None:
    forms = forms_of(data, "epsilon", 4 * 25.0, "even")
    generator = np.random.default_rng(1)
    answers = list(randomized(data, forms, generator))
    found = dict(methods(answers, "even", data, generator))
    assert [*found] == ["rr_independent", "joint", "pair_likelihood", "inverse", "inverse_clipped"]
    pair = data.domain.names[:2]
    true = data.counts(pair) / len(data)
    product = np.outer(true.sum(axis=1), true.sum(axis=0)).reshape(-1)
    np.testing.assert_allclose(found.pop("rr_independent")(pair), product, atol=1e-6)
    for name, table in found.items():
        atol = 0.02 if name == "joint" else 1e-6
        np.testing.assert_allclose(table(pair), true.reshape(-1), atol=atol, err_msg=name)
    whole = found["inverse"](data.domain.names)
    np.testing.assert_allclose(whole, data.counts().reshape(-1) / len(data), atol=1e-6)


def test_adjusted_pairs_are_exact_without_noise(data: Microdata) -> None:
    forms = forms_of(data, "epsilon", 4 * 25.0, "clusters_100")
    generator = np.random.default_rng(1)
    answers = list(randomized(data, forms, generator))[::-1]
    found = dict(methods(answers, "clusters_100", data, generator))["rr_adjustment"]
    for pair in combinations(data.domain.names, 2):
        true = data.counts(pair).reshape(-1) / len(data)
        np.testing.assert_allclose(found(pair), true, atol=1e-6)


def test_errors_of_a_known_table() -> None:
    true = {("a", "b"): np.array([0.5, 0.5, 0.0, 0.0])}
    asked = {("a", "b"): np.array([[True, False, False, False], [False, False, True, False]])}
    found = dict(errors(lambda _: np.array([0.4, 0.5, 0.1, 0.0]), {2: [*true]}, true, asked))
    assert found["distance_2"] == pytest.approx(0.1)
    np.testing.assert_allclose(found["relative_error"], [0.2, np.inf])
    assert "distance_2_to_6" not in found


def test_the_mean_over_orders_has_the_weights_of_all_tables(data: Microdata) -> None:
    names = data.domain.names
    sets = {2: list(combinations(names, 2)), 3: list(combinations(names, 3)), 4: [names]}
    true = {n: data.counts(n).reshape(-1) / len(data) for of in sets.values() for n in of}
    found = dict(
        errors(
            lambda n: np.full(true[n].size, 1 / true[n].size),
            sets,
            true,
            {pair: np.ones((1, true[pair].size)) for pair in sets[2]},
        )
    )
    every = [np.abs(own - 1 / own.size).sum() / 2 for own in true.values()]
    assert found["distance_2_to_6"] == pytest.approx(np.mean(every))


@pytest.mark.parametrize("cell", [AT_EPSILON, AT_P])
def test_each_ratio_is_of_two_outputs_of_one_measure(
    simulator: JointEstimates, cell: dict[str, object]
) -> None:
    outputs = outputs_of(simulator, cell)
    designs = {each["design"] for each in outputs}
    at_epsilon = {*DESIGNS} - {"clusters_30000"}
    assert designs == (at_epsilon if cell is AT_EPSILON else {"even", *CLUSTERS})
    compared = simulator.compared(outputs)
    assert len({tuple(name.items()) for name, *_ in compared}) == len(compared)
    for name, how, (first, second) in compared:
        one, other = outputs[first], outputs[second]
        assert how == "ratio"
        assert name["measure"] == f"{one['measure']}_ratio" == f"{other['measure']}_ratio"
        assert (name["method"], name["design"]) == (one["method"], one["design"])
        assert name["against"] == f"{other['method']}, {other['design']}"
    ours = [each for each in outputs if each["method"] == "joint"]
    paired = {(n["design"], n["against"]) for n, *_ in compared if n["method"] == "joint"}
    for each in ours:
        base = "rr_clusters" if each["design"] in CLUSTERS else "rr_independent"
        assert (each["design"], f"{base}, {each['design']}") in paired
    large = ("clusters_30000", "rr_adjustment, clusters_100")
    assert (large in paired) == (cell is AT_P)


def test_a_whole_study_is_the_same_again_and_states_its_epsilons(
    simulator: JointEstimates,
) -> None:
    grid = {name: [value] for name, value in AT_EPSILON.items()}
    first, second = (
        simulated_whole(simulator, "multirr_joint", [grid], 3, summary="median") for _ in range(2)
    )
    assert first.equals(second)
    assert (first["record_epsilon"] <= 4.0).all()
    assert (first["attribute_epsilon"] <= first["record_epsilon"]).all()
    own = first[first["against"].isna()].set_index(["design", "method", "measure"])["regenerated"]
    ratios = first[first["against"].notna()]
    for row in ratios.to_dict("records"):
        method, design = row["against"].split(", ")
        measure = row["measure"].removesuffix("_ratio")
        base = own[design, method, measure]
        expected = own[row["design"], row["method"], measure] / base
        assert row["regenerated"] == pytest.approx(expected, rel=1e-9, nan_ok=True)
        assert np.isnan(row["regenerated"]) or row["ci_low"] <= row["ci_high"]
