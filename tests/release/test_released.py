"""Releases that were made, read again: of real ones nothing that knows their true records."""

from pathlib import Path
from typing import Any

import pandas as pd
import pytest
from tests.release.small_releases import KINDS, settings, source

from deniable.release import LANES, RECEIPT, Ledger, audited_releases, make_release, rehearse
from deniable.release.made import FOR_ALL
from deniable.release.released import folders_of, lane_of, shown_of

NUMERIC = ("values", "centroids", "histograms")


def real(kind: str, at: Path) -> Path:
    """Make a release; return its folder."""
    release = settings(kind)
    make_release(release, source(release), at / "small", Ledger(at / "ledger"))
    return at / "small"


def rehearsed(kind: str, at: Path) -> Path:
    release = settings(kind, rehearsal=True)
    rehearse(release, source(release), at / "small")
    return at / "small"


def audits(left: Path) -> list[tuple[str, str, pd.DataFrame]]:
    return list(audited_releases([left]))


@pytest.mark.parametrize("kind", KINDS)
def test_of_a_release_nothing_is_shown_that_knows_its_records(kind: str, tmp_path: Path) -> None:
    folder = real(kind, tmp_path)
    shown = shown_of(folder)
    assert set(shown) == {Path(file).stem for file in lane_of(folder).shown}
    assert "check" not in shown
    passed_on: list[Any] = audits(folder / RECEIPT)
    # What the owner alone may see is in the private folder, whatever is passed on.
    if kind in NUMERIC:
        passed_on.append(("", "", shown["audit"]))
        assert all(set(rows["use"]) <= {FOR_ALL} for _, _, rows in passed_on)
        private = pd.read_csv(folder / "private" / "audit.csv")
        assert len(private) > 0
        assert len(shown["audit"]) == (len(private) if kind == "histograms" else 0)
    if kind in ("values", "centroids"):
        assert audits(folder / RECEIPT) == []
    else:
        (name, _, rows), *_ = passed_on
        assert name == "small"
        assert len(rows) > 0


@pytest.mark.parametrize("kind", KINDS)
def test_a_rehearsal_is_shown_whole(kind: str, tmp_path: Path) -> None:
    folder = rehearsed(kind, tmp_path)
    shown = shown_of(folder)
    lane = LANES[settings(kind).lane]
    assert set(shown) == {Path(file).stem for file in (*lane.shown, *lane.check.leaves)}
    assert len(shown["check"]) > 0
    (audit,) = audits(folder / "public")
    assert len(audit[2]) > 0
    if kind in NUMERIC:
        private = pd.read_csv(folder / "private" / "audit.csv")
        assert len(audit[2]) == len(shown["audit"]) == len(private)


def test_an_audit_goes_by_the_name_of_the_method_or_mechanism(tmp_path: Path) -> None:
    named = {}
    for kind in ("independent", "centroids", "views"):
        ((name, shown, _),) = audits(rehearsed(kind, tmp_path / kind) / "private")
        assert name == "small"
        named[kind] = shown
    assert named == {"independent": "rr_independent", "centroids": "idp_cbls", "views": "rrba"}


def test_a_folder_is_found_once_by_whatever_is_left_in_it() -> None:
    left = ["r/one/public", "r/one/private", f"r/two/{RECEIPT}", Path("r/three/public")]
    assert folders_of(left) == [Path("r/one"), Path("r/two"), Path("r/three")]


def test_what_is_of_no_stratum_has_none_as_pages_ask_for_it(tmp_path: Path) -> None:
    shown = shown_of(rehearsed("independent", tmp_path))
    for name in ("estimates", "check"):
        assert len(shown[name]) > 0
        assert shown[name]["stratum"].isna().all()
    by_stratum = shown_of(rehearsed("strata", tmp_path / "strata"))["check"]["stratum"]
    assert 0 < by_stratum.isna().sum() < len(by_stratum)
