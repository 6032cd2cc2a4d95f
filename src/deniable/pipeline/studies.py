"""What the studies and the analyses can be told; `deniable.pipeline.config` holds them to it."""

from typing import Self

from pydantic import model_validator

from deniable.papers.idp.audit_settings import IndividualAttacks, IndividualAudit
from deniable.papers.idp.settings import ForestStudy, SseStudy
from deniable.papers.multirr.settings import (
    AdjustedQueryStudy,
    AssessmentStudy,
    ClusterQueryStudy,
    PairQueryStudy,
    SecureSumTrials,
    ThresholdStudy,
    WiderQueryStudy,
)
from deniable.papers.pram.settings import (
    CoverageStudy,
    InvariantStudy,
    ItemSetStudy,
    JointLossStudy,
    PramDesigns,
    PramVariance,
    WeightsStudy,
)
from deniable.papers.rrba.settings import ConvergenceStudy, RrbaEpsilon
from deniable.papers.rrba.table_settings import EqualEpsilonStudy, PrintedTablesStudy
from deniable.papers.rrba.test_settings import PowerStudy, Table3Study
from deniable.study import Strict
from deniable.study.settings import Study

AnyStudy = (
    ClusterQueryStudy
    | PairQueryStudy
    | AdjustedQueryStudy
    | AssessmentStudy
    | ThresholdStudy
    | CoverageStudy
    | InvariantStudy
    | JointLossStudy
    | WeightsStudy
    | ItemSetStudy
    | SseStudy
    | ForestStudy
    | ConvergenceStudy
    | Table3Study
    | PowerStudy
    | PrintedTablesStudy
    | EqualEpsilonStudy
)


class StudiesConfig(Strict):
    """The studies, by name."""

    multirr_tables: ClusterQueryStudy
    multirr_sensitivity: ClusterQueryStudy
    multirr_attributes: WiderQueryStudy
    multirr_fig2: PairQueryStudy
    multirr_fig3: AdjustedQueryStudy
    multirr_pairs: PairQueryStudy
    multirr_assessment: AssessmentStudy
    pram_coverage: CoverageStudy
    pram_weights: WeightsStudy
    pram_item_sets: ItemSetStudy
    pram_invariant: InvariantStudy
    pram_joint_loss: JointLossStudy
    idp_fig3: SseStudy
    idp_fig4: SseStudy
    idp_fig5: ForestStudy
    idp_fig6: ForestStudy
    rrba_fig5: ConvergenceStudy
    rrba_fig6: ConvergenceStudy
    rrba_table3: Table3Study
    rrba_power: PowerStudy
    rrba_tables: PrintedTablesStudy
    rrba_equal: EqualEpsilonStudy
    # A sweep that config/sweep.yaml asks for; without cells it makes nothing.
    multirr_sweep: ThresholdStudy = ThresholdStudy(replicates=1000, grids=[])

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


def _refuse_several(name: str, study: Study, column: str, others: str = "") -> None:
    values = sorted({str(cell[column]) for cell in study.cells()})
    if len(values) > 1:
        raise ValueError(
            f"{name}.grids: {column} takes the values {', '.join(values)}; allowed: one, as the "
            f"paper has it{others}"
        )


class AnalysesConfig(Strict):
    """What is worked out beside the studies."""

    multirr_secure_sum: SecureSumTrials
    pram_variance: PramVariance
    pram_design: PramDesigns
    idp_audit: IndividualAudit
    idp_attacks: IndividualAttacks
    rrba_epsilon: RrbaEpsilon
