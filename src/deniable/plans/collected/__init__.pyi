from .plan import CollectedPlan as CollectedPlan
from .settings import CollectedSettings as CollectedSettings
