"""Releases whose processes are killed at any moment, some while others are at work on them."""

import multiprocessing
import os
import random
import signal
from pathlib import Path

import pytest
from tests.release.small_releases import NamedKeys, content, known_key, settings, source

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
    killed = 0
    for _ in range(4):
        barrier = context.Barrier(3)
        # Two at once, as a job and the one that was started because the first was thought dead.
        started = [
            context.Process(target=process, args=(kind, tmp_path / "killed", barrier))
            for _ in range(2)
        ]
        for each in started:
            each.start()
        barrier.wait(120)
        for each in started:
            each.join(moments.uniform(0, SECONDS))
            if each.is_alive():
                os.kill(each.pid or 0, signal.SIGKILL)
                killed += 1
            each.join(60)
    release = settings(kind)
    place = NamedKeys(str(tmp_path / "killed" / "keys"))
    ledger = Ledger(tmp_path / "killed" / "ledger")
    make_release(release, source(release), tmp_path / "killed" / "small", ledger, place)
    assert killed > 0
    assert content(tmp_path / "killed/small/public") == content(tmp_path / "whole/small/public")
    assert len(ledger.entries("people")) == 1
    assert not (tmp_path / "killed" / "keys" / "small").exists()
