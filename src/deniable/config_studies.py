"""What the studies can be told, as typed models; `deniable.config` holds them to it."""

from typing import Annotated, Any, Literal, Self

from pydantic import BaseModel, ConfigDict, Field, model_validator

from deniable.grid import cells_of_grids
from deniable.readings import (
    Assessment,
    ClusterMechanism,
    PairEstimator,
    Projection,
    Reading,
)

Probability = Annotated[float, Field(gt=0, lt=1)]
# A cluster is audited cell by cell in exact arithmetic, which bounds its size.
StudiedCells = Annotated[int, Field(ge=1, le=400)]
Share = Annotated[float, Field(ge=0, le=1)]
Coverage = Annotated[float, Field(gt=0, le=1)]


class Strict(BaseModel):
    """A section of the config: no unknown options, no silent conversions."""

    model_config = ConfigDict(extra="forbid", strict=True, frozen=True)


class ClusterQueryGrid(Strict):
    """Cells of Tables 1 and 2: every combination of the values."""

    dataset: Annotated[list[Literal["adult", "adult6"]], Field(min_length=1)]
    matrix: Annotated[list[Reading], Field(min_length=1)]
    mechanism: Annotated[list[ClusterMechanism], Field(min_length=1)]
    projection: Annotated[list[Projection], Field(min_length=1)]
    p: Annotated[list[Probability], Field(min_length=1)]
    t_d: Annotated[list[Share], Field(min_length=1)]
    t_v: Annotated[list[StudiedCells], Field(min_length=1)]


class WiderQueryGrid(ClusterQueryGrid):
    """The same, with queries of more attributes."""

    attributes: Annotated[list[Annotated[int, Field(ge=1, le=5)]], Field(min_length=1)]


class PairQueryGrid(Strict):
    """Settings of RR-Independent: every combination of the values."""

    matrix: Annotated[list[Reading], Field(min_length=1)]
    projection: Annotated[list[Projection], Field(min_length=1)]
    p: Annotated[list[Probability], Field(min_length=1)]


class AdjustedQueryGrid(Strict):
    """Panels of Figure 3: every combination of the values."""

    matrix: Annotated[list[Reading], Field(min_length=1)]
    mechanism: Annotated[list[ClusterMechanism], Field(min_length=1)]
    t_v: Annotated[list[StudiedCells], Field(min_length=1)]
    t_d: Annotated[list[Share], Field(min_length=1)]
    p: Annotated[list[Probability], Field(min_length=1)]
    best: Annotated[list[Literal["paper", "ours", "both"]], Field(min_length=1, max_length=1)]


class AssessmentGrid(Strict):
    """Ways to assess dependences: every combination of the values."""

    matrix: Annotated[list[Reading], Field(min_length=1)]
    method: Annotated[list[Assessment], Field(min_length=1)]
    p: Annotated[list[Probability], Field(min_length=1)]


class _Study(Strict):
    # With fewer than 6 runs no two of them enclose a median with 95 % confidence.
    replicates: Annotated[int, Field(ge=6, le=10_000_000)]
    block: Annotated[int, Field(ge=1, le=100_000)] = 250
    chunks: Annotated[int, Field(ge=1, le=500)] = 4
    grids: Annotated[list[Any], Field(min_length=1)]

    @model_validator(mode="after")
    def _no_cell_twice(self) -> Self:
        seen = set()
        for cell in self.cells():
            key = tuple(cell.items())
            if key in seen:
                named = ", ".join(f"{name} {value}" for name, value in cell.items())
                raise ValueError(f"the grids hold the cell {named} twice; allowed: once")
            seen.add(key)
        return self

    def cells(self) -> list[dict[str, Any]]:
        """Return the cells of all grids, in order."""
        return cells_of_grids([grid.model_dump() for grid in self.grids])


class ClusterQueryStudy(_Study):
    """A study of count queries under RR-Clusters."""

    coverage: Coverage = 0.1
    ordinal: list[str] = Field(default_factory=list)
    grids: Annotated[list[ClusterQueryGrid], Field(min_length=1)]


class WiderQueryStudy(ClusterQueryStudy):
    """A study of count queries of more than two attributes."""

    grids: Annotated[list[WiderQueryGrid], Field(min_length=1)]  # type: ignore[assignment]


class PairQueryStudy(_Study):
    """A study of what RR-Independent tells of pairs of attributes."""

    estimators: Annotated[list[PairEstimator], Field(min_length=1)]
    coverages: Annotated[list[Coverage], Field(min_length=1)]
    grids: Annotated[list[PairQueryGrid], Field(min_length=1)]


class AdjustedQueryStudy(_Study):
    """A study of the four methods of Figure 3."""

    coverages: Annotated[list[Coverage], Field(min_length=1)]
    projections: Annotated[list[Projection], Field(min_length=1)]
    ordinal: list[str] = Field(default_factory=list)
    grids: Annotated[list[AdjustedQueryGrid], Field(min_length=1)]


class AssessmentStudy(_Study):
    """A study of how well dependences are assessed without a trusted party."""

    t_v: Annotated[list[StudiedCells], Field(min_length=1)]
    t_d: Annotated[list[Share], Field(min_length=1)]
    ordinal: list[str] = Field(default_factory=list)
    grids: Annotated[list[AssessmentGrid], Field(min_length=1)]


AnyStudy = ClusterQueryStudy | PairQueryStudy | AdjustedQueryStudy | AssessmentStudy


class StudiesConfig(Strict):
    """The studies, by name."""

    multirr_tables: ClusterQueryStudy
    multirr_sensitivity: ClusterQueryStudy
    multirr_attributes: WiderQueryStudy
    multirr_fig2: PairQueryStudy
    multirr_fig3: AdjustedQueryStudy
    multirr_pairs: PairQueryStudy
    multirr_assessment: AssessmentStudy

    @model_validator(mode="after")
    def _tables_are_as_printed(self) -> Self:
        others = " (others: multirr_sensitivity)"
        for column in ("matrix", "projection"):
            _refuse_several("multirr_tables", self.multirr_tables, column, others)
        return self

    @model_validator(mode="after")
    def _figures_are_as_printed(self) -> Self:
        # Their tables name no p or matrix in a row, and they show the paper's projection.
        _refuse_several("multirr_fig2", self.multirr_fig2, "matrix")
        _refuse_several("multirr_fig2", self.multirr_fig2, "p")
        _refuse_several("multirr_fig3", self.multirr_fig3, "matrix")
        drawn = {
            "multirr_fig2.grids: projection": [c["projection"] for c in self.multirr_fig2.cells()],
            "multirr_fig3.projections": self.multirr_fig3.projections,
        }
        for path, projections in drawn.items():
            if "clip" not in projections:
                raise ValueError(f"{path}: {projections}; allowed: with clip, which is drawn")
        return self


def _refuse_several(name: str, study: _Study, column: str, others: str = "") -> None:
    values = sorted({str(cell[column]) for cell in study.cells()})
    if len(values) > 1:
        raise ValueError(
            f"{name}.grids: {column} takes the values {', '.join(values)}; allowed: one, as the "
            f"paper has it{others}"
        )


class SecureSumTrials(Strict):
    """How many parties sum, and how often."""

    pair: Annotated[list[str], Field(min_length=2, max_length=2)]
    # Shares grow with the square of the parties.
    parties: Annotated[int, Field(ge=3, le=10_000)]
    parties_of_all_pairs: Annotated[int, Field(ge=3, le=1000)]
    fault_trials: Annotated[int, Field(ge=1, le=100_000)]
    linkage_parties: Annotated[int, Field(ge=1, le=1_000_000)]
    linkage_samples: Annotated[int, Field(ge=1, le=100_000)]


class AnalysesConfig(Strict):
    """What is worked out beside the studies."""

    multirr_secure_sum: SecureSumTrials
