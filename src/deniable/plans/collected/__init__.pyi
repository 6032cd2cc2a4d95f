from .comparison import compare_tables as compare_tables
from .plan import CollectedPlan as CollectedPlan
from .settings import CollectedSettings as CollectedSettings
