"""What goes wrong in a run: one clear message, nothing half-written, and the next run mends it."""

from typing import Any

import pytest

from reproduction.pipeline.provenance import SUFFIX

pytestmark = pytest.mark.workflow


def test_a_damaged_intermediate_file_is_detected_by_its_reader(project: Any, finished: Any) -> None:
    # A digit: as a table it would pass.
    file = project.folder / "results/studies/multirr_sensitivity/chunk-0-of-1.csv"
    text = file.read_text("utf-8")
    digit = next(character for character in reversed(text) if character.isdigit())
    file.write_text(text.replace(digit, str((int(digit) + 1) % 10)), encoding="utf-8")
    target = "results/tables/multirr_sensitivity.csv"
    (project.folder / target).unlink()
    said = project.refused("--cores", "1", target)
    (line,) = {line for line in said.splitlines() if line.startswith("collect: ")}
    name = file.relative_to(project.folder)
    assert line.startswith(f"collect: DataError: {name}: damaged or edited since it was made (SHA")
    assert line.endswith("; delete it and start again: Snakemake recreates it")
    assert not (project.folder / target).exists()
    file.unlink()
    project.made("--cores", "1", target)
    assert project.comparable() == finished[0].comparable()


def test_a_damaged_draw_is_to_be_restored(project: Any) -> None:
    file = project.folder / "results/releases/real/public/protected.parquet"
    file.write_bytes(file.read_bytes()[:-1])
    target = "results/audit/samplers.csv"
    project.without(target)
    said = project.refused("--cores", "1", target)
    name = file.relative_to(project.folder)
    assert f"{name}: damaged or edited since it was made" in said
    assert "restore the published folder from a copy" in said
    assert not (project.folder / target).exists()


@pytest.mark.slow
def test_a_file_with_a_damaged_record_is_not_read(project: Any, finished: Any) -> None:
    file = project.folder / "results/data/adult.parquet"
    file.with_name(f"{file.name}{SUFFIX}").write_text("{", encoding="utf-8")
    target = "results/tables/multirr_dependences.csv"
    said = project.refused("--cores", "1", target, "--forcerun", "multirr_dependences")
    assert "adult.parquet.provenance.json: not provenance metadata" in said
    for lost in (file, file.with_name(f"{file.name}{SUFFIX}")):
        lost.unlink()
    project.made("--cores", "1", target)
    assert project.comparable() == finished[0].comparable()
    assert project.would_run() == {}


@pytest.mark.slow
def test_a_malformed_table_of_printed_numbers_is_named(project: Any) -> None:
    project.edit("resources/published/multirr_table1.csv", "0.335", "O.335")
    said = project.refused("--cores", "1", "results/tables/multirr_table1.csv")
    place = "multirr_table1.csv: line 2, column 'median_relative_error'"
    assert f"{place}: 'O.335' is not a number" in said
    assert not (project.folder / "results/tables/multirr_table1.csv").exists()


def test_a_malformed_manifest_is_named(project: Any) -> None:
    project.edit("resources/datasets.yaml", "records: 600", "records: many")
    said = project.refused("-n")
    assert said.count("dataset 'adult': records: 'many'") == 1
