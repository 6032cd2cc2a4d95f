from .plan import MaskedPlan as MaskedPlan
from .settings import MaskedSettings as MaskedSettings
