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
from deniable.texts import TooMuchError, repeated_keys
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
    """With `auto` a mirror is tried, then the public address, then a surrogate. The others allow
    one source."""
    mirror: Annotated[str, Field(min_length=1)] | None = None
    """Folder of published files, such as `adult.data`. The environment variable
    `DENIABLE_DATA_MIRROR` has priority."""


class StudiesConfig(Strict):
    """Settings of the studies, by name. A study without settings is left out."""

    multirr_tables: multirr.ClusterStudy[multirr.ClusterQueryGrid] | None = None
    """Tables 1 and 2, for one `matrix` and `projection`."""
    multirr_sensitivity: multirr.ClusterStudy[multirr.ClusterQueryGrid] | None = None
    """Tables 1 and 2 under other interpretations and projections."""
    multirr_exploration: multirr.ExploredQueryStudy | None = None
    """Tables 1 and 2 under interpretations that were tried after the comparison."""
    multirr_attributes: multirr.ClusterStudy[multirr.WiderQueryGrid] | None = None
    """Queries of more attributes."""
    multirr_fig2: multirr.PairStudy[multirr.GainQueryGrid] | None = None
    """Figure 2, for one `matrix` and `p`, with `clip`."""
    multirr_fig3: multirr.AdjustedQueryStudy | None = None
    """Figure 3, for one `matrix`, with `clip`."""
    multirr_pairs: multirr.PairStudy[multirr.PairQueryGrid] | None = None
    """Joint distributions of pairs from RR-Independent data (not in [multirr])."""
    multirr_epsilon: multirr.EpsilonQueryStudy | None = None
    """The methods at stated exact ε of a record."""
    multirr_assessment: multirr.AssessmentStudy | None = None
    """Dependences assessed without a trusted party (4.1 to 4.3)."""
    multirr_joint: multirr.JointStudy | None = None
    """Joint distributions of all columns, by several methods and designs (not in [multirr])."""
    pram_coverage: StudySettings[pram.CoverageGrid] | None = None
    """Coverage of single and simultaneous intervals (section 1)."""
    pram_weights: StudySettings[pram.WeightsGrid] | None = None
    """Coverage of intervals with survey weights (2.7)."""
    pram_item_sets: StudySettings[pram.ItemSetGrid] | None = None
    """Coverage of intervals for sets of 40 binary items (section 4), from a model drawn once."""
    pram_invariant: StudySettings[pram.InvariantGrid] | None = None
    """Claimed and true variances of invariant PRAM (section 2)."""
    pram_joint_loss: pram.JointLossStudy | None = None
    """Loss in a joint distribution by invariant PRAM of single attributes."""
    idp_fig3: idp.SseStudy | None = None
    """Figure 3: error of masked records of Census."""
    idp_fig4: idp.SseStudy | None = None
    """Figure 4: error of masked records of Wine."""
    idp_fig5: idp.ForestStudy | None = None
    """Figure 5: classifiers trained on masked records of Census."""
    idp_fig6: idp.ForestStudy | None = None
    """Figure 6: classifiers trained on masked records of Wine."""
    rrba_fig5: rrba.ConvergenceStudy | None = None
    """Figure 5: convergence of estimates on three networks."""
    rrba_fig6: rrba.ConvergenceStudy | None = None
    """Figure 6: convergence of estimates over p."""
    rrba_table3: StudySettings[rrba.Table3Grid] | None = None
    """Table 3: decisions of tests of independence."""
    rrba_power: rrba.PowerStudy | None = None
    """Sizes and powers of tests of independence at equal exact ε."""
    rrba_tables: rrba.ReleasedTables[rrba.PrintedTablesGrid] | None = None
    """Tables 4 and 5: distances of released from original tables."""
    rrba_equal: rrba.ReleasedTables[rrba.EqualEpsilonGrid] | None = None
    """Distances of released from original tables at equal exact ε."""
    # By default there are no grids and thus no sweep.
    multirr_sweep: multirr.ThresholdStudy = multirr.ThresholdStudy(replicates=1000, grids=[])
    """A sweep of RR-Clusters over p, thresholds and numbers of records (docs/sweeps.md)."""

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
        shown, fig2, fig3 = {}, self.multirr_fig2, self.multirr_fig3
        if fig2:
            shown["multirr_fig2.grids: projection"] = [c["projection"] for c in fig2.cells()]
        if fig3:
            shown["multirr_fig3.projections"] = fig3.projections
        for path, projections in shown.items():
            if "clip" not in projections:
                raise ValueError(f"{path}: {projections}; allowed: with clip, which is plotted")
        return self


class AnalysesConfig(Strict):
    """Settings of the analyses, by name. An analysis without its settings is left out."""

    multirr_secure_sum: multirr.SecureSumTrials | None = None
    """Secure sums (4.2), parties that violate the protocol, and linkage by small counts (4.3)."""
    pram_variance: pram.PramEpsilons | None = None
    """Variances of estimates by several matrices at equal exact ε."""
    pram_design: pram.PramEpsilons | None = None
    """Optimized matrices at equal exact ε."""
    idp_audit: idp.IndividualAudit | None = None
    """Exact ε of the mechanisms compared with the claimed ε."""
    idp_attacks: idp.IndividualAttacks | None = None
    """Attacks that distinguish neighbouring files."""
    idp_noises: idp.GridNoises | None = None
    """Noises on Adult's ages (`adult_age`) compared at equal ε."""
    rrba_epsilon: rrba.RrbaEpsilon | None = None
    """Exact ε compared with the claim of Theorem 4.1."""


class KeysConfig(Strict):
    """The place of the secret keys of production releases until publication."""

    folder: Annotated[str, Field(min_length=1)] | None = None
    """Folder for the keys, closed to others, such as `/dev/shm/keys` in memory
    (docs/production-releases.md#keep-the-key-off-the-disk). By default each key is in the folder
    `private/` of its release."""


class Config(Strict):
    """The options of a config. All sections are optional."""

    model_config = ConfigDict(validate_by_name=True, serialize_by_alias=True)

    seed: Annotated[int, Field(ge=0, le=2**63 - 1)] = 0
    """Root of all random numbers, except in production releases."""
    data: DataConfig = DataConfig()
    """Source of the data sets."""
    studies: StudiesConfig = StudiesConfig()
    """Tables and figures of the papers by simulation. The default is none."""
    analyses: AnalysesConfig = AnalysesConfig()
    """Further tables of the papers. The default is none."""
    ledger: Annotated[str, Field(min_length=1)] | None = None
    """Folder that counts the ε of production releases (docs/ledger.md). The environment variable
    `DENIABLE_LEDGER` has priority."""
    keys: KeysConfig = KeysConfig()
    """Place of the keys of production releases."""
    entries: list[ReleaseEntry] = Field(default_factory=list, alias="releases")
    """Releases and sweeps of releases: protected files and their estimates."""

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


def refuse_repeated_keys(path: Path | str) -> None:
    """Reject a config file at `path` with repeated options or with aliases that expand endlessly.

    YAML would silently use the last of two options, and expand aliases until memory is exhausted.
    The `ConfigError` has the line of each repeated option.
    """
    try:
        repeated = repeated_keys(Path(path).read_text("utf-8"))
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
    return validation.message("the config", lines, "docs/options.md describes every option")
