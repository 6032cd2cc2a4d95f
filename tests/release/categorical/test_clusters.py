"""Clusters from randomized answers: what they rest on, and what a person spends in all."""

import json
from itertools import product
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from deniable.channels import channel_from_json
from deniable.errors import DeniableError
from deniable.privacy.audit import column_epsilon
from deniable.randomized_response.assessment import PairReports
from deniable.randomized_response.audit import audit_release
from deniable.randomized_response.protocols import Protocol
from deniable.records.categorical import Microdata
from deniable.records.domain import Attribute, Domain
from deniable.release import ReleaseKey, in_true_order, key_for, key_of_seed, release_from
from deniable.release.categorical import check, clusters, design
from deniable.release.categorical.clusters import answering, halves
from deniable.release.settings import ClustersRelease

KEY = key_of_seed(1)
COMMON = {"name": "small", "data": "adult", "mechanism": "rr_clusters", "matrix": "keep"}
COMMON |= {"p": 0.4, "t_v": 6, "t_d": 0.0, "rehearsal": True}
WAYS = ("attributes", "attributes_inverted", "pairs_joint", "pairs_kronecker")
TINY = Domain(
    (Attribute("a", ("0", "1")), Attribute("b", ("0", "1", "2")), Attribute("c", ("x", "y")))
)


def settings(by: str = "attributes", respondents: str = "all", **changes: Any) -> ClustersRelease:
    answers = {"by": by, "p": 0.3, "respondents": respondents}
    asked = {"cluster_mechanism": "joint", "dependences": answers} | changes
    found = release_from(COMMON | asked)
    assert isinstance(found, ClustersRelease)
    return found


def described(release: ClustersRelease, data: Microdata, key: ReleaseKey = KEY) -> dict[str, Any]:
    """Return what a release says of itself, as its file has it."""
    said: dict[str, Any] = json.loads(json.dumps(design.designed(release, data, key)["release"]))
    return said


def records(count: int, seed: int = 1) -> Microdata:
    """Return records over `TINY` whose attributes depend on each other."""
    generator = np.random.default_rng(seed)
    first = generator.integers(0, 2, count)
    second = (first + (generator.random(count) < 0.3)) % 3
    third = np.where(generator.random(count) < 0.8, first, 1 - first)
    return Microdata(TINY, (first, second, third), {"data_source": "original"})


# -- what a person spends --------------------------------------------------------------------------


def sent_matrix(domain: Domain, names: list[str], P: np.ndarray) -> np.ndarray:
    """Return the probabilities of a report of some attributes, a row a whole record."""
    part = domain.project(names)
    positions = [domain.position(name) for name in names]
    rows = [
        int(np.ravel_multi_index([cell[i] for i in positions], part.shape))
        for cell in product(*map(range, domain.shape))
    ]
    return P[rows]


def joint_channel(domain: Domain, reports: list[dict[str, Any]]) -> np.ndarray:
    """Return Pr(all reports of one person | true record), every combination of them a column."""
    whole = np.ones((domain.size, 1))
    for each in reports:
        own = sent_matrix(domain, each["attributes"], channel_from_json(each["channel"]).matrix())
        whole = np.einsum("xa,xb->xab", whole, own).reshape(domain.size, -1)
    return whole


def others_alike(domain: Domain, changed: str) -> list[list[int]]:
    """Return classes of records that differ in one attribute alone."""
    position, classes = domain.position(changed), {}
    for number, cell in enumerate(product(*map(range, domain.shape))):
        key = tuple(code for i, code in enumerate(cell) if i != position)
        classes.setdefault(key, []).append(number)
    return list(classes.values())


@pytest.mark.parametrize("reading", ["keep", "printed", "diagonal"])
@pytest.mark.parametrize("mechanism", ["joint", "kronecker"])
@pytest.mark.parametrize("by", WAYS)
def test_who_answers_twice_spends_what_both_answers_tell_together(
    by: str, mechanism: str, reading: str
) -> None:
    release = settings(by, cluster_mechanism=mechanism, matrix=reading)
    said = described(release, records(300))
    assert any(len(each["attributes"]) == 2 for each in said["clusters"])
    # Enumerated: all that one person can send, for each record that may be true.
    together = joint_channel(TINY, [*said["dependences"]["channels"], *said["clusters"]])
    np.testing.assert_allclose(together.sum(axis=1), 1)
    privacy = said["privacy"]
    assert privacy["epsilon"] == pytest.approx(column_epsilon(together), abs=1e-9)
    for name, epsilon in privacy["epsilon_by_changed_attribute"].items():
        exact = column_epsilon(together, others_alike(TINY, name))
        assert epsilon == pytest.approx(exact, abs=1e-9)
    parts = [part["epsilon"] for part in privacy["parts"].values()]
    assert privacy["epsilon"] == pytest.approx(sum(parts))
    assert privacy["not_counted"] == "nothing"


@pytest.mark.parametrize("by", WAYS)
@pytest.mark.parametrize("p", [0.2, 0.6])
def test_who_answers_once_spends_the_larger_part(by: str, p: float) -> None:
    said = described(settings(by, "half", p=p), records(300))
    apart = [
        joint_channel(TINY, reports)
        for reports in (said["dependences"]["channels"], said["clusters"])
    ]
    privacy = said["privacy"]
    assert privacy["epsilon"] == pytest.approx(max(map(column_epsilon, apart)), abs=1e-9)
    for name, epsilon in privacy["epsilon_by_changed_attribute"].items():
        exact = max(column_epsilon(part, others_alike(TINY, name)) for part in apart)
        assert epsilon == pytest.approx(exact, abs=1e-9)
    parts = [part["epsilon"] for part in privacy["parts"].values()]
    assert privacy["epsilon"] == max(parts) < sum(parts)


@pytest.mark.parametrize("mechanism", ["joint", "kronecker"])
def test_the_waiver_of_the_pairs_is_refused(mechanism: str) -> None:
    said = described(settings(f"pairs_{mechanism}"), records(300))
    pairs = PairReports(TINY, 0.3, "keep", mechanism)
    counted = said["privacy"]["parts"]["dependences"]["epsilon"]
    # Three attributes, each in two pairs: twice what it is "as if released once".
    assert counted == pytest.approx(2 * pairs.waived_epsilon)
    assert said["privacy"]["epsilon"] > counted


@pytest.mark.parametrize("respondents", ["all", "half"])
@pytest.mark.parametrize("by", WAYS)
def test_the_audit_finds_what_is_stated_and_no_less(by: str, respondents: str) -> None:
    said = described(settings(by, respondents), records(300))
    audited = audit_release(said)
    assert audited["holds"].all()
    np.testing.assert_allclose(audited["exact_epsilon"], audited["claimed_epsilon"], rtol=1e-12)
    np.testing.assert_allclose(audited["shipped_epsilon"], audited["claimed_epsilon"], rtol=1e-9)
    assert list(audited["of"]) == [
        *("a", "b", "c", "all attributes"),
        *("answers for the dependences", "answers for the file"),
    ]
    # A claim that leaves the answers about dependences out does not hold for who answers twice.
    said["privacy"]["epsilon"] = said["privacy"]["parts"]["file"]["epsilon"]
    (holds,) = audit_release(said).query("of == 'all attributes'")["holds"]
    assert holds == (respondents == "half" and by.startswith("attributes"))


def test_a_claim_that_takes_a_sum_for_the_larger_part_does_not_hold() -> None:
    said = described(settings(), records(300))
    parts = said["privacy"]["parts"].values()
    said["privacy"]["epsilon"] = max(part["epsilon"] for part in parts)
    assert not audit_release(said).query("of == 'all attributes'")["holds"].any()


def test_of_clusters_from_the_true_records_no_finite_epsilon_is_stated() -> None:
    said = described(settings(dependences={"by": "true_records"}), records(300))
    assert said["dependences"] == {"by": "true_records"}
    assert said["privacy"]["given"] == "the clusters"
    assert "no finite epsilon" in said["privacy"]["not_counted"]
    assert "without any guarantee" in said["privacy"]["not_counted"]
    (row,) = audit_release(said).query("of.str.contains('true records')").to_dict("records")
    assert row["claimed_epsilon"] == row["exact_epsilon"] == np.inf


def test_samplers_of_answers_are_tested() -> None:
    tests = check.audit_release_samplers(described(settings(), records(300)), 1, draws=4000)
    assert {"dependences: a", "dependences: b", "dependences: c"} < set(tests["cluster"])
    assert tests["holds"].all()


# -- what the clusters rest on ---------------------------------------------------------------------


@pytest.mark.parametrize("respondents", ["all", "half"])
@pytest.mark.parametrize("by", WAYS)
def test_clusters_rest_on_randomized_answers_alone(
    by: str, respondents: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    # Poisoned: whatever is true, the answers are the same. A design that read anything else of the
    # records than their number would differ.
    def alike(self: Any, codes: np.ndarray, column: Any) -> np.ndarray:
        return np.arange(len(codes)) % self.size

    def refuse(*_: Any) -> None:
        raise AssertionError("dependences of the true records were asked for")

    for kind in ("KeepOrReplace", "ProductChannel"):
        monkeypatch.setattr(f"deniable.channels.{kind}.randomize_keyed", alike)
    monkeypatch.setattr(clusters, "dependences", refuse)
    release = settings(by, respondents)
    one, other = records(300, seed=1), records(300, seed=2)
    assert described(release, one) == described(release, other)


@pytest.mark.parametrize("by", WAYS)
def test_the_half_that_answers_for_the_file_is_not_read_for_the_clusters(by: str) -> None:
    release, data = settings(by, "half"), records(301)
    said = described(release, data)
    first, second = halves(301, said["dependences"]["public_draw"])
    other = Microdata(TINY, tuple(column.copy() for column in data.columns), data.marks)
    for column in other.columns:
        column[second] = 0
    assert described(release, other) == said
    for column in other.columns:
        column[first] = 0
    assert described(release, other) != said


def test_the_released_file_is_of_the_other_half() -> None:
    release = settings(respondents="half", p=1 - 1e-12, cluster_mechanism="kronecker")
    data = records(301)
    said = described(release, data)
    protected = design.protected(release, {"release": said}, data, KEY)["protected"]
    _, second = halves(301, said["dependences"]["public_draw"])
    assert len(protected) == said["records"] == 151
    ordered = in_true_order(release, protected, KEY.draws(said))
    for reported, true in zip(ordered.columns, data.columns, strict=True):
        np.testing.assert_array_equal(reported, true[second])
    np.testing.assert_array_equal(answering(said, 301), second)
    assert answering(described(settings(), data), 301) is None


def test_halves_are_those_that_anybody_can_draw_again() -> None:
    first, second = halves(7, "00ff")
    assert len(first) == 3
    assert sorted([*first, *second]) == list(range(7))
    # printf "00ff:$i" | sha256sum, for i from 1 to 7: those of 5, 3 and 1 come first.
    assert first.tolist() == [0, 2, 4]


def test_every_record_is_as_likely_in_either_half() -> None:
    times = np.zeros(10)
    for draw in range(4000):
        times[halves(10, f"{draw:032x}")[0]] += 1
    # Six standard errors of 4,000 draws.
    assert np.abs(times / 4000 - 0.5).max() < 6 * 0.5 / np.sqrt(4000)


def test_the_public_draw_is_the_seeds_in_a_rehearsal_alone(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    data, release = records(300), settings(respondents="half")
    keys = [key_for(release, seed, tmp_path, data) for seed in (1, 1, 2)]
    draws = [described(release, data, key) for key in keys]
    one, again, other = (said["dependences"]["public_draw"] for said in draws)
    assert one == again != other

    def refuse(*_: Any) -> None:
        raise AssertionError("a release must not be seeded")

    monkeypatch.setattr("deniable.release.keys.key_of_seed", refuse)
    real = settings(respondents="half", rehearsal=False, population="people")
    keys = [key_for(real, 1, tmp_path / folder, data) for folder in ("one", "one", "other")]
    first, again, second = (described(real, data, key)["dependences"] for key in keys)
    assert first["public_draw"] == again["public_draw"] != second["public_draw"]
    assert len(first["public_draw"]) == 32


# -- the rest of the lane --------------------------------------------------------------------------


def test_a_description_still_holds_the_protocol() -> None:
    said = described(settings(respondents="half"), records(300))
    protocol = Protocol.from_json(said)
    assert protocol.epsilon == said["privacy"]["parts"]["file"]["epsilon"]
    assert {"attribute_1", "attribute_2", "measure", "dependence"} == set(
        said["dependences"]["assessed"][0]
    )


def test_answers_that_tell_for_certain_are_refused() -> None:
    # 1 - p is lost beside 1 in the matrix of a pair: nothing would ever be replaced.
    answers = {"by": "pairs_joint", "p": 1 - 1e-12, "respondents": "half"}
    with pytest.raises(DeniableError, match=r"release 'small'.*apart for certain.*smaller p"):
        described(settings(dependences=answers), records(300))


def test_one_record_has_no_half() -> None:
    with pytest.raises(DeniableError, match="one record alone has no half"):
        described(settings(respondents="half"), records(1))
