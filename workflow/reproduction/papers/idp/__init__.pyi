from .catalog import FIGURES_OF as FIGURES_OF, FORESTS as FORESTS, PAPER as PAPER
from .names import (
    ALL as ALL,
    CERTIFICATE as CERTIFICATE,
    DATASETS as DATASETS,
    DP_BASELINES as DP_BASELINES,
    READINGS as READINGS,
    noted as noted,
)
from .settings import (
    ForestStudy as ForestStudy,
    GridNoises as GridNoises,
    IndividualAttacks as IndividualAttacks,
    IndividualAudit as IndividualAudit,
    SseStudy as SseStudy,
)
