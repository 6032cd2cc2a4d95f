"""What a release can be told: words of the owner's, and findings that only these let pass."""

from typing import Any

import pytest
from pydantic import ValidationError

from deniable.release import release_from
from deniable.release.settings import OWNERS, AnyRelease

CLUSTERED = "no_epsilon_for_records"
UNPROTECTED = "true_values_released"
LARGEST = "largest_values_shown"


def idp(method: str, **changes: Any) -> AnyRelease:
    given = {"name": "r", "data": "d", "mechanism": "idp", "method": method, "epsilon": 1.0}
    size = {} if method == "dp" else {"k": 5}
    return release_from(given | size | {"rehearsal": True} | changes)


def independent(**changes: Any) -> AnyRelease:
    given = {"name": "r", "data": "d", "mechanism": "rr_independent", "matrix": "keep", "p": 0.5}
    return release_from(given | {"rehearsal": True} | changes)


@pytest.mark.parametrize(
    ("method", "factor", "findings"),
    [
        ("dp", None, []),
        ("dp", 1.5, [LARGEST]),
        ("dp_um", None, [CLUSTERED]),
        ("idp_ls", None, [CLUSTERED]),
        ("idp_cbls", None, [CLUSTERED, UNPROTECTED]),
        ("idp_cbls", 1.5, [CLUSTERED, UNPROTECTED, LARGEST]),
    ],
)
@pytest.mark.parametrize("real", [{"rehearsal": False, "population": "people"}, {}])
def test_what_fails_is_made_only_if_it_is_accepted_by_name(
    method: str, factor: float | None, findings: list[str], real: dict[str, Any]
) -> None:
    given = real | {"domain_factor": factor}
    assert list(idp(method, accept=findings, **given).findings) == findings
    assert list(idp(method, accept=findings[::-1], **given).findings) == findings
    for number in range(len(findings)):
        others = findings[:number] + findings[number + 1 :]
        with pytest.raises(ValidationError) as caught:
            idp(method, accept=others, **given)
        said = str(caught.value)
        # All that fails, each with its reason, and what would be accepted.
        for name, why in idp(method, accept=findings, **given).findings.items():
            assert f"{name} ({why})" in said
        assert f"accept: [{', '.join([*others, findings[number]])}]" in said
    with pytest.raises(ValidationError, match=r"accept: 'sound' is no finding of it; allowed: "):
        idp(method, accept=[*findings, "sound"], **given)


def test_nothing_can_be_accepted_where_nothing_fails() -> None:
    assert independent().findings == {}
    for name in (CLUSTERED, UNPROTECTED, LARGEST):
        with pytest.raises(ValidationError, match="allowed: nothing: no finding is against this"):
            independent(accept=[name])


@pytest.mark.parametrize("build", [independent, lambda **changes: idp("dp", **changes)])
def test_a_release_names_its_population_unless_it_is_a_rehearsal(build: Any) -> None:
    assert build().population is None
    with pytest.raises(ValidationError, match=r"population is missing; allowed: a name for the"):
        build(rehearsal=False)
    assert build(rehearsal=False, population="survey_2021").population == "survey_2021"
    with pytest.raises(ValidationError, match="population"):
        build(rehearsal=False, population="no name/of a file")


def test_words_of_the_owners_are_not_stated_to_everybody() -> None:
    own = {"population": "people", "consent": "asked", "accept": [CLUSTERED, UNPROTECTED]}
    release = idp("idp_cbls", **own)
    assert set(own) == OWNERS - {"keys"}  # of files of one's own
    assert not set(own) & set(release.stated())
    assert set(release.stated()) | set(own) == set(release.model_dump())
    assert release.stated()["order"] == "permuted"
    # Jobs are told all of it, and make the same release.
    assert release_from(release.model_dump()) == release
    # They decide nothing that is drawn.
    assert release.stated() == idp("idp_cbls", **own | {"population": "others"}).stated()


def test_records_stand_as_in_the_file_only_if_that_is_asked_for() -> None:
    assert independent().order == "permuted"
    assert independent(order="as_in_file").order == "as_in_file"
    with pytest.raises(ValidationError, match="order"):
        independent(order="sorted")
