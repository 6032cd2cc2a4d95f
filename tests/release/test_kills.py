"""Releases whose processes are killed at any moment, some while others are at work on them."""

import multiprocessing
import random
from pathlib import Path

import pytest
from tests.release.small_releases import (
    NamedKeys,
    content,
    killed_at_random,
    known_key,
    settings,
    source,
)

from deniable.release import Ledger, make_release

KINDS = ("independent", "histograms", "views")
SECONDS = 0.6  # of a release, at the most usual


def process(kind: str, at: Path, ready: object) -> None:
    release = settings(kind)
    given = source(release)
    ready.wait()  # type: ignore[attr-defined]
    make_release(release, given, at / "small", Ledger(at / "ledger"), NamedKeys(str(at / "keys")))


@pytest.mark.parametrize("kind", KINDS)
def test_kills_at_random_leave_one_draw(kind: str, tmp_path: Path) -> None:
    context, moments = multiprocessing.get_context("spawn"), random.Random(kind)
    known_key(tmp_path / "whole" / "keys")
    start = context.Barrier(1)
    whole = context.Process(target=process, args=(kind, tmp_path / "whole", start))
    whole.start()
    whole.join(120)
    known_key(tmp_path / "killed" / "keys")
    killed = killed_at_random(process, (kind, tmp_path / "killed"), 4, SECONDS, moments)
    release = settings(kind)
    place = NamedKeys(str(tmp_path / "killed" / "keys"))
    ledger = Ledger(tmp_path / "killed" / "ledger")
    make_release(release, source(release), tmp_path / "killed" / "small", ledger, place)
    assert killed > 0
    assert content(tmp_path / "killed/small/public") == content(tmp_path / "whole/small/public")
    assert len(ledger.entries("people")) == 1
    assert not (tmp_path / "killed" / "keys" / "small").exists()
