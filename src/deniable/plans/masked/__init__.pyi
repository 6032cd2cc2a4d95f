from .mixed import MixedPlan as MixedPlan
from .plan import MaskedPlan as MaskedPlan
from .settings import MaskedSettings as MaskedSettings, MixedSettings as MixedSettings
