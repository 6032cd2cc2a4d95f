"""Neither batches nor row groups decide a protected value: the key, the plan and the records do."""

from functools import partialmethod
from pathlib import Path

import pytest
from tests.release.small_releases import KINDS, content, plan_for, records, written

from deniable.release import protect_test
from deniable.schema import RecordsFile


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("rows", [1, 64, 699])
def test_values_are_those_of_the_records_however_divided(
    kind: str, rows: int, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    plan = plan_for(kind)
    file = written(records(), plan, tmp_path / "records")
    protect_test(file, plan, tmp_path / "whole", 1, name="small")
    monkeypatch.setattr(RecordsFile, "portions", partialmethod(RecordsFile.portions, rows))
    protect_test(file, plan, tmp_path / "divided", 1, name="small")
    assert content(tmp_path / "divided") == content(tmp_path / "whole")


@pytest.mark.parametrize("kind", KINDS)
def test_seed_name_plan_and_records_all_count(kind: str, tmp_path: Path) -> None:
    plan, stem = plan_for(kind), tmp_path / "records"
    file, fewer = written(records(), plan, stem), written(records(699), plan, tmp_path / "fewer")
    first = f"{plan.protected_name}.{plan.schema.file.kind}"
    made = []
    for number, (source, own, seed, name) in enumerate(
        [
            (file, plan, 1, "small"),
            (file, plan, 2, "small"),
            (file, plan, 1, "other"),
            (file, plan_for(kind, 1.5), 1, "small"),
            (fewer, plan, 1, "small"),
        ]
    ):
        protect_test(source, own, tmp_path / str(number), seed, name=name)
        made.append((tmp_path / str(number) / "public" / first).read_bytes())
    assert len(set(made)) == len(made)
