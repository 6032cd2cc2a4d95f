"""The design and the draw of a file at an epsilon that was asked for."""

from collections.abc import Mapping
from typing import Any

from deniable.errors import DeniableError
from deniable.pram import StratifiedProtocol
from deniable.randomized_response import Protocol
from deniable.records import Microdata
from deniable.release import (
    CONVENTION,
    NOTHING,
    AskedRelease,
    ReleaseKey,
    described,
    in_order,
    marks_for,
    spreadsheets,
    texts_of,
)
from deniable.release.asked.channels import protocol_within

UNIT = "the whole record of one respondent"
SPLIT = "an equal share of the epsilon for each block of attributes of two cells or more"
REPORTS = (
    "a block of attributes whose channel has other reports than cells has one column, named after "
    'its attributes; a report is named after the cells that give it most often, joined by " | ", '
    "or where such names are long or alike by its number. matrices.csv has what each means"
)


def designed(release: AskedRelease, data: Microdata, key: ReleaseKey) -> dict[str, Any]:
    """Return what the design of a `release` leaves: what it says of itself.

    Nothing but the number of records follows from the true `data`, nothing at all from the `key`.

    Raises `DeniableError` if there is no channel as asked for.
    """
    chosen = data.project(release.attributes or data.domain.names)
    blocks = release.blocks(chosen.domain.names)
    try:
        protocol = protocol_within(chosen.domain, blocks, release.channel, release.epsilon)
    except DeniableError as error:
        raise DeniableError(f"release {release.name!r}: {error}") from None
    return {"release": describe(release, protocol, data.marks["data_source"], len(data))}


def describe(
    release: AskedRelease, protocol: Protocol, data_source: str, records: int
) -> dict[str, Any]:
    """Return what a `release` says of itself: data, parameters, privacy, channels, reports.

    Channels and epsilons are those of the `protocol`; there are so many `records`, published ones
    or a surrogate by the `data_source`.
    """
    by_attribute = StratifiedProtocol.single(protocol).epsilon_by_changed_attribute()
    said = {
        "records": records,
        "privacy": {
            "unit": UNIT,
            "asked_epsilon": release.epsilon,
            "epsilon": protocol.epsilon,
            "epsilon_by_changed_attribute": by_attribute,
            "split": SPLIT,
            "not_counted": NOTHING,
        },
        "convention": CONVENTION,
        "reports": REPORTS,
        "estimates": (
            "by the channel's own left inverse, unbiased whatever the records are; "
            "maximum_likelihood needs none"
        ),
    }
    texts = [*texts_of(protocol.domain), *texts_of(protocol.report_domain)]
    return described(release, data_source) | said | spreadsheets(texts) | protocol.to_json()


def protected(
    release: AskedRelease, made: Mapping[str, Any], data: Microdata, key: ReleaseKey
) -> dict[str, Any]:
    """Return what the draw of a `release` leaves: its protected file, by the ``release`` it `made`.

    Of the true `data`, drawn by the `key`.
    """
    protocol, draws = Protocol.from_json(made["release"]), key.draws(made["release"])
    reports = protocol.randomize(data.project(protocol.domain.names), draws)
    drawn = Microdata(reports.domain, reports.columns, marks_for(release, data))
    return {"protected": in_order(release, drawn, draws)}
