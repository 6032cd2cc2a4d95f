"""The steps of a planned release: what it says of itself, the draw in portions, its audit."""

import tempfile
from collections.abc import Callable, Mapping
from functools import partial
from pathlib import Path
from typing import Any

import pandas as pd
import pyarrow as pa

from deniable.files import write_table
from deniable.plans import UNIT, ColumnsPlan, plan_from_json, plan_to_json
from deniable.records import Microdata
from deniable.release import (
    CONVENTION,
    NOTHING,
    PlannedRelease,
    ReleaseKey,
    described,
    spreadsheets,
    texts_of,
)
from deniable.release.asked import audit_asked
from deniable.release.planned.ordering import Drawn, in_order_of_key
from deniable.release.planned.records import OwnRecords
from deniable.release.planned.risk import Risk
from deniable.release.planned.writing import written_in_portions
from deniable.sampling import KeyedDraws

REPORTS = (
    "a column whose channel has other reports than its categories holds these: a report is named "
    'after the categories that give it most often, joined by " | ", or, where such names are long '
    "or alike, by its number. deniable estimate knows what each means, from plan.json"
)


def designed(release: PlannedRelease, data: OwnRecords, key: ReleaseKey) -> dict[str, Any]:
    """Return what a `release` says of itself, and the plan that is published with it.

    Nothing but the number of records follows from the `data`, nothing at all from the `key`.
    """
    plan = release.own
    privacy = {
        "unit": UNIT,
        "asked_epsilon": plan.target,
        "epsilon": plan.epsilon,
        "epsilon_by_changed_attribute": plan.protocol.epsilon_by_changed_attribute(),
        "not_counted": "; ".join(plan.not_covered) or NOTHING,
    }
    said = {"records": len(data), "privacy": privacy, "convention": CONVENTION}
    if plan.protocol.report_domain != plan.protocol.domain:
        said["reports"] = REPORTS
    texts = spreadsheets(texts_of(plan.protocol.domain))
    return {"release": described(release, "own") | said | texts, "plan": plan_to_json(plan)}


def audited(made: Mapping[str, Any]) -> pd.DataFrame:
    """Return the audit of a release by the ``release`` and the ``plan`` that it `made`."""
    plan = plan_from_json(made["plan"])
    assert isinstance(plan, ColumnsPlan)
    said = made["release"] | plan.protocol.to_json()
    parameters = made["release"]["parameters"] | {"channel": "by plan"}
    return audit_asked(said | {"parameters": parameters}).assign(data_source="own")


def checked(release: PlannedRelease, *given: Any) -> dict[str, Any]:
    """Leave nothing more of a rehearsal `release` than of others, whatever is `given`."""
    return {}


def protected(
    release: PlannedRelease, made: Mapping[str, Any], data: OwnRecords, key: ReleaseKey
) -> dict[str, Any]:
    """Return what writes the protected file, and what the owner learns when it is written.

    A `release` by the ``release`` it `made`, of the true `data`, drawn by the `key`.
    """
    plan, risk = release.own, Risk(release.own, release.keys)
    draws = key.draws([made["release"], release.stated()])
    return {
        "protected": partial(_write, plan, data, draws, risk),
        "exact_cells": partial(_write_table, risk.exact_cells),
        "risk": partial(_write_table, risk.table),
    }


def _write_table(make: Callable[[], pd.DataFrame], path: Path) -> None:
    # When the draw has ended, and not before.
    write_table(path, make())


def _write(plan: ColumnsPlan, data: OwnRecords, draws: KeyedDraws, risk: Risk, path: Path) -> None:
    reports = plan.layout
    drawn = _drawn(plan, data, draws, risk)
    with written_in_portions(path, plan.schema.file, reports.names, data.file.form) as writer:
        if plan.order == "permuted":
            # Reports alone, in the order of the file: as private as what they are drawn from.
            with tempfile.TemporaryDirectory(prefix=".order.", dir=path.parent) as scratch:
                pa.default_memory_pool().release_unused()  # what the first pass left
                ordered = in_order_of_key(drawn, draws, len(data), Path(scratch))
                done = 0
                for own, passed in ordered:
                    writer.write(reports.arrays(own, passed))
                    done += len(own)
                    data.progress("writing in random order", done, len(data))
        else:
            for own, passed in drawn:
                writer.write(reports.arrays(own, passed))


def _drawn(plan: ColumnsPlan, data: OwnRecords, draws: KeyedDraws, risk: Risk) -> Drawn:
    """Yield the reports of each portion, and what goes out as it is."""
    domain = plan.protocol.domain
    for portion in data.portions():
        columns = tuple(portion.codes[name] for name in domain.names)
        numbers = range(portion.first, portion.first + len(portion))
        true = Microdata(domain, columns)
        reports = plan.protocol.randomize(true, draws, numbers)
        passed = {name: portion.passed[name] for name in plan.passed}
        risk.add(portion.codes, true, reports, passed)
        yield reports, passed
    risk.left_out = data.file.left_out
