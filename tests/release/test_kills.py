"""Releases whose processes are killed at any moment, some while others are at work on them."""

import multiprocessing
import random
from pathlib import Path

import pytest
from tests.release.small_releases import (
    but_for_the_entry,
    killed_at_random,
    known_key,
    plan_for,
    records,
)

from deniable.release import Ledger, protect

KINDS = ("columns", "strata")
SECONDS = 0.6  # of a release, at the most usual


def process(kind: str, at: Path, ready: object) -> None:
    plan, data = plan_for(kind), records()
    ready.wait()  # type: ignore[attr-defined]
    protect(data, plan, at / "small", ledger=at / "ledger", key_folder=at / "keys")


@pytest.mark.parametrize("kind", KINDS)
def test_kills_at_random_leave_one_draw(kind: str, tmp_path: Path) -> None:
    context, moments = multiprocessing.get_context("spawn"), random.Random(kind)
    known_key(tmp_path / "whole")
    start = context.Barrier(1)
    whole = context.Process(target=process, args=(kind, tmp_path / "whole", start))
    whole.start()
    whole.join(120)
    keys = known_key(tmp_path / "killed")
    killed = killed_at_random(process, (kind, tmp_path / "killed"), 4, SECONDS, moments)
    at = tmp_path / "killed"
    protect(records(), plan_for(kind), at / "small", ledger=at / "ledger", key_folder=keys)
    assert killed > 0
    both = [but_for_the_entry(tmp_path / each / "small/public") for each in ("whole", "killed")]
    assert both[0] == both[1]
    assert len(Ledger(at / "ledger").entries("people")) == 1
    assert not list(keys.iterdir())
