"""Typed models of the configuration. They report all errors before the first job starts."""

from collections.abc import Mapping, Sequence
from functools import cached_property
from pathlib import Path
from typing import Annotated, Any, Literal, Self

import yaml
from pydantic import ConfigDict, Field, ValidationError, model_validator

from deniable import validation
from deniable.errors import ConfigError
from deniable.release import ReleaseSettings
from deniable.texts import TooMuchError
from deniable.validation import Strict

from reproduction.papers.idp import settings as idp
from reproduction.papers.multirr import settings as multirr
from reproduction.papers.pram import settings as pram
from reproduction.papers.rrba import settings as rrba
from reproduction.pipeline.release_sweeps import ReleaseEntry, ReleaseSweep, releases_of
from reproduction.study import Cell, StudySettings

UNNAMED = {  # settings that the rows of a study's tables do not name
    "multirr_tables": ("matrix", "projection"),
    "multirr_fig2": ("matrix", "p"),
    "multirr_fig3": ("matrix",),
}
WORDS = {"quoted": "without quotes; --config gives numbers only one by one, not in lists"}


class DataConfig(Strict):
    """The source of the data sets."""

    source: Literal["auto", "mirror", "public", "surrogate"] = "auto"
    mirror: Annotated[str, Field(min_length=1)] | None = None


class StudiesConfig(Strict):
    """Settings of the studies, by name. A study without settings is left out."""

    multirr_tables: multirr.ClusterQueryStudy | None = None
    multirr_sensitivity: multirr.ClusterQueryStudy | None = None
    multirr_exploration: multirr.ExploredQueryStudy | None = None
    multirr_attributes: multirr.WiderQueryStudy | None = None
    multirr_fig2: multirr.GainQueryStudy | None = None
    multirr_fig3: multirr.AdjustedQueryStudy | None = None
    multirr_pairs: multirr.PairQueryStudy | None = None
    multirr_epsilon: multirr.EpsilonQueryStudy | None = None
    multirr_assessment: multirr.AssessmentStudy | None = None
    pram_coverage: pram.CoverageStudy | None = None
    pram_weights: pram.WeightsStudy | None = None
    pram_item_sets: pram.ItemSetStudy | None = None
    pram_invariant: pram.InvariantStudy | None = None
    pram_joint_loss: pram.JointLossStudy | None = None
    idp_fig3: idp.SseStudy | None = None
    idp_fig4: idp.SseStudy | None = None
    idp_fig5: idp.ForestStudy | None = None
    idp_fig6: idp.ForestStudy | None = None
    rrba_fig5: rrba.ConvergenceStudy | None = None
    rrba_fig6: rrba.ConvergenceStudy | None = None
    rrba_table3: rrba.Table3Study | None = None
    rrba_power: rrba.PowerStudy | None = None
    rrba_tables: rrba.PrintedTablesStudy | None = None
    rrba_equal: rrba.EqualEpsilonStudy | None = None
    # By default there are no grids and thus no sweep.
    multirr_sweep: multirr.ThresholdStudy = multirr.ThresholdStudy(replicates=1000, grids=[])

    @model_validator(mode="after")
    def _as_printed(self) -> Self:
        """Reject several values of a setting that is not in the table, and figures without clip."""
        for name, columns in UNNAMED.items():
            study = getattr(self, name)
            for column in columns if study else ():
                values = sorted({str(cell[column]) for cell in study.cells()})
                if len(values) > 1:
                    others = " (others: multirr_sensitivity)" if name == "multirr_tables" else ""
                    raise ValueError(
                        f"{name}.grids: {column} takes the values {', '.join(values)}; allowed: "
                        f"one, as in the paper{others}"
                    )
        shown = {}
        if self.multirr_fig2:
            cells = self.multirr_fig2.cells()
            shown["multirr_fig2.grids: projection"] = [cell["projection"] for cell in cells]
        if self.multirr_fig3:
            shown["multirr_fig3.projections"] = self.multirr_fig3.projections
        for path, projections in shown.items():
            if "clip" not in projections:
                raise ValueError(f"{path}: {projections}; allowed: with clip, which is plotted")
        return self


class AnalysesConfig(Strict):
    """Settings of the analyses, by name. An analysis without its settings is left out."""

    multirr_secure_sum: multirr.SecureSumTrials | None = None
    pram_variance: pram.PramEpsilons | None = None
    pram_design: pram.PramEpsilons | None = None
    idp_audit: idp.IndividualAudit | None = None
    idp_attacks: idp.IndividualAttacks | None = None
    idp_noises: idp.GridNoises | None = None
    rrba_epsilon: rrba.RrbaEpsilon | None = None


class KeysConfig(Strict):
    """The `folder` of keys; by default the private folder."""

    folder: Annotated[str, Field(min_length=1)] | None = None


class Config(Strict):
    """All options of config/README.md.

    `seed` is the root of all random streams. `ledger` is the folder that counts the ε of production
    releases; the environment variable DENIABLE_LEDGER replaces it. The option ``releases`` lists
    releases and sweeps of releases.
    """

    model_config = ConfigDict(validate_by_name=True, serialize_by_alias=True)

    seed: Annotated[int, Field(ge=0, le=2**63 - 1)] = 0
    data: DataConfig = DataConfig()
    studies: StudiesConfig = StudiesConfig()
    analyses: AnalysesConfig = AnalysesConfig()
    ledger: Annotated[str, Field(min_length=1)] | None = None
    keys: KeysConfig = KeysConfig()
    entries: list[ReleaseEntry] = Field(default_factory=list, alias="releases")

    @cached_property
    def releases(self) -> list[ReleaseSettings]:
        """All releases of the entries, including the releases of grids."""
        return [release for entry in self.entries for release in releases_of(entry)]

    @cached_property
    def sweeps(self) -> dict[str, ReleaseSweep]:
        return {each.name: each for each in self.entries if isinstance(each, ReleaseSweep)}

    @model_validator(mode="after")
    def _names_differ(self) -> Self:
        names = [each.name for each in self.releases]
        names += [each.name for each in self.entries if isinstance(each, ReleaseSweep)]
        for position, name in enumerate(names):
            # File systems that ignore case have one folder for such names.
            if name.lower() in [earlier.lower() for earlier in names[:position]]:
                raise ValueError(
                    f"two releases are named {name!r}; allowed: names that differ in more than case"
                )
        return self

    def study(self, name: str) -> StudySettings[Any]:
        """Return the settings of the study with a `name`."""
        study: StudySettings[Any] | None = getattr(self.studies, name)
        if study is None:
            raise ConfigError(message([f"studies.{name}: missing; it must be given"]))
        return study

    def cells(self, study: str) -> list[Cell]:
        """Return all settings of a `study`'s grids; none if the study is left out."""
        return list(self.study(study).cells()) if getattr(self.studies, study) else []

    def chunks(self, study: str) -> int:
        """Return the number of jobs that simulate a `study`."""
        cells = len(self.cells(study))
        return min(self.study(study).chunks, cells) if cells else 0

    def part(self, path: str) -> Any:
        """Return the settings at a `path`, "studies.name" or "analyses.name"; None if missing."""
        section, _, name = path.partition(".")
        return getattr(getattr(self, section), name, None)

    @property
    def names_papers(self) -> bool:
        return bool(self.studies.model_fields_set or self.analyses.model_fields_set)


def refuse_repeated_keys(path: Path | str) -> None:
    """Reject a config file at `path` with repeated options or with aliases that expand endlessly.

    YAML would silently use the last of two options, and expand aliases until memory is exhausted.
    The `ConfigError` has the line of each repeated option.
    """
    try:
        repeated = list(validation.repeated_keys(Path(path).read_text("utf-8")))
    except TooMuchError as error:
        line = error.problem_mark.line + 1 if error.problem_mark else 1
        raise ConfigError(message([f"{path}: line {line}: {error.problem}"])) from None
    except (OSError, ValueError, yaml.YAMLError):
        return  # Snakemake reports other errors of the file
    if repeated:
        raise ConfigError(message([f"{path}: {line}" for line in repeated]))


def validate(values: Mapping[str, Any]) -> Config:
    """Return the `Config` of `values`, or raise a `ConfigError` with one line for each error."""
    try:
        return Config.model_validate(dict(values))
    except ValidationError as error:
        lines = validation.fault_lines(error, Config, "config", WORDS)
    raise ConfigError(message(lines))


def message(lines: Sequence[str]) -> str:
    """Return the message about an invalid config, with one error in each of the `lines`."""
    return validation.message("the config", lines, "config/README.md describes every option")
