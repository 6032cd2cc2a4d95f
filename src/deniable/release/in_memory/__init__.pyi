from .collection import CollectionPlan as CollectionPlan
from .masking import MaskingPlan as MaskingPlan
from .randomizing import AnyPlan as AnyPlan, randomize as randomize
