from . import settings as settings
from .catalog import FIGURES_OF as FIGURES_OF, FORESTS as FORESTS, PAPER as PAPER
from .names import (
    ALL as ALL,
    CERTIFICATE as CERTIFICATE,
    DATASETS as DATASETS,
    DP_BASELINES as DP_BASELINES,
    READINGS as READINGS,
    noted as noted,
)
