"""Claims about mechanisms for numeric records, compared with the audit on small files."""

import math
from fractions import Fraction

import numpy as np
import pandas as pd
import pytest
from hypothesis import given, strategies as st
from tests.idp.numeric_files import (
    METHODS,
    WITH_EPSILON,
    audited,
    mechanism_by,
    numeric_file,
    stated_domains,
)

from deniable.channels.exact import rounded_down, rounded_up
from deniable.errors import DeniableError
from deniable.idp import Domains, NumericMechanism, domains_by_factor
from deniable.idp.audit import (
    CENTROID,
    CENTROIDS,
    FIXED_SCALE,
    RECOMPUTED_SCALE,
    RECORD,
    AuditedFile,
    audit_file,
    definition,
    proved_epsilon,
    recorded_epsilons,
    verdicts,
)
from deniable.records import NumericMicrodata


def with_factor(method: str, factor: float | None, data: NumericMicrodata) -> NumericMechanism:
    if factor is None:
        return mechanism_by(method)
    return mechanism_by(method, domains=domains_by_factor(data, factor), domain_factor=factor)


@given(st.fractions(min_value=Fraction(1, 10**9), max_value=10**9))
def test_rounding_goes_up_to_the_next_float(exact: Fraction) -> None:
    found = rounded_up(exact)
    assert Fraction(found) >= exact > Fraction(math.nextafter(found, -math.inf))


@given(st.floats(0.01, 30), st.integers(1, 12), st.sampled_from(WITH_EPSILON))
def test_the_proved_epsilon_is_the_claimed_one_but_for_rounding(
    epsilon: float, attributes: int, method: str
) -> None:
    names = tuple(f"a{i}" for i in range(attributes))
    upper = np.linspace(0.3, 7.0, attributes)
    stated = Domains(names, np.zeros(attributes), upper)
    mechanism = mechanism_by(method, epsilon, domains=stated)
    found = proved_epsilon(mechanism)
    assert found == pytest.approx(epsilon, rel=1e-14)
    assert found <= epsilon
    assert found == rounded_up(sum(recorded_epsilons(mechanism), Fraction(0)))
    # By hand: two counts, or the width, over the scale that the noise is drawn with.
    share = rounded_down(Fraction(mechanism.budget) / attributes)
    scales = [2 / share] * attributes if method == "histograms" else [u / share for u in upper]
    changes = [2.0] * attributes if method == "histograms" else upper.tolist()
    by_hand = [Fraction(c) / Fraction(s) for c, s in zip(changes, scales, strict=True)]
    assert mechanism.exact_epsilons == by_hand == recorded_epsilons(mechanism)


@pytest.mark.parametrize("method", METHODS)
def test_only_methods_without_clusters_have_a_proved_epsilon_of_records(method: str) -> None:
    assert (proved_epsilon(mechanism_by(method)) == math.inf) == (method not in WITH_EPSILON)
    if method != "histograms":
        assert proved_epsilon(with_factor(method, 1.5, numeric_file())) == math.inf
    named = definition(mechanism_by(method))
    assert named.startswith("individual" if method.startswith("idp") else "differential privacy")


@pytest.mark.parametrize(
    ("method", "factor"),
    [(method, factor) for factor in (None, 1.5) for method in list(METHODS)[1:]],
)
@pytest.mark.parametrize("seed", [1, 2, 3])
def test_verdicts_agree_with_the_audit(method: str, factor: float | None, seed: int) -> None:
    """What holds for all records holds for these; what fails for all fails for these, too."""
    records = numeric_file(seed)
    mechanism = with_factor(method, factor, records)
    audit = audited(mechanism, records)
    assert (audit["domain"] == "from the data").any() == (factor is not None)
    units = {CENTROID: ["centroid"], CENTROIDS: ["attribute"], RECORD: ["record"]}
    for verdict in verdicts(mechanism):
        rows = audit[audit["unit"].isin(units[verdict.what])]
        rows = rows[rows["reading"].isin(verdict.reading.split(", "))]
        if verdict.what != RECORD:
            rows = rows[(rows["clusters"] != "fixed") & (rows["attribute"] != "all attributes")]
        if verdict.holds:
            public = rows[rows["domain"] == "public"]
            assert len(public)
            assert (public["holds"].astype(str) == "True").all()
            if verdict.proved_epsilon is not None:
                assert public["exact_or_lower_bound"].max() <= verdict.proved_epsilon * (1 + 1e-9)
        else:
            assert (rows["holds"].astype(str) == "False").any()
        if verdict.proved_epsilon == math.inf:
            assert np.isinf(rows["exact_or_lower_bound"]).any()


def test_a_size_of_one_does_not_repeat_dp_nor_omit_methods() -> None:
    domains, records = stated_domains(), numeric_file()
    file = AuditedFile(
        "small", domains.names, domains.inner(records.values), domains.widths, np.nan
    )
    pd.testing.assert_frame_equal(
        audit_file(file, [1], [1.0], ["dp"]), audit_file(file, [], [1.0], ["dp"])
    )
    assert audit_file(file, [1], [1.0], ["dp_um"])["method"].eq("dp_um").any()
    with pytest.raises(DeniableError, match="k is 1"):
        audit_file(file, [1], [1.0], ["idp_cbls"])


@pytest.mark.parametrize("method", METHODS)
def test_no_unit_is_said_both_to_hold_and_to_fail(method: str) -> None:
    for factor in (None, 1.5) if method != "histograms" else (None,):
        mechanism = with_factor(method, factor, numeric_file())
        found: dict[tuple[str, str], set[bool]] = {}
        for verdict in verdicts(mechanism):
            for reading in verdict.reading.split(", "):
                found.setdefault((verdict.what, reading), set()).add(verdict.holds)
        assert all(len(each) == 1 for each in found.values())
        assert (RECORD, RECOMPUTED_SCALE) in found
        assert (RECORD, FIXED_SCALE) in found
