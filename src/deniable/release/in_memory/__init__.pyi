from .collection import CollectionPlan as CollectionPlan
from .randomizing import AnyPlan as AnyPlan, randomize as randomize
