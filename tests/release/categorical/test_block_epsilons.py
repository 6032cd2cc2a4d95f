"""Exact epsilons of the blocks of a release, and of those that are too large for fractions."""

import pytest

from deniable.channels import SubsetSelection
from deniable.randomized_response import Protocol
from deniable.records import Attribute, Domain
from deniable.release.categorical import epsilons_of_blocks


def protocol_of(size: int) -> Protocol:
    domain = Domain((Attribute("a", tuple(map(str, range(size)))),))
    return Protocol(domain, (("a",),), (SubsetSelection.of_epsilon(size, 0.8),))


def test_the_epsilon_of_a_block_is_exact() -> None:
    protocol = protocol_of(7)
    assert epsilons_of_blocks(protocol)[None][0] == protocol.epsilon


def test_a_block_of_very_many_reports_is_audited_without_fractions(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    protocol = protocol_of(20)
    assert protocol.channels[0].reports > 10_000

    def never(channel: SubsetSelection, report: int) -> None:
        raise AssertionError("a fraction for each of all entries")

    monkeypatch.setattr(SubsetSelection, "exact_column", never)
    exact, shipped = epsilons_of_blocks(protocol)[None]
    assert exact == shipped == pytest.approx(protocol.epsilon, rel=1e-12)
